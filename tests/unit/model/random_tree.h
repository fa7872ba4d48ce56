// Random scheduling trees and loads for property tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <rapidcheck.h>

#include "lib/model/port_classes.h"
#include "lib/model/solver.h"
#include "lib/tree/element.h"

namespace rdmaqos::test {

struct RandomShape {
    int most_elements = 30;
    std::uint32_t largest_share = 100;
    std::uint32_t deepest = 4;
    std::uint64_t link_mbps = 10'000;
};

struct RandomCase {
    Tree tree;
    Demands demands;
};

inline std::optional<Bandwidth> random_rate(int one_in, std::uint64_t link_mbps)
{
    if (*rc::gen::inRange(0, one_in) != 0) {
        return std::nullopt;
    }
    return Bandwidth::from_mbps(*rc::gen::inRange<std::uint64_t>(link_mbps / 50, link_mbps));
}

// Only inside of rc::check.
inline RandomCase random_case(const RandomShape& shape)
{
    struct Parent {
        ElementPath path;
        std::uint32_t level;
    };
    RandomCase result;
    std::vector<Parent> nodes{{ElementPath::root(), 1}};
    result.tree.emplace(ElementPath::root(), Element{});
    const int count = *rc::gen::inRange(1, shape.most_elements);
    for (int number = 0; number < count; ++number) {
        const Parent parent = nodes[*rc::gen::inRange<std::size_t>(0, nodes.size())];
        Element element;
        element.parent = parent.path;
        const bool node = parent.level + 1 < shape.deepest && *rc::gen::inRange(0, 3) == 0;
        element.kind = node ? ElementKind::Node : ElementKind::Leaf;
        element.attributes.share = *rc::gen::inRange<std::uint32_t>(0, shape.largest_share + 1);
        element.attributes.max_rate = random_rate(4, shape.link_mbps);
        const ElementPath path = parent.path.child("e" + std::to_string(number));
        result.tree.emplace(path, element);
        if (node) {
            nodes.push_back({path, parent.level + 1});
        } else if (*rc::gen::inRange(0, 6) != 0) {
            result.demands.emplace(path, random_rate(3, shape.link_mbps));
        }
    }
    return result;
}

// Of the first classes; the others are as without classes. Only inside of rc::check.
inline PortClasses random_classes(std::uint64_t link_mbps)
{
    PortClasses port;
    for (std::size_t number = 0; number < 4; ++number) {
        PortClass& own = port.classes.at(number);
        own.is_strict = *rc::gen::inRange(0, 5) == 0;
        own.weight = own.is_strict ? 0 : *rc::gen::inRange<std::uint32_t>(0, 100);
        own.max_rate = random_rate(4, link_mbps);
    }
    return port;
}

}    // namespace rdmaqos::test
