// DEVX: commands written by hand.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/emulator/clients/every_call.h"
#include "tests/emulator/clients/prm.h"
#include "tests/emulator/clients/uverbs.h"

enum { CAPABILITY_GENERAL = 0, CAPABILITY_QOS = 0xc };
enum { NO_SUCH_ELEMENT = 0x00ffffff };

static uint8_t in[MODIFY_QP_IN];
static uint8_t out[CAPABILITY_OUT];

// The kernel's errno for a refusal of the firmware; the status byte and the syndrome say what it was.
static void check_refusal(int answer, const char* name)
{
    check(answer != 0 && prm_status(out) != 0 && prm_syndrome(out) != 0, name,
          "%d (%s), status %#x, syndrome %#x; expected a refusal with all of them", answer, strerror(answer),
          prm_status(out), prm_syndrome(out));
}

static int general(struct ibv_context* context, size_t in_length, size_t out_length)
{
    memset(out, 0, sizeof(out));
    return mlx5dv_devx_general_cmd(context, in, in_length, out, out_length);
}

static void check_capabilities(struct ibv_context* context)
{
    enum { AT = 128, LAG_OUT = 24 };
    prm_query_capability(in, CAPABILITY_GENERAL);
    if (check_errno(general(context, CAPABILITY_IN, CAPABILITY_OUT), 0, "QUERY_HCA_CAP, general")) {
        check_number(prm_status(out), 0, "its status");
        check_number(prm_get(out, AT + 539, 1), 1, "there is QoS");
        check_number(prm_get(out, AT + 290, 1), 1, "queue pairs have the context extension");
    }
    prm_query_capability(in, CAPABILITY_QOS);
    if (check_errno(general(context, CAPABILITY_IN, CAPABILITY_OUT), 0, "QUERY_HCA_CAP, QoS")) {
        check_number(prm_get(out, AT + 0, 1), 1, "packet_pacing");
        check_number(prm_get(out, AT + 8, 1), 1, "nic_sq_scheduling");
        check_number(prm_get(out, AT + 9, 1), 1, "nic_bw_share");
        check_number(prm_get(out, AT + 10, 1), 1, "nic_rate_limit");
        check_number(prm_get(out, AT + 33, 1), 1, "nic_qp_scheduling");
        check_number(prm_get(out, AT + 43, 5), 8, "log_max_qos_nic_queue_group");
        check_number(prm_get(out, AT + 224, 32), 100, "max_tsar_bw_share");
        check_number(prm_get(out, AT + 256, 16), 0x11, "nic_element_type: TSAR and queue group");
        check_number(prm_get(out, AT + 272, 16), 1, "nic_tsar_type: DWRR");
    }
    // UCX asks it, and takes a refusal for an error.
    memset(in, 0, sizeof(in));
    prm_set(in, 0, 16, 0x842);
    if (check_errno(general(context, 16, LAG_OUT), 0, "QUERY_LAG")) {
        check_number(prm_status(out), 0, "its status");
        check_number(prm_get(out, 128, 32), 0, "the ports are not bonded");
    }
    // The kernel lets through only commands that are about no object.
    prm_create_element(in, &(struct prm_element){.type = ELEMENT_TSAR});
    check_errno(general(context, ELEMENT_IN, ELEMENT_OUT), EINVAL, "creating is no general command");
    prm_query_capability(in, CAPABILITY_QOS);
    check_errno(mlx5dv_devx_general_cmd(context, in, CAPABILITY_IN, NULL, CAPABILITY_OUT), EFAULT,
                "an answer that nobody can be given");
}

static struct mlx5dv_devx_obj* create(struct ibv_context* context, const struct prm_element* element, uint32_t* id)
{
    memset(out, 0, sizeof(out));
    prm_create_element(in, element);
    errno = 0;
    struct mlx5dv_devx_obj* object = mlx5dv_devx_obj_create(context, in, ELEMENT_IN, out, GENERAL_OUT);
    *id = prm_object_id(out);
    return object;
}

static void refuse(struct ibv_context* context, const struct prm_element* element, const char* name)
{
    uint32_t id = 0;
    struct mlx5dv_devx_obj* object = create(context, element, &id);
    check_refusal(ERRNO_OF_POINTER(object), name);
    if (object != NULL) {
        mlx5dv_devx_obj_destroy(object);
    }
}

static void check_query(struct mlx5dv_devx_obj* object, uint32_t id, const struct prm_element* expected,
                        const char* name)
{
    memset(out, 0, sizeof(out));
    prm_element_command(in, OP_QUERY_GENERAL_OBJECT, id);
    const int answer = mlx5dv_devx_obj_query(object, in, GENERAL_OUT, out, ELEMENT_OUT);
    const struct prm_element got = prm_read_element(out);
    check(answer == 0 && got.type == expected->type && got.parent == expected->parent && got.share == expected->share &&
              got.max_rate == expected->max_rate,
          name, "%s; type %u, parent %u, share %u, rate %u", strerror(answer), got.type, got.parent, got.share,
          got.max_rate);
}

static int modify(struct mlx5dv_devx_obj* object, uint32_t id, uint32_t select, uint32_t share, uint32_t rate)
{
    memset(out, 0, sizeof(out));
    prm_modify_element(in, id, select, share, rate);
    return mlx5dv_devx_obj_modify(object, in, ELEMENT_IN, out, GENERAL_OUT);
}

static void check_changes(struct mlx5dv_devx_obj* leaf, uint32_t id, struct prm_element expected)
{
    check_errno(modify(leaf, id, SELECT_SHARE, 42, 999), 0, "mlx5dv_devx_obj_modify of the share");
    expected.share = 42;
    check_query(leaf, id, &expected, "only the share changed");
    check_errno(modify(leaf, id, SELECT_RATE, 7, 2500), 0, "of the rate");
    expected.max_rate = 2500;
    check_query(leaf, id, &expected, "only the rate changed");
    check_refusal(modify(leaf, id, SELECT_SHARE, 101, 0), "a share above the maximum is refused");
    check_query(leaf, id, &expected, "and changed nothing");
    check(modify(leaf, id + 1000, SELECT_SHARE, 1, 0) != 0, "another object's number is refused", "it was not");
    prm_element_command(in, OP_QUERY_GENERAL_OBJECT, id + 1000);
    check(mlx5dv_devx_obj_query(leaf, in, GENERAL_OUT, out, ELEMENT_OUT) != 0, "for asking too", "it was not");
}

// A queue pair by its handle, as somebody who holds only the descriptor does it.
static void check_by_handle(const struct world* world, uint32_t leaf, uint32_t node)
{
    struct ibv_qp* qp = qp_in_state(world, IBV_QPT_RC, IBV_QPS_RTS);
    if (qp == NULL) {
        return;
    }
    const struct uverbs_buffer command = {in, MODIFY_QP_IN};
    const struct uverbs_buffer answer = {out, MODIFY_QP_OUT};
    const int fd = world->context->cmd_fd;
    unsigned state = 0;
    check_errno(uverbs_query_qp_state(fd, qp->handle, &state), 0, "QUERY_QP by handle");
    check_number(state, IBV_QPS_RTS, "its state");
    prm_attach(in, OP_RTS2RTS_QP, qp->qp_num, leaf, leaf);
    check_errno(uverbs_devx_modify(fd, qp->handle, &command, &answer), 0, "RTS2RTS into a leaf");
    prm_attach(in, OP_RTS2RTS_QP, qp->qp_num, node, 0);
    memset(out, 0, sizeof(out));
    check_refusal(uverbs_devx_modify(fd, qp->handle, &command, &answer), "into a node is refused");
    prm_attach(in, OP_RTS2RTS_QP, qp->qp_num, NO_SUCH_ELEMENT, 0);
    memset(out, 0, sizeof(out));
    check_refusal(uverbs_devx_modify(fd, qp->handle, &command, &answer), "into no element is refused");
    prm_attach(in, OP_INIT2INIT_QP, qp->qp_num, leaf, leaf);
    memset(out, 0, sizeof(out));
    check_refusal(uverbs_devx_modify(fd, qp->handle, &command, &answer), "the command of another state is refused");
    prm_attach(in, OP_RTS2RTS_QP, qp->qp_num + 1, leaf, leaf);
    check(uverbs_devx_modify(fd, qp->handle, &command, &answer) != 0, "another number is refused", "it was not");
    prm_attach(in, OP_RTS2RTS_QP, qp->qp_num, leaf, leaf);
    check(uverbs_devx_modify(fd, qp->handle + 1000, &command, &answer) != 0, "another handle is refused", "it was not");
    prm_attach(in, OP_RTS2RTS_QP, qp->qp_num, 0, 0);
    check_errno(uverbs_devx_modify(fd, qp->handle, &command, &answer), 0, "RTS2RTS out of its leaf");
    check_errno(ibv_destroy_qp(qp), 0, "the queue pair goes");
}

static void check_tree(const struct world* world)
{
    uint32_t root_id = 0;
    uint32_t node_id = 0;
    uint32_t leaf_id = 0;
    const struct prm_element root = {.type = ELEMENT_TSAR};
    struct mlx5dv_devx_obj* root_object = create(world->context, &root, &root_id);
    check_errno(ERRNO_OF_POINTER(root_object), 0, "mlx5dv_devx_obj_create of a root");
    const struct prm_element node = {ELEMENT_TSAR, root_id, 20, 10000};
    struct mlx5dv_devx_obj* node_object = create(world->context, &node, &node_id);
    check_errno(ERRNO_OF_POINTER(node_object), 0, "of a node");
    const struct prm_element leaf = {ELEMENT_QUEUE_GROUP, node_id, 3, 0};
    struct mlx5dv_devx_obj* leaf_object = create(world->context, &leaf, &leaf_id);
    check_errno(ERRNO_OF_POINTER(leaf_object), 0, "of a leaf");
    if (root_object == NULL || node_object == NULL || leaf_object == NULL) {
        return;
    }
    check(root_id != 0 && root_id != node_id && node_id != leaf_id, "numbers differ", "%u, %u, %u", root_id, node_id,
          leaf_id);
    check_query(root_object, root_id, &root, "mlx5dv_devx_obj_query of the root");
    check_query(node_object, node_id, &node, "of the node");
    check_query(leaf_object, leaf_id, &leaf, "of the leaf");
    refuse(world->context, &(struct prm_element){ELEMENT_TSAR, leaf_id, 1, 0}, "a leaf is no parent of a node");
    refuse(world->context, &(struct prm_element){ELEMENT_QUEUE_GROUP, leaf_id, 1, 0}, "a leaf is no parent of a leaf");
    refuse(world->context, &(struct prm_element){ELEMENT_QUEUE_GROUP, NO_SUCH_ELEMENT, 1, 0}, "no such parent");
    refuse(world->context, &(struct prm_element){ELEMENT_QUEUE_GROUP, 0, 1, 0}, "a leaf needs a parent");
    check_changes(leaf_object, leaf_id, leaf);
    check_by_handle(world, leaf_id, node_id);

    struct world other;
    if (open_world(&other)) {
        uint32_t other_id = 0;
        struct mlx5dv_devx_obj* other_object = create(other.context, &leaf, &other_id);
        check_errno(ERRNO_OF_POINTER(other_object), 0, "of a leaf below another file's node");
        check_errno(mlx5dv_devx_obj_destroy(node_object), EBUSY, "which stays while it has one");
        if (other_object != NULL) {
            check_errno(mlx5dv_devx_obj_destroy(other_object), 0, "the other file's leaf goes");
        }
        close_world(&other);
    }
    check_errno(mlx5dv_devx_obj_destroy(node_object), EBUSY, "a node with a leaf stays");
    check_errno(mlx5dv_devx_obj_destroy(leaf_object), 0, "mlx5dv_devx_obj_destroy of the leaf");
    check_errno(mlx5dv_devx_obj_destroy(node_object), 0, "of the node");
    check_errno(mlx5dv_devx_obj_destroy(root_object), 0, "of the root");
}

void check_devx(void)
{
    struct world world;
    if (!open_world(&world)) {
        return;
    }
    check_capabilities(world.context);
    check_tree(&world);
    close_world(&world);
}
