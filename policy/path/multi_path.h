// A path query with several sources or destinations, as a MultiPathRecord query: each pair is answered by itself. A
// pair without a path does not take the others' away; only if there is none at all the query has no answer.
#pragma once

#include <cstddef>
#include <string>

#include "lib/base/error.h"
#include "policy/model/request.h"

namespace rdmaqos {

// The pairs that have no path. Takes no more memory for many of them.
class MissingPairs {
public:
    void add(const Request& request, const Error& error);
    [[nodiscard]] std::size_t count() const { return count_; }
    // At least one was added, and no pair has a path: one reason that holds for all as it is, else the first pairs with
    // theirs, as many as a reader can take in. The code is that of the first.
    [[nodiscard]] Error none_at_all() const;

private:
    std::size_t count_ = 0;
    bool same_ = true;
    Error first_;
    std::string shown_;
};

}    // namespace rdmaqos
