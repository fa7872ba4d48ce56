#include "tools/rdma-qosctl/verbs/verb.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/base/try.h"
#include "lib/dcb/port.h"
#include "lib/dcb/transport.h"
#include "lib/port_bytes/counters.h"
#include "lib/port_lint/lint.h"
#include "lib/port_lint/rdma_facts.h"
#include "policy/match/hidden_rules.h"
#include "policy/match/ipoib_partitions.h"
#include "policy/match/marks.h"
#include "policy/match/matcher.h"
#include "policy/match/resolve.h"
#include "policy/model/lower.h"
#include "tools/rdma-qosctl/offline/files.h"
#include "tools/rdma-qosctl/offline/kernel_traffic.h"
#include "tools/rdma-qosctl/offline/opensm_compare.h"
#include "tools/rdma-qosctl/offline/opensm_qos.h"
#include "tools/rdma-qosctl/offline/other_end.h"
#include "tools/rdma-qosctl/offline/port_demands.h"
#include "tools/rdma-qosctl/offline/port_lanes.h"
#include "tools/rdma-qosctl/offline/port_watch.h"
#include "tools/rdma-qosctl/offline/targets.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/rendering/check.h"
#include "tools/rdma-qosctl/world/online.h"
#include "tools/rdma-qosctl/world/port_levels.h"

namespace rdmaqos::ctl {
namespace {

struct CheckOptions {
    PolicyFiles policy;
    std::string devices_file;    // of simulated devices
    bool offline = false;
    bool host = false;                 // look at the ports of this host, too
    std::vector<std::string> peers;    // files that say how ports of other hosts are set
    unsigned watch = 0;                // seconds
};

void add_options(CLI::App& command, CheckOptions& options)
{
    add_policy_files(command, options.policy);
    command.add_option("--devices", options.devices_file, "Check against the devices of this file")
        ->type_name("FILE.yaml");
    command.add_flag("--offline", options.offline, "Do not ask the daemon for its devices");
    auto* host = command.add_flag(
        "--host", options.host,
        "Also compare the traffic classes and virtual lanes of this host's ports with the policy");
    command.add_option("--peer", options.peers, "And with those of another host: its `rdma-qosctl devices --json`")
        ->type_name("FILE.json")
        ->allow_extra_args(false)
        ->needs(host);
    command.add_option("--watch", options.watch, "Watch for so long who sets the ports again and again")
        ->type_name("SECONDS")
        ->check(CLI::Range(1U, 3600U))
        ->needs(host);
}

struct Chosen {
    std::vector<Target> targets;
    std::vector<LeftOutDevice> left_out;
    std::string note;
};

// The devices of a simulation file, of the daemon, or the default profile.
Result<Chosen> choose_targets(const Context& context, const CheckOptions& options)
{
    Chosen chosen;
    if (options.devices_file.empty() && !options.offline) {
        if (auto client = connect(context)) {
            auto world = TRY(fetch_world(*client));
            for (const auto& device : world.devices) {
                if (device.state == "disabled") {
                    chosen.left_out.push_back({device.key(), LeftOutDevice::Why::Disabled});
                } else {
                    chosen.targets.push_back(to_target(device));
                }
            }
            for (const auto& device : world.manager.released_devices) {
                chosen.left_out.push_back({device, LeftOutDevice::Why::Released});
            }
            chosen.note = "checked against the devices of the running daemon";
        }
    }
    if (!chosen.targets.empty()) {
        return chosen;
    }
    chosen.targets = TRY(load_targets(options.devices_file));
    chosen
        .note = options.devices_file.empty()
                    ? "checked against the default profile (a ConnectX-6 Dx at 100 Gbit/s); --devices FILE names others"
                    : fmt::format("checked against the devices of {}", options.devices_file);
    return chosen;
}

CheckedDevice check_device(const Policy& policy, const Target& target, const Settings& settings)
{
    Compiled compiled = compile_for(policy, target, settings);
    CheckedDevice device;
    device.device = target.device;
    device.leaves = leaf_count(compiled.tree);
    device.elements = static_cast<std::uint32_t>(compiled.tree.size());
    device.findings = judge({{target.device, {}, std::move(compiled.findings)}}, settings.on_unsupported);
    const TreeSpec spec = tree_spec_for(policy, target);
    for (const auto& level : policy.levels) {
        if (has_class(spec, class_path(policy, level))) {
            device.classes.push_back(level.name);
        }
    }
    return device;
}

// A level whose `devices` are none of these has its class nowhere.
void warn_of_absent_devices(const Policy& policy, CheckReport& report)
{
    for (const auto& level : policy.levels) {
        const auto has_level = [&](const CheckedDevice& device) {
            return std::ranges::find(device.classes, level.name) != device.classes.end();
        };
        const bool asks_for_class = level.schedule && level.mode == Mode::Enforce;
        if (asks_for_class && std::ranges::none_of(report.devices, has_level)) {
            report.diagnostics
                .warning(
                    level.location,
                    fmt::format("no device here has the class of `{}`: its `devices`, or those of a scheduling-node "
                                "above it, are others",
                                level.name))
                .hint = "`rdma-qosctl devices` lists those of this host";
        }
    }
}

// Those that no reader has told: that of OpenSM's policies looks at partitions itself.
void append_untold(Diagnostics& diagnostics, const Diagnostics& warnings)
{
    const std::vector<Diagnostic> told = diagnostics.all();
    for (const Diagnostic& warning : warnings.all()) {
        const bool is_told = std::ranges::any_of(told, [&warning](const Diagnostic& other) {
            return other.location.file == warning.location.file && other.location.line == warning.location.line &&
                   other.message == warning.message;
        });
        if (!is_told) {
            diagnostics.warning(warning.location, warning.message).hint = warning.hint;
        }
    }
}

void append_new(std::vector<std::string>& notes, const std::vector<std::string>& more)
{
    for (const std::string& note : more) {
        if (std::ranges::find(notes, note) == notes.end()) {
            notes.push_back(note);
        }
    }
}

struct DaemonsDevices {
    std::vector<DeviceView> devices;    // as the daemon says
    std::string unasked;                // why it was not asked, though it may run; empty: it was
};

// What is asked of all ports alike.
struct PortQuestion {
    std::string root;    // "/"
    std::vector<port_lint::OtherEnd> other_ends;
    std::chrono::seconds watch{};
    std::function<DaemonsDevices()> ask_daemon;    // which may keep what others should leave alone
};

DaemonsDevices ask_daemon(const Context& context, const CheckOptions& options)
{
    if (options.offline) {
        return {{}, "the daemon is not asked (--offline)"};
    }
    auto client = connect(context);
    if (!client) {
        return {{}, client.error().code == ErrorCode::NoDaemon ? "" : to_string(client.error())};
    }
    auto world = fetch_devices(*client);
    if (!world) {
        return {{}, world.error().code == ErrorCode::NoDaemon ? "" : to_string(world.error())};
    }
    return {std::move(world->devices), ""};
}

Result<PortQuestion> question_of(const Context& context, const CheckOptions& options)
{
    PortQuestion question{context.root.empty() ? "/" : context.root,
                          {},
                          std::chrono::seconds(options.watch),
                          [&context, &options] { return ask_daemon(context, options); }};
    for (const std::string& file : options.peers) {
        const std::string text = TRY(read_regular_file(file, kLargestOtherEnd));
        for (auto& end : TRY(other_ends_of(text, file))) {
            question.other_ends.push_back(std::move(end));
        }
    }
    return question;
}

std::optional<std::map<std::string, port_lint::Rewrites>> watched_ports(const PortQuestion& question,
                                                                        CheckedPorts& checked)
{
    if (question.watch == std::chrono::seconds(0)) {
        return std::nullopt;
    }
    auto rewrites = watch_ports(question.watch);
    if (!rewrites) {
        checked.notes.push_back(fmt::format("who sets the ports cannot be seen: {}", to_string(rewrites.error())));
        return std::nullopt;
    }
    return std::move(*rewrites);
}

// What the subnet manager has set in one of them, if the policy divides links at all and the port says it.
void compare_lanes(const OpensmQos& wanted, const std::string& root, port_lint::Interface& port, CheckedPorts& checked)
{
    if (wanted.lanes.size() < 2) {
        return;
    }
    const auto lanes = read_port_lanes(root, port.rdma.device, port.rdma.port);
    if (lanes) {
        port.lanes_that_differ = differences(wanted, *lanes);
        checked.compared_lanes.push_back(port.name);
    } else {
        checked.notes.push_back(
            fmt::format("{}: its virtual lanes are not compared: {}", port.name, to_string(lanes.error())));
    }
}

// Those on InfiniBand have neither traffic classes nor DSCPs.
void add_infiniband_ports(const Policy& policy, const std::string& root, std::vector<port_lint::Interface>& host,
                          CheckedPorts& checked)
{
    const OpensmQos wanted = opensm_qos(policy, FabricPorts{});
    for (auto& found : port_lint::find_infiniband_ports(root)) {
        DeviceNames names = names_of_port(found);
        names.link_layer = LinkLayer::InfiniBand;
        set_demands(found.interface, policy, names);
        compare_lanes(wanted, root, found.interface, checked);
        host.push_back(std::move(found.interface));
    }
}

// The kernel tells everybody; the daemon only what it does with them.
CheckedPorts check_ports(const Policy& policy, const Matcher& matcher, const PortQuestion& question)
{
    CheckedPorts checked;
    std::vector<port_lint::Interface> host;
    std::vector<std::string> unseen;
    const auto loaded = loaded_protocols(question.root);
    const auto rewrites = watched_ports(question, checked);
    const DaemonsDevices daemon = question.ask_daemon();    // after the watch: it may have given up a port meanwhile
    dcb::KernelTransport kernel;
    for (auto& found : port_lint::find_ports(question.root)) {
        port_lint::Interface& port = found.interface;
        auto settings = dcb::read_port(kernel, port.name);
        if (!settings) {
            checked.notes.push_back(fmt::format("{}: {}", port.name, to_string(settings.error())));
            continue;
        }
        port.settings = std::move(*settings);
        port.rdma.sent = port_lint::sent_bytes(port_bytes::read_counters(port.name));
        const DeviceNames names = names_of_port(found);
        set_demands(port, policy, names);
        take_from_daemon(port, daemon.devices);
        Request from_here;
        from_here.device = names;
        const auto traffic = kernel_traffic(matcher, from_here, loaded);
        port.kernel_traffic = by_default_of_port(traffic);
        append_new(unseen, unseen_marks(traffic));
        port.other_ends = question.other_ends;
        if (rewrites) {
            const auto seen = rewrites->find(port.name);
            port.rewrites = seen == rewrites->end() ? port_lint::Rewrites{} : seen->second;
        }
        checked.interfaces.push_back(port.name);
        host.push_back(std::move(port));
    }
    if (std::string why = why_no_ports(question.root); !why.empty()) {
        checked.notes.push_back(std::move(why));
    }
    for (const std::string& port : port_lint::find_ports_without_interface(question.root)) {
        checked.notes.push_back(fmt::format(
            "{}: its network interface is not to be seen here: in another network namespace, or without an address",
            port));
    }
    if (!host.empty() && !daemon.unasked.empty()) {
        checked.notes.push_back(
            fmt::format("it is not known whether the daemon keeps traffic classes of these ports, and would undo what "
                        "is changed there: {}",
                        daemon.unasked));
    }
    add_infiniband_ports(policy, question.root, host, checked);
    checked.findings = port_lint::lint(host);
    checked.unchecked = port_lint::unchecked(host);
    append_new(checked.notes, unseen);
    return checked;
}

Result<CheckReport> make_report(const Context& context, const CheckOptions& options)
{
    CheckReport report;
    ReadResult<Policy> policy = load_given_policy(options.policy, context.root);
    ReadResult<Settings> settings = load_settings(context.root);
    ReadResult<Fabric> fabric = load_fabric(context.root);
    report.diagnostics.append(std::move(policy.diagnostics));
    // The host's other files are only on trial when the host's policy is.
    if (options.policy.of_host()) {
        report.diagnostics.append(std::move(settings.diagnostics));
        report.diagnostics.append(std::move(fabric.diagnostics));
    }
    if (!policy.value) {
        return report;
    }
    for (const auto& source : policy.value->sources) {
        report.sources.push_back(source->name);
    }
    report.revision = policy.value->revision;
    report.levels = policy.value->levels.size();
    const Settings used = settings.value ? *settings.value : Settings{};
    auto chosen = TRY(choose_targets(context, options));
    report.note = std::move(chosen.note);
    report.left_out = std::move(chosen.left_out);
    for (const auto& target : chosen.targets) {
        report.devices.push_back(check_device(*policy.value, target, used));
    }
    report.divides_devices = !element_devices(*policy.value).empty();
    if (report.divides_devices && !report.devices.empty()) {
        warn_of_absent_devices(*policy.value, report);
    }
    const Fabric known = fabric.value ? *fabric.value : Fabric{};
    const std::vector<LocalPort> local = local_ports(chosen.targets);
    const Matcher matcher(*policy.value, resolve(*policy.value, known, local));
    append_untold(report.diagnostics, warnings_of_ipoib(*policy.value, known, local));
    report.diagnostics.append(warnings_of_hidden_rules(matcher));
    std::vector<DeviceNames> names;
    for (const auto& target : chosen.targets) {
        names.push_back(target.names);
    }
    report.diagnostics.append(warnings_of_marks(*policy.value, names));
    report.unresolved = matcher.groups().unresolved;
    if (options.host) {
        report.ports = check_ports(*policy.value, matcher, TRY(question_of(context, options)));
    }
    return report;
}

Result<ExitStatus> check(const Context& context, const CheckOptions& options)
{
    TRY(is_valid(options.policy));
    const auto report = TRY(make_report(context, options));
    print(context.json ? to_text(check_json(report)) : render_check(report, context.screen));
    return report.ok() ? ExitStatus::Ok : ExitStatus::BadPolicy;
}

}    // namespace

extern const Verb kCheckVerb{
    .name = "check",
    .summary = "Check a policy and report every problem; no daemon needed",
    .examples = "  rdma-qosctl check                              the host's files, with drop-ins\n"
                "  rdma-qosctl check policy.yaml                  an edit, before it is installed\n"
                "  rdma-qosctl check --host                       and how this host's ports are set\n"
                "  rdma-qosctl check --host --peer storage7.json  and those of another host\n"
                "  rdma-qosctl check --devices devices.yaml new.yaml",
    .paged = true,
    .prepare = with_options<CheckOptions, add_options, check>,
};

}    // namespace rdmaqos::ctl
