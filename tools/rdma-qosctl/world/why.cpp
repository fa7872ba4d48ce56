#include "tools/rdma-qosctl/world/why.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "lib/base/text.h"
#include "tools/rdma-qosctl/world/active_tree.h"
#include "tools/rdma-qosctl/world/host.h"
#include "tools/rdma-qosctl/world/lost_levels.h"
#include "tools/rdma-qosctl/world/online.h"
#include "tools/rdma-qosctl/world/why_judge.h"

namespace rdmaqos::ctl {
namespace {

// Queue pairs of an answer with the same device, leaf, level and fate.
struct Group {
    std::string device;
    std::string leaf;
    std::string level;
    std::string cause;              // why they are not enforced; empty: they are
    std::string reason{};           // without a level: since when
    std::uint8_t port_class = 0;    // a traffic class of the port; it divides nothing, or is gone: 0

    friend auto operator<=>(const Group&, const Group&) = default;
};

using Groups = std::map<Group, std::vector<const api::QueuePair*>>;

// Of these sessions, which are counted among those of the port.
std::uint32_t own_outside(const Groups& groups, const std::string& device)
{
    std::size_t count = 0;
    for (const auto& [group, queue_pairs] : groups) {
        count += group.device == device && group.leaf.empty() ? queue_pairs.size() : 0;
    }
    return static_cast<std::uint32_t>(count);
}

// In which traffic class their packets are, and by what that is known.
void explain_class(const World& world, const std::vector<const api::QueuePair*>& queue_pairs, const Group& group,
                   const LevelClasses& classes, WhyLeaf& leaf)
{
    CarriedDscps carried;
    for (const auto* queue_pair : queue_pairs) {
        carried.add(carried_dscp(world, *queue_pair));
    }
    const ElementPath path(group.leaf);
    leaf.port_class = group.port_class;
    leaf.class_reason = classes.reason(group.level, path, carried);
    const auto meant = classes.dscp_meant(group.level, path);
    if (meant && !carried.dscps.empty() && classes.class_of(group.level, path) != group.port_class) {
        leaf.missing_dscp = meant;
    }
}

// `tree` is nullptr for a device that is gone.
WhyLeaf explain_group(const World& world, const SessionView& session, const Groups& groups, const Group& group,
                      const std::vector<api::HostQueuePair>& outside, const ActiveTree* tree)
{
    const auto& queue_pairs = groups.at(group);
    WhyLeaf leaf;
    leaf.device = group.device;
    leaf.leaf = group.leaf;
    leaf.level = group.level;
    bool all_paced = true;
    std::uint64_t paced_kbps = 0;
    std::vector<std::optional<Bandwidth>> rates;
    for (const auto* queue_pair : queue_pairs) {
        leaf.queue_pairs.push_back(queue_pair->number);
        const RateLimit limit = queue_pair->rate.value_or(RateLimit{});
        rates.push_back(queue_pair->rate ? std::optional(limit.rate) : std::nullopt);
        all_paced = all_paced && queue_pair->rate.has_value();
        paced_kbps += limit.rate.kbps();
        const std::string pacing = pacing_text(limit);
        leaf.pacing = leaf.pacing.empty() || leaf.pacing == pacing ? pacing : "burst and packet: various";
        leaf.remark = leaf.remark.empty() ? queue_pair->reason : leaf.remark;
    }
    if (all_paced) {
        leaf.paced = Bandwidth::from_kbps(paced_kbps);
    }
    if (const auto& lost = queue_pairs.front()->lost; lost && group.cause == "no-level") {
        leaf.lost_level = lost->level;
        leaf.advice = advice_on_loss(*lost);
    }
    const ElementPath path(group.leaf);
    if (tree != nullptr) {
        leaf.link_speed = tree->link_speed();
    }
    if (tree != nullptr && tree->classes().divide()) {
        explain_class(world, queue_pairs, group, tree->classes(), leaf);
    }
    if (group.leaf.empty() || tree == nullptr || !tree->contains(path)) {
        judge_outside(world, session, group.cause, leaf);
        return leaf;
    }
    const std::uint64_t in_leaf = std::max<std::uint64_t>(tree->senders().count(path), leaf.queue_pairs.size());
    leaf.others_in_leaf = in_leaf - leaf.queue_pairs.size();
    leaf.other_processes = tree->other_processes();
    leaf.steps = tree->way_to(path);
    mark_narrowest_cap(leaf);
    leaf.alone = tree->alone(path).rate();
    leaf.busy = tree->busy(path);
    leaf.own = tree->senders().part(path, leaf.busy, rates);
    if (leaf.port_class) {
        leaf.stages = tree->stages_to(path);
        if (leaf.others_in_leaf > 0) {
            tree->add_stage(leaf.stages, "others in its leaf", leaf.own, false);
        }
    }
    const std::uint32_t all_outside = device_of(world, group.device)->queue_pairs_outside;
    leaf.outside = all_outside - std::min(all_outside, own_outside(groups, group.device));
    leaf.outside_senders = senders_outside(outside, group.device);
    judge(world, leaf);
    judge_with_outside(leaf);
    advise_to_mark(leaf);
    return leaf;
}

// The active trees of the devices, each built when it is first asked for.
class Trees {
public:
    explicit Trees(const World& world) : world_(world) {}

    // nullptr: the device is gone.
    [[nodiscard]] ActiveTree* of(const std::string& device)
    {
        auto found = trees_.find(device);
        if (found == trees_.end()) {
            const DeviceView* view = device_of(world_, device);
            if (view == nullptr) {
                return nullptr;
            }
            found = trees_.try_emplace(device, world_, *view).first;
        }
        return &found->second;
    }
    [[nodiscard]] std::size_t size() const { return trees_.size(); }

private:
    const World& world_;
    std::map<std::string, ActiveTree> trees_;    // by the key of the device
};

Group group_of(const World& world, const api::QueuePair& queue_pair, Trees& trees)
{
    const ActiveTree* tree = trees.of(queue_pair.device);
    return {queue_pair.device,
            queue_pair.leaf,
            queue_pair.level,
            queue_pair.cause,
            queue_pair.cause == "no-level" ? queue_pair.reason : "",
            tree == nullptr ? std::uint8_t{0}
                            : tree->classes().class_of(queue_pair.level, ElementPath(queue_pair.leaf),
                                                       carried_dscp(world, queue_pair))};
}

// Sessions that are alike in this have the same heading and the same advice.
using Likeness =
    std::tuple<std::uint64_t, std::uint64_t, bool, std::string, std::string, std::string, std::string, bool>;

Likeness likeness_of(const SessionView& session)
{
    const auto& grant = session.grant;
    return {session.owner.pid,
            session.owner.start_time,
            session.adopted,
            session.state,
            session.level,
            grant.rule,
            grant.lost ? grant.reason : std::string(),
            session.queue_pairs.empty()};
}

void explain(const World& world, const Groups& groups, const std::vector<api::HostQueuePair>& outside, Trees& trees,
             WhySession& result)
{
    for (const auto& [group, queue_pairs] : groups) {
        ActiveTree* tree = trees.of(group.device);
        if (tree != nullptr) {
            tree->ask_for(result.session.owner.pid, group.port_class);
        }
        result.leaves.push_back(explain_group(world, result.session, groups, group, outside, tree));
    }
    if (groups.empty()) {
        result.note = "no queue pair is attached: what it sends is outside the tree";
        if (result.session.grant.lost) {
            result.advice = advice_on_loss(*result.session.grant.lost);
        }
    }
}

std::optional<std::uint64_t> queue_pair_number(std::string_view target, std::string& device)
{
    const auto colon = target.rfind(':');
    if (colon == std::string_view::npos) {
        return std::nullopt;
    }
    device = target.substr(0, colon) == "qp" ? "" : std::string(target.substr(0, colon));
    return parse_number(target.substr(colon + 1));
}

bool has_queue_pair(const World& world, const SessionView& session, std::uint64_t number, const std::string& device)
{
    const DeviceView* named = device_of(world, device);
    return std::ranges::any_of(session.queue_pairs, [&](const auto& queue_pair) {
        return queue_pair.number == number &&
               (device.empty() || (named != nullptr && named->key() == queue_pair.device));
    });
}

}    // namespace

std::vector<WhySession> explain_sessions(const World& world, const std::vector<const SessionView*>& sessions,
                                         const std::vector<api::HostQueuePair>& outside, WhyWork* work)
{
    std::vector<WhySession> result;
    std::vector<Groups> groups;
    std::map<Likeness, std::size_t> known;
    Trees trees(world);
    for (const auto* session : sessions) {
        const auto [place, is_new] = known.try_emplace(likeness_of(*session), result.size());
        if (is_new) {
            result.push_back({*session, {}, {}, {}});
            groups.emplace_back();
        } else {
            result[place->second].more_sessions.push_back(session->id);
        }
        for (const auto& queue_pair : session->queue_pairs) {
            groups[place->second][group_of(world, queue_pair, trees)].push_back(&queue_pair);
        }
    }
    for (std::size_t i = 0; i < result.size(); ++i) {
        explain(world, groups[i], outside, trees, result[i]);
    }
    if (work != nullptr) {
        work->trees = trees.size();
        for (const auto& one : result) {
            work->answers += one.leaves.size();
        }
    }
    return result;
}

WhySession explain_session(const World& world, const SessionView& session,
                           const std::vector<api::HostQueuePair>& outside)
{
    return std::move(explain_sessions(world, {&session}, outside).front());
}

std::vector<const SessionView*> sessions_of(const World& world, const std::string& target)
{
    std::string device;
    const auto named_queue_pair = queue_pair_number(target, device);
    const auto number = parse_number(target);
    std::vector<const SessionView*> found;
    const auto collect = [&](auto matches) {
        for (const auto& session : world.sessions) {
            if (matches(session)) {
                found.push_back(&session);
            }
        }
    };
    if (number) {
        collect([&](const SessionView& session) { return session.owner.pid == *number; });
        if (found.empty()) {
            collect([&](const SessionView& session) { return has_queue_pair(world, session, *number, ""); });
        }
        return found;
    }
    if (named_queue_pair) {
        collect([&](const SessionView& session) { return has_queue_pair(world, session, *named_queue_pair, device); });
    }
    if (found.empty()) {
        collect([&](const SessionView& session) {
            const std::string& unit = session.owner.unit;
            return !unit.empty() && (unit == target || glob_matches(target, unit));
        });
    }
    return found;
}

}    // namespace rdmaqos::ctl
