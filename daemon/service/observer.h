// Observers of the service.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/model/session.h"
#include "daemon/model/trial.h"

namespace rdmaqos {

// Notified of changes, so that a transport can emit signals. Called on the main loop; must not call back into the
// service except for reading.
class ServiceObserver {
public:
    virtual ~ServiceObserver() = default;
    virtual void session_added(SessionId) {}
    virtual void session_removed(SessionId) {}
    virtual void session_changed(SessionId, bool /*grant_changed*/) {}
    virtual void device_added(const std::string& /*key*/) {}
    virtual void device_removed(const std::string& /*key*/) {}
    virtual void device_changed(const std::string& /*key*/) {}
    virtual void released_changed() {}          // DeviceTable::released_keys()
    virtual void refused_changed() {}           // DeviceTable::all_refused()
    virtual void state_failures_changed() {}    // ServiceContext::state_failures
    virtual void policy_changed() {}
    // `revision`: of the policy that is in force then
    virtual void trial_changed(TrialStep, const std::string& /*revision*/) {}
    virtual void reload_answered() {}    // PolicyInForce::last_reload may differ
    virtual void fabric_changed() {}     // what is known of it, or PolicyInForce::fabric_diagnostics
    virtual void groups_changed() {}     // who is in the port groups
    virtual void drift_repaired(const std::string& /*key*/, std::uint32_t /*count*/) {}
};

}    // namespace rdmaqos
