#include "lib/base/repeat_limit.h"

#include <chrono>

#include <gtest/gtest.h>

namespace rdmaqos {
namespace {

using namespace std::chrono_literals;
using Key = RepeatLimit::Key;

constexpr Key kAlice{1, 1000};
constexpr Key kBob{1, 1001};
constexpr TimePoint kStart{};

TEST(RepeatLimit, WritesTheFirstAndThenOneInEachInterval)
{
    const RepeatLimit::Rule rule{1, 10s};
    RepeatLimit limit(8);
    EXPECT_EQ(limit.take(kAlice, rule, kStart), 0U);
    // A thousand in each second.
    std::uint32_t written = 0;
    std::uint32_t left_out = 0;
    for (int count = 1; count <= 60'000; ++count) {
        if (const auto line = limit.take(kAlice, rule, kStart + count * 1ms)) {
            ++written;
            left_out += *line;
            EXPECT_EQ(*line, 9999U) << count;
        }
    }
    EXPECT_EQ(written, 6U);
    EXPECT_EQ(left_out + written, 60'000U) << "all are accounted for";
}

TEST(RepeatLimit, WritesSomeAtOnceWhereTheRuleSaysSo)
{
    const RepeatLimit::Rule rule{3, 10s};
    RepeatLimit limit(8);
    for (const auto& [after, expected] :
         std::initializer_list<std::pair<Duration, std::optional<std::uint32_t>>>{{0s, 0U},
                                                                                  {0s, 0U},
                                                                                  {1s, 0U},
                                                                                  {1s, std::nullopt},
                                                                                  {9s, std::nullopt},
                                                                                  {10s, 2U},
                                                                                  {10s, std::nullopt},
                                                                                  {20s, 1U},
                                                                                  {200s, 0U},
                                                                                  {200s, 0U},
                                                                                  {200s, 0U},
                                                                                  {200s, std::nullopt}}) {
        EXPECT_EQ(limit.take(kAlice, rule, kStart + after), expected) << after.count();
    }
}

TEST(RepeatLimit, OneHidesNothingOfAnother)
{
    const RepeatLimit::Rule rule{1, 10s};
    RepeatLimit limit(8);
    for (int count = 0; count < 1000; ++count) {
        static_cast<void>(limit.take(kAlice, rule, kStart));
    }
    EXPECT_EQ(limit.take(kBob, rule, kStart), 0U);
    EXPECT_EQ(limit.take({2, kAlice.who}, rule, kStart), 0U) << "nor of what else it says";
}

TEST(RepeatLimit, CanBeWithoutALimit)
{
    RepeatLimit limit(8);
    for (int count = 0; count < 1000; ++count) {
        ASSERT_EQ(limit.take(kAlice, {0, {}}, kStart), 0U);
    }
    EXPECT_EQ(limit.size(), 0U);
}

TEST(RepeatLimit, NeedsNoMoreMemoryForMoreKeys)
{
    const RepeatLimit::Rule rule{1, 10s};
    RepeatLimit limit(8);
    EXPECT_EQ(limit.take(kAlice, rule, kStart), 0U);
    std::uint32_t written = 0;
    for (std::uint64_t who = 0; who < 10'000; ++who) {
        written += limit.take({7, 100'000 + who}, rule, kStart + 1s) ? 1 : 0;
    }
    EXPECT_EQ(limit.size(), 8U);
    EXPECT_EQ(written, 8U) << "seven have places of their own, and the others one together";
    EXPECT_EQ(limit.take(kAlice, rule, kStart + 10s), 0U) << "who is known is not affected";
    EXPECT_EQ(limit.take(kBob, rule, kStart + 12s), 0U) << "those that were quiet make room";
    EXPECT_EQ(limit.take(kBob, rule, kStart + 13s), std::nullopt);
}

}    // namespace
}    // namespace rdmaqos
