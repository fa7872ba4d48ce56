#include "tools/rdma-qosctl/policy_options.h"

#include <CLI/CLI.hpp>

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

}    // namespace rdmaqos::ctl
