/* A complete client of librdmaqos: a queue pair that gets its class, and keeps it when rdma-qosd is restarted.
 *
 *     cc -std=c99 -Wall -Wextra governed.c -o governed $(pkg-config --cflags --libs librdmaqos libibverbs)
 *     ./governed DEVICE [LEVEL [SOCKET]]
 *
 * For example: ./governed mlx5_0 rpc
 *
 * It makes a queue pair that is connected to itself, so no other program is needed, asks which path it would get, sets the
 * service level and the traffic class on the way to RTR, attaches it, and then waits for a line on stdin while it prints what
 * happens. Without rdma-qosd it says so, and goes on without a class: a program should. Nothing is sent.
 */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <rdmaqos.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PORT = 1, DEPTH = 16 };

struct connection {
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_qp *qp;
    struct rdmaqos_handle *qos;
};

static void fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(1);
}

static struct ibv_context *open_device(const char *name)
{
    struct ibv_context *context = NULL;
    struct ibv_device **devices = ibv_get_device_list(NULL);
    for (struct ibv_device **each = devices; each != NULL && *each != NULL; ++each)
        if (strcmp(ibv_get_device_name(*each), name) == 0)
            context = ibv_open_device(*each);
    if (devices != NULL)
        ibv_free_device_list(devices);
    return context;
}

static void make_queue_pair(struct connection *connection, const char *device)
{
    struct ibv_qp_init_attr init;
    memset(&init, 0, sizeof(init));
    if ((connection->context = open_device(device)) == NULL || (connection->pd = ibv_alloc_pd(connection->context)) == NULL ||
        (connection->cq = ibv_create_cq(connection->context, DEPTH, NULL, NULL, 0)) == NULL)
        fail(device);
    init.send_cq = init.recv_cq = connection->cq;
    init.cap.max_send_wr = init.cap.max_recv_wr = DEPTH;
    init.cap.max_send_sge = init.cap.max_recv_sge = 1;
    init.qp_type = IBV_QPT_RC;
    if ((connection->qp = ibv_create_qp(connection->pd, &init)) == NULL)
        fail("ibv_create_qp");
}

static void modify(struct connection *connection, struct ibv_qp_attr *attr, enum ibv_qp_state state, int mask)
{
    attr->qp_state = state;
    /* rdma-qosd may be moving the queue pair at this moment: such calls are tried again. */
    if ((errno = rdmaqos_modify_qp(connection->qos, connection->qp, attr, IBV_QP_STATE | mask)) != 0)
        fail("ibv_modify_qp");
}

/* To RTS. A real program has the number and the address of its peer from a handshake. */
static void connect_to_itself(struct connection *connection, const struct rdmaqos_answer *path)
{
    const int to_rtr = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
                       IBV_QP_MIN_RNR_TIMER;
    const int to_rts = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
    struct ibv_port_attr port;
    struct ibv_qp_attr attr;
    int done;

    memset(&attr, 0, sizeof(attr));
    if ((errno = ibv_query_port(connection->context, PORT, &port)) != 0)
        fail("ibv_query_port");
    attr.port_num = attr.ah_attr.port_num = PORT;
    attr.path_mtu = IBV_MTU_1024;
    attr.dest_qp_num = connection->qp->qp_num;
    attr.ah_attr.dlid = port.lid;
    attr.timeout = 14;
    attr.retry_cnt = attr.rnr_retry = 7;
    if (port.link_layer == IBV_LINK_LAYER_ETHERNET) {
        attr.ah_attr.is_global = 1;
        attr.ah_attr.grh.hop_limit = 1;
        if (ibv_query_gid(connection->context, PORT, 0, &attr.ah_attr.grh.dgid) != 0)
            fail("ibv_query_gid");
    }
    modify(connection, &attr, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    done = rdmaqos_apply_qp(path, connection->qp, &attr, to_rtr);
    if (done > 0 && (done & RDMAQOS_SL_DIFFERS) != 0)
        printf("the level has another service level than the subnet manager gave, which stays\n");
    if (done > 0 && (done & RDMAQOS_APPLIED_TRAFFIC_CLASS) != 0)
        printf("traffic class: %u\n", attr.ah_attr.grh.traffic_class);
    modify(connection, &attr, IBV_QPS_RTR, to_rtr);
    modify(connection, &attr, IBV_QPS_RTS, to_rts);
}

static void print_place(const struct rdmaqos_answer *place)
{
    printf("level: %s\nleaf: %s\nenforced: %s\n", rdmaqos_answer_level(place), rdmaqos_answer_leaf(place),
           rdmaqos_answer_enforced(place) > 0 ? "yes" : "no");
    if (*rdmaqos_answer_reason(place) != '\0')
        printf("reason: %s\n", rdmaqos_answer_reason(place));
}

static void on_event(struct rdmaqos_handle *handle, const struct rdmaqos_event *event, void *data)
{
    (void)handle;
    (void)data;
    switch (event->type) {
    case RDMAQOS_EVENT_GRANT_CHANGED:
        printf("event: the grant has changed\n");
        break;
    case RDMAQOS_EVENT_DAEMON_GONE:
        printf("event: rdma-qosd has gone\n");
        break;
    case RDMAQOS_EVENT_DAEMON_BACK:
        printf("event: rdma-qosd is back\n");
        break;
    case RDMAQOS_EVENT_DETACHED:
        printf("event: the device has gone\n");
        break;
    default:
        if (event->message != NULL)
            printf("event: %s\n", event->message);
    }
    fflush(stdout);
}

int main(int argc, char **argv)
{
    struct connection connection;
    struct rdmaqos_handle *qos = NULL;
    struct rdmaqos_open_attr attr;
    struct rdmaqos_request request;
    struct rdmaqos_answer *path = NULL, *place = NULL;

    if (argc < 2 || argc > 4) {
        fprintf(stderr, "usage: %s DEVICE [LEVEL [SOCKET]]\n", argv[0]);
        return 1;
    }
    make_queue_pair(&connection, argv[1]);

    rdmaqos_open_attr_init(&attr);
    attr.socket = argc > 3 ? argv[3] : NULL;
    rdmaqos_request_init(&request);
    request.level = argc > 2 ? argv[2] : NULL; /* NULL: the administrator's rules decide */
    request.device = argv[1];
    if (rdmaqos_open(&qos, &attr) < 0 || rdmaqos_register(qos, &request, NULL) < 0 ||
        rdmaqos_query_path(qos, &request, &path) < 0)
        printf("without a class: %s\n", rdmaqos_last_error());

    connection.qos = qos;
    connect_to_itself(&connection, path);
    if (rdmaqos_attach(qos, connection.qp, NULL, &place) == 0)
        print_place(place);
    else if (qos != NULL)
        printf("without a class: %s\n", rdmaqos_last_error());
    fflush(stdout);

    /* A program's own loop. Without a handle its descriptor is -ENOTCONN, which poll() ignores. */
    rdmaqos_set_handler(qos, on_event, NULL);
    for (;;) {
        struct pollfd ready[2] = {{STDIN_FILENO, POLLIN, 0}, {rdmaqos_get_fd(qos), POLLIN, 0}};
        if (poll(ready, 2, -1) < 0 && errno != EINTR)
            fail("poll");
        if (ready[1].revents != 0)
            rdmaqos_dispatch(qos);
        if (ready[0].revents != 0)
            break;
    }

    /* Detached before it is destroyed: its number may be another queue pair's soon. */
    rdmaqos_destroy_qp(qos, connection.qp);
    rdmaqos_answer_free(path);
    rdmaqos_answer_free(place);
    rdmaqos_close(qos);
    ibv_destroy_cq(connection.cq);
    ibv_dealloc_pd(connection.pd);
    ibv_close_device(connection.context);
    return 0;
}
