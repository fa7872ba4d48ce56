#include "daemon/device/affected_sessions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rdmaqos {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr SessionId kPresent{1};
constexpr SessionId kOther{2};

PlacementBook book_of(SessionId session)
{
    PlacementBook book(Capabilities{}, Bandwidth::from_gbps(100));
    Member member;
    member.ref.number = 17;
    member.session = session;
    member.owner = std::make_shared<Identity>();
    static_cast<void>(book.add(member));
    return book;
}

PlacementBook nobody()
{
    return {Capabilities{}, Bandwidth::from_gbps(100)};
}

TEST(AffectedSessions, ThoseWithQueuePairs)
{
    const AffectedSessions affected;
    EXPECT_THAT(affected.hit(book_of(kPresent), TimePoint{}), ElementsAre(kPresent));
    EXPECT_EQ(affected.until_now(book_of(kPresent), TimePoint{}), 1U);
    EXPECT_THAT(affected.hit(nobody(), TimePoint{}), IsEmpty());
}

TEST(AffectedSessions, ThoseThatLeftAreCountedForAMoment)
{
    AffectedSessions affected;
    affected.left(kOther, TimePoint{} + 1s);
    affected.left(kPresent, TimePoint{} + 1s);
    EXPECT_EQ(affected.until_now(book_of(kPresent), TimePoint{} + 2s), 2U);
    EXPECT_THAT(affected.hit(book_of(kPresent), TimePoint{} + 2s), ElementsAre(kPresent))
        << "but need not register again";
    EXPECT_EQ(affected.until_now(nobody(), TimePoint{} + 4s), 0U);
}

TEST(AffectedSessions, ThoseWhoseQueuePairsVanishedAreHitUntilAFailureIsNoticed)
{
    AffectedSessions affected;
    affected.bereft(kPresent, TimePoint{});
    affected.bereft(kOther, TimePoint{} + 5s);
    EXPECT_THAT(affected.hit(nobody(), TimePoint{} + 10s), ElementsAre(kPresent, kOther));
    EXPECT_THAT(affected.hit(nobody(), TimePoint{} + 12s), ElementsAre(kOther));
    affected.bereft(kPresent, TimePoint{} + 30s);
    EXPECT_THAT(affected.hit(nobody(), TimePoint{} + 31s), ElementsAre(kPresent));
}

}    // namespace
}    // namespace rdmaqos
