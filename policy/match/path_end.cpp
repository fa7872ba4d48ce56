#include "policy/match/path_end.h"

#include <algorithm>

namespace rdmaqos {
namespace {

// On RoCE an IPv4 address is mapped to ::ffff:a.b.c.d, whose lower half is no GUID.
bool is_ipv4_mapped(const Gid& gid)
{
    return gid.subnet_prefix() == 0 && gid.interface_id().value >> 32U == 0xFFFF;
}

}    // namespace

std::optional<Guid> port_guid_of(const Endpoint& endpoint)
{
    if (const auto* guid = std::get_if<Guid>(&endpoint)) {
        return *guid;
    }
    const Gid& gid = std::get<Gid>(endpoint);
    return is_ipv4_mapped(gid) ? std::nullopt : std::optional(gid.interface_id());
}

PathEnd path_end(const std::optional<Endpoint>& endpoint, const ResolvedGroups& groups)
{
    PathEnd end;
    if (!endpoint) {
        return end;
    }
    end.gid = std::get_if<Gid>(&*endpoint);
    if (const auto guid = port_guid_of(*endpoint)) {
        end.guid = guid->value;
    }
    if (end.guid) {
        const auto& types = groups.node_types;
        const auto found = std::lower_bound(types.begin(), types.end(), Guid{*end.guid},
                                            [](const auto& entry, Guid guid) { return entry.first < guid; });
        if (found != types.end() && found->first == Guid{*end.guid}) {
            end.type = found->second;
        }
    }
    return end;
}

}    // namespace rdmaqos
