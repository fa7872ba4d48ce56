// The mappings of the file of `rdma-qosd --simulate`.
#pragma once

#include "policy/keys/key.h"

namespace rdmaqos::keys {

extern const Object kDevices;
extern const Object kDevice;
extern const Object kTraffic;
extern const Object kCapabilities;
extern const Object kPacing;

}    // namespace rdmaqos::keys
