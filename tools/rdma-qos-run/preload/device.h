/* Which device an open file of libibverbs is of, by sysfs. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tools/rdma-qos-run/preload/governor.h"

/* "mlx5_0"; false: it is no RDMA device that sysfs shows. */
bool device_of_file(int fd, char name[NAME_BYTES]);
bool port_is_ethernet(const char* device, unsigned port);
bool pkey_of_port(const char* device, unsigned port, unsigned index, uint16_t* pkey);
