// Inside compile(): the tree while it is being decided. Not for users of lib/tree.
//
//     lay_out_policy   the spec's nodes and classes, with the leaves every class has     (compile_draft.cpp)
//     fold             which nodes are left out on a shallow device                      (compile_fold.cpp)
//     add_principals   a leaf for each principal within the budgets                      (compile_principals.cpp)
//     assign_rates     shares, caps and what each element is guaranteed                  (compile_rates.cpp)
//     report_limits    which limits of single queue pairs can be held (compile_queue_pair_limits.cpp)
//
// Principals come after folding, so that the shape above the classes never depends on who is there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/tree/compile.h"

namespace rdmaqos::compiling {

using Index = std::size_t;
constexpr Index kRoot = 0;
constexpr Index kNone = std::numeric_limits<Index>::max();
constexpr const char* kOthers = "others";
constexpr RateSpec kOneShare{};
// What keeps a principal from a leaf of its own.
constexpr const char* kBudgetUsedUp = "its leaf-budget is used up";
constexpr const char* kLeavesUsedUp = "the device's leaves are used up";
constexpr const char* kElementsUsedUp = "the device's elements are used up";

struct DraftElement {
    ElementPath path;
    ElementKind kind = ElementKind::Node;
    Index parent = kNone;    // as the policy has it; always before its children
    std::vector<Index> children;
    RateSpec rate;
    bool from_policy = false;       // a node, class or responder of the policy, as opposed to a principal or `others`
    bool has_principals = false;    // a class whose children come and go
    bool folded = false;            // left out: its children hang from its nearest ancestor that is not

    // Decided by assign_rates.
    std::optional<Bandwidth> max_rate;
    std::uint32_t share = 0;
    double guaranteed = 0;    // kbit/s, when everything is busy; not of a folded one
    double ideal = 0;         // the same as the policy has it; 0: nothing, or it depends on the device's default
    // Of a folded one, in kbit/s: what it would have when everything is busy, and what it and its siblings compete for:
    // not what those take that have all they can use.
    double wanted = 0;
    double contested = 0;
};

struct ClassDraft {
    Index element = kNone;    // kNone: the device has no room for the class
    Index shared_leaf = kNone;
    Index responder = kNone;
    const SpecElement* spec = nullptr;
    std::uint32_t own_leaves = 0;    // of principals
    std::uint32_t beyond = 0;        // principals that share `others`
    const char* limit = nullptr;     // why the first of them does
};

struct Draft {
    std::vector<DraftElement> elements;    // [kRoot] is the root; empty: no tree at all
    std::uint32_t leaves = 0;
    std::uint32_t kept = 0;    // elements that are not folded, the root included
    std::unordered_map<std::string, Index> by_path;
    std::vector<ClassDraft> classes;    // in the order of the spec
    std::unordered_map<std::string, std::size_t> class_by_path;
    std::vector<ElementPath> principal_leaves;

    Index add(ElementPath path, ElementKind kind, Index parent, const RateSpec& rate);
    // The nearest ancestor that is in the tree.
    [[nodiscard]] Index kept_parent(Index element) const;
    // Levels from the root (1) to the element, folded ones not counted.
    [[nodiscard]] std::uint32_t level_of(Index element) const;
    // The elements that hang from a node in the tree: its children, and those of folded children.
    [[nodiscard]] std::vector<Index> kept_children(Index node) const;
};

[[nodiscard]] Draft lay_out_policy(const CompileInput& input, std::vector<Finding>& findings);
void fold(Draft& draft, std::uint32_t max_depth);
void add_principals(Draft& draft, const CompileInput& input, std::vector<Finding>& findings);
void assign_rates(Draft& draft, const CompileInput& input, std::vector<Finding>& findings);
// What keeps a queue pair of this class from a leaf of its own, if it is the next to come; null: nothing.
[[nodiscard]] const char* why_no_leaf(Draft& draft, const CompileInput& input, const ClassDraft& one);
// For each type of queue pair. Before add_principals: it depends on the policy and the device, not on who is there. On
// a device that schedules nothing the draft is empty.
void report_limits(Draft& draft, const CompileInput& input, std::vector<Finding>& findings);
[[nodiscard]] std::string_view principal_noun(FairBy fair_by);    // "process"

// How the leaves of a class were given out; some of its principals share one.
struct BudgetUse {
    std::uint32_t own_leaves = 0;
    std::uint32_t beyond = 0;
    const char* limit = nullptr;    // why the first of them does
    const ElementPath& shared_leaf;
};
[[nodiscard]] Finding budget_exceeded(const SpecElement& spec, const BudgetUse& use, const CompileInput& input);
// What folding lost; after assign_rates.
void report_folding(const Draft& draft, const CompileInput& input, std::vector<Finding>& findings);

}    // namespace rdmaqos::compiling
