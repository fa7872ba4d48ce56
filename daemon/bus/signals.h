// What changed, for those who listen: collected for a moment and sent together, so that a thousand changes of one
// object cost one signal. A reply always goes out before the signals about what it did.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "daemon/bus/endpoint.h"
#include "daemon/bus/published_properties.h"
#include "daemon/service/observer.h"

namespace rdmaqos {

// Where signals go.
class Listeners {
public:
    virtual ~Listeners() = default;
    // The system bus, and the clients of the direct socket that subscribed.
    [[nodiscard]] virtual std::vector<BusEndpoint*> listeners() const = 0;
    // Null: the peer is on the system bus, or gone.
    [[nodiscard]] virtual BusEndpoint* direct_endpoint(PeerId peer) const = 0;
};

class Signals final : public ServiceObserver {
public:
    // All must outlive it. Takes in what there is already.
    Signals(BusContext& context, const Listeners& listeners);
    ~Signals() override;
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;

    void session_added(SessionId id) override;
    void session_removed(SessionId id) override;
    void session_changed(SessionId id, bool grant_changed) override;
    void device_added(const std::string& key) override;
    void device_removed(const std::string& key) override;
    void device_changed(const std::string& key) override;
    void released_changed() override { manager_changed(); }
    void refused_changed() override { manager_changed(); }
    void state_failures_changed() override { manager_changed(); }
    void fabric_changed() override { manager_changed(); }
    void reload_answered() override { manager_changed(); }
    void trial_changed(TrialStep step, const std::string& revision) override;
    void policy_changed() override;
    void drift_repaired(const std::string& key, std::uint32_t count) override;

private:
    struct Change {
        const char* interface = nullptr;
        bool removed = false;
        bool added = false;
        bool changed = false;
    };

    void manager_changed();
    [[nodiscard]] Change& change_of(std::string path, const char* interface);
    void arm(Duration delay);
    void flush();
    void emit_objects(const std::vector<BusEndpoint*>& to);
    void emit_device_states(const std::vector<BusEndpoint*>& to);
    void emit_manager(const std::vector<BusEndpoint*>& to);
    void emit_grants();

    BusContext& context_;
    const Listeners& listeners_;
    std::map<std::string, Change> changes_;               // by object path
    std::map<std::string, std::string> device_states_;    // as last published
    PublishedProperties published_;
    std::set<std::string> devices_to_tell_;
    std::map<std::string, std::uint32_t> drift_;
    std::vector<std::pair<TrialStep, std::string>> trials_;    // with the revision in force then
    std::set<SessionId> grants_;
    bool policy_changed_ = false;
    bool manager_changed_ = false;
    std::unique_ptr<Timer> timer_;
    std::unique_ptr<Timer> grants_timer_;
};

}    // namespace rdmaqos
