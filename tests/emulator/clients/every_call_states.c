// Queue pairs of each type through their states. A step that lacks an attribute it needs is EINVAL and changes
// nothing, and so is one that the state diagram does not have.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/emulator/clients/every_call.h"

enum { BITS = 26 };

static void check_stays(struct ibv_qp* qp, int answer, enum ibv_qp_state state, const char* name)
{
    check(answer == EINVAL && state_of_qp(qp) == state && qp->state == state, name, "%s; the state is %s, not %s",
          strerror(answer), name_of_state(state_of_qp(qp)), name_of_state(state));
}

// Each needed attribute is left out once, and an attribute is given that does not belong there.
static void check_masks(struct ibv_qp* qp, enum ibv_qp_state to)
{
    char name[96];
    const int needed = needed_for(qp, to);
    for (int bit = 0; bit < BITS; ++bit) {
        if ((needed & 1 << bit) != 0) {
            snprintf(name, sizeof(name), "to %s without attribute %#x", name_of_state(to), 1U << bit);
            check_stays(qp, step_qp(qp, to, 1 << bit), to - 1, name);
        }
    }
    struct ibv_qp_attr attr = values_for(qp);
    attr.qp_state = to;
    const int foreign = to == IBV_QPS_INIT ? IBV_QP_TIMEOUT : to == IBV_QPS_RTR ? IBV_QP_SQ_PSN : IBV_QP_RQ_PSN;
    snprintf(name, sizeof(name), "to %s with attribute %#x, which does not belong there", name_of_state(to),
             (unsigned)foreign);
    check_stays(qp, ibv_modify_qp(qp, &attr, needed | IBV_QP_STATE | foreign), to - 1, name);
}

// From a state, those it cannot reach in one step.
static void check_no_way(struct ibv_qp* qp, enum ibv_qp_state from)
{
    char name[64];
    for (enum ibv_qp_state to = IBV_QPS_INIT; to <= IBV_QPS_RTS; ++to) {
        const bool possible = to == from + 1 || (to == from && (to == IBV_QPS_INIT || to == IBV_QPS_RTS));
        if (!possible) {
            snprintf(name, sizeof(name), "no way from %s to %s", name_of_state(from), name_of_state(to));
            check_stays(qp, step_qp(qp, to, 0), from, name);
        }
    }
}

static void check_values(struct ibv_qp* qp)
{
    struct ibv_qp_attr attr;
    struct ibv_qp_init_attr init;
    memset(&attr, 0, sizeof(attr));
    check_errno(ibv_query_qp(qp, &attr, IBV_QP_STATE | IBV_QP_CAP, &init), 0, "ibv_query_qp");
    check_number(attr.qp_state, IBV_QPS_RTS, "its state");
    check_number(init.qp_type, qp->qp_type, "its type");
    check(init.cap.max_send_wr >= 8, "its depth", "%u", init.cap.max_send_wr);
    if (qp->qp_type == IBV_QPT_RAW_PACKET) {
        return;
    }
    check_number(attr.port_num, 1, "its port");
    check_number(attr.sq_psn, PSN + 1, "its send PSN");
    if (qp->qp_type == IBV_QPT_UD) {
        check_number(attr.qkey, QKEY, "its Q_Key");
        return;
    }
    check_number(attr.rq_psn, PSN, "its receive PSN");
    check_number(attr.dest_qp_num, qp->qp_num, "its peer");
    check_number(attr.path_mtu, IBV_MTU_1024, "its MTU");
    // Nobody reads from UC, and the kernel says so.
    const int access = IBV_ACCESS_REMOTE_WRITE | (qp->qp_type == IBV_QPT_RC ? IBV_ACCESS_REMOTE_READ : 0);
    check_number(attr.qp_access_flags & (IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE), access, "its access flags");
    if (qp->qp_type == IBV_QPT_RC) {
        check_number(attr.timeout, TIMEOUT, "its timeout");
        check_number(attr.retry_cnt, RETRIES, "its retries");
        check_number(attr.rnr_retry, RNR_RETRIES, "its RNR retries");
        check_number(attr.min_rnr_timer, RNR_TIMER, "its RNR timer");
        check_number(attr.max_rd_atomic, READ_DEPTH, "its depth of READs");
        check_number(attr.max_dest_rd_atomic, READ_DEPTH, "its depth of READs to it");
    }
}

static void check_posting(struct ibv_qp* qp, bool receive)
{
    struct ibv_recv_wr take = {.wr_id = 1};
    struct ibv_recv_wr* bad_take = NULL;
    if (receive) {
        check_errno(ibv_post_recv(qp, &take, &bad_take), 0, "a receive is taken");
        return;
    }
    if (qp->qp_type != IBV_QPT_RC && qp->qp_type != IBV_QPT_UC) {
        return;
    }
    // To itself, which has a receive request for it; whether data moves is for other tests.
    struct ibv_send_wr work = {.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
    struct ibv_send_wr* bad = NULL;
    check_errno(ibv_post_send(qp, &work, &bad), 0, "a send is taken");
}

static void check_rest(struct ibv_qp* qp)
{
    struct ibv_qp_attr attr = values_for(qp);
    if (qp->qp_type == IBV_QPT_RC) {
        attr.qp_state = IBV_QPS_RTS;
        attr.min_rnr_timer = RNR_TIMER + 1;
        attr.qp_access_flags = IBV_ACCESS_REMOTE_READ;
        check_errno(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_MIN_RNR_TIMER | IBV_QP_ACCESS_FLAGS), 0,
                    "RTS to RTS with what may change there");
        struct ibv_qp_init_attr init;
        memset(&attr, 0, sizeof(attr));
        check_errno(ibv_query_qp(qp, &attr, IBV_QP_MIN_RNR_TIMER, &init), 0, "it is asked");
        check(attr.min_rnr_timer == RNR_TIMER + 1 && attr.qp_access_flags == IBV_ACCESS_REMOTE_READ, "it changed",
              "timer %u, access %#x", attr.min_rnr_timer, attr.qp_access_flags);
        attr = values_for(qp);
    }
    attr.qp_state = IBV_QPS_RTR;
    attr.cur_qp_state = IBV_QPS_RESET;
    check(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE) != 0 && state_of_qp(qp) == IBV_QPS_RTS,
          "a wrong current state is refused", "the state is %s", name_of_state(state_of_qp(qp)));
    check_errno(step_qp(qp, IBV_QPS_ERR, 0), 0, "RTS to ERR");
    check_number(state_of_qp(qp), IBV_QPS_ERR, "it is in ERR");
    check_no_way(qp, IBV_QPS_ERR);
    check_errno(step_qp(qp, IBV_QPS_RESET, 0), 0, "ERR to RESET");
    check_errno(drive_qp(qp, IBV_QPS_RTS), 0, "and to RTS once more");
    check_errno(step_qp(qp, IBV_QPS_RESET, 0), 0, "RTS to RESET");
    check_number(state_of_qp(qp), IBV_QPS_RESET, "it is in RESET");
}

static void check_type(const struct world* world, enum ibv_qp_type type)
{
    char group[32];
    snprintf(group, sizeof(group), "states: %s", name_of_type(type));
    check_group(group);
    struct ibv_qp* qp = qp_in_state(world, type, IBV_QPS_RESET);
    if (qp == NULL) {
        return;
    }
    check(qp->qp_num != 0 && qp->qp_num < 1U << 24, "its number", "%#x", qp->qp_num);
    check_number(state_of_qp(qp), IBV_QPS_RESET, "it begins in RESET");
    for (enum ibv_qp_state to = IBV_QPS_INIT; to <= IBV_QPS_RTS; ++to) {
        check_no_way(qp, to - 1);
        check_masks(qp, to);
        char name[48];
        snprintf(name, sizeof(name), "%s to %s", name_of_state(to - 1), name_of_state(to));
        check_errno(step_qp(qp, to, 0), 0, name);
        check_number(state_of_qp(qp), to, "it is there");
        if (to == IBV_QPS_INIT) {
            const int port = type == IBV_QPT_RAW_PACKET ? IBV_QP_PORT : 0;    // it has nothing to change there
            check_errno(step_qp(qp, IBV_QPS_INIT, port), 0, "INIT to INIT");
            check_posting(qp, true);
        }
    }
    check_values(qp);
    check_posting(qp, false);
    check_rest(qp);
    check_errno(ibv_destroy_qp(qp), 0, "ibv_destroy_qp");
}

void check_states(void)
{
    struct world world;
    if (!open_world(&world)) {
        return;
    }
    static const enum ibv_qp_type types[] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_RAW_PACKET};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); ++i) {
        check_type(&world, types[i]);
    }
    check_group("states");
    struct ibv_qp* first = create_qp(&world, IBV_QPT_RC);
    struct ibv_qp* second = create_qp(&world, IBV_QPT_UD);
    check(first != NULL && second != NULL && first->qp_num != second->qp_num, "numbers differ", "they do not");
    if (first != NULL) {
        struct ibv_qp_attr attr = values_for(first);
        attr.qp_state = IBV_QPS_INIT;
        attr.port_num = 9;
        check_errno(ibv_modify_qp(first, &attr, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS),
                    EINVAL, "a port that is not there is refused");
        check_errno(ibv_destroy_qp(first), 0, "the first goes");
    }
    if (second != NULL) {
        check_errno(ibv_destroy_qp(second), 0, "the second goes");
    }
    close_world(&world);
}
