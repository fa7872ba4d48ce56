#include "tools/rdma-qosctl/simulate/loaded_tree.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "policy/model/level_index.h"
#include "policy/model/lower.h"
#include "tools/rdma-qosctl/simulate/loading.h"

namespace rdmaqos::ctl {
namespace {

using namespace loading;

class PolicyLoader {
public:
    PolicyLoader(const Policy& policy, const Target& target, std::uint32_t leaf_reserve)
        : levels_(policy), target_(target)
    {
        input_.spec = tree_spec_for(policy, target);
        input_.capabilities = target.capabilities;
        input_.link_speed = target.link_speed;
        input_.leaf_reserve = leaf_reserve;
        std::set<ElementPath> present;
        for (const auto& element : input_.spec.elements) {
            if (element.is_class) {
                present.insert(element.path);
            }
        }
        for (const auto& level : policy.levels) {
            if (level.schedule && present.contains(class_path(policy, level))) {
                classes_.push_back({&level, class_path(policy, level), level.schedule->fair_by, 0});
            }
        }
        for (std::size_t i = 0; i < classes_.size(); ++i) {
            class_of_level_.try_emplace(to_lower(classes_[i].level->name), i);
        }
        split_capped_classes();
    }

    LoadedTree run(const LoadStep& step)
    {
        std::vector<const Load*> beside;
        for (const auto& load : step.loads) {
            if (is_beside_tree(load)) {
                beside.push_back(&load);
            } else {
                add(load);
            }
        }
        const Compiled compiled = compile(input_);
        loaded_.tree = compiled.tree;
        for (const auto& finding : compiled.findings) {
            add_note(loaded_, to_string(finding));
        }
        add_share_note(loaded_);
        place(compiled);
        list_levels(compiled);
        for (const Load* load : beside) {
            add_beside_tree(loaded_, load->level, *dscp_of_outside(load->level), load->senders.value_or(1), load->rate);
        }
        return std::move(loaded_);
    }

private:
    struct Class {
        const QosLevel* level;
        ElementPath path;
        FairBy fair_by;
        std::size_t senders;                           // that have been given a name
        bool is_split = false;                         // only to cap queue pairs that cannot be paced
        std::optional<std::size_t> paced_leaf = {};    // what the others share: index of the principals
    };
    // So many senders in a leaf that is known once the tree is compiled.
    struct Pending {
        std::string level;
        ElementPath class_path;
        bool is_responder = false;
        std::optional<std::size_t> principal;    // index into the compiler's input; empty: the class's shared leaf
        std::size_t senders = 1;
        std::optional<Bandwidth> rate;     // of all of them
        std::optional<Bandwidth> paced;    // each
    };

    // As the daemon does: a class without leaves per sender needs them where its queue pairs are capped by leaves.
    void split_capped_classes()
    {
        std::set<ElementPath> split;
        for (auto& one : classes_) {
            if (one.fair_by == FairBy::None && one.level->per_queue_pair.max_rate &&
                caps_by_leaves(target_.capabilities)) {
                one.fair_by = FairBy::QueuePair;
                one.is_split = true;
                split.insert(one.path);
            }
        }
        for (auto& element : input_.spec.elements) {
            element.fair_by = element.is_class && split.contains(element.path) ? FairBy::QueuePair : element.fair_by;
        }
    }

    Class* find_class(std::string_view level)
    {
        const auto found = class_of_level_.find(to_lower(level));
        return found == class_of_level_.end() ? nullptr : &classes_[found->second];
    }

    // A level may have such a name.
    [[nodiscard]] bool is_beside_tree(const Load& load)
    {
        return dscp_of_outside(load.level) && find_class(load.level) == nullptr && levels_.find(load.level) == nullptr;
    }

    void add(const Load& load)
    {
        if (Class* one = find_class(load.level)) {
            add_requests(*one, load);
        } else if (load.level.size() > kResponder.size() && to_lower(load.level).ends_with(kResponder)) {
            const std::string_view level = std::string_view(load.level)
                                               .substr(0, load.level.size() - kResponder.size());
            const Class* responding = find_class(level);
            if (responding == nullptr) {
                leave_out(load.level, levels_.find(level));
            } else {
                pending_.push_back({responding->level->name + std::string(kResponder), responding->path, true,
                                    std::nullopt, load.senders.value_or(1), all_together(load), std::nullopt});
            }
        } else {
            const QosLevel* level = levels_.find(load.level);
            leave_out(level == nullptr ? load.level : level->name, level);
        }
    }

    // `level` has no class here; null: there is no such level. Where its class is on other devices on purpose, so is
    // its load.
    void leave_out(std::string_view load, const QosLevel* level)
    {
        if (level == nullptr || !level->schedule) {
            add_outside(loaded_, load, kNoSchedule);
        } else if (level->mode == Mode::Monitor) {
            add_outside(loaded_, load, kMonitored);
        } else {
            add_note(loaded_, fmt::format("{} sends nothing here: {}", load, kOtherDevices));
        }
    }

    // What the senders of a load ask for in one leaf.
    static std::optional<Bandwidth> all_together(const Load& load)
    {
        return load.rate ? std::optional(Bandwidth::from_kbps(load.rate->kbps() * load.senders.value_or(1)))
                         : std::nullopt;
    }

    void add_requests(Class& one, const Load& load)
    {
        const std::size_t senders = load.senders.value_or(1);
        const PerQueuePair& own = one.level->per_queue_pair;
        const auto limit = own.max_rate ? std::optional(RateLimit{*own.max_rate, own.max_burst, own.typical_packet})
                                        : std::nullopt;
        const HeldLimit held = hold_sender(loaded_, one.level->name, one.fair_by, target_.capabilities, limit);
        const auto paced = paced_at(held);
        Load each = load;
        each.rate = at_most(load.rate, paced);
        if (one.fair_by == FairBy::None || (one.is_split && paced)) {
            pending_.push_back(
                {one.level->name, one.path, false, leaf_of_paced(one), senders, all_together(each), paced});
            return;
        }
        const auto cap = held.by == LimitHolder::Leaf ? std::optional(held.limit->rate) : std::nullopt;
        for (std::size_t i = 0; i < senders; ++i) {
            pending_.push_back({one.level->name, one.path, false, input_.principals.size(), 1, each.rate, paced});
            const std::string segment = fmt::format("{}-{}", noun_of(one.fair_by), ++one.senders);
            input_.principals.push_back({one.path, {segment}, cap});
        }
    }

    // Empty: the class's one leaf.
    std::optional<std::size_t> leaf_of_paced(Class& one)
    {
        if (one.is_split && !one.paced_leaf) {
            one.paced_leaf = input_.principals.size();
            input_.principals.push_back({one.path, {"paced"}, std::nullopt});
        }
        return one.paced_leaf;
    }

    void place(const Compiled& compiled)
    {
        for (const auto& pending : pending_) {
            const ClassLeaves& leaves = compiled.classes.at(pending.class_path);
            const ElementPath& leaf = pending.principal      ? compiled.principal_leaves.at(*pending.principal)
                                      : pending.is_responder ? leaves.responder_leaf
                                                             : leaves.shared_leaf;
            if (!leaf.empty()) {
                add_demand(loaded_, leaf, pending.senders, pending.rate);
                loaded_.there.add(leaf, pending.paced, pending.senders);
            } else {
                add_outside(loaded_, pending.level,
                            compiled.tree.empty()        ? kNoElements
                            : leaves.shared_leaf.empty() ? kNoLeaf
                                                         : kNoResponder);
            }
        }
    }

    void list_levels(const Compiled& compiled)
    {
        for (const auto& one : classes_) {
            const ClassLeaves& leaves = compiled.classes.at(one.path);
            const std::uint8_t dscp = one.level->traffic_class.value_or(0) >> 2U;
            if (!leaves.shared_leaf.empty()) {
                loaded_.levels.push_back({one.level->name, one.level->use, one.path, one.fair_by, dscp});
            }
            if (!leaves.responder_leaf.empty()) {
                loaded_.levels.push_back({one.level->name + std::string(kResponder), std::string(kResponderUse),
                                          leaves.responder_leaf, FairBy::None, dscp});
            }
        }
    }

    const LevelIndex levels_;
    const Target& target_;
    CompileInput input_;
    std::vector<Class> classes_;
    std::unordered_map<std::string, std::size_t> class_of_level_;    // index of classes_ by its name in small letters
    std::vector<Pending> pending_;
    LoadedTree loaded_;
};

}    // namespace

LoadedTree load_policy_tree(const Policy& policy, const Target& target, std::uint32_t leaf_reserve,
                            const LoadStep& step)
{
    return PolicyLoader(policy, target, leaf_reserve).run(step);
}

std::vector<std::string> level_names(const Policy& policy)
{
    std::vector<std::string> names;
    for (const auto& level : policy.levels) {
        if (level.from_ulp) {
            continue;
        }
        names.push_back(level.name);
        if (level.schedule && level.schedule->responder) {
            names.push_back(level.name + std::string(kResponder));
        }
    }
    return names;
}

}    // namespace rdmaqos::ctl
