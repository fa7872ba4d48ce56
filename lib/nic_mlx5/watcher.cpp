#include "lib/nic_mlx5/watcher.h"

#include <cerrno>
#include <system_error>

#include <libudev.h>

#include "lib/base/file.h"

namespace rdmaqos::mlx5 {
namespace {

// A device is there when both of its own are; a bond's or a function's netdev says whose port it is.
constexpr const char* kSubsystems[] = {"infiniband", "infiniband_verbs", "net"};

struct UnrefUdev {
    void operator()(udev* context) const noexcept { udev_unref(context); }
};

struct UnrefDevice {
    void operator()(udev_device* device) const noexcept { udev_device_unref(device); }
};

// libudev's functions return a negative errno.
tl::unexpected<Error> cannot(const char* what, int negative)
{
    const int error = negative < 0 ? -negative : ENOMEM;
    return fail(Error{ErrorCode::Io, error,
                      std::string("device events: ") + what + ": " + std::generic_category().message(error)});
}

}    // namespace

UeventSource available_uevents(const std::filesystem::path& root)
{
    std::error_code ignored;
    return std::filesystem::exists(below_root(root, "/run/udev/control"), ignored) ? UeventSource::Udev
                                                                                   : UeventSource::Kernel;
}

void DeviceWatcher::Unref::operator()(udev_monitor* monitor) const noexcept
{
    udev_monitor_unref(monitor);
}

Result<DeviceWatcher> DeviceWatcher::open(UeventSource source)
{
    // The monitor keeps what it needs of the context.
    const std::unique_ptr<udev, UnrefUdev> context(udev_new());
    if (!context) {
        return cannot("udev", -errno);
    }
    Monitor monitor(udev_monitor_new_from_netlink(context.get(), source == UeventSource::Udev ? "udev" : "kernel"));
    if (!monitor) {
        return cannot("netlink", -errno);
    }
    for (const char* subsystem : kSubsystems) {
        if (const int error = udev_monitor_filter_add_match_subsystem_devtype(monitor.get(), subsystem, nullptr);
            error < 0) {
            return cannot("filter", error);
        }
    }
    if (const int error = udev_monitor_enable_receiving(monitor.get()); error < 0) {
        return cannot("receive", error);
    }
    return DeviceWatcher(std::move(monitor));
}

int DeviceWatcher::fd() const
{
    return udev_monitor_get_fd(monitor_.get());
}

bool DeviceWatcher::drain()
{
    bool happened = false;
    for (;;) {
        errno = 0;
        const std::unique_ptr<udev_device, UnrefDevice> device(udev_monitor_receive_device(monitor_.get()));
        if (!device && errno != ENOBUFS) {
            return happened;
        }
        happened = true;    // ENOBUFS: there were more events than the socket holds, and some are lost
    }
}

}    // namespace rdmaqos::mlx5
