// What programs send and receive, by the kernel's counters of queue pairs: of sessions, and of others that somebody has
// bound counters to.
//
// Thread: the main loop.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/loop/callback.h"
#include "daemon/model/counted_traffic.h"
#include "daemon/model/session.h"
#include "daemon/service/context.h"
#include "daemon/service/device_table.h"
#include "daemon/service/policy_in_force.h"
#include "daemon/survey/shared_look.h"

namespace rdmaqos {

// A counter of a port, and whose queue pairs it has.
struct ProgramCounter {
    rdma_netlink::QueuePairCounter counter;
    std::shared_ptr<const Identity> owner;    // null: nobody's here, or of more than one process
    std::optional<SessionId> session;         // empty: likewise
    std::string level;                        // "": they are in more than one, or in none
    std::string leaf;
};

struct CountersOfPort {
    std::string key;
    std::vector<ProgramCounter> counters;
    std::size_t queue_pairs = 0;    // of sessions
    std::size_t counted = 0;        // of them, those whose bytes are counted
    std::string reason;             // why that is not all, with what to do; "": it is
    TimePoint taken_at{};
};

class ProgramTraffic {
public:
    // All must outlive it.
    ProgramTraffic(ServiceContext& context, const PolicyInForce& policy, const DeviceTable& devices);

    // Of all managed ports, by key. With `queue-pair-counters: bind`, counters are bound to queue pairs of sessions
    // before they are read.
    void read(Callback<std::vector<CountersOfPort>> done);

private:
    [[nodiscard]] std::vector<PortToCount> ports() const;
    [[nodiscard]] CountersOfPort describe(const CountedPort& port) const;
    [[nodiscard]] std::string why_not_all(const CountedPort& port, const CountersOfPort& counters) const;

    ServiceContext& context_;
    const PolicyInForce& policy_;
    const DeviceTable& devices_;
    SharedLook<CountedTraffic> look_;
};

}    // namespace rdmaqos
