#include "tools/rdma-qosctl/offline/offline_world.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <unistd.h>

#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/model/busy_rates.h"
#include "lib/model/profile.h"
#include "lib/tree/plan.h"
#include "lib/tree/render.h"
#include "policy/load/policy_reader.h"
#include "policy/model/lower.h"
#include "policy/model/name_service.h"
#include "policy/path/multi_path.h"
#include "policy/path/path_limits.h"
#include "policy/yaml/fabric_reader.h"
#include "policy/yaml/settings_reader.h"
#include "policy/yaml/simulation_reader.h"
#include "tools/rdma-qosctl/opensm_conformance/topology.h"
#include "tools/rdma-qosctl/output/terminal.h"

namespace rdmaqos::ctl {
namespace {

constexpr const char* kSettingsPath = "/etc/rdma-qos/rdma-qosd.yaml";
constexpr const char* kFabricPath = "/etc/rdma-qos/fabric.yaml";
constexpr Bandwidth kDefaultLink = Bandwidth::from_gbps(100);

// Unlike read_regular_file: stdin may be a pipe.
Result<std::string> read_stdin()
{
    std::string text;
    std::string chunk(65536, '\0');
    while (true) {
        const ssize_t got = read(STDIN_FILENO, chunk.data(), chunk.size());
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return fail(error_from_errno(ErrorCode::Io, errno, "stdin"));
        }
        if (got == 0) {
            return text;
        }
        text.append(chunk, 0, static_cast<std::size_t>(got));
        if (text.size() > kMaxConfigFileSize) {
            return fail(ErrorCode::Io, fmt::format("stdin holds more than {}", bytes_to_string(kMaxConfigFileSize)));
        }
    }
}

Error invalid_policy(const Diagnostics& diagnostics, std::string_view what)
{
    return Error{ErrorCode::InvalidPolicy, 0, fmt::format("{} is refused\n{}", what, render(diagnostics, Colour::Off))};
}

PathPort path_port(const Target& target)
{
    return {target.names.device, target.names.port,  target.local->port_guid, target.local->gids,
            target.local->pkeys, target.link_speed, target.mtu};
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
    return path_limits(request, ports, [&world](Guid guid) { return world.fabric.find_port(guid); });
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

Result<std::vector<Request>> requests_of(const OfflineWorld& world, const RequestOptions& options)
{
    auto requests = to_requests(options, *world.policy);
    if (!requests) {
        return requests;
    }
    const auto names = names_of(world, options);
    if (!names) {
        return fail(names.error());
    }
    for (auto& request : *requests) {
        request.device = *names;
    }
    return requests;
}

void set_ends(bus::Dict& dict, const Request& request)
{
    if (request.source) {
        dict.set("source", to_string(*request.source));
    }
    if (request.destination) {
        dict.set("destination", to_string(*request.destination));
    }
}

bus::Dict missing_dict(const Request& request, const Error& error)
{
    bus::Dict dict;
    set_ends(dict, request);
    dict.set("error", std::string(dbus_name(error.code)));
    dict.set("message", error.message);
    return dict;
}

bus::Dict answer_dict(const Request& request, const Match& match, std::string why, const PathAnswer& answer)
{
    bus::Dict dict;
    dict.set("level", match.level->name);
    dict.set("rule", std::move(why));
    set_ends(dict, request);
    dict.set("mtu", bytes(answer.mtu));
    dict.set("rate", nominal(answer.rate).kbps());
    dict.set("packet-life", answer.packet_life);
    if (answer.pkey) {
        dict.set("pkey", *answer.pkey);
    }
    if (answer.sl) {
        dict.set("sl", *answer.sl);
    }
    return dict;
}

}    // namespace

Target default_target()
{
    Target target;
    target.device = "default profile";
    target.capabilities = default_capabilities();
    target.link_speed = kDefaultLink;
    return target;
}

Target to_target(const SimulatedDevice& device)
{
    Target target;
    target.device = fmt::format("{}/{}", device.name, device.port);
    target.capabilities = device.capabilities;
    target.link_speed = device.link_speed;
    target.mtu = device.mtu;
    target.names = {device.name, device.port, device.netdev, device.pci_address};
    target.local = LocalPort{device.port_guid, device.node_guid, device.port,
                             device.gids,      device.pkeys,     device.node_description};
    return target;
}

Target to_target(const DeviceView& device)
{
    Target target;
    target.device = device.key();
    target.capabilities = device.capabilities;
    target.link_speed = device.link_speed;
    target.names = {device.name, device.port, device.netdev, device.pci_address};
    target.local = LocalPort{Guid{device.port_guid}, Guid{device.node_guid}, device.port, {}, {}, {}};
    return target;
}

Result<std::vector<Target>> load_targets(const std::string& simulation)
{
    if (simulation.empty()) {
        return std::vector{default_target()};
    }
    const auto read = read_simulation(std::filesystem::path(simulation), default_capabilities());
    if (!read.value) {
        return fail(invalid_policy(read.diagnostics, "the simulation file"));
    }
    std::vector<Target> targets;
    for (const auto& device : *read.value) {
        targets.push_back(to_target(device));
    }
    if (targets.empty()) {
        return fail(ErrorCode::InvalidArgument, fmt::format("{} lists no device", printable(simulation)));
    }
    return targets;
}

Result<std::shared_ptr<const SourceFile>> read_source(const std::string& file)
{
    auto text = file == "-" ? read_stdin() : read_regular_file(file, kMaxConfigFileSize);
    if (!text) {
        return fail(std::move(text).error());
    }
    return std::make_shared<const SourceFile>(SourceFile{file == "-" ? "<stdin>" : file, std::move(*text)});
}

std::shared_ptr<const SourceFile> load_source(const std::string& file, Diagnostics& diagnostics)
{
    auto source = read_source(file);
    if (source) {
        return std::move(*source);
    }
    const auto name = std::make_shared<const SourceFile>(SourceFile{file == "-" ? "<stdin>" : file, {}});
    diagnostics.error(Location{name, 0, 0, 0}, to_string(source.error()));
    return nullptr;
}

ReadResult<Policy> load_policy(const std::vector<std::string>& files, const std::string& root)
{
    const auto fabric = load_fabric(root);    // who needs it reports what is wrong with it
    return load_policy(files, root, fabric.value ? *fabric.value : Fabric{});
}

ReadResult<Policy> load_policy(const std::vector<std::string>& files, const std::string& root, const Fabric& fabric)
{
    const NameService names = NameService::host();
    if (files.empty()) {
        return read_host_policy(root, names, fabric);
    }
    Diagnostics unreadable;
    std::vector<std::shared_ptr<const SourceFile>> sources;
    for (const auto& file : files) {
        if (auto source = load_source(file, unreadable)) {
            sources.push_back(std::move(source));
        }
    }
    if (unreadable.has_errors()) {
        return {nullptr, std::move(unreadable)};
    }
    return read_policy(std::move(sources), names, fabric);
}

Result<std::shared_ptr<const Policy>> require_policy(const std::vector<std::string>& files, const std::string& root)
{
    auto read = load_policy(files, root);
    if (!read.value) {
        return fail(invalid_policy(read.diagnostics, "the policy"));
    }
    return std::move(read.value);
}

ReadResult<Settings> load_settings(const std::string& root)
{
    return read_settings(below_root(root, kSettingsPath));
}

ReadResult<Fabric> load_fabric(const std::string& root)
{
    return read_fabric(below_root(root, kFabricPath));
}

Result<Fabric> require_fabric(const std::string& topology, const std::string& fabric, const std::string& root)
{
    if (!topology.empty()) {
        const auto text = read_regular_file(topology, kMaxConfigFileSize);
        auto read = text ? parse_topology(*text) : fail(text.error());
        return read ? std::move(read) : fail(std::move(read).error().with_context(topology));
    }
    const auto read = fabric.empty() ? load_fabric(root) : read_fabric(std::filesystem::path(fabric));
    if (!read.value) {
        return fail(invalid_policy(read.diagnostics, "the fabric file"));
    }
    return *read.value;
}

Compiled compile_for(const Policy& policy, const Target& target, const Settings& settings)
{
    return compile({to_tree_spec(policy), {}, target.capabilities, target.link_speed, settings.leaf_reserve});
}

bus::Dict plan_for(const Policy& policy, const Target& target, const Settings& settings)
{
    const Compiled compiled = compile_for(policy, target, settings);
    const ActualState empty;
    const Plan plan = diff({compiled.tree, {}}, empty, target.capabilities);
    const std::string operations = render_operations(empty, plan);
    const auto lines = lines_of(operations);
    std::vector<std::string> findings;
    for (const auto& finding : compiled.findings) {
        findings.push_back(to_string(finding));
    }
    std::set<ElementPath> classes;
    for (const auto& [path, leaves] : compiled.classes) {
        classes.insert(path);
    }
    std::vector<bus::Dict> rates;
    for (const auto& [path, rate] : compare_busy_rates({}, compiled.tree, target.link_speed, classes)) {
        bus::Dict& dict = rates.emplace_back();
        dict.set("class", path.text());
        dict.set("after", rate.after->kbps());
    }
    bus::Dict dict;
    dict.set("device", target.device);
    dict.set("operations", static_cast<std::uint32_t>(plan.operations.size()));
    dict.set("operation-list", std::vector<std::string>(lines.begin(), lines.end()));
    dict.set("findings", std::move(findings));
    dict.set("link-speed", target.link_speed.kbps());
    dict.set("rates", std::move(rates));
    dict.set("text", render_plan(empty, plan));
    return dict;
}

Result<OfflineWorld> load_world(const std::string& policy_file, const std::string& root, const std::string& simulation,
                                const IdentityOptions& identity)
{
    OfflineWorld world;
    auto policy = require_policy(policy_file.empty() ? std::vector<std::string>{} : std::vector{policy_file}, root);
    if (!policy) {
        return fail(policy.error());
    }
    world.policy = std::move(*policy);
    auto fabric = require_fabric("", "", root);
    if (!fabric) {
        return fail(fabric.error());
    }
    world.fabric = std::move(*fabric);
    auto targets = load_targets(simulation);
    if (!targets) {
        return fail(targets.error());
    }
    world.targets = std::move(*targets);
    auto who = identity_of(identity);
    if (!who) {
        return fail(who.error());
    }
    world.identity = std::move(*who);
    std::vector<LocalPort> local;
    for (const auto& target : world.targets) {
        if (target.local) {
            local.push_back(*target.local);
        }
    }
    world.matcher = std::make_shared<const Matcher>(*world.policy, resolve(*world.policy, world.fabric, local));
    return world;
}

Result<Explanation> explain_offline(const OfflineWorld& world, const RequestOptions& options)
{
    const auto requests = requests_of(world, options);
    if (!requests) {
        return fail(requests.error());
    }
    if (requests->size() != 1) {
        return fail(ErrorCode::InvalidArgument, "explain takes one source and one destination");
    }
    const Request& request = requests->front();
    return explain(*world.matcher, request, world.identity, limits_of(world, request));
}

Result<std::vector<bus::Dict>> query_path_offline(const OfflineWorld& world, const RequestOptions& options)
{
    const auto requests = requests_of(world, options);
    if (!requests) {
        return fail(requests.error());
    }
    std::vector<bus::Dict> answers;
    MissingPairs missing;
    for (const auto& request : *requests) {
        const auto found = world.matcher->match(request, world.identity);
        const auto answer = found ? apply_level(*found->level, request, limits_of(world, request))
                                  : Result<PathAnswer>(fail(found.error()));
        if (answer) {
            answers.push_back(
                answer_dict(request, *found, world.matcher->why(*found, request, world.identity), *answer));
        } else {
            missing.add(request, answer.error());
            answers.push_back(missing_dict(request, answer.error()));
        }
    }
    if (missing.count() == answers.size()) {
        return fail(missing.none_at_all());
    }
    return answers;
}

}    // namespace rdmaqos::ctl
