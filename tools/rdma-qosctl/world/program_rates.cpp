#include "tools/rdma-qosctl/world/program_rates.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "lib/base/try.h"
#include "tools/rdma-qosctl/world/online.h"

namespace rdmaqos::ctl {
namespace {

constexpr const char* kMethod = "ListCounters";

std::uint64_t grown(std::optional<std::uint64_t> before, std::optional<std::uint64_t> after)
{
    const std::uint64_t now = after.value_or(0);
    return before && *before <= now ? now - *before : now;
}

struct Growth {
    std::uint64_t sent_bytes = 0;
    std::uint64_t received_bytes = 0;
    std::uint64_t sent_packets = 0;
    std::uint64_t received_packets = 0;

    Growth& operator+=(const Growth& other)
    {
        sent_bytes += other.sent_bytes;
        received_bytes += other.received_bytes;
        sent_packets += other.sent_packets;
        received_packets += other.received_packets;
        return *this;
    }
};

struct RateGroup {
    ProgramRate common;
    Growth growth;
};

std::string key_of(const api::ProgramCounter& counter, RatesBy by)
{
    switch (by) {
    case RatesBy::Leaf:
        return counter.leaf;
    case RatesBy::Level:
        return counter.level;
    case RatesBy::Unit:
        return counter.unit;
    case RatesBy::Session:
        break;
    }
    return counter.session ? std::to_string(*counter.session) : "c" + std::to_string(counter.counter);
}

// What is not the same in both is of neither.
template <typename T>
void keep_common(T& kept, const T& other)
{
    if (kept != other) {
        kept = {};
    }
}

void add(RateGroup& group, bool is_first, const api::ProgramCounter& counter)
{
    ProgramRate& common = group.common;
    if (is_first) {
        common = {counter.device, counter.level, counter.leaf,   counter.session,
                  counter.pid,    counter.unit,  counter.command};
    }
    keep_common(common.level, counter.level);
    keep_common(common.leaf, counter.leaf);
    keep_common(common.session, counter.session);
    keep_common(common.pid, counter.pid);
    keep_common(common.unit, counter.unit);
    keep_common(common.command, counter.command);
    common.queue_pairs += counter.queue_pairs;
}

Bandwidth rate_of(std::uint64_t bytes, std::uint64_t microseconds)
{
    return rate_between(0, bytes, microseconds).value_or(Bandwidth());
}

std::uint64_t a_second(std::uint64_t count, std::uint64_t microseconds)
{
    constexpr double kSecond = 1e6;
    return static_cast<std::uint64_t>(static_cast<double>(count) * kSecond / static_cast<double>(microseconds));
}

bool is_chosen(const std::string& key, const std::string& device)
{
    return device.empty() || key == device || key.substr(0, key.rfind('/')) == device;
}

}    // namespace

Result<CounterReadings> fetch_counters(bus::Client& client)
{
    const auto reply = TRY(client.call(kManagerPath, kManagerInterface, kMethod, {}));
    auto counters = reply.size() == 2 ? api::from_value<std::vector<api::ProgramCounter>>(reply[0]) : std::nullopt;
    auto ports = reply.size() == 2 ? api::from_value<std::vector<api::CountedPort>>(reply[1]) : std::nullopt;
    if (!counters || !ports) {
        return fail(not_as_documented(kMethod));
    }
    return CounterReadings{std::move(*counters), std::move(*ports)};
}

std::optional<Bandwidth> rate_between(std::uint64_t bytes_before, std::uint64_t bytes_after, std::uint64_t microseconds)
{
    if (bytes_after < bytes_before || microseconds == 0) {
        return std::nullopt;
    }
    // 8 bits a byte, 1000 bits and 1000 microseconds in kbit/s and milliseconds.
    __extension__ using Wide = unsigned __int128;
    const Wide kbps = Wide{bytes_after - bytes_before} * 8000 / microseconds;
    if (kbps > std::numeric_limits<std::uint64_t>::max()) {
        return std::nullopt;    // not a rate but a counter that has jumped
    }
    return Bandwidth::from_kbps(static_cast<std::uint64_t>(kbps));
}

std::vector<PortRates> rates_between(const CounterReadings& before, const CounterReadings& after, RatesBy by,
                                     const std::string& device)
{
    std::map<std::pair<std::string, std::uint32_t>, const api::ProgramCounter*> earlier;
    for (const auto& counter : before.counters) {
        earlier[{counter.device, counter.counter}] = &counter;
    }
    std::vector<PortRates> rates;
    for (const auto& port : after.ports) {
        const auto first = std::ranges::find(before.ports, port.device, &api::CountedPort::device);
        if (first == before.ports.end() || first->taken_at >= port.taken_at || !is_chosen(port.device, device)) {
            continue;
        }
        PortRates& all = rates.emplace_back(PortRates{.device = port.device,
                                                      .queue_pairs = port.queue_pairs,
                                                      .counted = port.counted,
                                                      .reason = port.reason,
                                                      .interval = port.taken_at - first->taken_at});
        std::map<std::string, RateGroup> groups;
        Growth total;
        for (const auto& counter : after.counters) {
            if (counter.device != port.device || !counter.sent_bytes) {
                continue;
            }
            const auto found = earlier.find({counter.device, counter.counter});
            const api::ProgramCounter none;
            const api::ProgramCounter& old = found == earlier.end() || found->second->session != counter.session
                                                 ? none
                                                 : *found->second;
            const Growth growth{
                grown(old.sent_bytes, counter.sent_bytes), grown(old.received_bytes, counter.received_bytes),
                grown(old.sent_packets, counter.sent_packets), grown(old.received_packets, counter.received_packets)};
            const auto [group, is_first] = groups.try_emplace(key_of(counter, by));
            add(group->second, is_first, counter);
            group->second.growth += growth;
            total += growth;
        }
        all.sent = rate_of(total.sent_bytes, all.interval);
        all.received = rate_of(total.received_bytes, all.interval);
        for (auto& [key, group] : groups) {
            ProgramRate& row = all.programs.emplace_back(std::move(group.common));
            row.sent = rate_of(group.growth.sent_bytes, all.interval);
            row.received = rate_of(group.growth.received_bytes, all.interval);
            row.sent_packets = a_second(group.growth.sent_packets, all.interval);
            row.received_packets = a_second(group.growth.received_packets, all.interval);
        }
        std::ranges::stable_sort(all.programs, [](const ProgramRate& a, const ProgramRate& b) {
            return std::tie(b.sent, b.received) < std::tie(a.sent, a.received);
        });
    }
    return rates;
}

}    // namespace rdmaqos::ctl
