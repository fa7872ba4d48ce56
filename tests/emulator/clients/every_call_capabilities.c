// What the device says that it can do, tried: it can do what it advertises, and advertises what it can do.
#include <errno.h>
#include <string.h>

#include "tests/emulator/clients/every_call.h"

static char memory[4096];

static bool has_memory_windows(const struct world* world)
{
    struct ibv_mw* window = ibv_alloc_mw(world->pd, IBV_MW_TYPE_2);
    return window != NULL && ibv_dealloc_mw(window) == 0;
}

static bool has_xrc(const struct world* world)
{
    struct ibv_xrcd_init_attr init = {
        .comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1, .oflags = 0100};
    struct ibv_xrcd* domain = ibv_open_xrcd(world->context, &init);
    return domain != NULL && ibv_close_xrcd(domain) == 0;
}

static bool has_multicast(const struct world* world)
{
    struct ibv_qp* qp = qp_in_state(world, IBV_QPT_UD, IBV_QPS_RTS);
    if (qp == NULL) {
        return false;
    }
    union ibv_gid group = {.raw = {0xff, 0x12}};
    const bool joins = ibv_attach_mcast(qp, &group, 0xc001) == 0;
    check_errno(ibv_destroy_qp(qp), 0, "the queue pair of the group goes");
    return joins;
}

static bool has_device_memory(const struct world* world)
{
    struct ibv_alloc_dm_attr attr = {.length = 64};
    struct ibv_dm* dm = ibv_alloc_dm(world->context, &attr);
    return dm != NULL && ibv_free_dm(dm) == 0;
}

static bool has_work_queues(const struct world* world)
{
    struct ibv_wq_init_attr init = {.wq_type = IBV_WQT_RQ, .max_wr = 8, .max_sge = 1, .pd = world->pd, .cq = world->cq};
    struct ibv_wq* queue = ibv_create_wq(world->context, &init);
    return queue != NULL && ibv_destroy_wq(queue) == 0;
}

static bool has_tag_matching(const struct world* world)
{
    struct ibv_srq_init_attr_ex init = {
        .attr = {.max_wr = 8, .max_sge = 1},
        .comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM,
        .srq_type = IBV_SRQT_TM,
        .pd = world->pd,
        .cq = world->cq,
        .tm_cap = {.max_num_tags = 8, .max_ops = 8},
    };
    struct ibv_srq* queue = ibv_create_srq_ex(world->context, &init);
    return queue != NULL && ibv_destroy_srq(queue) == 0;
}

static bool has_moderation(const struct world* world)
{
    struct ibv_modify_cq_attr attr = {.attr_mask = IBV_CQ_ATTR_MODERATE, .moderate = {.cq_count = 2, .cq_period = 4}};
    return ibv_modify_cq(world->cq, &attr) == 0;
}

static bool has_flow_steering(const struct world* world)
{
    struct ibv_qp* qp = create_qp(world, IBV_QPT_RAW_PACKET);
    if (qp == NULL) {
        return false;
    }
    struct ibv_flow_attr attr = {.type = IBV_FLOW_ATTR_ALL_DEFAULT, .size = sizeof(attr), .port = 1};
    struct ibv_flow* flow = ibv_create_flow(qp, &attr);
    const bool has = flow != NULL && ibv_destroy_flow(flow) == 0;
    check_errno(ibv_destroy_qp(qp), 0, "the queue pair of the flow goes");
    return has;
}

static bool has_memory_on_demand(const struct world* world)
{
    struct ibv_mr* region = ibv_reg_mr(world->pd, memory, sizeof(memory),
                                       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
    return region != NULL && ibv_dereg_mr(region) == 0;
}

static bool has_shared_receive_queues(const struct world* world)
{
    struct ibv_srq_init_attr init = {.attr = {.max_wr = 8, .max_sge = 1}};
    struct ibv_srq* queue = ibv_create_srq(world->pd, &init);
    return queue != NULL && ibv_destroy_srq(queue) == 0;
}

static bool has_timestamps(const struct world* world)
{
    struct ibv_cq_init_attr_ex init = {.cqe = 8, .wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP};
    struct ibv_cq_ex* queue = ibv_create_cq_ex(world->context, &init);
    return queue != NULL && ibv_destroy_cq(ibv_cq_ex_to_cq(queue)) == 0;
}

static bool has_nothing(const struct world* world)
{
    (void)world;
    return false;    // no work request of it is carried out
}

static void check_all(const struct world* world, const struct ibv_device_attr_ex* attr)
{
    const unsigned flags = attr->orig_attr.device_cap_flags;
    const struct {
        const char* name;
        bool is_advertised;
        bool (*works)(const struct world* world);
    } capabilities[] = {
        {"memory windows", attr->orig_attr.max_mw > 0, has_memory_windows},
        {"memory windows, by their flags",
         (flags & (IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B)) != 0,
         has_memory_windows},
        {"keys that are invalidated", (flags & IBV_DEVICE_MEM_MGT_EXTENSIONS) != 0, has_memory_windows},
        {"XRC", (flags & IBV_DEVICE_XRC) != 0, has_xrc},
        {"XRC on demand", attr->xrc_odp_caps != 0, has_xrc},
        {"multicast", attr->orig_attr.max_mcast_grp > 0, has_multicast},
        {"queue pairs in groups",
         attr->orig_attr.max_mcast_qp_attach > 0 || attr->orig_attr.max_total_mcast_qp_attach > 0, has_multicast},
        {"device memory", attr->max_dm_size > 0, has_device_memory},
        {"work queues", attr->max_wq_type_rq > 0, has_work_queues},
        {"RSS", attr->rss_caps.supported_qpts != 0 || attr->rss_caps.rx_hash_function != 0, has_work_queues},
        {"indirection tables", attr->rss_caps.max_rwq_indirection_tables > 0, has_work_queues},
        {"tag matching", attr->tm_caps.max_num_tags > 0 || attr->tm_caps.flags != 0, has_tag_matching},
        {"moderated completions", attr->cq_mod_caps.max_cq_count > 0, has_moderation},
        {"flow steering", (flags & IBV_DEVICE_MANAGED_FLOW_STEERING) != 0, has_flow_steering},
        {"memory on demand", (attr->odp_caps.general_caps & IBV_ODP_SUPPORT) != 0, has_memory_on_demand},
        {"shared receive queues", attr->orig_attr.max_srq > 0, has_shared_receive_queues},
        {"timestamps", attr->completion_timestamp_mask != 0, has_timestamps},
        {"segmentation", attr->tso_caps.max_tso > 0, has_nothing},
        {"checksums", (flags & (IBV_DEVICE_UD_IP_CSUM | IBV_DEVICE_RC_IP_CSUM)) != 0 || attr->raw_packet_caps != 0,
         has_nothing},
        {"another path", (flags & (IBV_DEVICE_AUTO_PATH_MIG | IBV_DEVICE_CHANGE_PHY_PORT)) != 0, has_nothing},
    };
    for (size_t i = 0; i < sizeof(capabilities) / sizeof(capabilities[0]); ++i) {
        const bool works = capabilities[i].works(world);
        check(works == capabilities[i].is_advertised, capabilities[i].name, "%s, and %s",
              capabilities[i].is_advertised ? "advertised" : "not advertised", works ? "works" : "does not work");
    }
}

void check_advertised(void)
{
    struct world world;
    if (!open_world(&world)) {
        return;
    }
    struct ibv_device_attr_ex attr;
    memset(&attr, 0, sizeof(attr));
    if (check_errno(ibv_query_device_ex(world.context, NULL, &attr), 0, "ibv_query_device_ex")) {
        check_all(&world, &attr);
    }
    close_world(&world);
}
