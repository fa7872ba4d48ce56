#include "daemon/service/program_traffic.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "daemon/port_classes/port_kernel.h"

namespace rdmaqos {
namespace {

// Who looks once a second gets what is new each time.
constexpr Duration kFreshCounters = std::chrono::milliseconds(250);

constexpr std::string_view kHowToBind =
    "`queue-pair-counters: bind` in /etc/rdma-qos/rdma-qosd.yaml has the daemon bind counters to them";

}    // namespace

ProgramTraffic::ProgramTraffic(ServiceContext& context, const PolicyInForce& policy, const DeviceTable& devices)
    : context_(context), policy_(policy), devices_(devices),
      look_(context.executor, context.clock, "counters", kFreshCounters)
{
}

std::vector<PortToCount> ProgramTraffic::ports() const
{
    const bool binds = policy_.settings().queue_pair_counters == QueuePairCountersSetting::Bind;
    std::vector<PortToCount> ports;
    for (const auto& [key, device] : devices_) {
        ports.push_back(binds || device->attach_report().caps == CapMode::Adaptive
                            ? port_to_bind(*device)
                            : PortToCount{key, device->info().name, device->info().port, {}});
    }
    return ports;
}

PortToCount ProgramTraffic::port_to_bind(const ManagedDevice& device)
{
    const PlacementBook& book = device.book();
    PortToCount port{device.key(), device.info().name, device.info().port, {}};
    std::map<std::pair<SessionId, ElementPath>, std::uint64_t> groups;
    for (const std::uint32_t number : book.members_in_order()) {
        if (port.queue_pairs.size() == kMostCounted) {
            break;
        }
        const SessionId session = book.find(number)->session;
        const auto group = groups.try_emplace({session, book.placement(number).requester}, groups.size()).first->second;
        port.queue_pairs.push_back({number, group, session});
    }
    return port;
}

void ProgramTraffic::read(Callback<std::vector<CountersOfPort>> done)
{
    const auto& count = context_.options.count_traffic;
    look_.ask([&] { return [count, ports = ports()] { return count ? count(ports) : CountedTraffic(); }; },
              [this, done = std::move(done)](const Result<std::shared_ptr<const CountedTraffic>>& seen) {
                  if (!seen) {
                      done(fail(seen.error()));
                      return;
                  }
                  std::vector<CountersOfPort> ports;
                  for (const auto& port : (*seen)->ports) {
                      if (devices_.contains(port.key)) {
                          ports.push_back(describe(port));
                      }
                  }
                  totals_.add(ports);
                  done(std::move(ports));
              });
}

CountersOfPort ProgramTraffic::describe(const CountedPort& port) const
{
    const ManagedDevice& device = devices_.at(port.key);
    CountersOfPort described{port.key, port.is_read, {}, device.book().size(), 0, {}, port.taken_at};
    for (const auto& counter : port.counters) {
        ProgramCounter& each = described.counters.emplace_back(ProgramCounter{counter, {}, {}, {}, {}});
        std::set<SessionId> sessions;
        std::set<std::string> levels;
        std::set<std::string> leaves;
        for (const std::uint32_t number : counter.queue_pairs) {
            const Member* member = device.book().find(number);
            if (member == nullptr) {
                continue;
            }
            described.counted += counter.sent_bytes ? 1 : 0;
            each.owner = sessions.empty() || (each.owner && each.owner->pid == member->owner->pid) ? member->owner
                                                                                                   : nullptr;
            sessions.insert(member->session);
            const auto result = device.result(number);
            levels.insert(result ? result->level : std::string());
            leaves.insert(result ? result->leaf : std::string());
        }
        each.session = sessions.size() == 1 ? std::optional(*sessions.begin()) : std::nullopt;
        each.level = levels.size() == 1 ? *levels.begin() : std::string();
        each.leaf = leaves.size() == 1 ? *leaves.begin() : std::string();
    }
    described.reason = why_not_all(port, described);
    return described;
}

std::string ProgramTraffic::why_hindered(const CountedPort& port)
{
    switch (port.hindrance.value_or(WhyNotCounted::KernelRefuses)) {
    case WhyNotCounted::KernelCannot:
        return "this kernel does not count what queue pairs of this device send: mlx5 does since Linux 6.16";
    case WhyNotCounted::BoundByKernel:
        return "the kernel binds counters to queue pairs as they are set up (`rdma statistic qp show`): it has not "
               "bound these, and lets nobody else";
    case WhyNotCounted::NotPermitted:
        return "binding counters to queue pairs needs CAP_NET_ADMIN, which rdma-qosd does not have: " +
               how_to_allow_ports();
    case WhyNotCounted::KernelRefuses:
        return port.error;
    }
    return {};
}

std::string ProgramTraffic::why_not_all(const CountedPort& port, const CountersOfPort& counters) const
{
    if (counters.counted >= counters.queue_pairs && port.error.empty()) {
        return {};
    }
    if (port.hindrance) {
        return why_hindered(port);
    }
    if (policy_.settings().queue_pair_counters != QueuePairCountersSetting::Bind) {
        return std::string(kHowToBind);
    }
    return counters.queue_pairs > kMostCounted
               ? fmt::format("counters are bound to {} queue pairs of a port at most", kMostCounted)
               : "they have come since, or their counters were bound when bytes were not counted";
}

}    // namespace rdmaqos
