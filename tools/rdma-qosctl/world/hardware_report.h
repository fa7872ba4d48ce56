// What the owner of a card can send to those who have none: all that bears on how rdma-qosd works with it.
//
// Nothing in it tells whose host it is: no names of hosts, networks, users or classes of the policy, and of GUIDs only
// the vendor's part, wherever they stand, unless the owner wants all of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/rdma-qosctl/world/views.h"

namespace rdmaqos::ctl {

// The computer and its programs.
struct HostView {
    std::string kernel;     // release, "6.1.0-18-amd64"
    std::string machine;    // "x86_64"
    std::string program;    // version of rdma-qosctl
};

struct HardwareReport {
    HostView host;
    std::string daemon;    // version of rdma-qosd
    bool masked = true;
    std::vector<DeviceView> devices;

    // As it is shown: "0x1070fdxxxxxxxxxx".
    [[nodiscard]] std::string guid(std::uint64_t value) const;
};

enum class Guids : std::uint8_t { Masked, Shown };

// Of these devices, in their order. Masked: also in names, remarks and attributes.
[[nodiscard]] HardwareReport make_hardware_report(const HostView& host, const std::string& daemon,
                                                  const std::vector<const DeviceView*>& devices, Guids guids);

}    // namespace rdmaqos::ctl
