#include "daemon/metrics/metrics_text.h"

#include <array>
#include <concepts>
#include <initializer_list>
#include <utility>

#include <fmt/format.h>

#include "lib/dcb/port_settings.h"
#include "lib/port_bytes/port_bytes.h"

namespace rdmaqos {
namespace {

enum class Type : std::uint8_t { Counter, Gauge, Histogram };

struct Family {
    const char* name;
    Type type;
    const char* help;
};

using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

std::string_view word(Type type)
{
    switch (type) {
    case Type::Counter:
        return "counter";
    case Type::Gauge:
        return "gauge";
    case Type::Histogram:
        return "histogram";
    }
    return "untyped";
}

// Families one after another; one without samples is left out.
class Text {
public:
    void family(const Family& family)
    {
        family_ = family;
        announced_ = false;
    }
    template <typename Number>
    void sample(Labels labels, Number value)
    {
        line("", labels, "", value);
    }
    void sample(Labels labels, bool value) { line("", labels, "", value ? 1 : 0); }
    void histogram(Labels labels, const Histogram& histogram)
    {
        for (std::size_t i = 0; i < Histogram::kBounds.size(); ++i) {
            const double seconds = static_cast<double>(Histogram::kBounds.at(i).count()) / 1e6;
            line("_bucket", labels, fmt::format("{}", seconds), histogram.at_most(i));
        }
        line("_bucket", labels, "+Inf", histogram.count());
        line("_sum", labels, "", histogram.sum_seconds());
        line("_count", labels, "", histogram.count());
    }
    [[nodiscard]] std::string take() { return std::move(text_); }

private:
    // `bound`: of a bucket, else empty.
    template <typename Number>
    void line(std::string_view suffix, Labels labels, const std::string& bound, Number value)
    {
        if (!std::exchange(announced_, true)) {
            text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", family_.name, family_.help, family_.name,
                                 word(family_.type));
        }
        text_ += family_.name;
        text_ += suffix;
        char before = '{';
        const auto add = [&](std::string_view name, std::string_view label) {
            text_ += fmt::format("{}{}=\"{}\"", before, name, escape_label(label));
            before = ',';
        };
        for (const auto& [name, label] : labels) {
            add(name, label);
        }
        if (!bound.empty()) {
            add("le", bound);
        }
        text_ += fmt::format("{} {}\n", before == ',' ? "}" : "", value);
    }

    std::string text_;
    Family family_{};
    bool announced_ = false;
};

double seconds_of(WallTime time)
{
    const auto since_1970 = std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch());
    return static_cast<double>(since_1970.count()) / 1e3;
}

double bytes_per_second(Bandwidth rate)
{
    constexpr double kBytesPerKbit = 125;
    return static_cast<double>(rate.kbps()) * kBytesPerKbit;
}

// "UnknownLevel": every name of the table, so that the first refusal of a kind is seen as an increase too.
void write_errors(Text& text, const Family& family, const std::map<ErrorCode, std::uint64_t>& counts)
{
    text.family(family);
    for (const auto& name : error_names()) {
        const auto count = counts.find(name.code);
        text.sample({{"error", name.dbus_name.substr(name.dbus_name.rfind('.') + 1)}},
                    count == counts.end() ? 0 : count->second);
    }
}

void write_daemon(Text& text, const Metrics& metrics)
{
    text.family({"rdmaqos_build_info", Type::Gauge, "Version of rdma-qosd; always 1."});
    text.sample({{"version", metrics.version}}, 1);
    text.family({"rdmaqos_start_time_seconds", Type::Gauge, "When rdma-qosd started, in seconds since 1970."});
    text.sample({}, seconds_of(metrics.started_at));
    text.family({"rdmaqos_enforcing", Type::Gauge, "1: devices are written to; 0: mode monitor."});
    text.sample({}, metrics.enforcing);
    if (metrics.policy) {
        text.family(
            {"rdmaqos_policy_info", Type::Gauge, "Revision of the running policy; always 1; absent without one."});
        text.sample({{"revision", metrics.policy->revision}}, 1);
        text.family({"rdmaqos_policy_levels", Type::Gauge, "Levels of the running policy."});
        text.sample({}, metrics.policy->levels);
        text.family({"rdmaqos_policy_rules", Type::Gauge, "Match rules and ULP rules of the running policy."});
        text.sample({}, metrics.policy->rules);
        text.family({"rdmaqos_policy_overrides", Type::Gauge,
                     "Properties of levels that have another value for a while, by `rdma-qosctl override`."});
        text.sample({}, metrics.policy->overrides.size());
        text.family({"rdmaqos_level_overridden", Type::Gauge, "Which these are; always 1."});
        for (const auto& [level, property] : metrics.policy->overrides) {
            text.sample({{"level", level}, {"property", property}}, 1);
        }
        text.family({"rdmaqos_level_monitored", Type::Gauge,
                     "Which levels are only monitored (`mode: monitor`), on all devices; always 1."});
        for (const auto& level : metrics.policy->monitored) {
            text.sample({{"level", level}}, 1);
        }
        text.family({"rdmaqos_match_index_bytes", Type::Gauge, "Memory of the indexes used to find rules."});
        text.sample({}, metrics.policy->match_index_bytes);
    }
    text.family({"rdmaqos_reloads_total", Type::Counter, "Reloads, by how they ended."});
    text.sample({{"result", "accepted"}}, metrics.service.reloads_accepted);
    text.sample({{"result", "refused"}}, metrics.service.reloads_refused);
    text.family(
        {"rdmaqos_last_reload_successful", Type::Gauge, "Whether the last reload, or the start, was accepted."});
    text.sample({}, metrics.last_reload_good);
    text.family({"rdmaqos_trial_in_force", Type::Gauge, "Whether a policy is being tried, which goes back by itself."});
    text.sample({}, metrics.trial);
    text.family({"rdmaqos_state_failures", Type::Gauge,
                 "Files of the daemon itself that could not be written or read; `rdma-qosctl status` says which."});
    text.sample({}, metrics.state_failures);
    if (metrics.service.last_good_reload) {
        text.family({"rdmaqos_last_reload_success_timestamp_seconds", Type::Gauge,
                     "When files were last accepted, in seconds since 1970."});
        text.sample({}, seconds_of(*metrics.service.last_good_reload));
    }
    text.family(
        {"rdmaqos_reload_duration_seconds", Type::Histogram, "Reloads, from the first byte read to the last device."});
    text.histogram({}, metrics.service.reloads);
}

void write_clients(Text& text, const Metrics& metrics)
{
    text.family(
        {"rdmaqos_connections", Type::Gauge, "Clients connected to the direct socket, or known on the system bus."});
    text.sample({}, metrics.transports.connections_now);
    text.family({"rdmaqos_connections_accepted_total", Type::Counter, "Clients that have connected."});
    text.sample({}, metrics.transports.connections);
    text.family({"rdmaqos_calls_total", Type::Counter, "Method calls of clients."});
    text.sample({}, metrics.transports.calls);
    write_errors(text, {"rdmaqos_refusals_total", Type::Counter, "Calls answered with an error, by its name."},
                 metrics.transports.refusals);
    write_errors(text,
                 {"rdmaqos_queue_pair_refusals_total", Type::Counter,
                  "Single queue pairs refused within an answer, by the error's name."},
                 metrics.transports.queue_pair_refusals);
    text.family({"rdmaqos_sessions", Type::Gauge, "Sessions, by the level of the session."});
    for (const auto& [level, count] : metrics.sessions) {
        text.sample({{"level", level}}, count);
    }
    text.family({"rdmaqos_sessions_without_level", Type::Gauge, "Sessions that the running policy gives no level."});
    text.sample({}, metrics.sessions_without_level);
    text.family(
        {"rdmaqos_sessions_detached", Type::Gauge, "Sessions whose queue pairs all went away with their devices."});
    text.sample({}, metrics.sessions_detached);
    text.family({"rdmaqos_sessions_registered_total", Type::Counter, "Sessions that have been registered."});
    text.sample({}, metrics.service.sessions);
    text.family(
        {"rdmaqos_register_duration_seconds", Type::Histogram, "Register calls, queue pairs in them included."});
    text.histogram({}, metrics.service.register_calls);
    text.family({"rdmaqos_attach_duration_seconds", Type::Histogram, "Attach calls, waiting for the device included."});
    text.histogram({}, metrics.service.attach_calls);
}

// Those refused for good are counted from the first; one that is not ready yet is tried again.
constexpr std::array kRefused{kNoRule, kNotScheduled, kLevelMonitor, kExcluded, kNotAdoptable};

void write_adoption(Text& text, const AdoptionStatus& adoption)
{
    text.family({"rdmaqos_adoption_available", Type::Gauge,
                 "Whether programs that do not register can be adopted; absent unless the settings ask for it."});
    if (adoption.setting == Unregistered::Adopt) {
        text.sample({}, adoption.unavailable.empty());
    }
    text.family({"rdmaqos_adopted_programs", Type::Gauge, "Processes that are adopted."});
    text.sample({}, adoption.programs);
    text.family({"rdmaqos_adopted_queue_pairs", Type::Gauge, "Queue pairs of adopted processes in the tree."});
    text.sample({}, adoption.queue_pairs);
    text.family({"rdmaqos_adopted_queue_pairs_total", Type::Counter, "Queue pairs that have been adopted."});
    text.sample({}, adoption.counters.adopted);
    text.family({"rdmaqos_adoption_refused_total", Type::Counter, "Queue pairs that were not adopted, by reason."});
    auto refused = adoption.counters.refused;
    for (const auto reason : kRefused) {
        refused.try_emplace(reason);
    }
    for (const auto& [reason, count] : refused) {
        text.sample({{"reason", reason}}, count);
    }
    text.family({"rdmaqos_adoption_delay_seconds", Type::Histogram,
                 "From when a queue pair was first seen ready to send to when it was in its leaf."});
    text.histogram({}, adoption.counters.delay);
}

// One number per level on a device; nothing where it does not apply.
struct LevelFamily {
    Family family;
    std::optional<std::uint64_t> (*value)(const LevelMetrics&);
};

template <auto member>
std::optional<std::uint64_t> of_level(const LevelMetrics& level)
{
    return level.*member;
}

template <auto member>
std::optional<std::uint64_t> traffic_of_level(const LevelMetrics& level)
{
    return level.traffic ? std::optional((*level.traffic).*member) : std::nullopt;
}

void write_levels(Text& text, const Metrics& metrics)
{
    constexpr std::array kFamilies{
        LevelFamily{{"rdmaqos_level_sessions", Type::Gauge, "Sessions with queue pairs of the level on the device."},
                    of_level<&LevelMetrics::sessions>},
        LevelFamily{
            {"rdmaqos_level_queue_pairs", Type::Gauge, "Queue pairs of the level on the device, enforced or not."},
            of_level<&LevelMetrics::queue_pairs>},
        LevelFamily{{"rdmaqos_level_leaves", Type::Gauge, "Leaves of the level on the device."},
                    of_level<&LevelMetrics::leaves>},
        LevelFamily{{"rdmaqos_level_transmit_bytes_total", Type::Counter,
                     "What counted queue pairs of the level have sent since the daemon began to count."},
                    traffic_of_level<&LevelTraffic::sent>},
        LevelFamily{{"rdmaqos_level_receive_bytes_total", Type::Counter, "What they have received."},
                    traffic_of_level<&LevelTraffic::received>}};
    for (const auto& [family, value] : kFamilies) {
        text.family(family);
        for (const auto& device : metrics.devices) {
            for (const auto& [level, use] : device.levels) {
                if (const auto present = value(use)) {
                    text.sample({{"device", device.device}, {"level", level}}, *present);
                }
            }
        }
    }
}

// How the queue pairs of each level that has a DSCP are marked.
void write_marks(Text& text, const Metrics& metrics)
{
    text.family({"rdmaqos_level_marks", Type::Gauge,
                 "Queue pairs of a level with a DSCP, by what their packets carry: `carried`: that DSCP, `other`: "
                 "another, `unseen`: the device cannot tell."});
    for (const auto& device : metrics.devices) {
        for (const auto& [level, use] : device.levels) {
            if (!use.marks) {
                continue;
            }
            const std::pair<std::string_view, std::uint64_t> counts[] = {
                {"carried", use.marks->right()}, {"other", use.marks->wrong()}, {"unseen", use.marks->not_seen()}};
            for (const auto& [mark, count] : counts) {
                text.sample({{"device", device.device}, {"level", level}, {"mark", mark}}, count);
            }
        }
    }
}

// One number per device; nothing where it does not apply.
struct DeviceFamily {
    Family family;
    std::optional<double> (*value)(const DeviceMetrics&);
};

template <auto member>
std::optional<double> number(const DeviceMetrics& device)
{
    return static_cast<double>(device.*member);
}

template <auto member>
std::optional<double> counter(const DeviceMetrics& device)
{
    return static_cast<double>(device.counters.*member);
}

template <auto member>
std::optional<double> moved_by_port(const DeviceMetrics& device)
{
    return device.port ? std::optional(static_cast<double>((*device.port).*member)) : std::nullopt;
}

template <auto member>
std::optional<double> number_if_known(const DeviceMetrics& device)
{
    return device.*member ? std::optional(static_cast<double>(*(device.*member))) : std::nullopt;
}

std::optional<double> link_speed(const DeviceMetrics& device)
{
    return bytes_per_second(device.link_speed);
}

constexpr std::array kDeviceFamilies{
    DeviceFamily{{"rdmaqos_device_degraded", Type::Gauge,
                  "1: the device does not match the policy; `rdma-qosctl status` says why."},
                 number<&DeviceMetrics::degraded>},
    DeviceFamily{{"rdmaqos_device_disabled", Type::Gauge, "1: by `rdma-qosctl disable`."},
                 number<&DeviceMetrics::disabled>},
    DeviceFamily{{"rdmaqos_device_findings", Type::Gauge, "What the policy asks for and the device cannot provide."},
                 number<&DeviceMetrics::findings>},
    DeviceFamily{{"rdmaqos_port_up", Type::Gauge, "Whether the link is up."}, number<&DeviceMetrics::link_up>},
    DeviceFamily{{"rdmaqos_port_speed_bytes_per_second", Type::Gauge, "Speed of the link."}, link_speed},
    DeviceFamily{{"rdmaqos_port_transmit_bytes_total", Type::Counter,
                  "What the port has sent, all traffic of the host; absent where it is not counted."},
                 moved_by_port<&PortCounters::transmit_bytes>},
    DeviceFamily{{"rdmaqos_port_receive_bytes_total", Type::Counter,
                  "What the port has received, all traffic of the host; absent where it is not counted."},
                 moved_by_port<&PortCounters::receive_bytes>},
    DeviceFamily{{"rdmaqos_queue_pairs_inside", Type::Gauge, "Queue pairs of sessions that are in a leaf."},
                 number<&DeviceMetrics::queue_pairs_inside>},
    DeviceFamily{{"rdmaqos_queue_pairs_outside", Type::Gauge,
                  "Queue pairs of programs that are in no leaf, whether or not the programs registered."},
                 number_if_known<&DeviceMetrics::queue_pairs_outside>},
    DeviceFamily{{"rdmaqos_queue_pairs_counted", Type::Gauge,
                  "Queue pairs of sessions whose bytes are counted; `rdma-qosctl top` says why not all are."},
                 number_if_known<&DeviceMetrics::queue_pairs_counted>},
    DeviceFamily{
        {"rdmaqos_queue_pairs_enforced", Type::Gauge, "Queue pairs of sessions that get what their level says."},
        number<&DeviceMetrics::queue_pairs_enforced>},
    DeviceFamily{{"rdmaqos_queue_pairs_unenforced", Type::Gauge,
                  "Queue pairs of sessions that do not; `rdma-qosctl sessions` says why."},
                 number<&DeviceMetrics::queue_pairs_unenforced>},
    DeviceFamily{{"rdmaqos_queue_pairs_without_level", Type::Gauge,
                  "Queue pairs of sessions that have lost their level to a reload, and got no other."},
                 number<&DeviceMetrics::queue_pairs_without_level>},
    DeviceFamily{{"rdmaqos_queue_pairs_unscheduled", Type::Gauge,
                  "Queue pairs of sessions whose level asks nothing of the NIC, or is only monitored."},
                 number<&DeviceMetrics::queue_pairs_unscheduled>},
    DeviceFamily{{"rdmaqos_elements_used", Type::Gauge, "Scheduling elements on the device."},
                 number<&DeviceMetrics::elements_used>},
    DeviceFamily{{"rdmaqos_elements_free", Type::Gauge,
                  "Scheduling elements that the device advertises and nobody "
                  "uses."},
                 number<&DeviceMetrics::elements_free>},
    DeviceFamily{{"rdmaqos_leaves_used", Type::Gauge, "Leaves on the device."}, number<&DeviceMetrics::leaves_used>},
    DeviceFamily{{"rdmaqos_leaves_free", Type::Gauge, "Leaves that the device advertises and nobody uses."},
                 number<&DeviceMetrics::leaves_free>},
    DeviceFamily{{"rdmaqos_leaves_draining", Type::Gauge, "Leaves that should go but hold queue pairs."},
                 number<&DeviceMetrics::leaves_draining>},
    DeviceFamily{{"rdmaqos_elements_failing", Type::Gauge, "Elements that could not be written and are tried again."},
                 number<&DeviceMetrics::open_failures>},
    DeviceFamily{{"rdmaqos_retries_total", Type::Counter,
                  "Runs that tried again what had failed, and repeats at once after busy."},
                 counter<&Counters::retries>},
    DeviceFamily{{"rdmaqos_drift_found_total", Type::Counter, "Elements found to differ from what was written."},
                 counter<&Counters::drift_found>},
    DeviceFamily{{"rdmaqos_drift_repaired_total", Type::Counter, "Elements repaired after they had drifted."},
                 counter<&Counters::drift_repaired>},
    DeviceFamily{{"rdmaqos_queue_depth", Type::Gauge, "Tasks that wait for the device."},
                 number<&DeviceMetrics::queue_depth>},
    DeviceFamily{
        {"rdmaqos_queue_limit", Type::Gauge, "Waiting tasks at which calls of clients are answered with Busy."},
        number<&DeviceMetrics::queue_limit>},
};

void write_devices(Text& text, const Metrics& metrics)
{
    text.family({"rdmaqos_device_up", Type::Gauge,
                 "0: the device is being reset and does not answer, or it is there and cannot be managed."});
    for (const auto& device : metrics.devices) {
        text.sample({{"device", device.device}}, device.up);
    }
    for (const auto& device : metrics.refused_devices) {
        text.sample({{"device", device}}, false);
    }
    for (const auto& [family, value] : kDeviceFamilies) {
        text.family(family);
        for (const auto& device : metrics.devices) {
            if (const auto present = value(device)) {
                text.sample({{"device", device.device}}, *present);
            }
        }
    }
    text.family({"rdmaqos_queue_pairs_unenforced_by_cause", Type::Gauge,
                 "Queue pairs of sessions that do not get what their level says, by what is missing."});
    for (const auto& device : metrics.devices) {
        for (const auto& [cause, count] : device.unenforced_by_cause) {
            text.sample({{"device", device.device}, {"cause", cause}}, count);
        }
    }
    text.family({"rdmaqos_host_queue_pairs", Type::Gauge,
                 "All queue pairs of the host, whoever made them: in a leaf, or why they are in none."});
    for (const auto& [of, count] : metrics.host) {
        const auto& [device, outside] = of;
        text.sample({{"device", device}, {"place", outside.empty() ? "leaf" : outside}}, count);
    }
    text.family({"rdmaqos_reconcile_duration_seconds", Type::Histogram, "Runs that make the device match the policy."});
    for (const auto& device : metrics.devices) {
        text.histogram({{"device", device.device}}, device.passes);
    }
}

// `write(labels, class)` for each traffic class that a port has.
template <typename Write>
void each_class(const Metrics& metrics, Write write)
{
    for (const auto& device : metrics.devices) {
        const bool has_classes = device.port_settings && device.port_settings->ets;
        for (std::size_t i = 0; has_classes && i < device.port_settings->ets->classes; ++i) {
            write({{"device", device.device}, {"class", std::to_string(i)}},
                  device.port_settings->ets->traffic_class.at(i));
        }
    }
}

void write_port_classes(Text& text, const Metrics& metrics)
{
    text.family({"rdmaqos_port_class_weight", Type::Gauge,
                 "Weight of a traffic class of the port (ETS), in percent; absent for one without."});
    each_class(metrics, [&](Labels labels, const dcb::TrafficClass& each) {
        if (each.selection == dcb::Selection::Ets) {
            text.sample(labels, each.weight);
        }
    });
    text.family({"rdmaqos_port_class_strict", Type::Gauge,
                 "1: the traffic class is served before those below it and all that have weights."});
    each_class(metrics, [&](Labels labels, const dcb::TrafficClass& each) {
        text.sample(labels, each.selection == dcb::Selection::Strict);
    });
    text.family({"rdmaqos_port_class_max_bytes_per_second", Type::Gauge,
                 "Maximum rate of a traffic class of the port; absent for one without."});
    each_class(metrics, [&](Labels labels, const dcb::TrafficClass& each) {
        if (each.max_rate) {
            text.sample(labels, bytes_per_second(*each.max_rate));
        }
    });
    const auto each_kept = [&](auto PortKeepingMetrics::*value) {
        for (const auto& device : metrics.devices) {
            if (device.port_keeping) {
                text.sample({{"device", device.device}}, *device.port_keeping.*value);
            }
        }
    };
    text.family(
        {"rdmaqos_port_classes_kept", Type::Gauge,
         "1: the traffic classes of the port were as the policy asks when they were read last; absent for a port "
         "that the daemon does not set."});
    each_kept(&PortKeepingMetrics::is_kept);
    text.family(
        {"rdmaqos_port_classes_failed", Type::Gauge,
         "1: traffic classes that the policy asks for are not set, or what was there before is not put back: the "
         "driver has refused it, or the port cannot be read."});
    each_kept(&PortKeepingMetrics::is_failed);
    text.family({"rdmaqos_port_classes_stopped", Type::Gauge,
                 "1: something else sets the traffic classes of the port, too, and the daemon has stopped setting "
                 "them."});
    each_kept(&PortKeepingMetrics::is_stopped);
    text.family({"rdmaqos_port_classes_repairs_total", Type::Counter,
                 "How often the daemon put back what something else had written to the traffic classes of the port."});
    each_kept(&PortKeepingMetrics::repairs);
}

// Of the network interfaces; nothing of those that do not count so.
void write_port_traffic(Text& text, const Metrics& metrics)
{
    const auto each_priority = [&](const port_bytes::OfPriority port_bytes::PortBytes::*direction) {
        for (const auto& device : metrics.devices) {
            for (std::size_t i = 0; device.traffic && i < port_bytes::kPriorities; ++i) {
                text.sample({{"device", device.device}, {"priority", std::to_string(i)}},
                            (*device.traffic.*direction).at(i));
            }
        }
    };
    const auto rdma = [&](const std::optional<std::uint64_t> port_bytes::PortBytes::*direction) {
        for (const auto& device : metrics.devices) {
            if (device.traffic && *device.traffic.*direction) {
                text.sample({{"device", device.device}}, (*device.traffic.*direction).value());
            }
        }
    };
    text.family({"rdmaqos_port_priority_transmit_bytes_total", Type::Counter,
                 "What the port has sent with a priority, RDMA or not; absent where it is not counted."});
    each_priority(&port_bytes::PortBytes::sent);
    text.family({"rdmaqos_port_priority_receive_bytes_total", Type::Counter,
                 "What the port has received with a priority, RDMA or not; absent where it is not counted."});
    each_priority(&port_bytes::PortBytes::received);
    text.family({"rdmaqos_port_rdma_transmit_bytes_total", Type::Counter,
                 "What RDMA has sent with all priorities, by the same counters; absent where it is not counted."});
    rdma(&port_bytes::PortBytes::rdma_sent);
    text.family({"rdmaqos_port_rdma_receive_bytes_total", Type::Counter,
                 "What RDMA has received with all priorities, by the same counters; absent where it is not counted."});
    rdma(&port_bytes::PortBytes::rdma_received);
}

// `write(labels, statistics)` for every device and kind of operation.
template <typename Write>
void each_operation(const Metrics& metrics, Write write)
{
    for (const auto& device : metrics.devices) {
        for (std::size_t kind = 0; kind < kOperationKinds; ++kind) {
            write({{"device", device.device}, {"operation", to_string(static_cast<OperationKind>(kind))}},
                  device.operations.at(kind));
        }
    }
}

void write_operations(Text& text, const Metrics& metrics)
{
    text.family({"rdmaqos_operations_total", Type::Counter, "Writes to the device, failed ones included."});
    each_operation(metrics, [&](Labels labels, const OperationStatistics& of_kind) {
        text.sample(labels, of_kind.times.count());
    });
    text.family({"rdmaqos_operations_failed_total", Type::Counter, "Writes that the device refused or failed."});
    each_operation(metrics,
                   [&](Labels labels, const OperationStatistics& of_kind) { text.sample(labels, of_kind.failed); });
    text.family({"rdmaqos_operation_duration_seconds", Type::Histogram, "Time the device took for a write."});
    each_operation(metrics,
                   [&](Labels labels, const OperationStatistics& of_kind) { text.histogram(labels, of_kind.times); });
}

}    // namespace

std::string escape_label(std::string_view value)
{
    std::string escaped;
    escaped.reserve(value.size());
    for (const char c : value) {
        if (c == '\n') {
            escaped += "\\n";
            continue;
        }
        if (c == '\\' || c == '"') {
            escaped.push_back('\\');
        }
        escaped.push_back(c);
    }
    return escaped;
}

std::string to_prometheus(const Metrics& metrics)
{
    Text text;
    write_daemon(text, metrics);
    write_clients(text, metrics);
    write_adoption(text, metrics.adoption);
    write_levels(text, metrics);
    write_marks(text, metrics);
    write_devices(text, metrics);
    write_port_classes(text, metrics);
    write_port_traffic(text, metrics);
    write_operations(text, metrics);
    return text.take();
}

}    // namespace rdmaqos
