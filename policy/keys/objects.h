// The mappings of all files, and what several of them have.
#pragma once

#include <array>

#include "policy/keys/choices.h"
#include "policy/keys/devices_keys.h"
#include "policy/keys/fabric_keys.h"
#include "policy/keys/key.h"
#include "policy/keys/policy_keys.h"
#include "policy/keys/settings_keys.h"

namespace rdmaqos::keys {

inline constexpr std::array kFormats{
    Format{"policy", "rdma-qos-policy", "QoS policy of rdma-qosd",
           "/etc/rdma-qos/policy.yaml and policy.d/*.yaml: which levels there are, what each gets of a NIC, and which "
           "traffic belongs to which. A schema cannot compare quantities with units, look names up in other objects "
           "or files, or compare siblings: `rdma-qosctl check` does.",
           &kPolicy},
    Format{"settings", "rdma-qosd-settings", "Settings of rdma-qosd",
           "/etc/rdma-qos/rdma-qosd.yaml: how the daemon works.", &kSettings},
    Format{"fabric", "rdma-qos-fabric", "Fabric file of rdma-qosd",
           "/etc/rdma-qos/fabric.yaml: what a host cannot see of its fabric.", &kFabric},
    Format{"devices", "rdma-qos-devices", "Simulated devices of rdma-qosd",
           "The file of `rdma-qosd --simulate`: ports and what their model NIC can do.", &kDevices},
};

// What every file begins with.
inline constexpr Key kVersion{"version", of(Kind::Version), "The version of the format, in every file.", "", true};

// What several objects have.
inline constexpr Value kText = of(Kind::Text);
inline constexpr Value kTexts = of(Kind::Text, Count::OneOrSome);
inline constexpr Value kMaxPart = or_word(of(Kind::Part), kUnlimited);
inline constexpr Value kMaxRate = or_word(of(Kind::Rate), kUnlimited);
inline constexpr Key kParent{"parent", kText, "Name of a scheduling-node; absent: the root.", "", false, "tenants"};
inline constexpr Key kShare{"share", of(Kind::Share), "Weight among siblings, or `device-default`.", "1"};
inline constexpr Key kStrict{"strict",
                             of(Kind::Flag),
                             "The traffic class of the port goes before all others; only of a child of the root, and "
                             "with max-rate. Without traffic classes it has no effect.",
                             "no",
                             false,
                             "no"};
inline constexpr Key kUse{"use", of(Kind::Description), "What it is for, in words; up to 4096 bytes."};
inline constexpr Key kRemove{"remove", of(Kind::Yes),
                             "Takes back the object that an earlier file defines; then without other keys."};
// A device (`mlx5_0`), its port (`mlx5_0/1`), netdev or PCI address, as a shell glob; or conditions.
inline constexpr Value kDeviceList = or_mapping(of(Kind::Text, Count::OneOrSome), kDeviceConditions);

// The one option of a level that says nothing of what the level gives.
inline constexpr std::string_view kRenamedFrom = "renamed-from";

}    // namespace rdmaqos::keys
