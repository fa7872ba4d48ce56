// Queue pairs made by verbs: their life, their states, their rates.
#include <algorithm>
#include <bit>
#include <cerrno>
#include <fstream>
#include <string>

#include <infiniband/verbs.h>
#include <rdma/mlx5-abi.h>

#include "tools/emulator/address_path.h"
#include "tools/emulator/datapath/hardware.h"
#include "tools/emulator/methods.h"
#include "tools/emulator/qp_states.h"

namespace rdmaqos::emulator {
namespace {

constexpr std::uint32_t kMaxWr = 32768;
constexpr std::uint32_t kMaxSge = 30;
constexpr std::uint32_t kMaxReadAtomic = 16;
constexpr std::uint16_t kPkeys = 128;
constexpr std::uint32_t kLegacyMask = (IBV_QP_DEST_QPN << 1) - 1;
constexpr std::uint32_t kAllMask = kLegacyMask | IBV_QP_RATE_LIMIT;
constexpr int kNetRaw = 13;    // CAP_NET_RAW

std::optional<QueuePairType> model_type(std::uint64_t verbs_type)
{
    switch (verbs_type) {
    case IB_UVERBS_QPT_RC:
        return QueuePairType::Rc;
    case IB_UVERBS_QPT_UC:
        return QueuePairType::Uc;
    case IB_UVERBS_QPT_UD:
        return QueuePairType::Ud;
    case IB_UVERBS_QPT_RAW_PACKET:
        return QueuePairType::RawPacket;
    default:
        return std::nullopt;    // XRC, DC: not played
    }
}

bool has_capability(pid_t pid, int capability)
{
    std::ifstream status("/proc/" + std::to_string(pid) + "/status");
    std::string word;
    while (status >> word) {
        if (word == "CapEff:") {
            std::uint64_t effective = 0;
            status >> std::hex >> effective;
            return (effective >> capability & 1U) != 0;
        }
    }
    return false;
}

QueuePairData& data_of(Object& queue_pair)
{
    return *std::get<std::unique_ptr<QueuePairData>>(queue_pair.data);
}

void check_cap(const ib_uverbs_qp_cap& cap)
{
    if (cap.max_send_wr > kMaxWr || cap.max_recv_wr > kMaxWr || cap.max_send_sge > kMaxSge ||
        cap.max_recv_sge > kMaxSge || cap.max_inline_data > 1024) {
        throw Failure(EINVAL);
    }
}

// Queries tell the receive queue that there is, which libmlx5 makes larger than it was asked for.
void keep_receive_cap(ib_uverbs_qp_cap& cap, const mlx5_ib_create_qp& vendor)
{
    constexpr std::uint32_t kSegmentBytes = 16;
    constexpr std::uint32_t kLargest = 12;    // of a shift: more than any request has
    if (vendor.rq_wqe_count != 0 && vendor.rq_wqe_shift <= kLargest) {
        const bool has_signature = (vendor.flags & MLX5_QP_FLAG_SIGNATURE) != 0;
        cap.max_recv_wr = vendor.rq_wqe_count;
        cap.max_recv_sge = (1U << vendor.rq_wqe_shift) / kSegmentBytes - (has_signature ? 1 : 0);
    }
}

// What libmlx5 learns of the queues behind a queue pair.
mlx5_ib_create_qp_resp vendor_answer(const QueuePairData& data, std::uint32_t qpn)
{
    mlx5_ib_create_qp_resp answer{};
    if (data.type == QueuePairType::RawPacket) {
        answer.comp_mask = MLX5_IB_CREATE_QP_RESP_MASK_TIRN | MLX5_IB_CREATE_QP_RESP_MASK_TISN |
                           MLX5_IB_CREATE_QP_RESP_MASK_RQN | MLX5_IB_CREATE_QP_RESP_MASK_SQN;
        answer.tirn = qpn;
        answer.tisn = qpn;
        answer.rqn = qpn;
        answer.sqn = qpn;    // the kernel gives a raw packet queue pair the number of its send queue
    }
    return answer;
}

// Where its queues are in the program's memory.
void add_memory(Context& context, Hardware& hardware, Object& queue_pair, QueuePairType type)
{
    Call& call = context.call;
    const auto vendor = call.vendor_in_as<mlx5_ib_create_qp>();
    const auto number_of = [&context](std::uint16_t attribute) {
        const auto object = context.object_or_null(attribute);
        return object ? object->number : 0;
    };
    constexpr std::uint32_t kLargest = 32;    // of a shift
    QueuePairMemory memory;
    memory.number = queue_pair.number;
    memory.type = type;
    memory.owner = {call.caller().pid, call.caller().uid};
    memory.receive_entries = std::has_single_bit(vendor.rq_wqe_count) ? vendor.rq_wqe_count : 0;
    memory.receive_stride = 1U << std::min(vendor.rq_wqe_shift, 12U);
    memory.receive_buffer = vendor.buf_addr;
    memory.send_buffer = type == QueuePairType::RawPacket
                             ? vendor.sq_buf_addr
                             : vendor.buf_addr + (std::uint64_t{vendor.rq_wqe_count} << vendor.rq_wqe_shift % kLargest);
    memory.send_blocks = std::has_single_bit(vendor.sq_wqe_count) ? vendor.sq_wqe_count : 0;
    memory.record = vendor.db_addr;
    memory.receive_skip = (vendor.flags & MLX5_QP_FLAG_SIGNATURE) != 0 ? 16 : 0;
    memory.user_index = vendor.uidx;
    memory.page = vendor.bfreg_index;
    memory.domain = number_of(UVERBS_ATTR_CREATE_QP_PD_HANDLE);
    memory.send_queue = number_of(UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE);
    memory.receive_queue = number_of(UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE);
    memory.shared_receive_queue = number_of(UVERBS_ATTR_CREATE_QP_SRQ_HANDLE);
    memory.event = context.sender_for(queue_pair);
    hardware.add(context.device, std::move(memory));
    queue_pair.on_end = [&hardware, &device = context.device, number = queue_pair.number] {
        hardware.remove_queue_pair(device, number);
    };
}

void create_qp(Context& context)
{
    Call& call = context.call;
    const auto verbs_type = call.value(UVERBS_ATTR_CREATE_QP_TYPE);
    const auto type = model_type(verbs_type);
    if (!type) {
        throw Failure(EOPNOTSUPP);
    }
    auto data = std::make_unique<QueuePairData>();
    data->verbs_type = static_cast<std::uint8_t>(verbs_type);
    data->type = *type;
    data->cap = call.in_as<ib_uverbs_qp_cap>(UVERBS_ATTR_CREATE_QP_CAP);
    data->signal_all = (call.value_or(UVERBS_ATTR_CREATE_QP_FLAGS, 0) & IB_UVERBS_QP_CREATE_SQ_SIG_ALL) != 0;
    check_cap(data->cap);
    if (*type == QueuePairType::RawPacket && !has_capability(call.caller().pid, kNetRaw)) {
        throw Failure(EPERM);
    }
    const std::uint32_t number = context.device.next_queue_pair();
    if (*type == QueuePairType::RawPacket) {
        data->attributes.port_num = 1;
    }

    const auto queue_pair = std::make_shared<Object>(ObjectType::QueuePair, number);
    queue_pair->user_handle = call.value(UVERBS_ATTR_CREATE_QP_USER_HANDLE);
    for (const std::uint16_t used : {UVERBS_ATTR_CREATE_QP_PD_HANDLE, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE,
                                     UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE}) {
        if (auto object = context.object_or_null(used)) {
            queue_pair->uses.push_back(std::move(object));
        }
    }
    const auto answer = vendor_answer(*data, number);
    call.note("type", to_string(*type));
    call.note("qpn", number);
    call.out_as(UVERBS_ATTR_CREATE_QP_RESP_CAP, data->cap);
    keep_receive_cap(data->cap, call.vendor_in_as<mlx5_ib_create_qp>());
    queue_pair->data = std::move(data);
    context.create_queue_pair(number, *type);
    if (Hardware* const hardware = context.device.hardware()) {
        add_memory(context, *hardware, *queue_pair, *type);
    }
    call.out_handle(UVERBS_ATTR_CREATE_QP_HANDLE, context.publish(queue_pair));
    call.out_as(UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, number);
    call.out_as(UVERBS_ATTR_UHW_OUT, answer);
}

void destroy_qp(Context& context)
{
    Object& queue_pair = context.object(UVERBS_ATTR_DESTROY_QP_HANDLE);
    context.call.note("qpn", queue_pair.number);
    context.device.firmware().destroy_queue_pair(queue_pair.number);
    context.call.out_as(UVERBS_ATTR_DESTROY_QP_RESP, ib_uverbs_destroy_qp_resp{context.file.settle_events(queue_pair)});
}

// ---- states ----

QueuePairState state_of(const Context& context, const Object& queue_pair)
{
    const auto record = context.device.firmware().queue_pair(queue_pair.number);
    if (!record) {
        throw Failure(EIO);    // lost in a reset
    }
    return record->state;
}

// And makes it fit.
void check_address(const Context& context, ib_uverbs_qp_dest& dest, std::uint32_t port)
{
    const auto& ports = context.device.ports();
    if (port == 0 || port > ports.size()) {
        throw Failure(EINVAL);
    }
    const SimulatedDevice& at = ports[port - 1];
    if ((!at.infiniband && dest.is_global == 0) || (dest.is_global != 0 && dest.sgid_index >= at.gids.size())) {
        throw Failure(EINVAL);    // on Ethernet the global route is not optional
    }
    if (const int error = fit_address(dest, at.infiniband); error != 0) {
        throw Failure(error);
    }
}

void check_values(const Context& context, ib_uverbs_modify_qp& request)
{
    const std::uint32_t mask = request.attr_mask;
    const auto refuse_if = [](bool wrong) {
        if (wrong) {
            throw Failure(EINVAL);
        }
    };
    refuse_if((mask & IBV_QP_STATE) != 0 && request.qp_state > IBV_QPS_ERR);
    refuse_if((mask & IBV_QP_CUR_STATE) != 0 && request.cur_qp_state > IBV_QPS_ERR);
    refuse_if((mask & IBV_QP_PORT) != 0 && (request.port_num == 0 || request.port_num > context.device.ports().size()));
    refuse_if((mask & IBV_QP_PKEY_INDEX) != 0 && request.pkey_index >= kPkeys);
    refuse_if((mask & IBV_QP_MAX_QP_RD_ATOMIC) != 0 && request.max_rd_atomic > kMaxReadAtomic);
    refuse_if((mask & IBV_QP_MAX_DEST_RD_ATOMIC) != 0 && request.max_dest_rd_atomic > kMaxReadAtomic);
    refuse_if((mask & IBV_QP_PATH_MTU) != 0 && (request.path_mtu < 1 || request.path_mtu > 5));
    if ((mask & IBV_QP_AV) != 0) {
        check_address(context, request.dest, request.dest.port_num);
    }
    if ((mask & IBV_QP_ALT_PATH) != 0) {
        refuse_if(request.alt_port_num == 0 || request.alt_pkey_index >= kPkeys);
        check_address(context, request.alt_dest, request.alt_port_num);
        refuse_if(!context.is_infiniband(request.alt_port_num));    // none migrates on Ethernet
    }
    constexpr std::uint32_t kNumberMask = 0xffffff;
    request.rq_psn &= kNumberMask;
    request.sq_psn &= kNumberMask;
    request.dest_qp_num &= kNumberMask;
}

// The attributes that were set, into those kept for queries.
void keep(ib_uverbs_modify_qp& kept, const ib_uverbs_modify_qp& request)
{
    const auto take = [&](std::uint32_t bit, auto member) {
        if ((request.attr_mask & bit) != 0) {
            kept.*member = request.*member;
        }
    };
    using M = ib_uverbs_modify_qp;
    take(IBV_QP_AV, &M::dest);
    take(IBV_QP_ALT_PATH, &M::alt_dest);
    take(IBV_QP_ALT_PATH, &M::alt_port_num);
    take(IBV_QP_ALT_PATH, &M::alt_timeout);
    take(IBV_QP_ALT_PATH, &M::alt_pkey_index);
    take(IBV_QP_QKEY, &M::qkey);
    take(IBV_QP_RQ_PSN, &M::rq_psn);
    take(IBV_QP_SQ_PSN, &M::sq_psn);
    take(IBV_QP_DEST_QPN, &M::dest_qp_num);
    take(IBV_QP_ACCESS_FLAGS, &M::qp_access_flags);
    take(IBV_QP_PKEY_INDEX, &M::pkey_index);
    take(IBV_QP_PATH_MTU, &M::path_mtu);
    take(IBV_QP_PATH_MIG_STATE, &M::path_mig_state);
    take(IBV_QP_MAX_QP_RD_ATOMIC, &M::max_rd_atomic);
    take(IBV_QP_MAX_DEST_RD_ATOMIC, &M::max_dest_rd_atomic);
    take(IBV_QP_MIN_RNR_TIMER, &M::min_rnr_timer);
    take(IBV_QP_PORT, &M::port_num);
    take(IBV_QP_TIMEOUT, &M::timeout);
    take(IBV_QP_RETRY_CNT, &M::retry_cnt);
    take(IBV_QP_RNR_RETRY, &M::rnr_retry);
}

std::optional<RateLimit> rate_of(Context& context, std::uint32_t kbps)
{
    const auto vendor = context.call.vendor_in_as<mlx5_ib_modify_qp>();
    if (vendor.comp_mask != 0 || vendor.burst_info.reserved != 0) {
        throw Failure(EOPNOTSUPP);
    }
    const auto& burst = vendor.burst_info;
    if (kbps == 0) {
        if (burst.max_burst_sz != 0 || burst.typical_pkt_sz != 0) {
            throw Failure(EINVAL);
        }
        return std::nullopt;
    }
    RateLimit limit{Bandwidth::from_kbps(kbps), {}, {}};
    if (burst.max_burst_sz != 0) {
        limit.max_burst = burst.max_burst_sz;
    }
    if (burst.typical_pkt_sz != 0) {
        limit.typical_packet = burst.typical_pkt_sz;
    }
    return limit;
}

void set_rate(Context& context, const Object& queue_pair, QueuePairType type, std::uint32_t kbps)
{
    const auto limit = rate_of(context, kbps);
    context.call.note("rate-kbps", kbps);
    const auto answer = context.device.firmware().set_rate({context.context(), queue_pair.number, type, limit});
    if (!answer) {
        context.call.note("refusal", answer.error().message);
        throw Failure(answer.error().sys_errno);
    }
}

void modify(Context& context, ib_uverbs_modify_qp request, std::optional<std::uint32_t> rate)
{
    const auto object = context.take(request.qp_handle, ObjectType::QueuePair, Access::Read);
    QueuePairData& data = data_of(*object);
    context.call.note("qpn", object->number);
    const std::lock_guard lock(data.mutex);
    check_values(context, request);
    const QueuePairState now = state_of(context, *object);
    const auto from = (request.attr_mask & IBV_QP_CUR_STATE) != 0 ? static_cast<QueuePairState>(request.cur_qp_state)
                                                                  : now;
    const auto to = (request.attr_mask & IBV_QP_STATE) != 0 ? static_cast<QueuePairState>(request.qp_state) : from;
    context.call.note("from", to_string(from));
    context.call.note("to", to_string(to));
    const auto& paced = context.device.capabilities().pacing.supported_types;
    if (from != now || !transition_is_allowed(data.type, from, to, request.attr_mask, paced.contains(data.type))) {
        throw Failure(EINVAL);
    }
    Firmware& firmware = context.device.firmware();
    if (to != now) {
        firmware.set_queue_pair_state(object->number, to);
    }
    if ((request.attr_mask & IBV_QP_AV) != 0) {
        context.call.note("sl", request.dest.sl);
        context.call.note("traffic-class", request.dest.traffic_class);
    }
    if ((request.attr_mask & IBV_QP_RATE_LIMIT) != 0) {
        try {
            set_rate(context, *object, data.type, rate.value_or(0));
        } catch (const Failure&) {
            firmware.set_queue_pair_state(object->number, now);
            throw;
        }
    }
    // The context is as it was after RESET, too, until the next steps write it again.
    keep(data.attributes, request);
    data.connected = data.connected || to == QueuePairState::Rtr;
    data.port = data.attributes.port_num;
    if (Hardware* const hardware = context.device.hardware()) {
        hardware->modify(context.device, object->number, to, data.attributes);
    }
}

void modify_qp(Context& context)
{
    const auto request = context.call.in_as<ib_uverbs_modify_qp>(kCoreIn);
    if ((request.attr_mask & ~kLegacyMask) != 0) {
        throw Failure(EOPNOTSUPP);
    }
    modify(context, request, std::nullopt);
}

void modify_qp_ex(Context& context)
{
    const auto request = context.call.in_as<ib_uverbs_ex_modify_qp>(kCoreIn);
    if ((request.base.attr_mask & ~kAllMask) != 0) {
        throw Failure(EOPNOTSUPP);
    }
    modify(context, request.base, request.rate_limit);
    ib_uverbs_ex_modify_qp_resp answer{};
    answer.response_length = sizeof(answer);
    context.call.out_as(kCoreOut, answer);
    mlx5_ib_modify_qp_resp vendor{};
    vendor.response_length = sizeof(vendor);
    context.call.out_as(UVERBS_ATTR_UHW_OUT, vendor);
}

// mlx5_ib lets nobody read before it knows how many may.
std::uint32_t access_of(const QueuePairData& data)
{
    const auto& kept = data.attributes;
    return kept.max_dest_rd_atomic > 0 ? kept.qp_access_flags
                                       : kept.qp_access_flags & static_cast<std::uint32_t>(IBV_ACCESS_REMOTE_WRITE);
}

void query_qp(Context& context)
{
    const auto request = context.call.in_as<ib_uverbs_query_qp>(kCoreIn);
    const auto object = context.take(request.qp_handle, ObjectType::QueuePair, Access::Read);
    QueuePairData& data = data_of(*object);
    context.call.note("qpn", object->number);
    const std::lock_guard lock(data.mutex);
    const auto state = static_cast<std::uint8_t>(state_of(context, *object));
    const auto& kept = data.attributes;
    ib_uverbs_query_qp_resp answer{};
    if (has_address(data)) {
        const bool infiniband = context.is_infiniband(kept.port_num);
        answer.dest = reported_address(kept.dest, kept.port_num, infiniband);
        answer.alt_dest = reported_address(kept.alt_dest, kept.alt_port_num, infiniband);
    }
    answer.max_send_wr = data.cap.max_send_wr;
    answer.max_recv_wr = data.cap.max_recv_wr;
    answer.max_send_sge = data.cap.max_send_sge;
    answer.max_recv_sge = data.cap.max_recv_sge;
    answer.max_inline_data = data.cap.max_inline_data;
    answer.qkey = kept.qkey;
    answer.rq_psn = kept.rq_psn;
    answer.sq_psn = kept.sq_psn;
    answer.dest_qp_num = kept.dest_qp_num;
    answer.qp_access_flags = access_of(data);
    answer.pkey_index = kept.pkey_index;
    answer.alt_pkey_index = kept.alt_pkey_index;
    answer.qp_state = state;
    answer.cur_qp_state = state;
    answer.path_mtu = path_mtu_of(data);
    answer.path_mig_state = kept.path_mig_state;
    // The device keeps logarithms, which have no 0.
    const bool raw = data.type == QueuePairType::RawPacket;
    answer.max_rd_atomic = raw ? kept.max_rd_atomic : std::max<std::uint8_t>(kept.max_rd_atomic, 1);
    answer.max_dest_rd_atomic = raw ? kept.max_dest_rd_atomic : std::max<std::uint8_t>(kept.max_dest_rd_atomic, 1);
    answer.min_rnr_timer = kept.min_rnr_timer;
    answer.port_num = kept.port_num;
    answer.timeout = kept.timeout;
    answer.retry_cnt = kept.retry_cnt;
    answer.rnr_retry = kept.rnr_retry;
    answer.alt_port_num = kept.alt_port_num;
    answer.alt_timeout = kept.alt_timeout;
    answer.sq_sig_all = data.signal_all ? 1 : 0;
    context.call.note("state", to_string(static_cast<QueuePairState>(state)));
    context.call.out_as(kCoreOut, answer);
}

// Of an unreliable datagram queue pair. Nothing is sent to groups here, and who joins one should know.
void multicast(Context& context)
{
    const auto request = context.call.in_as<ib_uverbs_attach_mcast>(kCoreIn);
    const auto object = context.take(request.qp_handle, ObjectType::QueuePair, Access::Read);
    if (data_of(*object).type != QueuePairType::Ud || request.gid[0] != 0xff) {
        throw Failure(EINVAL);
    }
    throw Failure(EOPNOTSUPP);
}

}    // namespace

std::vector<Method> queue_pair_methods()
{
    using enum ObjectType;
    return {
        {UVERBS_OBJECT_QP,
         UVERBS_METHOD_QP_CREATE,
         "queue-pair.create",
         {UVERBS_ATTR_CREATE_QP_HANDLE, UVERBS_ATTR_CREATE_QP_XRCD_HANDLE, UVERBS_ATTR_CREATE_QP_IND_TABLE_HANDLE,
          UVERBS_ATTR_CREATE_QP_USER_HANDLE, UVERBS_ATTR_CREATE_QP_CAP, UVERBS_ATTR_CREATE_QP_TYPE,
          UVERBS_ATTR_CREATE_QP_FLAGS, UVERBS_ATTR_CREATE_QP_SOURCE_QPN, UVERBS_ATTR_CREATE_QP_EVENT_FD,
          UVERBS_ATTR_CREATE_QP_RESP_CAP, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, UVERBS_ATTR_UHW_IN, UVERBS_ATTR_UHW_OUT},
         {{UVERBS_ATTR_CREATE_QP_PD_HANDLE, ProtectionDomain},
          {UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, CompletionQueue, Access::Read, true},
          {UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, CompletionQueue, Access::Read, true},
          {UVERBS_ATTR_CREATE_QP_SRQ_HANDLE, SharedReceiveQueue, Access::Read, true}},
         create_qp},
        {UVERBS_OBJECT_QP,
         UVERBS_METHOD_QP_DESTROY,
         "queue-pair.destroy",
         {UVERBS_ATTR_DESTROY_QP_RESP},
         {{UVERBS_ATTR_DESTROY_QP_HANDLE, QueuePair, Access::Destroy}},
         destroy_qp},
    };
}

std::vector<WriteCommand> queue_pair_commands()
{
    return {
        {IB_USER_VERBS_CMD_QUERY_QP, "query-qp", sizeof(ib_uverbs_query_qp), sizeof(ib_uverbs_query_qp_resp), query_qp},
        {IB_USER_VERBS_CMD_MODIFY_QP, "modify-qp", sizeof(ib_uverbs_modify_qp), 0, modify_qp},
        {IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_MODIFY_QP, "modify-qp-ex", sizeof(ib_uverbs_modify_qp),
         sizeof(ib_uverbs_ex_modify_qp_resp), modify_qp_ex},
        {IB_USER_VERBS_CMD_ATTACH_MCAST, "attach-mcast", sizeof(ib_uverbs_attach_mcast), 0, multicast},
        {IB_USER_VERBS_CMD_DETACH_MCAST, "detach-mcast", sizeof(ib_uverbs_attach_mcast), 0, multicast},
    };
}

}    // namespace rdmaqos::emulator
