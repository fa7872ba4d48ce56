#include "tools/rdma-qosctl/world/host.h"

#include <algorithm>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "tools/rdma-qosctl/world/online.h"

namespace rdmaqos::ctl {
namespace {

constexpr std::string_view kOfKernel = "kernel";

}    // namespace

bool HostFilter::takes(const bus::Dict& queue_pair) const
{
    const std::string reason = text_of(queue_pair, "outside");
    return (level.empty() || equals_ignoring_case(text_of(queue_pair, "level"), level)) &&
           (unit.empty() || glob_matches(unit, text_of(queue_pair, "unit"))) &&
           (!outside || (reasons.empty() ? !reason.empty() && reason != kOfKernel : reasons.contains(reason)));
}

Result<std::vector<bus::Dict>> fetch_host_queue_pairs(bus::Client& client, const HostFilter& filter)
{
    bus::Dict options;
    if (!filter.device.empty()) {
        options.set("device", filter.device);
    }
    if (filter.pid) {
        options.set("pid", *filter.pid);
    }
    auto queue_pairs = call_manager<std::vector<bus::Dict>>(client, "ListQueuePairs", {options});
    if (!queue_pairs) {
        return fail(std::move(queue_pairs).error());
    }
    std::erase_if(*queue_pairs, [&](const bus::Dict& queue_pair) { return !filter.takes(queue_pair); });
    UserNames names;
    for (auto& queue_pair : *queue_pairs) {
        if (queue_pair.contains("uid")) {
            names.add_to(queue_pair);
        }
    }
    return queue_pairs;
}

std::vector<bus::Dict> fetch_host_counts(bus::Client& client)
{
    return call_manager<std::vector<bus::Dict>>(client, "CountQueuePairs", {}).value_or(std::vector<bus::Dict>());
}

void count_outside(World& world, const std::vector<bus::Dict>& counts)
{
    if (counts.empty()) {
        return;
    }
    for (auto& device : world.devices) {
        std::uint64_t outside = 0;
        for (const auto& count : counts) {
            const std::string reason = text_of(count, "outside");
            const bool is_here = text_of(count, "device") == device.key();
            outside += is_here && !reason.empty() && reason != kOfKernel ? number_of(count, "count") : 0;
        }
        device.queue_pairs_outside = static_cast<std::uint32_t>(std::min<std::uint64_t>(outside, UINT32_MAX));
    }
}

std::string senders_outside(const std::vector<bus::Dict>& queue_pairs, const std::string& device)
{
    constexpr std::size_t kNamed = 3;
    std::map<std::string, std::size_t> by_program;
    for (const auto& queue_pair : queue_pairs) {
        const std::string reason = text_of(queue_pair, "outside");
        if (text_of(queue_pair, "device") == device && !reason.empty() && reason != kOfKernel) {
            const std::string command = text_of(queue_pair, "command");
            ++by_program[queue_pair.contains("pid") ? fmt::format("{}pid {}", command.empty() ? "" : command + ", ",
                                                                  number_of(queue_pair, "pid"))
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

HostSummary sum_up(const std::vector<bus::Dict>& counts)
{
    HostSummary summary;
    for (const auto& count : counts) {
        const std::uint64_t many = number_of(count, "count");
        const std::string reason = text_of(count, "outside");
        if (const std::string failure = text_of(count, "failure"); !failure.empty()) {
            summary.failures.push_back(failure);
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
