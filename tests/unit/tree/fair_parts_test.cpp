#include "lib/tree/fair_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rdmaqos {
namespace {

using testing::Pointwise;

struct FairCase {
    const char* name;
    std::vector<FairClaim> claims;
    std::vector<double> expected;    // of 100
};

constexpr double kEverything = std::numeric_limits<double>::infinity();

class FairParts : public testing::TestWithParam<FairCase> {};

TEST_P(FairParts, AreGuaranteesFirstAndTheRestByShares)
{
    EXPECT_THAT(divide_fairly(100, GetParam().claims), Pointwise(testing::DoubleNear(1e-9), GetParam().expected));
}

INSTANTIATE_TEST_SUITE_P(
    Table, FairParts,
    testing::Values(
        FairCase{"none", {}, {}}, FairCase{"shares", {{kEverything, 0, 3}, {kEverything, 0, 1}}, {75, 25}},
        FairCase{"guarantee_cap_and_share", {{kEverything, 14, 1}, {16, 0, 37}, {kEverything, 0, 3}}, {14, 16, 70}},
        FairCase{"a_guarantee_that_is_not_used", {{5, 40, 1}, {kEverything, 0, 1}}, {5, 95}},
        FairCase{"nobody_is_there", {{0, 40, 1}, {0, 0, 7}, {kEverything, 0, 1}}, {0, 0, 100}},
        FairCase{"guarantees_only", {{kEverything, 10, 1}, {kEverything, 30, 1}}, {25, 75}},
        FairCase{"what_shares_cannot_use", {{kEverything, 10, 1}, {40, 30, 1}, {20, 0, 1}}, {40, 40, 20}},
        FairCase{
            "too_many_guarantees", {{kEverything, 100, 1}, {kEverything, 300, 1}, {kEverything, 0, 1}}, {25, 75, 0}},
        FairCase{"all_are_satisfied", {{20, 10, 1}, {30, 0, 1}}, {20, 30}},
        FairCase{"no_part_in_the_rest", {{kEverything, 0, 0}, {kEverything, 0, 2}}, {0, 100}}),
    [](const auto& test) { return test.param.name; });

TEST(FairParts, OfNothingAreNothing)
{
    EXPECT_EQ(divide_fairly(0, std::vector<FairClaim>{{kEverything, 0, 1}, {kEverything, 5, 1}}),
              (std::vector<double>{0, 0}));
}

TEST(FairParts, OfEqualClaimsAreEqual)
{
    const auto parts = divide_fairly(
        100, std::vector<FairClaim>{{kEverything, 7, 1}, {kEverything, 0, 1}, {11, 0, 1}, {kEverything, 0, 1}});
    EXPECT_EQ(parts[1], parts[3]);    // to the last bit
}

}    // namespace
}    // namespace rdmaqos
