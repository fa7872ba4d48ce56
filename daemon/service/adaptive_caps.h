// `cap-mode: adaptive`: on devices in attach mode per-process, measures what each process sends in each leaf, and sets
// the caps of their leaves so that shares, guarantees and caps hold between processes (lib/adapt/cap_controller.h).
//
//     every 50 ms, of each such device:   counters of queue pairs ──▶ CapController ──▶ cap_copies()
//                                         (a thread of this)                            (the device's thread)
//     every second, before that:          what the port has sent
//                                         (the device's thread)
//
// Nothing is measured where fewer than two processes can compete. Where that cannot be measured, caps are divided, the
// device says why (AttachReport::not_adaptive), and it is tried again every second.
//
// Thread: the main loop.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/model/counted_traffic.h"
#include "daemon/model/device_status.h"
#include "daemon/service/context.h"
#include "daemon/service/device_table.h"
#include "daemon/service/policy_in_force.h"
#include "lib/adapt/cap_controller.h"
#include "lib/reconcile/worker.h"

namespace rdmaqos {

class AdaptiveCaps {
public:
    // All must outlive it.
    AdaptiveCaps(ServiceContext& context, const PolicyInForce& policy, const DeviceTable& devices);

    // Of a device whose queue pairs, or settings, may have changed.
    void look_soon(const std::string& device);

private:
    // Of a counter, as it was read last.
    struct Reading {
        adapt::LeafCopy copy;
        std::uint64_t sent_bytes = 0;
    };
    struct Port {
        adapt::CapController controller;
        std::map<adapt::LeafCopy, std::shared_ptr<ClientFile>> copies;
        PortToCount to_count;
        std::unordered_map<std::uint32_t, adapt::LeafCopy> copy_of;    // by queue pair
        std::uint64_t changes = 0;                                     // of the device, when these were listed
        std::map<std::uint32_t, Reading> counters;                     // by number
        TimePoint counted_at{};
        std::set<adapt::LeafCopy> uncounted;    // when it was looked last
        std::optional<CounterReading> sent;     // by the port, a second ago or less
        std::unique_ptr<Timer> timer;           // null: it is being measured, or nobody competes
        bool is_measuring = false;
    };
    // Null: the device, or the port that was measured, is not there any longer.
    [[nodiscard]] ManagedDevice* device_of(const std::string& key, const std::weak_ptr<Port>& port) const;

    void look(const std::string& key);
    void look_after(const std::string& key, Duration pause);
    void list_copies(const ManagedDevice& device, Port& port) const;
    // `port_kbps`: Sample::port_kbps.
    void count(const std::string& key, const std::shared_ptr<Port>& port, std::optional<double> port_kbps);
    void take(const std::string& key, Port& port, std::optional<double> port_kbps,
              const Result<CountedTraffic>& counted);
    // That all queue pairs of a counter, which counts bytes, are in; empty: they are in several, or somewhere else.
    [[nodiscard]] static std::optional<adapt::LeafCopy> copy_of(const Port& port,
                                                                const rdma_netlink::QueuePairCounter& counter);
    // In words; empty: all of them are measured, or have only come.
    [[nodiscard]] static std::string why_not_measured(Port& port, const Result<CountedTraffic>& counted);
    [[nodiscard]] static adapt::Sample sample(const ManagedDevice& device, Port& port, const CountedPort& counted);
    void set(ManagedDevice& device, Port& port, const std::vector<adapt::CapChange>& changes);
    // Caps are divided.
    void stop(ManagedDevice& device, Port& port);

    ServiceContext& context_;
    const PolicyInForce& policy_;
    const DeviceTable& devices_;
    std::map<std::string, std::shared_ptr<Port>> ports_;    // by key
    Worker worker_{"adaptive-caps", 4};
    LoopCalls calls_;    // goes first: what the thread says then is not heard
};

}    // namespace rdmaqos
