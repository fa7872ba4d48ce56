// The device: opening, asking, importing.
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "tests/emulator/clients/every_call.h"

// Character devices of uverbs have this major number.
enum { UVERBS_MAJOR = 231 };

static void check_list(void)
{
    int count = 0;
    struct ibv_device** devices = ibv_get_device_list(&count);
    if (!check(devices != NULL && count > 0, "ibv_get_device_list", "%s", strerror(errno))) {
        return;
    }
    for (int i = 0; i < count; ++i) {
        check(mlx5dv_is_supported(devices[i]), "mlx5dv_is_supported", "%s is none", ibv_get_device_name(devices[i]));
        check_number(devices[i]->node_type, IBV_NODE_CA, "node type");
        check(ibv_get_device_guid(devices[i]) != 0, "ibv_get_device_guid", "0");
    }
    ibv_free_device_list(devices);
}

static void check_attributes(struct ibv_context* context)
{
    struct ibv_device_attr attr;
    memset(&attr, 0, sizeof(attr));
    check_errno(ibv_query_device(context, &attr), 0, "ibv_query_device");
    check(attr.fw_ver[0] != '\0', "firmware version", "empty");
    check(attr.max_qp > 0 && attr.max_cq > 0 && attr.max_mr > 0 && attr.max_pd > 0 && attr.max_srq > 0,
          "numbers of objects", "%d, %d, %d, %d, %d", attr.max_qp, attr.max_cq, attr.max_mr, attr.max_pd, attr.max_srq);
    check(attr.max_qp_wr > 0 && attr.max_sge > 0 && attr.max_cqe > 0, "sizes of objects", "%d, %d, %d", attr.max_qp_wr,
          attr.max_sge, attr.max_cqe);
    check(attr.max_qp_rd_atom > 0 && attr.max_qp_init_rd_atom > 0, "depth of RDMA READs", "%d, %d", attr.max_qp_rd_atom,
          attr.max_qp_init_rd_atom);
    check_number(attr.phys_port_cnt, 1, "ports");
    check_number(attr.vendor_id, 0x2c9, "vendor");
    check(attr.node_guid == ibv_get_device_guid(context->device), "node GUID", "sysfs and the query disagree");

    struct ibv_device_attr_ex more;
    memset(&more, 0, sizeof(more));
    check_errno(ibv_query_device_ex(context, NULL, &more), 0, "ibv_query_device_ex");
    check(memcmp(more.orig_attr.fw_ver, attr.fw_ver, sizeof(attr.fw_ver)) == 0 && more.orig_attr.max_qp == attr.max_qp,
          "both queries agree", "%s and %s, %d and %d", more.orig_attr.fw_ver, attr.fw_ver, more.orig_attr.max_qp,
          attr.max_qp);
    check_number(more.packet_pacing_caps.supported_qpts, 1U << IBV_QPT_RAW_PACKET, "types with packet pacing");

    struct mlx5dv_context direct = {0};
    check_errno(mlx5dv_query_device(context, &direct), 0, "mlx5dv_query_device");
    check((direct.flags & MLX5DV_CONTEXT_FLAGS_CQE_V1) != 0, "CQE version 1", "flags %#llx",
          (unsigned long long)direct.flags);
}

static void check_port(struct ibv_context* context)
{
    struct ibv_port_attr port;
    memset(&port, 0, sizeof(port));
    if (!check_errno(ibv_query_port(context, 1, &port), 0, "ibv_query_port")) {
        return;
    }
    check_number(port.state, IBV_PORT_ACTIVE, "port state");
    check(port.active_mtu >= IBV_MTU_1024 && port.active_mtu <= port.max_mtu, "MTU", "%d of %d", port.active_mtu,
          port.max_mtu);
    check(port.link_layer == IBV_LINK_LAYER_ETHERNET || port.link_layer == IBV_LINK_LAYER_INFINIBAND, "link layer",
          "%d", port.link_layer);
    check(port.active_speed != 0 && port.active_width != 0, "speed and width", "%d, %d", port.active_speed,
          port.active_width);
    struct ibv_port_attr none;
    check_errno(ibv_query_port(context, 2, &none), EINVAL, "port 2 is refused");

    union ibv_gid gid;
    memset(&gid, 0, sizeof(gid));
    check_errno(ibv_query_gid(context, 1, 0, &gid) == 0 ? 0 : errno, 0, "ibv_query_gid");
    check(gid.global.interface_id != 0, "GID 0", "its last half is 0");
    check(ibv_query_gid(context, 1, port.gid_tbl_len, &gid) != 0, "a GID behind the table is refused", "succeeded");
    struct ibv_gid_entry entry;
    memset(&entry, 0, sizeof(entry));
    check_errno(ibv_query_gid_ex(context, 1, 0, &entry, 0), 0, "ibv_query_gid_ex");
    check(entry.port_num == 1 && entry.gid_index == 0, "GID entry", "port %u, index %u", entry.port_num,
          entry.gid_index);
    struct ibv_gid_entry table[16];
    const ssize_t entries = ibv_query_gid_table(context, table, sizeof(table) / sizeof(table[0]), 0);
    check(entries > 0, "ibv_query_gid_table", "%zd", entries);

    __be16 pkey = 0;
    check_errno(ibv_query_pkey(context, 1, 0, &pkey) == 0 ? 0 : errno, 0, "ibv_query_pkey");
    check_number(pkey, 0xffff, "P_Key 0");
    check_number(ibv_get_pkey_index(context, 1, pkey), 0, "ibv_get_pkey_index");

    struct mlx5dv_port direct;
    memset(&direct, 0, sizeof(direct));
    const int answer = mlx5dv_query_port(context, 1, &direct);
    check(answer == 0 || answer == EOPNOTSUPP || answer == EPROTONOSUPPORT, "mlx5dv_query_port", "%s",
          strerror(answer));
}

void check_device(void)
{
    check_list();
    struct world world;
    if (!open_world(&world)) {
        return;
    }
    check(world.context->num_comp_vectors > 0, "completion vectors", "%d", world.context->num_comp_vectors);
    struct stat status;
    check_errno(fstat(world.context->cmd_fd, &status) == 0 ? 0 : errno, 0, "fstat of the file");
    check(S_ISCHR(status.st_mode) && major(status.st_rdev) == UVERBS_MAJOR, "the file is a uverbs device",
          "mode %o, major %u", status.st_mode, major(status.st_rdev));
    check_attributes(world.context);
    check_port(world.context);
    close_world(&world);

    struct ibv_device** devices = ibv_get_device_list(NULL);
    struct mlx5dv_context_attr attr = {.flags = MLX5DV_CONTEXT_FLAGS_DEVX};
    struct ibv_context* context = devices != NULL && devices[0] != NULL ? mlx5dv_open_device(devices[0], &attr) : NULL;
    check(context != NULL, "mlx5dv_open_device", "%s", strerror(errno));
    if (context != NULL) {
        check_errno(ibv_close_device(context), 0, "it closes");
    }
    if (devices != NULL) {
        ibv_free_device_list(devices);
    }
}

static void check_imported(struct world* world, struct ibv_context* import)
{
    struct ibv_device_attr attr;
    check_errno(ibv_query_device(import, &attr), 0, "ibv_query_device");
    struct ibv_pd* pd = ibv_import_pd(import, world->pd->handle);
    check_errno(ERRNO_OF_POINTER(pd), 0, "ibv_import_pd");
    static char memory[4096];
    struct ibv_mr* mr = ibv_reg_mr(world->pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
    if (pd != NULL && check_errno(ERRNO_OF_POINTER(mr), 0, "a memory region")) {
        struct ibv_mr* same = ibv_import_mr(pd, mr->handle);
        check_errno(ERRNO_OF_POINTER(same), 0, "ibv_import_mr");
        if (same != NULL) {
            check(same->lkey == mr->lkey && same->rkey == mr->rkey, "its keys", "%#x and %#x", same->lkey, mr->lkey);
            ibv_unimport_mr(same);
        }
        struct ibv_mr* own = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
        check_errno(ERRNO_OF_POINTER(own), 0, "a region in the imported PD");
        if (own != NULL) {
            check_errno(ibv_dereg_mr(own), 0, "it goes");
        }
    }
    if (mr != NULL) {
        check_errno(ibv_dereg_mr(mr), 0, "the memory region goes");
    }
    if (pd != NULL) {
        ibv_unimport_pd(pd);
    }
    struct ibv_pd* none = ibv_import_pd(import, world->pd->handle + 1000);
    check(none == NULL, "a PD that is not there is refused", "imported");
}

void check_import(void)
{
    struct world world;
    if (!open_world(&world)) {
        return;
    }
    struct ibv_qp* qp = qp_in_state(&world, IBV_QPT_RC, IBV_QPS_RTS);
    struct ibv_context* import = ibv_import_device(fcntl(world.context->cmd_fd, F_DUPFD_CLOEXEC, 0));
    if (check_errno(ERRNO_OF_POINTER(import), 0, "ibv_import_device")) {
        check_imported(&world, import);
        check_errno(ibv_close_device(import), 0, "the import closes");
    }
    if (qp != NULL) {
        check_number(state_of_qp(qp), IBV_QPS_RTS, "the first context's queue pair lives");
        check_errno(ibv_destroy_qp(qp), 0, "and goes");
    }
    const int other = open("/dev/null", O_RDWR | O_CLOEXEC);
    check(ibv_import_device(other) == NULL, "another kind of file is refused", "imported");
    close(other);
    close_world(&world);
}
