// The one way by which rules change while the daemon runs: they are tried on who is there, then sessions get their
// levels and devices are brought to them.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "daemon/loop/gathering.h"
#include "daemon/service/context.h"
#include "daemon/service/device_table.h"
#include "daemon/service/grants.h"
#include "daemon/service/managed_ports.h"
#include "daemon/service/policy_in_force.h"
#include "daemon/service/session_table.h"
#include "daemon/service/staging.h"

namespace rdmaqos {

class PolicyChanges {
public:
    // All must outlive it.
    PolicyChanges(ServiceContext& context, PolicyInForce& policy, const DeviceTable& devices, SessionTable& sessions,
                  Grants& grants, ManagedPorts& ports)
        : context_(context), policy_(policy), devices_(devices), sessions_(sessions), grants_(grants), ports_(ports)
    {
    }

    enum class Books : bool { Borrowed, Copied };    // for another thread: copied
    [[nodiscard]] Scene scene(Books books) const;
    [[nodiscard]] std::vector<std::uint64_t> scene_mark() const;
    // For the loader's thread. `text`: a policy that is not the host's; null: the host's files.
    [[nodiscard]] Reading reading(std::shared_ptr<const SourceFile> text) const;

    // Before rules are tried that make the first elements: devices find out what they put off
    // (AttachReport::postponed).
    void test_devices(const Rules& rules, const Settings& settings, LoopCallback<void()> done);
    // Without the settings of the reload: when the service starts.
    // `done`, here and below, gets the devices that have not answered in time.
    void begin(Staged staged, Gathering::Done done) { take_rules(std::move(staged), std::move(done)); }
    void commit(Staged staged, const Settings& settings, Gathering::Done done);
    // Looks up the members of groups by this fabric and the present ports. If nobody came or went, that is all; else
    // levels are chosen again and devices brought to them. `cause` begins a sentence for the journal.
    void resolve_again(std::shared_ptr<const Fabric> fabric, std::string_view cause, LoopCallback<void()> done);
    // The same for ports that change, when they have.
    void resolve_soon();

private:
    // The part of commit() that concerns rules and what follows from them; settings stay.
    void take_rules(Staged staged, Gathering::Done done);

    ServiceContext& context_;
    PolicyInForce& policy_;
    const DeviceTable& devices_;
    SessionTable& sessions_;
    Grants& grants_;
    ManagedPorts& ports_;
    std::unique_ptr<Timer> resolving_;    // ports changed: groups are looked up when it ends
};

}    // namespace rdmaqos
