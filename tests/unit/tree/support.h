// Short ways to say a device, a policy and who is there.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/model/solver.h"
#include "lib/tree/compile.h"
#include "lib/tree/plan.h"

namespace rdmaqos::test {

// A ConnectX-6 Dx as published: 256 leaves, 4 levels, shares to 100, 8,192 elements.
inline Capabilities connectx6()
{
    Capabilities capabilities;
    capabilities.scheduling = true;
    capabilities.shares = true;
    capabilities.rate_caps = true;
    capabilities.max_depth = 4;
    capabilities.max_leaves = 256;
    capabilities.max_elements = 8192;
    capabilities.max_share = 100;
    capabilities.responder_leaf = true;
    return capabilities;
}

inline Bandwidth gbps(std::uint64_t value)
{
    return Bandwidth::from_gbps(value);
}

inline RateSpec share(std::uint32_t value)
{
    RateSpec rate;
    rate.share = value;
    return rate;
}

inline RateSpec share(std::uint32_t value, Bandwidth max)
{
    RateSpec rate = share(value);
    rate.max_rate = max;
    return rate;
}

inline RateSpec min_rate(Bandwidth min)
{
    RateSpec rate;
    rate.min_rate = min;
    return rate;
}

inline SpecElement node(const std::string& path, RateSpec rate = {})
{
    SpecElement element;
    element.path = ElementPath(path);
    element.rate = rate;
    return element;
}

inline SpecElement level(const std::string& path, RateSpec rate = {}, FairBy fair_by = FairBy::None)
{
    SpecElement element = node(path, rate);
    element.is_class = true;
    element.fair_by = fair_by;
    return element;
}

inline Principal principal(const std::string& class_path, std::vector<std::string> segments)
{
    return {ElementPath(class_path), std::move(segments), std::nullopt};
}

inline CompileInput input(std::vector<SpecElement> elements, Bandwidth link = gbps(100))
{
    CompileInput result;
    result.spec.elements = std::move(elements);
    result.capabilities = connectx6();
    result.link_speed = link;
    return result;
}

// What each element gets when everything is busy, also what is in nodes that have no leaf yet.
inline std::map<ElementPath, Bandwidth> busy_rates(Tree tree, Bandwidth link = gbps(100))
{
    std::set<ElementPath> parents;
    for (const auto& [path, element] : tree) {
        parents.insert(element.parent);
    }
    for (auto& [path, element] : tree) {
        element.kind = parents.contains(path) ? ElementKind::Node : ElementKind::Leaf;
    }
    std::map<ElementPath, Bandwidth> rates;
    for (const auto& [path, allocation] : solve(tree, link, all_backlogged(tree))) {
        rates.emplace(path, allocation.rate());
    }
    return rates;
}

inline std::string findings_text(const std::vector<Finding>& findings)
{
    std::string text;
    for (const auto& finding : findings) {
        text += (finding.is_error ? "error: " : "warning: ") + to_string(finding) + "\n";
    }
    return text;
}

// A device that has just been given `desired`.
inline ActualState built(const DesiredState& desired)
{
    Capabilities unlimited = connectx6();
    unlimited.max_leaves = 1U << 20U;
    unlimited.max_elements = 1U << 20U;
    return apply(diff(desired, {}, unlimited), {});
}

}    // namespace rdmaqos::test
