#include "lib/port_classes/rules.h"

#include <gtest/gtest.h>

#include "tests/unit/port_classes/support.h"

namespace rdmaqos::port_classes::test {
namespace {

TEST(PortClassesRules, CapsAreRoundedDownToTheStepsOfTheDriver)
{
    const RateSteps steps = *rules("mlx5_core").max_rates;
    const auto rounded = [&](std::uint64_t rate) { return rounded_down(steps, mbps(rate)); };
    EXPECT_EQ(rounded(99), std::nullopt);
    EXPECT_EQ(rounded(100), mbps(100));
    EXPECT_EQ(rounded(25'499), mbps(25'400));
    EXPECT_EQ(rounded(25'500), mbps(25'500));
    // 25 by the step of 1 Gbit/s, but the finer range below has 25.5.
    EXPECT_EQ(rounded(25'999), mbps(25'500));
    EXPECT_EQ(rounded(26'999), gbps(26));
    EXPECT_EQ(rounded(400'000), gbps(255));
}

TEST(PortClassesRules, ADriverWithoutARowSetsNothing)
{
    const Rules unknown = rules_of(nullptr);
    EXPECT_FALSE(unknown.sets_ets);
    EXPECT_FALSE(unknown.sets_dscp);
}

TEST(PortClassesRules, OfTheRow)
{
    EXPECT_TRUE(rules("mlx5_core").replaces_dscp);
    EXPECT_TRUE(rules("mlx5_core").max_rates);
    EXPECT_TRUE(rules("ice").priority_is_class);
    EXPECT_FALSE(rules("ice").replaces_dscp);
    EXPECT_FALSE(rules("bnxt_en").max_rates);
    EXPECT_FALSE(rules("qede").sets_dscp);
    EXPECT_FALSE(rules("cxgb4").sets_ets);
}

}    // namespace
}    // namespace rdmaqos::port_classes::test
