// Compatibility cases, compared with what OpenSM's own code answered.
//
// A case is a directory: policy.conf, topology.txt, rc, and queries.txt with expected.txt; queries-pr.txt with
// expected-pr.txt and a label where it has them.
#pragma once

#include <string>
#include <vector>

#include "lib/base/result.h"

namespace rdmaqos::ctl {

enum class CorpusMode {
    Strict,      // as OpenSM reads
    Default,     // as the daemon reads native policies
    Imported,    // the YAML of each case that OpenSM accepts; the others are passed over
};

struct CorpusResult {
    unsigned passed = 0;
    std::vector<std::string> failures;    // `NAME (LABEL): the first difference`
};

// Each of `directories` is a case, or holds cases. Error InvalidArgument: one of them is and holds none.
[[nodiscard]] Result<CorpusResult> compare_cases(const std::vector<std::string>& directories, CorpusMode mode);

}    // namespace rdmaqos::ctl
