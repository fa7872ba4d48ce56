#include "lib/base/log_limit.h"

#include <gtest/gtest.h>

namespace rdmaqos {
namespace {

using Line = LogLimit::Line;
using std::chrono::milliseconds;

TEST(LogLimit, GivesEachItsLinesOfASecond)
{
    LogLimit limit(2, 10);
    const TimePoint now{std::chrono::hours(1)};
    EXPECT_EQ(limit.take(7, now), Line::Written);
    EXPECT_EQ(limit.take(7, now), Line::Last);
    EXPECT_EQ(limit.take(7, now + milliseconds(999)), Line::LeftOut);
    EXPECT_EQ(limit.take(8, now + milliseconds(999)), Line::Written);
    EXPECT_EQ(limit.take(7, now + milliseconds(1000)), Line::Written);
}

TEST(LogLimit, GivesAllTogetherNoMore)
{
    LogLimit limit(2, 3);
    const TimePoint now{std::chrono::hours(1)};
    EXPECT_EQ(limit.take(1, now), Line::Written);
    EXPECT_EQ(limit.take(2, now), Line::Written);
    EXPECT_EQ(limit.take(3, now), Line::Last);
    EXPECT_EQ(limit.take(1, now), Line::LeftOut);
    EXPECT_EQ(limit.take(4, now), Line::LeftOut);
    EXPECT_EQ(limit.take(4, now + std::chrono::seconds(2)), Line::Written);
}

}    // namespace
}    // namespace rdmaqos
