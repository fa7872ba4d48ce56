// One daemon manages a device: a process that wants to asks here first, and does nothing to the device if there is
// another.
//
//     lock      of the device in sysfs (lib/nic_mlx5/device_lock.h)     same network namespace; nobody comes in between
//     look      at who has the device open (daemon/survey/other_daemon.h)    any namespace whose processes are visible
//
// docs/adr/0017-one-daemon.md says what this catches and what not. Thread-safe.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include <tl/expected.hpp>

#include "daemon/survey/other_daemon.h"
#include "lib/nic_mlx5/device_lock.h"

namespace rdmaqos {

// What the daemon ends with then (EX_UNAVAILABLE of sysexits.h): RestartPreventExitStatus= of rdma-qosd.service.
constexpr int kStatusDevicesTaken = 69;

class DevicesTaken : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// "mlx5_0 is managed by another rdma-qosd, process 4711 of rdma-qosd.service: ..."
[[nodiscard]] std::string taken_by(const std::string& device, const OtherDaemon& other);

class DeviceClaims {
public:
    explicit DeviceClaims(std::filesystem::path sys, std::filesystem::path proc = "/proc");

    // Of the RDMA device with this name, until the last copy goes.
    [[nodiscard]] tl::expected<std::shared_ptr<const void>, OtherDaemon> take(const std::string& device);
    // Once more, when we have the device open ourselves: of two that begin at the same moment, at least one sees the
    // other then.
    [[nodiscard]] std::optional<OtherDaemon> look(const std::string& device) const;

private:
    const std::filesystem::path proc_;
    mlx5::DeviceLocks locks_;
};

}    // namespace rdmaqos
