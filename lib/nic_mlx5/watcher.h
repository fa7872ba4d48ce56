// Devices that come and go, and netdevs: something to poll, on which the list of devices is read again.
//
//     auto watcher = DeviceWatcher::open();
//     ... when watcher->fd() is readable:
//     if (watcher->drain()) { look at what is there now }
//
// It does not say what happened: events get lost when nobody reads them in time, and what is there counts anyway.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <utility>

#include "lib/base/result.h"

struct udev_monitor;

namespace rdmaqos::mlx5 {

enum class UeventSource : std::uint8_t {
    Kernel,    // as it happens
    Udev,      // when udevd has run its rules: names and permissions of device files are final
};

// Udev where udevd runs: libudev's monitor of it gets nothing at all elsewhere, as in containers. `root` is where the
// machine's files are.
[[nodiscard]] UeventSource available_uevents(const std::filesystem::path& root = "/");

class DeviceWatcher {
public:
    // Events from now on.
    [[nodiscard]] static Result<DeviceWatcher> open(UeventSource source = available_uevents());

    [[nodiscard]] int fd() const;
    // Takes all events that there are; false: there was none of interest.
    [[nodiscard]] bool drain();

private:
    struct Unref {
        void operator()(udev_monitor* monitor) const noexcept;
    };
    using Monitor = std::unique_ptr<udev_monitor, Unref>;

    explicit DeviceWatcher(Monitor monitor) : monitor_(std::move(monitor)) {}

    Monitor monitor_;
};

}    // namespace rdmaqos::mlx5
