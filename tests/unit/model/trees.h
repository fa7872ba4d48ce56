// A scheduling tree in one line per element, for tests.
#pragma once

#include <initializer_list>
#include <optional>

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

}    // namespace rdmaqos::test
