// From what a device has to what it should have: diff(desired, actual) -> Plan, a pure function.
//
// Elements of the actual state carry a logical id given by the reconciler, because for a moment an old and a new
// element of the same path may both exist (an element cannot change its parent or its kind: it is made again).
// The ids have nothing to do with the firmware's.
//
// The order of a plan's operations keeps, at every step:
//   * parents exist before children, children go before parents;
//   * a queue pair is always in the leaf it had or in the one it shall have; where no spare leaf is left it passes
//     through another leaf (`others` of its level, else the nearest that stays) rather than through none;
//   * growth before shrink, within the device's limits when a way within them exists.
// A plan is minimal: what is unchanged costs nothing, a changed share is one modify that carries only the share.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "lib/tree/capabilities.h"
#include "lib/tree/element.h"

namespace rdmaqos {

// A logical element id, unique during the life of a reconciler; never reused.
enum class ElementId : std::uint64_t {};

struct ActualElement {
    ElementPath path;
    ElementKind kind = ElementKind::Node;
    std::optional<ElementId> parent;    // empty for the root
    ElementAttributes attributes;

    friend bool operator==(const ActualElement&, const ActualElement&) = default;
};

struct ActualPlacement {
    std::optional<ElementId> requester;
    std::optional<ElementId> responder;
    std::optional<RateLimit> rate;

    friend bool operator==(const ActualPlacement&, const ActualPlacement&) = default;
};

struct ActualState {
    std::map<ElementId, ActualElement> elements;
    std::map<QueuePairId, ActualPlacement> queue_pairs;
    std::uint64_t next_id = 1;

    friend bool operator==(const ActualState&, const ActualState&) = default;
};

struct CreateElement {
    ElementId id;
    ActualElement element;

    friend bool operator==(const CreateElement&, const CreateElement&) = default;
};

struct ModifyElement {
    ElementId id;
    ElementPath path;
    std::optional<std::uint32_t> share;                  // set: changes
    std::optional<std::optional<Bandwidth>> max_rate;    // set: changes; the inner empty lifts the cap

    friend bool operator==(const ModifyElement&, const ModifyElement&) = default;
};

struct DestroyElement {
    ElementId id;
    ElementPath path;

    friend bool operator==(const DestroyElement&, const DestroyElement&) = default;
};

// Both sides are stated whole: an empty side is detached.
struct MoveQueuePair {
    QueuePairId queue_pair;
    std::optional<ElementId> requester;
    std::optional<ElementId> responder;

    friend bool operator==(const MoveQueuePair&, const MoveQueuePair&) = default;
};

struct SetQueuePairRate {
    QueuePairId queue_pair;
    std::optional<RateLimit> rate;    // empty: lift the limit

    friend bool operator==(const SetQueuePairRate&, const SetQueuePairRate&) = default;
};

using Operation = std::variant<CreateElement, ModifyElement, DestroyElement, MoveQueuePair, SetQueuePairRate>;

// What no order of operations can reach within the device's limits; the reconciler reports it and tries again later.
struct Unreachable {
    ElementPath path;
    std::string why;

    friend bool operator==(const Unreachable&, const Unreachable&) = default;
};

struct Plan {
    std::vector<Operation> operations;
    std::vector<Unreachable> unreachable;

    [[nodiscard]] bool empty() const { return operations.empty() && unreachable.empty(); }

    friend bool operator==(const Plan&, const Plan&) = default;
};

// Queue pairs in `actual` but not in `desired` are detached (both sides) and forgotten. Those in `desired` but not in
// `actual` are attached.
[[nodiscard]] Plan diff(const DesiredState& desired, const ActualState& actual, const Capabilities& capabilities);

// The state after one operation that the device carried out / after all of a plan. Preconditions (the parent exists,
// the element is not busy, ...) are checked by assert; a plan from diff() meets them. A queue pair that is left without
// a leaf and without a rate is forgotten.
void apply(const Operation& operation, ActualState& state);
[[nodiscard]] ActualState apply(const Plan& plan, ActualState state);

// The actual state without ids: what an administrator would call the tree. Elements of one path twice (one is on its
// way out) show the one that was made last.
[[nodiscard]] DesiredState without_ids(const ActualState& actual);

}    // namespace rdmaqos
