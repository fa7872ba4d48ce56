#include "lib/model/solver.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "lib/model/indexed_tree.h"
#include "lib/tree/max_min.h"

namespace rdmaqos {
namespace {

constexpr double kTolerance = 1e-3;    // kbit/s

// What every element asks for in kbit/s, bottom-up; infinite for an uncapped leaf that sends as much as it gets.
std::vector<double> wishes(const std::vector<IndexedElement>& tree, const Demands& demands)
{
    std::vector<double> wanted(tree.size(), 0.0);
    for (std::size_t at = tree.size(); at-- > 0;) {
        const IndexedElement& element = tree[at];
        if (element.kind == ElementKind::Leaf) {
            if (const auto demand = demands.find(*element.path); demand != demands.end()) {
                wanted[at] = demand->second ? static_cast<double>(demand->second->kbps())
                                            : std::numeric_limits<double>::infinity();
            }
        }
        if (element.cap_kbps) {
            wanted[at] = std::min(wanted[at], *element.cap_kbps);
        }
        if (at != 0) {
            wanted[element.parent] += wanted[at];
        }
    }
    return wanted;
}

// One node's rate over its children.
void divide(const std::vector<IndexedElement>& tree, const std::vector<double>& wanted, std::size_t node,
            std::vector<double>& rates)
{
    const std::size_t first = tree[node].first_child;
    std::vector<Claim> claims;
    claims.reserve(tree[node].child_count);
    for (std::size_t child = first; child < first + tree[node].child_count; ++child) {
        claims.push_back({wanted[child], tree[child].weight});
    }
    std::ranges::copy(divide_max_min(rates[node], claims), rates.begin() + static_cast<std::ptrdiff_t>(first));
}

// Why an element gets no more: it got what it asks for, bounded by its demand or its own cap, or it shares what
// bounds its parent. Parents first.
void explain(const std::vector<IndexedElement>& tree, const std::vector<double>& wanted, std::size_t at,
             std::vector<Allocation>& allocations)
{
    Allocation& allocation = allocations[at];
    if (allocation.kbps + kTolerance >= wanted[at]) {
        if (tree[at].cap_kbps && wanted[at] >= *tree[at].cap_kbps) {
            allocation.bottleneck = Bottleneck::Cap;
            allocation.bottleneck_at = *tree[at].path;
        }
    } else if (at == 0) {
        allocation.bottleneck = Bottleneck::Link;
    } else {
        allocation.bottleneck = allocations[tree[at].parent].bottleneck;
        allocation.bottleneck_at = allocations[tree[at].parent].bottleneck_at;
    }
}

}    // namespace

Demands all_backlogged(const Tree& tree)
{
    Demands demands;
    for (const auto& [path, element] : tree) {
        if (element.kind == ElementKind::Leaf) {
            demands.emplace_hint(demands.end(), path, std::nullopt);
        }
    }
    return demands;
}

bool guesses_shares(const Tree& tree)
{
    std::map<ElementPath, std::pair<bool, bool>> children;    // by parent: has a default, has a known share
    for (const auto& [path, element] : tree) {
        if (!element.parent.empty()) {
            auto& [is_default, is_known] = children[element.parent];
            (element.attributes.share == 0 ? is_default : is_known) = true;
        }
    }
    return std::any_of(children.begin(), children.end(),
                       [](const auto& entry) { return entry.second.first && entry.second.second; });
}

Bandwidth Allocation::rate() const
{
    return Bandwidth::from_computed(kbps);
}

Allocations solve(const Tree& tree, Bandwidth link_speed, const Demands& demands)
{
    const std::vector<IndexedElement> elements = index_tree(tree);
    const std::vector<double> wanted = wishes(elements, demands);
    std::vector<double> rates(elements.size(), 0.0);
    std::vector<Allocation> allocations(elements.size());
    for (std::size_t at = 0; at < elements.size(); ++at) {
        if (at == 0) {
            rates[0] = std::min(wanted[0], static_cast<double>(link_speed.kbps()));
        }
        divide(elements, wanted, at, rates);
        allocations[at].kbps = rates[at];
        explain(elements, wanted, at, allocations);
    }
    Allocations result;
    for (std::size_t at = 0; at < elements.size(); ++at) {
        result.emplace(*elements[at].path, allocations[at]);
    }
    return result;
}

}    // namespace rdmaqos
