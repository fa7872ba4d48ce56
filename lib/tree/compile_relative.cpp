#include <algorithm>
#include <unordered_map>

#include "lib/tree/compile.h"

namespace rdmaqos {
namespace {

constexpr Bandwidth kLowest = Bandwidth::from_mbps(1);    // an element's cap of 0 would be none

void resolve(RateSpec& rate, Bandwidth whole)
{
    if (rate.min_part) {
        rate.min_rate = std::max(rate.min_part->of(whole), kLowest);
        rate.min_part.reset();
    }
    if (rate.max_part) {
        rate.max_rate = std::max(Bandwidth::from_mbps(rate.max_part->of(whole).mbps()), kLowest);
        rate.max_part.reset();
    }
}

}    // namespace

TreeSpec with_absolute_rates(TreeSpec spec, Bandwidth link_speed)
{
    const Bandwidth link = link_speed.is_zero() ? kNominalLink : link_speed;
    std::unordered_map<std::string, Bandwidth> cap_below;    // by the path of a node
    for (SpecElement& element : spec.elements) {
        const auto above = cap_below.find(element.path.parent().text());
        const Bandwidth whole = above == cap_below.end() ? link : above->second;
        for_each_rate(element, [whole](RateSpec& rate) { resolve(rate, whole); });
        cap_below[element.path.text()] = std::min(whole, element.rate.max_rate.value_or(whole));
    }
    return spec;
}

}    // namespace rdmaqos
