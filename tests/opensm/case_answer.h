// A compatibility case answered by our own readers and matcher.
#pragma once

#include <string>

#include "lib/base/result.h"

namespace rdmaqos::ctl {

struct AnswerOptions {
    std::string queries;     // "-": stdin
    std::string policy;      // empty: the host's files
    bool strict = false;     // a native OpenSM policy, rejected where OpenSM rejects it
    std::string topology;    // the fabric: of a compatibility case,
    std::string fabric;      // or a fabric file; neither: the host's
    std::string root;        // before the paths of the host
};

struct CaseAnswer {
    int status = 0;          // that of the cases: 0 answered, 2 the policy cannot be read, 3 it is not valid
    std::string text;        // a line for each query (batch_answer.h), or what was rejected
    std::string messages;    // the diagnostics of the policy
};

[[nodiscard]] Result<CaseAnswer> answer_case(const AnswerOptions& options);
// The text is the YAML that `rdma-qosctl import-opensm` makes of a native policy.
[[nodiscard]] Result<CaseAnswer> import_case(const std::string& policy, const std::string& topology);

}    // namespace rdmaqos::ctl
