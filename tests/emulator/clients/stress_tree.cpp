#include "tests/emulator/clients/stress_tree.h"

#include <array>
#include <cerrno>

#include "tests/emulator/clients/prm.h"
#include "tests/emulator/clients/uverbs.h"

namespace stress {
namespace {

std::uint32_t flags_of(bool share, bool max_rate)
{
    return (share ? std::uint32_t{MLX5DV_SCHED_ELEM_ATTR_FLAGS_BW_SHARE} : 0U) |
           (max_rate ? std::uint32_t{MLX5DV_SCHED_ELEM_ATTR_FLAGS_MAX_AVG_BW} : 0U);
}

mlx5dv_sched_attr attributes(const Element& element)
{
    mlx5dv_sched_attr attr{};
    attr.parent = element.parent != nullptr ? element.parent->node : nullptr;
    attr.flags = flags_of(element.share != 0, element.max_rate != 0);
    attr.bw_share = element.share;
    attr.max_avg_bw = element.max_rate;
    return attr;
}

int create_by_hand(ibv_context* context, Element& element)
{
    std::array<std::uint8_t, ELEMENT_IN> in{};
    std::array<std::uint8_t, GENERAL_OUT> out{};
    const prm_element wanted{element.leaf ? std::uint32_t{ELEMENT_QUEUE_GROUP} : std::uint32_t{ELEMENT_TSAR},
                             element.parent != nullptr ? element.parent->id : 0, element.share, element.max_rate};
    prm_create_element(in.data(), &wanted);
    element.object = mlx5dv_devx_obj_create(context, in.data(), in.size(), out.data(), out.size());
    element.id = prm_object_id(out.data());
    return element.object != nullptr ? 0 : errno;
}

}    // namespace

int create(ibv_context* context, Way way, Element& element)
{
    errno = 0;
    if (way == Way::ByHand) {
        return create_by_hand(context, element);
    }
    const mlx5dv_sched_attr attr = attributes(element);
    if (element.leaf) {
        element.group = mlx5dv_sched_leaf_create(context, &attr);
        return element.group != nullptr ? 0 : errno;
    }
    element.node = mlx5dv_sched_node_create(context, &attr);
    return element.node != nullptr ? 0 : errno;
}

int modify(const Element& element, std::optional<std::uint32_t> share, std::optional<std::uint32_t> max_rate)
{
    if (element.object != nullptr) {
        std::array<std::uint8_t, ELEMENT_IN> in{};
        std::array<std::uint8_t, GENERAL_OUT> out{};
        const std::uint32_t select = (share ? std::uint32_t{SELECT_SHARE} : 0) |
                                     (max_rate ? std::uint32_t{SELECT_RATE} : 0);
        prm_modify_element(in.data(), element.id, select, share.value_or(0), max_rate.value_or(0));
        return mlx5dv_devx_obj_modify(element.object, in.data(), in.size(), out.data(), out.size());
    }
    mlx5dv_sched_attr attr{};
    attr.parent = element.parent != nullptr ? element.parent->node : nullptr;
    attr.flags = flags_of(share.has_value(), max_rate.has_value());
    attr.bw_share = share.value_or(0);
    attr.max_avg_bw = max_rate.value_or(0);
    return element.leaf ? mlx5dv_sched_leaf_modify(element.group, &attr)
                        : mlx5dv_sched_node_modify(element.node, &attr);
}

int query(const Element& element, bool& same)
{
    std::array<std::uint8_t, ELEMENT_IN> in{};
    std::array<std::uint8_t, ELEMENT_OUT> out{};
    prm_element_command(in.data(), OP_QUERY_GENERAL_OBJECT, element.id);
    const int failure = mlx5dv_devx_obj_query(element.object, in.data(), GENERAL_OUT, out.data(), out.size());
    const prm_element got = prm_read_element(out.data());
    same = got.type == (element.leaf ? std::uint32_t{ELEMENT_QUEUE_GROUP} : std::uint32_t{ELEMENT_TSAR}) &&
           got.parent == (element.parent != nullptr ? element.parent->id : 0) && got.share == element.share &&
           got.max_rate == element.max_rate;
    return failure;
}

int destroy(const Element& element)
{
    if (element.object != nullptr) {
        return mlx5dv_devx_obj_destroy(element.object);
    }
    return element.leaf ? mlx5dv_sched_leaf_destroy(element.group) : mlx5dv_sched_node_destroy(element.node);
}

int attach(ibv_qp* qp, Way way, const Element* requester, const Element* responder)
{
    if (way == Way::Library) {
        return mlx5dv_modify_qp_sched_elem(qp, requester != nullptr ? requester->group : nullptr,
                                           responder != nullptr ? responder->group : nullptr);
    }
    std::array<std::uint8_t, MODIFY_QP_IN> in{};
    std::array<std::uint8_t, MODIFY_QP_OUT> out{};
    prm_attach(in.data(), qp->state == IBV_QPS_INIT ? OP_INIT2INIT_QP : OP_RTS2RTS_QP, qp->qp_num,
               requester != nullptr ? requester->id : 0, responder != nullptr ? responder->id : 0);
    const uverbs_buffer command{in.data(), in.size()};
    const uverbs_buffer answer{out.data(), out.size()};
    return uverbs_devx_modify(qp->context->cmd_fd, qp->handle, &command, &answer);
}

}    // namespace stress
