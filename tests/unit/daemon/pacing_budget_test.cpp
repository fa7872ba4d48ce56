#include "daemon/device/pacing_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rdmaqos {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

RateLimit mbps(std::uint64_t rate)
{
    return {Bandwidth::from_mbps(rate), {}, {}};
}

TEST(PacingBudget, SameLimitsShareAnEntryAndDifferentBurstsDoNot)
{
    PacingBudget budget(2);
    budget.want(1, 1, mbps(5));
    budget.want(2, 2, mbps(5));
    budget.want(3, 3, RateLimit{Bandwidth::from_mbps(5), 4096, {}});
    budget.want(4, 4, RateLimit{Bandwidth::from_mbps(5), {}, 64});
    EXPECT_THAT(budget.settle(), UnorderedElementsAre(1, 2, 3));
    EXPECT_TRUE(budget.granted(mbps(5)));
    EXPECT_FALSE(budget.granted(RateLimit{Bandwidth::from_mbps(5), {}, 64}));
    EXPECT_THAT(budget.settle(), IsEmpty());
}

TEST(PacingBudget, AFreeEntryGoesToWhoCameFirst)
{
    PacingBudget budget(1);
    for (std::uint32_t number = 1; number <= 4; ++number) {
        budget.want(number, number, mbps(number == 4 ? 3 : number));
    }
    EXPECT_THAT(budget.settle(), ElementsAre(1));
    budget.want(1, 1, std::nullopt);
    EXPECT_THAT(budget.settle(), ElementsAre(2));
    budget.want(2, 2, mbps(3));
    EXPECT_THAT(budget.settle(), UnorderedElementsAre(2, 3, 4));
    budget.want(1, 1, mbps(7));
    EXPECT_THAT(budget.settle(), IsEmpty()) << "who has an entry keeps it";
    budget.clear();
    EXPECT_FALSE(budget.granted(mbps(3)));
}

TEST(PacingBudget, AnUnknownTableHoldsEverything)
{
    PacingBudget budget(0);
    budget.want(1, 1, mbps(5));
    EXPECT_TRUE(budget.granted(mbps(5)));
}

TEST(PacingBudget, EntriesAreInheritedWhereTheyAreWanted)
{
    PacingBudget before(1);
    before.want(2, 2, mbps(2));
    (void)before.settle();
    PacingBudget after(1);
    after.inherit(before);
    after.want(1, 1, mbps(1));
    after.want(2, 2, mbps(2));
    (void)after.settle();
    EXPECT_TRUE(after.granted(mbps(2)));
    EXPECT_FALSE(after.granted(mbps(1)));
}

}    // namespace
}    // namespace rdmaqos
