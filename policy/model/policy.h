// The policy: what the administrator wrote, validated, as a value. Immutable once read (readers hand out
// std::shared_ptr<const Policy>); nothing in it refers to a device, a bus or a YAML library.
//
// Keywords and their meaning are OpenSM's where OpenSM has one; [host] marks additions. The reference for people is
// docs/policy-reference.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/diagnostic.h"
#include "lib/base/interval_set.h"
#include "lib/base/net.h"
#include "lib/base/units.h"
#include "lib/tree/compile.h"
#include "policy/model/device_selector.h"
#include "policy/model/ib.h"
#include "policy/model/mode.h"
#include "policy/model/transient.h"

namespace rdmaqos {

// A set of node types, as a mask.
struct NodeTypes {
    bool ca = false;
    bool switch_ = false;
    bool router = false;

    [[nodiscard]] bool none() const { return !ca && !switch_ && !router; }
    friend bool operator==(const NodeTypes&, const NodeTypes&) = default;
};

struct PortGroup {
    std::string name;    // compared ignoring case
    std::string use;
    IntervalSet port_guids;
    std::vector<std::string> port_names;    // "vs1 HCA-1/P1"
    IntervalSet pkeys;                      // masked to 15 bits
    std::vector<std::string> partitions;    // case-sensitive
    NodeTypes node_types;
    bool self = false;              // ports of this host
    bool subnet_manager = false;    // its port: `SELF` of OpenSM's native file
    std::vector<GidPrefix> gids;    // [host]
    Location location;
};

// [host] Named partition and the level its traffic falls to when no rule matches.
struct Partition {
    std::string name;
    std::uint16_t pkey = 0;              // 15 bits
    std::optional<std::size_t> level;    // index into Policy::levels
    Location location;
};

// [host] A name for a 12-bit QoS-Class number.
struct QosClassName {
    std::string name;
    std::uint16_t number = 0;
    Location location;
};

// [host] An inner node of the tree.
struct SchedulingNode {
    std::string name;
    std::string use;
    std::optional<std::size_t> parent;    // index into Policy::nodes; empty: the root
    RateSpec rate;
    std::vector<DeviceSelector> devices;    // that have it, and all below it; empty: all
    bool strict = false;                    // its traffic class goes before others; only of a child of the root
    Location location;
};

// [host] Who, as the kernel says. Lists of one key are alternatives; different keys must all hold; an empty list says
// nothing. User and group names are resolved to numbers when the policy is read.
struct ClientCriteria {
    std::vector<std::uint32_t> uids;
    std::vector<std::uint32_t> gids;
    std::vector<std::string> users;    // as written, for display
    std::vector<std::string> groups;
    std::vector<std::string> units;              // globs: "job-*.scope"
    std::vector<std::string> cgroups;            // globs: "/slurm/*"
    std::vector<std::string> slurm_jobs;         // globs: "4711"
    std::vector<std::string> kubernetes_pods;    // globs over UIDs
    std::vector<std::string> executables;        // globs; never in `allow`
    std::vector<std::string> commands;           // globs; never in `allow`
    Location location;
};

struct Schedule : ClassSpec {
    std::optional<std::size_t> parent;    // index into Policy::nodes; empty: the root
    std::string fair_cgroup;    // of FairBy::Cgroup: a glob; the outermost cgroup that it matches is the principal
    bool strict = false;        // its traffic class goes before others; only of a child of the root
    Location location;
};

// [host] Limits of each queue pair on its own. max_burst and typical_packet are only meaningful with a rate.
struct PerQueuePair {
    std::optional<Bandwidth> max_rate;
    std::optional<std::uint64_t> max_burst;         // bytes
    std::optional<std::uint32_t> typical_packet;    // bytes
    Location location;
};

enum class MessageModel : std::uint8_t { Default, LowLatency, HighBandwidth, ForceLowLatency };
[[nodiscard]] std::string_view to_string(MessageModel model);

// Where a launcher takes the SL of an InfiniBand connection from: the subnet manager (never overridden) or the level.
enum class SlSource : std::uint8_t { SubnetManager, Host };

struct QosLevel {
    std::string name;    // compared ignoring case
    std::string use;
    std::optional<std::uint8_t> sl;    // 0..15; empty: leave alone
    std::optional<IbMtu> mtu_limit;
    std::optional<IbRate> rate_limit;             // path answers only; caps nothing
    std::optional<std::uint8_t> packet_life;      // 0..63
    IntervalSet path_bits;                        // accepted, without effect (as in OpenSM)
    IntervalSet pkeys;                            // masked to 15 bits
    std::optional<std::uint8_t> traffic_class;    // [host] 8 bits; dscp N is N << 2
    SlSource sl_source = SlSource::SubnetManager;
    std::optional<Schedule> schedule;    // [host] empty: no element, queue pairs are not attached
    PerQueuePair per_queue_pair;
    std::optional<MessageModel> message_model;
    std::optional<ClientCriteria> allow;      // empty: everyone
    std::vector<DeviceSelector> devices;      // [host] that have its class; empty: all
    Mode mode = Mode::Enforce;                // [host] Monitor: matched and granted, but on no NIC
    bool log = false;                         // [host] a line in the log for each session that gets the level
    bool adopt = true;                        // [host] also queue pairs of programs that do not register
    std::vector<std::string> renamed_from;    // [host] names it had; compared ignoring case, no level has them now
    bool from_ulp = false;                    // made by a qos-ulps entry ("SimpleQoSLevel_SL3"); cannot be named
    Location location;
};

// [host] A transient file gives a level another value for a while. What the level has now (`QosLevel`) is the value.
struct LevelOverride {
    std::size_t level = 0;      // index into Policy::levels
    std::string property;       // "max-rate", "min-rate", "share", "per-queue-pair-max-rate"
    std::string value;          // in words: "10 Gbit/s"
    std::string in_place_of;    // what holds without it: "25 Gbit/s", "unlimited", "none"
    Transient transient;        // when it ends
    Location location;          // of the value
};

enum class RuleOrigin : std::uint8_t { MatchRule, Ulp };

struct MatchRule {
    RuleOrigin origin = RuleOrigin::MatchRule;
    std::size_t number = 0;    // 1-based among all rules: match rules first, then ulps, as OpenSM numbers them
    std::string use;
    std::string ulp;                    // "sdp, port-num 10000-20000" for a ulp, else empty
    std::vector<std::size_t> source;    // indexes into Policy::groups; alternatives
    std::vector<std::size_t> destination;
    IntervalSet qos_class;
    IntervalSet service_id;                  // includes what `ulp-port` adds
    IntervalSet pkey;                        // masked to 15 bits
    std::optional<ClientCriteria> client;    // [host]
    std::vector<DeviceSelector> devices;     // [host] alternatives
    std::size_t level = 0;                   // index into Policy::levels
    bool adopt = true;                       // [host] also queue pairs of programs that do not register
    Location location;
};

// A short hash over texts alone: renaming a file changes nothing.
[[nodiscard]] std::string revision_of(const std::vector<std::shared_ptr<const SourceFile>>& sources);

struct Policy {
    std::vector<PortGroup> groups;
    std::vector<Partition> partitions;
    std::vector<QosClassName> qos_class_names;
    std::vector<SchedulingNode> nodes;                         // parents before children
    std::vector<QosLevel> levels;                              // named levels first, then those made by ulps
    std::vector<MatchRule> rules;                              // in the order of evaluation
    std::vector<LevelOverride> overrides;                      // in the order of levels; at most one of each property
    std::size_t default_level = 0;                             // the level DEFAULT, or the one of `ulp: default`
    std::vector<std::shared_ptr<const SourceFile>> sources;    // in the order they were merged
    std::string revision;    // short hash over the merged sources: equal text, equal revision

    // By name, ignoring case, as a rule or a request may name it; levels made by ulps are not found.
    [[nodiscard]] const QosLevel* find_level(std::string_view name) const;
    // By a name that it had before (`renamed-from`), as a request may still name it.
    [[nodiscard]] const QosLevel* find_renamed_level(std::string_view former_name) const;
    [[nodiscard]] std::optional<std::uint16_t> find_qos_class(std::string_view name) const;
    // Of this level, which is one of `levels`.
    [[nodiscard]] std::span<const LevelOverride> overrides_of(const QosLevel& level) const;
    // "match rule 3 (policy.yaml:40:5)", "ulp rule 7 (...)"
    [[nodiscard]] std::string describe_rule(const MatchRule& rule) const;
};

}    // namespace rdmaqos
