#include "lib/port_classes/rules.h"

#include <algorithm>
#include <iterator>
#include <vector>

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

// What no driver has, or all have, is nothing to plan by.
TEST(PortClassesRules, EachIsOfSomeDriverAndNotOfAll)
{
    constexpr bool Rules::*kMembers[] = {&Rules::replaces_dscp, &Rules::priority_is_class, &Rules::contiguous_classes,
                                         &Rules::first_app_resets_ets, &Rules::unlisted_unknown};
    std::vector<Rules> managed;
    for (const dcb::Driver& driver : dcb::drivers()) {
        const Rules rules = rules_of(&driver);
        EXPECT_EQ(rules.sets_ets && rules.sets_dscp, driver.can_be_managed()) << driver.name;
        if (driver.can_be_managed()) {
            managed.push_back(rules);
        }
    }
    for (std::size_t member = 0; member < std::size(kMembers); ++member) {
        const auto has = std::ranges::count_if(managed, [&](const Rules& rules) { return rules.*kMembers[member]; });
        EXPECT_GT(has, 0) << member;
        EXPECT_LT(has, static_cast<std::ptrdiff_t>(managed.size())) << member;
    }
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
