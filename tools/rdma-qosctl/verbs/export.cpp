#include "tools/rdma-qosctl/verbs/verb.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "lib/base/text.h"
#include "lib/base/try.h"
#include "lib/dcb/port.h"
#include "lib/port_classes/commands.h"
#include "lib/port_lint/rdma_facts.h"
#include "lib/smp/lanes.h"
#include "tools/rdma-qosctl/offline/dcb_export.h"
#include "tools/rdma-qosctl/offline/files.h"
#include "tools/rdma-qosctl/offline/opensm_compare.h"
#include "tools/rdma-qosctl/offline/opensm_qos.h"
#include "tools/rdma-qosctl/offline/port_demands.h"
#include "tools/rdma-qosctl/offline/port_lanes.h"
#include "tools/rdma-qosctl/offline/vl_arbitration.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/world/online.h"
#include "tools/rdma-qosctl/world/port_levels.h"

namespace rdmaqos::ctl {
namespace {

struct ExportOpensmOptions {
    std::vector<std::string> files;
    std::uint32_t data_vls = FabricPorts{}.data_vls;
    std::size_t entries = FabricPorts{}.entries;
    std::string compare;    // a port: what it has, instead of the lines
};

void add_options(CLI::App& command, ExportOpensmOptions& options)
{
    command.add_option("FILE", options.files, "Policy files; none: those of the host")->check(policy_file());
    command.add_option("--data-vls", options.data_vls, "How many VLs for data all ports of the fabric have")
        ->type_name("1|2|4|8|15")
        ->check(CLI::IsMember({1, 2, 4, 8, 15}));
    command
        .add_option("--vlarb-entries", options.entries,
                    "How many entries the VL arbitration tables of all ports have: VLArbLowCap of `smpquery portinfo`")
        ->type_name("N")
        ->check(CLI::Range(std::size_t{1}, kMostEntries));
    command
        .add_option("--compare", options.compare,
                    "Print instead in what this InfiniBand port of the host differs from that, by what it says of "
                    "itself; needs root")
        ->type_name("DEVICE[/PORT]");
}

Json turns_json(const std::vector<smp::Turn>& turns)
{
    Json all = Json::array();
    for (const smp::Turn& turn : turns) {
        all.push_back({{"vl", turn.vl}, {"weight", turn.weight}});
    }
    return all;
}

Json qos_json(const OpensmQos& qos)
{
    Json lanes = Json::array();
    for (const Lane& lane : qos.lanes) {
        Json each{{"vl", lanes.size()}};
        set_text(each, "child", lane.child);
        each["share"] = lane.share;
        each["goes-first"] = lane.is_first;
        each["sls"] = lane.sls;
        lanes.push_back(std::move(each));
    }
    return {{"revision", qos.revision},     {"max-vls", qos.max_vls},       {"lanes", std::move(lanes)},
            {"high-limit", qos.high_limit}, {"high", turns_json(qos.high)}, {"low", turns_json(qos.low)},
            {"sl2vl", qos.vl_of_sl},        {"findings", qos.findings},     {"conf", to_conf(qos)}};
}

// "mlx5_0/1"; the first port if none is named.
Result<smp::PortLanes> read_port(const Context& context, const std::string& name)
{
    const auto slash = name.find('/');
    const auto port = slash == std::string::npos ? std::optional<std::uint64_t>(1)
                                                 : parse_number(name.substr(slash + 1));
    if (!port || *port == 0 || *port > UINT8_MAX) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("`--compare {}`: write a device, or a device and the number of a port: mlx5_0/1",
                                printable(name)));
    }
    auto lanes = read_port_lanes(context.root, name.substr(0, slash), static_cast<std::uint32_t>(*port));
    return lanes ? lanes : fail(lanes.error().with_context(printable(name)));
}

Result<ExitStatus> compare_with_port(const Context& context, const OpensmQos& qos, const std::string& name)
{
    const smp::PortLanes port = TRY(read_port(context, name));
    const auto found = differences(qos, port);
    if (context.json) {
        print(to_text({{"revision", qos.revision},
                       {"device", name},
                       {"data-vls", port.data_vls},
                       {"high-limit", port.high_limit},
                       {"high", turns_json(port.high)},
                       {"low", turns_json(port.low)},
                       {"sl2vl", port.vl_of_sl},
                       {"differences", found}}));
    } else {
        print(fmt::format("{} has {} for data, high priority {}, low priority {}, sl2vl {}\n", printable(name),
                          counted(port.data_vls, "VL"), in_words(port.high), in_words(port.low),
                          fmt::join(port.vl_of_sl, ",")));
        for (const std::string& each : found) {
            print(labelled("differs:", Style::Warning, each, context.screen));
        }
        if (found.empty()) {
            print(fmt::format("it divides its link as `rdma-qosctl export opensm` asks for policy {}\n", qos.revision));
        }
    }
    return found.empty() ? ExitStatus::Ok : ExitStatus::Found;
}

Result<ExitStatus> export_opensm(const Context& context, const ExportOpensmOptions& options)
{
    const auto policy = TRY(require_policy(options.files, context.root));
    const OpensmQos qos = opensm_qos(*policy, {static_cast<std::uint8_t>(options.data_vls), options.entries});
    if (!options.compare.empty()) {
        return compare_with_port(context, qos, options.compare);
    }
    print(context.json ? to_text(qos_json(qos)) : to_conf(qos));
    return ExitStatus::Ok;
}

struct ExportDcbOptions {
    std::vector<std::string> files;
    std::string interface;
};

void add_options(CLI::App& command, ExportDcbOptions& options)
{
    command.add_option("FILE", options.files, "Policy files; none: those of the host")->check(policy_file());
    command.add_option("--interface", options.interface, "Only of this network interface")->type_name("NAME");
}

std::string no_port(const std::string& root, const std::string& interface)
{
    if (std::string why = why_no_ports(root); !why.empty()) {
        return why;
    }
    return interface.empty() ? "this host has no RoCE port"
                             : fmt::format("{} is no RoCE port of this host; see `rdma link`", interface);
}

// Empty: no daemon runs, or it does not answer.
std::vector<DeviceView> devices_of_daemon(const Context& context)
{
    auto client = connect(context);
    auto world = client ? fetch_devices(*client) : Result<World>(fail(client.error()));
    return world ? std::move(world->devices) : std::vector<DeviceView>();
}

bool is_kept(port_lint::Interface port, const std::vector<DeviceView>& devices)
{
    take_from_daemon(port, devices);
    return port.is_kept;
}

Result<ExitStatus> export_dcb(const Context& context, const ExportDcbOptions& options)
{
    const auto policy = TRY(require_policy(options.files, context.root));
    const auto settings = load_settings(context.root);
    dcb::KernelTransport kernel;
    Json ports = Json::array();
    std::string text;
    std::vector<std::string> unread;
    const std::string root = context.root.empty() ? "/" : context.root;
    const auto devices = devices_of_daemon(context);
    for (const port_lint::FoundPort& found : port_lint::find_ports(root)) {
        const port_lint::Interface& port = found.interface;
        if (!options.interface.empty() && port.name != options.interface) {
            continue;
        }
        const auto before = dcb::read_port(kernel, port.name);
        if (!before) {
            unread.push_back(fmt::format("{}: {}", port.name, to_string(before.error())));
            continue;
        }
        PortExport exported = export_port(*policy, settings.value ? *settings.value : Settings{}, names_of_port(found),
                                          port.driver, *before);
        exported.is_kept = is_kept(port, devices);
        text += (text.empty() ? "" : "\n") + to_script(exported);
        ports.push_back({{"interface", port.name},
                         {"commands", port_classes::dcb_commands(port.name, exported.steps)},
                         {"script", to_script(exported)}});
    }
    if (ports.empty()) {
        return fail(ErrorCode::UnknownDevice,
                    unread.empty() ? no_port(root, options.interface) : fmt::format("{}", fmt::join(unread, "; ")));
    }
    for (const std::string& why : unread) {
        text += "\n# " + why + "\n";
    }
    print(context.json ? to_text({{"revision", policy->revision}, {"ports", std::move(ports)}, {"unread", unread}})
                       : text);
    return ExitStatus::Ok;
}

constexpr Verb kPartsOfExport[] = {
    {
        .name = "dcb",
        .summary = "Print commands of dcb(8) that divide the host's RoCE ports as the policy divides a NIC",
        .examples = "  rdma-qosctl export dcb\n"
                    "  rdma-qosctl export dcb new.yaml --interface ens1f0np0 | sh -e",
        .prepare = with_options<ExportDcbOptions, add_options, export_dcb>,
    },
    {
        .name = "opensm",
        .summary = "Print lines of opensm.conf that divide the fabric's links as the policy divides a NIC",
        .examples = "  rdma-qosctl export opensm >>/etc/opensm/opensm.conf\n"
                    "  rdma-qosctl export opensm new.yaml --data-vls 4\n"
                    "  rdma-qosctl export opensm --compare mlx5_0     what the subnet manager has set in its port 1",
        .prepare = with_options<ExportOpensmOptions, add_options, export_opensm>,
    },
};

}    // namespace

extern const Verb kExportVerb{
    .name = "export",
    .summary = "Print the policy as settings of other programs: traffic classes of dcb(8), virtual lanes of OpenSM",
    .examples = "  rdma-qosctl export dcb\n"
                "  rdma-qosctl export opensm",
    .parts = kPartsOfExport,
};

}    // namespace rdmaqos::ctl
