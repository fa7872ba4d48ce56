// Scheduling elements of one context, made through mlx5dv_sched_* or by hand through DEVX, with what is known of them.
#pragma once

#include <cstdint>
#include <optional>

#include <infiniband/mlx5dv.h>

namespace stress {

struct Element {
    bool leaf = false;
    Element* parent = nullptr;
    unsigned level = 1;
    std::uint32_t share = 0;
    std::uint32_t max_rate = 0;
    unsigned children = 0;
    unsigned queue_pairs = 0;    // a queue pair counts on each side

    // One of these.
    mlx5dv_sched_node* node = nullptr;
    mlx5dv_sched_leaf* group = nullptr;
    mlx5dv_devx_obj* object = nullptr;
    std::uint32_t id = 0;    // of the object
};

// A context has one tree, hence one way.
enum class Way { Library, ByHand };

// Each answers 0 or an errno.
int create(ibv_context* context, Way way, Element& element);
int modify(const Element& element, std::optional<std::uint32_t> share, std::optional<std::uint32_t> max_rate);
// 0, and `same` says whether the device's answer is what was written. Only of elements made by hand.
int query(const Element& element, bool& same);
int destroy(const Element& element);
// Either may be missing.
int attach(ibv_qp* qp, Way way, const Element* requester, const Element* responder);

}    // namespace stress
