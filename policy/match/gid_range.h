// GID prefixes as ranges of numbers.
#pragma once

#include "lib/base/net.h"
#include "policy/match/interval_index.h"

namespace rdmaqos {

[[nodiscard]] Key128 key_of(const Gid& gid);
[[nodiscard]] Gid gid_of(const Key128& key);

struct GidRange {
    Key128 first;
    Key128 last;    // inclusive
};
[[nodiscard]] GidRange range_of(const GidPrefix& prefix);

}    // namespace rdmaqos
