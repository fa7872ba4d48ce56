// Statically linked with libibverbs and its provider: no preload library gets into it.
#define RDMA_STATIC_PROVIDERS mlx5
#include "tests/integration/run/programs/program.h"

int main(int argc, char** argv)
{
    static const struct verbs linked = {
        ibv_get_device_list, ibv_free_device_list, ibv_get_device_name, ibv_open_device, ibv_close_device,
        ibv_alloc_pd,        ibv_dealloc_pd,       ibv_create_cq,       ibv_destroy_cq,  ibv_create_qp,
        ibv_modify_qp,       ibv_query_qp,         ibv_destroy_qp,
    };
    return run_program(argc, argv, &linked, make_by_verbs);
}
