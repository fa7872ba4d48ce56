// Where a path begins and ends, and what it can carry before any level: one answer for the daemon's QueryPath and
// Explain, and for the command's query-path (with and without --batch) and explain.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "lib/base/units.h"
#include "policy/model/fabric.h"
#include "policy/model/request.h"
#include "policy/path/path.h"

namespace rdmaqos {

// A port of this host. Points into what describes the device.
struct PathPort {
    std::string_view device;    // "mlx5_0"
    std::uint32_t port = 1;
    Guid port_guid;
    std::span<const Gid> gids;
    std::span<const std::uint16_t> pkeys;    // with membership bit; empty: not known
    Bandwidth link_speed;
    std::uint32_t mtu = 4096;    // bytes
};

// The port of the fabric with this GUID or LID, or null.
using FindPort = std::function<const FabricPort*(const std::variant<Guid, Lid>&)>;
[[nodiscard]] FindPort find_in(const Fabric& fabric);

// The source of a request is the port its end point belongs to, of this host or of the fabric. Without one the path
// begins here: at the device the request names, else at the first port of this host. P_Keys are those of the two
// ports, and known only where both tables are. The rate and the MTU are the lower ones of those ends of which they are
// known: that are here, or of which the fabric says them. Where they are known of neither they are assumed to be those
// of the first port of this host, and without any port 100 Gbit/s and 4096 bytes.
[[nodiscard]] PathLimits path_limits(const Request& request, std::span<const PathPort> local, const FindPort& find);
// With the SLs that this fabric's ports map to VL15.
[[nodiscard]] PathLimits path_limits(const Request& request, std::span<const PathPort> local, const Fabric& fabric);

}    // namespace rdmaqos
