/* For the governor of rdma-qos-run, which the library is a part of. Not exported. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rdmaqos_handle;

/* Calls of this thread wait no longer, from now on; 0: as long as the handle says. */
void rdmaqos_wait_at_most(uint32_t milliseconds);
/* rdmaqos_get_fd() becomes readable. */
void rdmaqos_wake(struct rdmaqos_handle* handle);

#ifdef __cplusplus
}
#endif
