#include "daemon/service/adaptive_caps.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "daemon/service/program_traffic.h"

namespace rdmaqos {
namespace {

constexpr Duration kStep = std::chrono::milliseconds(50);
constexpr Duration kStepAtRest = std::chrono::milliseconds(100);
constexpr Duration kBetweenPortReadings = std::chrono::seconds(1);
constexpr Duration kBeforeTryingAgain = std::chrono::seconds(1);

double kbps(std::uint64_t bytes, Duration time)
{
    return static_cast<double>(bytes) * 8 / 1000 / std::chrono::duration<double>(time).count();
}

}    // namespace

AdaptiveCaps::AdaptiveCaps(ServiceContext& context, const PolicyInForce& policy, const DeviceTable& devices)
    : context_(context), policy_(policy), devices_(devices), calls_(context.executor)
{
}

ManagedDevice* AdaptiveCaps::device_of(const std::string& key, const std::weak_ptr<Port>& port) const
{
    const auto found = ports_.find(key);
    return found != ports_.end() && found->second == port.lock() ? devices_.find(key) : nullptr;
}

void AdaptiveCaps::look_soon(const std::string& device)
{
    const ManagedDevice* const found = devices_.find(device);
    if (found == nullptr || found->gone() || found->attach_report().caps != CapMode::Adaptive) {
        ports_.erase(device);
        return;
    }
    auto& port = ports_[device];
    if (!port) {
        port = std::make_shared<Port>();
    }
    if (!port->timer && !port->is_measuring) {
        look_after(device, kStep);
    }
}

void AdaptiveCaps::look_after(const std::string& key, Duration pause)
{
    ports_.at(key)->timer = context_.executor.after(pause, [this, key] { look(key); });
}

void AdaptiveCaps::look(const std::string& key)
{
    const auto found = ports_.find(key);
    ManagedDevice* const device = devices_.find(key);
    if (found == ports_.end() || device == nullptr || device->gone() || context_.shutting_down) {
        ports_.erase(key);
        return;
    }
    const auto port = found->second;
    const auto timer = std::move(port->timer);    // which is running
    list_copies(*device, *port);
    if (port->copies.size() < 2) {
        stop(*device, *port);
        port->counters.clear();
        device->set_not_adaptive({});
        return;    // until its queue pairs change
    }
    port->is_measuring = true;
    if (port->sent && context_.clock.now() - port->sent->taken_at < kBetweenPortReadings) {
        count(key, port, std::nullopt);
        return;
    }
    device->counters([this, key, port](const Result<CounterReading>& sent) {
        const auto last = std::exchange(port->sent, sent ? std::optional(*sent) : std::nullopt);
        const bool is_known = last && sent && sent->taken_at > last->taken_at &&
                              sent->counters.transmit_bytes >= last->counters.transmit_bytes;
        count(key, port,
              is_known ? std::optional(kbps(sent->counters.transmit_bytes - last->counters.transmit_bytes,
                                            sent->taken_at - last->taken_at))
                       : std::nullopt);
    });
}

void AdaptiveCaps::list_copies(const ManagedDevice& device, Port& port) const
{
    if (std::exchange(port.changes, device.changes()) == device.changes() && !port.copies.empty()) {
        return;
    }
    port.controller.set_tree(device.book().compiled().tree);
    port.to_count = ProgramTraffic::port_to_bind(device);
    port.copies.clear();
    port.copy_of.clear();
    if (device.held_back() || policy_.settings().mode != Mode::Enforce) {
        return;
    }
    for (const std::uint32_t number : device.book().members_in_order()) {
        const Member& member = *device.book().find(number);
        const ElementPath& leaf = device.book().placement(number).requester;
        if (leaf.empty() || !member.ref.file) {
            continue;
        }
        const adapt::LeafCopy copy{static_cast<std::uint64_t>(member.session), leaf};
        port.copies.try_emplace(copy, member.ref.file);
        port.copy_of.emplace(number, copy);
    }
}

void AdaptiveCaps::count(const std::string& key, const std::shared_ptr<Port>& port, std::optional<double> port_kbps)
{
    if (device_of(key, port) == nullptr) {
        return;
    }
    auto work = [count = context_.options.count_traffic,
                 ports = std::vector{port->to_count}]() -> Result<CountedTraffic> {
        return count ? count(ports) : CountedTraffic();
    };
    calls_.run(worker_, std::move(work), [this, key, port, port_kbps](const Result<CountedTraffic>& counted) {
        if (device_of(key, port) != nullptr) {
            take(key, *port, port_kbps, counted);
        }
    });
}

void AdaptiveCaps::take(const std::string& key, Port& port, std::optional<double> port_kbps,
                        const Result<CountedTraffic>& counted)
{
    ManagedDevice& device = devices_.at(key);
    port.is_measuring = false;
    list_copies(device, port);
    std::string why = why_not_measured(port, counted);
    if (!why.empty()) {
        stop(device, port);
        port.counters.clear();
        device.set_not_adaptive(std::move(why));
        look_after(key, kBeforeTryingAgain);
        return;
    }
    const bool is_first = port.counters.empty();
    adapt::Sample measured = sample(device, port, counted->ports.front());
    measured.port_kbps = port_kbps;
    if (!is_first) {
        set(device, port, port.controller.step(measured));
    }
    device.set_not_adaptive({});
    look_after(key, port.controller.is_at_rest() ? kStepAtRest : kStep);
}

std::optional<adapt::LeafCopy> AdaptiveCaps::copy_of(const Port& port, const rdma_netlink::QueuePairCounter& counter)
{
    std::optional<adapt::LeafCopy> copy;
    for (const std::uint32_t number : counter.queue_pairs) {
        const auto its = port.copy_of.find(number);
        if (its == port.copy_of.end() || (copy && *copy != its->second)) {
            return std::nullopt;
        }
        copy = its->second;
    }
    return counter.sent_bytes ? copy : std::nullopt;
}

std::string AdaptiveCaps::why_not_measured(Port& port, const Result<CountedTraffic>& counted)
{
    if (!counted) {
        return to_string(counted.error());
    }
    if (counted->ports.empty()) {
        return "nothing here counts what queue pairs send";
    }
    const CountedPort& read = counted->ports.front();
    std::set<adapt::LeafCopy> uncounted;
    for (const auto& [copy, file] : port.copies) {
        uncounted.insert(copy);
    }
    for (const auto& counter : read.counters) {
        if (const auto copy = copy_of(port, counter)) {
            uncounted.erase(*copy);
        }
    }
    const auto before = std::exchange(port.uncounted, uncounted);
    if (!uncounted.empty() && (!read.is_read || read.hindrance)) {
        return ProgramTraffic::why_hindered(read);
    }
    const auto still = std::ranges::find_if(uncounted, [&](const auto& copy) { return before.contains(copy); });
    return still == uncounted.end()
               ? std::string()
               : fmt::format(
                     "what session {} sends in {} is not counted: the kernel counts no queue pairs made by DEVX, "
                     "and the daemon neither more than {} of a port nor those that somebody else has bound to "
                     "one counter with queue pairs of other sessions",
                     still->process, still->leaf.text(), ProgramTraffic::kMostCounted);
}

adapt::Sample AdaptiveCaps::sample(const ManagedDevice& device, Port& port, const CountedPort& counted)
{
    adapt::Sample sample{counted.taken_at, device.info().link_speed, {}};
    const Duration since = counted.taken_at - std::exchange(port.counted_at, counted.taken_at);
    const auto before = std::exchange(port.counters, {});
    for (const auto& counter : counted.counters) {
        const auto copy = copy_of(port, counter);
        if (!copy) {
            continue;
        }
        port.counters.emplace(counter.number, Reading{*copy, *counter.sent_bytes});
        const auto last = before.find(counter.number);
        const bool goes_on = last != before.end() && last->second.copy == *copy &&
                             last->second.sent_bytes <= *counter.sent_bytes;
        sample.sent_kbps[*copy] += kbps(*counter.sent_bytes - (goes_on ? last->second.sent_bytes : 0), since);
    }
    return sample;
}

void AdaptiveCaps::set(ManagedDevice& device, Port& port, const std::vector<adapt::CapChange>& changes)
{
    std::vector<ManagedDevice::CopyCap> caps;
    std::vector<adapt::LeafCopy> copies;
    for (const auto& change : changes) {
        if (const auto copy = port.copies.find(change.copy); copy != port.copies.end()) {
            caps.push_back({copy->second, change.copy.leaf, change.cap});
            copies.push_back(change.copy);
        }
    }
    if (caps.empty()) {
        return;
    }
    device.cap_copies(std::move(caps), [this, key = device.key(), port = ports_.at(device.key()),
                                        copies = std::move(copies)](const Result<std::vector<std::size_t>>& refused) {
        if (device_of(key, port) == nullptr || !refused) {
            return;
        }
        for (const std::size_t i : *refused) {
            port->controller.not_set(copies[i]);
        }
    });
}

void AdaptiveCaps::stop(ManagedDevice& device, Port& port)
{
    std::vector<adapt::LeafCopy> all;
    for (const auto& [copy, file] : port.copies) {
        all.push_back(copy);
    }
    set(device, port, port.controller.stop(all));
}

}    // namespace rdmaqos
