#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/net.h"

namespace rdmaqos {

// A port of this host, for `node-type: SELF` and for groups by P_Key.
struct LocalPort {
    Guid port_guid;
    Guid node_guid;
    std::uint32_t port = 1;
    std::vector<Gid> gids;
    std::vector<std::uint16_t> pkeys;
    std::string node_description;

    friend bool operator==(const LocalPort&, const LocalPort&) = default;
};

}    // namespace rdmaqos
