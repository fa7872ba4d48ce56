// One end of a path in all the forms port groups know members by.
#pragma once

#include <cstdint>
#include <optional>

#include "policy/match/resolve.h"
#include "policy/model/request.h"

namespace rdmaqos {

struct PathEnd {
    const Gid* gid = nullptr;             // points into the end point given
    std::optional<std::uint64_t> guid;    // as of port_guid_of(); of a LID by the fabric file
    std::optional<NodeType> type;         // if the port is known
};

[[nodiscard]] PathEnd path_end(const std::optional<Endpoint>& endpoint, const ResolvedGroups& groups);

// Every end point is a member, whether or not the port is known.
[[nodiscard]] constexpr bool includes_all(const NodeTypes& types)
{
    return types.ca && types.switch_ && types.router;
}

[[nodiscard]] constexpr bool has_type(const NodeTypes& types, NodeType type)
{
    return type == NodeType::Ca ? types.ca : type == NodeType::Switch ? types.switch_ : types.router;
}

}    // namespace rdmaqos
