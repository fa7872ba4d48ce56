#include "tools/rdma-qosctl/world/reports.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "tools/rdma-qosctl/world/online.h"

namespace rdmaqos::ctl {
namespace {

Severity severity_of(const bus::Dict& dict)
{
    const std::string word = text_of(dict, "severity");
    for (const auto severity : {Severity::Warning, Severity::Note}) {
        if (to_string(severity) == word) {
            return severity;
        }
    }
    return Severity::Error;
}

Diagnostic to_diagnostic(const bus::Dict& dict)
{
    Diagnostic diagnostic{severity_of(dict), {}, text_of(dict, "message"), text_of(dict, "hint")};
    if (!dict.contains("file")) {
        return diagnostic;
    }
    Location& location = diagnostic.location;
    location.line = small_number_of(dict, "line");
    location.column = small_number_of(dict, "column");
    location.length = small_number_of(dict, "length");
    location.file = std::make_shared<SourceFile>(SourceFile{text_of(dict, "file"), text_of(dict, "quote"),
                                                            dict.contains("quote") ? location.line : 0,
                                                            small_number_of(dict, "quote-offset")});
    return diagnostic;
}

std::vector<Diagnostic> kept_in(const std::vector<bus::Dict>& dicts)
{
    std::vector<Diagnostic> kept;
    kept.reserve(dicts.size());
    for (const auto& dict : dicts) {
        kept.push_back(to_diagnostic(dict));
    }
    return kept;
}

// Of a report: with those that were counted, but not sent.
Diagnostics diagnostics_of(const bus::Dict& report)
{
    return {kept_in(dicts_of(report, "diagnostics")), number_of(report, "errors"), number_of(report, "warnings"),
            number_of(report, "omitted")};
}

}    // namespace

Diagnostics to_diagnostics(const std::vector<bus::Dict>& dicts)
{
    auto kept = kept_in(dicts);
    const auto count = [&kept](Severity severity) {
        return static_cast<std::size_t>(std::ranges::count(kept, severity, &Diagnostic::severity));
    };
    const std::size_t errors = count(Severity::Error);
    const std::size_t warnings = count(Severity::Warning);
    return {std::move(kept), errors, warnings, 0};
}

ReloadView to_reload(const bus::Dict& dict)
{
    return {flag_of(dict, "accepted"),     text_of(dict, "revision"),
            diagnostics_of(dict),          api::read_list<std::vector<api::FindingRecord>>(dicts_of(dict, "findings")),
            list_of(dict, "unanswered"),   dicts_of(dict, "left-out"),
            dicts_of(dict, "lost-levels"), dicts_of(dict, "failures"),
            text_of(dict, "ended-trial")};
}

PlanReport to_plan_report(const bus::Dict& dict)
{
    PlanReport report;
    report.accepted = flag_of(dict, "accepted");
    report.diagnostics = diagnostics_of(dict);
    report.revision = text_of(dict, "revision");
    report.levels = dicts_of(dict, "levels");
    report.changes = dicts_of(dict, "changes");
    report.more_changes = number_of(dict, "changes-omitted");
    report.sessions = dicts_of(dict, "sessions");
    report.lost_levels = dicts_of(dict, "lost-levels");
    UserNames names;
    for (auto& session : report.sessions) {
        names.add_to(session);
    }
    report.plans = api::read_list<std::vector<api::DevicePlan>>(dicts_of(dict, "devices"));
    report.left_out = dicts_of(dict, "left-out");
    report.writes = !dict.contains("writes") || flag_of(dict, "writes");    // an older daemon does not say
    return report;
}

api::FindingRecord to_record(const JudgedFinding& judged)
{
    const bool matters = judged.verdict != FindingVerdict::Harmless;
    return api::to_record(judged.finding, {}, matters ? to_string(judged.verdict) : std::string_view());
}

bus::Dict to_dict(const LeftOutDevice& device)
{
    bus::Dict dict;
    dict.set("device", device.device);
    dict.set("why", to_string(device.why));
    return dict;
}

bool refuses(const api::FindingRecord& finding)
{
    return finding.verdict == to_string(FindingVerdict::Refuses);
}

std::string remark_on(const api::FindingRecord& finding)
{
    return finding.verdict == to_string(FindingVerdict::Known) ? "; the running policy has this problem too" : "";
}

std::string finding_line(std::string_view device, const api::FindingRecord& finding)
{
    return fmt::format("{}: {}: {}{}", printable(device), finding.severity, printable(finding.message),
                       remark_on(finding));
}

std::string left_out_line(const bus::Dict& device)
{
    return fmt::format("{}: note: takes no part, because it is {}", printable(text_of(device, "device")),
                       printable(text_of(device, "why")));
}

std::string failures_text(const ReloadView& reload)
{
    std::string text;
    for (const auto& failure : reload.failures) {
        text += fmt::format("{}: error: {}; this will be retried\n", printable(text_of(failure, "device")),
                            printable(text_of(failure, "message")));
    }
    for (const auto& device : reload.unanswered) {
        text += fmt::format("{}: warning: has not answered yet; it gets the policy when it does\n", printable(device));
    }
    return text;
}

std::string_view but_not_on_devices(const ReloadView& reload)
{
    return !reload.failures.empty()     ? ", but not all of it is on the devices"
           : !reload.unanswered.empty() ? ", but not every device has answered"
                                        : "";
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
        const std::uint64_t sessions = number_of(loss, "sessions");
        text += fmt::format(
            "level {}: warning: {} with {} {} no other level now; `rdma-qosctl status` says what to do\n",
            printable(text_of(loss, "level")), counted(sessions, "session"),
            counted(number_of(loss, "queue-pairs"), "queue pair"),
            sessions == 1 ? "has lost it, and has" : "have lost it, and have");
    }
    return text;
}

}    // namespace rdmaqos::ctl
