// A scheduling tree in one line per element, for tests, and what a solver says of it in words.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "lib/model/port_classes.h"
#include "lib/model/solver.h"
#include "lib/tree/element.h"

namespace rdmaqos::test {

struct Line {
    const char* path;
    ElementKind kind;
    std::uint32_t share = 1;
    std::optional<Bandwidth> max_rate = std::nullopt;
};

// The root is added; the parent of each line is that of its path.
inline Tree tree_of(std::initializer_list<Line> lines)
{
    Tree tree;
    tree.emplace(ElementPath::root(), Element{});
    for (const Line& line : lines) {
        const ElementPath path(line.path);
        tree.emplace(path, Element{line.kind, path.parent(), {line.share, line.max_rate}});
    }
    return tree;
}

// The example of mlx5dv_sched_node_create(3): two groups, shares 7 and 3, the second limited to 4096 Mbit/s.
inline Tree manual_example()
{
    return tree_of({{"/g1", ElementKind::Leaf, 7}, {"/g2", ElementKind::Leaf, 3, Bandwidth::from_mbps(4096)}});
}

// The first ones of a port.
inline PortClasses classes_of(std::initializer_list<PortClass> classes)
{
    PortClasses port;
    std::copy(classes.begin(), classes.end(), port.classes.begin());
    return port;
}

inline std::string text_of(const Allocation& allocation)
{
    const std::string rate = to_string(allocation.rate());
    switch (allocation.bottleneck) {
    case Bottleneck::Demand:
        return rate + ", demand";
    case Bottleneck::Cap:
        return rate + ", cap of " + allocation.bottleneck_at.text();
    case Bottleneck::Link:
        return rate + ", link";
    case Bottleneck::Class:
        return fmt::format("{}, class {}", rate, allocation.bottleneck_class);
    }
    return "?";
}

}    // namespace rdmaqos::test
