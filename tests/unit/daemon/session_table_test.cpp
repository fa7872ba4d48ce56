// The sessions of programs that did not register.
#include "daemon/service/session_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rdmaqos {
namespace {

// A session takes a while to end, and meanwhile its process has another one.
TEST(AdoptedSessions, OfOneProcessEndInAnyOrder)
{
    const ManualClock clock;
    SessionTable sessions(clock);
    const auto add = [&](std::uint64_t id, std::uint32_t uid) {
        auto owner = std::make_shared<Identity>();
        owner->pid = 100;
        owner->uid = uid;
        EXPECT_TRUE(sessions.limits.add_session(uid));
        Session session;
        session.id = SessionId{id};
        session.owner = owner;
        session.adopted = true;
        return &sessions.add(std::move(session));
    };
    add(1, 1000)->leaving = true;
    EXPECT_EQ(sessions.adopted(*sessions.find(SessionId{1})->owner), nullptr);
    add(2, 2000);
    EXPECT_EQ(sessions.adopted(*sessions.find(SessionId{2})->owner)->id, SessionId{2});
    static_cast<void>(sessions.take(SessionId{2}));
    static_cast<void>(sessions.take(SessionId{1}));
    EXPECT_THAT(sessions.all_adopted(), testing::IsEmpty());
    EXPECT_EQ(sessions.size(), 0U);
}

}    // namespace
}    // namespace rdmaqos
