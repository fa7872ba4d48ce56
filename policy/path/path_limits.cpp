#include "policy/path/path_limits.h"

#include <algorithm>

namespace rdmaqos {
namespace {

constexpr Bandwidth kUnknownLink = Bandwidth::from_gbps(100);

// One end of a path, as far as it is known.
struct End {
    const Endpoint* asked = nullptr;
    std::optional<Guid> guid;    // 0 is none
    const PathPort* local = nullptr;
    const FabricPort* remote = nullptr;    // null where it is a port of this host

    [[nodiscard]] std::span<const std::uint16_t> pkeys() const
    {
        if (local != nullptr) {
            return local->pkeys;
        }
        return remote != nullptr ? std::span<const std::uint16_t>(remote->pkeys) : std::span<const std::uint16_t>();
    }
};

bool is_named(const PathPort& port, const Request& request)
{
    return request.device && request.device->device == port.device && request.device->port == port.port;
}

bool has_end(const PathPort& port, const End& end)
{
    if (end.guid == port.port_guid) {
        return true;
    }
    const auto* gid = std::get_if<Gid>(end.asked);
    return gid != nullptr && std::find(port.gids.begin(), port.gids.end(), *gid) != port.gids.end();
}

// Two ports of this host can share an address (a bond): the device that the request names is then meant.
const PathPort* local_port(const End& end, const Request& request, std::span<const PathPort> local)
{
    const PathPort* found = nullptr;
    for (const PathPort& port : local) {
        if (has_end(port, end) && (found == nullptr || is_named(port, request))) {
            found = &port;
        }
    }
    return found;
}

End find_end(const std::optional<Endpoint>& asked, const Request& request, std::span<const PathPort> local,
             const FindPort& find)
{
    End end;
    if (!asked) {
        return end;
    }
    end.asked = &*asked;
    end.guid = port_guid_of(*asked);
    if (end.guid == Guid{}) {
        end.guid.reset();
    }
    if (const auto* lid = std::get_if<Lid>(&*asked)) {
        end.remote = find(*lid);
        end.guid = end.remote != nullptr ? std::optional(end.remote->guid) : std::nullopt;
    }
    end.local = local_port(end, request, local);
    if (end.local != nullptr) {
        end.remote = nullptr;
    } else if (end.guid && end.remote == nullptr) {
        end.remote = find(*end.guid);
    }
    return end;
}

// The port by which a request without a source leaves.
const PathPort* port_of_host(const Request& request, std::span<const PathPort> local)
{
    const auto named = std::find_if(local.begin(), local.end(),
                                    [&](const PathPort& port) { return is_named(port, request); });
    return named != local.end() ? &*named : local.empty() ? nullptr : &local.front();
}

bool are_one_port(const End& source, const End& destination)
{
    if (source.local != nullptr || destination.local != nullptr) {
        return source.local == destination.local;
    }
    if (source.asked == nullptr || destination.asked == nullptr) {
        return false;
    }
    return source.guid ? source.guid == destination.guid : *source.asked == *destination.asked;
}

}    // namespace

FindPort find_in(const Fabric& fabric)
{
    return [&fabric](const std::variant<Guid, Lid>& address) {
        const auto* lid = std::get_if<Lid>(&address);
        return lid != nullptr ? fabric.find_lid(*lid) : fabric.find_port(std::get<Guid>(address));
    };
}

PathLimits path_limits(const Request& request, std::span<const PathPort> local, const FindPort& find)
{
    End source = find_end(request.source, request, local, find);
    const End destination = find_end(request.destination, request, local, find);
    if (!request.source) {
        source.local = port_of_host(request, local);
    }

    PathLimits limits;
    limits.loopback = are_one_port(source, destination);
    limits.source_pkeys.assign(source.pkeys().begin(), source.pkeys().end());
    limits.destination_pkeys.assign(destination.pkeys().begin(), destination.pkeys().end());
    limits.pkeys_known = !limits.source_pkeys.empty() && !limits.destination_pkeys.empty();

    const PathPort* first = source.local != nullptr ? source.local : destination.local;
    first = first != nullptr || local.empty() ? first : &local.front();
    const PathPort* second = destination.local != nullptr ? destination.local : first;
    const Bandwidth speed = first != nullptr ? std::min(first->link_speed, second->link_speed) : kUnknownLink;
    limits.rate = ib_rate_at_most(speed).value_or(IbRate{kLowestIbRate});
    if (first != nullptr) {
        limits.mtu = ib_mtu_from_bytes(std::min(first->mtu, second->mtu)).value_or(IbMtu::Mtu4096);
    }
    return limits;
}

}    // namespace rdmaqos
