#include "policy/model/port_class_requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rdmaqos {
namespace {

using port_classes::LevelMark;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr Bandwidth kLink = Bandwidth::from_gbps(100);

QosLevel marked(const std::string& name, std::optional<std::uint8_t> dscp, std::optional<std::size_t> parent = {})
{
    QosLevel level;
    level.name = name;
    if (dscp) {
        level.traffic_class = static_cast<std::uint8_t>(*dscp << 2U);
    }
    level.schedule.emplace();
    level.schedule->parent = parent;
    return level;
}

SchedulingNode named(const std::string& name, std::optional<std::size_t> parent = {})
{
    SchedulingNode node;
    node.name = name;
    node.parent = parent;
    return node;
}

TEST(PortClassRequests, AChildHasTheLevelsBelowIt)
{
    Policy policy;
    policy.nodes = {named("tenants"), named("gold", 0), named("empty")};
    policy.nodes[0].rate.share = 70;
    policy.nodes[0].strict = true;
    policy.levels = {marked("rpc", 26, 1), marked("web", {}, 0), marked("bulk", 10)};
    policy.levels[2].schedule->rate.min_rate = Bandwidth::from_gbps(5);
    policy.levels[2].schedule->rate.max_part = Percentage::from_hundredths(1250);
    const auto requests = port_class_requests(policy, {}, kLink);
    ASSERT_EQ(requests.children.size(), 2U);
    EXPECT_EQ(requests.children[0].path.text(), "/tenants");
    EXPECT_EQ(requests.children[0].share, 70U);
    EXPECT_TRUE(requests.children[0].strict);
    EXPECT_THAT(requests.children[0].levels, ElementsAre(LevelMark{"rpc", 26}, LevelMark{"web", {}}));
    EXPECT_EQ(requests.children[1].path.text(), "/bulk");
    EXPECT_FALSE(requests.children[1].strict);
    EXPECT_EQ(requests.children[1].min_rate, Bandwidth::from_gbps(5));
    EXPECT_EQ(requests.children[1].max_rate, Bandwidth::from_mbps(12'500));
    EXPECT_THAT(requests.elsewhere, IsEmpty());
}

TEST(PortClassRequests, LevelsWithoutAClassHereAreElsewhere)
{
    Policy policy;
    policy.nodes = {named("storage")};
    policy.nodes[0].devices = {DeviceSelector{}};
    policy.nodes[0].devices[0].name = "mlx5_9";
    QosLevel unscheduled = marked("unscheduled", 12);
    unscheduled.schedule.reset();
    QosLevel monitored = marked("monitored", 14);
    monitored.mode = Mode::Monitor;
    policy.levels = {marked("nfs", 8, 0), unscheduled, monitored, marked("rpc", 26)};
    DeviceNames device;
    device.device = "mlx5_0";
    const auto requests = port_class_requests(policy, device, kLink);
    ASSERT_EQ(requests.children.size(), 1U);
    EXPECT_EQ(requests.children[0].path.text(), "/rpc");
    EXPECT_THAT(requests.elsewhere,
                ElementsAre(LevelMark{"nfs", 8}, LevelMark{"unscheduled", 12}, LevelMark{"monitored", 14}));
}

// The bits of ECN say nothing of a class.
TEST(PortClassRequests, OnlyTheUpperBitsOfATrafficClassCount)
{
    Policy policy;
    policy.levels = {marked("rpc", {})};
    policy.levels[0].traffic_class = 107;
    EXPECT_EQ(port_class_requests(policy, {}, kLink).children.at(0).levels.at(0).dscp, 26);
}

}    // namespace
}    // namespace rdmaqos
