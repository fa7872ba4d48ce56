// What a client asks of the service and gets from it, as values free of the bus. docs/dbus.md shows each as D-Bus sees
// it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/model/level_loss.h"
#include "lib/base/error.h"
#include "lib/base/units.h"
#include "lib/nic/backend.h"
#include "policy/model/identity.h"
#include "policy/model/policy.h"
#include "policy/model/request.h"

namespace rdmaqos {

// One connection at one of the transports. Never reused.
enum class PeerId : std::uint64_t {};
// Never reused; the last part of the session's object path.
enum class SessionId : std::uint64_t {};

struct QueuePairRequest {
    std::string device;    // "mlx5_0", "mlx5_0/1", netdev or PCI address
    QueuePairRef ref;
    Request path;             // the queue pair's own path keys ...
    bool has_path = false;    // ... if it has any; else the session's level applies
};

struct RegisterRequest {
    Request request;
    std::string device;    // of the request: narrows `device:` rules and the link speed in the grant; may be empty
    std::vector<QueuePairRequest> queue_pairs;
};

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
    bool sl_of_host = false;    // `sl-source: host`
    std::optional<std::uint32_t> share;
    std::optional<Bandwidth> max_rate;        // as the policy says
    std::optional<Bandwidth> max_rate_now;    // the lowest of the caps from the leaf to the root, and the link
    PerQueuePair per_queue_pair;
    std::optional<MessageModel> message_model;
    std::string leaf;    // path; for a class that is fair by something: of the principal, once it has queue pairs
    bool enforced = false;
    std::string cause;                        // why not, in a word: of Unenforced; empty: it is
    std::string reason;                       // why not, or what to know ("shares the leaf `others` with 45 more")
    std::shared_ptr<const LostLevel> lost;    // without a level: the one that it had; null: it had none
    // Devices that went away with queue pairs of the session on them, until it names each of those again.
    std::vector<std::string> detached_devices;
    std::vector<std::string> returned_devices;    // of these: managed again
    std::uint32_t losses = 0;                     // how often that happened

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
// Its level is only monitored (`mode: monitor`).
inline constexpr std::string_view kLevelMonitor = "level-monitor";
// Of sessions and queue pairs to which the policy gives no level.
inline constexpr std::string_view kNoLevel = "no-level";

struct QueuePairResult {
    std::string device;    // "mlx5_0/1"
    std::uint32_t number = 0;
    std::string level;
    std::string rule;
    std::string leaf;
    std::string responder_leaf;
    std::optional<RateLimit> rate;
    std::optional<Bandwidth> max_rate_now;    // the lowest of `rate`, the caps from the leaf to the root, and the link
    bool enforced = false;
    bool owner_verified = true;    // false: this kernel does not tell whose it is
    std::string_view cause;        // why not enforced, of Unenforced
    std::string reason;
    std::shared_ptr<const LostLevel> lost{};    // as of a grant
    std::optional<Error> error;                 // this queue pair was refused; the others were not
};

struct RegisterReply {
    SessionId session{};
    Grant grant;
    std::vector<QueuePairResult> queue_pairs;
};

// Detached: devices went away, and with them all queue pairs that it had.
enum class SessionState : std::uint8_t { Active, Detached };

struct SessionInfo {
    SessionId id{};
    PeerId peer{};
    Identity owner;
    SessionState state = SessionState::Active;
    Grant grant;
    std::vector<QueuePairResult> queue_pairs;    // attached ones
    bool adopted = false;                        // the daemon's own: its program did not register
};

// Of a QoS level: who is in it now.
struct LevelUse {
    std::uint32_t sessions = 0;
    std::uint32_t queue_pairs = 0;
    std::uint32_t unregistered =
        0;    // of these: of programs that would be adopted if the level were not only monitored
};

// Of all sessions together.
struct SessionCounts {
    struct Count {
        std::uint64_t sessions = 0;
        std::uint64_t queue_pairs = 0;
    };
    std::map<std::uint32_t, Count> of_users;    // by uid
    std::uint64_t detached = 0;
    // Of each loss the sessions that it concerns, themselves or some of their queue pairs, and those queue pairs.
    std::map<std::shared_ptr<const LostLevel>, Count> lost;
    std::map<std::string, std::uint64_t> unenforced;    // queue pairs by the cause, of Unenforced
};

// By which a session finds its queue pairs again.
struct QueuePairName {
    std::string device;    // "mlx5_0/1"
    std::uint32_t number = 0;
};

}    // namespace rdmaqos
