// The packet pacing table: distinct (rate, burst, packet size) entries, counted. Queue pairs of one context that want
// the same limit share an entry.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "lib/model/refusal.h"
#include "lib/tree/capabilities.h"
#include "lib/tree/element.h"

namespace rdmaqos {

class PacingTable {
public:
    explicit PacingTable(const PacingCapabilities& capabilities) : capabilities_(capabilities) {}

    // May a queue pair of this type have this limit at all?
    [[nodiscard]] std::optional<Refusal> check(QueuePairType type, const RateLimit& limit) const;
    // One more user of the limit; refuses when it would need an entry and none is free.
    [[nodiscard]] Answer<void> acquire(std::uint32_t context, const RateLimit& limit);
    void release(std::uint32_t context, const RateLimit& limit);
    void clear() { users_.clear(); }

    [[nodiscard]] std::size_t entries_used() const { return users_.size(); }

private:
    PacingCapabilities capabilities_;
    std::map<std::pair<std::uint32_t, RateLimit>, std::uint64_t> users_;
};

}    // namespace rdmaqos
