// Asynchronous events, and faults on order: what `rdma-qos-emulator ctl` makes the device do.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "tests/emulator/clients/every_call.h"

// The next event; false: none came.
static bool next_event(struct ibv_context* context, struct ibv_async_event* event)
{
    struct pollfd wait = {.fd = context->async_fd, .events = POLLIN};
    return poll(&wait, 1, HUNG_MS) == 1 && ibv_get_async_event(context, event) == 0;
}

static void check_port_event(struct ibv_context* context, const char* words, enum ibv_event_type type,
                             enum ibv_port_state state)
{
    struct ibv_async_event event;
    struct ibv_port_attr port;
    check(control(words), words, "ctl failed");
    if (check(next_event(context, &event), "its event", "none came")) {
        check_number(event.event_type, type, "its type");
        check_number(event.element.port_num, 1, "its port");
        ibv_ack_async_event(&event);
    }
    check_errno(ibv_query_port(context, 1, &port), 0, "ibv_query_port");
    check_number(port.state, state, "the port's state");
}

void check_events(void)
{
    struct world world;
    if (!open_world(&world)) {
        return;
    }
    struct ibv_async_event event;
    fcntl(world.context->async_fd, F_SETFL, fcntl(world.context->async_fd, F_GETFL) | O_NONBLOCK);
    check(ibv_get_async_event(world.context, &event) != 0 && errno == EAGAIN, "there is no event", "%s",
          strerror(errno));
    char device[128];
    snprintf(device, sizeof(device), "event %s port-error", ibv_get_device_name(world.context->device));
    check_port_event(world.context, device, IBV_EVENT_PORT_ERR, IBV_PORT_DOWN);
    snprintf(device, sizeof(device), "event %s port-active", ibv_get_device_name(world.context->device));
    check_port_event(world.context, device, IBV_EVENT_PORT_ACTIVE, IBV_PORT_ACTIVE);

    struct ibv_qp* qp = qp_in_state(&world, IBV_QPT_RC, IBV_QPS_RTS);
    if (qp != NULL) {
        snprintf(device, sizeof(device), "qp-fatal %s %u", ibv_get_device_name(world.context->device), qp->qp_num);
        check(control(device), "qp-fatal", "ctl failed");
        if (check(next_event(world.context, &event), "the queue pair's event", "none came")) {
            check_number(event.event_type, IBV_EVENT_QP_FATAL, "its type");
            check(event.element.qp == qp, "its queue pair", "another");
            ibv_ack_async_event(&event);
        }
        check_number(state_of_qp(qp), IBV_QPS_ERR, "it is in ERR");
        check_errno(ibv_destroy_qp(qp), 0, "it goes: its event was acknowledged");
    }
    close_world(&world);
}

static void check_ordered(const struct world* world, struct mlx5dv_sched_node* root)
{
    struct mlx5dv_sched_attr attr = element_attr(root, 5, 0);
    check(control("fail create 2"), "fail create 2", "ctl failed");
    struct mlx5dv_sched_leaf* leaf = mlx5dv_sched_leaf_create(world->context, &attr);
    check_errno(ERRNO_OF_POINTER(leaf), 0, "the first create passes");
    struct mlx5dv_sched_leaf* none = mlx5dv_sched_leaf_create(world->context, &attr);
    check_errno(ERRNO_OF_POINTER(none), ANY_ERRNO, "the second fails");
    struct mlx5dv_sched_leaf* third = mlx5dv_sched_leaf_create(world->context, &attr);
    if (check_errno(ERRNO_OF_POINTER(third), 0, "the third passes")) {
        check_errno(mlx5dv_sched_leaf_destroy(third), 0, "it goes");
    }
    if (leaf == NULL) {
        return;
    }
    check(control("fail modify 1 errno-only"), "fail modify 1 errno-only", "ctl failed");
    check_errno(mlx5dv_sched_leaf_modify(leaf, &attr), ANY_ERRNO, "modify fails");
    check_errno(mlx5dv_sched_leaf_modify(leaf, &attr), 0, "and then passes");
    check(control("busy destroy 2"), "busy destroy 2", "ctl failed");
    check_errno(mlx5dv_sched_leaf_destroy(leaf), EBUSY, "destroy finds it in use");
    check_errno(mlx5dv_sched_leaf_destroy(leaf), EBUSY, "twice");

    struct ibv_qp* qp = qp_in_state(world, IBV_QPT_RC, IBV_QPS_RTS);
    if (qp != NULL) {
        check(control("fail attach 1"), "fail attach 1", "ctl failed");
        check_errno(mlx5dv_modify_qp_sched_elem(qp, leaf, NULL), ANY_ERRNO, "attach fails");
        check_errno(mlx5dv_modify_qp_sched_elem(qp, leaf, NULL), 0, "and then passes");
        check_errno(ibv_destroy_qp(qp), 0, "the queue pair goes");
    }
    check(control("fail destroy 1"), "fail destroy 1", "ctl failed");
    check(control("clear"), "clear", "ctl failed");
    check_errno(mlx5dv_sched_leaf_destroy(leaf), 0, "what was cleared does not happen");
}

void check_faults(void)
{
    struct world world;
    if (!open_world(&world)) {
        return;
    }
    const struct mlx5dv_sched_attr attr = element_attr(NULL, 0, 0);
    struct mlx5dv_sched_node* root = mlx5dv_sched_node_create(world.context, &attr);
    if (check_errno(ERRNO_OF_POINTER(root), 0, "a root")) {
        check_ordered(&world, root);
        check_errno(mlx5dv_sched_node_destroy(root), 0, "the root goes");
    }
    close_world(&world);
}
