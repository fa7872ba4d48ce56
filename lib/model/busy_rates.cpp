#include "lib/model/busy_rates.h"

#include "lib/model/solver.h"

namespace rdmaqos {
namespace {

void add(const Tree& tree, Bandwidth link_speed, const std::set<ElementPath>& elements,
         std::optional<Bandwidth> BusyRate::*side, std::map<ElementPath, BusyRate>& rates)
{
    for (const auto& [path, allocation] : solve(tree, link_speed, everybody_sends(tree))) {
        if (elements.contains(path)) {
            rates[path].*side = allocation.rate();
        }
    }
}

}    // namespace

std::map<ElementPath, BusyRate> compare_busy_rates(const Tree& before, const Tree& after, Bandwidth link_speed,
                                                   const std::set<ElementPath>& elements)
{
    std::map<ElementPath, BusyRate> rates;
    add(before, link_speed, elements, &BusyRate::before, rates);
    add(after, link_speed, elements, &BusyRate::after, rates);
    return rates;
}

}    // namespace rdmaqos
