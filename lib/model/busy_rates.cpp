#include "lib/model/busy_rates.h"

#include "lib/base/compare_maps.h"
#include "lib/model/solver.h"

namespace rdmaqos {
namespace {

std::optional<Bandwidth> rate_of(const Allocation* allocation)
{
    return allocation != nullptr ? std::optional(allocation->rate()) : std::nullopt;
}

}    // namespace

std::map<ElementPath, BusyRate> compare_busy_rates(const Tree& before, const Tree& after, Bandwidth link_speed,
                                                   const std::set<ElementPath>& elements)
{
    std::map<ElementPath, BusyRate> rates;
    compare_maps(solve(before, link_speed, all_backlogged(before)), solve(after, link_speed, all_backlogged(after)),
                 [&](const ElementPath& path, const Allocation* was, const Allocation* is) {
                     if (elements.contains(path)) {
                         rates.emplace(path, BusyRate{rate_of(was), rate_of(is)});
                     }
                 });
    return rates;
}

}    // namespace rdmaqos
