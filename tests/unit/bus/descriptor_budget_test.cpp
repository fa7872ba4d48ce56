#include "lib/bus/descriptor_budget.h"

#include <vector>

#include <gtest/gtest.h>

namespace rdmaqos::bus {
namespace {

constexpr std::uint32_t kOwner = 1000;
constexpr std::uint32_t kOther = 1001;

TEST(DescriptorBudget, NobodyGetsMoreThanIsLeftForTheOthers)
{
    DescriptorBudget budget;
    budget.set_room(160);    // of which 10 are for root
    std::vector<DescriptorBudget::Held> held;
    for (auto more = budget.take(kOwner, 1); more; more = budget.take(kOwner, 1)) {
        held.push_back(std::move(more));
    }
    EXPECT_EQ(budget.of(kOwner), 75U);
    for (auto more = budget.take(kOther, 1); more; more = budget.take(kOther, 1)) {
        held.push_back(std::move(more));
    }
    EXPECT_GE(budget.of(kOther), 36U);
    for (std::uint32_t user = 2000; user < 2100; ++user) {
        for (auto more = budget.take(user, 1); more; more = budget.take(user, 1)) {
            held.push_back(std::move(more));
        }
    }
    EXPECT_EQ(budget.in_all(), 150U);
    EXPECT_FALSE(budget.take(0, 1)) << "the root of a container";
    EXPECT_TRUE(budget.take(Account::root(), 10)) << "an administrator always gets in";
    EXPECT_FALSE(budget.take(Account::root(), 11));
    held.clear();
    EXPECT_EQ(budget.in_all(), 0U);
    EXPECT_EQ(budget.of(kOwner), 0U);
}

TEST(DescriptorBudget, WhatIsOpenAlreadyCountsInAnyCase)
{
    DescriptorBudget::Held held;
    DescriptorBudget budget;
    budget.set_room(16);
    held = budget.count(kOwner, 20);
    EXPECT_EQ(budget.in_all(), 20U);
    EXPECT_FALSE(budget.take(kOther, 1));
    EXPECT_FALSE(budget.take(Account::root(), 1));
    held.reset();
    EXPECT_TRUE(budget.take(kOther, 1));
}

TEST(DescriptorBudget, WhatIsHeldMayOutliveIt)
{
    DescriptorBudget::Held held;
    {
        DescriptorBudget budget;
        held = budget.take(kOwner, 3);
    }
    held.reset();
}

}    // namespace
}    // namespace rdmaqos::bus
