#include "lib/client/retry.h"

#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace rdmaqos::client {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

// Time that only passes in pauses, and in calls that say so.
struct ManualTime {
    nanoseconds clock = 1h;
    std::uint32_t luck = 0;    // what chance gives; moves on by `step`
    std::uint32_t step = 0;
    std::vector<nanoseconds> pauses;

    [[nodiscard]] nanoseconds now() const { return clock; }
    void sleep(nanoseconds pause)
    {
        pauses.push_back(pause);
        clock += pause;
    }
    std::uint32_t chance() { return luck += step; }
    [[nodiscard]] nanoseconds slept() const { return std::accumulate(pauses.begin(), pauses.end(), 0ns); }
};

// Answers these in turn, the last one for ever.
struct Answers {
    std::vector<int> answers;
    std::size_t calls = 0;

    int next() { return answers[std::min(calls++, answers.size() - 1)]; }
    int operator()() { return next(); }
};

// The same, as -1 and errno.
struct ErrnoAnswers : Answers {
    int operator()()
    {
        const int error = next();
        if (error > 0) {
            errno = error;
            return -1;
        }
        return -error;    // a result of its own
    }
};

TEST(RetryBusy, OnlyEbusyIsTriedAgain)
{
    const struct {
        std::vector<int> answers;
        int result;
        std::size_t calls;
    } cases[] = {
        {{0}, 0, 1},
        {{EINVAL, 0}, EINVAL, 1},
        {{EAGAIN, 0}, EAGAIN, 1},
        {{EINTR, 0}, EINTR, 1},
        {{EBUSY, 0}, 0, 2},
        {{EBUSY, EBUSY, EBUSY, 0}, 0, 4},
        {{EBUSY, EBUSY, ENOENT, 0}, ENOENT, 3},
    };
    for (const auto& [answers, result, count] : cases) {
        ManualTime time;
        Answers call{answers};
        EXPECT_EQ(retry_busy(call, {}, time), result);
        EXPECT_EQ(call.calls, count);
        EXPECT_EQ(time.pauses.size(), count - 1) << "a pause before each attempt but the first";
        ManualTime again;
        ErrnoAnswers other{{answers}};
        errno = EXDEV;
        EXPECT_EQ(retry_busy_errno(other, {}, again), result == 0 ? 0 : -1);
        EXPECT_EQ(errno, result == 0 ? EXDEV : result);
        EXPECT_EQ(other.calls, count);
    }
}

TEST(RetryBusy, PausesDoubleUpToTheLongest)
{
    ManualTime time;    // without luck: half of each
    Answers call{{EBUSY}};
    EXPECT_EQ(retry_busy(call, {20us, 100us, 1ms}, time), EBUSY);
    ASSERT_GE(time.pauses.size(), 6U);
    time.pauses.resize(6);
    EXPECT_THAT(time.pauses, testing::ElementsAre(10us, 20us, 40us, 50us, 50us, 50us));
}

TEST(RetryBusy, TheLastErrorComesAtTheBoundAndNotLater)
{
    ManualTime time;
    Answers call{{EBUSY}};
    EXPECT_EQ(retry_busy(call, {}, time), EBUSY);
    EXPECT_EQ(time.slept(), 50ms) << "the last pause is cut off there";
    EXPECT_EQ(call.calls, time.pauses.size() + 1) << "and one more attempt follows it";
    EXPECT_LT(call.calls, 60U);
}

TEST(RetryBusy, CallsThatTakeLongCountToo)
{
    ManualTime time;
    int calls = 0;
    const auto slow = [&] {
        ++calls;
        time.clock += 20ms;
        return EBUSY;
    };
    EXPECT_EQ(retry_busy(slow, {}, time), EBUSY);
    EXPECT_EQ(calls, 3) << "of 20 ms each, in 50 ms";
}

TEST(RetryBusy, WithoutATotalThereIsNoRetry)
{
    ManualTime time;
    Answers call{{EBUSY, 0}};
    EXPECT_EQ(retry_busy(call, {20us, 4ms, 0ns}, time), EBUSY);
    EXPECT_EQ(call.calls, 1U);
    EXPECT_TRUE(time.pauses.empty());
}

TEST(RetryBusy, ResultsOfTheirOwnAreSuccess)
{
    ManualTime time;
    ErrnoAnswers call{{{EBUSY, -17}}};
    EXPECT_EQ(retry_busy_errno(call, {}, time), 17);
    const auto wide = [] { return std::int64_t{1} << 40; };
    EXPECT_EQ(retry_busy_errno(wide, {}, time), std::int64_t{1} << 40);
    errno = EBUSY;    // of before, and of no interest
    const auto other = [] { return -2; };
    EXPECT_EQ(retry_busy_errno(other, {}, time), -2);
}

RC_GTEST_PROP(RetryBusyLaws, NeverBeyondTheBoundAndEachPauseInItsRange, ())
{
    const nanoseconds first(*rc::gen::inRange(1, 1'000'000));
    const nanoseconds longest(*rc::gen::inRange(1, 10'000'000));
    const nanoseconds total(*rc::gen::inRange(0, 20'000'000));
    RC_PRE(total / std::min(first, std::max(longest, first)) < 10'000);
    ManualTime time;
    time.luck = *rc::gen::arbitrary<std::uint32_t>();
    time.step = *rc::gen::arbitrary<std::uint32_t>();
    const nanoseconds begin = time.clock;
    Answers call{{EBUSY}};
    RC_ASSERT(retry_busy(call, {first, longest, total}, time) == EBUSY);
    RC_ASSERT(time.clock - begin == total);
    nanoseconds whole = first;
    for (std::size_t at = 0; at < time.pauses.size(); ++at) {
        RC_ASSERT(time.pauses[at] <= whole);
        RC_ASSERT(time.pauses[at] >= whole / 2 || at + 1 == time.pauses.size());
        whole = std::min(whole * 2, std::max(longest, first));
    }
}

TEST(RetryBusy, ByTheRealClock)
{
    Answers call{{EBUSY}};
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(retry_busy(call, {20us, 200us, 5ms}), EBUSY);
    EXPECT_GE(std::chrono::steady_clock::now() - begin, 5ms);
    EXPECT_GT(call.calls, 1U);
    ErrnoAnswers soon{{{EBUSY, EBUSY, 0}}};
    EXPECT_EQ(retry_busy_errno(soon, {20us, 200us, 1min}), 0);
    Answers at_once{{ENOENT}};
    EXPECT_EQ(retry_busy(at_once), ENOENT);
}

}    // namespace
}    // namespace rdmaqos::client
