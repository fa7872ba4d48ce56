// The mappings of rdma-qosd.yaml.
#pragma once

#include "policy/keys/key.h"

namespace rdmaqos::keys {

extern const Object kSettings;
extern const Object kLimits;
extern const Object kMetrics;

}    // namespace rdmaqos::keys
