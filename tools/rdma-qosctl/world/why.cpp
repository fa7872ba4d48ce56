#include "tools/rdma-qosctl/world/why.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/base/text.h"
#include "lib/model/senders.h"
#include "lib/model/solver.h"
#include "tools/rdma-qosctl/world/competition.h"
#include "tools/rdma-qosctl/world/host.h"
#include "tools/rdma-qosctl/world/lost_levels.h"
#include "tools/rdma-qosctl/world/online.h"
#include "tools/rdma-qosctl/world/port_levels.h"

namespace rdmaqos::ctl {
namespace {

// Shares and pacing come in whole numbers; less than this is no difference.
constexpr double kNoticeable = 0.001;

bool is_less(Bandwidth a, Bandwidth b)
{
    return static_cast<double>(a.kbps()) < static_cast<double>(b.kbps()) * (1 - kNoticeable);
}

const DeviceView* device_of(const World& world, const std::string& key)
{
    const auto found = find_device(world, key);
    return found ? *found : nullptr;
}

// nullptr: the running policy has no such level.
const api::Level* find_level(const World& world, std::string_view name)
{
    const auto& levels = world.manager.levels;
    const auto found = std::ranges::find_if(
        levels, [&](const api::Level& level) { return equals_ignoring_case(level.name, name); });
    return found == levels.end() ? nullptr : &*found;
}

// The option of a level or of a scheduling node by which the element of that path has its cap.
std::string owner_of_cap(const World& world, const std::string& path)
{
    const std::string name(ElementPath(path).name());
    const std::string above = ElementPath(path).parent().text();
    for (const auto& level : world.manager.levels) {
        if (!above.empty() && level.class_path == above && !name.starts_with("qp:")) {
            return fmt::format("`max-rate-each` of level {}", level.name);
        }
        if (level.class_path == path) {
            const auto cap = std::ranges::find(level.overrides, "max-rate", &api::Override::property);
            return fmt::format("`max-rate` of level {}{}", level.name,
                               cap == level.overrides.end()
                                   ? ""
                                   : fmt::format(" (overridden: without that it is {})", cap->in_place_of));
        }
    }
    return name.find(':') != std::string::npos ? fmt::format("the limit of each queue pair ({})", name)
                                               : fmt::format("`max-rate` of scheduling node {}", name);
}

// What a traffic class of the port has its maximum rate from: the policy, where something below it has the same cap.
std::string owner_of_class_cap(const World& world, const WhyLeaf& leaf, const WhyStep& of_class)
{
    const DeviceView* device = device_of(world, leaf.device);
    const bool is_kept = device != nullptr && has_kept_classes(*device);
    for (const auto& step : leaf.steps) {
        if (!step.port_class && step.max_rate && step.max_rate == of_class.max_rate) {
            return fmt::format(
                "{} and reload{}", owner_of_cap(world, step.path),
                is_kept ? fmt::format(": the daemon then sets {} by it", of_class.path)
                        : fmt::format("; then set {} by it, as `rdma-qosctl export dcb` prints", of_class.path));
        }
    }
    return is_kept
               ? fmt::format("the maximum rate of {} of the port, which the daemon sets by the policy (`rdma-qosctl "
                             "plan` shows for which levels)",
                             of_class.path)
               : fmt::format("the maximum rate of {} of the port (`rdma-qosctl export dcb` prints what the policy "
                             "would set it to)",
                             of_class.path);
}

const WhyStep* narrowest_cap(const WhyLeaf& leaf)
{
    const auto found = std::ranges::find_if(leaf.steps, &WhyStep::is_narrowest_cap);
    return found == leaf.steps.end() ? nullptr : &*found;
}

// nullptr: no step caps it, so the leaf itself.
std::string owner_of_cap(const World& world, const WhyLeaf& leaf, const WhyStep* cap)
{
    return cap != nullptr && cap->port_class ? owner_of_class_cap(world, leaf, *cap)
                                             : owner_of_cap(world, cap != nullptr ? cap->path : leaf.leaf);
}

// The tree of a device as the solver takes it, who is active in it, and where a process is in it. Paths are those of
// the device's tree.
class ActiveTree {
public:
    ActiveTree(const World& world, const DeviceView& device) : competition_(compete(world, device))
    {
        for (const auto& [port_class, processes] : competition_.senders) {
            for (const auto& [process, senders] : processes) {
                for (const auto& [leaf, most] : senders.demands()) {
                    for (auto at = tree().find(competition_.place(process, leaf)); at != tree().end();
                         at = tree().find(at->second.parent)) {
                        busy_paths_[port_class].insert(at->first);
                    }
                }
            }
        }
    }

    // Whose questions the following ones are: of queue pairs in this class.
    void ask_for(std::uint64_t process, std::uint8_t port_class)
    {
        process_ = process;
        port_class_ = port_class;
    }

    [[nodiscard]] Bandwidth link_speed() const { return competition_.link_speed; }
    [[nodiscard]] const LevelClasses& classes() const { return competition_.classes; }
    [[nodiscard]] bool contains(const ElementPath& leaf) const { return tree().contains(place(leaf)); }
    [[nodiscard]] const Senders& senders() const { return competition_.around(port_class_, process_); }
    [[nodiscard]] std::size_t other_processes() const { return competition_.other_processes(port_class_, process_); }
    [[nodiscard]] Allocation alone(const ElementPath& leaf) const
    {
        return competition_.alone(port_class_, place(leaf));
    }
    [[nodiscard]] Bandwidth busy(const ElementPath& leaf) const { return rate_of(place(leaf)); }

    // From the root to the leaf.
    [[nodiscard]] std::vector<WhyStep> way_to(const ElementPath& leaf) const
    {
        std::vector<WhyStep> steps;
        const ElementPath own_root = place(ElementPath::root());
        for (ElementPath path = place(leaf); !path.empty(); path = tree().at(path).parent) {
            const Element& element = tree().at(path);
            const std::string& name = path.text();
            WhyStep step;
            step.is_tree_of_process = path == own_root && !path.is_root();
            // In the device's tree.
            step.path = competition_.is_per_process && path != own_root && !path.is_root()
                            ? name.substr(own_root.text().size())
                            : name;
            step.max_rate = element.attributes.max_rate;
            if (path.is_root() && classes().divide()) {
                steps.push_back(step_of_class());
            }
            if (!path.is_root()) {
                step.share = element.attributes.share;
                step.share_of = weight(element);
                add_siblings(path, element, step);
            }
            steps.push_back(std::move(step));
        }
        std::reverse(steps.begin(), steps.end());
        return steps;
    }

    // Which part of the port each of those that divide it leaves to the leaf.
    [[nodiscard]] std::vector<WhyStage> stages_to(const ElementPath& leaf) const
    {
        std::vector<WhyStage> stages;
        const ElementPath own_root = place(ElementPath::root());
        add_stage(stages, name_of(port_class_), rate_of(ElementPath::root()), false);
        if (!own_root.is_root()) {
            add_stage(stages, "the trees of processes", rate_of(own_root), other_processes() > 0);
        }
        add_stage(stages, own_root.is_root() ? "the tree" : "its tree", busy(leaf), false);
        return stages;
    }
    void add_stage(std::vector<WhyStage>& stages, std::string by, Bandwidth rate, bool assumed) const
    {
        const Bandwidth before = stages.empty() ? link_speed() : stages.back().rate;
        const double part = before.is_zero() ? 0
                                             : static_cast<double>(rate.kbps()) / static_cast<double>(before.kbps());
        stages.push_back({std::move(by), rate, part, assumed});
    }

private:
    [[nodiscard]] static std::uint32_t weight(const Element& element) { return std::max(1U, element.attributes.share); }
    [[nodiscard]] static std::string name_of(std::uint8_t port_class)
    {
        return fmt::format("traffic class {}", port_class);
    }

    [[nodiscard]] const Tree& tree() const { return competition_.tree; }
    [[nodiscard]] ElementPath place(const ElementPath& path) const { return competition_.place(process_, path); }
    // Of what is in the class, when all send.
    [[nodiscard]] Bandwidth rate_of(const ElementPath& at) const
    {
        return Allocation{competition_.busy_kbps(port_class_, at), {}, {}, {}}.rate();
    }

    // Those of its rank have a part beside it, those of higher ranks go before it.
    [[nodiscard]] WhyStep step_of_class() const
    {
        const PortClasses& port = classes().port();
        const PortClass& own = port.classes.at(port_class_);
        WhyStep step;
        step.path = name_of(port_class_);
        step.port_class = port_class_;
        step.is_strict = own.is_strict;
        step.max_rate = own.max_rate;
        step.is_held_by_siblings = competition_.is_held_by_other_classes(port_class_);
        if (!own.is_strict) {
            step.share = weight_of(own);
            step.share_of = weight_of(own);
        }
        for (const auto& [number, processes] : competition_.senders) {
            if (number == port_class_ || rank_of(port, number) < rank_of(port, port_class_)) {
                continue;
            }
            const bool goes_before = rank_of(port, number) > rank_of(port, port_class_);
            step.siblings.push_back(fmt::format("{} ({}{})", name_of(number), in_words(port.classes.at(number)),
                                                goes_before ? ", goes first" : ""));
            step.share_of += goes_before ? 0 : weight_of(port.classes.at(number));
        }
        return step;
    }

    void add_siblings(const ElementPath& path, const Element& element, WhyStep& step) const
    {
        const auto busy = busy_paths_.find(port_class_);
        if (busy == busy_paths_.end()) {
            return;
        }
        for (const auto& other : busy->second) {
            const Element& sibling = tree().at(other);
            if (other != path && sibling.parent == element.parent) {
                step.share_of += weight(sibling);
                step.siblings.push_back(fmt::format("{} (share {})", other.name(), weight(sibling)));
            }
        }
    }

    Competition competition_;
    std::uint64_t process_ = 0;
    std::uint8_t port_class_ = 0;
    std::map<std::uint8_t, std::set<ElementPath>> busy_paths_;    // by class: with queue pairs in or below them
};

void mark_narrowest_cap(WhyLeaf& leaf)
{
    WhyStep* narrowest = nullptr;
    for (auto& step : leaf.steps) {
        if (step.max_rate && *step.max_rate < leaf.link_speed &&
            (narrowest == nullptr || *step.max_rate < *narrowest->max_rate)) {
            narrowest = &step;
        }
    }
    if (narrowest != nullptr) {
        narrowest->is_narrowest_cap = true;
    }
}

// What others leave to it of its parent.
double part_of(const WhyStep& step, const WhyLeaf& leaf)
{
    // A class that others go before does not get what its weight says.
    return step.port_class ? leaf.stages.front().part
                           : static_cast<double>(std::max(1U, *step.share)) / static_cast<double>(step.share_of);
}

// The step where most is lost to others: the smallest part of its parent.
const WhyStep* most_crowded(const WhyLeaf& leaf)
{
    const WhyStep* worst = nullptr;
    for (const auto& step : leaf.steps) {
        if (!step.siblings.empty() && step.is_held_by_siblings &&
            (worst == nullptr || part_of(step, leaf) < part_of(*worst, leaf))) {
            worst = &step;
        }
    }
    return worst;
}

std::string paced_in_words(const WhyLeaf& leaf)
{
    return fmt::format("paced: its {} may send {}{} ({})", counted(leaf.queue_pairs.size(), "queue pair"),
                       to_string(*leaf.paced), leaf.queue_pairs.size() == 1 ? "" : " together", leaf.pacing);
}

// What a queue pair in no leaf competes with.
std::string whole_of(const WhyLeaf& leaf, const char* without_classes)
{
    return leaf.port_class ? fmt::format("all that is in traffic class {} of the port", *leaf.port_class)
                           : without_classes;
}

// Each by its own rate, with nothing that holds them together.
void judge_paced_outside(WhyLeaf& leaf)
{
    leaf.own = leaf.alone = leaf.busy = std::min(*leaf.paced, leaf.link_speed);
    leaf.narrowness = is_less(*leaf.paced, leaf.link_speed) ? Narrowness::Paced : Narrowness::Nothing;
    leaf.verdict = fmt::format("{}; not in the tree, so {} with {}, without share or guarantee", paced_in_words(leaf),
                               leaf.queue_pairs.size() == 1 ? "it competes" : "they compete",
                               whole_of(leaf, "the whole tree"));
    leaf.advice = fmt::format("raise `per-queue-pair: max-rate` of level {}, or use more queue pairs", leaf.level);
}

void judge_outside(const World& world, const SessionView& session, const std::string& cause, WhyLeaf& leaf)
{
    const DeviceView* device = device_of(world, leaf.device);
    const api::Level* level = find_level(world, leaf.level);
    if (leaf.paced && device != nullptr && leaf.lost_level.empty()) {
        judge_paced_outside(leaf);
        return;
    }
    leaf.narrowness = Narrowness::Outside;
    leaf.verdict = fmt::format("{}: it competes with {}, without share, guarantee or cap",
                               leaf.remark.empty() ? "not in the tree"
                                                   : fmt::format("not in the tree: {}", leaf.remark),
                               whole_of(leaf, "the whole tree"));
    if (!leaf.lost_level.empty()) {
        leaf.verdict = fmt::format("{}; outside the tree it competes with {}, without share, guarantee or cap",
                                   leaf.remark, whole_of(leaf, "all of it"));
        leaf.remark.clear();
        return;    // the advice is to get a level again: nothing else helps
    }
    leaf.remark.clear();
    if (session.state == "detached") {
        leaf.advice = session.adopted
                          ? "the process must open a device again; restart it if it does not"
                          : "the process must attach its queue pairs again when the device is back; restart it if it "
                            "does not";
    } else if (world.manager.mode == "monitor") {
        leaf.advice = "set `mode: enforce` in /etc/rdma-qos/rdma-qosd.yaml and reload";
    } else if (device != nullptr && device->state == "disabled") {
        leaf.advice = fmt::format("`rdma-qosctl enable {}` places it again", leaf.device);
    } else if (cause == "level-monitor") {
        leaf.advice = fmt::format("set `mode: enforce` of level {} in the policy and reload", leaf.level);
    } else if (cause == "nothing-asked" || (cause.empty() && level != nullptr && level->class_path.empty())) {
        leaf.advice = fmt::format("level {} has no `schedule`: give it one, or ask for a level that has "
                                  "(`rdma-qosctl levels`)",
                                  leaf.level);
    } else if (level != nullptr && level->per_queue_pair_max_rate && level->class_path.empty()) {
        leaf.advice = fmt::format("`rdma-qosctl devices {}` shows under `pacing` what the device can hold",
                                  leaf.device);
    } else if (device != nullptr && device->attach_mode == "none") {
        leaf.advice = "this device cannot attach queue pairs; use another one, or update its firmware";
    } else {
        leaf.advice = fmt::format("`rdma-qosctl devices {}` shows what the device refuses; `rdma-qosctl reconcile {}` "
                                  "tries again",
                                  leaf.device, leaf.device);
    }
}

// The port gives its traffic class too little.
void judge_crowded_class(const WhyStep& step, WhyLeaf& leaf)
{
    leaf.verdict = fmt::format(
        "crowded: {} of the port {}; {}", step.path,
        step.is_strict ? "is strict" : fmt::format("has weight {} of {}", step.share.value_or(1), step.share_of),
        step.siblings.size() == 1 ? fmt::format("{} sends too", step.siblings.front())
                                  : fmt::format("{} others send too", step.siblings.size()));
    leaf.advice = "raise the share of the child of the tree's root that the level is below, and set the port's weights "
                  "by it: `rdma-qosctl export dcb` prints how";
}

// The leaf itself.
bool is_more_crowded_than(const WhyStep& step, const WhyLeaf& leaf)
{
    return step.port_class ? leaf.stages.back().part < part_of(step, leaf)
                           : leaf.others_in_leaf >= step.siblings.size();
}

void judge_crowded(const World& world, WhyLeaf& leaf)
{
    leaf.narrowness = Narrowness::Crowded;
    const WhyStep* step = most_crowded(leaf);
    if (leaf.others_in_leaf > 0 && (step == nullptr || is_more_crowded_than(*step, leaf))) {
        leaf.verdict = fmt::format("crowded: {} of others in the same leaf {}, which compete queue pair by queue pair; "
                                   "of {} its own {} {}",
                                   counted(leaf.others_in_leaf, "queue pair"), leaf.leaf, to_string(leaf.busy),
                                   counted(leaf.queue_pairs.size(), "queue pair"),
                                   leaf.queue_pairs.size() == 1 ? "gets its part" : "get their part");
        leaf.advice = ElementPath(leaf.leaf).name() == "others"
                          ? fmt::format("raise `leaf-budget` of level {}, so that it gets a leaf of its own",
                                        leaf.level)
                          : fmt::format("`fair-by: process` on level {} gives every process a leaf of its own",
                                        leaf.level);
        return;
    }
    if (step == nullptr) {
        leaf.verdict = "crowded";
        return;
    }
    if (step->port_class) {
        judge_crowded_class(*step, leaf);
        return;
    }
    if (step->is_tree_of_process) {
        leaf.verdict = fmt::format(
            "crowded: {} {}, and in attach mode per-process no share holds between "
            "processes; equal parts are "
            "assumed",
            step->siblings.size() == 1 ? "one other process sends"
                                       : fmt::format("{} other processes send", step->siblings.size()),
            leaf.port_class ? fmt::format("in traffic class {} of this port", *leaf.port_class) : "on this port");
        leaf.advice = fmt::format("cap the levels of the others (`max-rate`); shares need firmware that lets processes "
                                  "share leaves (`rdma-qosctl devices {}`)",
                                  leaf.device);
        return;
    }
    leaf.verdict = fmt::format(
        "crowded: {} has share {} of {}; {}", step->path, std::max(1U, *step->share), step->share_of,
        step->siblings.size() == 1 ? "one other sends too" : fmt::format("{} others send too", step->siblings.size()));
    const api::Level* level = find_level(world, leaf.level);
    const bool in_class = level != nullptr && ElementPath(step->path).parent().text() == level->class_path;
    leaf.advice = in_class ? fmt::format("the class itself is full: raise the share, `min-rate` or `max-rate` of level "
                                         "{}, or move some of its {} processes to another level",
                                         leaf.level, step->siblings.size() + 1)
                           : fmt::format("raise the share of {}, or give it a `min-rate`; `rdma-qosctl simulate` shows "
                                         "what that takes from the others",
                                         step->path);
}

void judge(const World& world, WhyLeaf& leaf)
{
    if (leaf.paced && !is_less(leaf.own, *leaf.paced) && is_less(*leaf.paced, leaf.alone)) {
        leaf.narrowness = Narrowness::Paced;
        leaf.verdict = paced_in_words(leaf);
        leaf.advice = fmt::format("raise `per-queue-pair: max-rate` of level {}, or use more queue pairs", leaf.level);
        return;
    }
    if (is_less(leaf.own, leaf.alone)) {
        judge_crowded(world, leaf);
        return;
    }
    if (is_less(leaf.alone, leaf.link_speed)) {
        leaf.narrowness = Narrowness::Capped;
        const WhyStep* cap = narrowest_cap(leaf);
        leaf.verdict = fmt::format("capped: {} may send {}, and nobody {}takes from it",
                                   cap != nullptr ? cap->path : leaf.leaf, to_string(leaf.alone),
                                   leaf.outside == 0 ? "else " : "in the tree ");
        leaf.advice = fmt::format("raise {}", owner_of_cap(world, leaf, cap));
        return;
    }
    leaf.verdict = fmt::format("nothing in the tree limits it: it may use the whole port, {}", to_string(leaf.alone));
    leaf.advice = "if it sends less, the cause is elsewhere: the program, PCIe, the network or the other end";
}

// What to do about a class that its packets are in by mistake is to mark them.
void advise_to_mark(WhyLeaf& leaf)
{
    const WhyStep* cap = narrowest_cap(leaf);
    const bool is_held_elsewhere = leaf.narrowness == Narrowness::Paced || leaf.narrowness == Narrowness::Outside ||
                                   (leaf.narrowness == Narrowness::Capped && cap != nullptr && !cap->port_class);
    if (leaf.missing_dscp && !is_held_elsewhere) {
        leaf.advice = fmt::format("mark its packets with DSCP {} of level {}, so that they are in that level's traffic "
                                  "class: start its program with `rdma-qos-run`, or with the variables that "
                                  "`rdma-qosctl env --level {}` prints",
                                  *leaf.missing_dscp, leaf.level, leaf.level);
    }
}

// What is in no leaf takes from the whole tree as much as it can: nothing that the tree says holds against it.
void judge_with_outside(WhyLeaf& leaf)
{
    if (leaf.outside == 0 || leaf.narrowness == Narrowness::Outside) {
        return;
    }
    const std::string who = fmt::format("{} outside the tree{}", counted(leaf.outside, "queue pair"),
                                        leaf.outside_senders.empty() ? "" : fmt::format(" ({})", leaf.outside_senders));
    const std::string compete = leaf.outside == 1 ? "competes" : "compete";
    const std::string with_whom = leaf.port_class ? "all that is in the traffic classes of their packets"
                                                  : "the whole tree";
    const std::string govern =
        "bring what is outside into the tree, or end it (`rdma-qosctl qps --outside` says why it "
        "is there)";
    if (leaf.narrowness == Narrowness::Crowded) {
        leaf.verdict += fmt::format("; and {} {} with {}", who, compete, leaf.port_class ? with_whom : "all of it");
        leaf.advice = fmt::format("{}; then {}", govern, leaf.advice);
        return;
    }
    leaf.verdict = fmt::format("{}, as long as {} {} nothing: {} with {}, without share or cap", leaf.verdict, who,
                               leaf.outside == 1 ? "sends" : "send", leaf.outside == 1 ? "it competes" : "they compete",
                               with_whom);
    leaf.advice = fmt::format("{}; without it, {}", govern, leaf.advice);
    leaf.narrowness = Narrowness::Crowded;
}

// Whether the port sends enough for any element on the way to be full: each holds at least what the leaf gets alone.
bool fills_the_way(const PortUse& port, const WhyLeaf& leaf)
{
    constexpr std::uint64_t kFullPercent = 80;
    return port.transmits.kbps() >= leaf.alone.kbps() / 100 * kFullPercent;
}

// The smallest rate on the way below which others have queue pairs, and where it holds; the port's if they are outside.
struct SharedRate {
    Bandwidth rate;
    std::string where;
};

SharedRate shared_rate(const PortUse& port, const WhyLeaf& leaf)
{
    SharedRate shared{leaf.link_speed, port.device};
    bool with_others = leaf.others_in_leaf > 0;
    for (auto step = leaf.steps.rbegin(); step != leaf.steps.rend(); ++step) {
        if (with_others && step->max_rate && *step->max_rate < shared.rate) {
            shared = {*step->max_rate, step->path};
        }
        with_others = with_others || !step->siblings.empty();
    }
    return shared;
}

// Others have queue pairs, but nothing on the way is full. The port's counters do not say who sends: at worst all that
// it transmits is of others, and below the same element.
void judge_by_rest(const World& world, const PortUse& port, WhyLeaf& leaf)
{
    const WhyStep* cap = narrowest_cap(leaf);
    const bool capped = cap != nullptr;
    leaf.narrowness = capped ? Narrowness::Capped : Narrowness::Nothing;
    const SharedRate shared = shared_rate(port, leaf);
    const auto left = Bandwidth::from_kbps(shared.rate.kbps() - std::min(shared.rate, port.transmits).kbps());
    const std::string now = fmt::format("not crowded now: {} transmits {} of {} ({:.0f} %)", port.device,
                                        to_string(port.transmits), to_string(port.link_speed),
                                        100 * port.utilisation());
    const std::string beyond = capped ? fmt::format("; beyond {}, raise {}", to_string(leaf.alone),
                                                    owner_of_cap(world, leaf, cap))
                                      : "";
    const std::string elsewhere = "the cause is elsewhere: the program, PCIe, the network or the other end";
    if (!is_less(left, leaf.alone)) {
        leaf.verdict = fmt::format("{}, so others take nothing from it and it may send {}", now, to_string(leaf.alone));
        leaf.advice = fmt::format("if it sends less, {}{}", elsewhere, beyond);
        return;
    }
    leaf.verdict = fmt::format(
        "{}, so at least {}{} are left, by which it may send more than now; if all send all they can, its part is {}{}",
        now, to_string(left),
        shared.where == port.device ? "" : fmt::format(" of the {} of {}", to_string(shared.rate), shared.where),
        to_string(leaf.own), leaf.outside == 0 ? "" : ", or less, as what is outside the tree takes from all of it");
    leaf.advice = fmt::format("if it does not send more although that is left, {}{}", elsewhere, beyond);
}

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

std::string_view to_string(Narrowness narrowness)
{
    switch (narrowness) {
    case Narrowness::Nothing:
        return "nothing";
    case Narrowness::Paced:
        return "paced";
    case Narrowness::Capped:
        return "capped";
    case Narrowness::Crowded:
        return "crowded";
    case Narrowness::Outside:
        return "outside";
    }
    return "";
}

double PortUse::utilisation() const
{
    return link_speed.is_zero() ? 0 : static_cast<double>(transmits.kbps()) / static_cast<double>(link_speed.kbps());
}

void judge_by_use(const World& world, const std::vector<PortUse>& ports, std::vector<WhySession>& sessions)
{
    for (auto& session : sessions) {
        for (auto& leaf : session.leaves) {
            const auto port = std::find_if(ports.begin(), ports.end(),
                                           [&](const PortUse& one) { return one.device == leaf.device; });
            if (leaf.narrowness == Narrowness::Crowded && port != ports.end() && !fills_the_way(*port, leaf)) {
                judge_by_rest(world, *port, leaf);
                advise_to_mark(leaf);
            }
        }
    }
}

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
