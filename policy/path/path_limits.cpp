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

    [[nodiscard]] std::optional<IbRate> rate() const
    {
        if (local != nullptr) {
            return ib_rate_at_most(local->link_speed).value_or(IbRate{kLowestIbRate});
        }
        return remote != nullptr ? remote->rate : std::nullopt;
    }
    [[nodiscard]] std::optional<IbMtu> mtu() const
    {
        if (local != nullptr) {
            return ib_mtu_from_bytes(local->mtu).value_or(IbMtu::Mtu4096);
        }
        return remote != nullptr ? remote->mtu : std::nullopt;
    }
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

// The lower one of those that are known.
template <typename T, typename IsLower>
std::optional<T> lower_of(const std::optional<T>& a, const std::optional<T>& b, IsLower is_lower)
{
    return !a ? b : !b ? a : is_lower(*b, *a) ? b : a;
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

    End assumed;
    assumed.local = local.empty() ? nullptr : &local.front();
    const auto rate = lower_of(source.rate(), destination.rate(),
                               [](IbRate a, IbRate b) { return compare_rates(a, b) < 0; });
    const auto mtu = lower_of(source.mtu(), destination.mtu(), [](IbMtu a, IbMtu b) { return a < b; });
    limits.rate_is_assumed = !rate;
    limits.mtu_is_assumed = !mtu;
    limits.rate = rate ? *rate : assumed.rate().value_or(*ib_rate_at_most(kUnknownLink));
    limits.mtu = mtu ? *mtu : assumed.mtu().value_or(IbMtu::Mtu4096);
    return limits;
}

PathLimits path_limits(const Request& request, std::span<const PathPort> local, const Fabric& fabric)
{
    PathLimits limits = path_limits(request, local, find_in(fabric));
    limits.valid_sl_mask = fabric.valid_sl_mask;
    return limits;
}

}    // namespace rdmaqos
