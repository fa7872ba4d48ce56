// A plan by paths, without the ids of a reconciler: what becomes of each element, and in which order. This is what
// people are shown and what D-Bus carries.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/tree/element.h"
#include "lib/tree/plan.h"
#include "lib/tree/requested.h"

namespace rdmaqos {

// An element with what a plan makes of it. Two may have one path: one that is replaced, and its successor.
struct DescribedElement {
    ElementPath path;
    ElementPath parent;    // empty for the root
    ElementKind kind = ElementKind::Node;
    std::optional<ElementAttributes> before;    // empty: it is created
    std::optional<ElementAttributes> after;     // empty: it is destroyed
    std::uint32_t queue_pairs_before = 0;
    std::uint32_t queue_pairs_after = 0;
    // What the policy before and the one after request for it; empty where it is not an element of that policy.
    RequestedRate requested_before{};
    RequestedRate requested_after{};

    friend bool operator==(const DescribedElement&, const DescribedElement&) = default;
};

// What of the members an operation does not concern is empty.
struct DescribedOperation {
    enum class Kind : std::uint8_t { Create, Modify, Destroy, Move, Limit };
    Kind kind = Kind::Create;
    // Create, Modify, Destroy: of the element. A cap that is lifted has a `max_rate_before` alone.
    ElementPath path;
    ElementPath parent;                         // Create
    std::optional<ElementKind> element_kind;    // Create
    std::optional<std::uint32_t> share_before;
    std::optional<std::uint32_t> share;
    std::optional<Bandwidth> max_rate_before;
    std::optional<Bandwidth> max_rate;
    // Move, Limit: of the queue pair. An empty path: in no leaf.
    std::optional<std::uint32_t> queue_pair;
    ElementPath leaf_before;
    ElementPath leaf;
    ElementPath responder_leaf_before;
    ElementPath responder_leaf;
    std::optional<RateLimit> limit_before;
    std::optional<RateLimit> limit;

    friend bool operator==(const DescribedOperation&, const DescribedOperation&) = default;
};

[[nodiscard]] std::string_view to_string(DescribedOperation::Kind kind);    // "create"

// "modify /tenants/rpc: share 60 -> 40". Of several queue pairs that fare alike: "move 1500 queue pairs from /a to /b".
[[nodiscard]] std::string to_string(const DescribedOperation& operation, std::size_t queue_pairs = 1);

struct DescribedPlan {
    // In the order in which the tree is drawn: children follow their parent, the last element of its path before them.
    std::vector<DescribedElement> tree;
    std::vector<DescribedOperation> operations;
    std::vector<Unreachable> unreachable;

    friend bool operator==(const DescribedPlan&, const DescribedPlan&) = default;
};

[[nodiscard]] DescribedPlan describe(const ActualState& before, const Plan& plan,
                                     const RequestedRates& requested_before = {},
                                     const RequestedRates& requested_after = {});

}    // namespace rdmaqos
