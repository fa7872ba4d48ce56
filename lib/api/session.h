// Who has registered, what they got, and the queue pairs of the host.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/api/record.h"

namespace rdmaqos::api {

struct Owner {
    std::uint32_t pid = 0;
    std::uint64_t start_time = 0;
    std::uint32_t uid = 0;
    std::string user{};    // the name of the uid on this host; empty: it has none
    std::string unit{};
    std::string cgroup{};
    std::string slurm_job{};
    std::string kubernetes_pod{};
    std::string executable{};
    std::string command{};
};

template <>
struct Table<Owner> {
    using O = Owner;
    static constexpr auto keys = std::tuple{
        key<&O::pid>("pid"),
        key<&O::start_time>("start-time", "clock ticks after boot, field 22 of /proc/PID/stat"),
        key<&O::uid>("uid"),
        added<&O::user>("user"),
        key_unless_empty<&O::unit>("unit", "its systemd unit"),
        key_unless_empty<&O::cgroup>("cgroup"),
        key_unless_empty<&O::slurm_job>("slurm-job", "the number of its Slurm job"),
        key_unless_empty<&O::kubernetes_pod>("kubernetes-pod", "the UID of its pod"),
        key_unless_empty<&O::executable>("executable", "to root and to the session's own connection"),
        key_unless_empty<&O::command>("command", "the kernel's name of the process"),
    };
};

// A level that a session or a queue pair had until a reload; its keys are those of what lost it.
struct Lost {
    std::string level{};
    std::uint64_t at = 0;
    std::string reason{};
    std::string renamed_to{};
    std::string revision{};

    friend auto operator<=>(const Lost&, const Lost&) = default;
};

struct QueuePair {
    std::string device{};
    std::uint32_t number = 0;
    std::string error{};
    std::string message{};
    std::string level{};
    std::string rule{};
    std::string leaf{};
    std::string responder_leaf{};
    std::optional<RateLimit> rate{};
    std::optional<Bandwidth> max_rate_now{};
    bool enforced = false;
    std::string cause{};
    std::string reason{};
    std::optional<Lost> lost{};
    std::string owner{};
};

template <>
struct Table<QueuePair> {
    using Q = QueuePair;
    static constexpr auto keys = std::tuple{
        key<&Q::device>("device", "name/port, whatever name the request used"),
        key<&Q::number>("number"),
        key_unless_empty<&Q::error>("error", "a D-Bus error name: this queue pair was refused, the others were not"),
        key_unless_empty<&Q::message>("message", "the error as a sentence"),
        key_unless_empty<&Q::level>("level"),
        key_unless_empty<&Q::rule>("rule", "as in a grant"),
        key_unless_empty<&Q::leaf>("leaf", "path of the leaf it is in, as `path` in the device's `Tree`"),
        key_unless_empty<&Q::responder_leaf>("responder-leaf", "path of the leaf of its RDMA READ responses"),
        key<&Q::rate, &RateLimit::rate>("rate", "at which it is paced, kbit/s; absent: it is not paced"),
        key<&Q::rate, &RateLimit::max_burst>("max-burst", "bytes; absent with a `rate`: the device's default"),
        key<&Q::rate, &RateLimit::typical_packet>("typical-packet", "bytes; absent with a `rate`: the port's MTU"),
        key<&Q::max_rate_now>("max-rate-now",
                              "the lowest of `rate`, the caps from its leaf up to the root, and the link, kbit/s"),
        key<&Q::enforced>("enforced", "whether it gets what its level, or SetRate, says"),
        key_unless_empty<&Q::cause>("cause", "why not, one of [Causes](#causes)"),
        key_unless_empty<&Q::reason>("reason", "the same as a sentence, or what else is to know"),
        key<&Q::lost, &Lost::level>("lost-level", "as in a grant, like the next four"),
        key<&Q::lost, &Lost::reason>("lost-reason"),
        key<&Q::lost, &Lost::revision>("lost-revision"),
        key<&Q::lost, &Lost::at>("lost-at"),
        key_unless_empty<&Q::lost, &Lost::renamed_to>("renamed-to"),
        key_unless_empty<&Q::owner>("owner", "`unverified`: the kernel does not say whose it is "
                                             "([security.md](security.md#descriptors-of-clients))"),
    };
};

// What a session got.
struct Grant {
    std::string level{};
    std::string rule{};
    bool verified = false;
    std::optional<std::uint8_t> sl{};
    std::optional<std::uint32_t> mtu{};
    std::optional<Bandwidth> rate{};
    std::optional<std::uint8_t> packet_life{};
    std::optional<std::uint16_t> pkey{};
    std::optional<std::uint8_t> traffic_class{};
    std::optional<std::uint8_t> dscp{};
    std::string sl_source{};
    std::optional<std::uint32_t> share{};
    std::optional<Bandwidth> max_rate{};
    std::optional<Bandwidth> max_rate_now{};
    std::optional<RateLimit> per_queue_pair{};
    std::string message_model{};
    std::string leaf{};
    bool enforced = false;
    std::string cause{};
    std::string reason{};
    std::optional<Lost> lost{};
    std::vector<std::string> detached_devices{};
    std::vector<std::string> returned_devices{};
    std::uint32_t losses = 0;
    std::vector<QueuePair> queue_pairs{};
};

constexpr bool has_detached_devices(const Grant& grant)
{
    return !grant.detached_devices.empty();
}

template <>
struct Table<Grant> {
    using G = Grant;
    static constexpr auto keys = std::tuple{
        key<&G::level>("level", "the level it got"),
        key<&G::rule>("rule", "why it got this level, in words"),
        key<&G::verified>("verified",
                          "whether all that chose the level is known from the kernel; else the client claimed some"),
        key<&G::sl>("sl", "service level; set it on the connection"),
        key<&G::mtu>("mtu", "most bytes of a packet"),
        key<&G::rate>("rate", "the level's `rate-limit`, kbit/s"),
        key<&G::packet_life>("packet-life", "n for 4.096 µs · 2ⁿ"),
        key<&G::pkey>("pkey", "partition key"),
        key<&G::traffic_class>("traffic-class", "of RoCE packets; set it on the connection"),
        key<&G::dscp>("dscp", "the upper 6 bits of `traffic-class`"),
        key_unless_empty<&G::sl_source>(
            "sl-source",
            "`host`: on InfiniBand, too, `sl` replaces the service level that the subnet manager gave; absent: it "
            "does not"),
        key<&G::share>("share", "weight of the class among its siblings"),
        key<&G::max_rate>("max-rate", "cap of the class as the policy has it, kbit/s"),
        key<&G::max_rate_now>("max-rate-now",
                              "the lowest of the caps from its leaf up to the root, and the link, kbit/s"),
        key<&G::per_queue_pair, &RateLimit::rate>("per-queue-pair-max-rate", "limit of each queue pair, kbit/s"),
        key<&G::per_queue_pair, &RateLimit::max_burst>("per-queue-pair-max-burst", "bytes"),
        key<&G::per_queue_pair, &RateLimit::typical_packet>("per-queue-pair-typical-packet", "bytes"),
        key_unless_empty<&G::message_model>("message-model",
                                            "`default`, `low-latency`, `high-bandwidth` or `force-low-latency`"),
        key_unless_empty<&G::leaf>(
            "leaf", "path of the leaf; of a class that is fair by process or the like, once there is a queue pair"),
        key<&G::enforced>("enforced",
                          "whether the device enforces it; before there is a queue pair, what one can expect. This and "
                          "what follows are of the device of the queue pairs, else of the `device` of the request, "
                          "else of the first"),
        key_unless_empty<&G::cause>("cause", "why it is not enforced, one of [Causes](#causes)"),
        key_unless_empty<&G::reason>(
            "reason", "the same as a sentence; or what else is to know, such as types for which a limit does not hold"),
        key<&G::lost, &Lost::level>("lost-level", "without a `level`: the one that it had until a reload"),
        key<&G::lost, &Lost::reason>(
            "lost-reason", "why it was lost, one of [these](#lost-levels); with `lost-level`, as the next three"),
        key<&G::lost, &Lost::revision>("lost-revision", "of the policy that took it"),
        key<&G::lost, &Lost::at>("lost-at", "when, in seconds since 1970"),
        key_unless_empty<&G::lost, &Lost::renamed_to>(
            "renamed-to", "the level that gives the same under another name, or has `renamed-from`; absent: none"),
        key_unless_empty<&G::detached_devices>(
            "detached-devices",
            "devices that went away, were reset or were released with queue pairs of the session on them, until it has "
            "named each of these again, in Attach or Detach; absent: none"),
        key_when<&has_detached_devices, &G::returned_devices>(
            "returned-devices", "those of them that the daemon manages again: attach the queue pairs again"),
        key_unless_empty<&G::losses>("losses",
                                     "how often a device took queue pairs of the session along; absent: never"),
        key_unless_empty<&G::queue_pairs>("queue-pairs", "of Register with `queue-pairs`: the results"),
    };
};

// So many sessions, or queue pairs of theirs, have one thing in common.
struct SessionCount {
    std::optional<std::uint32_t> uid{};
    std::string state{};
    std::optional<Lost> lost{};
    std::string cause{};
    std::optional<std::uint64_t> sessions{};
    std::optional<std::uint64_t> queue_pairs{};
};

template <>
struct Table<SessionCount> {
    using S = SessionCount;
    static constexpr auto keys = std::tuple{
        key<&S::uid>("uid", "those of this user"),
        key_unless_empty<&S::state>("state", "`detached`: those whose device went away"),
        key<&S::lost, &Lost::level>(
            "lost-level", "those that lost this level, or whose queue pairs did; as of a grant, with the next four"),
        key<&S::lost, &Lost::reason>("lost-reason"),
        key<&S::lost, &Lost::revision>("lost-revision"),
        key<&S::lost, &Lost::at>("lost-at"),
        key_unless_empty<&S::lost, &Lost::renamed_to>("renamed-to"),
        key_unless_empty<&S::cause>("cause",
                                    "queue pairs that are not held to what their level says, one of [Causes](#causes)"),
        key<&S::sessions>("sessions", "absent with `cause`"),
        key<&S::queue_pairs>("queue-pairs", "absent with `state`"),
    };
};

struct HostQueuePair {
    std::string device{};
    std::uint32_t number = 0;
    std::string type{};
    std::string state{};
    std::optional<std::uint32_t> remote{};
    std::string kernel{};
    std::optional<std::uint32_t> pid{};    // empty: not known, as the next five
    std::optional<std::uint64_t> start_time{};
    std::optional<std::uint32_t> uid{};
    std::string user{};    // as of an owner
    std::string unit{};
    std::string command{};
    std::optional<std::uint64_t> session{};
    std::string level{};
    std::string rule{};
    std::string leaf{};
    std::string responder_leaf{};
    std::optional<Bandwidth> rate{};
    std::optional<bool> enforced{};
    std::string reason{};
    std::string outside{};
    std::optional<std::uint8_t> dscp{};
    std::optional<std::uint8_t> vlan_priority{};
    std::string mark_unseen{};
};

template <>
struct Table<HostQueuePair> {
    using H = HostQueuePair;
    static constexpr auto keys = std::tuple{
        key<&H::device>("device", "name/port; the name alone where the daemon does not manage the device"),
        key<&H::number>("number"),
        key<&H::type>("type", "`rc`, `uc`, `ud`, `raw-packet`, `xrc-ini`, `xrc-tgt`, `smi`, `gsi`, `driver`, `devx`"),
        key_unless_empty<&H::state>(
            "state", "`RESET`, `INIT`, `RTR`, `RTS`, `SQD`, `SQE`, `ERR`; absent: the kernel does not tell"),
        key<&H::remote>("remote", "number of the queue pair at the other end; of connected types"),
        key_unless_empty<&H::kernel>("kernel", "it belongs to this part of the kernel; absent: to a program"),
        key<&H::pid>("pid", "of the program, with the next four; absent: not known"),
        key<&H::start_time>("start-time", "as of an owner"),
        key<&H::uid>("uid", "the effective one"),
        added<&H::user>("user"),
        key_unless_empty<&H::unit>("unit"),
        key_unless_empty<&H::command>("command"),
        key<&H::session>("session", "that attached it: last part of its object path"),
        key_unless_empty<&H::level>(
            "level",
            "as of a result, like the next five; only with `session`, or alone: the level, only monitored, into which "
            "the queue pair would be adopted"),
        key_unless_empty<&H::rule>("rule"),
        key_unless_empty<&H::leaf>("leaf"),
        key_unless_empty<&H::responder_leaf>("responder-leaf"),
        key<&H::rate>("rate"),
        key<&H::enforced>("enforced"),
        key_unless_empty<&H::reason>("reason",
                                     "as of a result; without a session, more about `outside`, and what to do"),
        key_unless_empty<&H::outside>(
            "outside", "why it is in no leaf, one of [these](#outside) or of [Causes](#causes); absent: it is in one"),
        key<&H::dscp>("dscp", "in its packets, as its device said when CountMarks last asked; only with `session`, on "
                              "Ethernet, in a level with a traffic class"),
        key<&H::vlan_priority>("vlan-priority", "likewise, of the VLAN tag where its network interface has one"),
        key_unless_empty<&H::mark_unseen>("mark-unseen",
                                          "why `dscp` is not known, one of [Unseen marks](#unseen-marks)"),
    };
};

// So many queue pairs of a level carry the same DSCP on a device, or are not seen for the same reason.
struct MarkCount {
    std::string device{};
    std::string level{};
    std::uint8_t dscp = 0;    // the level's
    std::optional<std::uint8_t> found{};
    std::string unseen{};
    std::uint64_t count = 0;

    friend bool operator==(const MarkCount&, const MarkCount&) = default;
};

template <>
struct Table<MarkCount> {
    using M = MarkCount;
    static constexpr auto keys = std::tuple{
        key<&M::device>("device", "name/port, with Ethernet"),
        key<&M::level>("level", "one with a traffic class and queue pairs of sessions on the device"),
        key<&M::dscp>("dscp", "that its packets should carry"),
        key<&M::found>("found", "that they carry; absent: it is not known"),
        key_unless_empty<&M::unseen>("unseen", "why not, one of [Unseen marks](#unseen-marks)"),
        key<&M::count>("count", "queue pairs of this device and level for which that holds"),
    };
};

// So many queue pairs of a device are outside for one reason.
struct HostCount {
    std::string device{};
    std::string outside{};
    std::optional<std::uint64_t> count{};
    std::string failure{};
};

template <>
struct Table<HostCount> {
    using H = HostCount;
    static constexpr auto keys = std::tuple{
        key_unless_empty<&H::device>(
            "device", "name/port; the name alone where the daemon does not manage the device; absent with a `failure` "
                      "that concerns the whole host"),
        key_unless_empty<&H::outside>("outside", "as of a queue pair; absent: those that are in a leaf"),
        key<&H::count>("count", "queue pairs of this device for which that holds"),
        key_unless_empty<&H::failure>(
            "failure", "why queue pairs of the device, or of the host, are not known; there is nothing else"),
    };
};

}    // namespace rdmaqos::api
