// A context with what queue pairs need, queue pairs driven through their states, attributes of scheduling elements.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

struct world {
    struct ibv_context* context;
    struct ibv_pd* pd;
    struct ibv_cq* cq;
};

// The first device by name, a context of its own each time. False, after a failed check: it cannot be used.
bool open_world(struct world* world);
// The device of this name; NULL: the first one.
bool open_world_of(struct world* world, const char* name);
// Checks that all of it goes: nothing else is left in it.
void close_world(struct world* world);

// ---- queue pairs ----

// What every queue pair here is set to.
enum { PSN = 0x1234, TIMEOUT = 14, RETRIES = 7, RNR_RETRIES = 6, QKEY = 0x11111111, READ_DEPTH = 4, RNR_TIMER = 12 };

struct ibv_qp* create_qp(const struct world* world, enum ibv_qp_type type);
// All attributes, for any step.
struct ibv_qp_attr values_for(struct ibv_qp* qp);
// The attributes, besides the state, that a step to `state` needs; ERR and RESET need none.
int needed_for(struct ibv_qp* qp, enum ibv_qp_state state);
// One step with what it needs, without `dropped`. 0 or errno.
int step_qp(struct ibv_qp* qp, enum ibv_qp_state state, int dropped);
// From RESET on. 0 or errno.
int drive_qp(struct ibv_qp* qp, enum ibv_qp_state state);
enum ibv_qp_state state_of_qp(struct ibv_qp* qp);
// A queue pair driven to `state`. NULL, after a failed check: there is none.
struct ibv_qp* qp_in_state(const struct world* world, enum ibv_qp_type type, enum ibv_qp_state state);

const char* name_of_state(enum ibv_qp_state state);
const char* name_of_type(enum ibv_qp_type type);

// ---- scheduling elements ----

// 0 leaves the field out.
struct mlx5dv_sched_attr element_attr(struct mlx5dv_sched_node* parent, uint32_t share, uint32_t max_rate);

#ifdef __cplusplus
}
#endif
