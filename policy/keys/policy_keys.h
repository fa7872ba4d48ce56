// The mappings of policy.yaml and policy.d/*.yaml: those of a level in level_keys.cpp, the others in policy_keys.cpp.
#pragma once

#include "policy/keys/key.h"

namespace rdmaqos::keys {

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

}    // namespace rdmaqos::keys
