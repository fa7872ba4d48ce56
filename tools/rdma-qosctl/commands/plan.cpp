#include "tools/rdma-qosctl/commands/plan.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <unistd.h>

#include "policy/match/hidden_rules.h"
#include "policy/match/matcher.h"
#include "policy/match/resolve.h"
#include "tools/rdma-qosctl/offline/files.h"
#include "tools/rdma-qosctl/offline/targets.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/rendering/plan.h"
#include "tools/rdma-qosctl/rendering/plan_json.h"
#include "tools/rdma-qosctl/world/online.h"
#include "tools/rdma-qosctl/world/reports.h"

namespace rdmaqos::ctl {
namespace {

constexpr auto kPlanTimeout = std::chrono::minutes(2);

// The text as a file the daemon may read, also when it came from a pipe.
Result<bus::FileDescriptor> as_file(const std::string& text)
{
    auto fd = std::make_shared<UniqueFd>(memfd_create("policy", MFD_CLOEXEC));
    if (!*fd) {
        return fail(error_from_errno(ErrorCode::Io, errno, "memfd_create"));
    }
    for (std::size_t written = 0; written < text.size();) {
        const ssize_t count = write(fd->get(), text.data() + written, text.size() - written);
        if (count < 0 && errno != EINTR) {
            return fail(error_from_errno(ErrorCode::Io, errno, "memfd"));
        }
        written += count < 0 ? 0 : static_cast<std::size_t>(count);
    }
    return bus::FileDescriptor{std::move(fd)};
}

Result<PlanReport> plan_online(bus::Client& client, const std::string& file)
{
    bus::Dict options;
    if (!file.empty()) {
        // Read here first: its diagnostics then carry the file's name.
        auto policy = require_policy({file}, "");
        if (!policy) {
            return fail(policy.error());
        }
        auto fd = as_file((*policy)->sources.front()->text);
        if (!fd) {
            return fail(fd.error());
        }
        options.set("policy", std::move(*fd));
    }
    auto answer = call_manager<bus::Dict>(client, "Plan", {bus::Value(std::move(options))}, kPlanTimeout);
    if (!answer) {
        return fail(std::move(answer).error());
    }
    PlanReport report = to_plan_report(*answer);
    if (report.diagnostics.has_errors()) {
        return fail(ErrorCode::InvalidPolicy,
                    "the policy is refused\n" + render(report.diagnostics, Colour::Off));
    }
    report.note = fmt::format("what a reload with {} would do, by the running daemon:", file.empty()
                                                                                            ? "the host's files"
                                                                                        : file == "-" ? "stdin"
                                                                                                      : file);
    if (report.plans.empty()) {
        report.note = "the policy is valid; the daemon has no device, so nothing would be done";
    }
    return report;
}

Result<PlanReport> plan_offline(const Context& context, const PlanOptions& options, std::string_view why)
{
    const auto read = load_policy(options.file.empty() ? std::vector<std::string>{} : std::vector{options.file},
                                  context.root);
    if (!read.value) {
        return fail(invalid_policy(read.diagnostics, "the policy"));
    }
    const Policy& policy = *read.value;
    const auto targets = load_targets(options.devices_file);
    if (!targets) {
        return fail(targets.error());
    }
    const auto settings = load_settings(context.root);
    PlanReport report;
    report.offline = true;
    report.revision = policy.revision;
    report.diagnostics = read.diagnostics;
    const auto fabric = load_fabric(context.root);
    report.diagnostics.append(warnings_of_hidden_rules(
        {policy, resolve(policy, fabric.value ? *fabric.value : Fabric{}, local_ports(*targets))}));
    report.note = fmt::format("{}: what the policy would do to {}:", why,
                              options.devices_file.empty()
                                  ? "an empty device of the default profile (a ConnectX-6 Dx at 100 Gbit/s)"
                                  : fmt::format("the devices of {}, empty", options.devices_file));
    for (const auto& target : *targets) {
        report.plans.push_back(plan_for(policy, target, settings.value ? *settings.value : Settings{}));
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
    return client ? plan_online(*client, options.file) : Result<PlanReport>(fail(client.error()));
}

}    // namespace

Result<ExitStatus> plan(const Context& context, const PlanOptions& options)
{
    const auto report = make_report(context, options);
    if (!report) {
        return fail(report.error());
    }
    print(context.json ? to_text(plans_json(*report)) : render_plans(*report, options.verbose, context.screen));
    return ExitStatus::Ok;
}

}    // namespace rdmaqos::ctl
