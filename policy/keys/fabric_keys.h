// The mappings of fabric.yaml.
#pragma once

#include "policy/keys/key.h"

namespace rdmaqos::keys {

extern const Object kFabric;
extern const Object kFabricPort;
extern const Object kFabricPartition;
extern const Object kIpoib;

}    // namespace rdmaqos::keys
