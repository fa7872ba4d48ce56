// Plays librdmacm.so.1 for rdma_cm.c, because the emulator has no /dev/infiniband/rdma_cm: no address is resolved and
// nothing connects, but queue pairs are made and moved where the real one does it, by its own calls of libibverbs.
#include <stdlib.h>
#include <string.h>

#include <rdma/rdma_cma.h>

static int connect_qp(struct rdma_cm_id* id)
{
    struct ibv_qp_attr attributes;
    memset(&attributes, 0, sizeof(attributes));
    attributes.qp_state = IBV_QPS_RTR;
    attributes.path_mtu = IBV_MTU_1024;
    attributes.dest_qp_num = id->qp->qp_num;
    attributes.max_dest_rd_atomic = attributes.max_rd_atomic = 1;
    attributes.timeout = 14;
    attributes.ah_attr.port_num = 1;
    attributes.ah_attr.is_global = 1;
    // fd00:98::1
    static const uint8_t gid[16] = {0xfd, [3] = 0x98, [15] = 1};
    memcpy(&attributes.ah_attr.grh.dgid, gid, sizeof(gid));
    const int error = ibv_modify_qp(id->qp, &attributes,
                                    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                        IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    if (error != 0) {
        return -1;
    }
    attributes.qp_state = IBV_QPS_RTS;
    return ibv_modify_qp(id->qp, &attributes,
                         IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                             IBV_QP_MAX_QP_RD_ATOMIC) == 0
               ? 0
               : -1;
}

int rdma_create_id(struct rdma_event_channel* channel, struct rdma_cm_id** id, void* context, enum rdma_port_space ps)
{
    *id = calloc(1, sizeof(**id));
    if (*id == NULL) {
        return -1;
    }
    (*id)->channel = channel;
    (*id)->context = context;
    (*id)->ps = ps;
    return 0;
}

int rdma_create_qp(struct rdma_cm_id* id, struct ibv_pd* pd, struct ibv_qp_init_attr* initial)
{
    id->qp = ibv_create_qp(pd, initial);
    if (id->qp == NULL) {
        return -1;
    }
    struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_INIT, .port_num = 1};
    return ibv_modify_qp(id->qp, &attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0
               ? 0
               : -1;
}

int rdma_set_option(struct rdma_cm_id* id, int level, int name, void* value, size_t length)
{
    return id != NULL && level == RDMA_OPTION_ID && name == RDMA_OPTION_ID_TOS && value != NULL && length == 1 ? 0 : -1;
}

int rdma_connect(struct rdma_cm_id* id, struct rdma_conn_param* parameters)
{
    (void)parameters;
    return connect_qp(id);
}

int rdma_accept(struct rdma_cm_id* id, struct rdma_conn_param* parameters)
{
    (void)parameters;
    return connect_qp(id);
}
