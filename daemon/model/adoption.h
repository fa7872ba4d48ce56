// Programs that know nothing of the daemon, taken into the tree without their help (`unregistered: adopt`).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "lib/base/histogram.h"
#include "policy/model/settings.h"

namespace rdmaqos {

struct AdoptionCounters {
    std::uint64_t adopted = 0;                            // queue pairs, ever
    std::map<std::string_view, std::uint64_t> refused;    // queue pairs, ever, by kNoRule and its like
    Histogram delay;    // from when a queue pair was first seen ready to send to when it was in its leaf

    friend bool operator==(const AdoptionCounters&, const AdoptionCounters&) = default;
};

struct AdoptionStatus {
    Unregistered setting = Unregistered::Count;
    std::string unavailable;        // with Adopt: why no program can be adopted, and what to do; empty: they can be
    std::size_t programs = 0;       // adopted now: the processes,
    std::size_t queue_pairs = 0;    // and what they have in the tree
    AdoptionCounters counters;

    friend bool operator==(const AdoptionStatus&, const AdoptionStatus&) = default;
};

}    // namespace rdmaqos
