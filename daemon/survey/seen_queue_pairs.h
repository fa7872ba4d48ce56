// The queue pairs of programs on one device as they were last seen, and what is new in what is seen now: which have
// become ready to send (RTS), and which of these are no longer what they were.
//
// A number is used again. One that is in another protection domain, of another type or connected to another peer is
// another queue pair; so is, for the owner of its leaf, one that was reset since: a reset takes it out.
//
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/rdma_netlink/queue_pairs.h"

namespace rdmaqos {

class SeenQueuePairs {
public:
    using Tracked = rdma_netlink::TrackedQueuePair;

    struct News {
        std::vector<Tracked> ready;    // reported once
        std::vector<std::uint32_t>
            gone;    // of those that were reported; before `ready`, which may have the same number

        [[nodiscard]] bool empty() const { return ready.empty() && gone.empty(); }
        friend bool operator==(const News&, const News&) = default;
    };

    // All there are; the kernel's own are passed over.
    News take_all(const std::vector<Tracked>& all);
    // One that was asked for alone.
    News take(const Tracked& now);
    // Tells all that are ready once more.
    [[nodiscard]] std::vector<Tracked> ready() const;

    // Not ready yet: port (0: it has none yet) and number.
    [[nodiscard]] std::vector<std::pair<std::uint32_t, std::uint32_t>> pending() const;
    [[nodiscard]] std::size_t size() const { return seen_.size(); }

private:
    struct Entry {
        Tracked tracked;
        bool reported = false;
        std::uint64_t round = 0;
    };

    void take(const Tracked& now, News& news);

    std::unordered_map<std::uint32_t, Entry> seen_;
    std::uint64_t round_ = 0;
    std::size_t pending_ = 0;
};

}    // namespace rdmaqos
