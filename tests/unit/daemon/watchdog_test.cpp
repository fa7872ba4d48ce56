#include "daemon/watchdog.h"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/journal.h"
#include "tests/support/manual_loop.h"

namespace rdmaqos {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Pulses = std::map<std::string, WorkerPulse>;

constexpr WorkerPulse kIdle{7, 0, false};
constexpr WorkerPulse kInATask{7, 0, true};
constexpr WorkerPulse kInATaskWithMore{7, 12, true};
constexpr WorkerPulse kNotTaking{7, 1, false};

TEST(LostThreads, OnlyOneThatTakesNothingAllTheTime)
{
    struct Row {
        const char* what;
        WorkerPulse before;
        WorkerPulse now;
        bool lost;
    };
    const Row rows[] = {
        {"nothing to do", kIdle, kIdle, false},
        {"a device that answers nothing", kInATask, kInATask, false},
        {"a device that answers nothing, with more to do", kInATaskWithMore, kInATaskWithMore, false},
        {"work has just come", kIdle, kNotTaking, false},
        {"work has just come behind a task", kInATask, {7, 1, false}, false},
        {"work lies there", kNotTaking, kNotTaking, true},
        {"more and more work lies there", kNotTaking, {7, 30, false}, true},
        {"some of it was taken", kNotTaking, {8, 1, false}, false},
        {"it was taken", kNotTaking, {8, 0, true}, false},
    };
    for (const auto& row : rows) {
        const auto lost = lost_threads({{"mlx5_0/1", row.before}}, {{"mlx5_0/1", row.now}});
        EXPECT_EQ(!lost.empty(), row.lost) << row.what;
    }
}

TEST(LostThreads, NamesThemAndForgetsDevicesThatWent)
{
    const Pulses before{{"a/1", kNotTaking}, {"b/1", kNotTaking}, {"c/1", kIdle}, {"gone/1", kNotTaking}};
    const Pulses now{{"a/1", kNotTaking}, {"b/1", kNotTaking}, {"c/1", kIdle}, {"new/1", kNotTaking}};
    EXPECT_THAT(lost_threads(before, now), ElementsAre("a/1", "b/1"));
}

class WatchdogTest : public ::testing::Test {
protected:
    WatchdogTest()
        : watchdog(
              loop, 10s, [this] { return pulses; }, [this] { ++fed; })
    {
    }

    test::ManualLoop loop;
    Pulses pulses;
    int fed = 0;
    Watchdog watchdog;
};

TEST_F(WatchdogTest, IsFedEachPeriodWhileTheLoopTurns)
{
    loop.advance(9s);
    EXPECT_EQ(fed, 0);
    loop.advance(1s);
    EXPECT_EQ(fed, 1);
    loop.advance(10s);
    loop.advance(10s);
    EXPECT_EQ(fed, 3);
}

TEST_F(WatchdogTest, IsFedHoweverLongADeviceHangs)
{
    pulses = {{"mlx5_0/1", kInATaskWithMore}, {"mlx5_1/1", kIdle}};
    for (int i = 0; i < 100; ++i) {
        loop.advance(10s);
    }
    EXPECT_EQ(fed, 100);
}

TEST_F(WatchdogTest, IsNotFedWhileAThreadIsLostAndSaysSoOnce)
{
    const test::Journal journal;
    pulses = {{"mlx5_0/1", kIdle}, {"mlx5_1/1", kNotTaking}};
    loop.advance(10s);
    EXPECT_EQ(fed, 1) << "it may be about to take it";
    loop.advance(10s);
    loop.advance(10s);
    EXPECT_EQ(fed, 1);
    EXPECT_THAT(journal.lines(), ElementsAre("the thread of mlx5_1/1 takes no work: the watchdog is not fed, so that "
                                             "the daemon is restarted"));
    pulses["mlx5_1/1"] = {8, 0, false};
    loop.advance(10s);
    EXPECT_EQ(fed, 2);
}

}    // namespace
}    // namespace rdmaqos
