#include "tools/rdma-qosctl/world/why_judge.h"

#include <algorithm>

#include <fmt/format.h>

#include "lib/base/text.h"
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

const DeviceView* device_of(const World& world, const std::string& key)
{
    const auto found = find_device(world, key);
    return found ? *found : nullptr;
}

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

}    // namespace rdmaqos::ctl
