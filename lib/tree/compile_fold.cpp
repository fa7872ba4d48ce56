#include <algorithm>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "lib/tree/compile_draft.h"

namespace rdmaqos::compiling {
namespace {

constexpr double kTolerated = 0.05;

// Sum of what the children can send at most; empty: there is no limit.
std::optional<Bandwidth> sum_of_caps(const Draft& draft, Index node)
{
    Bandwidth sum;
    for (const Index child : draft.elements[node].children) {
        const auto& cap = draft.elements[child].rate.max_rate;
        if (!cap) {
            return std::nullopt;
        }
        sum = sum + *cap;
    }
    return sum;
}

bool has_one_child(const DraftElement& element)
{
    return element.children.size() == 1 && !element.has_principals;
}

bool would_lose_cap(const Draft& draft, Index node)
{
    const auto& element = draft.elements[node];
    if (!element.rate.max_rate || has_one_child(element)) {
        return false;    // an only child inherits the cap
    }
    const auto below = sum_of_caps(draft, node);
    return element.has_principals || !below || *below > *element.rate.max_rate;
}

// How much is lost by leaving a node out, the least first. A class with principals is kept where possible: its
// children change all the time, and each change would rescale the shares of everybody beside it.
auto loss(const Draft& draft, Index node)
{
    const auto& element = draft.elements[node];
    return std::tuple(would_lose_cap(draft, node), element.has_principals, !has_one_child(element),
                      element.rate.min_rate.has_value());
}

// The cheapest inner node above a leaf, the lowest of equals; kNone if there is none.
Index cheapest_above(const Draft& draft, Index leaf)
{
    Index best = kNone;
    for (Index node = draft.elements[leaf].parent; node != kRoot && node != kNone; node = draft.elements[node].parent) {
        if (!draft.elements[node].folded && (best == kNone || loss(draft, node) < loss(draft, best))) {
            best = node;
        }
    }
    return best;
}

void report_lost_cap(const Draft& draft, const DraftElement& element, const std::vector<Index>& below,
                     std::vector<Finding>& findings)
{
    Bandwidth together;
    for (const Index child : below) {
        // Every one of them has a cap: it inherited this one.
        together = together + draft.elements[child].max_rate.value_or(*element.rate.max_rate);
    }
    if (together > *element.rate.max_rate) {
        findings.push_back({FindingKind::CapLost, true, element.path,
                            fmt::format("max-rate {} for all below it", to_string(*element.rate.max_rate)),
                            fmt::format("at most {} for each of {}, {} together", to_string(*element.rate.max_rate),
                                        counted(below.size(), "element"), to_string(together)),
                            "the node that would hold the cap is left out on this device",
                            Gap::between(*element.rate.max_rate, together)});
    }
}

// Whole Mbit/s, rounded down.
Bandwidth in_mbps(double kbps)
{
    return Bandwidth::from_mbps(Bandwidth::from_computed(kbps).mbps());
}

std::string levels_of(const CompileInput& input)
{
    return fmt::format("the device has {} levels", input.capabilities.max_depth);
}

// What this many busy principals of a folded class get together, in kbit/s. Their leaves and `others` have the weights
// for what the class would have; `others` is idle, and all other siblings are busy.
double rate_folded(const DraftElement& element, double principals)
{
    if (element.wanted <= 0 || element.contested <= 0) {
        return 0;
    }
    const double fraction = std::min(element.wanted / element.contested, 1.0);
    const double sending = principals / (principals + 1);
    return element.contested * fraction * sending / (1 - fraction * (1 - sending));
}

// A folded class keeps its bandwidth only while all of its leaves send. `others` is one of them and is usually idle:
// the fewer principals there are, the more bandwidth its share leaves to the siblings. The finding assumes that they
// are all busy.
Finding folded_class(const Draft& draft, Index index, const CompileInput& input)
{
    constexpr double kMany = 9;
    const auto& element = draft.elements[index];
    const auto& above = draft.elements[draft.kept_parent(index)];
    const auto part_of = [&](double principals) {
        const double kbps = rate_folded(element, principals);
        return input.link_speed.is_zero()
                   ? fmt::format("{:.0f} % of what {} has", kbps / above.guaranteed * 100, above.path.text())
                   : to_string(in_mbps(kbps));
    };
    const auto found = draft.class_by_path.find(element.path.text());
    const std::string_view noun = found == draft.class_by_path.end()
                                      ? "principal"
                                      : principal_noun(draft.classes[found->second].spec->fair_by);
    return {FindingKind::Folded,
            true,
            element.path,
            "a node of its own",
            fmt::format(
                "its leaves are placed below {}; instead of {} for any number of principals, 1 {} gets {}, and 9 get "
                "{} together",
                above.path.text(), input.link_speed.is_zero() ? "the same part" : to_string(in_mbps(element.wanted)),
                noun, part_of(1), part_of(kMany)),
            levels_of(input),
            Gap::between(Bandwidth::from_computed(rate_folded(element, 1)), Bandwidth::from_computed(element.wanted))};
}

// Whether the multiplied shares of what is below a folded node are what they should be.
bool keeps_its_part(const Draft& draft, Index node, const std::set<ElementPath>& inexact)
{
    const auto below = draft.kept_children(node);
    return std::none_of(below.begin(), below.end(),
                        [&](Index child) { return inexact.contains(draft.elements[child].path); });
}

// Processes with leaves of single queue pairs, below a class that is kept.
void report_folded_principals(const Draft& draft, const CompileInput& input, std::vector<Finding>& findings)
{
    for (const auto& one : draft.classes) {
        if (one.element == kNone) {
            continue;
        }
        const auto& children = draft.elements[one.element].children;
        const auto folded = std::count_if(children.begin(), children.end(),
                                          [&draft](Index child) { return draft.elements[child].folded; });
        if (folded != 0) {
            findings.push_back(
                {FindingKind::Folded, false, one.spec->path,
                 fmt::format("a node for each of {}", counted(static_cast<std::size_t>(folded), "principal")),
                 "the leaves of their queue pairs are placed below the class, with multiplied shares",
                 levels_of(input)});
        }
    }
}

}    // namespace

void fold(Draft& draft, std::uint32_t max_depth)
{
    for (Index leaf = 0; leaf < draft.elements.size(); ++leaf) {
        // A node without classes is as deep as a leaf: the device counts it.
        if (!draft.elements[leaf].children.empty()) {
            continue;
        }
        for (std::uint32_t level = draft.level_of(leaf); level > max_depth; --level) {
            const Index node = cheapest_above(draft, leaf);
            if (node == kNone) {
                break;
            }
            draft.elements[node].folded = true;
            --draft.kept;
        }
    }
}

void report_folding(const Draft& draft, const CompileInput& input, std::vector<Finding>& findings)
{
    std::set<ElementPath> inexact;
    for (const auto& finding : findings) {
        if (finding.kind == FindingKind::ShareError) {
            inexact.insert(finding.path);
        }
    }
    for (Index index = 0; index < draft.elements.size(); ++index) {
        const auto& element = draft.elements[index];
        if (!element.folded || !element.from_policy) {
            continue;
        }
        const auto below = draft.kept_children(index);
        if (element.has_principals && rate_folded(element, 1) < (1 - kTolerated) * element.wanted) {
            findings.push_back(folded_class(draft, index, input));
        } else if (!input.capabilities.shares || !keeps_its_part(draft, index, inexact)) {
            findings.push_back(
                {FindingKind::Folded, false, element.path, "a node of its own",
                 fmt::format("its {} {} placed below {}, with multiplied shares", counted(below.size(), "element"),
                             below.size() == 1 ? "is" : "are", draft.elements[draft.kept_parent(index)].path.text()),
                 levels_of(input)});
        }
        if (element.rate.max_rate && input.capabilities.rate_caps) {
            report_lost_cap(draft, element, below, findings);
        }
    }
    report_folded_principals(draft, input, findings);
}

}    // namespace rdmaqos::compiling
