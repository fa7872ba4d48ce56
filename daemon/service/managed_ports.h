// The traffic classes of the ports of managed devices: which network interface each of them has, whether the settings
// say that they are read, and what the policy asks of them.
//
// A port is let go, and what was there before is put back, when its device is disabled or released, when the settings
// or the policy no longer ask for it, and when the daemon stops. When it restarts or crashes, everything stays, as the
// elements of a tree do.
//
// Thread: the main loop.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/loop/callback.h"
#include "daemon/model/port_status.h"
#include "daemon/model/port_traffic.h"
#include "daemon/port_classes/byte_reader.h"
#include "daemon/port_classes/port_manager.h"
#include "daemon/service/context.h"
#include "daemon/service/device_table.h"
#include "daemon/service/observer.h"
#include "daemon/service/policy_in_force.h"

namespace rdmaqos {

class ManagedPorts final : public ServiceObserver {
public:
    // All must outlive it.
    ManagedPorts(ServiceContext& context, const PolicyInForce& policy, const DeviceTable& devices);
    ~ManagedPorts() override;
    ManagedPorts(const ManagedPorts&) = delete;
    ManagedPorts& operator=(const ManagedPorts&) = delete;

    // By the key of the device; of one that is not managed: off.
    [[nodiscard]] PortStatus status(const std::string& key) const { return classes_.status(key); }
    // What they have moved with each priority; empty: it is not known.
    [[nodiscard]] std::optional<PortTrafficStatus> traffic(const std::string& key) const { return bytes_.status(key); }
    // Why a port is not as the policy asks, or not as it was before: of the device as a whole. Empty: it is, or nothing
    // is asked.
    [[nodiscard]] std::optional<ElementFailure> failure(const std::string& key) const;
    // How many steps it has taken since it came.
    [[nodiscard]] std::uint64_t steps(const std::string& key) const { return classes_.status(key).care.steps; }
    // Reads a port, and says what differs from what the policy asks, without repairing it. An error if it cannot be
    // read.
    void compare(const std::string& key, Callback<std::vector<port_classes::Difference>> done)
    {
        classes_.compare(key, std::move(done));
    }
    // What a policy with these settings would mean for a port; empty: it would be left as it is.
    [[nodiscard]] std::optional<PortPlan> plan_of(const std::string& key, const Policy& policy,
                                                  const Settings& settings) const;

    // The policy, the settings, or what is done with the device has changed: brings the port to it. `done` when there
    // is nothing more to do to it now: failure() says what could not be done.
    void bring(const std::string& key, LoopCallback<void()> done);
    // What was given up, since others write or the driver refuses, begins again: of all ports.
    void resume_all();
    // As bring(), of the port as it is now: it is read before. What was given up, since others write or the driver
    // refuses, begins again.
    void begin_again(const std::string& key, LoopCallback<void()> done);
    // Puts back what was there before, whatever the policy asks, for as long as the device is there.
    void let_go(const std::string& key, LoopCallback<void()> done);
    // At the end, after that: in the log, if what was there before could not be put back.
    void log_left(const std::string& key) const;

    // What the settings say now may differ.
    void policy_changed() override;
    void device_added(const std::string& key) override { follow(key); }
    void device_changed(const std::string& key) override { follow(key); }
    void device_removed(const std::string& key) override;
    // It has lost everything, and is the same one.
    void device_was_reset(const std::string& key);

private:
    void load();
    // Clears the failures of files that have been removed.
    void look_for_records_kept_aside();
    void follow(const std::string& key);
    // What a wish is made of: it is not made again while this is the same.
    struct Asked {
        std::shared_ptr<const Policy> policy;
        PortClassesSetting setting = PortClassesSetting::Off;
        std::optional<std::uint8_t> cnp_dscp{};
        Mode mode = Mode::Enforce;
        DeviceInfo info;
        AttachMode attach = AttachMode::None;
        bool is_postponed = false;
        bool is_held_back = false;
        bool is_let_go = false;

        friend bool operator==(const Asked&, const Asked&) = default;
    };
    void take_wish(const ManagedDevice& device);
    // Empty: it is let go.
    [[nodiscard]] std::optional<PortWish> wish_for(const ManagedDevice& device, const Policy* policy,
                                                   const Settings& settings) const;

    ServiceContext& context_;
    const PolicyInForce& policy_;
    const DeviceTable& devices_;
    bool is_loaded_ = false;
    std::set<std::string> kept_aside_;           // files that status tells of
    std::set<std::string> let_go_;               // by key
    std::map<std::string, Asked> asked_;         // by key
    std::map<std::string, Bandwidth> speeds_;    // of links when they were up last, by key
    PortManager classes_;
    ByteReader bytes_;
};

}    // namespace rdmaqos
