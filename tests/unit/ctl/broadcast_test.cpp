#include "tools/rdma-qosctl/world/broadcast.h"

#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/golden.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/rendering/path_answers.h"

namespace rdmaqos::ctl {
namespace {

using rdmaqos::test::expect_golden;
using testing::HasSubstr;

api::PathAnswer path(std::uint32_t mtu, std::uint64_t gbps, std::uint8_t life)
{
    return {.level = "rpc",
            .rule = "match rule 1 (policy.yaml:9:5): pkey 0x9234 (claimed)",
            .mtu = mtu,
            .rate = Bandwidth::from_gbps(gbps),
            .packet_life = life,
            .pkey = 0x9234};
}

FabricPartition partition()
{
    IpoibParameters group;
    group.sl = 3;
    group.mtu = IbMtu::Mtu2048;
    group.rate = ib_rate_from_bandwidth(Bandwidth::from_gbps(10));
    group.packet_life = 18;
    return {"Part1", 0x1234, group};
}

Verdict verdict_of(const BroadcastReport& report, const std::string& field)
{
    return std::ranges::find(report.fields, field, &BroadcastField::field)->verdict;
}

TEST(Broadcast, AGroupWithinItsPathAgrees)
{
    auto answer = path(4096, 40, 18);
    answer.sl = 3;
    const auto report = compare_broadcast(partition(), answer);
    EXPECT_TRUE(report.agrees());
    expect_golden("ctl/broadcast-agrees.txt", render_broadcast(report, Colour::Off));
}

TEST(Broadcast, EachDisagreementIsNamed)
{
    auto answer = path(1024, 5, 16);
    answer.sl = 0;
    const auto report = compare_broadcast(partition(), answer);
    EXPECT_FALSE(report.agrees());
    expect_golden("ctl/broadcast-differs.txt", render_broadcast(report, Colour::Off));
    expect_golden("ctl/broadcast-differs.json", to_text(broadcast_json(report)));
}

TEST(Broadcast, WhatOneSideLeavesOpenIsNoDisagreement)
{
    FabricPartition open = partition();
    open.ipoib = IpoibParameters{};
    auto answer = path(4096, 100, 18);
    const auto report = compare_broadcast(open, answer);
    EXPECT_TRUE(report.agrees());
    for (const auto& field : report.fields) {
        EXPECT_EQ(field.verdict, Verdict::Unknown) << field.field;
    }
    expect_golden("ctl/broadcast-unknown.txt", render_broadcast(report, Colour::Off));
}

// 30 Gb/s comes before 25 Gb/s in OpenSM's order of rates.
TEST(Broadcast, RatesAreComparedInOpenSMsOrder)
{
    FabricPartition group = partition();
    group.ipoib->rate = ib_rate_from_bandwidth(Bandwidth::from_gbps(30));
    EXPECT_EQ(verdict_of(compare_broadcast(group, path(4096, 25, 18)), "rate"), Verdict::Agrees);
    group.ipoib->rate = ib_rate_from_bandwidth(Bandwidth::from_gbps(25));
    EXPECT_EQ(verdict_of(compare_broadcast(group, path(4096, 30, 18)), "rate"), Verdict::Differs);
}

TEST(Broadcast, APartitionIsFoundByNameAndByP_Key)
{
    Fabric fabric;
    fabric.partitions = {{"Silent", 0x7, {}}, partition()};
    for (const char* name : {"Part1", "0x1234", "0x9234", "4660"}) {
        const auto found = find_partition(fabric, name);
        ASSERT_TRUE(found.has_value()) << name;
        EXPECT_EQ(full_member(*found), 0x9234) << name;
    }
    for (const char* name : {"part1", "0x1235", "0x11234", ""}) {
        const auto found = find_partition(fabric, name);
        ASSERT_FALSE(found.has_value()) << name;
        EXPECT_THAT(found.error().message, HasSubstr("the fabric file has no partition"));
    }
    EXPECT_THAT(find_partition(fabric, "Silent").error().message,
                HasSubstr("says nothing of the broadcast group of partition Silent"));
}

}    // namespace
}    // namespace rdmaqos::ctl
