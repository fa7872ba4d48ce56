// The grants of sessions: what each has, computed again when it may have changed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "daemon/service/context.h"
#include "daemon/service/device_table.h"
#include "daemon/service/session_table.h"
#include "lib/base/log_limit.h"

namespace rdmaqos {

class Grants {
public:
    // All must outlive it.
    Grants(ServiceContext& context, const DeviceTable& devices, SessionTable& sessions)
        : context_(context), devices_(devices), sessions_(sessions), lines_(kLinesOfUser, kLines)
    {
    }

    // As it is now, made if it never was; of a session with very many queue pairs, as it was a moment ago.
    [[nodiscard]] const Grant& of(Session& session);

    // The grant may have changed: it is computed when it is asked for, or soon, and observers are notified if it
    // differs.
    void refresh(const Session& session);
    void refresh_all();
    // In attach mode per-process a grant depends on how many processes there are.
    void refresh_neighbours();
    // One depends on whether the elements above its queue pairs are on the device as the policy says.
    void device_answered(const std::string& key);

private:
    // In a second. The journal takes 10,000 lines of a service in 30 seconds.
    static constexpr std::uint32_t kLinesOfUser = 100;
    static constexpr std::uint32_t kLines = 300;

    // What became of a session's queue pairs of one level.
    struct LevelUse {
        SessionId session{};
        std::string level;
        std::optional<QueuePairName> looked_at;    // up to this one
        std::string nic;                           // of the first of them
        std::size_t queue_pairs = 0;
        std::size_t unenforced = 0;
        std::string leaf;            // of the first of them
        std::string first_cause;     // of those that are not enforced
        std::string first_reason;    // of the same one
        std::string note;            // of one that is
    };
    [[nodiscard]] static LevelUse nothing_looked_at(const Session& session);
    // At some more of its queue pairs; false: that was all.
    [[nodiscard]] bool look_on(const Session& session, LevelUse& use) const;
    [[nodiscard]] Grant make(const Session& session, const LevelUse& use) const;
    // What it had on devices that went away.
    void add_lost(const Session& session, Grant& grant) const;
    void explain_enforcement(const Session& session, const LevelUse& use, Grant& grant) const;
    // Where the level says so, a line in the log that the session got it.
    void log_level(const Session& session);
    void make_soon(Duration delay);
    void make_stale_ones();
    // Begins with a stale one, or goes on with the one that was begun.
    void make_some();
    void give(Session& session, const LevelUse& use);

    ServiceContext& context_;
    const DeviceTable& devices_;
    SessionTable& sessions_;
    LogLimit lines_;    // by option `log` of levels
    std::set<SessionId> stale_;
    std::optional<LevelUse> begun_;                          // of a session whose grant is being made
    std::unique_ptr<Timer> timer_;                           // when some of them are made
    std::map<std::string, std::uint64_t> processes_seen_;    // per device: PlacementBook::processes_revision()
    std::map<std::string, std::vector<std::pair<ElementPath, std::string>>> failures_seen_;    // per device
};

}    // namespace rdmaqos
