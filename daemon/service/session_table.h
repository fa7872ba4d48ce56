// The sessions there are, and what each user has of them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/model/session.h"
#include "daemon/service/limits.h"
#include "daemon/service/staging.h"
#include "lib/base/clock.h"
#include "lib/base/result.h"

namespace rdmaqos {

struct Session {
    SessionId id{};
    PeerId peer{};
    std::shared_ptr<const Identity> owner;
    Request request;
    std::string device;    // key of the request's device; may be empty
    Choice choice;
    bool adopted = false;          // the daemon's own, for a program that did not register; `peer` is nobody then
    bool leaving = false;          // over, but for queue pairs that are still to be taken out
    std::optional<Grant> grant;    // of Grants; empty: it was not made yet
    std::map<std::string, std::set<std::uint32_t>> queue_pairs;    // per device key
    // Those that went away with their device, per device key, until the session names them again: it alone can bring
    // them back. No numbers: which they were is not known.
    std::map<std::string, std::set<std::uint32_t>> lost;
    std::uint32_t losses = 0;    // how often a device went away
    // Device files its queue pairs came with, per device key. The reconciler holds them; this only finds them again.
    std::map<std::string, std::vector<std::weak_ptr<ClientFile>>> files;

    [[nodiscard]] std::uint32_t queue_pair_count() const;
    [[nodiscard]] SessionState state() const
    {
        return lost.empty() || queue_pair_count() > 0 ? SessionState::Active : SessionState::Detached;
    }
    // A device went away, with all that the session had on it; how many those were.
    std::uint32_t remove_device(const std::string& key);
    // It names one that it has lost, or may have, by its device's name or key. False: it has not lost it.
    bool found_again(const std::string& name, std::uint32_t number);
    // One after the other; empty when `after` was the last one.
    [[nodiscard]] std::optional<QueuePairName> next_queue_pair(const std::optional<QueuePairName>& after) const;
};

class SessionTable {
public:
    using Map = std::map<SessionId, Session>;

    explicit SessionTable(const Clock& clock) : limits(clock) {}

    [[nodiscard]] Map::const_iterator begin() const { return sessions_.begin(); }
    [[nodiscard]] Map::const_iterator end() const { return sessions_.end(); }
    [[nodiscard]] std::size_t size() const { return sessions_.size(); }
    // Null: it has ended.
    [[nodiscard]] Session* find(SessionId id);
    [[nodiscard]] const Session* find(SessionId id) const;
    [[nodiscard]] Session& at(SessionId id) { return sessions_.at(id); }
    // UnknownSession; NotOwner.
    [[nodiscard]] Result<Session*> owned(PeerId peer, SessionId id);
    [[nodiscard]] std::set<SessionId> of_peer(PeerId peer) const;
    // The one after this; empty: it is the last one.
    [[nodiscard]] std::optional<SessionId> next_after(SessionId id) const;
    // Adopted ones do not count.
    [[nodiscard]] bool has_session(pid_t process) const { return by_process_.contains(process); }
    // Of a program that did not register; null: there is none, or it ends.
    [[nodiscard]] Session* adopted(const Identity& process);
    [[nodiscard]] const std::unordered_map<pid_t, SessionId>& all_adopted() const { return adopted_; }

    [[nodiscard]] SessionId new_id() { return SessionId{next_++}; }
    // Rises with each session.
    [[nodiscard]] std::uint64_t next() const { return next_; }
    Session& add(Session session);
    // With what it had of its user's limits; it is there.
    [[nodiscard]] Session take(SessionId id);

    UidLimits limits;

private:
    Map sessions_;
    std::unordered_map<std::uint64_t, std::set<SessionId>> by_peer_;
    std::unordered_map<pid_t, std::size_t> by_process_;    // how many
    std::unordered_map<pid_t, SessionId> adopted_;         // the latest of each process
    std::uint64_t next_ = 1;
};

}    // namespace rdmaqos
