// Sessions for reports: one at a time with its grant and queue pairs, or counted, for reports
// whose size may not grow with what others have.
//
// Thread: the main loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/model/session.h"
#include "daemon/service/device_table.h"
#include "daemon/service/grants.h"
#include "daemon/service/host_view.h"
#include "daemon/service/policy_in_force.h"
#include "daemon/service/session_table.h"

namespace rdmaqos {

// Which sessions are asked for.
struct SessionFilter {
    std::optional<std::uint32_t> pid;
    std::optional<std::uint32_t> uid;
    std::string level;    // in which it or one of its queue pairs is, or was until a reload took it; empty: any

    friend bool operator==(const SessionFilter&, const SessionFilter&) = default;
};

class SessionReports {
public:
    // All must outlive it.
    SessionReports(const PolicyInForce& policy, const DeviceTable& devices, SessionTable& sessions, Grants& grants,
                   const HostView& host)
        : policy_(policy), devices_(devices), sessions_(sessions), grants_(grants), host_(host)
    {
    }

    [[nodiscard]] std::vector<SessionId> ids() const;
    // In the order in which they began; empty: `id` is the last one.
    [[nodiscard]] std::optional<SessionId> next_after(SessionId id) const { return sessions_.next_after(id); }
    // False also for a session that has ended.
    [[nodiscard]] bool passes(SessionId id, const SessionFilter& filter) const;
    // Without its queue pairs.
    [[nodiscard]] std::optional<SessionInfo> find(SessionId id) const;
    [[nodiscard]] std::optional<SessionInfo> with_queue_pairs(SessionId id) const;
    // One after the other; empty when `after` was the last one, or the session has ended.
    [[nodiscard]] std::optional<QueuePairName> next_queue_pair(SessionId id,
                                                               const std::optional<QueuePairName>& after) const;
    [[nodiscard]] std::size_t queue_pair_count(SessionId id) const;
    // Of any session; empty: it is not attached.
    [[nodiscard]] std::optional<QueuePairResult> queue_pair(const std::string& device, std::uint32_t number) const;

    // These go through all queue pairs.
    [[nodiscard]] SessionCounts counts() const;
    // Who is in which level, by the level's name.
    [[nodiscard]] std::map<std::string, LevelUse> level_uses() const;

private:
    const PolicyInForce& policy_;
    const DeviceTable& devices_;
    SessionTable& sessions_;
    Grants& grants_;    // makes a grant that was not asked for before
    const HostView& host_;
};

}    // namespace rdmaqos
