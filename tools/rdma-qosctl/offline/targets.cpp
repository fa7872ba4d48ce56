#include "tools/rdma-qosctl/offline/targets.h"

#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "lib/model/busy_rates.h"
#include "lib/model/profile.h"
#include "lib/tree/described_plan.h"
#include "lib/tree/plan.h"
#include "policy/model/lower.h"
#include "policy/model/verdict.h"
#include "policy/yaml/simulation_reader.h"
#include "tools/rdma-qosctl/offline/files.h"
#include "tools/rdma-qosctl/world/level_classes.h"
#include "tools/rdma-qosctl/world/reports.h"

namespace rdmaqos::ctl {
namespace {

constexpr Bandwidth kDefaultLink = Bandwidth::from_gbps(100);

// Empty: a daemon that knows one that this program does not.
std::optional<LinkLayer> link_layer_of(std::string_view name)
{
    for (const auto layer : {LinkLayer::InfiniBand, LinkLayer::Ethernet}) {
        if (name == to_string(layer)) {
            return layer;
        }
    }
    return std::nullopt;
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
    target.names = {device.name,
                    device.port,
                    device.netdev,
                    device.pci_address,
                    device.infiniband ? LinkLayer::InfiniBand : LinkLayer::Ethernet,
                    device.link_speed};
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
    target.names = {device.name,
                    device.port,
                    device.netdev,
                    device.pci_address,
                    link_layer_of(device.link_layer),
                    device.link_up ? device.link_speed : Bandwidth{}};
    target.local = LocalPort{Guid{device.port_guid}, Guid{device.node_guid}, device.port, {}, {}, {}};
    target.is_per_process = device.has_tree_for_each();
    target.caps = device.caps();
    target.port = port_that_divides(device);
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

std::vector<LocalPort> local_ports(const std::vector<Target>& targets)
{
    std::vector<LocalPort> ports;
    ports.reserve(targets.size());
    for (const auto& target : targets) {
        ports.push_back(target.local.value_or(LocalPort{}));
    }
    return ports;
}

TreeSpec tree_spec_for(const Policy& policy, const Target& target)
{
    return target.local ? to_tree_spec(policy, target.names) : to_tree_spec(policy);
}

Compiled compile_for(const Policy& policy, const Target& target, const Settings& settings)
{
    return compile({tree_spec_for(policy, target), {}, target.capabilities, target.link_speed, settings.leaf_reserve});
}

api::DevicePlan plan_for(const Policy& policy, const Target& target, const Settings& settings)
{
    const Compiled compiled = compile_for(policy, target, settings);
    std::set<ElementPath> classes;
    for (const auto& [path, leaves] : compiled.classes) {
        classes.insert(path);
        if (!leaves.responder_leaf.empty()) {
            classes.insert(leaves.responder_leaf);
        }
    }
    api::DevicePlan view;
    view.device = target.device;
    view.plan = describe({}, diff({compiled.tree, {}}, {}, target.capabilities), {}, compiled.requested);
    for (const auto& finding : judge({{target.device, {}, compiled.findings}}, settings.on_unsupported)) {
        view.findings.push_back(to_record(finding));
    }
    view.link_speed = target.link_speed;
    view.rates = compare_busy_rates({}, compiled.tree, target.link_speed, classes);
    return view;
}

}    // namespace rdmaqos::ctl
