#include "daemon/bus/convert_report.h"

#include <string>

#include <fmt/format.h>

#include "daemon/bus/answer.h"
#include "lib/api/plan.h"

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

void write_one(Writer& writer, const Diagnostic& diagnostic, Quote quote)
{
    const auto& [severity, location, message, hint] = diagnostic;
    Answer<kDiagnosticKeys> dict(writer);
    dict.set("severity", to_string(severity));
    dict.set("message", message);
    dict.set_text("hint", hint);
    if (!location.file) {
        return;
    }
    dict.set("file", location.file->name);
    if (location.line == 0) {
        return;
    }
    dict.set("line", location.line);
    dict.set("column", location.column);
    dict.set("length", location.length);
    const auto excerpt = quote == Quote::Lines ? excerpt_of(location) : nullptr;
    if (excerpt) {
        dict.set("quote", excerpt->text);
        if (excerpt->skipped > 0) {
            dict.set("quote-offset", excerpt->skipped);
        }
    }
}

// `device`: empty where it is known anyway.
api::FindingRecord to_record(const JudgedFinding& judged, const std::string& device)
{
    const bool matters = judged.verdict != FindingVerdict::Harmless;
    return api::to_record(judged.finding, device, matters ? to_string(judged.verdict) : std::string_view());
}

// What is written of diagnostics in any report.
template <const auto& keys>
void set_diagnostics(Answer<keys>& dict, const Diagnostics& diagnostics, Quote quote)
{
    dict.set("errors", static_cast<std::uint32_t>(diagnostics.error_count()));
    dict.set("warnings", static_cast<std::uint32_t>(diagnostics.warning_count()));
    dict.set_list("diagnostics", diagnostics.all(),
                  [quote](Writer& writer, const Diagnostic& one) { write_one(writer, one, quote); });
    if (diagnostics.dropped() > 0) {
        dict.set("omitted", static_cast<std::uint32_t>(diagnostics.dropped()));
    }
}

void write_one(Writer& writer, const LevelChange& change)
{
    Answer<kLevelChangeKeys> dict(writer);
    dict.set("level", change.level);
    dict.set("change", to_string(change.kind));
    dict.set("message", change.words);
}

void write_one(Writer& writer, const PartChange& change)
{
    Answer<kPartChangeKeys> dict(writer);
    dict.set("part", to_string(change.part));
    dict.set("name", change.name);
    dict.set("change", to_string(change.kind));
    dict.set("message", change.words);
}

void write_one(Writer& writer, const SessionChange& change)
{
    Answer<kSessionChangeKeys> dict(writer);
    dict.set("session", static_cast<std::uint64_t>(change.session));
    dict.set("pid", static_cast<std::uint32_t>(change.owner->pid));
    dict.set("uid", change.owner->uid);
    dict.set_text("unit", change.owner->unit);
    dict.set_text("command", change.owner->command);
    dict.set_text("device", change.device);
    dict.set("queue-pairs", change.queue_pairs);
    dict.set_text("level-before", change.level_before);
    dict.set_text("level-after", change.level_after);
    dict.set_text("leaf-before", change.leaf_before);
    dict.set_text("leaf-after", change.leaf_after);
    dict.set_text("rule", change.rule_after);
    if (change.loss) {
        dict.set("loss", to_string(*change.loss));
    }
}

void write_one(Writer& writer, const LevelLoss& loss)
{
    Answer<kLostLevelKeys> dict(writer);
    dict.set("level", loss.level);
    dict.set("reason", to_string(loss.reason));
    dict.set_text("renamed-to", loss.renamed_to);
    dict.set("sessions", loss.sessions);
    dict.set("queue-pairs", loss.queue_pairs);
}

void write_one(Writer& writer, const LeftOutDevice& device)
{
    Answer<kLeftOutKeys> dict(writer);
    dict.set("device", device.device);
    dict.set("why", to_string(device.why));
}

// Any of those above.
constexpr auto kWriteOne = [](Writer& writer, const auto& one) { write_one(writer, one); };

void write_plan(Writer& writer, const DevicePlan& plan)
{
    api::DevicePlan record;
    record.device = plan.device;
    record.plan = describe(plan.before, plan.plan, plan.requested_before, plan.requested_after);
    for (const auto& finding : plan.findings) {
        record.findings.push_back(to_record(finding, {}));
    }
    record.link_speed = plan.link_speed;
    record.rates = plan.rates;
    api::write(writer, record);
}

// `device`: where it is not known anyway.
void write_failure(Writer& writer, const ElementFailure& failure, const std::string& device = {})
{
    Answer<kFailureKeys> dict(writer);
    dict.set_text("device", device);
    dict.set_text("path", failure.path.text());
    dict.set_text("operation", failure.operation);
    if (failure.attempts > 0) {
        dict.set("error", dbus_name(failure.error.code));
        dict.set("attempts", failure.attempts);
    }
    dict.set("message", to_sentence(failure));
}

// What could not be written or read, as Verify lists it.
void write_as_drift(Writer& writer, const std::string& device, const ElementFailure& failure)
{
    const bool is_read = failure.operation == "query";
    Answer<kDriftKeys> dict(writer);
    dict.set("device", device);
    dict.set("path", failure.path.text());
    dict.set("kind", is_read ? "unreadable" : "not-written");
    dict.set("expected", is_read ? "what was written" : "what the policy says");
    dict.set("found", to_sentence(failure));
}

}    // namespace

void write(Writer& writer, const Diagnostics& diagnostics, Quote quote)
{
    write_dicts(writer, diagnostics.all(), [quote](Writer& to, const Diagnostic& one) { write_one(to, one, quote); });
}

namespace {

void set_outcome(Answer<kReloadKeys>& dict, const ReloadOutcome& outcome, Quote quote)
{
    dict.set("accepted", outcome.accepted);
    dict.set_text("revision", outcome.revision);
    set_diagnostics(dict, outcome.diagnostics, quote);
    dict.set_list("findings", outcome.findings,
                  [](Writer& to, const JudgedFinding& one) { api::write(to, to_record(one, one.device)); });
    dict.set_list("left-out", outcome.left_out, kWriteOne);
    dict.set("unanswered", outcome.unanswered);
    dict.set_list("lost-levels", outcome.losses, kWriteOne);
    dict.set_list("failures", outcome.failures,
                  [](Writer& to, const DeviceFailure& one) { write_failure(to, one.failure, one.device); });
    dict.set_text("ended-trial", outcome.ended_trial);
}

}    // namespace

void write(Writer& writer, const ReloadOutcome& outcome, Quote quote)
{
    Answer<kReloadKeys> dict(writer);
    set_outcome(dict, outcome, quote);
}

void write(Writer& writer, const TrialOutcome& outcome, Quote quote)
{
    Answer<kReloadKeys> dict(writer);
    set_outcome(dict, outcome.reload, quote);
    if (outcome.trial) {
        dict.set("seconds-left", static_cast<std::uint32_t>(outcome.trial->left.count()));
    }
}

void write(Writer& writer, const std::optional<TrialStatus>& trial)
{
    Answer<kTrialKeys> dict(writer);
    if (trial) {
        dict.set("revision", trial->revision);
        dict.set("goes-back-to", trial->goes_back_to);
        dict.set_text("file-revision", trial->file_revision);
        dict.set("seconds-left", static_cast<std::uint32_t>(trial->left.count()));
        dict.set("uid", trial->who->uid);
        dict.set("pid", static_cast<std::uint32_t>(trial->who->pid));
        dict.set_text("command", trial->who->command);
    }
}

void write(Writer& writer, const PlanReport& report, Quote quote)
{
    Answer<kPlanKeys> dict(writer);
    dict.set("accepted", report.accepted);
    dict.set_text("refusal", report.refusal);
    dict.set_text("revision", report.revision);
    set_diagnostics(dict, report.diagnostics, quote);
    dict.set_list("levels", report.levels, kWriteOne);
    dict.set_list("changes", report.parts, kWriteOne);
    if (report.more_parts > 0) {
        dict.set("changes-omitted", static_cast<std::uint32_t>(report.more_parts));
    }
    dict.set_list("sessions", report.sessions, kWriteOne);
    dict.set_list("lost-levels", report.losses, kWriteOne);
    dict.set_list("devices", report.devices, write_plan);
    dict.set_list("left-out", report.left_out, kWriteOne);
    dict.set("writes", report.writes);
}

void write(Writer& writer, const std::vector<RefusedDevice>& devices)
{
    write_dicts(writer, devices, [](Writer& to, const RefusedDevice& device) {
        Answer<kRefusedDeviceKeys> dict(to);
        dict.set("device", fmt::format("{}/{}", device.names.device, device.names.port));
        dict.set_text("netdev", device.names.netdev);
        dict.set_text("pci-address", device.names.pci_address);
        dict.set("reason", device.why);
    });
}

void write(Writer& writer, const std::map<std::string, std::string>& state_failures)
{
    write_dicts(writer, state_failures, [](Writer& to, const auto& failure) {
        Answer<kStateFailureKeys> dict(to);
        dict.set("file", failure.first);
        dict.set("message", failure.second);
    });
}

void write(Writer& writer, const DeviceReconcile& result)
{
    Answer<kDeviceResultKeys> dict(writer);
    dict.set("device", result.device);
    dict.set("operations", result.operations);
    dict.set_list("failures", result.failures, [](Writer& to, const ElementFailure& one) { write_failure(to, one); });
}

void write(Writer& writer, const std::vector<DeviceReconcile>& results)
{
    write_dicts(writer, results, [](Writer& to, const DeviceReconcile& result) { write(to, result); });
}

void write(Writer& writer, const std::vector<DeviceDrift>& results)
{
    writer.open('a', "a{sv}");
    for (const auto& [device, drifts, failures] : results) {
        for (const auto& drift : drifts) {
            Answer<kDriftKeys> dict(writer);
            dict.set("device", device);
            dict.set("path", drift.path.text());
            dict.set("kind", to_string(drift.kind));
            dict.set("expected", drift.expected);
            dict.set("found", drift.found);
        }
        for (const auto& failure : failures) {
            write_as_drift(writer, device, failure);
        }
    }
    writer.close();
}

void write_findings(Writer& writer, const DeviceStatus& status)
{
    std::vector<api::FindingRecord> records;
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
    writer.open('a', "a{sv}");
    if (status.snapshot) {
        for (const auto& failure : open_failures(*status.snapshot)) {
            write_failure(writer, failure);
        }
    }
    writer.close();
}

}    // namespace rdmaqos
