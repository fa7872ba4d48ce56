// Devices that come, go, and are switched off and on by the administrator.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/loop/callback.h"
#include "daemon/loop/gathering.h"
#include "daemon/service/awaited_devices.h"
#include "daemon/service/context.h"
#include "daemon/service/device_table.h"
#include "daemon/service/grants.h"
#include "daemon/service/managed_ports.h"
#include "daemon/service/policy_changes.h"
#include "daemon/service/policy_in_force.h"

namespace rdmaqos {

class DeviceControl {
public:
    // A queue pair in the middle of its owner's own call, or of its process's end, can go a moment later.
    static constexpr std::uint32_t kDrainAttempts = 20;

    using Reconciled = Callback<std::vector<DeviceReconcile>>;

    // All must outlive it.
    DeviceControl(ServiceContext& context, const PolicyInForce& policy, DeviceTable& devices, Grants& grants,
                  PolicyChanges& changes, ManagedPorts& ports, DeviceListener& listener)
        : context_(context), policy_(policy), devices_(devices), grants_(grants), changes_(changes), ports_(ports),
          listener_(listener), awaited_(context)
    {
    }

    // For administrators; `device` is a name (DeviceTable::named), empty: all that are present. Each is answered when
    // the devices have answered.
    //
    // Takes every queue pair of a device out of its tree and the tree down; sessions stay, new queue pairs are accepted
    // but not placed. Lasts, by node GUID and port, until enable(): over a restart and a replug too.
    void disable(const std::string& device, Reconciled done);
    // Also takes back release(); answered when such a device is here again, or with the reason why it is not. Empty:
    // those that are not present included.
    void enable(const std::string& device, Reconciled done);
    // Takes everything off a device and closes its files, so that its driver can be worked on. It stays away until
    // enable(), until it has vanished and come back, or until the next boot.
    void release(const std::string& device, Reconciled done);
    void reconcile(const std::string& device, Reconciled done);
    void verify(const std::string& device, Callback<std::vector<DeviceDrift>> done);
    // Asks one port for its counters, on the device's worker thread. Unsupported where it has none.
    void counters(const std::string& device, Callback<CounterReading> done);

    // For the discovery of devices.
    //
    // A device appeared. One that is not wanted() is closed again. Before Service::start(), it gets no policy yet;
    // later, it gets the one that runs, which it cannot refuse. `handover`: by which what an earlier daemon left on it
    // is kept, and what this one leaves.
    void add(std::unique_ptr<Backend> backend, std::shared_ptr<DeviceHandover> handover = nullptr);
    // It went away, by itself or because it was released. `closed` when its files are closed, too.
    void remove(
        const std::string& device, LoopCallback<void()> closed = [] {});
    // May this one be opened?
    [[nodiscard]] bool wanted(const DeviceId& id) const { return !devices_.released.contains(id); }
    // `look` is called when a device that was not wanted is. It ends in add() or refused().
    void on_wanted_again(std::function<void(Guid, std::uint32_t)> look) { wanted_again_ = std::move(look); }
    // A device that was found, but is not managed, is not there any longer.
    void vanished(const DeviceId& id);
    // This one cannot be managed. `why` is a sentence, for those who wait for it.
    void refused(const DeviceId& id, std::string why) { awaited_.refuse(id, std::move(why)); }
    // The same of one that is on this host, as long as it is there and is not added: the reports say so.
    void not_managed(const DeviceInfo& port, std::string why);
    // A managed port has changed (its addresses, P_Keys, link or description). It is queried, and the groups that it
    // belongs to are looked up again.
    void port_changed(const DeviceId& id);

    // When the service ends: drains the device, retrying while something in it is still going, then reports `key` to
    // `all`. The kernel leaks whatever is left in the tree.
    void empty_at_end(const std::string& key, const std::shared_ptr<Gathering>& all,
                      std::uint32_t attempts = kDrainAttempts);
    // It went away by itself: from one of its own callbacks.
    void remove_soon(const std::string& key);

private:
    using Results = std::shared_ptr<std::vector<DeviceReconcile>>;
    // What `enable` has to do, and for which devices it waits.
    struct ToEnable {
        std::vector<ManagedDevice*> off;    // present, disabled
        SwitchedOff coming;
        SwitchedOff released;    // of those: taken again by discovery
    };
    // They are neither disabled nor released any longer. Adds a result for those there is nothing to do for.
    ToEnable clear_switches(const std::string& device, std::vector<DeviceReconcile>& results);
    // Of devices that are on, with a result for each already: what was given up of their ports.
    void begin_ports_again(std::vector<DeviceReconcile> on, Reconciled done);
    // For the administrator; Busy while shutting down.
    [[nodiscard]] Result<std::vector<ManagedDevice*>> to_manage(const std::string& name) const;
    void switch_devices(const std::vector<ManagedDevice*>& which, bool off, const Results& results, Reconciled done);
    // Drains, so many times if need be, and removes; then the part `key` of `all` has come.
    void drain_and_remove(const std::string& key, std::uint32_t attempts, const Results& results,
                          const std::shared_ptr<Gathering>& all);
    // With what its port could not be brought to.
    // With the steps that its port has taken since it had taken `before`, and why it is not as it should be.
    [[nodiscard]] DeviceReconcile with_port(DeviceReconcile result, std::uint64_t before) const;
    // So that the next daemon leaves them alone, too.
    void save_released();
    void finish_release(DeviceReconcile result, const Results& results, const std::shared_ptr<Gathering>& all);

    ServiceContext& context_;
    const PolicyInForce& policy_;
    DeviceTable& devices_;
    Grants& grants_;
    PolicyChanges& changes_;
    ManagedPorts& ports_;
    DeviceListener& listener_;
    AwaitedDevices awaited_;
    std::map<std::string, std::unique_ptr<Timer>> releasing_;    // by key; the pause before the next attempt
    std::map<std::string, std::unique_ptr<Timer>> ending_;       // the same, when the service ends
    std::function<void(Guid, std::uint32_t)> wanted_again_;
};

}    // namespace rdmaqos
