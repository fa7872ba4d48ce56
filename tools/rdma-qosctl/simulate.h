// "Who gets what?": a load on a device's tree, solved. Pure functions from a policy or a daemon's answers, and loads,
// to values; simulate_render.cpp, simulate_json.cpp and simulate_html.cpp show them.
//
//     policy or daemon ─┐
//                       ├─▶ LoadedTree ─▶ SimulatedStep ─▶ text, JSON, page
//     loads of one step ┘                   (simulate.cpp)
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/model/senders.h"
#include "lib/model/solver.h"
#include "lib/tree/compile.h"
#include "tools/rdma-qosctl/offline/offline_world.h"
#include "tools/rdma-qosctl/simulate/loads.h"
#include "tools/rdma-qosctl/world/views.h"

namespace rdmaqos::ctl {

// A level, or the responses of one ("rpc.responder"), and its class in a device's tree.
struct LevelPlace {
    std::string level;
    std::string use;
    ElementPath path;    // a leaf, or a node above leaves; left out of the tree where the class was folded
    FairBy fair_by = FairBy::None;
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
    std::vector<LevelPlace> levels;       // that have a place
    std::vector<OutsideLevel> outside;    // that the step names
    std::vector<std::string> notes;       // what else the reader has to know, sentences
};

// simulate_policy.cpp, simulate_live.cpp
// As a reload with this policy would make it, with one leaf for each sender as far as the device has leaves.
[[nodiscard]] LoadedTree load_policy_tree(const Policy& policy, const Target& target, std::uint32_t leaf_reserve,
                                          const LoadStep& step);
// As it is: the leaves of sessions are senders, and more are imagined where the step asks for more. `there`: who is in
// them. `levels`: keys of docs/dbus.md, "Levels".
[[nodiscard]] LoadedTree load_live_tree(const std::vector<bus::Dict>& levels, const DeviceView& device,
                                        const Senders& there, const LoadStep& step);
// What loads may name, responders included.
[[nodiscard]] std::vector<std::string> level_names(const Policy& policy);
[[nodiscard]] std::vector<std::string> level_names(const World& world);

// What keeps somebody from getting more.
struct Limit {
    enum class Kind : std::uint8_t {
        Idle,      // asks for nothing
        Demand,    // gets all it asks for
        Cap,       // the max-rate of the element `at`, its own or one above
        Below,     // caps of elements below it
        Link,
    };
    Kind kind = Kind::Idle;
    ElementPath at;
    std::optional<Bandwidth> rate;    // of the cap

    friend bool operator==(const Limit&, const Limit&) = default;
};

// Rates of senders and elements in kbit/s; `asked` is infinite for "as much as they get".
struct Rates {
    double asked = 0;
    double gets = 0;
    double guaranteed = 0;    // what it gets when everybody in the tree sends
};

struct SimulatedElement {
    ElementPath path;
    ElementPath parent;
    ElementKind kind = ElementKind::Node;
    std::uint32_t depth = 0;    // of the root: 0
    ElementAttributes attributes;
    std::string level;    // of a class and of all below it; empty: a node above classes
    bool is_class = false;
    std::size_t senders = 0;
    Rates rates;
    Limit limit;
};

struct SimulatedLevel {
    std::string level;
    std::string use;
    ElementPath path;
    FairBy fair_by = FairBy::None;
    std::optional<ElementAttributes> attributes;    // empty: its class was folded
    std::size_t senders = 0;
    Rates rates;
    Limit limit;
};

// The largest difference between the solver and the packet-level simulation.
struct Deviation {
    ElementPath path;      // empty: nothing was compared
    double solver = 0;     // kbit/s
    double packets = 0;    // kbit/s
    double percent = 0;    // of the solver's rate
    std::size_t compared = 0;
    std::size_t too_slow = 0;    // elements that send too few packets to be compared
};

struct SimulatedStep {
    std::chrono::milliseconds at{0};
    std::chrono::milliseconds until{0};    // where it is drawn to
    std::string use;
    std::vector<SimulatedElement> elements;    // as a tree is drawn: parents before children
    std::vector<SimulatedLevel> levels;        // in the order of their elements
    std::vector<OutsideLevel> outside;
    double used = 0;    // of the link, kbit/s
    std::optional<Deviation> deviation;
};

struct SimulatedPort {
    std::string device;
    Bandwidth link_speed;
    std::vector<std::string> notes;    // without repetitions
    std::vector<SimulatedStep> steps;
};

struct SimulationReport {
    bool offline = false;
    bool over_time = false;
    std::string note;    // in words: what was loaded
    std::vector<SimulatedPort> ports;
};

// simulate.cpp
[[nodiscard]] SimulatedStep simulate_step(const LoadedTree& loaded, Bandwidth link_speed);
[[nodiscard]] Deviation check_by_packets(const LoadedTree& loaded, Bandwidth link_speed);
// The times of the steps; a last one without an end lasts as long as the one before it.
void set_times(const Loads& loads, std::vector<SimulatedStep>& steps);

// Neighbouring leaves of a class that differ in nothing but their names.
struct LeafRun {
    std::size_t first = 0;    // index of elements
    std::size_t count = 1;
};
// All leaves of classes that are no leaf themselves, in order, as runs.
[[nodiscard]] std::vector<LeafRun> leaf_runs(const std::vector<SimulatedElement>& elements);

// simulate_render.cpp
// Rates from 1 Gbit/s in whole Mbit/s: "33.333 Gbit/s".
[[nodiscard]] std::string rate_in_words(double kbps);
[[nodiscard]] std::string asked_in_words(double kbps);                      // "unlimited"; nothing: ""
[[nodiscard]] std::string time_in_words(std::chrono::milliseconds time);    // "90 s", "2 min"
// "its demand", "its max-rate", "max-rate 80 Gbit/s of /tenants", "link 100 Gbit/s"; `path`: whose limit it is.
[[nodiscard]] std::string limit_in_words(const Limit& limit, const ElementPath& path, Bandwidth link_speed);
// "8 processes"
[[nodiscard]] std::string senders_in_words(std::size_t senders, FairBy fair_by);
[[nodiscard]] std::string outside_in_words(const OutsideLevel& outside);
[[nodiscard]] std::string deviation_in_words(const Deviation& deviation);
// "from 1 min to 2 min: the jobs begin"; the text of `step` alone for loads without a time.
[[nodiscard]] std::string step_in_words(const SimulatedStep& step, bool over_time);
[[nodiscard]] std::string used_in_words(const SimulatedStep& step, Bandwidth link_speed);
[[nodiscard]] std::string render_simulation(const SimulationReport& report, Colour colour);

}    // namespace rdmaqos::ctl
