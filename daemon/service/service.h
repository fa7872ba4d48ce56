// The daemon without its transports: policy, devices, sessions. It decides nothing about buses and nothing about
// firmware:
//
//     transports (daemon/bus) ──▶ parts of Service ──▶ match, compile (pure) ──▶ ManagedDevice ──▶ worker thread
//
// `Service` only makes the parts, in the order in which they depend on each other, and passes events of devices to
// them. What a part does is in its header; callers ask the part itself: `service.session_calls().attach(...)`.
//
// Thread: the main loop, for every call and every callback. A callback may run before the call returns, and runs once;
// a service that is destroyed meanwhile destroys it instead.
//
// A device that does not answer is waited for, for a while (kPatienceWithDevices); then the answer says so.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "daemon/loop/callback.h"
#include "daemon/model/reload.h"
#include "daemon/service/options.h"
#include "lib/base/clock.h"
#include "lib/base/executor.h"

namespace rdmaqos {

class Adoption;
class DeviceControl;
class DeviceTable;
class FabricUpkeep;
class HostView;
class ManagedPorts;
class Marks;
class MetricsCollector;
class PathQueries;
class Plans;
class PolicyInForce;
class ProgramTraffic;
class Reloads;
class SessionCalls;
class SessionReports;
class Tally;
class TransientEnds;
class TrialInForce;
class Trials;
class UidLimits;
struct ServiceContext;

enum class EndOfService : std::uint8_t {
    Stop,       // devices are emptied, and ports put back
    Restart,    // what can be handed over to the next daemon stays, and ports do; other devices are emptied
};

class Service {
public:
    // All must outlive the service.
    Service(ServiceOptions options, Executor& executor, const Clock& clock);
    ~Service();
    Service(const Service&) = delete;
    Service& operator=(const Service&) = delete;

    // Tries the policy on the devices that were added before, as a reload would, and puts it in force. One that is
    // broken or refused is not: the last good one runs in its place, and if there is none, the daemon runs without
    // (every request is answered with InvalidPolicy). `done` when the devices have it, as for a reload; the policy is
    // in force before.
    void start(LoopCallback<void(ReloadOutcome)> done);
    // Takes every queue pair out and every element down, or closes the device as it is; then calls `done`. New requests
    // are answered with Busy.
    void shutdown(EndOfService how, LoopCallback<void()> done);

    // What this daemon can do with the devices that are present: words for clients.
    [[nodiscard]] std::vector<std::string> features() const;

    // What there is, to be read.
    [[nodiscard]] const PolicyInForce& in_force() const;
    [[nodiscard]] const TrialInForce& trial() const;
    [[nodiscard]] const DeviceTable& devices() const;
    [[nodiscard]] const SessionReports& sessions() const;
    [[nodiscard]] const PathQueries& paths() const;
    [[nodiscard]] const Adoption& adoption() const;
    [[nodiscard]] const ManagedPorts& ports() const;
    [[nodiscard]] HostView& host();
    [[nodiscard]] Marks& marks();
    [[nodiscard]] ProgramTraffic& traffic();
    [[nodiscard]] MetricsCollector& metrics();
    // What is done with it: requests of clients,
    [[nodiscard]] SessionCalls& session_calls();
    [[nodiscard]] UidLimits& limits();
    // of administrators,
    [[nodiscard]] Reloads& reloads();
    [[nodiscard]] Plans& plans();
    [[nodiscard]] Trials& trials();
    [[nodiscard]] DeviceControl& device_control();
    // and of those who watch files.
    [[nodiscard]] FabricUpkeep& fabric();
    [[nodiscard]] TransientEnds& transient_ends();
    // What the transports share with the service: observers, threads, counters.
    [[nodiscard]] ServiceContext& context();
    [[nodiscard]] Tally& tally();

private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

}    // namespace rdmaqos
