#include "tests/emulator/clients/world.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/emulator/clients/check.h"

// The first by name; the list comes in the order of a folder, which is any.
static struct ibv_device* find_device(struct ibv_device** devices, const char* name)
{
    struct ibv_device* found = NULL;
    for (; devices != NULL && *devices != NULL; ++devices) {
        const char* each = ibv_get_device_name(*devices);
        if (name != NULL ? strcmp(each, name) == 0 : found == NULL || strcmp(each, ibv_get_device_name(found)) < 0) {
            found = *devices;
        }
    }
    return found;
}

bool open_world(struct world* world)
{
    return open_world_of(world, NULL);
}

bool open_world_of(struct world* world, const char* name)
{
    memset(world, 0, sizeof(*world));
    struct ibv_device** devices = ibv_get_device_list(NULL);
    struct ibv_device* device = find_device(devices, name);
    if (device != NULL) {
        world->context = ibv_open_device(device);
    }
    if (devices != NULL) {
        ibv_free_device_list(devices);
    }
    if (world->context != NULL) {
        world->pd = ibv_alloc_pd(world->context);
        world->cq = ibv_create_cq(world->context, 64, NULL, NULL, 0);
    }
    if (world->pd != NULL && world->cq != NULL) {
        return true;
    }
    check(false, "context, PD and CQ", "%s", strerror(errno));
    return false;
}

void close_world(struct world* world)
{
    check_errno(ibv_destroy_cq(world->cq), 0, "the CQ goes");
    check_errno(ibv_dealloc_pd(world->pd), 0, "the PD goes");
    check_errno(ibv_close_device(world->context), 0, "the context closes");
}

enum { TYPES = 4, STEPS = 3 };

// What each step needs besides IBV_QP_STATE.
static const struct type_row {
    enum ibv_qp_type type;
    const char* name;
    int needed[STEPS];    // to INIT, RTR, RTS
} types[TYPES] = {
    {IBV_QPT_RC,
     "RC",
     {IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
      IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
      IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC}},
    {IBV_QPT_UC,
     "UC",
     {IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
      IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN, IBV_QP_SQ_PSN}},
    {IBV_QPT_UD, "UD", {IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY, 0, IBV_QP_SQ_PSN}},
    {IBV_QPT_RAW_PACKET, "raw packet", {IBV_QP_PORT, 0, 0}},
};

static const struct type_row* row_of(enum ibv_qp_type type)
{
    for (size_t i = 0; i < TYPES; ++i) {
        if (types[i].type == type) {
            return &types[i];
        }
    }
    return &types[0];
}

const char* name_of_state(enum ibv_qp_state state)
{
    static const char* const names[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
    return (unsigned)state < sizeof(names) / sizeof(names[0]) ? names[state] : "no state";
}

const char* name_of_type(enum ibv_qp_type type)
{
    return row_of(type)->name;
}

struct ibv_qp* create_qp(const struct world* world, enum ibv_qp_type type)
{
    struct ibv_qp_init_attr init = {
        .send_cq = world->cq,
        .recv_cq = world->cq,
        .cap = {.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1},
        .qp_type = type,
    };
    return ibv_create_qp(world->pd, &init);
}

struct ibv_qp_attr values_for(struct ibv_qp* qp)
{
    struct ibv_qp_attr attr;
    memset(&attr, 0, sizeof(attr));
    attr.port_num = 1;
    attr.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
    attr.qkey = QKEY;
    attr.path_mtu = IBV_MTU_1024;
    attr.dest_qp_num = qp->qp_num;
    attr.rq_psn = PSN;
    attr.sq_psn = PSN + 1;
    attr.max_dest_rd_atomic = READ_DEPTH;
    attr.max_rd_atomic = READ_DEPTH;
    attr.min_rnr_timer = RNR_TIMER;
    attr.timeout = TIMEOUT;
    attr.retry_cnt = RETRIES;
    attr.rnr_retry = RNR_RETRIES;
    attr.ah_attr.is_global = 1;
    attr.ah_attr.port_num = 1;
    attr.ah_attr.grh.hop_limit = 1;
    ibv_query_gid(qp->context, 1, 0, &attr.ah_attr.grh.dgid);
    return attr;
}

int needed_for(struct ibv_qp* qp, enum ibv_qp_state state)
{
    return state >= IBV_QPS_INIT && state <= IBV_QPS_RTS ? row_of(qp->qp_type)->needed[state - IBV_QPS_INIT] : 0;
}

int step_qp(struct ibv_qp* qp, enum ibv_qp_state state, int dropped)
{
    struct ibv_qp_attr attr = values_for(qp);
    attr.qp_state = state;
    return ibv_modify_qp(qp, &attr, (needed_for(qp, state) | IBV_QP_STATE) & ~dropped);
}

int drive_qp(struct ibv_qp* qp, enum ibv_qp_state state)
{
    for (enum ibv_qp_state next = IBV_QPS_INIT; next <= state; ++next) {
        const int failure = step_qp(qp, next, 0);
        if (failure != 0) {
            return failure;
        }
    }
    return 0;
}

enum ibv_qp_state state_of_qp(struct ibv_qp* qp)
{
    struct ibv_qp_attr attr;
    struct ibv_qp_init_attr init;
    memset(&attr, 0, sizeof(attr));
    return ibv_query_qp(qp, &attr, IBV_QP_STATE, &init) == 0 ? attr.qp_state : IBV_QPS_UNKNOWN;
}

struct ibv_qp* qp_in_state(const struct world* world, enum ibv_qp_type type, enum ibv_qp_state state)
{
    struct ibv_qp* qp = create_qp(world, type);
    int failure = ERRNO_OF_POINTER(qp);
    if (qp != NULL) {
        failure = drive_qp(qp, state);
    }
    if (type == IBV_QPT_RAW_PACKET && qp == NULL && failure == EPERM && geteuid() != 0) {
        skipped("raw packet queue pairs", "they need CAP_NET_RAW");
        return NULL;
    }
    char name[64];
    snprintf(name, sizeof(name), "%s in %s", name_of_type(type), name_of_state(state));
    if (!check_errno(failure, 0, name) && qp != NULL) {
        ibv_destroy_qp(qp);
        return NULL;
    }
    return qp;
}

struct mlx5dv_sched_attr element_attr(struct mlx5dv_sched_node* parent, uint32_t share, uint32_t max_rate)
{
    const struct mlx5dv_sched_attr attr = {
        .parent = parent,
        .flags = (share != 0 ? MLX5DV_SCHED_ELEM_ATTR_FLAGS_BW_SHARE : 0) |
                 (max_rate != 0 ? MLX5DV_SCHED_ELEM_ATTR_FLAGS_MAX_AVG_BW : 0),
        .bw_share = share,
        .max_avg_bw = max_rate,
    };
    return attr;
}
