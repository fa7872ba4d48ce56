/* What is done about a queue pair: its marking and its class before RTR, where the
 * device allows it, else its class at RTS. */
#pragma once

#include "tools/rdma-qos-run/preload/governor.h"
#include "tools/rdma-qos-run/preload/uverbs_call.h"

/* The kernel's answer to a call, as ioctl() gives it: -1 and errno. */
typedef int (*forward_call)(int fd, struct ib_uverbs_ioctl_hdr* header);

/* Makes the call, and what belongs to it. The result and errno are those of the call itself. */
int steer(int fd, struct ib_uverbs_ioctl_hdr* header, forward_call forward);

/* What rdma_cm knows of a queue pair that was made by verbs. `tos` below 0: it does not say. */
void steer_service(int fd, uint32_t handle, uint64_t service_id, int tos);
