#include "lib/smp/lanes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fake_ib_port.h"

namespace rdmaqos::smp::test {
namespace {

using rdmaqos::test::FakeIbPort;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

PortLanes three_lanes()
{
    PortLanes lanes;
    lanes.data_vls = 4;
    lanes.high_limit = 7;
    lanes.high = {{2, 1}};
    lanes.low = {{0, 10}, {1, 70}, {2, 30}, {1, 4}};
    lanes.vl_of_sl = {0, 0, 0, 1, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 3, kNoLane};
    return lanes;
}

Result<PortLanes> read(FakeIbPort& port)
{
    return read_lanes([&](const Packet& question) { return port.answer(question); });
}

TEST(IbPortLanes, AreReadAsTheyAre)
{
    FakeIbPort port{three_lanes()};
    EXPECT_EQ(read(port).value(), three_lanes());
    EXPECT_THAT(port.asked, ElementsAre(3U << 16U, 1U << 16U)) << "8 entries: one block of each";
}

TEST(IbPortLanes, OfALongTableBothBlocksAreRead)
{
    FakeIbPort port{three_lanes(), 64};
    port.lanes.low.assign(64, {1, 3});
    port.lanes.low.back() = {2, 200};
    EXPECT_EQ(read(port).value(), port.lanes);
    EXPECT_EQ(port.asked.size(), 4U);
    port.entries_of_table = 33;
    EXPECT_EQ(read(port).value().low.size(), 33U) << "more than the port has is not looked at";
}

TEST(IbPortLanes, EntriesWithoutAWeightAreNone)
{
    FakeIbPort port{three_lanes()};
    port.lanes.low = {{0, 0}, {1, 5}, {3, 0}};
    EXPECT_THAT(read(port).value().low, ElementsAre(Turn{1, 5}));
}

TEST(IbPortLanes, APortWithOneLaneIsNotAskedForTables)
{
    FakeIbPort port{three_lanes()};
    port.lanes.data_vls = 1;
    port.refuses = static_cast<std::uint16_t>(Attribute::VlArbitration);
    const PortLanes lanes = read(port).value();
    EXPECT_EQ(lanes.data_vls, 1);
    EXPECT_THAT(lanes.low, IsEmpty());
    EXPECT_THAT(lanes.vl_of_sl, testing::Each(0));
}

TEST(IbPortLanes, WhatFailsIsNamed)
{
    FakeIbPort port{three_lanes()};
    port.refuses = static_cast<std::uint16_t>(Attribute::SlToVl);
    const auto refused = read(port);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::Unsupported);
    EXPECT_THAT(refused.error().message, HasSubstr("SL to VL table: the port refused the question (status 0xc)"));
    const auto silent = read_lanes([](const Packet&) { return Result<Packet>(fail(ErrorCode::Timeout, "no answer")); });
    EXPECT_EQ(silent.error().message, "PortInfo: no answer");
}

}    // namespace
}    // namespace rdmaqos::smp::test
