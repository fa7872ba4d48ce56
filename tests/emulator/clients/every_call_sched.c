// Scheduling elements through mlx5dv_sched_*, and queue pairs in their leaves.
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/emulator/clients/every_call.h"

enum { MAX_SHARE = 100, LEVELS = 4, MAX_LEAVES = 256 };

static struct mlx5dv_sched_node* make_node(const struct world* world, struct mlx5dv_sched_node* parent, uint32_t share,
                                           uint32_t max_rate)
{
    const struct mlx5dv_sched_attr attr = element_attr(parent, share, max_rate);
    errno = 0;
    return mlx5dv_sched_node_create(world->context, &attr);
}

static struct mlx5dv_sched_leaf* make_leaf(const struct world* world, struct mlx5dv_sched_node* parent, uint32_t share,
                                           uint32_t max_rate)
{
    const struct mlx5dv_sched_attr attr = element_attr(parent, share, max_rate);
    errno = 0;
    return mlx5dv_sched_leaf_create(world->context, &attr);
}

static void refuse_node(const struct world* world, const struct mlx5dv_sched_attr* attr, int expected, const char* name)
{
    errno = 0;
    struct mlx5dv_sched_node* node = mlx5dv_sched_node_create(world->context, attr);
    if (!check_errno(ERRNO_OF_POINTER(node), expected, name) && node != NULL) {
        mlx5dv_sched_node_destroy(node);
    }
}

static void refuse_leaf(const struct world* world, const struct mlx5dv_sched_attr* attr, int expected, const char* name)
{
    errno = 0;
    struct mlx5dv_sched_leaf* leaf = mlx5dv_sched_leaf_create(world->context, attr);
    if (!check_errno(ERRNO_OF_POINTER(leaf), expected, name) && leaf != NULL) {
        mlx5dv_sched_leaf_destroy(leaf);
    }
}

static void check_roots(const struct world* world)
{
    struct mlx5dv_sched_attr attr = element_attr(NULL, 5, 0);
    refuse_node(world, &attr, EINVAL, "a root with a share is refused");
    attr = element_attr(NULL, 0, 1000);
    refuse_node(world, &attr, EINVAL, "a root with a rate is refused");
    attr = element_attr(NULL, 5, 0);
    refuse_leaf(world, &attr, EINVAL, "a leaf without a parent is refused");
    attr = element_attr(NULL, 0, 0);
    attr.comp_mask = 1;
    refuse_node(world, &attr, ANY_ERRNO, "an unknown comp_mask is refused");
    attr.comp_mask = 0;
    attr.flags = 1U << 7;
    refuse_node(world, &attr, ANY_ERRNO, "unknown flags are refused");
    attr.flags = MLX5DV_SCHED_ELEM_ATTR_FLAGS_BW_SHARE | MLX5DV_SCHED_ELEM_ATTR_FLAGS_MAX_AVG_BW;
    refuse_node(world, &attr, EINVAL, "a root whose share and rate are 0 is refused, too");
}

static void check_modifying(struct mlx5dv_sched_node* root, struct mlx5dv_sched_node* node,
                            struct mlx5dv_sched_leaf* leaf)
{
    struct mlx5dv_sched_attr attr = element_attr(root, 70, 9000);
    check_errno(mlx5dv_sched_node_modify(node, &attr), 0, "mlx5dv_sched_node_modify");
    attr = element_attr(root, 0, 8000);
    check_errno(mlx5dv_sched_node_modify(node, &attr), 0, "of its rate only");
    attr = element_attr(root, MAX_SHARE + 1, 0);
    check_errno(mlx5dv_sched_node_modify(node, &attr), EINVAL, "not to a share above the maximum");
    attr = element_attr(NULL, 7, 0);
    check_errno(mlx5dv_sched_node_modify(root, &attr), EINVAL, "not the root's share");

    attr = element_attr(node, 30, 4000);
    check_errno(mlx5dv_sched_leaf_modify(leaf, &attr), 0, "mlx5dv_sched_leaf_modify");
    attr = element_attr(node, MAX_SHARE, 0);
    check_errno(mlx5dv_sched_leaf_modify(leaf, &attr), 0, "to the highest share");
    attr = element_attr(node, MAX_SHARE + 1, 0);
    check_errno(mlx5dv_sched_leaf_modify(leaf, &attr), EINVAL, "but not above it");
    attr = element_attr(NULL, 30, 4000);
    check(mlx5dv_sched_leaf_modify(leaf, &attr) != 0, "a leaf is not modified without its parent", "it was");
    attr = element_attr(node, 0, 0);
    attr.flags = MLX5DV_SCHED_ELEM_ATTR_FLAGS_MAX_AVG_BW;
    check_errno(mlx5dv_sched_leaf_modify(leaf, &attr), 0, "rate 0 lifts the limit");
}

void check_elements(void)
{
    struct world world;
    if (!open_world(&world)) {
        return;
    }
    check_roots(&world);
    struct mlx5dv_sched_node* root = make_node(&world, NULL, 0, 0);
    struct mlx5dv_sched_node* node = NULL;
    struct mlx5dv_sched_leaf* leaf = NULL;
    if (check_errno(ERRNO_OF_POINTER(root), 0, "mlx5dv_sched_node_create of a root")) {
        node = make_node(&world, root, 10, 10000);
        check_errno(ERRNO_OF_POINTER(node), 0, "mlx5dv_sched_node_create below it");
    }
    if (node != NULL) {
        leaf = make_leaf(&world, node, 3, 4096);
        check_errno(ERRNO_OF_POINTER(leaf), 0, "mlx5dv_sched_leaf_create");
    }
    if (leaf == NULL) {
        return;
    }
    struct mlx5dv_sched_attr attr = element_attr(NULL, 0, 0);
    refuse_node(&world, &attr, EINVAL, "a second root is refused");
    attr = element_attr(root, MAX_SHARE + 1, 0);
    refuse_node(&world, &attr, EINVAL, "a node's share above the maximum is refused");
    attr = element_attr(node, MAX_SHARE + 1, 0);
    refuse_leaf(&world, &attr, EINVAL, "a leaf's share above the maximum is refused");
    check_modifying(root, node, leaf);
    check_errno(mlx5dv_sched_node_destroy(root), EBUSY, "the root with children stays");
    check_errno(mlx5dv_sched_node_destroy(node), EBUSY, "a node with a leaf stays");
    check_errno(mlx5dv_sched_leaf_destroy(leaf), 0, "mlx5dv_sched_leaf_destroy");
    check_errno(mlx5dv_sched_node_destroy(node), 0, "mlx5dv_sched_node_destroy");
    check_errno(mlx5dv_sched_node_destroy(root), 0, "of the root");
    close_world(&world);
}

// A busy leaf refuses to go: the way to see where a queue pair is.
static void check_holds(struct mlx5dv_sched_leaf** leaf, const struct world* world, struct mlx5dv_sched_node* parent,
                        bool busy, const char* name)
{
    const int answer = mlx5dv_sched_leaf_destroy(*leaf);
    check_errno(answer, busy ? EBUSY : 0, name);
    if (answer == 0) {
        *leaf = make_leaf(world, parent, 1, 0);
        check_errno(ERRNO_OF_POINTER(*leaf), 0, "the leaf is made again");
    }
}

struct attach_row {
    enum ibv_qp_type type;
    const char* name;
    bool in_init;
    bool responder;
};

static void check_in_rts(const struct attach_row* row, const struct world* world, struct mlx5dv_sched_node* root,
                         struct ibv_qp* qp)
{
    struct mlx5dv_sched_leaf* here = make_leaf(world, root, 1, 0);
    struct mlx5dv_sched_leaf* there = make_leaf(world, root, 2, 5000);
    if (!check(here != NULL && there != NULL, "two leaves", "%s", strerror(errno))) {
        return;
    }
    check_errno(mlx5dv_modify_qp_sched_elem(qp, here, NULL), 0, "requester in RTS");
    check_holds(&here, world, root, true, "its leaf is busy");
    check_errno(mlx5dv_modify_qp_sched_elem(qp, there, NULL), 0, "to another leaf");
    check_holds(&here, world, root, false, "the first leaf is free");
    if (row->responder) {
        check_errno(mlx5dv_modify_qp_sched_elem(qp, NULL, here), 0, "responder only");
        check_holds(&there, world, root, false, "the requester's leaf is free");
        check_holds(&here, world, root, true, "the responder's leaf is busy");
        check_errno(mlx5dv_modify_qp_sched_elem(qp, there, here), 0, "requester and responder");
        check_holds(&here, world, root, true, "the responder's leaf is busy");
        check_holds(&there, world, root, true, "the requester's leaf too");
    } else {
        check(mlx5dv_modify_qp_sched_elem(qp, NULL, here) != 0, "a responder is refused", "it was not");
    }
    check_errno(mlx5dv_modify_qp_sched_elem(qp, NULL, NULL), 0, "out of every leaf");
    check_holds(&here, world, root, false, "one leaf is free");
    check_holds(&there, world, root, false, "the other too");
    check_errno(mlx5dv_modify_qp_sched_elem(qp, here, row->responder ? here : NULL), 0, "in again");
    check_errno(ibv_destroy_qp(qp), 0, "the queue pair goes");
    check_errno(mlx5dv_sched_leaf_destroy(here), 0, "and leaves its leaf");
    check_errno(mlx5dv_sched_leaf_destroy(there), 0, "the other goes");
}

static void check_attach_type(const struct attach_row* row, const struct world* world, struct mlx5dv_sched_node* root)
{
    check_group(row->name);
    struct mlx5dv_sched_leaf* leaf = make_leaf(world, root, 1, 0);
    struct ibv_qp* qp = qp_in_state(world, row->type, IBV_QPS_RESET);
    if (leaf == NULL || qp == NULL) {
        if (leaf != NULL) {
            mlx5dv_sched_leaf_destroy(leaf);
        }
        return;
    }
    check(mlx5dv_modify_qp_sched_elem(qp, leaf, NULL) != 0, "refused in RESET", "it was not");
    check_errno(step_qp(qp, IBV_QPS_INIT, 0), 0, "to INIT");
    if (row->in_init) {
        check_errno(mlx5dv_modify_qp_sched_elem(qp, leaf, NULL), 0, "requester in INIT");
        check_holds(&leaf, world, root, true, "its leaf is busy");
        check_errno(mlx5dv_modify_qp_sched_elem(qp, NULL, NULL), 0, "out in INIT");
        check_errno(mlx5dv_modify_qp_sched_elem(qp, leaf, NULL), 0, "in again in INIT");
    } else {
        check(mlx5dv_modify_qp_sched_elem(qp, leaf, NULL) != 0, "refused in INIT", "it was not");
    }
    check_errno(step_qp(qp, IBV_QPS_RTR, 0), 0, "to RTR");
    if (row->type != IBV_QPT_RAW_PACKET) {
        check(mlx5dv_modify_qp_sched_elem(qp, NULL, NULL) != 0, "refused in RTR", "it was not");
    }
    check_errno(step_qp(qp, IBV_QPS_RTS, 0), 0, "to RTS");
    if (row->in_init) {
        check_holds(&leaf, world, root, true, "it is still in its leaf");
    }
    check_errno(step_qp(qp, IBV_QPS_ERR, 0), 0, "to ERR");
    check(mlx5dv_modify_qp_sched_elem(qp, leaf, NULL) != 0, "refused in ERR", "it was not");
    check_errno(step_qp(qp, IBV_QPS_RESET, 0), 0, "to RESET");
    check_errno(mlx5dv_sched_leaf_destroy(leaf), 0, "RESET takes it out of its leaf");
    check_errno(drive_qp(qp, IBV_QPS_RTS), 0, "to RTS again");
    check_in_rts(row, world, root, qp);
}

// Closing with everything still there is the kernel's work. In a process of its own: the libraries forget their memory.
static void check_abandoned(void)
{
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        struct world world;
        if (!open_world(&world)) {
            _exit(1);
        }
        struct mlx5dv_sched_node* root = make_node(&world, NULL, 0, 0);
        struct mlx5dv_sched_leaf* leaf = root != NULL ? make_leaf(&world, root, 1, 0) : NULL;
        struct ibv_qp* qp = create_qp(&world, IBV_QPT_RC);
        if (leaf == NULL || qp == NULL || drive_qp(qp, IBV_QPS_RTS) != 0 ||
            mlx5dv_modify_qp_sched_elem(qp, leaf, leaf) != 0) {
            _exit(2);
        }
        _exit(ibv_close_device(world.context) == 0 ? 0 : 3);
    }
    int status = -1;
    check(waitpid(child, &status, 0) == child && status == 0, "a context closes with a queue pair in a leaf",
          "status %#x", (unsigned)status);
}

void check_attaching(void)
{
    static const struct attach_row rows[] = {
        {IBV_QPT_RC, "attach: RC", true, true},
        {IBV_QPT_UC, "attach: UC", true, false},
        {IBV_QPT_UD, "attach: UD", true, false},
        {IBV_QPT_RAW_PACKET, "attach: raw packet", false, false},
    };
    struct world world;
    if (!open_world(&world)) {
        return;
    }
    struct mlx5dv_sched_node* root = make_node(&world, NULL, 0, 0);
    if (check_errno(ERRNO_OF_POINTER(root), 0, "a root")) {
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
            check_attach_type(&rows[i], &world, root);
        }
        check_group("attach");
        check_errno(mlx5dv_sched_node_destroy(root), 0, "the root goes");
    }
    close_world(&world);
    check_abandoned();
}

// At most this many levels, at most that many leaves; what was refused leaves nothing behind.
void check_limits(void)
{
    struct world world;
    if (!open_world(&world)) {
        return;
    }
    struct mlx5dv_sched_node* chain[LEVELS] = {NULL};
    for (int level = 0; level < LEVELS; ++level) {
        chain[level] = make_node(&world, level > 0 ? chain[level - 1] : NULL, level > 0 ? 1 : 0, 0);
        char name[32];
        snprintf(name, sizeof(name), "a node at level %d", level + 1);
        if (!check_errno(ERRNO_OF_POINTER(chain[level]), 0, name)) {
            return;
        }
    }
    struct mlx5dv_sched_attr attr = element_attr(chain[LEVELS - 1], 1, 0);
    refuse_node(&world, &attr, ENOMEM, "no node below the last level");
    refuse_leaf(&world, &attr, ENOMEM, "no leaf below the last level");

    static struct mlx5dv_sched_leaf* leaves[MAX_LEAVES + 1];
    int made = 0;
    while (made <= MAX_LEAVES && (leaves[made] = make_leaf(&world, chain[0], 1, 0)) != NULL) {
        ++made;
    }
    check(made == MAX_LEAVES && errno == ENOMEM, "so many leaves and no more", "%d, then %s", made, strerror(errno));
    int failures = 0;
    for (int i = 0; i < made; ++i) {
        failures += mlx5dv_sched_leaf_destroy(leaves[i]) != 0 ? 1 : 0;
    }
    check_number(failures, 0, "all leaves go");
    struct mlx5dv_sched_leaf* again = make_leaf(&world, chain[0], 1, 0);
    if (check_errno(ERRNO_OF_POINTER(again), 0, "then there is room again")) {
        check_errno(mlx5dv_sched_leaf_destroy(again), 0, "it goes");
    }
    for (int level = LEVELS - 1; level >= 0; --level) {
        check_errno(mlx5dv_sched_node_destroy(chain[level]), 0, "the nodes go from below");
    }
    close_world(&world);
}
