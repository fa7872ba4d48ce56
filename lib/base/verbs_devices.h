// The device files of RDMA devices, by their numbers.
#pragma once

#include <set>

#include <sys/types.h>

namespace rdmaqos {

// Of all devices that are here now, as /sys says, or where SYSFS_PATH points, as for libibverbs.
[[nodiscard]] std::set<dev_t> verbs_devices();

}    // namespace rdmaqos
