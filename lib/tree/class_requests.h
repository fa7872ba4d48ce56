// What the traffic classes of a port are planned from (lib/port_classes): the children of a tree's root, and what tells
// their packets apart. Here, so that a policy can be lowered to it without knowing ports.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/units.h"
#include "lib/tree/element.h"

namespace rdmaqos {

// The child of the root that is above an element, or is it. No element: none.
[[nodiscard]] inline ElementPath root_child_of(ElementPath path)
{
    while (!path.parent().empty() && !path.parent().is_root()) {
        path = path.parent();
    }
    return path;
}

}    // namespace rdmaqos

namespace rdmaqos::port_classes {

// A level and the DSCP that its packets carry.
struct LevelMark {
    std::string level;
    std::optional<std::uint8_t> dscp;    // empty: the level leaves it alone

    friend bool operator==(const LevelMark&, const LevelMark&) = default;
};

// What one child of the root asks for. Its rates are absolute.
struct ClassRequest {
    ElementPath path;                 // "/rpc"
    std::vector<LevelMark> levels;    // of the child itself or below it, in the order of the policy
    std::uint32_t share = 1;
    std::optional<Bandwidth> min_rate;
    std::optional<Bandwidth> max_rate;
    bool strict = false;    // before all that is not strict

    friend bool operator==(const ClassRequest&, const ClassRequest&) = default;
};

// Of one device.
struct Requests {
    std::vector<ClassRequest> children;    // in the order of the policy
    std::vector<LevelMark> elsewhere;      // levels with a DSCP and without a class on this device

    friend bool operator==(const Requests&, const Requests&) = default;
};

}    // namespace rdmaqos::port_classes
