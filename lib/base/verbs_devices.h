// The device files of RDMA devices, by their numbers.
#pragma once

#include <set>

#include <sys/types.h>

#include "lib/base/result.h"

namespace rdmaqos {

// Of all devices that are here now, as /sys says, or where SYSFS_PATH points, as for libibverbs. Busy: they cannot be
// read at this time, for want of descriptors or memory.
[[nodiscard]] Result<std::set<dev_t>> verbs_devices();

}    // namespace rdmaqos
