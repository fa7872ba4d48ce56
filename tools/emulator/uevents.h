// What the kernel tells of devices that come and go: uevents, as NETLINK_KOBJECT_UEVENT carries them.
//
// A socket of that kind listens to the kernel (group 1), or to udevd (group 2), which repeats every event of the kernel
// when its rules have run, behind a header that libudev can filter by. Both are played: whether a program listens to
// udevd depends on the machine it runs on, and the emulator's devices should come and go on either.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tools/emulator/device.h"

namespace rdmaqos::emulator {

// Bits of sockaddr_nl's nl_groups.
constexpr std::uint32_t kKernelGroup = 1;
constexpr std::uint32_t kUdevGroup = 2;

enum class UeventAction : std::uint8_t { Add, Remove };

struct Uevent {
    UeventAction action = UeventAction::Add;
    std::string path;    // below /sys: "/devices/pci0000:00/0000:08:00.0/infiniband/mlx5_0"
    std::string subsystem;
    std::vector<std::pair<std::string, std::string>> properties;    // besides those that every event has
};

// Those of a device, in the kernel's order: the device is announced when everything of it is there, and gone when
// nothing of it is.
[[nodiscard]] std::vector<Uevent> uevents_of(const Device& device, UeventAction action);

// One datagram. `sequence` counts from 1.
[[nodiscard]] std::string kernel_message(const Uevent& event, std::uint64_t sequence);
[[nodiscard]] std::string udev_message(const Uevent& event, std::uint64_t sequence);

}    // namespace rdmaqos::emulator
