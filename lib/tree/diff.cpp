#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "lib/base/compare_maps.h"
#include "lib/tree/plan.h"
#include "lib/tree/schedule.h"

namespace rdmaqos {
namespace {

using scheduling::Changes;
using scheduling::Move;

struct Resolved {
    ElementId id{};
    ElementKind kind = ElementKind::Node;
};

bool grows(const ElementAttributes& from, const ElementAttributes& to)
{
    if (from.max_rate != to.max_rate) {
        return from.max_rate && (!to.max_rate || *to.max_rate > *from.max_rate);
    }
    return to.share > from.share;
}

class Comparison {
public:
    Comparison(const DesiredState& desired, const ActualState& actual)
        : desired_(desired), actual_(actual), next_id_(actual.next_id)
    {
    }

    Changes run()
    {
        match_elements();
        find_obsolete();
        compare_queue_pairs();
        // What is lifted may free an entry of a pacing table for another.
        std::stable_partition(changes_.rates.begin(), changes_.rates.end(),
                              [](const SetQueuePairRate& set) { return !set.rate; });
        return std::move(changes_);
    }

    [[nodiscard]] std::vector<Unreachable> without_leaf() const
    {
        std::vector<Unreachable> result;
        result.reserve(without_leaf_.size());
        for (const auto& path : without_leaf_) {
            result.push_back({path, "the tree has no such leaf; its queue pairs are in none"});
        }
        return result;
    }

private:
    using ActualEntry = std::map<ElementId, ActualElement>::value_type;

    // An existing element serves a desired one if path, kind and parent are the same; of several the newest.
    void match_elements()
    {
        std::vector<const ActualEntry*> by_path;
        by_path.reserve(actual_.elements.size());
        for (const auto& entry : actual_.elements) {
            by_path.push_back(&entry);
        }
        std::sort(by_path.begin(), by_path.end(), [](const ActualEntry* a, const ActualEntry* b) {
            const int order = a->second.path.text().compare(b->second.path.text());
            return order != 0 ? order < 0 : a->first > b->first;
        });
        resolved_.reserve(desired_.tree.size());
        auto candidate = by_path.begin();
        for (const auto& [path, element] : desired_.tree) {    // parents first
            while (candidate != by_path.end() && (*candidate)->second.path < path) {
                ++candidate;
            }
            const auto parent = parent_of(element);
            const ActualEntry* found = nullptr;
            for (; candidate != by_path.end() && (*candidate)->second.path == path; ++candidate) {
                const auto& actual = (*candidate)->second;
                if (found == nullptr && actual.kind == element.kind && actual.parent == parent) {
                    found = *candidate;
                }
            }
            found != nullptr ? keep(path, element, *found) : create(path, element, parent);
        }
    }

    [[nodiscard]] std::optional<ElementId> parent_of(const Element& element) const
    {
        const auto found = resolved_.find(element.parent.text());
        return found == resolved_.end() ? std::nullopt : std::optional(found->second.id);
    }

    void keep(const ElementPath& path, const Element& element, const ActualEntry& actual)
    {
        kept_.insert(actual.first);
        resolved_.emplace(path.text(), Resolved{actual.first, element.kind});
        const auto& from = actual.second.attributes;
        const auto& to = element.attributes;
        if (from == to) {
            return;
        }
        ModifyElement modify{actual.first, path, std::nullopt, std::nullopt};
        if (from.share != to.share) {
            modify.share = to.share;
        }
        if (from.max_rate != to.max_rate) {
            modify.max_rate = to.max_rate;
        }
        (grows(from, to) ? changes_.growing : changes_.shrinking).push_back(std::move(modify));
    }

    void create(const ElementPath& path, const Element& element, std::optional<ElementId> parent)
    {
        const ElementId id{next_id_++};
        resolved_.emplace(path.text(), Resolved{id, element.kind});
        changes_.creates.push_back({id, {path, element.kind, parent, element.attributes}});
    }

    void find_obsolete()
    {
        struct Obsolete {
            std::uint32_t level;
            DestroyElement destroy;
        };
        std::vector<Obsolete> obsolete;
        for (const auto& [id, element] : actual_.elements) {
            if (!kept_.contains(id)) {
                obsolete.push_back({level_of(element), {id, element.path}});
            }
        }
        std::sort(obsolete.begin(), obsolete.end(), [](const Obsolete& a, const Obsolete& b) {
            return std::tie(b.level, a.destroy.path, a.destroy.id) < std::tie(a.level, b.destroy.path, b.destroy.id);
        });
        changes_.destroys.reserve(obsolete.size());
        for (auto& one : obsolete) {
            changes_.destroys.push_back(std::move(one.destroy));
        }
    }

    [[nodiscard]] std::uint32_t level_of(const ActualElement& element) const
    {
        std::uint32_t level = 1;
        for (auto parent = element.parent; parent; ++level) {
            const auto found = actual_.elements.find(*parent);
            if (found == actual_.elements.end()) {
                break;
            }
            parent = found->second.parent;
        }
        return level;
    }

    void compare_queue_pairs()
    {
        static const Placement kNowhere;
        compare_maps(actual_.queue_pairs, desired_.queue_pairs,
                     [this](QueuePairId queue_pair, const ActualPlacement* now, const Placement* wanted) {
                         compare(queue_pair, wanted != nullptr ? *wanted : kNowhere,
                                 now != nullptr ? *now : ActualPlacement{});
                     });
    }

    void compare(QueuePairId queue_pair, const Placement& wanted, const ActualPlacement& now)
    {
        const auto requester = leaf_of(wanted.requester);
        const auto responder = leaf_of(wanted.responder);
        if (requester != now.requester || responder != now.responder) {
            Move move{queue_pair, now, requester, responder, nullptr, nullptr};
            move.requester_path = requester ? &wanted.requester : nullptr;
            move.responder_path = responder ? &wanted.responder : nullptr;
            changes_.moves.push_back(move);
        }
        if (wanted.rate != now.rate) {
            changes_.rates.push_back({queue_pair, wanted.rate});
        }
    }

    std::optional<ElementId> leaf_of(const ElementPath& path)
    {
        if (path.empty()) {
            return std::nullopt;
        }
        const auto found = resolved_.find(path.text());
        if (found == resolved_.end() || found->second.kind != ElementKind::Leaf) {
            without_leaf_.insert(path);
            return std::nullopt;
        }
        return found->second.id;
    }

    const DesiredState& desired_;
    const ActualState& actual_;
    std::uint64_t next_id_;
    Changes changes_;
    std::unordered_map<std::string_view, Resolved> resolved_;    // of every desired path
    std::unordered_set<ElementId> kept_;
    std::set<ElementPath> without_leaf_;
};

}    // namespace

Plan diff(const DesiredState& desired, const ActualState& actual, const Capabilities& capabilities)
{
    Comparison comparison(desired, actual);
    Plan plan = scheduling::schedule(comparison.run(), actual, capabilities);
    auto without_leaf = comparison.without_leaf();
    plan.unreachable.insert(plan.unreachable.end(), std::make_move_iterator(without_leaf.begin()),
                            std::make_move_iterator(without_leaf.end()));
    return plan;
}

}    // namespace rdmaqos
