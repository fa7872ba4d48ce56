#include "lib/tree/schedule.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

namespace rdmaqos::scheduling {
namespace {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

std::uint32_t count_leaves(const ActualState& actual)
{
    return static_cast<std::uint32_t>(
        std::count_if(actual.elements.begin(), actual.elements.end(),
                      [](const auto& entry) { return entry.second.kind == ElementKind::Leaf; }));
}

template <typename T>
void append(std::vector<Operation>& operations, std::vector<T>& more)
{
    operations.insert(operations.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

// Everything fits beside each other: grow, move, shrink.
Plan side_by_side(Changes& changes)
{
    Plan plan;
    auto& operations = plan.operations;
    operations.reserve(changes.growing.size() + changes.creates.size() + changes.moves.size() + changes.rates.size() +
                       changes.shrinking.size() + changes.destroys.size());
    append(operations, changes.growing);
    append(operations, changes.creates);
    for (const auto& move : changes.moves) {
        operations.emplace_back(MoveQueuePair{move.queue_pair, move.requester, move.responder});
    }
    append(operations, changes.rates);
    append(operations, changes.shrinking);
    append(operations, changes.destroys);
    return plan;
}

// A device that is nearly full.
class StepByStep {
public:
    StepByStep(Changes& changes, const ActualState& actual, const Capabilities& capabilities)
        : changes_(changes), capabilities_(capabilities), leaves_(count_leaves(actual)),
          elements_(static_cast<std::uint32_t>(actual.elements.size()))
    {
        for (const auto& [id, element] : actual.elements) {
            live_.emplace(id, Live{&element, false, 0});
        }
        for (const auto& [id, element] : actual.elements) {
            if (element.parent) {
                ++live_.at(*element.parent).users;
            }
        }
        for (std::size_t i = 0; i < changes.creates.size(); ++i) {
            pending_.emplace(changes.creates[i].id, i);
        }
        for (const auto& destroy : changes.destroys) {
            live_.at(destroy.id).obsolete = true;
        }
        for (std::size_t i = 0; i < changes.moves.size(); ++i) {
            const Move& move = changes.moves[i];
            for (const auto target : {move.requester, move.responder}) {
                if (target && pending_.contains(*target)) {
                    waiting_[*target].push_back(i);
                }
            }
            occupy(i);
        }
    }

    Plan run()
    {
        append(plan_.operations, changes_.growing);
        for (std::size_t i = 0; i < changes_.moves.size(); ++i) {
            move_home(i);
        }
        for (const auto& destroy : changes_.destroys) {
            destroy_if_free(destroy.id);
        }
        harbour_ = find_harbour();
        while (!pending_.empty()) {
            const std::size_t next = pick();
            if (next != kNone) {
                create(next);
            } else if (!empty_one_leaf()) {
                break;
            }
        }
        for (std::size_t i = 0; i < changes_.moves.size(); ++i) {
            move_as_far_as_possible(i);
        }
        append(plan_.operations, changes_.rates);
        append(plan_.operations, changes_.shrinking);
        report_unreachable();
        return std::move(plan_);
    }

private:
    struct Live {
        const ActualElement* element = nullptr;
        bool obsolete = false;
        std::size_t users = 0;    // children and, of an obsolete leaf, sides of queue pairs
    };
    // Who is in an obsolete leaf, and which leaves they wait for.
    struct Occupancy {
        std::vector<std::size_t> moves;
        std::set<ElementId> missing;
    };

    // Notes the obsolete leaves that a queue pair is in.
    void occupy(std::size_t index)
    {
        const Move& move = changes_.moves[index];
        for (const auto side : {move.now.requester, move.now.responder}) {
            const auto found = side ? live_.find(*side) : live_.end();
            if (found == live_.end() || !found->second.obsolete) {
                continue;
            }
            ++found->second.users;
            auto& occupancy = occupied_[*side];
            occupancy.moves.push_back(index);
            for (const auto target : {move.requester, move.responder}) {
                if (target && pending_.contains(*target)) {
                    occupancy.missing.insert(*target);
                }
            }
        }
    }

    // The occupied leaf on its way out with the fewest such elements above it: where queue pairs pass through as long
    // as nothing that stays exists.
    [[nodiscard]] std::optional<ElementId> find_harbour() const
    {
        std::optional<ElementId> best;
        std::size_t best_count = 0;
        for (const auto& [leaf, occupancy] : occupied_) {
            std::size_t count = 0;
            for (auto parent = live_.at(leaf).element->parent; parent; parent = live_.at(*parent).element->parent) {
                count += live_.at(*parent).obsolete ? 1 : 0;
            }
            if (!best || count < best_count) {
                best = leaf;
                best_count = count;
            }
        }
        return best;
    }

    [[nodiscard]] bool exists(std::optional<ElementId> id) const { return !id || live_.contains(*id); }

    void move_home(std::size_t index)
    {
        const Move& move = changes_.moves[index];
        if (exists(move.requester) && exists(move.responder)) {
            move_to(index, move.requester, move.responder);
        }
    }

    void move_to(std::size_t index, std::optional<ElementId> requester, std::optional<ElementId> responder)
    {
        Move& move = changes_.moves[index];
        if (move.now.requester == requester && move.now.responder == responder) {
            return;
        }
        plan_.operations.emplace_back(MoveQueuePair{move.queue_pair, requester, responder});
        const auto left = {std::exchange(move.now.requester, requester), std::exchange(move.now.responder, responder)};
        occupy(index);
        for (const auto side : left) {
            if (side && live_.contains(*side) && live_.at(*side).obsolete) {
                --live_.at(*side).users;
                destroy_if_free(*side);
            }
        }
    }

    // A side whose leaf found no room stays where it is.
    void move_as_far_as_possible(std::size_t index)
    {
        const Move& move = changes_.moves[index];
        move_to(index, exists(move.requester) ? move.requester : move.now.requester,
                exists(move.responder) ? move.responder : move.now.responder);
    }

    // And its parents, if it was the last element below them.
    void destroy_if_free(ElementId id)
    {
        for (std::optional<ElementId> next = id; next;) {
            const auto found = live_.find(*next);
            if (found == live_.end() || !found->second.obsolete || found->second.users != 0) {
                return;
            }
            const ActualElement& element = *found->second.element;
            plan_.operations.emplace_back(DestroyElement{*next, element.path});
            leaves_ -= element.kind == ElementKind::Leaf ? 1 : 0;
            --elements_;
            occupied_.erase(*next);
            live_.erase(found);
            next = element.parent;
            if (next) {
                --live_.at(*next).users;
            }
        }
    }

    // How many elements have to be made for this one: itself and the parents that do not exist yet.
    [[nodiscard]] std::uint32_t cost(std::size_t index) const
    {
        std::uint32_t result = 1;
        for (auto parent = changes_.creates[index].element.parent; parent && !live_.contains(*parent); ++result) {
            parent = changes_.creates[pending_.at(*parent)].element.parent;
        }
        return result;
    }

    [[nodiscard]] bool fits(std::size_t index) const
    {
        const std::uint32_t leaf = is_leaf(index) ? 1 : 0;
        return leaves_ + leaf <= capabilities_.max_leaves && elements_ + cost(index) <= capabilities_.max_elements;
    }

    [[nodiscard]] bool is_leaf(std::size_t index) const
    {
        return changes_.creates[index].element.kind == ElementKind::Leaf;
    }

    // What to create next: the leaf that is nearest to emptying an obsolete one; else the leaf with the least to make
    // above it; nodes without leaves last.
    [[nodiscard]] std::size_t pick() const
    {
        std::size_t best = kNone;
        std::size_t best_missing = 0;
        for (const auto& [leaf, occupancy] : occupied_) {
            for (const ElementId id : occupancy.missing) {
                const std::size_t index = pending_.at(id);
                if ((best == kNone || occupancy.missing.size() < best_missing) && fits(index)) {
                    best = index;
                    best_missing = occupancy.missing.size();
                }
            }
        }
        if (best != kNone) {
            return best;
        }
        std::tuple<bool, std::uint32_t, std::size_t> best_key;
        for (const auto& [id, index] : pending_) {
            const std::tuple key(!is_leaf(index), cost(index), index);
            if ((best == kNone || key < best_key) && fits(index)) {
                best = index;
                best_key = key;
            }
        }
        return best;
    }

    void create(std::size_t index)
    {
        const CreateElement& one = changes_.creates[index];
        if (one.element.parent && !live_.contains(*one.element.parent)) {
            create(pending_.at(*one.element.parent));
        }
        live_.emplace(one.id, Live{&one.element, false, 0});
        pending_.erase(one.id);
        ++elements_;
        plan_.operations.emplace_back(one);
        if (one.element.kind != ElementKind::Leaf) {
            return;
        }
        ++leaves_;
        for (auto& [leaf, occupancy] : occupied_) {
            occupancy.missing.erase(one.id);
        }
        const auto waiting = waiting_.extract(one.id);
        if (!waiting.empty()) {
            for (const std::size_t move : waiting.mapped()) {
                move_home(move);
            }
        }
    }

    bool empty_one_leaf()
    {
        const bool stays_anywhere = passage(ElementPath::root()).has_value();
        std::optional<ElementId> best;
        for (const auto& [leaf, occupancy] : occupied_) {
            const bool is_better = !best || live_.at(leaf).users < live_.at(*best).users;
            if (is_better && (stays_anywhere || leaf != harbour_)) {
                best = leaf;
            }
        }
        if (!best) {
            return false;
        }
        const auto moves = std::move(occupied_.at(*best).moves);
        for (const std::size_t index : moves) {
            const Move& move = changes_.moves[index];
            move_to(index, side_elsewhere(*best, move.now.requester, move.requester, move.requester_path),
                    side_elsewhere(*best, move.now.responder, move.responder, move.responder_path));
        }
        return true;
    }

    [[nodiscard]] std::optional<ElementId> side_elsewhere(ElementId leaf, std::optional<ElementId> now,
                                                          std::optional<ElementId> target,
                                                          const ElementPath* path) const
    {
        if (now != leaf) {
            return now;
        }
        if (exists(target)) {
            return target;
        }
        const auto staying = passage(*path);
        return staying ? staying : harbour_;
    }

    // Among the leaves that stay: the `others` nearest above the target, else the leaf with the nearest path.
    [[nodiscard]] std::optional<ElementId> passage(const ElementPath& target) const
    {
        std::optional<ElementId> best;
        std::pair<std::size_t, std::size_t> best_key;
        for (const auto& [id, live] : live_) {
            if (live.obsolete || live.element->kind != ElementKind::Leaf) {
                continue;
            }
            const ElementPath& path = live.element->path;
            const auto common = std::mismatch(path.text().begin(), path.text().end(), target.text().begin(),
                                              target.text().end());
            const auto length = static_cast<std::size_t>(common.first - path.text().begin());
            const ElementPath above = path.parent();
            const bool is_others = path.name() == "others" && !above.is_root() && length > above.text().size();
            const std::pair key(is_others ? length : 0, length);
            if (!best || key > best_key) {
                best = id;
                best_key = key;
            }
        }
        return best;
    }

    void report_unreachable()
    {
        for (const auto& [id, index] : pending_) {
            const auto& element = changes_.creates[index].element;
            plan_.unreachable.push_back(
                {element.path, fmt::format("no room for it: {} of {} leaves and {} of {} elements are in use", leaves_,
                                           capabilities_.max_leaves, elements_, capabilities_.max_elements)});
        }
    }

    Changes& changes_;
    const Capabilities& capabilities_;
    std::uint32_t leaves_;
    std::uint32_t elements_;
    std::map<ElementId, Live> live_;
    std::map<ElementId, std::size_t> pending_;                 // index of changes_.creates
    std::map<ElementId, Occupancy> occupied_;                  // of obsolete leaves
    std::map<ElementId, std::vector<std::size_t>> waiting_;    // moves by the leaf they wait for
    std::optional<ElementId> harbour_;
    Plan plan_;
};

bool all_fits(const Changes& changes, const ActualState& actual, const Capabilities& capabilities)
{
    if (changes.creates.empty()) {
        return true;
    }
    const auto new_leaves = static_cast<std::size_t>(
        std::count_if(changes.creates.begin(), changes.creates.end(),
                      [](const CreateElement& create) { return create.element.kind == ElementKind::Leaf; }));
    return count_leaves(actual) + new_leaves <= capabilities.max_leaves &&
           actual.elements.size() + changes.creates.size() <= capabilities.max_elements;
}

}    // namespace

Plan schedule(Changes changes, const ActualState& actual, const Capabilities& capabilities)
{
    return all_fits(changes, actual, capabilities) ? side_by_side(changes)
                                                   : StepByStep(changes, actual, capabilities).run();
}

}    // namespace rdmaqos::scheduling
