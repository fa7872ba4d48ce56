// From what a policy asks for to the tree one device shall have: compile(spec, principals, capabilities) -> Compiled.
//
// Vocabulary
//   class        a QoS level with a `schedule`; its place in the tree is its path ("/tenants/rpc")
//   principal    who gets a leaf of its own in a class that is fair by queue pair, process, user or unit
//   others       the leaf of such a class for the principals beyond its budget
//   folding      leaving out an inner node because the device is too shallow: its children hang from its parent and
//                their shares are multiplied by its own; reported where that changes what anybody is guaranteed
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/percentage.h"
#include "lib/tree/capabilities.h"
#include "lib/tree/element.h"
#include "lib/tree/requested.h"

namespace rdmaqos {

enum class FairBy : std::uint8_t { None, QueuePair, Process, User, Unit, Cgroup, SlurmJob, KubernetesPod };

// "none", "queue-pair", "process", "user", "unit", "cgroup", "slurm-job", "kubernetes-pod"
[[nodiscard]] std::string_view to_string(FairBy fair_by);

struct RateSpec {
    std::optional<std::uint32_t> share = 1;    // empty: the device's default (0 on the wire)
    std::optional<Bandwidth> min_rate;         // guarantee among registered traffic
    std::optional<Bandwidth> max_rate;
    // The same as parts of what there is (with_absolute_rates()), in place of a rate.
    std::optional<Percentage> min_part{};
    std::optional<Percentage> max_part{};

    [[nodiscard]] bool is_relative() const { return min_part || max_part; }
    [[nodiscard]] bool has_guarantee() const { return min_rate || min_part; }

    friend bool operator==(const RateSpec&, const RateSpec&) = default;
};

// What a policy says of a class, wherever it is in the tree.
struct ClassSpec {
    RateSpec rate;
    FairBy fair_by = FairBy::None;
    RateSpec principal;                          // of each, and of `others`, which counts as one: max-rate only
    std::optional<std::uint32_t> leaf_budget;    // empty: as many as the device has
    std::optional<RateSpec> responder;           // a leaf of its own beside the class: share and max-rate only

    friend bool operator==(const ClassSpec&, const ClassSpec&) = default;
};

// One inner node or one class of a policy, as asked for; a node has a rate only. Siblings use either shares or
// min-rates; among siblings with min-rates, those without one share the remainder by their share.
struct SpecElement : ClassSpec {
    ElementPath path;    // its parent is path.parent()
    bool is_class = false;

    friend bool operator==(const SpecElement&, const SpecElement&) = default;
};

// Each rate that a policy gives an element and what belongs to it, to code that treats them alike.
template <typename Element, typename Use>
void for_each_rate(Element& element, Use use)
{
    use(element.rate);
    use(element.principal);
    if (element.responder) {
        use(*element.responder);
    }
}

// A limit that a level puts on each of its queue pairs; nothing of it is in the tree until they come.
struct LevelLimit {
    std::string level;
    ElementPath class_path;    // empty: the level has no class, so its queue pairs have no leaves
    RateLimit limit;

    friend bool operator==(const LevelLimit&, const LevelLimit&) = default;
};

// Parents before children. Without elements the policy schedules nothing, and the tree is empty.
struct TreeSpec {
    std::vector<SpecElement> elements;
    std::vector<LevelLimit> limits;

    friend bool operator==(const TreeSpec&, const TreeSpec&) = default;
};

// Stands in for a link speed that is not known (the port is down), so that shares can still be decided.
constexpr Bandwidth kNominalLink = Bandwidth::from_gbps(100);

// The rates that are parts, as rates: of the link, or of the lowest cap among the ancestors if that is less. A speed of
// 0 is not known. Never below 1 Mbit/s.
[[nodiscard]] TreeSpec with_absolute_rates(TreeSpec spec, Bandwidth link_speed);

// Somebody who holds queue pairs in a class on this device. Listed in the order of arrival: the first get leaves.
struct Principal {
    ElementPath class_path;
    // Below the class: {"pid:4711"}; {"pid:4711", "qp:17"} or {"qp:17"} where a queue pair needs a leaf of its own
    // to be capped. Each segment is without '/'. A class that is one leaf becomes a node with `others` for such a
    // queue pair, if the device has a level left; empty segments stand for the class's shared leaf.
    std::vector<std::string> segments;
    std::optional<Bandwidth> max_rate;    // of the last segment's leaf

    friend bool operator==(const Principal&, const Principal&) = default;
};

enum class FindingKind : std::uint8_t {
    NoScheduling,    // the device has no elements: the class is not enforced
    Folded,          // a node was left out: caps lost or shares approximated
    CapLost,
    ShareError,        // more than 5 % more or less than requested, because weights are whole numbers
    MinRateMissed,     // less than requested is guaranteed
    BudgetExceeded,    // principals share `others`
    NoLeaf,            // a class has no leaf at all: more classes than the device has leaves
    CapAboveLink,      // max-rate above the port's speed: has no effect
    QueuePairLimit,    // of each queue pair: not held, or not as asked, for some types
    NotSupported,      // shares, caps or a responder leaf are not supported
    TrafficClass,      // the traffic classes of the port: lib/port_classes
};

[[nodiscard]] std::string_view to_string(FindingKind kind);    // "cap-lost"

// How far a device falls short, as a number: of two findings of the same kind, path and unit, the one with the larger
// size is the worse one.
struct Gap {
    // Whole: it is there or it is not, and the size is 0. Rate: kbit/s.
    enum class Unit : std::uint8_t { Whole, Rate, Elements, Principals };
    Unit unit = Unit::Whole;
    std::uint64_t size = 0;

    // Of a rate; less than nothing is nothing.
    [[nodiscard]] static Gap between(Bandwidth smaller, Bandwidth larger)
    {
        return {Unit::Rate, larger.kbps() - std::min(smaller, larger).kbps()};
    }

    friend bool operator==(const Gap&, const Gap&) = default;
};

// Something requested that the device cannot do in full. to_string() makes one sentence of it.
struct Finding {
    FindingKind kind;
    bool is_error = false;     // can refuse the policy for this device: policy/model/verdict.h
    ElementPath path;          // "level c" for a limit of a level that has no class
    std::string requested;     // "min-rate 10 Gbit/s"
    std::string achievable;    // "8.333 Gbit/s"
    std::string why;
    Gap gap{};    // of an error

    friend bool operator==(const Finding&, const Finding&) = default;
};

struct CompileInput {
    TreeSpec spec;
    std::vector<Principal> principals;
    Capabilities capabilities;
    Bandwidth link_speed;
    std::uint32_t leaf_reserve = 0;    // leaves left free for make-before-break and for others on the host
};

struct ClassLeaves {
    ElementPath shared_leaf;       // the class's one leaf, or its `others`; empty: not schedulable
    ElementPath responder_leaf;    // own leaf of responses; empty: responses use the requester's leaf

    friend bool operator==(const ClassLeaves&, const ClassLeaves&) = default;
};

struct Compiled {
    Tree tree;
    RequestedRates requested;    // of what is in the tree
    std::map<ElementPath, ClassLeaves> classes;
    // The leaf of each principal of the input, in its order; those in `others` carry that path.
    std::vector<ElementPath> principal_leaves;
    std::vector<Finding> findings;
    std::size_t fixed_findings = 0;    // the first ones: they do not depend on principals

    friend bool operator==(const Compiled&, const Compiled&) = default;
};

[[nodiscard]] Compiled compile(const CompileInput& input);

// "/a: requested min-rate 10 Gbit/s, achievable 8.333 Gbit/s: ..." on one line
[[nodiscard]] std::string to_string(const Finding& finding);

}    // namespace rdmaqos
