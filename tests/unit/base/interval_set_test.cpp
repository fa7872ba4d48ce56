#include "lib/base/interval_set.h"

#include <algorithm>
#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace rdmaqos {
namespace {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

struct NormalCase {
    std::vector<Interval> given;
    std::vector<Interval> expected;
};

TEST(IntervalSet, NormalForm)
{
    const std::vector<NormalCase> cases{
        {{}, {}},
        {{{5, 5}}, {{5, 5}}},
        {{{7, 3}}, {{3, 7}}},
        {{{1, 2}, {3, 4}}, {{1, 4}}},            // adjacent
        {{{1, 2}, {4, 5}}, {{1, 2}, {4, 5}}},    // a gap of one
        {{{10, 20}, {1, 5}, {4, 12}}, {{1, 20}}},
        {{{1, 100}, {20, 30}}, {{1, 100}}},
        {{{0, kMax}, {5, 6}}, {{0, kMax}}},
        {{{kMax, kMax}, {kMax - 1, kMax - 1}}, {{kMax - 1, kMax}}},
        {{{0, 0}, {kMax, kMax}}, {{0, 0}, {kMax, kMax}}},
        {{{5, 9}, {5, 9}}, {{5, 9}}},
    };
    for (const auto& c : cases) {
        EXPECT_EQ(IntervalSet(c.given).intervals(), c.expected) << to_string(IntervalSet(c.given), NumberBase::Decimal);
    }
}

TEST(IntervalSet, LowestAndText)
{
    EXPECT_EQ(IntervalSet().lowest(), std::nullopt);
    EXPECT_TRUE(IntervalSet().empty());
    const IntervalSet set({{7, 9}, {1, 1}, {0x1ffff, 0x1ffff}});
    EXPECT_EQ(set.lowest(), 1U);
    EXPECT_EQ(to_string(set, NumberBase::Decimal), "1, 7-9, 131071");
    EXPECT_EQ(to_string(set, NumberBase::Hex), "0x1, 0x7-0x9, 0x1ffff");
    EXPECT_EQ(to_string(IntervalSet(), NumberBase::Hex), "");
}

TEST(IntervalSet, HugeRangesAreOneInterval)
{
    const IntervalSet set({{0x1000000005, 0x100000FFFFFFFA}});
    EXPECT_TRUE(set.contains(0x1000000005));
    EXPECT_TRUE(set.contains(0x100000FFFFFFFA));
    EXPECT_FALSE(set.contains(0x1000000004));
    EXPECT_FALSE(set.contains(0x100000FFFFFFFB));
    EXPECT_TRUE(IntervalSet({{0, kMax}}).contains(kMax));
}

// Small numbers, so that intervals meet often.
rc::Gen<Interval> interval()
{
    return rc::gen::apply(
        [](std::uint64_t a, std::uint64_t b) {
            return Interval{a, b};
        },
        rc::gen::inRange<std::uint64_t>(0, 64), rc::gen::inRange<std::uint64_t>(0, 64));
}

bool holds(const std::vector<Interval>& intervals, std::uint64_t value)
{
    return std::any_of(intervals.begin(), intervals.end(), [value](const Interval& i) {
        return std::min(i.first, i.last) <= value && value <= std::max(i.first, i.last);
    });
}

TEST(IntervalSet, ContainsWhatItWasMadeOf)
{
    EXPECT_TRUE(rc::check("contains and normal form", [] {
        const auto given = *rc::gen::container<std::vector<Interval>>(interval());
        const IntervalSet set(given);
        for (std::uint64_t value = 0; value < 66; ++value) {
            RC_ASSERT(set.contains(value) == holds(given, value));
        }
        for (std::size_t i = 1; i < set.intervals().size(); ++i) {
            RC_ASSERT(set.intervals()[i - 1].last + 1 < set.intervals()[i].first);
        }
    }));
}

TEST(IntervalSet, InsertIsConstruction)
{
    EXPECT_TRUE(rc::check("insert one by one", [] {
        const auto given = *rc::gen::container<std::vector<Interval>>(interval());
        IntervalSet set;
        for (const auto& one : given) {
            set.insert(one);
        }
        RC_ASSERT(set == IntervalSet(given));
    }));
}

TEST(IntervalSet, IntersectsWhenSomeValueIsInBoth)
{
    EXPECT_TRUE(rc::check("intersects", [] {
        const auto given = *rc::gen::container<std::vector<Interval>>(interval());
        const auto first = *rc::gen::inRange<std::uint64_t>(0, 66);
        const auto last = first + *rc::gen::inRange<std::uint64_t>(0, 8);
        bool expected = false;
        for (std::uint64_t value = first; value <= last; ++value) {
            expected = expected || holds(given, value);
        }
        RC_ASSERT(IntervalSet(given).intersects({first, last}) == expected);
    }));
}

}    // namespace
}    // namespace rdmaqos
