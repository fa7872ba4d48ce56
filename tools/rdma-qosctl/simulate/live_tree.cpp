#include "tools/rdma-qosctl/simulate/loaded_tree.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "lib/tree/drawing.h"
#include "tools/rdma-qosctl/simulate/loading.h"
#include "tools/rdma-qosctl/world/online.h"

namespace rdmaqos::ctl {
namespace {

using namespace loading;

constexpr std::string_view kOthers = "others";

FairBy parse_fair_by(std::string_view text)
{
    for (const FairBy fair_by : {FairBy::QueuePair, FairBy::Process, FairBy::User, FairBy::Unit, FairBy::Cgroup,
                                 FairBy::SlurmJob, FairBy::KubernetesPod}) {
        if (text == to_string(fair_by)) {
            return fair_by;
        }
    }
    return FairBy::None;
}

ElementPath responder_of(const ElementPath& class_path)
{
    return ElementPath(class_path.text() + std::string(kResponder));
}

class LiveLoader {
public:
    LiveLoader(const std::vector<api::Level>& levels, const DeviceView& device, const Senders& there) : device_(device)
    {
        loaded_.there = there;
        loaded_.tree = to_tree(device);
        for (const auto& element : device.tree) {
            if (element.kind == ElementKind::Leaf && !element.draining) {
                leaves_.emplace(element.path, element.queue_pairs);
            }
        }
        for (const auto& level : levels) {
            add_class(level);
        }
        for (std::size_t i = 0; i < classes_.size(); ++i) {
            class_of_level_.try_emplace(to_lower(classes_[i].level), i);
        }
        free_leaves_ = device.leaves_free;
        for (const auto& element : device.tree) {
            if (element.kind == ElementKind::Leaf && element.queue_pairs > 0) {
                loaded_.senders.emplace(element.path, 0);
            }
        }
    }

    LoadedTree run(const LoadStep& step)
    {
        add_device_notes();
        add_share_note(loaded_);
        for (const auto& load : step.loads) {
            add(load);
        }
        for (const auto& one : classes_) {
            if (!one.leaves.empty() && !one.path.empty()) {
                loaded_.levels.push_back({one.level, one.use, one.path, one.fair_by, one.dscp});
            }
        }
        return std::move(loaded_);
    }

private:
    struct Leaf {
        ElementPath path;
        std::uint32_t queue_pairs;
    };
    struct Class {
        std::string level;
        std::string use;
        ElementPath path;    // empty: not scheduled
        FairBy fair_by = FairBy::None;
        std::optional<Bandwidth> queue_pair_cap;
        std::vector<Leaf> leaves;
        std::size_t taken = 0;    // leaves with queue pairs that have been given a load; of a class that is one leaf:
                                  // queue pairs
        std::size_t imagined = 0;    // senders beyond these
        bool is_monitored = false;
        std::uint8_t dscp = 0;
    };

    void add_class(const api::Level& level)
    {
        Class one;
        one.level = level.name;
        one.use = level.use;
        one.path = ElementPath(level.class_path);
        one.fair_by = parse_fair_by(level.fair_by);
        one.queue_pair_cap = level.per_queue_pair_max_rate;
        one.is_monitored = is_only_monitored(level);
        one.dscp = level.traffic_class.value_or(0) >> 2U;
        if (!one.path.empty()) {
            one.leaves = leaves_below(one.path);
            const ElementPath responder = responder_of(one.path);
            if (auto leaves = leaves_below(responder); !leaves.empty()) {
                classes_.push_back({one.level + std::string(kResponder), std::string(kResponderUse), responder,
                                    FairBy::None, std::nullopt, std::move(leaves)});
                classes_.back().dscp = one.dscp;
            }
            const auto element = loaded_.tree.find(one.path);
            const bool is_node = element != loaded_.tree.end() && element->second.kind == ElementKind::Node;
            one.fair_by = is_node && one.fair_by == FairBy::None ? FairBy::QueuePair : one.fair_by;
        }
        classes_.push_back(std::move(one));
    }

    // Without leaves of an earlier policy; those that hold queue pairs first, `others` last.
    [[nodiscard]] std::vector<Leaf> leaves_below(const ElementPath& path) const
    {
        std::vector<Leaf> leaves;
        const auto take = [&leaves](const auto& leaf) { leaves.push_back({ElementPath(leaf.first), leaf.second}); };
        const auto own = leaves_.equal_range(path.text());
        std::for_each(own.first, own.second, take);
        const std::string below = path.text() + '/';
        for (auto leaf = leaves_.lower_bound(below); leaf != leaves_.end() && leaf->first.starts_with(below); ++leaf) {
            take(*leaf);
        }
        std::sort(leaves.begin(), leaves.end(), [](const Leaf& a, const Leaf& b) {
            const bool a_sends = a.queue_pairs > 0;
            const bool b_sends = b.queue_pairs > 0;
            return a_sends != b_sends ? a_sends : drawing::comes_before(a.path.name(), b.path.name());
        });
        return leaves;
    }

    void add_device_notes()
    {
        const auto draining = std::count_if(device_.tree.begin(), device_.tree.end(),
                                            [](const api::TreeElement& element) { return element.draining; });
        if (draining > 0) {
            add_note(loaded_, fmt::format("{} of an earlier policy still there; it is simulated without senders",
                                          draining == 1 ? "1 leaf is" : fmt::format("{} leaves are", draining)));
        }
        if (device_.attach_mode == "none") {
            add_note(loaded_, "attach mode none: no queue pair is in the tree, so nothing of this is enforced");
        }
        if (device_.link_speed.is_zero()) {
            add_note(loaded_, "the link is down: nothing can be sent");
        }
        if (device_.queue_pairs_outside > 0) {
            add_note(loaded_, fmt::format("outside the tree: {} of programs, which compete with all of it; what they "
                                          "send is not simulated, and every figure holds only without it",
                                          counted(device_.queue_pairs_outside, "queue pair")));
        }
    }

    void add(const Load& load)
    {
        const auto index = class_of_level_.find(to_lower(load.level));
        Class* found = index == class_of_level_.end() ? nullptr : &classes_[index->second];
        if (const auto dscp = dscp_of_outside(load.level); found == nullptr && dscp) {
            add_beside_tree(loaded_, load.level, *dscp, load.senders.value_or(1), load.rate);
        } else if (found == nullptr) {
            add_outside(loaded_, load.level, kNoLeaf);    // the responder of a level on another device
        } else if (found->path.empty()) {
            add_outside(loaded_, found->level, kNoSchedule);
        } else if (found->is_monitored) {
            add_outside(loaded_, found->level, kMonitored);
        } else if (found->leaves.empty()) {
            add_outside(loaded_, found->level, device_.tree.empty() ? "the device has no tree now" : kNoLeaf);
        } else if (load.senders) {
            add_senders(*found, *load.senders, load.rate);
        } else {
            add_to_all(*found, load.rate);
        }
    }

    // Every leaf that holds queue pairs and has no load yet, with a part of the rate.
    void add_to_all(Class& one, std::optional<Bandwidth> rate)
    {
        if (is_single(one)) {
            add_to_rest(one, rate);
            return;
        }
        const auto busy = static_cast<std::size_t>(
            std::count_if(one.leaves.begin(), one.leaves.end(), [](const Leaf& leaf) { return leaf.queue_pairs > 0; }));
        const std::size_t left = busy - std::min(busy, one.taken);
        if (left == 0) {
            add_senders(one, 1, rate);
            return;
        }
        for (std::size_t i = 0; i < left; ++i, ++one.taken) {
            const Leaf& leaf = one.leaves[one.taken];
            std::optional<Bandwidth> part;
            if (rate) {
                part = Bandwidth::from_kbps(rate->kbps() / left + (i < rate->kbps() % left ? 1 : 0));
            }
            add_demand(loaded_, leaf.path, 1, of_sessions(one, leaf.path, part));
        }
    }

    // All queue pairs in the one leaf of a class that have no load yet.
    void add_to_rest(Class& one, std::optional<Bandwidth> rate)
    {
        const auto rates = loaded_.there.rates(one.path);
        if (one.taken >= rates.size()) {
            add_to_single(one, 1, rate);
            return;
        }
        Senders rest;
        for (std::size_t i = one.taken; i < rates.size(); ++i) {
            rest.add(one.path, rates[i]);
        }
        add_demand(loaded_, one.path, rates.size() - one.taken, at_most_paced(one, rest.most(one.path), rate));
        one.taken = rates.size();
    }

    std::optional<Bandwidth> at_most_paced(const Class& one, std::optional<Bandwidth> most,
                                           std::optional<Bandwidth> wish)
    {
        if (most) {
            add_note(loaded_,
                     fmt::format("{}: paced queue pairs of sessions demand no more than their rates", one.level));
        }
        return at_most(wish, most);
    }

    // What the queue pairs of sessions in a leaf ask for, of what they would like.
    std::optional<Bandwidth> of_sessions(const Class& one, const ElementPath& leaf, std::optional<Bandwidth> wish)
    {
        return at_most_paced(one, loaded_.there.most(leaf), wish);
    }

    // The class is one leaf, whoever sends.
    [[nodiscard]] static bool is_single(const Class& one)
    {
        return one.leaves.size() == 1 && one.leaves.front().path == one.path;
    }

    void add_senders(Class& one, std::size_t senders, std::optional<Bandwidth> rate)
    {
        if (is_single(one)) {
            add_to_single(one, senders, rate);
            return;
        }
        while (senders > 0 && has_untaken_leaf(one)) {
            const ElementPath& leaf = one.leaves[one.taken++].path;
            add_demand(loaded_, leaf, 1, of_sessions(one, leaf, rate));
            --senders;
        }
        if (senders == 0) {
            return;
        }
        const HeldLimit held = hold_imagined_of(one);
        for (; senders > 0; --senders) {
            const ElementPath leaf = next_leaf(one, held);
            add_demand(loaded_, leaf, 1, at_most(rate, paced_at(held)));
            loaded_.there.add(leaf, paced_at(held));
        }
    }

    // Queue pairs of sessions first, each with the rate it has.
    void add_to_single(Class& one, std::size_t senders, std::optional<Bandwidth> rate)
    {
        const auto rates = loaded_.there.rates(one.path);
        for (; senders > 0 && one.taken < rates.size(); --senders) {
            add_demand(loaded_, one.path, 1, at_most(rate, rates[one.taken++]));
        }
        if (senders > 0) {
            const auto paced = paced_at(hold_imagined_of(one));
            for (std::size_t i = 0; i < senders; ++i) {
                add_demand(loaded_, one.path, 1, at_most(rate, paced));
            }
            loaded_.there.add(one.path, paced, senders);
        }
    }

    HeldLimit hold_imagined_of(const Class& one)
    {
        const auto limit = one.queue_pair_cap ? std::optional(RateLimit{*one.queue_pair_cap, {}, {}}) : std::nullopt;
        return hold_sender(loaded_, one.level, one.fair_by, device_.capabilities, limit);
    }

    [[nodiscard]] static bool has_untaken_leaf(const Class& one)
    {
        return one.taken < one.leaves.size() && one.leaves[one.taken].queue_pairs > 0 &&
               one.leaves[one.taken].path.name() != kOthers;
    }

    // A new leaf, else what those without a leaf share.
    ElementPath next_leaf(Class& one, const HeldLimit& held)
    {
        ElementPath others = shared_leaf(one);
        if (free_leaves_ == 0) {
            add_note(loaded_, fmt::format("{}: the device has no leaf left; more senders share {}", one.level,
                                          printable(others.text())));
            return others;
        }
        --free_leaves_;
        ElementPath path = one.path.child(fmt::format("{}-{}", noun_of(one.fair_by), ++one.imagined));
        Element leaf = loaded_.tree.at(others);
        if (held.by == LimitHolder::Leaf) {
            leaf.attributes.max_rate = at_most(leaf.attributes.max_rate, held.limit->rate);
        }
        loaded_.tree[path] = leaf;
        add_note(loaded_, fmt::format("{}: senders beyond the sessions there are have leaves like {}-1", one.level,
                                      noun_of(one.fair_by)));
        return path;
    }

    [[nodiscard]] static ElementPath shared_leaf(const Class& one)
    {
        const auto found = std::find_if(one.leaves.begin(), one.leaves.end(),
                                        [](const Leaf& leaf) { return leaf.path.name() == kOthers; });
        return found == one.leaves.end() ? one.leaves.front().path : found->path;
    }

    const DeviceView& device_;
    std::uint32_t free_leaves_ = 0;
    std::multimap<std::string, std::uint32_t> leaves_;    // queue pairs by path; without those of an earlier policy
    std::vector<Class> classes_;
    std::unordered_map<std::string, std::size_t> class_of_level_;    // index of classes_ by its name in small letters
    LoadedTree loaded_;
};

}    // namespace

LoadedTree load_live_tree(const std::vector<api::Level>& levels, const DeviceView& device, const Senders& there,
                          const LoadStep& step)
{
    return LiveLoader(levels, device, there).run(step);
}

std::vector<std::string> level_names(const World& world)
{
    std::set<std::string_view> elements;    // of any device
    for (const auto& device : world.devices) {
        for (const auto& element : device.tree) {
            elements.insert(element.path);
        }
    }
    std::vector<std::string> names;
    for (const auto& level : world.manager.levels) {
        names.push_back(level.name);
        const std::string& path = level.class_path;
        if (!path.empty() && elements.contains(responder_of(ElementPath(path)).text())) {
            names.push_back(names.back() + std::string(kResponder));
        }
    }
    return names;
}

}    // namespace rdmaqos::ctl
