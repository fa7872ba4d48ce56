#include "tools/rdma-qosctl/simulate/loading.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "lib/base/text.h"

namespace rdmaqos::ctl::loading {

std::string_view noun_of(FairBy fair_by)
{
    switch (fair_by) {
    case FairBy::SlurmJob:
        return "job";
    case FairBy::KubernetesPod:
        return "pod";
    case FairBy::None:
        return to_string(FairBy::QueuePair);
    default:
        return to_string(fair_by);
    }
}

bool has_many_queue_pairs(FairBy fair_by)
{
    return fair_by != FairBy::None && fair_by != FairBy::QueuePair;
}

bool caps_by_leaves(const Capabilities& capabilities)
{
    const auto& paced = capabilities.pacing.supported_types;
    return capabilities.rate_caps &&
           !std::includes(paced.begin(), paced.end(), capabilities.attachable.begin(), capabilities.attachable.end());
}

HeldLimit hold_imagined(const Capabilities& capabilities, const RateLimit& limit)
{
    const auto& attachable = capabilities.attachable;
    const bool reliable = attachable.empty() || attachable.contains(QueuePairType::Rc);
    return hold_limit(limit, reliable ? QueuePairType::Rc : *attachable.begin(), capabilities, std::nullopt);
}

HeldLimit hold_sender(LoadedTree& loaded, std::string_view level, FairBy fair_by, const Capabilities& capabilities,
                      const std::optional<RateLimit>& limit)
{
    if (!limit) {
        return {};
    }
    if (has_many_queue_pairs(fair_by)) {
        add_note(loaded, fmt::format("{}: its limit of {} for each queue pair is not simulated, as a {} may have any "
                                     "number of them",
                                     level, to_string(limit->rate), noun_of(fair_by)));
        return {};
    }
    HeldLimit held = hold_imagined(capabilities, *limit);
    if (held.by == LimitHolder::Pacing) {
        add_note(loaded, fmt::format("{}: each queue pair is paced at {}, so it demands no more", level,
                                     to_string(held.limit->rate)));
    }
    if (held.gap != LimitGap::None) {
        add_note(loaded, fmt::format("{}: {}", level, shortfall(*limit, held)));
    }
    if (!held.note.empty()) {
        add_note(loaded, fmt::format("{}: {}", level, held.note));
    }
    return held;
}

std::optional<Bandwidth> paced_at(const HeldLimit& held)
{
    return held.by == LimitHolder::Pacing ? std::optional(held.limit->rate) : std::nullopt;
}

std::optional<Bandwidth> at_most(std::optional<Bandwidth> a, std::optional<Bandwidth> b)
{
    return a && b ? std::min(a, b) : (a ? a : b);
}

void add_demand(LoadedTree& loaded, const ElementPath& leaf, std::size_t senders, std::optional<Bandwidth> rate)
{
    loaded.senders[leaf] += senders;
    const auto [entry, is_new] = loaded.demands.try_emplace(leaf, rate);
    if (!is_new) {
        entry->second = entry->second && rate
                            ? std::optional(Bandwidth::from_kbps(entry->second->kbps() + rate->kbps()))
                            : std::nullopt;
    }
}

void add_note(LoadedTree& loaded, std::string note)
{
    if (std::find(loaded.notes.begin(), loaded.notes.end(), note) == loaded.notes.end()) {
        loaded.notes.push_back(std::move(note));
    }
}

void add_share_note(LoadedTree& loaded)
{
    if (guesses_shares(loaded.tree)) {
        add_note(loaded, "`share: device-default` counts as 1: the device does not tell the value of its default");
    }
}

void add_beside_tree(LoadedTree& loaded, std::string_view name, std::uint8_t dscp, std::size_t senders,
                     std::optional<Bandwidth> each)
{
    const std::string level = to_lower(name);
    const ElementPath leaf("/" + level);
    loaded.tree.try_emplace(ElementPath::root(), Element{ElementKind::Node, {}, {}});
    loaded.tree[leaf] = Element{ElementKind::Leaf, ElementPath::root(), {1, std::nullopt}};
    if (loaded.outside_leaves.insert(leaf).second) {
        loaded.levels.push_back({level, "queue pairs in no leaf", leaf, FairBy::None, dscp});
        add_note(loaded,
                 fmt::format("{}: each queue pair in no leaf is taken to compete as a whole tree does; no manual "
                             "says so",
                             level));
    }
    add_demand(loaded, leaf, senders,
               each ? std::optional(Bandwidth::from_kbps(each->kbps() * senders)) : std::nullopt);
    loaded.there.add(leaf, each, senders);
}

void add_outside(LoadedTree& loaded, std::string_view level, std::string_view why)
{
    OutsideLevel outside{std::string(level), std::string(why)};
    if (std::find(loaded.outside.begin(), loaded.outside.end(), outside) == loaded.outside.end()) {
        loaded.outside.push_back(std::move(outside));
    }
}

}    // namespace rdmaqos::ctl::loading

namespace rdmaqos::ctl {

void give_processes_trees(LoadedTree& loaded, ProcessSenders there, CapMode caps)
{
    loaded.is_per_process = true;
    loaded.caps = caps;
    loaded.processes = std::move(there);
    loading::add_note(loaded,
                      "attach mode per-process: every process has a tree of its own, and the port, or its traffic "
                      "class, is taken to serve these trees in equal parts; a sender that is only imagined is a "
                      "process of its own");
}

}    // namespace rdmaqos::ctl
