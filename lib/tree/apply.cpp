#include <algorithm>
#include <cassert>

#include "lib/tree/plan.h"

namespace rdmaqos {
namespace {

[[maybe_unused]] bool is_node(const ActualState& state, std::optional<ElementId> id)
{
    const auto found = id ? state.elements.find(*id) : state.elements.end();
    return found != state.elements.end() && found->second.kind == ElementKind::Node;
}

[[maybe_unused]] bool is_leaf_or_none(const ActualState& state, std::optional<ElementId> id)
{
    if (!id) {
        return true;
    }
    const auto found = state.elements.find(*id);
    return found != state.elements.end() && found->second.kind == ElementKind::Leaf;
}

[[maybe_unused]] bool is_busy(const ActualState& state, ElementId id)
{
    const bool has_children = std::any_of(state.elements.begin(), state.elements.end(),
                                          [id](const auto& entry) { return entry.second.parent == id; });
    return has_children || std::any_of(state.queue_pairs.begin(), state.queue_pairs.end(), [id](const auto& entry) {
               return entry.second.requester == id || entry.second.responder == id;
           });
}

// A queue pair that is in no leaf and has no rate is not the tree's any more.
void forget_if_nothing_left(ActualState& state, QueuePairId queue_pair)
{
    const auto found = state.queue_pairs.find(queue_pair);
    if (found != state.queue_pairs.end() && found->second == ActualPlacement{}) {
        state.queue_pairs.erase(found);
    }
}

void apply_one(const CreateElement& create, ActualState& state)
{
    assert(!state.elements.contains(create.id));
    assert(create.element.path.is_root() == !create.element.parent.has_value());
    assert(!create.element.parent || is_node(state, create.element.parent));
    state.elements.emplace(create.id, create.element);
    state.next_id = std::max(state.next_id, static_cast<std::uint64_t>(create.id) + 1);
}

void apply_one(const ModifyElement& modify, ActualState& state)
{
    const auto found = state.elements.find(modify.id);
    assert(found != state.elements.end());
    if (modify.share) {
        found->second.attributes.share = *modify.share;
    }
    if (modify.max_rate) {
        found->second.attributes.max_rate = *modify.max_rate;
    }
}

void apply_one(const DestroyElement& destroy, ActualState& state)
{
    assert(state.elements.contains(destroy.id));
    assert(!is_busy(state, destroy.id));
    state.elements.erase(destroy.id);
}

void apply_one(const MoveQueuePair& move, ActualState& state)
{
    assert(is_leaf_or_none(state, move.requester));
    assert(is_leaf_or_none(state, move.responder));
    auto& placement = state.queue_pairs[move.queue_pair];
    placement.requester = move.requester;
    placement.responder = move.responder;
    forget_if_nothing_left(state, move.queue_pair);
}

void apply_one(const SetQueuePairRate& set, ActualState& state)
{
    state.queue_pairs[set.queue_pair].rate = set.rate;
    forget_if_nothing_left(state, set.queue_pair);
}

ElementPath path_of(const ActualState& state, std::optional<ElementId> id)
{
    const auto found = id ? state.elements.find(*id) : state.elements.end();
    return found == state.elements.end() ? ElementPath() : found->second.path;
}

}    // namespace

void apply(const Operation& operation, ActualState& state)
{
    std::visit([&state](const auto& one) { apply_one(one, state); }, operation);
}

ActualState apply(const Plan& plan, ActualState state)
{
    for (const auto& operation : plan.operations) {
        apply(operation, state);
    }
    return state;
}

DesiredState without_ids(const ActualState& actual)
{
    DesiredState state;
    // Ids grow, so the element that was made last is the one that stays.
    for (const auto& [id, element] : actual.elements) {
        state.tree.insert_or_assign(element.path,
                                    Element{element.kind, path_of(actual, element.parent), element.attributes});
    }
    for (const auto& [queue_pair, placement] : actual.queue_pairs) {
        state.queue_pairs.emplace_hint(
            state.queue_pairs.end(), queue_pair,
            Placement{path_of(actual, placement.requester), path_of(actual, placement.responder), placement.rate});
    }
    return state;
}

}    // namespace rdmaqos
