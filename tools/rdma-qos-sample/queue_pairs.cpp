#include "tools/rdma-qos-sample/queue_pairs.h"

#include <cerrno>

#include <fmt/format.h>
#include <infiniband/mlx5dv.h>

#include "lib/base/try.h"
#include "lib/client/retry.h"

namespace rdmaqos::sample {
namespace {

constexpr std::uint32_t kQueueKey = 0x11111111;

Error verbs_error(int error, std::string_view what)
{
    return error_from_errno(ErrorCode::DeviceFailed, error, what);
}

// The attributes that each step needs, by type (ibv_modify_qp(3)).
int mask_for(ibv_qp_type type, ibv_qp_state state)
{
    const bool connected = type == IBV_QPT_RC || type == IBV_QPT_UC;
    int mask = IBV_QP_STATE;
    switch (state) {
    case IBV_QPS_INIT:
        mask |= IBV_QP_PORT;
        mask |= type == IBV_QPT_RAW_PACKET ? 0 : IBV_QP_PKEY_INDEX;
        mask |= type == IBV_QPT_UD ? IBV_QP_QKEY : 0;
        mask |= connected ? IBV_QP_ACCESS_FLAGS : 0;
        return mask;
    case IBV_QPS_RTR:
        mask |= connected ? IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN : 0;
        mask |= type == IBV_QPT_RC ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0;
        return mask;
    default:
        mask |= type == IBV_QPT_RAW_PACKET ? 0 : IBV_QP_SQ_PSN;
        mask |= type == IBV_QPT_RC ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC : 0;
        return mask;
    }
}

// A real program has the number and the address of its peer from a handshake, or lets librdmacm do all of this.
Result<ibv_qp_attr> attributes_to_itself(ibv_qp& queue_pair, std::uint8_t port)
{
    ibv_port_attr own{};
    if (const int error = ibv_query_port(queue_pair.context, port, &own); error != 0) {
        return fail(verbs_error(error, "query port"));
    }
    ibv_qp_attr attributes{};
    attributes.port_num = port;
    attributes.qkey = kQueueKey;
    attributes.path_mtu = IBV_MTU_1024;
    attributes.dest_qp_num = queue_pair.qp_num;
    attributes.max_dest_rd_atomic = attributes.max_rd_atomic = 1;
    attributes.min_rnr_timer = 12;    // 0.64 ms
    attributes.timeout = 14;          // 67 ms
    attributes.retry_cnt = attributes.rnr_retry = 7;
    attributes.ah_attr.port_num = port;
    attributes.ah_attr.dlid = own.lid;
    if (own.link_layer == IBV_LINK_LAYER_ETHERNET) {
        attributes.ah_attr.is_global = 1;
        attributes.ah_attr.grh.hop_limit = 1;
        if (ibv_query_gid(queue_pair.context, port, 0, &attributes.ah_attr.grh.dgid) != 0) {
            return fail(verbs_error(errno, "query GID"));
        }
    }
    return attributes;
}

Result<void> bring_to_rts(ibv_qp& queue_pair, std::uint8_t port)
{
    auto attributes = TRY(attributes_to_itself(queue_pair, port));
    for (const ibv_qp_state state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
        attributes.qp_state = state;
        const int mask = mask_for(queue_pair.qp_type, state);
        // A registered queue pair may be busy for a moment because rdma-qosd is moving it: such calls are tried again.
        // Here it is not registered yet, but a program changes states later as well, so the example does it everywhere.
        const int error = client::retry_busy([&] { return ibv_modify_qp(&queue_pair, &attributes, mask); });
        if (error != 0) {
            return fail(verbs_error(
                error, fmt::format("queue pair {} to state {}", queue_pair.qp_num, static_cast<int>(state))));
        }
    }
    return {};
}

Owned<ibv_context> open_by_name(const std::string& name)
{
    Owned<ibv_context> context;
    ibv_device** devices = ibv_get_device_list(nullptr);
    for (ibv_device** each = devices; each != nullptr && *each != nullptr; ++each) {
        if (name == ibv_get_device_name(*each)) {
            context.reset(ibv_open_device(*each));
            break;
        }
    }
    if (devices != nullptr) {
        ibv_free_device_list(devices);
    }
    return context;
}

}    // namespace

void FreeVerbs::operator()(ibv_qp* queue_pair) const
{
    (void)client::retry_busy([&] { return ibv_destroy_qp(queue_pair); });
}

Result<QueuePairs> QueuePairs::make(const std::string& device, std::uint8_t port, ibv_qp_type type, std::size_t count)
{
    constexpr std::uint32_t kDepth = 16;
    QueuePairs made;
    made.context_ = open_by_name(device);
    if (!made.context_) {
        return fail(ErrorCode::UnknownDevice, fmt::format("{} is not there or cannot be opened", device));
    }
    made.domain_.reset(ibv_alloc_pd(made.context_.get()));
    made.completions_.reset(ibv_create_cq(made.context_.get(), kDepth, nullptr, nullptr, 0));
    if (!made.domain_ || !made.completions_) {
        return fail(verbs_error(errno, device));
    }
    ibv_qp_init_attr initial{};
    initial.send_cq = initial.recv_cq = made.completions_.get();
    initial.cap = {kDepth, kDepth, 1, 1, 0};
    initial.qp_type = type;
    while (made.queue_pairs_.size() < count) {
        Owned<ibv_qp> queue_pair(ibv_create_qp(made.domain_.get(), &initial));
        if (!queue_pair) {
            return fail(verbs_error(errno, "create queue pair"));
        }
        TRY(bring_to_rts(*queue_pair, port));
        made.queue_pairs_.push_back(std::move(queue_pair));
    }
    return made;
}

std::vector<ibv_qp*> QueuePairs::all() const
{
    std::vector<ibv_qp*> all;
    for (const auto& each : queue_pairs_) {
        all.push_back(each.get());
    }
    return all;
}

bool QueuePairs::take_event() const
{
    ibv_async_event event{};
    if (ibv_get_async_event(context_.get(), &event) != 0) {
        return false;
    }
    ibv_ack_async_event(&event);
    return event.event_type != IBV_EVENT_DEVICE_FATAL;
}

std::uint32_t send_queue_number(ibv_qp& queue_pair)
{
    mlx5dv_qp details{};
    details.comp_mask = MLX5DV_QP_MASK_RAW_QP_HANDLES;
    mlx5dv_obj object{};
    object.qp = {&queue_pair, &details};
    return mlx5dv_init_obj(&object, MLX5DV_OBJ_QP) == 0 ? details.sqn : 0;
}

}    // namespace rdmaqos::sample
