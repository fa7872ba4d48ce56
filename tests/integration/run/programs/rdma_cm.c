// Uses librdmacm, which makes and connects the queue pairs. With the way `call` it is who connects, with `answer` who
// accepts. Port 4420 is who is called; a traffic class, if one is given, is the type of service. Built as a program,
// and as a module of one.
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include <rdma/rdma_cma.h>

#include "tests/integration/run/programs/program.h"

static void make_by_cm(const struct world_of_program* world, const uint8_t gid[16])
{
    (void)gid;    // librdmacm resolves the address
    struct rdma_cm_id* id = NULL;
    if (rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP) != 0) {
        give_up("rdma_create_id");
    }
    const bool calls = strcmp(options.way, "call") == 0;
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons(calls ? 51234 : 4420)};
    struct sockaddr_in there = {.sin_family = AF_INET, .sin_port = htons(calls ? 4420 : 51234)};
    if (inet_pton(AF_INET, "10.2.0.1", &here.sin_addr) != 1 || inet_pton(AF_INET, "10.9.0.9", &there.sin_addr) != 1) {
        give_up("an address");
    }
    memcpy(&id->route.addr.src_addr, &here, sizeof(here));
    memcpy(&id->route.addr.dst_addr, &there, sizeof(there));
    id->verbs = world->context;
    uint8_t tos = (uint8_t)options.traffic_class;
    if (tos != 0 && rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof(tos)) != 0) {
        give_up("rdma_set_option");
    }
    struct ibv_qp_init_attr initial = {
        .send_cq = world->cq,
        .recv_cq = world->cq,
        .cap = {.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1},
        .qp_type = IBV_QPT_RC,
    };
    struct rdma_conn_param parameters = {.responder_resources = 1, .initiator_depth = 1};
    if (rdma_create_qp(id, world->pd, &initial) != 0 ||
        (calls ? rdma_connect(id, &parameters) : rdma_accept(id, &parameters)) != 0) {
        give_up("a connection");
    }
    describe_qp(id->qp);
}

#ifdef RUN_AS_MODULE
int main_of_module(int argc, char** argv);
int main_of_module(int argc, char** argv)
#else
int main(int argc, char** argv)
#endif
{
    static const struct verbs linked = {
        ibv_get_device_list, ibv_free_device_list, ibv_get_device_name, ibv_open_device, ibv_close_device,
        ibv_alloc_pd,        ibv_dealloc_pd,       ibv_create_cq,       ibv_destroy_cq,  ibv_create_qp,
        ibv_modify_qp,       ibv_query_qp,         ibv_destroy_qp,
    };
    return run_program(argc, argv, &linked, make_by_cm);
}
