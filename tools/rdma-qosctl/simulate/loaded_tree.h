// A device's tree under one step of the loads: what is solved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lib/base/units.h"
#include "lib/bus/value.h"
#include "lib/model/port_classes.h"
#include "lib/model/process_trees.h"
#include "lib/model/senders.h"
#include "lib/model/solver.h"
#include "lib/tree/attach_mode.h"
#include "lib/tree/compile.h"
#include "lib/tree/element.h"
#include "policy/model/policy.h"
#include "tools/rdma-qosctl/offline/targets.h"
#include "tools/rdma-qosctl/simulate/loads.h"
#include "tools/rdma-qosctl/world/views.h"

namespace rdmaqos::ctl {

// A level, or the responses of one ("rpc.responder"), and its class in a device's tree.
struct LevelPlace {
    std::string level;
    std::string use;
    ElementPath path;    // a leaf, or a node above leaves; left out of the tree where the class was folded
    FairBy fair_by = FairBy::None;
    std::uint8_t dscp = 0;    // of its packets; 0 where the level does not say it
};

// A level that a load names and that has no place in the tree.
struct OutsideLevel {
    std::string level;
    std::string why;

    friend bool operator==(const OutsideLevel&, const OutsideLevel&) = default;
};

// A device under one step of the loads.
struct LoadedTree {
    Tree tree;
    Demands demands;
    // Of leaves: those without an entry belong to nobody; with 0, to somebody who sends nothing in this step.
    std::map<ElementPath, std::size_t> senders;
    Senders there;    // all who are in the leaves, whether they send or not, with the rates at which they are paced
    PortClasses port{};                        // above the tree; as it is made: there are none
    bool is_per_process = false;               // each process has a tree of its own (processes.h)
    CapMode caps = CapMode::Whole;             // of the trees of processes
    ProcessSenders processes{};                // that are in the leaves; others are imagined
    std::set<ElementPath> outside_leaves{};    // that stand for what is in no leaf
    std::vector<LevelPlace> levels;            // that have a place
    std::vector<OutsideLevel> outside;         // that the step names
    std::vector<std::string> notes;            // what else the reader has to know, sentences
};

// As a reload with this policy would make it, with one leaf for each sender as far as the device has leaves.
[[nodiscard]] LoadedTree load_policy_tree(const Policy& policy, const Target& target, std::uint32_t leaf_reserve,
                                          const LoadStep& step);
// What loads may name, responders included.
[[nodiscard]] std::vector<std::string> level_names(const Policy& policy);

// As the daemon has it: the leaves of sessions are senders, and more are imagined where the step asks for more.
// `there`: who is in them.
[[nodiscard]] LoadedTree load_live_tree(const std::vector<api::Level>& levels, const DeviceView& device,
                                        const Senders& there, const LoadStep& step);
// As it would be in attach mode per-process. `there`: who is in the leaves.
void give_processes_trees(LoadedTree& loaded, ProcessSenders there, CapMode caps);
// What loads may name, responders included.
[[nodiscard]] std::vector<std::string> level_names(const World& world);

}    // namespace rdmaqos::ctl
