// What the daemon's service takes and gives, as values free of the bus. docs/dbus.md shows each as D-Bus sees it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/diagnostic.h"
#include "lib/base/loop_callback.h"
#include "lib/base/result.h"
#include "lib/model/busy_rates.h"
#include "lib/nic/backend.h"
#include "lib/reconcile/reconciler.h"
#include "lib/tree/compile.h"
#include "policy/explain/explain.h"
#include "policy/model/policy.h"
#include "policy/model/request.h"
#include "policy/path/path.h"

namespace rdmaqos {

// Belongs to the loop's thread.
template <typename T>
using Callback = LoopCallback<void(Result<T>)>;

// One connection at one of the doors. Never reused.
enum class PeerId : std::uint64_t {};
// Never reused; the last part of the session's object path.
enum class SessionId : std::uint64_t {};

struct QueuePairRequest {
    std::string device;       // "mlx5_0", "mlx5_0/1", netdev or PCI address
    QueuePairRef ref;
    Request path;             // the queue pair's own path keys ...
    bool has_path = false;    // ... if it has any; else the session's level applies
};

struct RegisterRequest {
    Request request;
    std::string device;    // of the request: narrows `device:` rules and the link speed in the grant; may be empty
    std::vector<QueuePairRequest> queue_pairs;
};

// Lines of the host's files are for those who may read the files: root.
[[nodiscard]] inline Quote quote_for(std::uint32_t uid)
{
    return uid == 0 ? Quote::Lines : Quote::Nothing;
}

// What a session got. All rates are per class unless their name says otherwise.
struct Grant {
    std::string level;
    std::string rule;    // Match::why
    bool verified = false;
    std::optional<std::uint8_t> sl;
    std::optional<std::uint32_t> mtu;    // bytes, the level's limit
    std::optional<Bandwidth> rate;       // the level's rate-limit
    std::optional<std::uint8_t> packet_life;
    std::optional<std::uint16_t> pkey;
    std::optional<std::uint8_t> traffic_class;
    std::optional<std::uint32_t> share;
    std::optional<Bandwidth> max_rate;        // as the policy says
    std::optional<Bandwidth> max_rate_now;    // the narrowest cap on the way to the root on the request's device
    PerQueuePair per_queue_pair;
    std::optional<MessageModel> message_model;
    std::string leaf;    // path; for a class that is fair by something: of the principal, once it has queue pairs
    bool enforced = false;
    std::string cause;     // why not, in a word: of Unenforced; empty: it is
    std::string reason;    // why not, or what to know ("shares the leaf `others` with 45 more")

    friend bool operator==(const Grant& a, const Grant& b);
};

// Why a queue pair does not get what its level says, or SetRate. Said once, by its device: results, grants, status and
// metrics show this one.
struct Unenforced {
    std::string_view cause;    // docs/dbus.md, "Causes"; empty: it gets that
    std::string words;
};
// The cause of queue pairs for which nothing is asked of the NIC.
inline constexpr std::string_view kNothingAsked = "nothing-asked";

struct QueuePairResult {
    std::string device;    // "mlx5_0/1"
    std::uint32_t number = 0;
    std::string level;
    std::string rule;
    std::string leaf;
    std::string responder_leaf;
    std::optional<RateLimit> rate;
    bool enforced = false;
    bool owner_verified = true;    // false: this kernel does not tell whose it is
    std::string_view cause;        // why not enforced, of Unenforced
    std::string reason;
    std::optional<Error> error;    // this queue pair was refused; the others were not
};

// One answer of QueryPath.
struct PathResult {
    std::string level;
    std::string rule;    // Match::why
    PathAnswer answer;
};

struct RegisterReply {
    SessionId session{};
    Grant grant;
    std::vector<QueuePairResult> queue_pairs;
};

enum class SessionState : std::uint8_t { Active, Detached };    // detached: its device went away; register again

struct SessionInfo {
    SessionId id{};
    PeerId peer{};
    Identity owner;
    SessionState state = SessionState::Active;
    Grant grant;
    std::vector<QueuePairResult> queue_pairs;    // attached ones
};

// Of a QoS level: who is in it now.
struct LevelUse {
    std::uint32_t sessions = 0;
    std::uint32_t queue_pairs = 0;
};

// By which a session finds its queue pairs again.
struct QueuePairName {
    std::string device;    // "mlx5_0/1"
    std::uint32_t number = 0;
};

enum class DeviceState : std::uint8_t { Ready, Degraded, Monitor, Disabled, Gone };
[[nodiscard]] std::string_view to_string(DeviceState state);

struct DeviceStatus {
    DeviceInfo info;
    DeviceState state = DeviceState::Ready;
    std::string reason;    // one sentence when not Ready: what is wrong and what to do
    AttachReport attach{AttachMode::None, "", {}};
    std::shared_ptr<const std::vector<DeviceAttribute>> attributes;    // never changes; null for a device that has just gone
    Capabilities capabilities;
    std::shared_ptr<const Snapshot> snapshot;    // null until the first reconcile
    std::vector<Finding> findings;
    std::vector<std::string> attach_notes;    // mode per-process: what holds of each class that is in use
    std::uint32_t queue_pairs_inside = 0;
    std::uint32_t queue_pairs_outside = 0;    // of sessions, but in no leaf
    std::size_t queue_depth = 0;
};

// What the device advertises less what is used.
[[nodiscard]] std::uint32_t elements_used(const DeviceStatus& status);
[[nodiscard]] std::uint32_t elements_free(const DeviceStatus& status);
[[nodiscard]] std::uint32_t leaves_used(const DeviceStatus& status);
[[nodiscard]] std::uint32_t leaves_free(const DeviceStatus& status);

// What a port has moved, and when it was asked: two readings give a rate.
struct CounterReading {
    PortCounters counters;
    TimePoint taken_at{};

    friend bool operator==(const CounterReading&, const CounterReading&) = default;
};

struct ReloadOutcome {
    bool accepted = false;
    std::string revision;         // of the running policy afterwards
    Diagnostics diagnostics;      // of the files
    std::vector<std::pair<std::string, Finding>> findings;    // per device
    std::vector<std::string> unanswered;    // devices that were told and have not answered; they do it when they can
    // One text for a terminal or an error message: diagnostics, findings, devices that have not answered.
    [[nodiscard]] std::string to_string(Colour colour, Quote quote = Quote::Lines) const;
};

struct DevicePlan {
    std::string device;
    ActualState before;
    Plan plan;
    std::vector<Finding> findings;
    std::map<ElementPath, BusyRate> rates;    // of classes, when everything is busy
    Bandwidth link_speed;
};

// Queue pairs of a session that get another level or leaf; none: the session itself gets another level.
struct SessionChange {
    SessionId session{};
    std::shared_ptr<const Identity> owner;
    std::string device;    // empty without queue pairs
    std::string level_before;
    std::string level_after;
    std::string leaf_before;    // empty: none
    std::string leaf_after;
    std::uint32_t queue_pairs = 0;
};

// What a reload would do.
struct PlanReport {
    std::string revision;
    std::vector<std::string> levels;    // sentences (policy/explain/changes.h)
    std::vector<SessionChange> sessions;
    std::vector<DevicePlan> devices;
};

// What a device has, and what would have to be done to it.
struct PlannedChange {
    ActualState before;
    Plan plan;
};

struct DeviceDrift {
    std::string device;
    std::vector<Drift> drifts;
};

// What a device was told, and what did not work.
struct DeviceReconcile {
    std::string device;
    std::uint64_t operations = 0;
    std::vector<ElementFailure> failures;
};

}    // namespace rdmaqos
