#include "policy/match/marks.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/match/ipoib_partitions.h"
#include "tests/unit/match/policy_dsl.h"

namespace rdmaqos {
namespace {

using namespace test;
using testing::ElementsAre;

const DeviceNames kInfiniBand{"mlx5_0", 1, "", "", LinkLayer::InfiniBand, Bandwidth::from_gbps(400)};
const DeviceNames kEthernet{"mlx5_1", 1, "eth0", "", LinkLayer::Ethernet, Bandwidth::from_gbps(100)};
const DeviceNames kUnknown{"mlx5_2", 1, "", "", std::nullopt, Bandwidth{}};

std::vector<std::string> messages(const Diagnostics& diagnostics)
{
    std::vector<std::string> all;
    for (const Diagnostic& diagnostic : diagnostics.all()) {
        EXPECT_EQ(diagnostic.severity, Severity::Warning);
        all.push_back(diagnostic.message);
    }
    return all;
}

std::vector<std::string> warned(const TestPolicy& policy, const std::vector<DeviceNames>& devices)
{
    return messages(warnings_of_marks(policy.policy, devices));
}

TEST(Marks, EthernetHasEightPriorities)
{
    TestPolicy policy;
    policy.level("nccl", [](QosLevel& level) { level.sl = 9; });
    policy.level("seven", [](QosLevel& level) { level.sl = 7; });
    policy.level("eight", [](QosLevel& level) {
        level.sl = 8;
        level.devices = devices_named({"mlx5_0"});
    });
    EXPECT_THAT(warned(policy, {kEthernet, kInfiniBand}),
                ElementsAre("SL 9 of level `nccl` is sent as 1 by mlx5_1/1: Ethernet has 8 priorities"));
    EXPECT_THAT(warned(policy, {kInfiniBand, kUnknown}), ElementsAre());
}

TEST(Marks, InfiniBandHasNoTrafficClass)
{
    TestPolicy policy;
    policy.level("nccl", [](QosLevel& level) { level.traffic_class = 106; });
    policy.level("roce", [](QosLevel& level) {
        level.traffic_class = 104;
        level.devices = devices_named({"mlx5_1"});
    });
    EXPECT_THAT(warned(policy, {kInfiniBand}), ElementsAre("traffic class 106 (DSCP 26) of level `nccl` is sent by no "
                                                           "device: mlx5_0/1 is on InfiniBand, which has none"));
    EXPECT_THAT(warned(policy, {kInfiniBand, kInfiniBand, kInfiniBand}),
                ElementsAre("traffic class 106 (DSCP 26) of level `nccl` is sent by no device: mlx5_0/1 and 2 more are "
                            "on InfiniBand, which has none"));
    EXPECT_THAT(warned(policy, {kInfiniBand, kEthernet}), ElementsAre());
    EXPECT_THAT(warned(policy, {kInfiniBand, kUnknown}), ElementsAre());
    EXPECT_THAT(warned(policy, {}), ElementsAre());
}

// ---- `ulp: ipoib` ----

FabricPort member(std::uint64_t guid, std::vector<std::uint16_t> pkeys)
{
    FabricPort port = ca_port(guid, "a");
    port.pkeys = std::move(pkeys);
    return port;
}

TEST(IpoibPartitions, NeedTwoFullMembers)
{
    TestPolicy policy;
    const auto ipoib = [&policy](std::string ulp, IntervalSet pkeys) {
        policy.rule("DEFAULT", [&](MatchRule& rule) {
            rule.origin = RuleOrigin::Ulp;
            rule.ulp = std::move(ulp);
            rule.pkey = std::move(pkeys);
        });
    };
    ipoib("ipoib", number(0x7FFF));
    ipoib("ipoib, pkey 1", number(1));
    ipoib("ipoib, pkey 2-3", numbers({{2, 3}}));
    ipoib("any, pkey 9", number(9));
    Fabric fabric;
    EXPECT_THAT(messages(warnings_of_ipoib(policy.policy, fabric, {})), ElementsAre());
    fabric.ports = {member(1, {0xFFFF, 0x8001, 0x8002}), member(2, {0xFFFF, 0x0001, 0x8002})};
    EXPECT_THAT(messages(warnings_of_ipoib(policy.policy, fabric, {})),
                ElementsAre("by the fabric file the partition with P_Key 0x0001 has fewer than two full members",
                            "by the fabric file the partition with P_Key 0x0003 does not exist"));
}

}    // namespace
}    // namespace rdmaqos
