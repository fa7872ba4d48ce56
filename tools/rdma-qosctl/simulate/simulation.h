// "Who gets what?": a load on a device's tree, solved. Pure functions from a policy or a daemon's answers, and loads,
// to values; report_text, report_json and html show them.
//
//     policy or daemon ─┐
//                       ├─▶ LoadedTree ─▶ SimulatedStep ─▶ text, JSON, page
//     loads of one step ┘               (here)
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/units.h"
#include "lib/tree/element.h"
#include "tools/rdma-qosctl/simulate/loaded_tree.h"
#include "tools/rdma-qosctl/simulate/loads.h"

namespace rdmaqos::ctl {

// What keeps somebody from getting more.
struct Limit {
    enum class Kind : std::uint8_t {
        Idle,      // asks for nothing
        Demand,    // gets all it asks for
        Cap,       // the max-rate of the element `at`, its own or one above
        Below,     // caps of elements below it
        Link,
        PortClass,    // the maximum rate of the port's traffic class `port_class`
    };
    Kind kind = Kind::Idle;
    ElementPath at;
    std::optional<Bandwidth> rate;    // of the cap, or of the class
    std::uint8_t port_class = 0;

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

// A traffic class of the port in which something is.
struct SimulatedClass {
    std::uint8_t number = 0;
    PortClass port_class;
    std::vector<std::string> levels;    // in it
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
    std::vector<SimulatedClass> classes;       // by number; none: the port has no traffic classes
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

}    // namespace rdmaqos::ctl
