// What libibverbs is needed for besides domains: the numbers of a queue pair, calls that meet EBUSY, marking of
// connections.
#include <cerrno>

#include <dlfcn.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <unistd.h>

#include "lib/client/request.h"
#include "lib/client/retry.h"
#include "lib/client/verbs.h"

namespace rdmaqos::client {
namespace {

// libmlx5 is there where such a device is, and it is not linked, so that programs without one need not have it.
class Mlx5 {
public:
    Mlx5() : library_(dlopen("libmlx5.so.1", RTLD_LAZY | RTLD_LOCAL)) {}
    ~Mlx5()
    {
        if (library_ != nullptr) {
            dlclose(library_);
        }
    }
    Mlx5(const Mlx5&) = delete;
    Mlx5& operator=(const Mlx5&) = delete;

    [[nodiscard]] bool has(ibv_device* device) const
    {
        const auto is_supported = find<bool (*)(ibv_device*)>("mlx5dv_is_supported");
        return is_supported != nullptr && is_supported(device);
    }
    // What it knows of a queue pair of its own.
    [[nodiscard]] bool ask(ibv_qp& queue_pair, mlx5dv_qp& details) const
    {
        const auto init_object = find<int (*)(mlx5dv_obj*, std::uint64_t)>("mlx5dv_init_obj");
        mlx5dv_obj object{};
        object.qp = {&queue_pair, &details};
        return init_object != nullptr && has(queue_pair.context->device) && init_object(&object, MLX5DV_OBJ_QP) == 0;
    }

private:
    template <typename Function>
    [[nodiscard]] Function find(const char* name) const
    {
        return library_ == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(library_, name));
    }

    void* const library_;
};

// Of the send queue behind a raw packet queue pair, by which an mlx5 device schedules it; 0: unknown.
std::uint32_t send_queue_number(ibv_qp& queue_pair)
{
    mlx5dv_qp details{};
    details.comp_mask = MLX5DV_QP_MASK_RAW_QP_HANDLES;
    return Mlx5().ask(queue_pair, details) ? details.sqn : 0;
}

// The port that a queue pair was brought to INIT with; 0: its device has one port only, or it is not known.
std::uint32_t port_of(ibv_qp& queue_pair)
{
    const std::string second = std::string("/sys/class/infiniband/") + queue_pair.context->device->name + "/ports/2";
    if (access(second.c_str(), F_OK) != 0) {
        return 0;
    }
    ibv_qp_attr attributes{};
    ibv_qp_init_attr initial{};
    const int error = retry_busy([&] { return ibv_query_qp(&queue_pair, &attributes, IBV_QP_PORT, &initial); });
    return error == 0 ? attributes.port_num : 0;
}

}    // namespace

Failure describe(ibv_qp* queue_pair, rdmaqos_queue_pair& into)
{
    if (queue_pair == nullptr) {
        return {EINVAL, "no queue pair was given"};
    }
    switch (queue_pair->qp_type) {
    case IBV_QPT_RC:
        into.type = RDMAQOS_QP_RC;
        break;
    case IBV_QPT_UC:
        into.type = RDMAQOS_QP_UC;
        break;
    case IBV_QPT_UD:
        into.type = RDMAQOS_QP_UD;
        break;
    case IBV_QPT_RAW_PACKET:
        into.type = RDMAQOS_QP_RAW_PACKET;
        into.sq_number = send_queue_number(*queue_pair);
        break;
    default:
        return {EOPNOTSUPP, "a queue pair of this type cannot be attached: only RC, UC, UD and raw packet ones can"};
    }
    into.device = queue_pair->context->device->name;
    into.port = port_of(*queue_pair);
    into.fd = queue_pair->context->cmd_fd;
    into.handle = queue_pair->handle;
    into.number = queue_pair->qp_num;
    return {};
}

Failure QueuePair::describe(ibv_qp* from, QueuePair& into)
{
    rdmaqos_queue_pair described{};
    rdmaqos_queue_pair_init(&described);
    if (Failure failure = client::describe(from, described)) {
        return failure;
    }
    return copy(&described, into);
}

int mark(const rdmaqos_answer& answer, std::uint8_t link_layer, ibv_ah_attr& attributes)
{
    const auto level = answer.number("sl");
    const auto traffic_class = answer.number("traffic-class");
    const bool is_ethernet = link_layer == IBV_LINK_LAYER_ETHERNET;
    const auto* const source = answer.text("sl-source");
    const bool is_of_host = is_ethernet || (source != nullptr && *source == "host");
    int done = 0;
    if (level && is_of_host) {
        attributes.sl = static_cast<std::uint8_t>(*level);
        done |= RDMAQOS_APPLIED_SL;
    } else if (level && attributes.sl != *level) {
        done |= RDMAQOS_SL_DIFFERS;
    }
    if (traffic_class && is_ethernet) {
        attributes.grh.traffic_class = static_cast<std::uint8_t>(*traffic_class);
        done |= RDMAQOS_APPLIED_TRAFFIC_CLASS;
    }
    return done;
}

bool writes_through_doorbell(ibv_qp& queue_pair)
{
    mlx5dv_qp details{};
    return Mlx5().ask(queue_pair, details) && details.bf.size > 0;
}

bool is_mlx5(ibv_device* device)
{
    return Mlx5().has(device);
}

Failure link_layer_of(ibv_qp& queue_pair, std::uint8_t port, std::uint8_t& link_layer)
{
    ibv_port_attr attributes{};
    if (const int error = ibv_query_port(queue_pair.context, port, &attributes); error != 0) {
        return failure_of(error, "the port of the queue pair cannot be queried");
    }
    link_layer = attributes.link_layer;
    return {};
}

}    // namespace rdmaqos::client
