#include "tools/rdma-qosctl/offline/offline_world.h"

#include <algorithm>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "lib/base/try.h"
#include "policy/model/traffic_class.h"
#include "policy/path/multi_path.h"
#include "policy/path/path_limits.h"
#include "tools/rdma-qosctl/offline/files.h"

namespace rdmaqos::ctl {
namespace {

PathPort path_port(const Target& target)
{
    return {target.names.device, target.names.port, target.local->port_guid, target.local->gids, target.local->pkeys,
            target.link_speed,   target.mtu};
}

// The default profile is no port of anybody's: of it nothing is known.
PathLimits limits_of(const OfflineWorld& world, const Request& request)
{
    std::vector<PathPort> ports;
    for (const auto& target : world.targets) {
        if (target.local) {
            ports.push_back(path_port(target));
        }
    }
    return path_limits(request, ports, world.fabric);
}

// The device a request names: one of the targets, or, as the default profile has no name, whatever is said.
Result<std::optional<DeviceNames>> names_of(const OfflineWorld& world, const RequestOptions& options)
{
    if (options.device.empty()) {
        return options.port.empty() ? Result<std::optional<DeviceNames>>(std::nullopt)
                                    : fail(ErrorCode::InvalidArgument, "--port needs --device");
    }
    DeviceNames asked{options.device, 1, options.device, options.device};
    const auto slash = options.device.rfind('/');
    std::string_view port = options.port;
    if (slash != std::string::npos) {
        asked.device = options.device.substr(0, slash);
        port = std::string_view(options.device).substr(slash + 1);
    }
    const auto number = port.empty() ? std::optional<std::uint64_t>(1) : parse_number(port);
    if (!number || *number == 0 || *number > UINT32_MAX) {
        return fail(ErrorCode::InvalidArgument, fmt::format("`{}` is not a port number", printable(port)));
    }
    asked.port = static_cast<std::uint32_t>(*number);
    const bool known = std::any_of(world.targets.begin(), world.targets.end(),
                                   [](const Target& target) { return target.local.has_value(); });
    if (!known) {
        return std::optional(asked);
    }
    for (const auto& target : world.targets) {
        const DeviceNames& names = target.names;
        const bool same_name = names.device == asked.device && (port.empty() || names.port == asked.port);
        if (same_name || names.netdev == options.device || names.pci_address == options.device) {
            return std::optional(names);
        }
    }
    return fail(ErrorCode::UnknownDevice,
                fmt::format("there is no device {} in the simulation file", printable(options.device)));
}

api::PathAnswer ends_of(const Request& request)
{
    return {.source = request.source ? to_string(*request.source) : std::string(),
            .destination = request.destination ? to_string(*request.destination) : std::string()};
}

api::PathAnswer no_path(const Request& request, const Error& error)
{
    api::PathAnswer record = ends_of(request);
    record.error = dbus_name(error.code);
    record.message = error.message;
    return record;
}

api::PathAnswer to_record(const Request& request, const Match& match, std::string why, const PathAnswer& answer)
{
    const QosLevel& level = *match.level;
    api::PathAnswer record = ends_of(request);
    record.level = level.name;
    record.rule = std::move(why);
    record.mtu = bytes(answer.mtu);
    record.rate = nominal(answer.rate);
    record.packet_life = answer.packet_life;
    record.pkey = answer.pkey;
    record.sl = answer.sl;
    if (level.traffic_class) {
        record.traffic_class = level.traffic_class;
        record.dscp = dscp_of(*level.traffic_class);
    }
    if (level.sl && level.sl_source == SlSource::Host) {
        record.sl_source = "host";
    }
    record.assumed = assumed_of(answer);
    return record;
}

}    // namespace

Result<OfflineWorld> load_world(const std::string& policy_file, const std::string& root, const std::string& simulation,
                                const IdentityOptions& identity)
{
    OfflineWorld world;
    world.policy = TRY(
        require_policy(policy_file.empty() ? std::vector<std::string>{} : std::vector{policy_file}, root));
    world.fabric = TRY(require_fabric("", root));
    world.targets = TRY(load_targets(simulation));
    world.identity = TRY(identity_of(identity));
    std::vector<LocalPort> local;
    for (const auto& target : world.targets) {
        if (target.local) {
            local.push_back(*target.local);
        }
    }
    world.matcher = std::make_shared<const Matcher>(*world.policy, resolve(*world.policy, world.fabric, local));
    return world;
}

Result<std::vector<Request>> requests_of(const OfflineWorld& world, const RequestOptions& options)
{
    auto requests = to_requests(options, *world.policy);
    if (!requests) {
        return requests;
    }
    const auto names = TRY(names_of(world, options));
    for (auto& request : *requests) {
        request.device = names;
    }
    return requests;
}

Result<Explanation> explain_offline(const OfflineWorld& world, const RequestOptions& options)
{
    const auto requests = TRY(requests_of(world, options));
    if (requests.size() != 1) {
        return fail(ErrorCode::InvalidArgument, "explain takes one source and one destination");
    }
    const Request& request = requests.front();
    return explain(*world.matcher, request, world.identity, limits_of(world, request));
}

Result<std::vector<api::PathAnswer>> query_path_offline(const OfflineWorld& world, const RequestOptions& options)
{
    const auto requests = TRY(requests_of(world, options));
    std::vector<api::PathAnswer> answers;
    MissingPairs missing;
    for (const auto& request : requests) {
        const auto found = world.matcher->match(request, world.identity);
        const auto answer = found ? apply_level(*found->level, request, limits_of(world, request))
                                  : Result<PathAnswer>(fail(found.error()));
        if (answer) {
            answers.push_back(to_record(request, *found, world.matcher->why(*found, request, world.identity), *answer));
        } else {
            missing.add(request, answer.error());
            answers.push_back(no_path(request, answer.error()));
        }
    }
    if (missing.count() == answers.size()) {
        return fail(missing.none_at_all());
    }
    return answers;
}

}    // namespace rdmaqos::ctl
