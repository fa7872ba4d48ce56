// A queue pair made by hand through DEVX, as UCX makes its own: no verb knows it.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/emulator/clients/every_call.h"
#include "tests/emulator/clients/prm.h"

enum { QP_IN = 320, QP_OUT = 320, CONTEXT = 192 };
enum { OP_RST2INIT = 0x502, OP_INIT2RTR = 0x503, OP_RTR2RTS = 0x504, OP_QUERY_QP = 0x50b };
enum { STATE_RESET = 0, STATE_INIT = 1, STATE_RTR = 2, STATE_RTS = 3 };

static uint8_t in[MODIFY_QP_IN];
static uint8_t out[QP_OUT];

// Page, doorbell record and work queue of a queue pair.
struct parts {
    struct mlx5dv_devx_uar* uar;
    struct mlx5dv_devx_umem* doorbell;
    struct mlx5dv_devx_umem* queue;
    void* memory;
};

enum { QUEUE_BYTES = 8192, DOORBELL_AT = 4096 };

static bool make_parts(const struct world* world, struct parts* parts)
{
    parts->uar = mlx5dv_devx_alloc_uar(world->context, MLX5DV_UAR_ALLOC_TYPE_NC);
    check_errno(ERRNO_OF_POINTER(parts->uar), 0, "mlx5dv_devx_alloc_uar");
    parts->memory = aligned_alloc(4096, QUEUE_BYTES);
    if (parts->memory == NULL) {
        return false;
    }
    memset(parts->memory, 0, QUEUE_BYTES);
    parts->queue = mlx5dv_devx_umem_reg(world->context, parts->memory, DOORBELL_AT, IBV_ACCESS_LOCAL_WRITE);
    check_errno(ERRNO_OF_POINTER(parts->queue), 0, "mlx5dv_devx_umem_reg");
    parts->doorbell = mlx5dv_devx_umem_reg(world->context, (char*)parts->memory + DOORBELL_AT, 64,
                                           IBV_ACCESS_LOCAL_WRITE);
    check_errno(ERRNO_OF_POINTER(parts->doorbell), 0, "of the doorbell record");
    return parts->uar != NULL && parts->queue != NULL && parts->doorbell != NULL;
}

static void free_parts(struct parts* parts)
{
    if (parts->doorbell != NULL) {
        check_errno(mlx5dv_devx_umem_dereg(parts->doorbell), 0, "mlx5dv_devx_umem_dereg");
    }
    if (parts->queue != NULL) {
        check_errno(mlx5dv_devx_umem_dereg(parts->queue), 0, "of the queue");
    }
    if (parts->uar != NULL) {
        mlx5dv_devx_free_uar(parts->uar);
    }
    free(parts->memory);
}

static struct mlx5dv_devx_obj* create(const struct world* world, const struct parts* parts)
{
    struct mlx5dv_pd pd = {0};
    struct mlx5dv_cq cq = {0};
    struct mlx5dv_obj objects = {.pd = {world->pd, &pd}, .cq = {world->cq, &cq}};
    check_errno(mlx5dv_init_obj(&objects, MLX5DV_OBJ_PD | MLX5DV_OBJ_CQ), 0, "mlx5dv_init_obj");
    memset(in, 0, sizeof(in));
    memset(out, 0, sizeof(out));
    prm_set(in, 0, 16, OP_CREATE_QP);
    prm_set(in, CONTEXT + 19, 2, 3);    // path migration: migrated
    prm_set(in, CONTEXT + 40, 24, pd.pdn);
    prm_set(in, CONTEXT + 73, 4, 2);    // log of 4 receives of 16 << 2 bytes
    prm_set(in, CONTEXT + 77, 3, 2);
    prm_set(in, CONTEXT + 81, 4, 2);    // log of 4 send blocks
    prm_set(in, CONTEXT + 104, 24, parts->uar->page_id);
    prm_set(in, CONTEXT + 1000, 24, cq.cqn);
    prm_set(in, CONTEXT + 1256, 24, cq.cqn);
    prm_set(in, CONTEXT + 1667, 1, 1);
    prm_set(in, CONTEXT + 1824, 32, parts->doorbell->umem_id);
    prm_set(in, 2112, 32, parts->queue->umem_id);
    prm_set(in, 2144, 1, 1);
    errno = 0;
    return mlx5dv_devx_obj_create(world->context, in, QP_IN, out, GENERAL_OUT);
}

static int step(struct mlx5dv_devx_obj* qp, uint32_t number, uint32_t opcode)
{
    memset(in, 0, sizeof(in));
    memset(out, 0, sizeof(out));
    prm_set(in, 0, 16, opcode);
    prm_set(in, 72, 24, number);
    prm_set(in, CONTEXT + 64, 3, IBV_MTU_1024);
    prm_set(in, CONTEXT + 168, 24, number);
    prm_set(in, CONTEXT + 19, 2, 3);
    prm_set(in, CONTEXT + 192 + 256, 8, 1);    // the port of the first path
    return mlx5dv_devx_obj_modify(qp, in, QP_IN, out, GENERAL_OUT);
}

static void check_state(struct mlx5dv_devx_obj* qp, uint32_t number, uint32_t expected, const char* name)
{
    memset(in, 0, sizeof(in));
    memset(out, 0, sizeof(out));
    prm_set(in, 0, 16, OP_QUERY_QP);
    prm_set(in, 72, 24, number);
    const int answer = mlx5dv_devx_obj_query(qp, in, GENERAL_OUT, out, QP_OUT);
    check(answer == 0 && prm_get(out, CONTEXT, 4) == expected, name, "%s; state %u, not %u", strerror(answer),
          prm_get(out, CONTEXT, 4), expected);
}

static int move(struct mlx5dv_devx_obj* qp, uint32_t opcode, uint32_t number, uint32_t leaf)
{
    memset(out, 0, sizeof(out));
    prm_attach(in, opcode, number, leaf, leaf);
    return mlx5dv_devx_obj_modify(qp, in, MODIFY_QP_IN, out, MODIFY_QP_OUT);
}

static struct mlx5dv_devx_obj* element(const struct world* world, uint32_t type, uint32_t parent, uint32_t* id)
{
    memset(out, 0, sizeof(out));
    prm_create_element(in, &(struct prm_element){.type = type, .parent = parent});
    struct mlx5dv_devx_obj* object = mlx5dv_devx_obj_create(world->context, in, ELEMENT_IN, out, GENERAL_OUT);
    *id = prm_object_id(out);
    return object;
}

static void check_life(struct mlx5dv_devx_obj* qp, uint32_t number, uint32_t leaf)
{
    check_state(qp, number, STATE_RESET, "it begins in RESET");
    check(move(qp, OP_INIT2INIT_QP, number, leaf) != 0, "it is not attached in RESET", "it was");
    check(step(qp, number, OP_RTR2RTS) != 0, "no way from RESET to RTS", "there was");
    check_errno(step(qp, number, OP_RST2INIT), 0, "RST2INIT_QP");
    check_state(qp, number, STATE_INIT, "it is in INIT");
    check_errno(move(qp, OP_INIT2INIT_QP, number, leaf), 0, "it is attached in INIT");
    check_errno(step(qp, number, OP_INIT2RTR), 0, "INIT2RTR_QP");
    check_state(qp, number, STATE_RTR, "it is in RTR");
    check_errno(step(qp, number, OP_RTR2RTS), 0, "RTR2RTS_QP");
    check_state(qp, number, STATE_RTS, "it is in RTS");
    check_errno(move(qp, OP_RTS2RTS_QP, number, 0), 0, "it is taken out in RTS");
    check_errno(move(qp, OP_RTS2RTS_QP, number, leaf), 0, "it is attached in RTS");
}

void check_devx_queue_pair(void)
{
    struct world world;
    struct parts parts = {0};
    if (!open_world(&world)) {
        return;
    }
    uint32_t root_id = 0;
    uint32_t leaf_id = 0;
    struct mlx5dv_devx_obj* root = element(&world, ELEMENT_TSAR, 0, &root_id);
    struct mlx5dv_devx_obj* leaf = element(&world, ELEMENT_QUEUE_GROUP, root_id, &leaf_id);
    if (check(root != NULL && leaf != NULL, "a leaf", "%s", strerror(errno)) && make_parts(&world, &parts)) {
        struct mlx5dv_devx_obj* qp = create(&world, &parts);
        const uint32_t number = prm_get(out, 72, 24);
        if (check_errno(ERRNO_OF_POINTER(qp), 0, "mlx5dv_devx_obj_create")) {
            check(number != 0, "its number", "0");
            check_life(qp, number, leaf_id);
            check_errno(mlx5dv_devx_obj_destroy(leaf), EBUSY, "its leaf is busy");
            check_errno(mlx5dv_devx_obj_destroy(qp), 0, "mlx5dv_devx_obj_destroy");
        }
        check_errno(mlx5dv_devx_obj_destroy(leaf), 0, "its leaf goes");
        check_errno(mlx5dv_devx_obj_destroy(root), 0, "the root goes");
    }
    free_parts(&parts);
    close_world(&world);
}
