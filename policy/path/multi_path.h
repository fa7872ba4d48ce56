// A path query with several sources or destinations, as a MultiPathRecord query: each pair is answered by itself. A
// pair without a path does not take the others' away; only if there is none at all the query has no answer.
#pragma once

#include <vector>

#include "lib/base/error.h"
#include "policy/model/request.h"

namespace rdmaqos {

// A pair that has no path, and why. Both must outlive it.
struct MissingPair {
    const Request* request = nullptr;
    const Error* error = nullptr;
};

// Of a query none of whose pairs (at least one) has a path: one reason that holds for all as it is, else the pairs with
// theirs, as many as a reader can take in. The code is that of the first.
[[nodiscard]] Error no_path_at_all(const std::vector<MissingPair>& pairs);

}    // namespace rdmaqos
