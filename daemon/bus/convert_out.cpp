#include "daemon/bus/convert_out.h"

#include <algorithm>
#include <chrono>

#include "lib/port_bytes/port_bytes.h"
#include "lib/tree/class_requests.h"
#include "policy/model/lower.h"
#include "policy/model/port_class_requests.h"
#include "policy/model/traffic_class.h"

namespace rdmaqos {
namespace {

using bus::Writer;

// Empty for an empty one.
template <typename T>
std::string word_of(const std::optional<T>& value)
{
    return value ? std::string(to_string(*value)) : std::string();
}

std::optional<std::uint8_t> dscp(const std::optional<std::uint8_t>& traffic_class)
{
    return traffic_class ? std::optional(dscp_of(*traffic_class)) : std::nullopt;
}

std::optional<api::Lost> to_record(const std::shared_ptr<const LostLevel>& lost)
{
    if (lost == nullptr) {
        return std::nullopt;
    }
    return api::Lost{lost->level, static_cast<std::uint64_t>(lost->at.time_since_epoch().count()),
                     std::string(to_string(lost->reason)), lost->renamed_to, lost->revision};
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

api::Override to_record(const LevelOverride& each)
{
    return {.property = each.property,
            .value = each.value,
            .in_place_of = each.in_place_of,
            .file = each.location.file ? each.location.file->name : std::string(),
            .until = each.transient.until,
            .cgroup = each.transient.cgroup,
            .owner = each.transient.owner};
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

api::Grant to_record(const Grant& grant)
{
    const auto& [max_rate, max_burst, typical_packet, location] = grant.per_queue_pair;
    return {
        .level = grant.level,
        .rule = grant.rule,
        .verified = grant.verified,
        .sl = grant.sl,
        .mtu = grant.mtu,
        .rate = grant.rate,
        .packet_life = grant.packet_life,
        .pkey = grant.pkey,
        .traffic_class = grant.traffic_class,
        .dscp = dscp(grant.traffic_class),
        .sl_source = grant.sl_of_host ? "host" : "",
        .share = grant.share,
        .max_rate = grant.max_rate,
        .max_rate_now = grant.max_rate_now,
        .per_queue_pair = max_rate ? std::optional(RateLimit{*max_rate, max_burst, typical_packet}) : std::nullopt,
        .message_model = word_of(grant.message_model),
        .leaf = grant.leaf,
        .enforced = grant.enforced,
        .cause = grant.cause,
        .reason = grant.reason,
        .lost = to_record(grant.lost),
        .detached_devices = grant.detached_devices,
        .returned_devices = grant.returned_devices,
        .losses = grant.losses,
    };
}

api::QueuePair to_record(const QueuePairResult& result)
{
    return {
        .device = result.device,
        .number = result.number,
        .error = result.error ? std::string(dbus_name(result.error->code)) : std::string(),
        .message = word_of(result.error),
        .level = result.level,
        .rule = result.rule,
        .leaf = result.leaf,
        .responder_leaf = result.responder_leaf,
        .rate = result.rate,
        .max_rate_now = result.max_rate_now,
        .enforced = result.enforced,
        .cause = std::string(result.cause),
        .reason = result.reason,
        .lost = to_record(result.lost),
        .owner = result.owner_verified ? "" : "unverified",
    };
}

api::Grant to_record(const RegisterReply& reply)
{
    api::Grant grant = to_record(reply.grant);
    grant.queue_pairs = to_record(reply.queue_pairs);
    return grant;
}

api::Owner to_record(const Identity& owner)
{
    return {.pid = static_cast<std::uint32_t>(owner.pid),
            .start_time = owner.start_time,
            .uid = owner.uid,
            .unit = owner.unit,
            .cgroup = owner.cgroup,
            .slurm_job = owner.slurm_job,
            .kubernetes_pod = owner.kubernetes_pod,
            .executable = owner.executable,
            .command = owner.command};
}

std::vector<api::SessionCount> to_record(const SessionCounts& counts)
{
    std::vector<api::SessionCount> records;
    for (const auto& [uid, count] : counts.of_users) {
        records.push_back({.uid = uid, .sessions = count.sessions, .queue_pairs = count.queue_pairs});
    }
    if (counts.detached > 0) {
        records.push_back({.state = std::string(to_string(SessionState::Detached)), .sessions = counts.detached});
    }
    for (const auto& [lost, count] : counts.lost) {
        records.push_back({.lost = to_record(lost), .sessions = count.sessions, .queue_pairs = count.queue_pairs});
    }
    for (const auto& [cause, queue_pairs] : counts.unenforced) {
        records.push_back({.cause = cause, .queue_pairs = queue_pairs});
    }
    return records;
}

api::PathAnswer to_record(const Request& request, const Result<PathResult>& result)
{
    api::PathAnswer record;
    record.source = word_of(request.source);
    record.destination = word_of(request.destination);
    if (result) {
        const PathAnswer& answer = result->answer;
        record.level = result->level;
        record.rule = result->rule;
        record.mtu = bytes(answer.mtu);
        record.rate = nominal(answer.rate);
        record.packet_life = answer.packet_life;
        record.pkey = answer.pkey;
        record.sl = answer.sl;
        record.traffic_class = result->traffic_class;
        record.dscp = dscp(result->traffic_class);
        record.sl_source = result->sl_of_host ? "host" : "";
        record.assumed = assumed_of(answer);
    } else {
        record.error = dbus_name(result.error().code);
        record.message = result.error().message;
    }
    return record;
}

void write(Writer& writer, const Capabilities& capabilities)
{
    api::write(writer, capabilities);
}

std::uint64_t to_microseconds(TimePoint time)
{
    const auto since = std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch());
    return static_cast<std::uint64_t>(since.count());
}

api::Counters to_record(const CounterReading& reading)
{
    return {reading.counters.transmit_bytes, reading.counters.receive_bytes, to_microseconds(reading.taken_at)};
}

api::SelfTestStep to_record(const SelfTestStep& step)
{
    return {step.name,   step.passed, static_cast<std::uint32_t>(step.sys_errno), step.status, step.syndrome,
            step.remark, step.row};
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
    writer.open('a', "a{sv}");
    for (const auto& [path, element] : without_ids(snapshot.actual.plain()).tree) {
        api::TreeElement record{path.text(), element.parent.text(), element.kind, {}, element.attributes.max_rate};
        record.requested = requested_of(status.requested, path);
        if (!path.is_root()) {
            record.share = element.attributes.share;
        }
        if (const auto* inside = snapshot.queue_pairs_in.find(path)) {
            record.queue_pairs = *inside;
        }
        record.draining = std::ranges::find(snapshot.draining, path) != snapshot.draining.end();
        api::write(writer, record);
    }
    writer.close();
}

api::Adoption to_record(const AdoptionStatus& adoption)
{
    return {std::string(word_of(adoption.setting)), adoption.unavailable, static_cast<std::uint32_t>(adoption.programs),
            static_cast<std::uint32_t>(adoption.queue_pairs)};
}

api::PortTraffic to_record(const PortTrafficStatus& traffic)
{
    api::PortTraffic record;
    for (std::uint32_t priority = 0; priority < port_bytes::kPriorities; ++priority) {
        api::PriorityBytes bytes{priority, traffic.total.sent.at(priority), traffic.total.received.at(priority)};
        if (traffic.moved) {
            bytes.sent_lately = traffic.moved->sent.at(priority);
            bytes.received_lately = traffic.moved->received.at(priority);
        }
        record.priorities.push_back(bytes);
    }
    record.rdma_sent = traffic.total.rdma_sent;
    record.rdma_received = traffic.total.rdma_received;
    record.read_at = static_cast<std::uint64_t>(
        std::chrono::floor<std::chrono::seconds>(traffic.read_at.time_since_epoch()).count());
    if (traffic.moved) {
        record.rdma_sent_lately = traffic.moved->rdma_sent;
        record.rdma_received_lately = traffic.moved->rdma_received;
        record.interval = static_cast<std::uint64_t>(
            std::chrono::duration_cast<std::chrono::microseconds>(traffic.over).count());
    }
    return record;
}

std::vector<std::string> sentences(const std::vector<Finding>& findings)
{
    std::vector<std::string> texts;
    for (const Finding& finding : findings) {
        texts.push_back(to_string(finding));
    }
    return texts;
}

api::Port to_record(const PortStatus& port)
{
    const auto seconds = [](WallTime time) {
        return static_cast<std::uint64_t>(std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count());
    };
    api::Port record{.state = std::string(to_string(port.reading)),
                     .reason = port.reason,
                     .netdev = port.netdev,
                     .driver = port.driver};
    if (port.reading == PortReading::Read) {
        api::set_settings(record, port.settings);
        record.read_at = seconds(port.read_at);
    }
    if (port.last_change) {
        record.last_change = {seconds(port.last_change->at), port.last_change->by};
    }
    if (const PortCare& care = port.care; care.keeping != PortKeeping::Off) {
        auto& said = record.care.emplace();
        said.keeping = care.keeping;
        said.reason = care.reason;
        said.repairs = care.repairs;
        said.findings = sentences(care.findings);
        said.notes = care.notes;
        said.cnp_dscp = care.cnp_dscp;
        if (care.drift) {
            said.drift = {seconds(care.drift->at), care.drift->by, care.drift->what};
        }
    }
    return record;
}

api::Level to_record(const Policy& policy, const QosLevel& level, const LevelUse& use)
{
    api::Level record{
        .name = level.name,
        .use = level.use,
        .sl = level.sl,
        .packet_life = level.packet_life,
        .traffic_class = level.traffic_class,
        .per_queue_pair_max_rate = level.per_queue_pair.max_rate,
        .message_model = word_of(level.message_model),
        .mode = level.mode == Mode::Monitor ? std::string(to_string(level.mode)) : std::string(),
        .restricted = level.allow.has_value(),
        .renamed_from = level.renamed_from,
        .sessions = use.sessions,
        .queue_pairs = use.queue_pairs,
        .unregistered = use.unregistered,
    };
    if (level.mtu_limit) {
        record.mtu_limit = bytes(*level.mtu_limit);
    }
    if (level.rate_limit) {
        record.rate_limit = nominal(*level.rate_limit);
    }
    if (level.schedule) {
        const auto& rate = level.schedule->rate;
        const ElementPath path = class_path(policy, level);
        record.class_path = path.text();
        record.strict = is_strict(policy, root_child_of(path));
        record.share = rate.share;
        record.min_rate = rate.min_rate;
        record.min_rate_part = rate.min_part;
        record.max_rate = rate.max_rate;
        record.max_rate_part = rate.max_part;
        record.fair_by = to_string(level.schedule->fair_by);
        record.fair_by_pattern = level.schedule->fair_cgroup;
        record.max_rate_each = level.schedule->principal.max_rate;
        record.max_rate_each_part = level.schedule->principal.max_part;
        record.leaf_budget = level.schedule->leaf_budget;
        record.devices = texts_of(level.devices);
    }
    for (const auto& each : policy.overrides_of(level)) {
        record.overrides.push_back(to_record(each));
    }
    return record;
}

}    // namespace rdmaqos
