/* What an ioctl of libibverbs means for a queue pair.
 *
 * All ways to a queue pair end in one: a program may be linked to libibverbs, look its functions up with dlsym() or
 * dlvsym(), have it inside another library, or use DEVX; each time the kernel is asked by ioctl(RDMA_VERBS_IOCTL). The
 * structures below are its public interface (rdma/ib_user_*.h, rdma/mlx5_user_ioctl_*.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rdma/rdma_user_ioctl_cmds.h>

#include "tools/rdma-qos-run/preload/governor.h"

enum call_kind {
    CALL_OTHER, /* none of ours: to be passed on untouched */
    CALL_MAKE,
    CALL_STEP,
    CALL_DESTROY,
    CALL_USE /* of what the daemon may be moving: a query, a multicast group */
};

enum qp_step { STEP_OTHER, STEP_INIT, STEP_RTR, STEP_RTS };

/* How a connection is addressed, in whatever form the call has it. */
struct address {
    bool present;
    bool has_gid;
    uint8_t gid[GID_BYTES];
    uint16_t lid;
    uint8_t sl;
    uint8_t traffic_class;
};

struct uverbs_call {
    enum call_kind kind;
    bool devx;
    uint32_t handle; /* of STEP and DESTROY */

    /* Of STEP. */
    enum qp_step step;
    bool has_port;
    uint8_t port;
    bool has_pkey_index;
    uint16_t pkey_index;
    struct address address;

    /* Where the command is in the call. */
    struct ib_uverbs_attr* command;
};

/* Of a call that has not been made yet. */
struct uverbs_call read_call(struct ib_uverbs_ioctl_hdr* header);

/* Of a CALL_MAKE that has succeeded. False: it is no queue pair that was made. */
bool read_made(const struct ib_uverbs_ioctl_hdr* header, const struct uverbs_call* call, uint32_t* handle,
               uint32_t* number, enum queue_pair_type* type);

enum { MARKED_BYTES = 1024 };
/* A copy of the command with another service level or traffic class; false: it does not fit. */
struct new_marks {
    bool set_sl;
    uint8_t sl;
    bool set_traffic_class;
    uint8_t traffic_class;
    bool ethernet;
};
bool write_marks(const struct uverbs_call* call, const struct new_marks* marks, uint8_t copy[MARKED_BYTES]);
