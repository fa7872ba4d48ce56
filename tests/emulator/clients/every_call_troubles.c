// Older kernels, and devices that go away: what libibverbs and libmlx5 make of them.
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "tests/emulator/clients/every_call.h"

// `ctl WORDS NAME`, of the first device.
static void control_device(const char* words, const char* name)
{
    char line[128];
    snprintf(line, sizeof(line), "%s %s", words, name);
    check(control(line), line, "ctl failed");
}

static int count_devices(void)
{
    int count = -1;
    struct ibv_device** list = ibv_get_device_list(&count);
    if (list != NULL) {
        ibv_free_device_list(list);
    }
    return count;
}

static void check_old_kernel(const struct world* world, struct mlx5dv_sched_leaf* leaf)
{
    struct ibv_qp* qp = qp_in_state(world, IBV_QPT_RC, IBV_QPS_RTS);
    if (qp == NULL) {
        return;
    }
    check_errno(mlx5dv_modify_qp_sched_elem(qp, leaf, NULL), 0, "a queue pair in the leaf");
    check_errno(mlx5dv_sched_leaf_destroy(leaf), EBUSY, "a busy leaf stays");
    check(control("set mailbox-on-error no"), "an older kernel", "ctl failed");
    check_errno(mlx5dv_sched_leaf_destroy(leaf), EBUSY, "the same errno: no mailbox comes from a destroy");
    check(control("set mailbox-on-error yes"), "a newer kernel", "ctl failed");
    check_errno(ibv_destroy_qp(qp), 0, "the queue pair goes");
}

void check_kernels(void)
{
    struct world world;
    if (!open_world(&world)) {
        return;
    }
    struct mlx5dv_sched_attr attr = element_attr(NULL, 0, 0);
    struct mlx5dv_sched_node* root = mlx5dv_sched_node_create(world.context, &attr);
    attr = element_attr(root, 5, 0);
    struct mlx5dv_sched_leaf* leaf = root == NULL ? NULL : mlx5dv_sched_leaf_create(world.context, &attr);
    if (check(leaf != NULL, "a leaf", "%s", strerror(errno))) {
        check_old_kernel(&world, leaf);
        check_errno(mlx5dv_sched_leaf_destroy(leaf), 0, "the leaf goes");
        check_errno(mlx5dv_sched_node_destroy(root), 0, "the root goes");
    }
    close_world(&world);
}

static void check_dead(const struct world* world, struct ibv_qp* qp)
{
    struct ibv_port_attr port;
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
    check_errno(ibv_query_port(world->context, 1, &port), EIO, "ibv_query_port of a dead context");
    check_errno(ibv_modify_qp(qp, &attr, IBV_QP_STATE), EIO, "ibv_modify_qp");
    const struct mlx5dv_sched_attr root = element_attr(NULL, 0, 0);
    check_errno(ERRNO_OF_POINTER(mlx5dv_sched_node_create(world->context, &root)), EIO, "mlx5dv_sched_node_create");
}

void check_reset(void)
{
    struct world world;
    if (!open_world(&world)) {
        return;
    }
    char name[64];
    snprintf(name, sizeof(name), "%s", ibv_get_device_name(world.context->device));
    struct ibv_qp* qp = qp_in_state(&world, IBV_QPT_RC, IBV_QPS_RTS);
    const int devices = count_devices();
    if (qp == NULL) {
        return;
    }
    control_device("reset", name);
    struct ibv_async_event event;
    struct pollfd wait = {.fd = world.context->async_fd, .events = POLLIN};
    if (check(poll(&wait, 1, HUNG_MS) == 1 && ibv_get_async_event(world.context, &event) == 0, "an event",
              "none came")) {
        check_number(event.event_type, IBV_EVENT_DEVICE_FATAL, "device fatal");
        ibv_ack_async_event(&event);
    }
    check_dead(&world, qp);
    check_number(count_devices(), devices, "a new device is there");
    struct world again;
    if (open_world(&again)) {
        close_world(&again);
    }
    check_dead(&world, qp);
    check_errno(ibv_destroy_qp(qp), 0, "the dead queue pair is let go of");
    close_world(&world);

    control_device("unplug", name);
    check_number(count_devices(), devices - 1, "one device less");
    control_device("plug", name);
    check_number(count_devices(), devices, "it is back");
}
