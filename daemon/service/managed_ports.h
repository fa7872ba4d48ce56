// The traffic classes of the ports of managed devices: which network interface each of them has, and whether the
// settings say that they are read.
//
// Thread: the main loop.
#pragma once

#include <optional>
#include <string>

#include "daemon/model/port_status.h"
#include "daemon/model/port_traffic.h"
#include "daemon/port_classes/byte_reader.h"
#include "daemon/port_classes/port_reader.h"
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

    // What the settings say now may differ.
    void policy_changed() override;
    void device_added(const std::string& key) override { follow(key); }
    void device_changed(const std::string& key) override { follow(key); }
    void device_removed(const std::string& key) override
    {
        classes_.forget(key);
        bytes_.forget(key);
    }

private:
    void follow(const std::string& key);

    ServiceContext& context_;
    const PolicyInForce& policy_;
    const DeviceTable& devices_;
    PortReader classes_;
    ByteReader bytes_;
};

}    // namespace rdmaqos
