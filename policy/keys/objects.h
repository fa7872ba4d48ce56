// The mappings of all files. What one says of its keys stands in the sources of this folder.
#pragma once

#include <array>

#include "policy/keys/key.h"

namespace rdmaqos::keys {

// policy.yaml and policy.d/*.yaml
extern const Object kPolicy;
extern const Object kPortGroup;
extern const Object kPartition;
extern const Object kSchedulingNode;
extern const Object kQosLevel;
extern const Object kSchedule;
extern const Object kFairByCgroup;
extern const Object kResponder;
extern const Object kPerQueuePair;
extern const Object kAllow;
extern const Object kMatchRule;
extern const Object kClient;
extern const Object kUlpPort;
extern const Object kDeviceConditions;
extern const Object kUlp;
extern const Object kQosSetup;
extern const Object kVlarbTable;
extern const Object kSl2vlTable;
extern const Object kTransient;
extern const Object kLevelOverride;

// rdma-qosd.yaml
extern const Object kSettings;
extern const Object kLimits;
extern const Object kMetrics;

// fabric.yaml
extern const Object kFabric;
extern const Object kFabricPort;
extern const Object kFabricPartition;
extern const Object kIpoib;

// The file of `rdma-qosd --simulate`.
extern const Object kDevices;
extern const Object kDevice;
extern const Object kTraffic;
extern const Object kCapabilities;
extern const Object kPacing;

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

}    // namespace rdmaqos::keys
