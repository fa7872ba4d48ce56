#include "tools/rdma-qosctl/verbs/verb.h"

#include <algorithm>
#include <iterator>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "lib/base/try.h"
#include "policy/load/show_config_yaml.h"
#include "policy/match/hidden_rules.h"
#include "policy/match/matcher.h"
#include "policy/match/resolve.h"
#include "tools/rdma-qosctl/offline/files.h"
#include "tools/rdma-qosctl/offline/targets.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/rendering/plan.h"
#include "tools/rdma-qosctl/world/online.h"
#include "tools/rdma-qosctl/world/reports.h"

namespace rdmaqos::ctl {
namespace {

struct PlanOptions {
    PolicyFiles policy;
    std::string devices_file;    // of simulated devices
    bool offline = false;
    bool verbose = false;    // every queue pair and session
};

void add_options(CLI::App& command, PlanOptions& options)
{
    add_policy_files(command, options.policy);
    command.add_option("--devices", options.devices_file, "Against the devices of this file, empty; no daemon needed")
        ->type_name("FILE.yaml");
    command.add_flag("--verbose", options.verbose, "List each queue pair and session, however many");
    command.add_flag("--offline", options.offline, "Against an empty device of the default profile");
}

constexpr auto kPlanTimeout = std::chrono::minutes(2);

// What is planned, as a sentence names it.
std::string names_of(const PolicyFiles& policy)
{
    const auto name = [](const std::string& file) { return file == "-" ? std::string("stdin") : file; };
    if (policy.files.empty()) {
        return "the host's files";
    }
    if (!policy.as.empty()) {
        return fmt::format("the host's files and {} as {}", name(policy.files.front()), policy.as);
    }
    std::vector<std::string> names;
    std::ranges::transform(policy.files, std::back_inserter(names), name);
    return fmt::format("{}", fmt::join(names, ", "));
}

Result<std::shared_ptr<const Policy>> policy_to_plan(const PolicyFiles& files, const std::string& root)
{
    auto read = load_given_policy(files, root);
    if (!read.value) {
        return fail(invalid_policy(read.diagnostics, "the policy"));
    }
    return std::move(read.value);
}

// One file goes as it is; of several, the daemon gets what they come to.
std::string merged_text(const Policy& policy)
{
    return policy.sources.size() == 1 ? policy.sources.front()->text : to_yaml(show_policy(policy).document);
}

Result<PlanReport> plan_online(bus::Client& client, const PolicyFiles& files, const std::string& root)
{
    bus::Dict options;
    std::shared_ptr<const Policy> policy;
    if (!files.files.empty()) {
        // Read here first: its diagnostics then carry the names of the files.
        policy = TRY(policy_to_plan(files, root));
        auto fd = TRY(as_file(merged_text(*policy)));
        options.set("policy", std::move(fd));
    }
    auto answer = TRY(call_manager<api::Plan>(client, "Plan", {bus::Value(std::move(options))}, kPlanTimeout));
    PlanReport report = to_plan_report(std::move(answer));
    if (report.diagnostics.has_errors()) {
        return fail(ErrorCode::InvalidPolicy, "the policy is refused\n" + render(report.diagnostics, Colour::Off));
    }
    if (policy) {
        report.revision = policy->revision;    // a reload with the files would have it
    }
    report.note = fmt::format("what a reload with {} would do, by the running daemon:", names_of(files));
    if (report.plans.empty()) {
        const auto manager = fetch_manager(client);
        report.note = nothing_planned(report.left_out,
                                      manager ? manager->refused_devices : std::vector<api::RefusedDevice>());
    }
    return report;
}

Result<PlanReport> plan_offline(const Context& context, const PlanOptions& options, std::string_view why)
{
    const auto read = load_given_policy(options.policy, context.root);
    if (!read.value) {
        return fail(invalid_policy(read.diagnostics, "the policy"));
    }
    const Policy& policy = *read.value;
    const auto targets = TRY(load_targets(options.devices_file));
    const auto settings = load_settings(context.root);
    const auto fabric = load_fabric(context.root);
    PlanReport report;
    report.offline = true;
    report.revision = policy.revision;
    report.diagnostics = read.diagnostics;
    // As a reload does, which reads the host's other files with its policy.
    if (options.policy.of_host()) {
        report.diagnostics.append(settings.diagnostics);
        report.diagnostics.append(fabric.diagnostics);
        if (report.diagnostics.has_errors()) {
            return fail(invalid_policy(report.diagnostics, "the policy"));
        }
    }
    report.diagnostics.append(warnings_of_hidden_rules(
        {policy, resolve(policy, fabric.value ? *fabric.value : Fabric{}, local_ports(targets))}));
    report.note = fmt::format("{}: what the policy would do to {}:", why,
                              options.devices_file.empty()
                                  ? "an empty device of the default profile (a ConnectX-6 Dx at 100 Gbit/s)"
                                  : fmt::format("the devices of {}, empty", options.devices_file));
    for (const auto& target : targets) {
        report.plans.push_back(plan_for(policy, target, settings.value ? *settings.value : Settings{}));
        report.accepted = report.accepted && std::ranges::none_of(report.plans.back().findings, refuses);
    }
    return report;
}

Result<PlanReport> make_report(const Context& context, const PlanOptions& options)
{
    if (options.offline || !options.devices_file.empty()) {
        return plan_offline(context, options, "offline");
    }
    auto client = connect(context);
    if (!client && client.error().code == ErrorCode::NoDaemon) {
        return plan_offline(context, options, "no daemon runs");
    }
    return client ? plan_online(*client, options.policy, context.root) : Result<PlanReport>(fail(client.error()));
}

Result<ExitStatus> plan(const Context& context, const PlanOptions& options)
{
    TRY(is_valid(options.policy));
    const auto report = TRY(make_report(context, options));
    print(context.json ? to_text(plans_json(report)) : render_plans(report, options.verbose, context.screen));
    return report.accepted ? ExitStatus::Ok : ExitStatus::BadPolicy;
}

}    // namespace

extern const Verb kPlanVerb{
    .name = "plan",
    .summary = "Show what a reload would do to each device, without doing it",
    .examples = "  rdma-qosctl plan                               the host's files against the NICs\n"
                "  rdma-qosctl plan policy.yaml                   an edit against the NICs\n"
                "  rdma-qosctl plan new.yaml --as policy.d/60-new.yaml\n"
                "                                                 the host's files with this drop-in\n"
                "  rdma-qosctl plan --offline policy.yaml         against an empty device",
    .paged = true,
    .prepare = with_options<PlanOptions, add_options, plan>,
};

}    // namespace rdmaqos::ctl
