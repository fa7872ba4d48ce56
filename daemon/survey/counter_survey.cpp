#include "daemon/survey/counter_survey.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "lib/base/try.h"

namespace rdmaqos {
namespace {

using namespace rdma_netlink;

// What is switched on before counters are bound; the first is what it is about.
constexpr std::array<std::string_view, 4> kWanted{"rdma_tx_bytes", "rdma_tx_packets", "rdma_rx_bytes",
                                                  "rdma_rx_packets"};

// False: the port does not have what is wanted most.
Result<bool> switch_on(Connection& kernel, const TrackedDevice& device, std::uint32_t port)
{
    const auto optional = TRY(list_optional_counters(kernel, device, port));
    std::vector<std::uint32_t> on;
    bool has_bytes = false;
    bool lacks = false;
    for (const auto& each : optional) {
        const bool is_wanted = std::ranges::find(kWanted, each.name) != kWanted.end();
        has_bytes = has_bytes || each.name == kWanted.front();
        lacks = lacks || (is_wanted && !each.is_on);
        if (is_wanted || each.is_on) {
            on.push_back(each.index);
        }
    }
    if (has_bytes && lacks) {
        TRY(set_optional_counters(kernel, device, port, on));
    }
    return has_bytes;
}

// A queue pair that has gone meanwhile, or that somebody else has bound, is no failure.
bool is_of_queue_pair(const Error& error)
{
    return error.sys_errno == ENOENT || error.sys_errno == EINVAL || error.sys_errno == ENOMEM;
}

Result<void> bind_all(Connection& kernel, const TrackedDevice& device, const PortToCount& port,
                      const std::vector<CounterBinding>& bindings)
{
    struct Filling {
        std::uint32_t counter = 0;
        std::size_t count = 0;
    };
    std::map<std::uint64_t, Filling> latest;    // counter of each group that was made here
    for (const auto& each : bindings) {
        if (each.bound_to) {
            const auto unbound = unbind_counter(kernel, device, port.port, each.queue_pair, *each.bound_to);
            if (!unbound && !is_of_queue_pair(unbound.error())) {
                return fail(unbound.error());
            }
        }
        const auto mine = latest.find(each.group);
        std::optional<std::uint32_t> counter = each.counter;
        if (!counter && mine != latest.end() && mine->second.count < kMostOfCounter) {
            counter = mine->second.counter;
        }
        auto bound = bind_counter(kernel, device, port.port, each.queue_pair, counter);
        if (!bound && counter && is_of_queue_pair(bound.error())) {
            // Before Linux 5.12, only queue pairs of one process may share a counter.
            bound = bind_counter(kernel, device, port.port, each.queue_pair, std::nullopt);
        }
        if (!bound && !is_of_queue_pair(bound.error())) {
            return fail(bound.error());
        }
        if (bound) {
            auto& filling = latest[each.group];
            filling = {*bound, filling.counter == *bound ? filling.count + 1 : 1};
        }
    }
    return {};
}

// `counted` gets why a port's queue pairs could not all be bound, if so. False: binding was not tried.
bool bind_port(Connection& kernel, const TrackedDevice& device, const PortToCount& port,
               const std::vector<CounterBinding>& bindings, CountedPort& counted)
{
    const auto refused = [&](const Error& error) {
        counted.hindrance = error.sys_errno == EPERM ? WhyNotCounted::NotPermitted : WhyNotCounted::KernelRefuses;
        counted.error = to_string(error);
    };
    const auto mode = counter_mode(kernel, device, port.port);
    if (mode && *mode == CounterMode::Automatic) {
        counted.hindrance = WhyNotCounted::BoundByKernel;
        return false;
    }
    const auto has_bytes = switch_on(kernel, device, port.port);
    if (!has_bytes) {
        refused(has_bytes.error());
        return false;
    }
    if (!*has_bytes) {
        counted.hindrance = WhyNotCounted::KernelCannot;
        return false;
    }
    if (const auto bound = bind_all(kernel, device, port, bindings); !bound) {
        refused(bound.error());
    }
    return true;
}

void survey_device(Connection& kernel, const TrackedDevice& device, const std::vector<const PortToCount*>& ports,
                   const Clock& clock, CountedTraffic& traffic)
{
    auto counters = list_counters(kernel, device);
    std::vector<CountedPort> counted;
    bool any_bound = false;
    for (const PortToCount* port : ports) {
        CountedPort& each = counted.emplace_back(CountedPort{port->key});
        if (!counters) {
            each.hindrance = WhyNotCounted::KernelRefuses;
            each.error = to_string(counters.error());
            continue;
        }
        if (const auto bindings = plan_bindings(*counters, *port); !bindings.empty()) {
            any_bound = bind_port(kernel, device, *port, bindings, each) || any_bound;
        }
    }
    if (any_bound) {
        counters = list_counters(kernel, device);
    }
    const TimePoint now = clock.now();
    for (std::size_t i = 0; i < ports.size(); ++i) {
        for (const auto& counter : counters ? *counters : std::vector<QueuePairCounter>()) {
            if (counter.port == ports[i]->port) {
                counted[i].counters.push_back(counter);
            }
        }
        counted[i].is_read = counters.has_value();
        counted[i].taken_at = now;
        traffic.ports.push_back(std::move(counted[i]));
    }
}

}    // namespace

std::vector<CounterBinding> plan_bindings(const std::vector<QueuePairCounter>& counters, const PortToCount& port)
{
    std::unordered_map<std::uint32_t, const QueuePairToCount*> known;
    for (const auto& each : port.queue_pairs) {
        known.emplace(each.number, &each);
    }
    std::unordered_map<std::uint32_t, std::optional<std::uint32_t>> bound;    // to what it is to be taken out of
    struct Open {
        std::uint32_t counter = 0;
        std::size_t room = 0;
    };
    std::map<std::uint64_t, Open> open;    // by group
    for (const auto& counter : counters) {
        if (counter.port != port.port) {
            continue;
        }
        std::set<std::optional<SessionId>> sessions;
        std::map<std::uint64_t, std::size_t> groups;
        for (const std::uint32_t number : counter.queue_pairs) {
            bound[number] = std::nullopt;
            const auto found = known.find(number);
            sessions.insert(found == known.end() ? std::nullopt : std::optional(found->second->session));
            if (found != known.end()) {
                ++groups[found->second->group];
            }
        }
        if (sessions.size() != 1 || !*sessions.begin() || !counter.sent_bytes) {
            continue;
        }
        const auto staying = std::ranges::max_element(groups, {}, [](const auto& group) { return group.second; });
        for (const std::uint32_t number : counter.queue_pairs) {
            if (known.at(number)->group != staying->first) {
                bound[number] = counter.number;
            }
        }
        if (staying->second < kMostOfCounter) {
            open[staying->first] = {counter.number, kMostOfCounter - staying->second};
        }
    }
    std::vector<CounterBinding> bindings;
    for (const auto& each : port.queue_pairs) {
        const auto is_in = bound.find(each.number);
        if (is_in != bound.end() && !is_in->second) {
            continue;
        }
        const auto found = open.find(each.group);
        const bool has_room = found != open.end() && found->second.room > 0;
        if (has_room) {
            --found->second.room;
        }
        bindings.push_back({each.number, each.group, has_room ? std::optional(found->second.counter) : std::nullopt,
                            is_in == bound.end() ? std::nullopt : is_in->second});
    }
    return bindings;
}

CountedTraffic survey_counters(const std::vector<PortToCount>& ports, const Clock& clock)
{
    CountedTraffic traffic;
    std::map<std::string, std::vector<const PortToCount*>> by_device;
    for (const auto& port : ports) {
        by_device[port.name].push_back(&port);
    }
    Connection kernel;
    const int failed = kernel.open();
    const auto devices = failed == 0 ? list_devices(kernel)
                                     : fail(Error{ErrorCode::Io, failed, "the kernel has no RDMA netlink"});
    for (const auto& [name, of_device] : by_device) {
        const auto found = devices ? std::ranges::find(*devices, name, &TrackedDevice::name)
                                   : std::vector<TrackedDevice>::const_iterator();
        if (devices && found != devices->end()) {
            survey_device(kernel, *found, of_device, clock, traffic);
            continue;
        }
        for (const PortToCount* port : of_device) {
            traffic.ports.push_back({port->key,
                                     false,
                                     {},
                                     clock.now(),
                                     WhyNotCounted::KernelRefuses,
                                     devices ? "the kernel does not list this device" : to_string(devices.error())});
        }
    }
    return traffic;
}

}    // namespace rdmaqos
