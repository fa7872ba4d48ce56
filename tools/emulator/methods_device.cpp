// What a program asks of the device as a whole: contexts, capabilities, ports, GIDs, event descriptors.
#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <optional>

#include <endian.h>
#include <infiniband/verbs.h>
#include <net/if.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/mlx5-abi.h>
#include <rdma/mlx5_user_ioctl_cmds.h>

#include "tools/emulator/link.h"
#include "tools/emulator/methods.h"

namespace rdmaqos::emulator {
namespace {

constexpr std::uint64_t kFirmwareVersion = (22ULL << 32) | (35ULL << 16) | 1012;
constexpr std::uint32_t kMaxPkeys = 128;
constexpr std::uint32_t kGidTable = 255;

// Dynamic doorbell registers only, so that contexts can be imported.
mlx5_ib_alloc_ucontext_resp context_answer(const Device& device)
{
    mlx5_ib_alloc_ucontext_resp answer{};
    answer.qp_tab_size = 1U << 18;
    answer.bf_reg_size = 512;
    answer.tot_bfregs = 0;
    answer.cache_line_size = 64;
    answer.max_sq_desc_sz = 1024;
    answer.max_rq_desc_sz = 512;
    answer.max_send_wqebb = 32768;
    answer.max_recv_wr = 32768;
    answer.max_srq_recv_wr = 32767;
    answer.num_ports = static_cast<std::uint16_t>(device.ports().size());
    answer.response_length = sizeof(answer);
    answer.cqe_version = 1;
    answer.cmds_supp_uhw = MLX5_USER_CMDS_SUPP_UHW_QUERY_DEVICE | MLX5_USER_CMDS_SUPP_UHW_CREATE_AH;
    answer.eth_min_inline = MLX5_USER_INLINE_MODE_NONE;
    answer.log_uar_size = 12;
    answer.num_uars_per_page = 1;
    answer.num_dyn_bfregs = 1024;
    return answer;
}

void get_context(Context& context)
{
    const auto request = context.call.in_as<mlx5_ib_alloc_ucontext_req_v2>(UVERBS_ATTR_UHW_IN, 8);
    const bool devx = (request.flags & MLX5_IB_ALLOC_UCTX_DEVX) != 0;
    if ((request.flags & ~static_cast<std::uint32_t>(MLX5_IB_ALLOC_UCTX_DEVX)) != 0) {
        throw Failure(EOPNOTSUPP);
    }
    context.file.make_context(devx);
    context.call.note("devx", devx);
    context.call.out_as(UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, std::uint32_t{2});
    context.call.out_as(UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, std::uint64_t{IB_UVERBS_CORE_SUPPORT_OPTIONAL_MR_ACCESS});
    context.call.out_as(UVERBS_ATTR_UHW_OUT, context_answer(context.device));
}

void query_context(Context& context)
{
    context.call.out_as(UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS, std::uint32_t{2});
    context.call.out_as(UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT,
                        std::uint64_t{IB_UVERBS_CORE_SUPPORT_OPTIONAL_MR_ACCESS});
    context.call.out_as(MLX5_IB_ATTR_QUERY_CONTEXT_RESP_UCTX, context_answer(context.device));
}

const SimulatedDevice& port_of(const Context& context, std::uint64_t port)
{
    const auto& ports = context.device.ports();
    if (port == 0 || port > ports.size()) {
        throw Failure(EINVAL);
    }
    return ports[port - 1];
}

std::uint8_t mtu_number(std::uint32_t bytes)
{
    return static_cast<std::uint8_t>(std::bit_width(bytes) - 8);    // 256 is 1, 4096 is 5
}

void query_port(Context& context)
{
    const auto number = context.call.value(UVERBS_ATTR_QUERY_PORT_PORT_NUM);
    const SimulatedDevice& port = port_of(context, number);
    context.call.note("port", number);
    const bool up = context.device.port_is_up(static_cast<std::uint32_t>(number));
    const LinkEncoding link = encode_link(context.device.link_speed(static_cast<std::uint32_t>(number)));
    ib_uverbs_query_port_resp_ex answer{};
    auto& basic = answer.legacy_resp;
    basic.port_cap_flags = 0x04010000;
    basic.max_msg_sz = 1U << 30;
    basic.gid_tbl_len = kGidTable;
    basic.pkey_tbl_len = port.infiniband ? static_cast<std::uint16_t>(kMaxPkeys) : std::uint16_t{1};
    basic.lid = context.device.lid(static_cast<std::uint32_t>(number));
    basic.sm_lid = port.infiniband ? std::uint16_t{1} : std::uint16_t{0};
    basic.state = up ? 4 : 1;
    basic.max_mtu = mtu_number(4096);
    basic.active_mtu = mtu_number(port.mtu);
    basic.max_vl_num = port.infiniband ? 4 : 0;
    basic.subnet_timeout = port.infiniband ? 18 : 0;
    basic.active_width = link.width;
    basic.active_speed = link.speed;
    basic.phys_state = up ? 5 : 3;
    basic.link_layer = port.infiniband ? 1 : 2;
    basic.flags = port.infiniband ? 0 : 1;    // the GRH is required on Ethernet
    context.call.out_as(UVERBS_ATTR_QUERY_PORT_RESP, answer);
}

ib_uverbs_gid_entry gid_entry(const SimulatedDevice& port, std::uint32_t port_number, std::uint32_t index)
{
    ib_uverbs_gid_entry entry{};
    static_assert(sizeof(entry.gid) == sizeof(Gid::bytes));
    std::memcpy(entry.gid, port.gids[index].bytes.data(), sizeof(entry.gid));
    entry.gid_index = index;
    entry.port_num = port_number;
    entry.gid_type = port.infiniband ? 0 : 2;    // RoCE v2
    entry.netdev_ifindex = port.netdev.empty() ? 0 : if_nametoindex(port.netdev.c_str());
    return entry;
}

void query_gid_entry(Context& context)
{
    Call& call = context.call;
    const auto number = call.value(UVERBS_ATTR_QUERY_GID_ENTRY_PORT);
    const SimulatedDevice& port = port_of(context, number);
    const auto index = call.value(UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX);
    if (call.value(UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS) != 0 || index >= kGidTable) {
        throw Failure(EINVAL);
    }
    if (index >= port.gids.size()) {
        throw Failure(ENODATA);
    }
    call.out_as(UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY,
                gid_entry(port, static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(index)));
}

void query_gid_table(Context& context)
{
    Call& call = context.call;
    const auto size = call.value(UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE);
    if (size < sizeof(ib_uverbs_gid_entry) || size > 4096 || call.value(UVERBS_ATTR_QUERY_GID_TABLE_FLAGS) != 0) {
        throw Failure(EINVAL);
    }
    std::vector<std::uint8_t> table;
    std::uint64_t count = 0;
    std::uint32_t number = 0;
    for (const auto& port : context.device.ports()) {
        ++number;
        for (std::uint32_t index = 0; index < port.gids.size(); ++index, ++count) {
            const auto entry = gid_entry(port, number, index);
            table.resize(table.size() + size);
            std::memcpy(&table[table.size() - size], &entry, sizeof(entry));
        }
    }
    if (call.out_length(UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES) < table.size()) {
        throw Failure(EINVAL);
    }
    call.out(UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, table);
    call.out_as(UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, count);
}

// The types that the kernel has; an object that is not played is never there.
std::optional<ObjectType> type_of_object(std::uint64_t object)
{
    switch (object) {
    case UVERBS_OBJECT_PD:
        return ObjectType::ProtectionDomain;
    case UVERBS_OBJECT_CQ:
        return ObjectType::CompletionQueue;
    case UVERBS_OBJECT_QP:
        return ObjectType::QueuePair;
    case UVERBS_OBJECT_SRQ:
        return ObjectType::SharedReceiveQueue;
    case UVERBS_OBJECT_AH:
        return ObjectType::AddressHandle;
    case UVERBS_OBJECT_MR:
        return ObjectType::MemoryRegion;
    case MLX5_IB_OBJECT_UAR:
        return ObjectType::Uar;
    case MLX5_IB_OBJECT_DEVX_OBJ:
        return ObjectType::DevxObject;
    case MLX5_IB_OBJECT_DEVX_UMEM:
        return ObjectType::DevxMemory;
    case MLX5_IB_OBJECT_PP:
        return ObjectType::PacingEntry;
    default:
        return std::nullopt;
    }
}

// The handles of one type, the newest first, as many as there is room for.
void info_handles(Context& context)
{
    Call& call = context.call;
    const auto kind = call.in(UVERBS_ATTR_INFO_OBJECT_ID);
    const std::size_t room = call.out_length(UVERBS_ATTR_INFO_HANDLES_LIST);
    const std::uint64_t object = call.value(UVERBS_ATTR_INFO_OBJECT_ID);
    const bool total_is_wrong = call.has(UVERBS_ATTR_INFO_TOTAL_HANDLES) &&
                                call.out_length(UVERBS_ATTR_INFO_TOTAL_HANDLES) != sizeof(std::uint32_t);
    if (kind.size() != sizeof(object) || room == 0 || room % sizeof(std::uint32_t) != 0 || total_is_wrong ||
        object > UINT32_MAX) {
        throw Failure(EINVAL);
    }
    const bool is_drivers = object >= MLX5_IB_OBJECT_DEVX && object <= MLX5_IB_OBJECT_UAR;
    if ((object > UVERBS_OBJECT_ASYNC_EVENT && !is_drivers) || !call.has(UVERBS_ATTR_INFO_TOTAL_HANDLES)) {
        throw Failure(ENOENT);
    }
    auto objects = context.file.objects();
    std::erase_if(objects, [type = type_of_object(object)](const auto& each) { return each->type != type; });
    std::sort(objects.begin(), objects.end(), [](const auto& one, const auto& other) { return one->age > other->age; });
    objects.resize(std::min(objects.size(), room / sizeof(std::uint32_t)));
    std::vector<std::uint8_t> list(objects.size() * sizeof(std::uint32_t));
    for (std::size_t at = 0; at < objects.size(); ++at) {
        std::memcpy(&list[at * sizeof(std::uint32_t)], &objects[at]->handle, sizeof(std::uint32_t));
    }
    call.note("object", object);
    if (!list.empty()) {
        call.out(UVERBS_ATTR_INFO_HANDLES_LIST, list);
    }
    call.out_as(UVERBS_ATTR_INFO_TOTAL_HANDLES, static_cast<std::uint32_t>(objects.size()));
}

void open_events(Context& context)
{
    const UniqueFd events = context.file.open_events(context.call.caller().pid);
    context.call.out_descriptor(UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE, events);
}

// ---- the old commands ----

// A ConnectX-6 Dx, as ibv_devinfo -v shows one, without what is not played: programs look here before they try.
// Missing are XRC, memory windows and what invalidates them, checksums, flow steering, multicast, migration to another
// path, and below work queues, RSS, segmentation, tag matching, device memory, moderated completions.
ib_uverbs_query_device_resp device_attributes(const Device& device)
{
    const auto& port = device.ports().front();
    ib_uverbs_query_device_resp answer{};
    answer.fw_ver = kFirmwareVersion;
    answer.node_guid = htobe64(port.node_guid.value);
    answer.sys_image_guid = htobe64(port.node_guid.value);
    answer.max_mr_size = UINT64_MAX;
    answer.page_size_cap = 0xfffffffffffff000;
    answer.vendor_id = 0x2c9;
    answer.vendor_part_id = 4125;
    answer.max_qp = 131072;
    answer.max_qp_wr = 32768;
    answer.device_cap_flags = IBV_DEVICE_BAD_PKEY_CNTR | IBV_DEVICE_BAD_QKEY_CNTR | IBV_DEVICE_PORT_ACTIVE_EVENT |
                              IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_RC_RNR_NAK_GEN;
    answer.max_sge = 30;
    answer.max_sge_rd = 30;
    answer.max_cq = 16777216;
    answer.max_cqe = 4194303;
    answer.max_mr = 16777216;
    answer.max_pd = 8388608;
    answer.max_qp_rd_atom = 16;
    answer.max_res_rd_atom = 2097152;
    answer.max_qp_init_rd_atom = 16;
    answer.atomic_cap = 1;
    answer.max_ah = INT32_MAX;
    answer.max_srq = 8388608;
    answer.max_srq_wr = 32767;
    answer.max_srq_sge = 31;
    answer.max_pkeys = static_cast<std::uint16_t>(kMaxPkeys);
    answer.local_ca_ack_delay = 16;
    answer.phys_port_cnt = static_cast<std::uint8_t>(device.ports().size());
    return answer;
}

void query_device(Context& context)
{
    context.call.out_as(kCoreOut, device_attributes(context.device));
}

std::uint32_t type_bit(QueuePairType type)
{
    switch (type) {
    case QueuePairType::Rc:
        return 1U << IB_UVERBS_QPT_RC;
    case QueuePairType::Uc:
        return 1U << IB_UVERBS_QPT_UC;
    case QueuePairType::Ud:
        return 1U << IB_UVERBS_QPT_UD;
    case QueuePairType::RawPacket:
        return 1U << IB_UVERBS_QPT_RAW_PACKET;
    case QueuePairType::Devx:
        break;
    }
    return 0;
}

std::uint32_t kbps_of(const std::optional<Bandwidth>& rate)
{
    return rate ? static_cast<std::uint32_t>(std::min<std::uint64_t>(rate->kbps(), UINT32_MAX)) : 0;
}

mlx5_ib_query_device_resp vendor_attributes(const Device& device)
{
    mlx5_ib_query_device_resp answer{};
    answer.response_length = sizeof(answer);
    const PacingCapabilities& pacing = device.capabilities().pacing;
    for (const QueuePairType type : pacing.supported_types) {
        answer.packet_pacing_caps.supported_qpts |= type_bit(type);
    }
    answer.packet_pacing_caps.qp_rate_limit_min = kbps_of(pacing.min_rate);
    answer.packet_pacing_caps.qp_rate_limit_max = kbps_of(pacing.max_rate);
    answer.packet_pacing_caps.cap_flags = pacing.burst ? MLX5_IB_PP_SUPPORT_BURST : 0;
    return answer;
}

void query_device_ex(Context& context)
{
    ib_uverbs_ex_query_device_resp answer{};
    answer.base = device_attributes(context.device);
    answer.response_length = static_cast<std::uint32_t>(std::min(sizeof(answer), context.call.out_length(kCoreOut)));
    answer.odp_caps.general_caps = 1;
    answer.odp_caps.per_transport_caps.rc_odp_caps = 0x1f;
    answer.odp_caps.per_transport_caps.ud_odp_caps = 0x1;
    answer.timestamp_mask = 0x7fffffffffffffff;
    answer.hca_core_clock = 1000000;
    answer.device_cap_flags_ex = answer.base.device_cap_flags;
    context.call.out_as(kCoreOut, answer);
    context.call.out_as(UVERBS_ATTR_UHW_OUT, vendor_attributes(context.device));
}

}    // namespace

std::vector<Method> device_methods()
{
    return {
        {UVERBS_OBJECT_DEVICE,
         UVERBS_METHOD_GET_CONTEXT,
         "device.get-context",
         {UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, UVERBS_ATTR_UHW_IN,
          UVERBS_ATTR_UHW_OUT},
         {},
         get_context,
         false},
        {UVERBS_OBJECT_DEVICE,
         UVERBS_METHOD_QUERY_CONTEXT,
         "device.query-context",
         {UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS, UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT,
          MLX5_IB_ATTR_QUERY_CONTEXT_RESP_UCTX},
         {},
         query_context},
        {UVERBS_OBJECT_DEVICE,
         UVERBS_METHOD_QUERY_PORT,
         "device.query-port",
         {UVERBS_ATTR_QUERY_PORT_PORT_NUM, UVERBS_ATTR_QUERY_PORT_RESP},
         {},
         query_port},
        {UVERBS_OBJECT_DEVICE,
         UVERBS_METHOD_QUERY_GID_TABLE,
         "device.query-gid-table",
         {UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE, UVERBS_ATTR_QUERY_GID_TABLE_FLAGS,
          UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES},
         {},
         query_gid_table},
        {UVERBS_OBJECT_DEVICE,
         UVERBS_METHOD_QUERY_GID_ENTRY,
         "device.query-gid-entry",
         {UVERBS_ATTR_QUERY_GID_ENTRY_PORT, UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX, UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS,
          UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY},
         {},
         query_gid_entry},
        {UVERBS_OBJECT_DEVICE,
         UVERBS_METHOD_INFO_HANDLES,
         "device.info-handles",
         {UVERBS_ATTR_INFO_OBJECT_ID, UVERBS_ATTR_INFO_TOTAL_HANDLES, UVERBS_ATTR_INFO_HANDLES_LIST},
         {},
         info_handles,
         false},
        {UVERBS_OBJECT_ASYNC_EVENT,
         UVERBS_METHOD_ASYNC_EVENT_ALLOC,
         "async-event.alloc",
         {UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE},
         {},
         open_events},
    };
}

std::vector<WriteCommand> device_commands()
{
    return {
        {IB_USER_VERBS_CMD_QUERY_DEVICE, "query-device", sizeof(ib_uverbs_query_device),
         sizeof(ib_uverbs_query_device_resp), query_device},
        {IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_QUERY_DEVICE, "query-device-ex",
         sizeof(ib_uverbs_ex_query_device), sizeof(ib_uverbs_query_device_resp) + 8, query_device_ex},
    };
}

}    // namespace rdmaqos::emulator
