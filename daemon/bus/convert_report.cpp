#include "daemon/bus/convert_report.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

namespace rdmaqos {
namespace {

using bus::Writer;

std::string_view to_string(DriftKind kind)
{
    switch (kind) {
    case DriftKind::Missing:
        return "missing";
    case DriftKind::Share:
        return "share";
    case DriftKind::MaxRate:
        return "max-rate";
    case DriftKind::Parent:
        return "parent";
    case DriftKind::Unknown:
        return "unknown";
    case DriftKind::Unreadable:
        return "unreadable";
    case DriftKind::Kind:
        return "kind";
    }
    return "?";
}

// `device`: empty where it is known anyway.
api::Finding to_record(const JudgedFinding& judged, const std::string& device)
{
    return api::to_record(judged.finding, device, reported(judged.verdict));
}

// What any report says of diagnostics.
template <typename Report>
void set_diagnostics(Report& report, const Diagnostics& diagnostics, Quote quote)
{
    report.errors = static_cast<std::uint32_t>(diagnostics.error_count());
    report.warnings = static_cast<std::uint32_t>(diagnostics.warning_count());
    report.diagnostics = to_record(diagnostics, quote);
    report.omitted = static_cast<std::uint32_t>(diagnostics.dropped());
}

// What could not be written or read, as Verify lists it.
api::Drift to_drift(const std::string& device, const ElementFailure& failure)
{
    const bool is_read = failure.operation == "query";
    return {device, failure.path.text(), is_read ? "unreadable" : "not-written",
            is_read ? "what was written" : "what the policy says", to_sentence(failure)};
}

}    // namespace

api::Diagnostic to_record(const Diagnostic& diagnostic, Quote quote)
{
    const auto& [severity, location, message, hint] = diagnostic;
    api::Diagnostic record{.severity = severity, .message = message, .hint = hint};
    if (!location.file) {
        return record;
    }
    record.file = location.file->name;
    record.line = location.line;
    record.column = location.column;
    record.length = location.length;
    if (const auto excerpt = quote == Quote::Lines && location.line != 0 ? excerpt_of(location) : nullptr) {
        record.quote = excerpt->text;
        record.quote_offset = excerpt->skipped;
    }
    return record;
}

api::LevelChange to_record(const LevelChange& change)
{
    return {change.level, std::string(to_string(change.kind)), change.words};
}

api::PartChange to_record(const PartChange& change)
{
    return {std::string(to_string(change.part)), change.name, std::string(to_string(change.kind)), change.words};
}

api::SessionChange to_record(const SessionChange& change)
{
    return {.session = static_cast<std::uint64_t>(change.session),
            .pid = static_cast<std::uint32_t>(change.owner->pid),
            .uid = change.owner->uid,
            .unit = change.owner->unit,
            .command = change.owner->command,
            .device = change.device,
            .queue_pairs = change.queue_pairs,
            .level_before = change.level_before,
            .level_after = change.level_after,
            .leaf_before = change.leaf_before,
            .leaf_after = change.leaf_after,
            .rule = change.rule_after,
            .loss = change.loss ? std::string(to_string(*change.loss)) : std::string()};
}

api::LevelLoss to_record(const LevelLoss& loss)
{
    return {loss.level, std::string(to_string(loss.reason)), loss.renamed_to, loss.sessions, loss.queue_pairs};
}

api::LeftOut to_record(const LeftOutDevice& device)
{
    return {device.device, std::string(to_string(device.why))};
}

api::DevicePlan to_record(const DevicePlan& plan)
{
    api::DevicePlan record;
    record.device = plan.device;
    record.plan = describe(plan.before, plan.plan, plan.requested_before, plan.requested_after);
    for (const auto& finding : plan.findings) {
        record.findings.push_back(to_record(finding, {}));
    }
    record.link_speed = plan.link_speed;
    record.rates = plan.rates;
    if (plan.port) {
        auto& port = record.port.emplace();
        port.netdev = plan.port->netdev;
        port.classes = plan.port->classes;
        for (const auto& [words, disruption] : plan.port->steps) {
            port.steps.push_back({words, disruption});
        }
        port.findings = sentences(plan.port->findings);
        port.notes = plan.port->notes;
    }
    return record;
}

api::Failure to_record(const ElementFailure& failure, const std::string& device)
{
    api::Failure record{
        .device = device, .path = failure.path.text(), .operation = failure.operation, .message = to_sentence(failure)};
    record.given_up = failure.is_given_up;
    if (failure.attempts > 0) {
        record.error = dbus_name(failure.error.code);
        record.attempts = failure.attempts;
    }
    return record;
}

api::Failure to_record(const DeviceFailure& failure)
{
    return to_record(failure.failure, failure.device);
}

std::vector<api::Diagnostic> to_record(const Diagnostics& diagnostics, Quote quote)
{
    return to_record(diagnostics.all(), quote);
}

api::Reload to_record(const ReloadOutcome& outcome, Quote quote)
{
    api::Reload record;
    record.accepted = outcome.accepted;
    record.revision = outcome.revision;
    set_diagnostics(record, outcome.diagnostics, quote);
    for (const auto& finding : outcome.findings) {
        record.findings.push_back(to_record(finding, finding.device));
    }
    record.left_out = to_record(outcome.left_out);
    record.unanswered = outcome.unanswered;
    record.lost_levels = to_record(outcome.losses);
    record.failures = to_record(outcome.failures);
    record.ended_trial = outcome.ended_trial;
    return record;
}

api::DeviceResult to_record(const DeviceReconcile& result)
{
    return {result.device, result.operations, to_record(result.failures)};
}

api::Reload to_record(const TrialOutcome& outcome, Quote quote)
{
    api::Reload record = to_record(outcome.reload, quote);
    if (outcome.trial) {
        record.seconds_left = static_cast<std::uint32_t>(outcome.trial->left.count());
    }
    return record;
}

api::Trial to_record(const std::optional<TrialStatus>& trial)
{
    if (!trial) {
        return {};
    }
    return {trial->revision,      trial->goes_back_to,
            trial->file_revision, static_cast<std::uint32_t>(trial->left.count()),
            trial->who->uid,      static_cast<std::uint32_t>(trial->who->pid),
            trial->who->command};
}

api::Plan to_record(const PlanReport& report, Quote quote)
{
    api::Plan record;
    record.accepted = report.accepted;
    record.refusal = report.refusal;
    record.revision = report.revision;
    set_diagnostics(record, report.diagnostics, quote);
    record.levels = to_record(report.levels);
    record.changes = to_record(report.parts);
    record.changes_omitted = static_cast<std::uint32_t>(report.more_parts);
    record.sessions = to_record(report.sessions);
    record.lost_levels = to_record(report.losses);
    record.devices = to_record(report.devices);
    record.left_out = to_record(report.left_out);
    record.monitors = report.monitors;
    record.writes = !report.monitors || std::ranges::any_of(report.devices, [](const DevicePlan& plan) {
        return plan.port && !plan.port->steps.empty();
    });
    return record;
}

api::RefusedDevice to_record(const RefusedDevice& device)
{
    const auto& [names, why] = device;
    return {fmt::format("{}/{}", names.device, names.port), names.netdev, names.pci_address, why};
}

std::vector<api::StateFailure> to_record(const std::map<std::string, StateFailure>& state_failures)
{
    std::vector<api::StateFailure> records;
    for (const auto& [file, failure] : state_failures) {
        records.push_back({file, failure.message, failure.is_unsaved});
    }
    return records;
}

std::vector<api::Drift> to_record(const std::vector<DeviceDrift>& results)
{
    std::vector<api::Drift> records;
    for (const auto& [device, drifts, failures, port] : results) {
        for (const auto& drift : drifts) {
            records.push_back(
                {device, drift.path.text(), std::string(to_string(drift.kind)), drift.expected, drift.found});
        }
        for (const auto& failure : failures) {
            records.push_back(to_drift(device, failure));
        }
        for (const auto& [expected, is_there] : port ? port->parts : std::vector<port_classes::Difference>()) {
            records.push_back({device, port->netdev, "port-classes", expected, is_there});
        }
    }
    return records;
}

void write_findings(Writer& writer, const DeviceStatus& status)
{
    std::vector<api::Finding> records;
    for (const auto& finding : status.findings) {
        records.push_back(api::to_record(finding));
    }
    for (const auto& note : status.attach_notes) {
        records.push_back({.kind = "attach-mode", .severity = "warning", .message = note});
    }
    api::write(writer, records);
}

void write_failures(Writer& writer, const DeviceStatus& status)
{
    write(writer, status.snapshot ? open_failures(*status.snapshot) : std::vector<ElementFailure>());
}

}    // namespace rdmaqos
