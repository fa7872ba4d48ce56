// Devices that were enabled after a release and are not here yet.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/device/managed_device.h"
#include "daemon/service/context.h"
#include "daemon/service/device_switches.h"

namespace rdmaqos {

class AwaitedDevices {
public:
    explicit AwaitedDevices(ServiceContext& context) : context_(context) {}

    // `done` with what became of it, or why it does not come.
    void await(const DeviceId& id, const DeviceNames& names, std::function<void(DeviceReconcile)> done);
    void refuse(const DeviceId& id, std::string why);
    void has_come(ManagedDevice& device);
    [[nodiscard]] SwitchedOff names() const;

private:
    struct Awaited {
        DeviceNames names;
        std::unique_ptr<Timer> limit;
        std::vector<std::function<void(DeviceReconcile)>> done;
    };

    ServiceContext& context_;
    std::map<DeviceId, Awaited> awaited_;
};

}    // namespace rdmaqos
