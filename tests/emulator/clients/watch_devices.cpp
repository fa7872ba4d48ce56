// watch_devices source ROOT: prints the source of events that a machine with these files has.
// watch_devices libudev|watcher kernel|udev: prints "ready", and then a line for each event of InfiniBand devices and
// netdevs, as libudev understands it; or, for DeviceWatcher, "something" each time that something happened.
#include <cstdio>
#include <cstring>

#include <libudev.h>
#include <poll.h>

#include "lib/nic_mlx5/watcher.h"

namespace {

using rdmaqos::mlx5::DeviceWatcher;
using rdmaqos::mlx5::UeventSource;

void wait_for(int fd)
{
    pollfd readable{fd, POLLIN, 0};
    (void)poll(&readable, 1, -1);
}

const char* or_dash(const char* text)
{
    return text != nullptr ? text : "-";
}

int watch_by_libudev(const char* source)
{
    udev* context = udev_new();
    udev_monitor* monitor = udev_monitor_new_from_netlink(context, source);
    if (monitor == nullptr) {
        return 1;
    }
    for (const char* subsystem : {"infiniband", "infiniband_verbs", "net"}) {
        udev_monitor_filter_add_match_subsystem_devtype(monitor, subsystem, nullptr);
    }
    if (udev_monitor_enable_receiving(monitor) < 0) {
        return 1;
    }
    std::puts("ready");
    for (;;) {
        std::fflush(stdout);
        wait_for(udev_monitor_get_fd(monitor));
        udev_device* device = udev_monitor_receive_device(monitor);
        if (device == nullptr) {
            return 1;
        }
        std::printf("%s %s %s %s NAME=%s SEQNUM=%llu\n", or_dash(udev_device_get_action(device)),
                    or_dash(udev_device_get_subsystem(device)), or_dash(udev_device_get_devpath(device)),
                    or_dash(udev_device_get_devnode(device)), or_dash(udev_device_get_property_value(device, "NAME")),
                    udev_device_get_seqnum(device));
        udev_device_unref(device);
    }
}

int watch(UeventSource source)
{
    auto watcher = DeviceWatcher::open(source);
    if (!watcher) {
        std::puts(watcher.error().message.c_str());
        return 1;
    }
    if (watcher->drain()) {
        std::puts("something before anything");
    }
    std::puts("ready");
    for (;;) {
        std::fflush(stdout);
        wait_for(watcher->fd());
        if (!watcher->drain()) {
            return 1;
        }
        std::puts("something");
    }
}

}    // namespace

int main(int argc, char** argv)
{
    if (argc != 3) {
        std::fputs("usage: watch_devices libudev|watcher kernel|udev, or source ROOT\n", stderr);
        return 2;
    }
    if (std::strcmp(argv[1], "source") == 0) {
        std::puts(rdmaqos::mlx5::available_uevents(argv[2]) == UeventSource::Udev ? "udev" : "kernel");
        return 0;
    }
    if (std::strcmp(argv[1], "libudev") == 0) {
        return watch_by_libudev(argv[2]);
    }
    return watch(std::strcmp(argv[2], "udev") == 0 ? UeventSource::Udev : UeventSource::Kernel);
}
