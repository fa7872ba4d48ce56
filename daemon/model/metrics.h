// What the daemon counts, as values: what a part keeps while it works, and all of it at one moment. daemon/metrics
// writes it for Prometheus; docs/metrics.md lists the names.
//
// Everything is kept on the main loop. What a worker thread counts comes with its reports.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/model/adoption.h"
#include "daemon/model/host_survey.h"
#include "daemon/model/level_marks.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/histogram.h"
#include "lib/base/units.h"
#include "lib/dcb/port_settings.h"
#include "lib/nic/backend.h"
#include "lib/port_bytes/port_bytes.h"
#include "lib/reconcile/reconciler.h"

namespace rdmaqos {

using WallTime = std::chrono::system_clock::time_point;

// What the transports count.
struct TransportCounters {
    std::uint64_t calls = 0;
    std::uint64_t refused = 0;        // calls answered with an error before they reached the service
    std::uint64_t connections = 0;    // ever; on the system bus: names that called
    std::uint64_t connections_now = 0;
    std::map<ErrorCode, std::uint64_t> refusals;               // errors sent as the answer of a call
    std::map<ErrorCode, std::uint64_t> queue_pair_refusals;    // errors of single queue pairs inside an answer

    friend bool operator==(const TransportCounters&, const TransportCounters&) = default;
};

// A connection, for as long as this lives. `counters` must outlive it.
class CountedConnection {
public:
    explicit CountedConnection(TransportCounters& counters) : counters_(counters)
    {
        ++counters_.connections;
        ++counters_.connections_now;
    }
    ~CountedConnection() { --counters_.connections_now; }
    CountedConnection(const CountedConnection&) = delete;
    CountedConnection& operator=(const CountedConnection&) = delete;

private:
    TransportCounters& counters_;
};

// What the service counts. Times are from the call to its answer, waiting for a device included.
struct ServiceCounters {
    std::uint64_t sessions = 0;    // ever registered
    std::uint64_t reloads_accepted = 0;
    std::uint64_t reloads_refused = 0;
    std::optional<WallTime> last_good_reload;    // the start counts, if its files were good
    Histogram register_calls;
    Histogram attach_calls;
    Histogram reloads;

    friend bool operator==(const ServiceCounters&, const ServiceCounters&) = default;
};

// Bytes.
struct LevelTraffic {
    std::uint64_t sent = 0;
    std::uint64_t received = 0;

    friend bool operator==(const LevelTraffic&, const LevelTraffic&) = default;
};

// One level on one device.
struct LevelMetrics {
    std::uint64_t sessions = 0;    // with queue pairs of this level on the device
    std::uint64_t queue_pairs = 0;
    std::uint64_t leaves = 0;                 // on the device
    std::optional<LevelMarks> marks{};        // empty: it has no DSCP, or no queue pairs here
    std::optional<LevelTraffic> traffic{};    // by counters of its queue pairs; empty: none has been counted
};

// What the daemon does about the traffic classes of a port.
struct PortKeepingMetrics {
    bool is_kept = false;       // as the policy asks
    bool is_failed = false;     // a write was refused
    bool is_stopped = false;    // others write, too
    std::uint64_t repairs = 0;
};

struct DeviceMetrics {
    std::string device;    // "mlx5_0/1"
    bool up = false;
    bool degraded = false;
    bool disabled = false;
    std::uint64_t findings = 0;
    bool link_up = false;
    Bandwidth link_speed;
    std::optional<PortCounters> port;    // empty: it does not count, or did not answer in time
    std::uint64_t queue_pairs_inside = 0;
    std::optional<std::uint64_t> queue_pairs_outside;      // of programs; empty: the kernel did not say in time
    std::optional<std::uint64_t> queue_pairs_counted{};    // of sessions, whose bytes are; empty: likewise
    std::uint64_t queue_pairs_enforced = 0;
    std::uint64_t queue_pairs_unenforced = 0;
    std::map<std::string_view, std::uint64_t> unenforced_by_cause;    // of Unenforced
    std::uint64_t queue_pairs_without_level = 0;    // that had one; among those outside and unenforced
    std::uint64_t queue_pairs_unscheduled =
        0;    // their level asks for nothing, or is only monitored; in neither of the two
    std::uint64_t elements_used = 0;
    std::uint64_t elements_free = 0;
    std::uint64_t leaves_used = 0;
    std::uint64_t leaves_free = 0;
    std::uint64_t leaves_draining = 0;
    std::uint64_t open_failures = 0;    // elements that are not as they should be, and tried again
    Counters counters;
    OperationsByKind operations;
    Histogram passes;    // runs of the reconciler
    std::uint64_t queue_depth = 0;
    std::uint64_t queue_limit = 0;
    std::map<std::string, LevelMetrics> levels;          // of the running policy
    std::optional<dcb::PortSettings> port_settings{};    // empty: they are not known
    std::optional<port_bytes::PortBytes> traffic{};      // by priority; empty: it is not known
    std::optional<PortKeepingMetrics> port_keeping{};    // empty: the daemon does not set its traffic classes
};

// A property of a level that has another value for a while.
struct OverrideMetrics {
    std::string level;
    std::string property;
};

struct PolicyMetrics {
    std::string revision;
    std::uint64_t levels = 0;
    std::uint64_t rules = 0;
    std::uint64_t match_index_bytes = 0;
    std::vector<OverrideMetrics> overrides{};
    std::vector<std::string> monitored{};    // levels that are only monitored
};

struct Metrics {
    std::string version;
    WallTime started_at;
    bool enforcing = true;
    std::optional<PolicyMetrics> policy;    // empty: none is running
    bool last_reload_good = false;
    bool trial = false;                               // a policy is being tried
    std::map<std::string, std::uint64_t> sessions;    // per level of the running policy
    std::uint64_t sessions_without_level = 0;
    std::uint64_t sessions_detached = 0;
    ServiceCounters service;
    TransportCounters transports;
    std::vector<DeviceMetrics> devices;            // by name
    std::vector<std::string> refused_devices{};    // on this host, and not managed
    std::uint64_t state_failures = 0;              // of the daemon's own files
    HostCounts host;                               // queue pairs; empty: the kernel did not say in time
    AdoptionStatus adoption;
};

}    // namespace rdmaqos
