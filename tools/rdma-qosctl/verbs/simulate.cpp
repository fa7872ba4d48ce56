#include "tools/rdma-qosctl/verbs/verb.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/base/try.h"
#include "tools/rdma-qosctl/offline/files.h"
#include "tools/rdma-qosctl/offline/targets.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/simulate/html.h"
#include "tools/rdma-qosctl/simulate/loaded_tree.h"
#include "tools/rdma-qosctl/simulate/report.h"
#include "tools/rdma-qosctl/simulate/simulation.h"
#include "tools/rdma-qosctl/world/level_classes.h"
#include "tools/rdma-qosctl/world/online.h"

namespace rdmaqos::ctl {
namespace {

struct SimulateOptions {
    std::vector<std::string> loads;    // LEVEL[*SENDERS]=RATE|inf, separated by commas
    std::string loads_file;            // instead of `loads`
    std::string policy;                // empty: the daemon's trees, or the host's files
    std::string devices_file;          // of simulated devices
    bool offline = false;
    std::string device;                       // empty: all
    std::vector<std::string> port_classes;    // words of lib/model/port_classes.h
    std::string attach_mode;                  // "shared", "per-process"; empty: that of the device
    bool check = false;                       // by packets
    std::string html;                         // file for the page; "-": stdout, instead of the text
};

void add_options(CLI::App& command, SimulateOptions& options)
{
    command
        .add_option("--load", options.loads,
                    "What a level sends, separated by commas or repeated; RATE: 50Gbps, 400Mbps, or inf; LEVEL*N: N "
                    "senders with that rate each")
        ->type_name("LEVEL[*N]=RATE")
        ->allow_extra_args(false);
    command.add_option("--loads", options.loads_file, "The loads of this file, also over time")->type_name("FILE.yaml");
    command.add_option("POLICY", options.policy, "This policy file instead of the running one; -: stdin")
        ->check(policy_file("; loads are one list: `--load LEVEL=RATE,LEVEL=RATE`"));
    command.add_option("--devices", options.devices_file, "On the devices of this file; no daemon needed")
        ->type_name("FILE.yaml");
    command.add_flag("--offline", options.offline, "The host's files or POLICY on a device of the default profile");
    command.add_option("--device", options.device, "Only this: name, name/port, netdev or PCI address")
        ->type_name("DEVICE");
    command
        .add_option("--port-classes", options.port_classes,
                    "Traffic classes of the ports, above the tree: `tc1=70 tc2=30,10Gbps tc6=strict prio3=2 dscp26=3`, "
                    "or `none`; a loads file may have them as well; default: those that the ports have")
        ->type_name("WORDS")
        ->delimiter(' ')
        ->allow_extra_args(false);
    command
        .add_option("--attach-mode", options.attach_mode,
                    "One tree for all, or one for each process, of which every sender is one; default: as the device "
                    "has it")
        ->type_name("shared|per-process")
        ->check(CLI::IsMember({"shared", "per-process"}));
    command.add_flag("--check", options.check, "Simulate it packet by packet too, and print the largest deviation");
    command.add_option("--html", options.html, "Write an HTML page with the tree and bandwidths; -: to stdout")
        ->type_name("FILE");
}

// What is loaded: the live trees of a daemon, or a policy for devices.
struct Scene {
    std::string note;
    bool offline = false;
    std::optional<World> world;              // of the daemon
    std::shared_ptr<const Policy> policy;    // null: the live trees
    std::vector<Target> targets;             // of the policy
    std::uint32_t leaf_reserve = 0;
};

Result<std::optional<World>> ask_daemon(const Context& context, const SimulateOptions& options)
{
    if (options.offline || !options.devices_file.empty()) {
        return std::optional<World>();
    }
    auto client = connect(context);
    if (!client) {
        return client.error().code == ErrorCode::NoDaemon ? Result<std::optional<World>>(std::nullopt)
                                                          : fail(client.error());
    }
    auto world = fetch_world(*client);
    return world ? Result<std::optional<World>>(std::move(*world)) : fail(world.error());
}

std::string policy_in_words(const Policy& policy)
{
    std::vector<std::string> names;
    for (const auto& source : policy.sources) {
        names.push_back(source->name);
    }
    return fmt::format("{}", fmt::join(names, ", "));
}

// Devices of the daemon if it runs, else of the file, else the default profile.
Result<Scene> policy_scene(const Context& context, const SimulateOptions& options, std::optional<World> world)
{
    Scene scene;
    scene.policy = TRY(require_policy(options.policy.empty() ? std::vector<std::string>{} : std::vector{options.policy},
                                      context.root));
    scene.offline = !world;
    std::string devices;
    if (world) {
        for (const auto& device : world->devices) {
            scene.targets.push_back(to_target(device));
        }
        devices = "the daemon's devices, without its sessions";
    } else {
        scene.targets = TRY(load_targets(options.devices_file));
        devices = options.devices_file.empty() ? "a device of the default profile (a ConnectX-6 Dx at 100 Gbit/s)"
                                               : fmt::format("the devices of {}", options.devices_file);
    }
    const bool no_daemon = !world && !options.offline && options.devices_file.empty();
    scene.note = fmt::format("{}who would get what with {} on {}", no_daemon ? "no daemon runs: " : "",
                             policy_in_words(*scene.policy), devices);
    const auto settings = load_settings(context.root);
    scene.leaf_reserve = settings.value ? settings.value->leaf_reserve : Settings{}.leaf_reserve;
    scene.world = std::move(world);
    return scene;
}

Result<Scene> choose_scene(const Context& context, const SimulateOptions& options)
{
    auto world = TRY(ask_daemon(context, options));
    if (!world || !options.policy.empty()) {
        return policy_scene(context, options, std::move(world));
    }
    Scene scene;
    scene.world = std::move(world);
    scene.note = "who would get what in the trees as they are now, with the sessions there are";
    return scene;
}

// The device that is named, or all; empty: an error.
template <typename Device, typename Name>
Result<std::vector<const Device*>> choose(const std::vector<Device>& devices, const std::string& asked, Name is_named)
{
    std::vector<const Device*> chosen;
    for (const auto& device : devices) {
        if (asked.empty() || is_named(device)) {
            chosen.push_back(&device);
        }
    }
    if (chosen.empty()) {
        return fail(ErrorCode::UnknownDevice, asked.empty() ? std::string("there is no device to simulate")
                                                            : fmt::format("there is no device {}", printable(asked)));
    }
    return chosen;
}

bool is_named(const Target& target, const std::string& asked)
{
    return target.device == asked || target.names.device == asked ||
           (!target.names.netdev.empty() && target.names.netdev == asked) ||
           (!target.names.pci_address.empty() && target.names.pci_address == asked);
}

constexpr std::string_view kPerProcess = "per-process";
constexpr const char* kClassesNote = "it is assumed that a port divides itself among its traffic classes, and a class "
                                     "among what the tree has in it; no manual says so. What has no DSCP is in the "
                                     "class of priority 0";

template <typename Load>
SimulatedPort simulate_port(std::string name, Bandwidth link_speed, const Loads& loads, bool check, Load load)
{
    SimulatedPort port{std::move(name), link_speed, {}, {}};
    for (const auto& step : loads.steps) {
        LoadedTree loaded = load(step);
        loaded.port = loads.port_classes.value_or(loaded.port);
        if (loaded.port != PortClasses()) {
            loaded.notes.emplace_back(kClassesNote);
        }
        port.steps.push_back(simulate_step(loaded, link_speed));
        if (check && loaded.port != PortClasses()) {
            loaded.notes.emplace_back("it was not simulated packet by packet: that is without traffic classes of the "
                                      "port (`--port-classes none`)");
        } else if (check) {
            port.steps.back().deviation = check_by_packets(loaded, link_speed);
        }
        for (const auto& note : loaded.notes) {
            if (std::find(port.notes.begin(), port.notes.end(), note) == port.notes.end()) {
                port.notes.push_back(note);
            }
        }
    }
    set_times(loads, port.steps);
    return port;
}

Result<SimulationReport> simulate_scene(const Scene& scene, const Loads& loads, const SimulateOptions& options)
{
    SimulationReport report{scene.offline, loads.over_time, scene.note, {}};
    if (scene.policy) {
        const auto targets = choose(scene.targets, options.device,
                                    [&](const Target& target) { return is_named(target, options.device); });
        if (!targets) {
            return fail(targets.error());
        }
        for (const auto* target : *targets) {
            const bool is_per_process = options.attach_mode.empty() ? target->is_per_process
                                                                    : options.attach_mode == kPerProcess;
            report.ports.push_back(
                simulate_port(target->device, target->link_speed, loads, options.check, [&](const LoadStep& step) {
                    LoadedTree loaded = load_policy_tree(*scene.policy, *target, scene.leaf_reserve, step);
                    if (is_per_process) {
                        give_processes_trees(loaded, {}, target->caps);
                    }
                    loaded.port = target->port;
                    return loaded;
                }));
        }
        return report;
    }
    const DeviceView* named = nullptr;
    if (!options.device.empty()) {
        named = TRY(find_device(*scene.world, options.device));
    }
    const auto devices = choose(scene.world->devices, options.device,
                                [&](const DeviceView& device) { return &device == named; });
    if (!devices) {
        return fail(devices.error());
    }
    for (const auto* device : *devices) {
        const Senders there = senders_on(*scene.world, *device);
        const bool is_per_process = options.attach_mode.empty() ? device->has_tree_for_each()
                                                                : options.attach_mode == kPerProcess;
        report.ports.push_back(
            simulate_port(device->key(), device->link_speed, loads, options.check, [&](const LoadStep& step) {
                LoadedTree loaded = load_live_tree(scene.world->manager.levels, *device, there, step);
                if (is_per_process) {
                    give_processes_trees(loaded, senders_by_process(*scene.world, *device), device->caps());
                }
                loaded.port = port_that_divides(*device);
                return loaded;
            }));
    }
    return report;
}

// Mistakes in the loads, with their places. The advice for a bad policy would mislead here.
ExitStatus refuse(const Context& context, const SimulateOptions& options, const Diagnostics& diagnostics)
{
    const bool is_file = !options.loads_file.empty();
    const std::string what = is_file ? "the loads file is refused\n" : "the load is refused\n";
    const Error error{is_file ? ErrorCode::InvalidPolicy : ErrorCode::InvalidArgument, 0,
                      what + render(diagnostics, Colour::Off)};
    if (context.json) {
        Json json = error_json(error);
        json["error"].erase("hint");
        print(to_text(json));
    }
    print_error(fmt::format("{}: {}: {}{}", styled("rdma-qosctl", Style::Heading, context.error_colour),
                            styled("error", Style::Bad, context.error_colour), what,
                            render(diagnostics, context.error_colour)));
    return exit_status(error.code);
}

// Those of the command line, or of the file.
Result<Loads> with_port_classes(Loads loads, const SimulateOptions& options)
{
    if (options.port_classes == std::vector<std::string>{"none"}) {
        loads.port_classes = PortClasses();
    } else if (!options.port_classes.empty()) {
        loads.port_classes = TRY(parse_port_classes(options.port_classes));
    }
    if (options.check && loads.port_classes.value_or(PortClasses()) != PortClasses()) {
        return fail(ErrorCode::InvalidArgument, "`--check` simulates no traffic classes of the port: leave one of the "
                                                "two out");
    }
    return loads;
}

Result<ReadResult<Loads>> load_loads(const SimulateOptions& options)
{
    if (options.loads_file.empty() == options.loads.empty()) {
        return fail(ErrorCode::InvalidArgument,
                    options.loads.empty()
                        ? "no load: name levels and rates, as in `--load rpc=50Gbps,bulk=inf`, or a file with "
                          "`--loads FILE.yaml`"
                        : "give either `--load` or `--loads`");
    }
    return options.loads.empty() ? read_loads(std::filesystem::path(options.loads_file)) : parse_loads(options.loads);
}

// Renaming a file over a device or a pipe would replace it.
Result<void> write_page(const std::string& file, const SimulationReport& report)
{
    std::error_code error;
    const auto status = std::filesystem::status(file, error);
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("{} is not a regular file; `--html -` writes to stdout", printable(file)));
    }
    return write_file_atomically(file, simulation_page(report));
}

Result<ExitStatus> simulate(const Context& context, const SimulateOptions& options)
{
    if (options.html == "-" && context.json) {
        return fail(ErrorCode::InvalidArgument, "`--html -` and `--json` both write to stdout");
    }
    const auto loads = TRY(load_loads(options));
    if (!loads.value) {
        return refuse(context, options, loads.diagnostics);
    }
    const auto scene = TRY(choose_scene(context, options));
    const auto names = scene.policy ? level_names(*scene.policy) : level_names(*scene.world);
    if (const Diagnostics unknown = check_levels(*loads.value, names); unknown.has_errors()) {
        return refuse(context, options, unknown);
    }
    const auto loaded = TRY(with_port_classes(*loads.value, options));
    const auto report = TRY(simulate_scene(scene, loaded, options));
    if (options.html == "-") {
        print(simulation_page(report));
        return ExitStatus::Ok;
    }
    if (!options.html.empty()) {
        TRY(write_page(options.html, report));
    }
    if (context.json) {
        print(to_text(simulation_json(report)));
        return ExitStatus::Ok;
    }
    print(render_simulation(report, context.screen));
    if (!options.html.empty()) {
        print(fmt::format("\nthe page is in {}\n", printable(options.html)));
    }
    return ExitStatus::Ok;
}

}    // namespace

extern const Verb kSimulateVerb{
    .name = "simulate",
    .summary = "Show who would get what under a load, and what limits it",
    .examples = "  rdma-qosctl simulate --load rpc=50Gbps,bulk=inf                 in the trees as they are\n"
                "  rdma-qosctl simulate new.yaml --load 'rpc*8=1Gbps,rpc=inf'\n"
                "  rdma-qosctl simulate --offline --loads day.yaml --html day.html --check\n"
                "  rdma-qosctl simulate --devices devices.yaml --device mlx5_1 --load bulk=inf",
    .paged = true,
    .prepare = with_options<SimulateOptions, add_options, simulate>,
};

}    // namespace rdmaqos::ctl
