#include "tools/rdma-qosctl/world/reports.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "tools/rdma-qosctl/world/online.h"

namespace rdmaqos::ctl {
namespace {

std::optional<std::uint32_t> find_small_number(const bus::Dict& dict, std::string_view key)
{
    return dict.contains(key) ? std::optional(small_number_of(dict, key)) : std::nullopt;
}

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

ElementPath path_of(const bus::Dict& dict, std::string_view key)
{
    return ElementPath(text_of(dict, key));
}

// `side`: "before" or "after".
std::optional<ElementAttributes> attributes_of(const bus::Dict& dict, std::string_view side)
{
    const auto share = find_small_number(dict, fmt::format("share-{}", side));
    return share ? std::optional(ElementAttributes{*share, rate_of(dict, fmt::format("max-rate-{}", side))})
                 : std::nullopt;
}

std::optional<RateLimit> limit_of(const bus::Dict& dict, std::string_view side)
{
    const auto rate = rate_of(dict, fmt::format("rate-{}", side));
    return rate ? std::optional(RateLimit{*rate, find_number(dict, fmt::format("max-burst-{}", side)),
                                          find_small_number(dict, fmt::format("typical-packet-{}", side))})
                : std::nullopt;
}

RequestedRate requested_by(const bus::Dict& dict, std::string_view side)
{
    return {find_small_number(dict, fmt::format("requested-share-{}", side)),
            rate_of(dict, fmt::format("requested-min-rate-{}", side))};
}

DescribedElement to_element(const bus::Dict& dict)
{
    return {path_of(dict, "path"),
            path_of(dict, "parent"),
            element_kind_of(dict),
            attributes_of(dict, "before"),
            attributes_of(dict, "after"),
            small_number_of(dict, "queue-pairs-before"),
            small_number_of(dict, "queue-pairs-after"),
            requested_by(dict, "before"),
            requested_by(dict, "after")};
}

DescribedOperation to_operation(const bus::Dict& dict)
{
    DescribedOperation operation;
    operation.kind = parse_operation_kind(text_of(dict, "operation")).value_or(DescribedOperation::Kind::Modify);
    operation.path = path_of(dict, "path");
    operation.parent = path_of(dict, "parent");
    operation.element_kind = element_kind_of(dict);
    operation.share_before = find_small_number(dict, "share-before");
    operation.share = find_small_number(dict, "share-after");
    operation.max_rate_before = rate_of(dict, "max-rate-before");
    operation.max_rate = rate_of(dict, "max-rate-after");
    operation.queue_pair = small_number_of(dict, "queue-pair");
    operation.leaf_before = path_of(dict, "leaf-before");
    operation.leaf = path_of(dict, "leaf-after");
    operation.responder_leaf_before = path_of(dict, "responder-leaf-before");
    operation.responder_leaf = path_of(dict, "responder-leaf-after");
    operation.limit_before = limit_of(dict, "before");
    operation.limit = limit_of(dict, "after");
    return operation;
}

DevicePlanView to_device_plan(const bus::Dict& dict)
{
    DevicePlanView view;
    view.device = text_of(dict, "device");
    for (const auto& element : dicts_of(dict, "tree")) {
        view.plan.tree.push_back(to_element(element));
    }
    for (const auto& operation : dicts_of(dict, "operations")) {
        view.plan.operations.push_back(to_operation(operation));
    }
    for (const auto& unreachable : dicts_of(dict, "unreachable")) {
        view.plan.unreachable.push_back({path_of(unreachable, "path"), text_of(unreachable, "message")});
    }
    view.findings = dicts_of(dict, "findings");
    view.link_speed = rate_of(dict, "link-speed").value_or(Bandwidth());
    for (const auto& rate : dicts_of(dict, "rates")) {
        view.rates[path_of(rate, "class")] = {rate_of(rate, "before"), rate_of(rate, "after")};
    }
    return view;
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
    return {flag_of(dict, "accepted"),     text_of(dict, "revision"),   diagnostics_of(dict),
            dicts_of(dict, "findings"),    list_of(dict, "unanswered"), dicts_of(dict, "left-out"),
            dicts_of(dict, "lost-levels"), dicts_of(dict, "failures"),  text_of(dict, "ended-trial")};
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
    for (const auto& device : dicts_of(dict, "devices")) {
        report.plans.push_back(to_device_plan(device));
    }
    report.left_out = dicts_of(dict, "left-out");
    report.writes = !dict.contains("writes") || flag_of(dict, "writes");    // an older daemon does not say
    return report;
}

bus::Dict to_dict(const Finding& finding)
{
    return to_dict(JudgedFinding{{}, finding, FindingVerdict::Harmless});
}

bus::Dict to_dict(const JudgedFinding& judged)
{
    const Finding& finding = judged.finding;
    bus::Dict dict;
    dict.set("kind", to_string(finding.kind));
    dict.set("severity", finding.is_error ? "error" : "warning");
    if (judged.verdict != FindingVerdict::Harmless) {
        dict.set("verdict", to_string(judged.verdict));
    }
    for (const auto& [key, text] :
         std::array{std::pair("path", finding.path.text()), std::pair("requested", finding.requested),
                    std::pair("achievable", finding.achievable), std::pair("reason", finding.why)}) {
        if (!text.empty()) {
            dict.set(key, text);
        }
    }
    dict.set("message", to_string(finding));
    return dict;
}

bus::Dict to_dict(const LeftOutDevice& device)
{
    bus::Dict dict;
    dict.set("device", device.device);
    dict.set("why", to_string(device.why));
    return dict;
}

bool refuses(const bus::Dict& finding)
{
    return text_of(finding, "verdict") == to_string(FindingVerdict::Refuses);
}

std::string remark_on(const bus::Dict& finding)
{
    return text_of(finding, "verdict") == to_string(FindingVerdict::Known) ? "; the running policy has this problem too"
                                                                           : "";
}

std::string finding_line(std::string_view device, const bus::Dict& finding)
{
    return fmt::format("{}: {}: {}{}", printable(device), text_of(finding, "severity"),
                       printable(text_of(finding, "message")), remark_on(finding));
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
        text += finding_line(text_of(finding, "device"), finding) + "\n";
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
