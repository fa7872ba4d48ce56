#include "lib/model/busy_rates.h"

#include "lib/model/solver.h"

namespace rdmaqos {
namespace {

std::optional<Bandwidth> rate_of(const ElementPath& path, const Tree& tree, const Allocations& allocations)
{
    if (const auto found = allocations.find(path); found != allocations.end()) {
        return found->second.rate();
    }
    std::optional<Bandwidth> sum;
    const std::string prefix = path.text() + "/";
    for (auto at = tree.lower_bound(ElementPath(prefix)); at != tree.end() && at->first.text().starts_with(prefix);
         ++at) {
        const auto found = allocations.find(at->first);
        if (at->second.kind == ElementKind::Leaf && found != allocations.end()) {
            sum = sum.value_or(Bandwidth()) + found->second.rate();
        }
    }
    return sum;
}

}    // namespace

std::map<ElementPath, BusyRate> compare_busy_rates(const Tree& before, const Tree& after, Bandwidth link_speed,
                                                   const std::set<ElementPath>& elements)
{
    std::map<ElementPath, BusyRate> rates;
    const auto was = solve(before, link_speed, all_backlogged(before));
    const auto is = solve(after, link_speed, all_backlogged(after));
    for (const auto& path : elements) {
        const BusyRate rate{rate_of(path, before, was), rate_of(path, after, is)};
        if (rate.before || rate.after) {
            rates.emplace(path, rate);
        }
    }
    return rates;
}

}    // namespace rdmaqos
