#include "tools/rdma-qosctl/policy_options.h"

#include <filesystem>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace rdmaqos::ctl {
namespace {

void add_policy_files(CLI::App& command, PolicyFiles& policy)
{
    CLI::Option* files = command.add_option("FILE", policy.files,
                                            "Policy files, merged in this order; -: stdin; none: the host's files");
    command
        .add_option("--as", policy.as,
                    "The host's files with FILE in this place: policy.d/60-new.yaml, or policy.yaml; a path is below "
                    "/etc/rdma-qos")
        ->type_name("PLACE")
        ->needs(files);
}

}    // namespace

CLI::Validator policy_file(const CLI::App& command)
{
    return CLI::Validator(
        [&command](const std::string& text) -> std::string {
            const auto equals = text.find('=');
            if (equals == std::string::npos || std::filesystem::exists(text)) {
                return {};
            }
            return fmt::format("there is no file `{}`{}", text,
                               command.get_option_no_throw("--load") == nullptr
                                   ? ""
                                   : "; loads are one list: `--load LEVEL=RATE,LEVEL=RATE`");
        },
        "");
}

void add_check_options(CLI::App& command, CheckOptions& options)
{
    add_policy_files(command, options.policy);
    command.add_option("--devices", options.devices_file, "Check against the devices of this file")
        ->type_name("FILE.yaml");
    command.add_flag("--offline", options.offline, "Do not ask the daemon for its devices");
}

void add_plan_options(CLI::App& command, PlanOptions& options)
{
    add_policy_files(command, options.policy);
    command.add_option("--devices", options.devices_file, "Against the devices of this file, empty; no daemon needed")
        ->type_name("FILE.yaml");
    command.add_flag("--verbose", options.verbose, "List each queue pair and session, however many");
    command.add_flag("--offline", options.offline, "Against an empty device of the default profile");
}

void add_simulate_options(CLI::App& command, SimulateOptions& simulated)
{
    command
        .add_option("--load", simulated.loads,
                    "What a level sends, separated by commas or repeated; RATE: 50Gbps, 400Mbps, or inf; LEVEL*N: N "
                    "senders with that rate each")
        ->type_name("LEVEL[*N]=RATE")
        ->allow_extra_args(false);
    command.add_option("--loads", simulated.loads_file, "The loads of this file, also over time")
        ->type_name("FILE.yaml");
    command.add_option("POLICY", simulated.policy, "This policy file instead of the running one; -: stdin")
        ->check(policy_file(command));
    command.add_option("--devices", simulated.devices_file, "On the devices of this file; no daemon needed")
        ->type_name("FILE.yaml");
    command.add_flag("--offline", simulated.offline, "The host's files or POLICY on a device of the default profile");
    command.add_option("--device", simulated.device, "Only this: name, name/port, netdev or PCI address")
        ->type_name("DEVICE");
    command.add_flag("--check", simulated.check, "Simulate it packet by packet too, and print the largest deviation");
    command.add_option("--html", simulated.html, "Write an HTML page with the tree and bandwidths; -: to stdout")
        ->type_name("FILE");
}

}    // namespace rdmaqos::ctl
