// The queue pairs of the whole host, whether their programs know of the daemon or not.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/bus/client.h"
#include "lib/bus/value.h"
#include "tools/rdma-qosctl/world/views.h"

namespace rdmaqos::ctl {

struct HostFilter {
    std::string device;    // "mlx5_0" or "mlx5_0/1"; empty: all
    std::optional<std::uint32_t> pid;
    std::string level;       // empty: any, or none
    std::string unit;        // may be a glob; empty: any, or none
    bool outside = false;    // only those of programs that are in no leaf
    std::set<std::string, std::less<>>
        reasons{};    // with `outside`: for one of these, also the kernel's own; empty: any

    [[nodiscard]] bool takes(const api::HostQueuePair& queue_pair) const;
};

[[nodiscard]] Result<std::vector<api::HostQueuePair>> fetch_host_queue_pairs(bus::Client& client,
                                                                             const HostFilter& filter);
// Empty: the daemon does not say, for instance because it is older.
[[nodiscard]] std::vector<api::HostCount> fetch_host_counts(bus::Client& client);

// "Outside" has one meaning in every report: queue pairs of programs in no leaf. Older daemons count only those of
// sessions.
void count_outside(World& world, const std::vector<api::HostCount>& counts);

// Whose they are on one port, most first: "32 of ib_write_bw (pid 4711)".
[[nodiscard]] std::string senders_outside(const std::vector<api::HostQueuePair>& queue_pairs,
                                          const std::string& device);

// The counts of all devices together.
struct HostSummary {
    std::uint64_t in_leaf = 0;
    std::uint64_t of_kernel = 0;
    std::uint64_t outside = 0;                         // of programs, in no leaf
    std::map<std::string, std::uint64_t> by_reason;    // of those outside
    std::vector<std::string> failures;                 // sentences
};
[[nodiscard]] HostSummary sum_up(const std::vector<api::HostCount>& counts);

}    // namespace rdmaqos::ctl
