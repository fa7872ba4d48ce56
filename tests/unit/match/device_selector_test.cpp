#include "policy/model/device_selector.h"

#include <gtest/gtest.h>

#include "tests/unit/match/policy_dsl.h"

namespace rdmaqos {
namespace {

using namespace test;

const DeviceNames kCompute{"mlx5_0", 1, "ens1f0", "0000:17:00.0", LinkLayer::InfiniBand, Bandwidth::from_gbps(400)};
const DeviceNames kBond{"mlx5_bond_0", 1, "bond0", "0000:ca:00.0", LinkLayer::Ethernet, Bandwidth::from_gbps(100)};
const DeviceNames kDown{"mlx5_3", 2, "", "", LinkLayer::Ethernet, Bandwidth{}};

TEST(DeviceSelector, Names)
{
    for (const auto* name : {"mlx5_0", "mlx5_0/1", "mlx5_?", "ens1f0", "0000:17:*", "*"}) {
        EXPECT_TRUE(selects({.name = name}, kCompute)) << name;
    }
    for (const auto* name : {"mlx5_1", "mlx5_0/2", "bond0", "0000:17"}) {
        EXPECT_FALSE(selects({.name = name}, kCompute)) << name;
    }
    EXPECT_TRUE(selects({.name = "mlx5_bond_*"}, kBond));
}

TEST(DeviceSelector, Conditions)
{
    EXPECT_TRUE(selects({.link_layer = LinkLayer::InfiniBand}, kCompute));
    EXPECT_FALSE(selects({.link_layer = LinkLayer::Ethernet}, kCompute));
    EXPECT_TRUE(selects({.netdev = "bond*"}, kBond));
    EXPECT_FALSE(selects({.netdev = "mlx5_bond_0"}, kBond)) << "that is not the netdev";
    EXPECT_TRUE(selects({.pci = "0000:ca:00.?"}, kBond));
    EXPECT_FALSE(selects({.netdev = "*"}, kDown)) << "it has none";
    EXPECT_FALSE(selects({.netdev = "bond0", .link_layer = LinkLayer::InfiniBand}, kBond)) << "all must hold";
}

TEST(DeviceSelector, Speeds)
{
    const auto is_met = [](const char* condition, const DeviceNames& device) {
        return selects(with_speed(condition), device);
    };
    EXPECT_TRUE(is_met(">=400Gbps", kCompute));
    EXPECT_TRUE(is_met("> 200 Gbit/s", kCompute));
    EXPECT_FALSE(is_met(">400Gbps", kCompute));
    EXPECT_TRUE(is_met("400Gbps", kCompute));
    EXPECT_TRUE(is_met("=400Gbps", kCompute));
    EXPECT_TRUE(is_met("<=400Gbps", kCompute));
    EXPECT_FALSE(is_met("<400Gbps", kCompute));
    for (const auto* condition : {"<400Gbps", ">=1Gbps", "100Gbps"}) {
        EXPECT_FALSE(is_met(condition, kDown)) << "nobody knows what it has";
    }
    for (const auto* text : {"", ">", "=>200Gbps", ">=200", "fast", ">=0Gbps", "200Gbps<"}) {
        EXPECT_FALSE(parse_speed_condition(text)) << text;
    }
}

TEST(DeviceSelector, ListsAndWords)
{
    EXPECT_TRUE(is_selected({}, kDown)) << "an empty list asks for nothing";
    const std::vector<DeviceSelector> list{
        {.name = "mlx5_9"}, {.netdev = "bond*", .link_layer = LinkLayer::Ethernet}, with_speed(">=200Gbps")};
    EXPECT_TRUE(is_selected(list, kCompute));
    EXPECT_TRUE(is_selected(list, kBond));
    EXPECT_FALSE(is_selected(list, kDown));
    EXPECT_EQ(to_string(list), "mlx5_9, netdev bond* and link-layer ethernet, speed >= 200 Gbit/s");
}

}    // namespace
}    // namespace rdmaqos
