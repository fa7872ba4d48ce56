// Protection domains, memory, completion and shared receive queues, address handles; thread and parent domains.
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "tests/emulator/clients/every_call.h"

static char memory[1 << 16];

static void check_memory(const struct world* world)
{
    const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
    struct ibv_mr* mr = ibv_reg_mr(world->pd, memory, sizeof(memory), access);
    if (!check_errno(ERRNO_OF_POINTER(mr), 0, "ibv_reg_mr")) {
        return;
    }
    struct ibv_mr* second = ibv_reg_mr(world->pd, memory, 4096, access);
    check(second != NULL && second->lkey != mr->lkey && second->rkey != mr->rkey, "regions have keys of their own",
          "%#x twice", mr->lkey);
    struct ibv_mr* wrong = ibv_reg_mr(world->pd, memory, 4096, IBV_ACCESS_REMOTE_WRITE);
    check(wrong == NULL && errno == EINVAL, "remote write without local write is refused", "%s", strerror(errno));
    check_errno(ibv_dealloc_pd(world->pd), EBUSY, "a PD in use stays");
    if (second != NULL) {
        check_errno(ibv_dereg_mr(second), 0, "ibv_dereg_mr");
    }
    check_errno(ibv_dereg_mr(mr), 0, "the first region goes");
}

static void check_completion(const struct world* world)
{
    struct ibv_comp_channel* channel = ibv_create_comp_channel(world->context);
    if (!check_errno(ERRNO_OF_POINTER(channel), 0, "ibv_create_comp_channel")) {
        return;
    }
    struct ibv_cq* cq = ibv_create_cq(world->context, 100, &channel, channel, 0);
    if (check_errno(ERRNO_OF_POINTER(cq), 0, "ibv_create_cq")) {
        check(cq->cqe >= 100, "its size", "%d", cq->cqe);
        check_errno(ibv_req_notify_cq(cq, 0), 0, "ibv_req_notify_cq");
        struct ibv_wc completion;
        check_number(ibv_poll_cq(cq, 1, &completion), 0, "nothing completes");
        fcntl(channel->fd, F_SETFL, fcntl(channel->fd, F_GETFL) | O_NONBLOCK);
        struct ibv_cq* of = NULL;
        void* cookie = NULL;
        check(ibv_get_cq_event(channel, &of, &cookie) != 0 && errno == EAGAIN, "no completion event", "%s",
              strerror(errno));
        check_errno(ibv_destroy_comp_channel(channel), EBUSY, "a channel in use stays");
        check_errno(ibv_destroy_cq(cq), 0, "ibv_destroy_cq");
    }
    check_errno(ibv_destroy_comp_channel(channel), 0, "ibv_destroy_comp_channel");

    struct ibv_cq_init_attr_ex attr = {
        .cqe = 16,
        .wc_flags = IBV_WC_STANDARD_FLAGS,
        .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
        .flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED,
    };
    struct ibv_cq_ex* extended = ibv_create_cq_ex(world->context, &attr);
    if (check_errno(ERRNO_OF_POINTER(extended), 0, "ibv_create_cq_ex for one thread")) {
        struct ibv_poll_cq_attr poll = {0};
        check_errno(ibv_start_poll(extended, &poll), ENOENT, "it is empty");
        check_errno(ibv_destroy_cq(ibv_cq_ex_to_cq(extended)), 0, "it goes");
    }
    check(ibv_create_cq(world->context, 16, NULL, NULL, world->context->num_comp_vectors) == NULL,
          "a completion vector that is not there is refused", "created");
}

static void check_shared_queue(const struct world* world)
{
    struct ibv_srq_init_attr init = {.attr = {.max_wr = 32, .max_sge = 1}};
    struct ibv_srq* srq = ibv_create_srq(world->pd, &init);
    if (!check_errno(ERRNO_OF_POINTER(srq), 0, "ibv_create_srq")) {
        return;
    }
    struct ibv_recv_wr work = {.wr_id = 1};
    struct ibv_recv_wr* bad = NULL;
    for (int posted = 0; posted < 5; ++posted) {    // fewer, and the limit is reached at once
        check_errno(ibv_post_srq_recv(srq, &work, &bad), 0, "ibv_post_srq_recv");
    }
    struct ibv_srq_attr attr = {.srq_limit = 5};
    check_errno(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0, "ibv_modify_srq");
    memset(&attr, 0, sizeof(attr));
    check_errno(ibv_query_srq(srq, &attr), 0, "ibv_query_srq");
    check_number(attr.srq_limit, 5, "its limit");

    struct ibv_qp_init_attr with = {
        .send_cq = world->cq,
        .recv_cq = world->cq,
        .srq = srq,
        .cap = {.max_send_wr = 4, .max_send_sge = 1},
        .qp_type = IBV_QPT_RC,
    };
    struct ibv_qp* qp = ibv_create_qp(world->pd, &with);
    if (check_errno(ERRNO_OF_POINTER(qp), 0, "a queue pair with it")) {
        check_errno(ibv_destroy_srq(srq), EBUSY, "in use it stays");
        check_errno(ibv_destroy_qp(qp), 0, "the queue pair goes");
    }
    check_errno(ibv_destroy_srq(srq), 0, "ibv_destroy_srq");
}

static void check_address(const struct world* world)
{
    struct ibv_ah_attr attr = {.is_global = 1, .port_num = 1, .grh = {.hop_limit = 1}};
    check_errno(ibv_query_gid(world->context, 1, 0, &attr.grh.dgid) == 0 ? 0 : errno, 0, "an address");
    struct ibv_ah* ah = ibv_create_ah(world->pd, &attr);
    if (check_errno(ERRNO_OF_POINTER(ah), 0, "ibv_create_ah")) {
        check_errno(ibv_destroy_ah(ah), 0, "ibv_destroy_ah");
    }
}

void check_objects(void)
{
    struct world world;
    if (!open_world(&world)) {
        return;
    }
    check_memory(&world);
    check_completion(&world);
    check_shared_queue(&world);
    check_address(&world);
    struct ibv_qp* qp = create_qp(&world, IBV_QPT_RC);
    if (check_errno(ERRNO_OF_POINTER(qp), 0, "ibv_create_qp")) {
        check_errno(ibv_destroy_cq(world.cq), EBUSY, "a CQ in use stays");
        check_errno(ibv_destroy_qp(qp), 0, "ibv_destroy_qp");
    }
    close_world(&world);
}

static void check_in_domain(const struct world* world, struct ibv_pd* domain)
{
    struct ibv_cq_init_attr_ex attr = {
        .cqe = 16,
        .wc_flags = IBV_WC_STANDARD_FLAGS,
        .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
        .parent_domain = domain,
    };
    struct ibv_cq_ex* cq = ibv_create_cq_ex(world->context, &attr);
    check_errno(ERRNO_OF_POINTER(cq), 0, "a CQ in the parent domain");
    struct world inside = {world->context, domain, cq != NULL ? ibv_cq_ex_to_cq(cq) : world->cq};
    struct ibv_qp* qp = qp_in_state(&inside, IBV_QPT_RC, IBV_QPS_RTS);
    if (qp != NULL) {
        check(ibv_dealloc_pd(domain) != 0, "a parent domain in use stays", "went");
        check_errno(ibv_destroy_qp(qp), 0, "its queue pair goes");
    }
    struct ibv_mr* mr = ibv_reg_mr(domain, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
    if (check_errno(ERRNO_OF_POINTER(mr), 0, "memory in the parent domain")) {
        check_errno(ibv_dereg_mr(mr), 0, "it goes");
    }
    if (cq != NULL) {
        check_errno(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0, "its CQ goes");
    }
}

void check_domains(void)
{
    struct world world;
    if (!open_world(&world)) {
        return;
    }
    struct ibv_td_init_attr thread_attr = {0};
    struct ibv_td* thread = ibv_alloc_td(world.context, &thread_attr);
    check_errno(ERRNO_OF_POINTER(thread), 0, "ibv_alloc_td");
    struct ibv_parent_domain_init_attr attr = {.pd = world.pd, .td = thread};
    struct ibv_pd* domain = ibv_alloc_parent_domain(world.context, &attr);
    if (check_errno(ERRNO_OF_POINTER(domain), 0, "ibv_alloc_parent_domain")) {
        check_in_domain(&world, domain);
        check_errno(ibv_dealloc_td(thread), EBUSY, "a thread domain in use stays");
        check_errno(ibv_dealloc_pd(world.pd), EBUSY, "a PD in use stays");
        check_errno(ibv_dealloc_pd(domain), 0, "the parent domain goes");
    }
    if (thread != NULL) {
        check_errno(ibv_dealloc_td(thread), 0, "ibv_dealloc_td");
    }
    close_world(&world);
}
