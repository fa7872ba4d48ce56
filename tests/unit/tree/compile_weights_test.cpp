#include "lib/tree/compile_weights.h"

#include <limits>
#include <numeric>

#include <gtest/gtest.h>

namespace rdmaqos::compiling {
namespace {

using Numbers = std::vector<std::uint32_t>;

struct Case {
    const char* name;
    std::vector<WeightTarget> targets;
    std::uint64_t capacity;
    std::uint32_t max_share;
    Numbers expected;
};

class ChooseWeights : public testing::TestWithParam<Case> {};

TEST_P(ChooseWeights, FindsTheSmallestExactOnes)
{
    const auto& param = GetParam();
    EXPECT_EQ(choose_weights(param.targets, param.capacity, param.max_share).weights, param.expected);
}

INSTANTIATE_TEST_SUITE_P(
    Table, ChooseWeights,
    testing::Values(
        Case{"equal", {{0.5, 0, false}, {0.5, 0, false}}, 100, 100, {1, 1}},
        Case{"two_to_one", {{2.0 / 3, 0, false}, {1.0 / 3, 0, false}}, 100, 100, {2, 1}},
        Case{"folded_thirds",
             {{0.7 / 3, 0, false}, {0.7 / 3, 0, false}, {0.7 / 3, 0, false}, {0.3, 0, false}},
             100,
             100,
             {7, 7, 7, 9}},
        Case{"exact_but_for_range", {{0.999, 0, false}, {0.001, 0, false}}, 100, 100, {100, 1}},
        Case{"guarantee_and_shares", {{0.1, 10, false}, {0.6, 0, false}, {0.3, 0, false}}, 100, 100, {1, 6, 3}},
        Case{"guarantees_only", {{0.25, 10, false}, {0.75, 30, false}}, 100, 100, {1, 3}},
        Case{"whole_capacity", {{0.33, 33, false}, {0.67, 67, false}}, 100, 100, {33, 67}},
        Case{"nothing_wanted", {{0, 0, false}, {1, 0, false}}, 100, 100, {1, 100}},
        Case{"who_is_capped_leaves_the_rest",
             {{0.14, 14, false}, {0.16, 0, false, 16}, {0.70, 0, false}},
             100,
             100,
             {1, 2, 5}},
        Case{"nobody_is_there", {{0.1, 10, false}, {0, 0, false, 0}, {0.9, 0, false}}, 100, 100, {1, 1, 9}},
        Case{"nobody_is_anywhere", {{0, 0, false, 0}, {0, 0, false, 0}}, 100, 100, {1, 1}},
        Case{"all_have_what_they_can_use", {{0.2, 10, false, 20}, {0.4, 0, false, 40}}, 100, 100, {1, 2}},
        // Beside 1:3 the first would need a weight of 196.
        Case{"a_cap_that_cannot_be_reached",
             {{0.98, 0, false, 980}, {0.005, 5, false}, {0.015, 0, false}},
             1000,
             100,
             {98, 1, 1}},
        Case{"device_default_is_left_alone",
             {{2.0 / 3, 0, false}, {1.0 / 3, 0, false}, {0, 0, true}},
             100,
             100,
             {2, 1, 1}}),
    [](const auto& test) { return test.param.name; });

TEST(ChooseWeights, GuaranteesBeyondTheCapacityAreMissedInProportion)
{
    const std::vector<WeightTarget> targets{{0.5, 80, false}, {0.5, 80, false}};
    EXPECT_EQ(choose_weights(targets, 100, 100).weights, (Numbers{1, 1}));
}

TEST(ChooseWeights, GuaranteesBesideOneThatWantsNothingAreLoweredToo)
{
    // The third needs a weight as well.
    const std::vector<WeightTarget> targets{{0.5, 60, false}, {0.5, 60, false}, {0, 0, false}};
    EXPECT_EQ(choose_weights(targets, 100, 100).weights, (Numbers{100, 100, 1}));
}

TEST(ChooseWeights, GuaranteesOfTheWholeCapacityNeedASumThatDividesThem)
{
    const std::vector<WeightTarget> targets{{0.33333, 33'333, false}, {0.66667, 66'667, false}};
    EXPECT_EQ(choose_weights(targets, 100'000, 1'000'000).weights, (Numbers{33'333, 66'667}));
}

TEST(ChooseWeights, SaysWhatIsReached)
{
    const std::vector<WeightTarget> targets{{0.9, 0, false}, {0.1, 0, false}};
    const auto chosen = choose_weights(targets, 100, 4);
    EXPECT_EQ(chosen.weights, (Numbers{4, 1}));
    EXPECT_NEAR(chosen.reached[0], 0.8, 1e-9);
    EXPECT_NEAR(chosen.reached[1], 0.2, 1e-9);
    EXPECT_NEAR(chosen.total_deviation, 0.2, 1e-9);
}

TEST(ChooseWeights, WhatIsNoNumberIsNotWanted)
{
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    const std::vector<WeightTarget> targets{{kNan, 0, false}, {0.75, 0, false}, {kNan, 0, false}, {0.25, 0, false}};
    EXPECT_EQ(choose_weights(targets, 100, 100).weights, (Numbers{1, 100, 1, 34}));
}

TEST(ChooseWeights, OfNobodyAreNone)
{
    EXPECT_EQ(choose_weights({}, 100, 100).weights, Numbers());
}

TEST(ChooseWeights, GuaranteeHoldsWhereTheNearestFractionWouldNot)
{
    // 34 % of at most 3 per weight: 1:2 would be 33.3 %.
    const std::vector<WeightTarget> targets{{0.34, 34, false}, {0.66, 0, false}};
    const auto weights = choose_weights(targets, 100, 3).weights;
    EXPECT_GE(weights[0] * 100, 34 * std::accumulate(weights.begin(), weights.end(), 0U));
}

}    // namespace
}    // namespace rdmaqos::compiling
