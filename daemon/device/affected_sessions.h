// Whom a device that goes takes its queue pairs: the sessions that have some on it, and those that a failure has
// parted from them before it was noticed. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <set>
#include <utility>

#include "daemon/device/placement.h"
#include "daemon/model/session.h"
#include "lib/base/clock.h"

namespace rdmaqos {

class AffectedSessions {
public:
    // Its queue pairs, or some of them, are no longer in the book.
    void left(SessionId session, TimePoint now) { left_.add(session, now); }
    // The device did not know its queue pairs any longer. As a rule their owner destroyed them; but firmware that has
    // lost all it held answers the same until its driver notices.
    void bereft(SessionId session, TimePoint now) { bereft_.add(session, now); }

    // When the device is gone now: who has lost queue pairs by that.
    [[nodiscard]] std::set<SessionId> hit(const PlacementBook& book, TimePoint now) const;
    // And those that left a moment ago: programs that end with their device often do so before it is known here.
    [[nodiscard]] std::size_t until_now(const PlacementBook& book, TimePoint now) const;

private:
    class Recent {
    public:
        explicit Recent(std::chrono::seconds memory) : memory_(memory) {}
        void add(SessionId session, TimePoint now);
        void add_to(std::set<SessionId>& sessions, TimePoint now) const;

    private:
        std::chrono::seconds memory_;
        std::deque<std::pair<TimePoint, SessionId>> happened_;    // in this order
    };

    Recent left_{std::chrono::seconds(2)};
    // A driver asks every two seconds whether its firmware is well, and believes the third time at the latest that it
    // is not.
    Recent bereft_{std::chrono::seconds(10)};
};

}    // namespace rdmaqos
