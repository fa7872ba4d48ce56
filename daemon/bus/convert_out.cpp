#include "daemon/bus/convert_out.h"

#include <algorithm>

#include "daemon/bus/answer.h"
#include "lib/api/device.h"
#include "lib/api/report.h"
#include "policy/model/lower.h"
#include "policy/model/traffic_class.h"

namespace rdmaqos {
namespace {

using bus::Writer;

// The same keys of a grant and of a queue pair.
template <const auto& keys>
void set_lost(Answer<keys>& dict, const std::shared_ptr<const LostLevel>& lost)
{
    if (lost == nullptr) {
        return;
    }
    dict.set("lost-level", lost->level);
    dict.set("lost-reason", to_string(lost->reason));
    dict.set("lost-revision", lost->revision);
    dict.set("lost-at", static_cast<std::uint64_t>(lost->at.time_since_epoch().count()));
    dict.set_text("renamed-to", lost->renamed_to);
}

void write_grant_keys(Answer<kGrantKeys>& dict, const Grant& grant)
{
    dict.set("level", grant.level);
    dict.set("rule", grant.rule);
    dict.set("verified", grant.verified);
    dict.set("sl", grant.sl);
    dict.set("mtu", grant.mtu);
    dict.set("rate", kbps(grant.rate));
    dict.set("packet-life", grant.packet_life);
    dict.set("pkey", grant.pkey);
    dict.set("traffic-class", grant.traffic_class);
    if (grant.traffic_class) {
        dict.set("dscp", dscp_of(*grant.traffic_class));
    }
    if (grant.sl_of_host) {
        dict.set("sl-source", "host");
    }
    dict.set("share", grant.share);
    dict.set("max-rate", kbps(grant.max_rate));
    dict.set("max-rate-now", kbps(grant.max_rate_now));
    dict.set("per-queue-pair-max-rate", kbps(grant.per_queue_pair.max_rate));
    dict.set("per-queue-pair-max-burst", grant.per_queue_pair.max_burst);
    dict.set("per-queue-pair-typical-packet", grant.per_queue_pair.typical_packet);
    if (grant.message_model) {
        dict.set("message-model", to_string(*grant.message_model));
    }
    dict.set_text("leaf", grant.leaf);
    dict.set("enforced", grant.enforced);
    dict.set_text("cause", grant.cause);
    dict.set_text("reason", grant.reason);
    set_lost(dict, grant.lost);
    if (!grant.detached_devices.empty()) {
        dict.set("detached-devices", grant.detached_devices);
        dict.set("returned-devices", grant.returned_devices);
    }
    if (grant.losses > 0) {
        dict.set("losses", grant.losses);
    }
}

void write_one(Writer& writer, const QueuePairResult& result)
{
    Answer<kQueuePairKeys> dict(writer);
    dict.set("device", result.device);
    dict.set("number", result.number);
    if (result.error) {
        dict.set("error", dbus_name(result.error->code));
        dict.set("message", to_string(*result.error));
    }
    dict.set_text("level", result.level);
    dict.set_text("rule", result.rule);
    dict.set_text("leaf", result.leaf);
    dict.set_text("responder-leaf", result.responder_leaf);
    if (result.rate) {
        dict.set("rate", result.rate->rate.kbps());
        dict.set("max-burst", result.rate->max_burst);
        dict.set("typical-packet", result.rate->typical_packet);
    }
    dict.set("max-rate-now", kbps(result.max_rate_now));
    dict.set("enforced", result.enforced);
    dict.set_text("cause", std::string(result.cause));
    dict.set_text("reason", result.reason);
    set_lost(dict, result.lost);
    if (!result.owner_verified) {
        dict.set("owner", "unverified");
    }
}

std::string_view word_of(Unregistered setting)
{
    switch (setting) {
    case Unregistered::Ignore:
        return "ignore";
    case Unregistered::Count:
        return "count";
    case Unregistered::Adopt:
        return "adopt";
    }
    return "";
}

void write_override(Writer& writer, const LevelOverride& each)
{
    Answer<kOverrideKeys> dict(writer);
    dict.set("property", each.property);
    dict.set("value", each.value);
    dict.set("in-place-of", each.in_place_of);
    if (each.location.file) {
        dict.set("file", each.location.file->name);
    }
    if (each.transient.until) {
        dict.set("until", static_cast<std::uint64_t>(each.transient.until->time_since_epoch().count()));
    }
    dict.set_text("cgroup", each.transient.cgroup);
    dict.set_text("owner", each.transient.owner);
}

}    // namespace

std::vector<QueuePairResult> merge(std::vector<QueuePairResult> results, const RefusedQueuePairs& refused)
{
    // Ascending places: each insertion finds everything before it already in place.
    for (const auto& [place, result] : refused) {
        const auto at = results.begin() + static_cast<std::ptrdiff_t>(std::min(place, results.size()));
        results.insert(at, result);
    }
    return results;
}

std::string_view to_string(SessionState state)
{
    return state == SessionState::Active ? "active" : "detached";
}

void write(Writer& writer, const Grant& grant)
{
    Answer<kGrantKeys> dict(writer);
    write_grant_keys(dict, grant);
}

void write(Writer& writer, const RegisterReply& reply)
{
    Answer<kGrantKeys> dict(writer);
    write_grant_keys(dict, reply.grant);
    if (!reply.queue_pairs.empty()) {
        dict.set_list("queue-pairs", reply.queue_pairs, write_one);
    }
}

void write(Writer& writer, const QueuePairResult& result)
{
    write_one(writer, result);
}

void write(Writer& writer, const std::vector<QueuePairResult>& results)
{
    write_dicts(writer, results, write_one);
}

void write(Writer& writer, const Identity& owner)
{
    Answer<kOwnerKeys> dict(writer);
    dict.set("pid", static_cast<std::uint32_t>(owner.pid));
    dict.set("start-time", owner.start_time);
    dict.set("uid", owner.uid);
    dict.set_text("unit", owner.unit);
    dict.set_text("cgroup", owner.cgroup);
    dict.set_text("slurm-job", owner.slurm_job);
    dict.set_text("kubernetes-pod", owner.kubernetes_pod);
    dict.set_text("executable", owner.executable);
    dict.set_text("command", owner.command);
}

void write(Writer& writer, const SessionCounts& counts)
{
    writer.open('a', "a{sv}");
    for (const auto& [uid, count] : counts.of_users) {
        Answer<kSessionCountKeys> dict(writer);
        dict.set("uid", uid);
        dict.set("sessions", count.sessions);
        dict.set("queue-pairs", count.queue_pairs);
    }
    if (counts.detached > 0) {
        Answer<kSessionCountKeys> dict(writer);
        dict.set("state", to_string(SessionState::Detached));
        dict.set("sessions", counts.detached);
    }
    for (const auto& [lost, count] : counts.lost) {
        Answer<kSessionCountKeys> dict(writer);
        set_lost(dict, lost);
        dict.set("sessions", count.sessions);
        dict.set("queue-pairs", count.queue_pairs);
    }
    for (const auto& [cause, queue_pairs] : counts.unenforced) {
        Answer<kSessionCountKeys> dict(writer);
        dict.set("cause", cause);
        dict.set("queue-pairs", queue_pairs);
    }
    writer.close();
}

void write(Writer& writer, const Request& request, const Result<PathResult>& result)
{
    Answer<kPathAnswerKeys> dict(writer);
    if (result) {
        dict.set("level", result->level);
        dict.set("rule", result->rule);
    }
    if (request.source) {
        dict.set("source", to_string(*request.source));
    }
    if (request.destination) {
        dict.set("destination", to_string(*request.destination));
    }
    if (!result) {
        dict.set("error", dbus_name(result.error().code));
        dict.set("message", result.error().message);
        return;
    }
    const PathAnswer& answer = result->answer;
    dict.set("mtu", bytes(answer.mtu));
    dict.set("rate", nominal(answer.rate).kbps());
    dict.set("packet-life", answer.packet_life);
    dict.set("pkey", answer.pkey);
    dict.set("sl", answer.sl);
    dict.set("traffic-class", result->traffic_class);
    if (result->traffic_class) {
        dict.set("dscp", dscp_of(*result->traffic_class));
    }
    if (result->sl_of_host) {
        dict.set("sl-source", "host");
    }
    if (const auto assumed = assumed_of(answer); !assumed.empty()) {
        dict.set("assumed", assumed);
    }
}

void write(Writer& writer, const Capabilities& capabilities)
{
    api::write(writer, capabilities);
}

void write(Writer& writer, const CounterReading& reading)
{
    const auto taken_at = std::chrono::duration_cast<std::chrono::microseconds>(reading.taken_at.time_since_epoch());
    Answer<kCounterKeys> dict(writer);
    dict.set("transmit-bytes", reading.counters.transmit_bytes);
    dict.set("receive-bytes", reading.counters.receive_bytes);
    dict.set("taken-at", static_cast<std::uint64_t>(taken_at.count()));
}

void write(Writer& writer, const std::vector<SelfTestStep>& steps)
{
    std::vector<api::SelfTestStep> records;
    for (const auto& [name, passed, sys_errno, status, syndrome, remark] : steps) {
        records.push_back({name, passed, static_cast<std::uint32_t>(sys_errno), status, syndrome, remark});
    }
    api::write(writer, records);
}

void write(Writer& writer, const std::vector<DeviceAttribute>& attributes)
{
    bus::Triples triples;
    triples.reserve(attributes.size());
    for (const auto& [name, value, meaning] : attributes) {
        triples.push_back({name, value, meaning});
    }
    writer.put(triples);
}

void write_tree(Writer& writer, const DeviceStatus& status)
{
    if (!status.snapshot) {
        api::write(writer, std::vector<api::TreeElement>());
        return;
    }
    const Snapshot& snapshot = *status.snapshot;
    // One by one: a tree has thousands of elements, and is looked at after each change.
    write_dicts(writer, without_ids(snapshot.actual).tree, [&](Writer& to, const auto& each) {
        const auto& [path, element] = each;
        api::TreeElement record{path.text(), element.parent.text(), element.kind, {}, element.attributes.max_rate};
        record.requested = requested_of(status.requested, path);
        if (!path.is_root()) {
            record.share = element.attributes.share;
        }
        if (const auto inside = snapshot.queue_pairs_in.find(path); inside != snapshot.queue_pairs_in.end()) {
            record.queue_pairs = inside->second;
        }
        record.draining = std::ranges::find(snapshot.draining, path) != snapshot.draining.end();
        api::write(to, record);
    });
}

void write(Writer& writer, const AdoptionStatus& adoption)
{
    api::write(writer, api::Adoption{std::string(word_of(adoption.setting)), adoption.unavailable,
                                     static_cast<std::uint32_t>(adoption.programs),
                                     static_cast<std::uint32_t>(adoption.queue_pairs)});
}

void write(Writer& writer, const Policy& policy, const QosLevel& level, const LevelUse& use)
{
    Answer<kLevelKeys> dict(writer);
    dict.set("name", level.name);
    dict.set_text("use", level.use);
    dict.set("sl", level.sl);
    if (level.mtu_limit) {
        dict.set("mtu-limit", bytes(*level.mtu_limit));
    }
    if (level.rate_limit) {
        dict.set("rate-limit", nominal(*level.rate_limit).kbps());
    }
    dict.set("packet-life", level.packet_life);
    dict.set("traffic-class", level.traffic_class);
    if (level.schedule) {
        dict.set("class", class_path(policy, level).text());
        dict.set("share", level.schedule->rate.share);
        dict.set("min-rate", kbps(level.schedule->rate.min_rate));
        dict.set("min-rate-part", hundredths(level.schedule->rate.min_part));
        dict.set("max-rate", kbps(level.schedule->rate.max_rate));
        dict.set("max-rate-part", hundredths(level.schedule->rate.max_part));
        dict.set("fair-by", to_string(level.schedule->fair_by));
        dict.set_text("fair-by-pattern", level.schedule->fair_cgroup);
        if (!level.devices.empty()) {
            dict.set("devices", texts_of(level.devices));
        }
    }
    dict.set("per-queue-pair-max-rate", kbps(level.per_queue_pair.max_rate));
    if (level.message_model) {
        dict.set("message-model", to_string(*level.message_model));
    }
    if (level.mode == Mode::Monitor) {
        dict.set("mode", to_string(level.mode));
    }
    dict.set("restricted", level.allow.has_value());
    if (!level.renamed_from.empty()) {
        dict.set("renamed-from", level.renamed_from);
    }
    const auto overrides = policy.overrides_of(level);
    if (!overrides.empty()) {
        dict.set_list("overrides", overrides, write_override);
    }
    dict.set("sessions", use.sessions);
    dict.set("queue-pairs", use.queue_pairs);
    if (level.mode == Mode::Monitor) {
        dict.set("unregistered", use.unregistered);
    }
}

}    // namespace rdmaqos
