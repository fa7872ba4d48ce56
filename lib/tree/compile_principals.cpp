#include "lib/tree/compile_draft.h"

#include <algorithm>
#include <set>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

namespace rdmaqos::compiling {
namespace {

class Principals {
public:
    Principals(Draft& draft, const CompileInput& input) : draft_(draft), input_(input)
    {
        const auto& capabilities = input.capabilities;
        leaf_limit_ = capabilities.max_leaves - std::min(capabilities.max_leaves, input.leaf_reserve);
    }

    void run()
    {
        find_inner_nodes();
        draft_.principal_leaves.reserve(input_.principals.size());
        for (const auto& principal : input_.principals) {
            draft_.principal_leaves.push_back(place(principal));
        }
    }

    // What keeps a principal from a leaf of its own; null: nothing.
    [[nodiscard]] const char* limit_reached(const ClassDraft& one, const std::vector<ElementPath>& chain) const
    {
        const bool splits_class = draft_.elements[one.element].kind == ElementKind::Leaf;
        if (splits_class && draft_.level_of(one.element) + 1 > input_.capabilities.max_depth) {
            return "the device has no level left below the class";
        }
        if (one.spec->leaf_budget && one.own_leaves >= *one.spec->leaf_budget) {
            return kBudgetUsedUp;
        }
        if (draft_.leaves + 1 > leaf_limit_) {
            return kLeavesUsedUp;
        }
        std::uint32_t elements = splits_class ? 2 : 1;
        for (std::size_t i = 0; i + 1 < chain.size() && i < inner_levels(one); ++i) {
            elements += draft_.by_path.contains(chain[i].text()) ? 0 : 1;
        }
        if (draft_.kept + elements > input_.capabilities.max_elements) {
            return kElementsUsedUp;
        }
        return nullptr;
    }

private:
    // A process that has leaves of single queue pairs is a node; its other queue pairs share a leaf below it.
    void find_inner_nodes()
    {
        for (const auto& principal : input_.principals) {
            ElementPath path = principal.class_path;
            for (std::size_t i = 0; i + 1 < principal.segments.size(); ++i) {
                path = path.child(principal.segments[i]);
                inner_nodes_.insert(path.text());
            }
        }
    }

    ElementPath place(const Principal& principal)
    {
        const auto found = draft_.class_by_path.find(principal.class_path.text());
        if (found == draft_.class_by_path.end() || draft_.classes[found->second].element == kNone) {
            return {};
        }
        ClassDraft& one = draft_.classes[found->second];
        if (principal.segments.empty()) {
            return draft_.elements[one.shared_leaf].path;
        }
        std::vector<ElementPath> chain;
        for (const auto& segment : principal.segments) {
            chain.push_back((chain.empty() ? principal.class_path : chain.back()).child(segment));
        }
        if (inner_nodes_.contains(chain.back().text())) {
            chain.push_back(chain.back().child(kOthers));
        }
        if (const auto known = draft_.by_path.find(chain.back().text()); known != draft_.by_path.end()) {
            tighten(draft_.elements[known->second].rate.max_rate, principal.max_rate);
            return chain.back();
        }
        if (const char* limit = limit_reached(one, chain)) {
            one.limit = one.limit == nullptr ? limit : one.limit;
            one.beyond += beyond_.insert(chain.back()).second ? 1 : 0;
            return draft_.elements[one.shared_leaf].path;
        }
        add_chain(one, chain, principal.max_rate);
        return chain.back();
    }

    // How many levels of nodes fit between the class and a principal's leaf.
    [[nodiscard]] std::size_t inner_levels(const ClassDraft& one) const
    {
        const auto& element = draft_.elements[one.element];
        const Index top = element.folded ? draft_.kept_parent(one.element) : one.element;
        const std::uint32_t used = draft_.level_of(top) + 1;
        return input_.capabilities.max_depth > used ? input_.capabilities.max_depth - used : 0;
    }

    void add_chain(ClassDraft& one, const std::vector<ElementPath>& chain, std::optional<Bandwidth> max_rate)
    {
        if (draft_.elements[one.element].kind == ElementKind::Leaf) {
            split(one);
        }
        const std::size_t levels = inner_levels(one);
        Index parent = one.element;
        for (std::size_t i = 0; i + 1 < chain.size(); ++i) {
            const auto known = draft_.by_path.find(chain[i].text());
            parent = known != draft_.by_path.end() ? known->second
                                                   : draft_.add(chain[i], ElementKind::Node, parent, rate_at(one, i));
            if (i >= levels && !draft_.elements[parent].folded) {
                draft_.elements[parent].folded = true;
                --draft_.kept;
            }
        }
        RateSpec rate = rate_at(one, chain.size() - 1);
        tighten(rate.max_rate, max_rate);
        draft_.add(chain.back(), ElementKind::Leaf, parent, rate);
        ++one.own_leaves;
    }

    // On the way to a leaf, the first below the class is the principal.
    static const RateSpec& rate_at(const ClassDraft& one, std::size_t level)
    {
        return level == 0 ? one.spec->principal : kOneShare;
    }

    // The one leaf of a class becomes a node, because some of its queue pairs need leaves of their own.
    void split(ClassDraft& one)
    {
        auto& element = draft_.elements[one.element];
        element.kind = ElementKind::Node;
        element.has_principals = true;
        --draft_.leaves;
        const ElementPath path = element.path.child(kOthers);
        one.shared_leaf = draft_.add(path, ElementKind::Leaf, one.element, kOneShare);
        // Principals before this one had no leaf to go to but the class itself.
        for (auto& leaf : draft_.principal_leaves) {
            leaf = leaf == one.spec->path ? path : leaf;
        }
    }

    static void tighten(std::optional<Bandwidth>& cap, std::optional<Bandwidth> other)
    {
        if (other && (!cap || *other < *cap)) {
            cap = other;
        }
    }

    Draft& draft_;
    const CompileInput& input_;
    std::uint32_t leaf_limit_ = 0;
    std::unordered_set<std::string> inner_nodes_;
    std::set<ElementPath> beyond_;
};

void report_budget(const Draft& draft, const CompileInput& input, std::vector<Finding>& findings)
{
    for (const auto& one : draft.classes) {
        if (one.beyond != 0) {
            findings.push_back(budget_exceeded(
                *one.spec, {one.own_leaves, one.beyond, one.limit, draft.elements[one.shared_leaf].path}, input));
        }
    }
}

// Where a principal has no node, each leaf of its queue pairs has its cap.
void report_lost_caps(const Draft& draft, const CompileInput& input, std::vector<Finding>& findings)
{
    for (const auto& one : draft.classes) {
        const auto& cap = one.spec->principal.max_rate;
        if (one.element == kNone || !cap || !input.capabilities.rate_caps) {
            continue;
        }
        const auto& principals = draft.elements[one.element].children;
        const auto lost = std::ranges::count_if(principals, [&](Index index) {
            return draft.elements[index].folded && draft.elements[index].children.size() > 1;
        });
        if (lost > 0) {
            findings.push_back({FindingKind::CapLost, true, one.spec->path,
                                fmt::format("max-rate-each {} for all queue pairs of a {}", to_string(*cap),
                                            principal_noun(one.spec->fair_by)),
                                fmt::format("at most {} for each of its leaves", to_string(*cap)),
                                "the node that would hold the cap is left out on this device",
                                Gap{Gap::Unit::Principals, static_cast<std::uint64_t>(lost)}});
        }
    }
}

}    // namespace

std::string_view principal_noun(FairBy fair_by)
{
    switch (fair_by) {
    case FairBy::Process:
        return "process";
    case FairBy::User:
        return "user";
    case FairBy::Unit:
        return "unit";
    case FairBy::Cgroup:
        return "cgroup";
    case FairBy::SlurmJob:
        return "job";
    case FairBy::KubernetesPod:
        return "pod";
    case FairBy::None:
    case FairBy::QueuePair:
        break;
    }
    return "queue pair";
}

const char* why_no_leaf(Draft& draft, const CompileInput& input, const ClassDraft& one)
{
    return one.element == kNone ? "the class has no place on the device"
                                : Principals(draft, input).limit_reached(one, {one.spec->path.child(kOthers)});
}

Finding budget_exceeded(const SpecElement& spec, const BudgetUse& use, const CompileInput& input)
{
    const auto limit = spec.leaf_budget ? fmt::format(" (leaf-budget {})", *spec.leaf_budget) : std::string();
    return {FindingKind::BudgetExceeded,
            false,
            spec.path,
            fmt::format("a leaf for each {}, {} in all", principal_noun(spec.fair_by), use.own_leaves + use.beyond),
            fmt::format("{} leaves, with {} sharing {}", use.own_leaves, use.beyond, use.shared_leaf.text()),
            fmt::format("{}{}; the device has {} leaves, {} kept in reserve", use.limit, limit,
                        input.capabilities.max_leaves, std::min(input.leaf_reserve, input.capabilities.max_leaves))};
}

void add_principals(Draft& draft, const CompileInput& input, std::vector<Finding>& findings)
{
    Principals(draft, input).run();
    report_budget(draft, input, findings);
    report_lost_caps(draft, input, findings);
}

}    // namespace rdmaqos::compiling
