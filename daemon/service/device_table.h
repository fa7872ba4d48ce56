// The managed devices, by key, and those that an administrator has switched off, managed or not.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/device/managed_device.h"
#include "daemon/service/device_switches.h"
#include "lib/base/result.h"
#include "policy/model/local_port.h"
#include "policy/model/request.h"
#include "policy/path/path_limits.h"

namespace rdmaqos {

class DeviceTable {
public:
    using Map = std::map<std::string, std::unique_ptr<ManagedDevice>>;

    [[nodiscard]] Map::const_iterator begin() const { return devices_.begin(); }
    [[nodiscard]] Map::const_iterator end() const { return devices_.end(); }
    [[nodiscard]] bool empty() const { return devices_.empty(); }
    [[nodiscard]] bool contains(const std::string& key) const { return devices_.contains(key); }
    // Null: it is not there.
    [[nodiscard]] ManagedDevice* find(const std::string& key) const;
    [[nodiscard]] ManagedDevice& at(const std::string& key) const { return *devices_.at(key); }

    // "name", "name/port", netdev or PCI address; empty: all. UnknownDevice names those there are.
    [[nodiscard]] Result<std::vector<ManagedDevice*>> named(const std::string& name) const;
    // One alone.
    [[nodiscard]] Result<ManagedDevice*> one_named(const std::string& name) const;
    // "there is no device ...": all names, those of devices that are switched off and not there included.
    [[nodiscard]] std::string unknown(const std::string& name) const;

    ManagedDevice& add(std::unique_ptr<ManagedDevice> device);
    // Null: it is not there.
    [[nodiscard]] std::unique_ptr<ManagedDevice> take(const std::string& key);
    // At the end: what waits for them is answered.
    void clear() { devices_.clear(); }
    // Devices that came and went.
    [[nodiscard]] std::uint64_t changes() const { return changes_; }

    [[nodiscard]] std::vector<std::string> keys() const;
    // Empty: it is not there.
    [[nodiscard]] std::optional<DeviceStatus> status(const std::string& key) const;
    // Of one_named(); Busy while it is being released.
    [[nodiscard]] Result<std::string> find_key(const std::string& name) const;
    [[nodiscard]] Result<DeviceNames> find_names(const std::string& name) const;
    // Those that have not answered for as long as a call waits (kPatienceWithDevices), by key.
    [[nodiscard]] std::vector<std::string> silent() const;
    // Their threads, by key: for the watchdog.
    [[nodiscard]] std::map<std::string, WorkerPulse> pulses() const;
    [[nodiscard]] std::vector<std::string> released_keys() const;
    [[nodiscard]] std::vector<RefusedDevice> all_refused() const;
    [[nodiscard]] std::vector<LocalPort> local_ports() const;
    [[nodiscard]] PathLimits path_limits(const Request& request, const Fabric& fabric) const;

    SwitchedOff disabled;                          // present or not
    SwitchedOff released;                          // not present, until they are wanted again
    std::map<DeviceId, RefusedDevice> refused;     // on this host, wanted, and not managed
    std::map<std::string, DeviceNames> closing;    // of those: their files are not closed yet; by key

private:
    Map devices_;
    std::uint64_t changes_ = 0;
};

// For the answer to an administrator: a device that is still missing.
[[nodiscard]] DeviceReconcile unanswered(const std::string& key);

}    // namespace rdmaqos
