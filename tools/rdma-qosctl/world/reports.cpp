#include "tools/rdma-qosctl/world/reports.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/base/text.h"
#include "tools/rdma-qosctl/world/online.h"

namespace rdmaqos::ctl {
namespace {

Diagnostic to_diagnostic(const api::Diagnostic& record)
{
    Diagnostic diagnostic{record.severity, {}, record.message, record.hint};
    if (record.file.empty()) {
        return diagnostic;
    }
    Location& location = diagnostic.location;
    location.line = record.line;
    location.column = record.column;
    location.length = record.length;
    location.file = std::make_shared<SourceFile>(
        SourceFile{record.file, record.quote.value_or(""), record.quote ? record.line : 0, record.quote_offset});
    return diagnostic;
}

std::vector<Diagnostic> kept_in(const std::vector<api::Diagnostic>& records)
{
    std::vector<Diagnostic> kept;
    std::ranges::transform(records, std::back_inserter(kept), to_diagnostic);
    return kept;
}

// Of a report: with those that were counted, but not sent.
template <typename Report>
Diagnostics diagnostics_of(const Report& report)
{
    return {kept_in(report.diagnostics), report.errors, report.warnings, report.omitted};
}

}    // namespace

Diagnostics to_diagnostics(const std::vector<api::Diagnostic>& records)
{
    auto kept = kept_in(records);
    const auto count = [&kept](Severity severity) {
        return static_cast<std::size_t>(std::ranges::count(kept, severity, &Diagnostic::severity));
    };
    const std::size_t errors = count(Severity::Error);
    const std::size_t warnings = count(Severity::Warning);
    return {std::move(kept), errors, warnings, 0};
}

ReloadView to_reload(api::Reload reload)
{
    return {reload.accepted,
            std::move(reload.revision),
            diagnostics_of(reload),
            std::move(reload.findings),
            std::move(reload.unanswered),
            std::move(reload.left_out),
            std::move(reload.lost_levels),
            std::move(reload.failures),
            std::move(reload.ended_trial)};
}

PlanReport to_plan_report(api::Plan plan)
{
    PlanReport report;
    report.accepted = plan.accepted;
    report.diagnostics = diagnostics_of(plan);
    report.revision = std::move(plan.revision);
    report.levels = std::move(plan.levels);
    report.changes = std::move(plan.changes);
    report.more_changes = plan.changes_omitted;
    UserNames names;
    for (auto& session : plan.sessions) {
        session.user = names.name_of(session.uid);
    }
    report.sessions = std::move(plan.sessions);
    report.lost_levels = std::move(plan.lost_levels);
    report.plans = std::move(plan.devices);
    report.left_out = std::move(plan.left_out);
    report.writes = plan.writes;
    report.monitors = plan.monitors;
    return report;
}

api::Finding to_record(const JudgedFinding& judged)
{
    return api::to_record(judged.finding, {}, reported(judged.verdict));
}

api::LeftOut to_record(const LeftOutDevice& device)
{
    return {device.device, std::string(to_string(device.why))};
}

bool refuses(const api::Finding& finding)
{
    return finding.verdict == to_string(FindingVerdict::Refuses);
}

std::string remark_on(const api::Finding& finding)
{
    return finding.verdict == to_string(FindingVerdict::Known) ? "; the running policy has this problem too" : "";
}

std::string finding_line(std::string_view device, const api::Finding& finding)
{
    return fmt::format("{}: {}: {}{}", printable(device), finding.severity, printable(finding.message),
                       remark_on(finding));
}

std::string nothing_planned(const std::vector<api::LeftOut>& left_out, const std::vector<api::RefusedDevice>& refused)
{
    if (refused.empty()) {
        return fmt::format("the policy is valid; {}, so nothing would be done",
                           left_out.empty() ? "the daemon has no device" : "no device takes part");
    }
    std::vector<std::string> reasons;
    for (const auto& device : refused) {
        reasons.push_back(fmt::format("{}: {}", device.device, device.reason));
    }
    return fmt::format("the policy is valid; the daemon manages no device {} now, so nothing is known of what would be "
                       "done: {}",
                       left_out.empty() ? "just" : "that takes part just", fmt::join(reasons, "; "));
}

std::string left_out_line(const api::LeftOut& device)
{
    return fmt::format("{}: note: takes no part, because it is {}", printable(device.device), printable(device.why));
}

std::string failures_text(const ReloadView& reload)
{
    std::string text;
    for (const auto& failure : reload.failures) {
        text += fmt::format("{}: error: {}{}\n", printable(failure.device), printable(failure.message),
                            failure.given_up ? "" : "; this will be retried");
    }
    for (const auto& device : reload.unanswered) {
        text += fmt::format("{}: warning: has not answered yet; it gets the policy when it does\n", printable(device));
    }
    return text;
}

std::vector<api::Failure> open_failures(const std::vector<DeviceView>& devices)
{
    std::vector<api::Failure> failures;
    for (const auto& device : devices) {
        for (api::Failure failure : device.failures) {
            failure.device = device.key();
            failures.push_back(std::move(failure));
        }
        const auto& care = device.port_classes.care;
        const bool is_given_up = care &&
                                 (care->keeping == PortKeeping::Failed || care->keeping == PortKeeping::Stopped);
        if (is_given_up || (care && care->keeping == PortKeeping::Waiting)) {
            failures.push_back({.device = device.key(),
                                .operation = "port-classes",
                                .given_up = is_given_up,
                                .message = care->reason});
        }
    }
    return failures;
}

std::string_view but_not_on_devices(const ReloadView& reload)
{
    return !reload.failures.empty()     ? ", but not all of it is on the devices"
           : !reload.unanswered.empty() ? ", but not every device has answered"
                                        : "";
}

bool is_of_settings(const ReloadView& reload)
{
    return std::ranges::none_of(reload.findings, refuses) && rdmaqos::is_of_settings(reload.diagnostics);
}

bool is_of_start(const ManagerView& manager)
{
    const auto reloads = std::ranges::find(manager.statistics, "reloads", &bus::Counts::value_type::first);
    return reloads != manager.statistics.end() && reloads->second == 0;
}

std::string_view refusal_in_words(const ManagerView& manager)
{
    const bool is_of_policy = !is_of_settings(manager.last_reload);
    if (is_of_start(manager)) {
        return is_of_policy ? "the policy was refused when the daemon started"
                            : "not all settings are in force since the daemon started";
    }
    return is_of_policy ? "the last reload was refused" : "the last reload was refused for the settings";
}

ExitStatus status_of(const ReloadView& reload)
{
    return reload.failures.empty() ? ExitStatus::Ok : ExitStatus::Failed;
}

std::string to_text(const ReloadView& reload, Colour colour)
{
    std::string text = render(reload.diagnostics, colour);
    for (const auto& finding : reload.findings) {
        text += finding_line(finding.device, finding) + "\n";
    }
    for (const auto& device : reload.left_out) {
        text += left_out_line(device) + "\n";
    }
    text += failures_text(reload);
    for (const auto& loss : reload.lost_levels) {
        text += fmt::format(
            "level {}: warning: {} with {} {} no other level now; `rdma-qosctl status` says what to do\n",
            printable(loss.level), counted(loss.sessions, "session"), counted(loss.queue_pairs, "queue pair"),
            loss.sessions == 1 ? "has lost it, and has" : "have lost it, and have");
    }
    return text;
}

}    // namespace rdmaqos::ctl
