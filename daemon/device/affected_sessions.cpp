#include "daemon/device/affected_sessions.h"

namespace rdmaqos {

void AffectedSessions::Recent::add(SessionId session, TimePoint now)
{
    while (!happened_.empty() && now - happened_.front().first > memory_) {
        happened_.pop_front();
    }
    happened_.emplace_back(now, session);
}

void AffectedSessions::Recent::add_to(std::set<SessionId>& sessions, TimePoint now) const
{
    for (const auto& [when, session] : happened_) {
        if (now - when <= memory_) {
            sessions.insert(session);
        }
    }
}

std::set<SessionId> AffectedSessions::hit(const PlacementBook& book, TimePoint now) const
{
    std::set<SessionId> sessions;
    for (const std::uint32_t number : book.members_in_order()) {
        sessions.insert(book.find(number)->session);
    }
    bereft_.add_to(sessions, now);
    return sessions;
}

std::size_t AffectedSessions::until_now(const PlacementBook& book, TimePoint now) const
{
    auto sessions = hit(book, now);
    left_.add_to(sessions, now);
    return sessions.size();
}

}    // namespace rdmaqos
