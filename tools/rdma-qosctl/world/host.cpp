#include "tools/rdma-qosctl/world/host.h"

#include <algorithm>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "tools/rdma-qosctl/world/online.h"

namespace rdmaqos::ctl {
namespace {

constexpr std::string_view kOfKernel = "kernel";

}    // namespace

bool HostFilter::takes(const api::HostQueuePair& queue_pair) const
{
    const std::string& reason = queue_pair.outside;
    return (level.empty() || equals_ignoring_case(queue_pair.level, level)) &&
           (unit.empty() || glob_matches(unit, queue_pair.unit)) &&
           (!outside || (reasons.empty() ? !reason.empty() && reason != kOfKernel : reasons.contains(reason)));
}

Result<std::vector<api::HostQueuePair>> fetch_host_queue_pairs(bus::Client& client, const HostFilter& filter)
{
    bus::Dict options;
    if (!filter.device.empty()) {
        options.set("device", filter.device);
    }
    if (filter.pid) {
        options.set("pid", *filter.pid);
    }
    auto queue_pairs = call_manager<std::vector<api::HostQueuePair>>(client, "ListQueuePairs", {options});
    if (!queue_pairs) {
        return fail(std::move(queue_pairs).error());
    }
    std::erase_if(*queue_pairs, [&](const api::HostQueuePair& queue_pair) { return !filter.takes(queue_pair); });
    UserNames names;
    for (auto& queue_pair : *queue_pairs) {
        queue_pair.user = queue_pair.uid ? names.name_of(*queue_pair.uid) : "";
    }
    return queue_pairs;
}

std::vector<api::HostCount> fetch_host_counts(bus::Client& client)
{
    return call_manager<std::vector<api::HostCount>>(client, "CountQueuePairs", {})
        .value_or(std::vector<api::HostCount>());
}

void count_outside(World& world, const std::vector<api::HostCount>& counts)
{
    if (counts.empty()) {
        return;
    }
    for (auto& device : world.devices) {
        std::uint64_t outside = 0;
        for (const auto& count : counts) {
            const bool is_here = count.device == device.key();
            outside += is_here && !count.outside.empty() && count.outside != kOfKernel ? count.count.value_or(0) : 0;
        }
        device.queue_pairs_outside = static_cast<std::uint32_t>(std::min<std::uint64_t>(outside, UINT32_MAX));
    }
}

std::string senders_outside(const std::vector<api::HostQueuePair>& queue_pairs, const std::string& device)
{
    constexpr std::size_t kNamed = 3;
    std::map<std::string, std::size_t> by_program;
    for (const auto& queue_pair : queue_pairs) {
        const auto& [reason, command] = std::tie(queue_pair.outside, queue_pair.command);
        if (queue_pair.device == device && !reason.empty() && reason != kOfKernel) {
            ++by_program[queue_pair.pid
                             ? fmt::format("{}pid {}", command.empty() ? "" : command + ", ", *queue_pair.pid)
                             : "a program that is not known"];
        }
    }
    std::vector<std::pair<std::string, std::size_t>> most(by_program.begin(), by_program.end());
    std::ranges::stable_sort(most, std::ranges::greater{}, &std::pair<std::string, std::size_t>::second);
    std::string text;
    for (std::size_t i = 0; i < std::min(most.size(), kNamed); ++i) {
        text += fmt::format("{}{} of {}", i == 0 ? "" : "; ", most[i].second, most[i].first);
    }
    return most.size() > kNamed ? fmt::format("{}; and {}", text, counted(most.size() - kNamed, "other program"))
                                : text;
}

HostSummary sum_up(const std::vector<api::HostCount>& counts)
{
    HostSummary summary;
    for (const auto& count : counts) {
        const std::uint64_t many = count.count.value_or(0);
        const std::string& reason = count.outside;
        if (!count.failure.empty()) {
            summary.failures.push_back(count.failure);
        } else if (reason.empty()) {
            summary.in_leaf += many;
        } else if (reason == kOfKernel) {
            summary.of_kernel += many;
        } else {
            summary.outside += many;
            summary.by_reason[reason] += many;
        }
    }
    return summary;
}

}    // namespace rdmaqos::ctl
