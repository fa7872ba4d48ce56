// Linked to libibverbs, like most programs; with the way `devx` its queue pairs are made by DEVX, as UCX makes them.
// With `path` it also says who answers in its data path; with `types` it makes a queue pair of each type, and takes the
// first once more from RESET to RTS.
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/mlx5dv.h>

#include "tests/emulator/clients/prm.h"
#include "tests/emulator/clients/world.h"
#include "tests/integration/run/programs/program.h"

enum { QP_IN = 320, CONTEXT = 192, PATH = CONTEXT + 192 };
enum { OP_RST2INIT = 0x502, OP_INIT2RTR = 0x503, OP_RTR2RTS = 0x504 };
enum { QUEUE_BYTES = 8192, DOORBELL_AT = 4096 };

static struct mlx5dv_devx_obj* create_by_devx(const struct world_of_program* world, uint32_t* number)
{
    struct mlx5dv_pd pd = {0};
    struct mlx5dv_cq cq = {0};
    struct mlx5dv_obj objects = {.pd = {world->pd, &pd}, .cq = {world->cq, &cq}};
    struct mlx5dv_devx_uar* page = mlx5dv_devx_alloc_uar(world->context, MLX5DV_UAR_ALLOC_TYPE_NC);
    char* memory = aligned_alloc(4096, QUEUE_BYTES);
    if (page == NULL || memory == NULL || mlx5dv_init_obj(&objects, MLX5DV_OBJ_PD | MLX5DV_OBJ_CQ) != 0) {
        give_up("what a DEVX queue pair needs");
    }
    memset(memory, 0, QUEUE_BYTES);
    struct mlx5dv_devx_umem* queue = mlx5dv_devx_umem_reg(world->context, memory, DOORBELL_AT, IBV_ACCESS_LOCAL_WRITE);
    struct mlx5dv_devx_umem* doorbell = mlx5dv_devx_umem_reg(world->context, memory + DOORBELL_AT, 64,
                                                             IBV_ACCESS_LOCAL_WRITE);
    if (queue == NULL || doorbell == NULL) {
        give_up("mlx5dv_devx_umem_reg");
    }
    uint8_t in[QP_IN] = {0};
    uint8_t out[GENERAL_OUT] = {0};
    prm_set(in, 0, 16, OP_CREATE_QP);
    prm_set(in, CONTEXT + 19, 2, 3);
    prm_set(in, CONTEXT + 40, 24, pd.pdn);
    prm_set(in, CONTEXT + 73, 4, 2);
    prm_set(in, CONTEXT + 77, 3, 2);
    prm_set(in, CONTEXT + 81, 4, 2);
    prm_set(in, CONTEXT + 104, 24, page->page_id);
    prm_set(in, CONTEXT + 1000, 24, cq.cqn);
    prm_set(in, CONTEXT + 1256, 24, cq.cqn);
    prm_set(in, CONTEXT + 1667, 1, 1);
    prm_set(in, CONTEXT + 1824, 32, doorbell->umem_id);
    prm_set(in, 2112, 32, queue->umem_id);
    prm_set(in, 2144, 1, 1);
    struct mlx5dv_devx_obj* qp = mlx5dv_devx_obj_create(world->context, in, sizeof(in), out, sizeof(out));
    if (qp == NULL) {
        give_up("mlx5dv_devx_obj_create");
    }
    *number = prm_get(out, 72, 24);
    return qp;
}

static void make_by_devx(const struct world_of_program* world, const uint8_t gid[16])
{
    uint32_t number = 0;
    struct mlx5dv_devx_obj* qp = create_by_devx(world, &number);
    const int opcodes[] = {OP_RST2INIT, OP_INIT2RTR, OP_RTR2RTS};
    for (int i = 0; i < 3; ++i) {
        uint8_t in[MODIFY_QP_IN] = {0};
        uint8_t out[MODIFY_QP_OUT] = {0};
        prm_set(in, 0, 16, (uint32_t)opcodes[i]);
        prm_set(in, 72, 24, number);
        prm_set(in, PATH + 296, 8, 1);    // the port
        if (opcodes[i] == OP_INIT2RTR) {
            if (options.lid == 0) {
                memcpy(in + (PATH + 128) / 8, gid, 16);
            }
            prm_set(in, PATH + 48, 16, (uint32_t)options.lid);
            prm_set(in, PATH + 266, 6, (uint32_t)options.traffic_class >> 2);
            prm_set(in, PATH + 289, 3, (uint32_t)options.sl);
        }
        if (mlx5dv_devx_obj_modify(qp, in, sizeof(in), out, sizeof(out)) != 0) {
            give_up("mlx5dv_devx_obj_modify");
        }
    }
    describe(number, 0, 0);    // what the device was told is in the emulator's trace
}

static void make_every_type(const struct world_of_program* world, const uint8_t gid[16])
{
    (void)gid;
    const struct world mine = {world->context, world->pd, world->cq};
    const enum ibv_qp_type types[] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_RAW_PACKET};
    for (int i = 0; i < 4; ++i) {
        struct ibv_qp* qp = qp_in_state(&mine, types[i], IBV_QPS_RTS);
        struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
        if (qp == NULL ||
            (i == 0 && (ibv_modify_qp(qp, &reset, IBV_QP_STATE) != 0 || drive_qp(qp, IBV_QPS_RTS) != 0))) {
            give_up("a queue pair");
        }
        describe(qp->qp_num, 0, 0);
    }
}

static const char* file_of(void* function)
{
    Dl_info info;
    const char* slash = dladdr(function, &info) != 0 ? strrchr(info.dli_fname, '/') : NULL;
    return slash != NULL ? slash + 1 : "?";
}

static void make_and_show_path(const struct world_of_program* world, const uint8_t gid[16])
{
    make_by_verbs(world, gid);
    printf("post_send %s poll_cq %s\n", file_of((void*)world->context->ops.post_send),
           file_of((void*)world->context->ops.poll_cq));
}

int main(int argc, char** argv)
{
    static const struct verbs linked = {
        ibv_get_device_list, ibv_free_device_list, ibv_get_device_name, ibv_open_device, ibv_close_device,
        ibv_alloc_pd,        ibv_dealloc_pd,       ibv_create_cq,       ibv_destroy_cq,  ibv_create_qp,
        ibv_modify_qp,       ibv_query_qp,         ibv_destroy_qp,
    };
    const char* way = argc > 1 ? argv[1] : "";
    return run_program(argc, argv, &linked,
                       strcmp(way, "devx") == 0    ? make_by_devx
                       : strcmp(way, "path") == 0  ? make_and_show_path
                       : strcmp(way, "types") == 0 ? make_every_type
                                                   : make_by_verbs);
}
