// Inside diff(): the order of a plan's operations. Not for users of lib/tree.
#pragma once

#include <optional>
#include <vector>

#include "lib/tree/plan.h"

namespace rdmaqos::scheduling {

// A queue pair that is not where it shall be.
struct Move {
    QueuePairId queue_pair;
    ActualPlacement now;
    std::optional<ElementId> requester;
    std::optional<ElementId> responder;
    // The paths of where it shall be, by which a leaf to pass through is chosen; null: detached.
    const ElementPath* requester_path = nullptr;
    const ElementPath* responder_path = nullptr;
};

// What has to happen, in no particular order unless stated.
struct Changes {
    std::vector<ModifyElement> growing;    // caps lifted or raised, shares raised
    std::vector<CreateElement> creates;    // parents first
    std::vector<Move> moves;
    std::vector<SetQueuePairRate> rates;
    std::vector<ModifyElement> shrinking;
    std::vector<DestroyElement> destroys;    // children first
};

// Where everything fits beside each other, the order is that of Changes. Otherwise room is made step by step:
//
//   1. elements on their way out that hold nothing are destroyed;
//   2. a leaf is created whose queue pairs empty another leaf on its way out, and they move;
//   3. with no room left, the leaf on its way out with the fewest queue pairs is emptied through another leaf:
//      their class's `others`, else a leaf of the class, else the leaf that stays whose path is nearest,
//      else (nothing stays) another leaf on its way out;
//   4. what still finds no room is unreachable; its queue pairs stay where they are.
[[nodiscard]] Plan schedule(Changes changes, const ActualState& actual, const Capabilities& capabilities);

}    // namespace rdmaqos::scheduling
