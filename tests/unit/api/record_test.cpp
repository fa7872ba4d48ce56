// Records are read as they were written, by whatever version wrote them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/api/device.h"
#include "lib/api/json.h"
#include "lib/api/plan.h"
#include "lib/api/session.h"
#include "tests/support/bus_pair.h"

namespace rdmaqos::api {
namespace {

template <typename Record>
bus::Dict written(const Record& record)
{
    const test::LoneBus bus;
    const auto message = bus.written([&](bus::Writer& writer) { write(writer, record); });
    return bus::read_dict(message.get()).value();
}

template <typename Record>
void expect_read_as_written(const Record& record)
{
    EXPECT_EQ(read<Record>(written(record)), record);
}

Capabilities some_capabilities()
{
    Capabilities capabilities;
    capabilities.scheduling = true;
    capabilities.max_leaves = 256;
    capabilities.attachable = {QueuePairType::Rc, QueuePairType::Devx};
    capabilities.pacing.supported_types = {QueuePairType::RawPacket};
    capabilities.pacing.max_rate = Bandwidth::from_gbps(100);
    return capabilities;
}

DescribedOperation some_limit()
{
    DescribedOperation operation;
    operation.kind = DescribedOperation::Kind::Limit;
    operation.queue_pair = 17;
    operation.limit = RateLimit{Bandwidth::from_mbps(5), 4096, std::nullopt};
    return operation;
}

TEST(Record, IsReadAsItWasWritten)
{
    expect_read_as_written(Capabilities{});
    expect_read_as_written(some_capabilities());
    expect_read_as_written(DescribedOperation{});
    expect_read_as_written(some_limit());
    expect_read_as_written(Finding{"d", "k", "s", "v", "p", "r", "a", "w", "m"});
    DescribedElement element;
    element.path = ElementPath("/a");
    element.kind = ElementKind::Leaf;
    element.after = ElementAttributes{7, Bandwidth::from_mbps(9)};
    element.requested_after.min_rate = Bandwidth::from_mbps(8);
    expect_read_as_written(element);
}

TEST(Record, HoldsListsOfRecordsAndMaps)
{
    DevicePlan plan;
    plan.device = "mlx5_0/1";
    plan.plan.operations = {some_limit(), some_limit()};
    plan.findings = {{.message = "no"}};
    plan.rates[ElementPath("/a")] = {Bandwidth::from_mbps(1), std::nullopt};
    const auto back = read<DevicePlan>(written(plan));
    EXPECT_EQ(back.plan, plan.plan);
    EXPECT_EQ(back.findings, plan.findings);
    EXPECT_EQ(back.rates, plan.rates);
}

TEST(Record, LeavesOutWhatDoesNotApply)
{
    const bus::Dict dict = written(some_limit());
    EXPECT_FALSE(dict.contains("rate-before")) << "there was no limit";
    EXPECT_FALSE(dict.contains("typical-packet-after")) << "it has none";
    EXPECT_FALSE(dict.contains("path")) << "it is empty";
    EXPECT_FALSE(dict.contains("kind")) << "nothing is created";
    EXPECT_FALSE(written(TreeElement{.path = "/"}).contains("queue-pairs")) << "it is no leaf";
    EXPECT_TRUE(written(TreeElement{.path = "/a", .kind = ElementKind::Leaf}).contains("queue-pairs"));
}

TEST(Record, TakesWhatAnotherVersionSays)
{
    bus::Dict dict;
    dict.set("scheduling", true);
    dict.set("shares", std::string("many"));                          // of another type
    dict.set("max-leaves", std::uint64_t{1} << 40U);                  // of a larger type, and too large
    dict.set("attachable", std::vector<std::string>{"rc", "dct"});    // a type that this version does not know
    dict.set("colour", std::string("blue"));
    const auto capabilities = read<Capabilities>(dict);
    EXPECT_TRUE(capabilities.scheduling);
    EXPECT_FALSE(capabilities.shares);
    EXPECT_EQ(capabilities.max_leaves, UINT32_MAX);
    EXPECT_EQ(capabilities.attachable, std::set{QueuePairType::Rc});
    EXPECT_EQ(capabilities.max_depth, 0U);
}

TEST(Record, IsJsonByTheSameKeys)
{
    EXPECT_EQ(to_json(some_limit()).dump(),
              R"({"operation":"limit","queue-pair":17,"rate-after":5000,"max-burst-after":4096,)"
              R"("message":"limit queue pair 17: unlimited -> 5 Mbit/s, burst 4 KiB"})");
}

// What a queue pair has lost is a record of its own, whose keys are among its own.
TEST(Record, LeadsThroughAnOptionalRecordBothWays)
{
    const QueuePair lost{.number = 17, .lost = Lost{"rpc", 7, "renamed", "fast", "abc"}};
    EXPECT_EQ(*written(lost).find("lost-level")->as<std::string>(), "rpc");
    EXPECT_EQ(read<QueuePair>(written(lost)).lost, lost.lost);
    EXPECT_FALSE(read<QueuePair>(written(QueuePair{})).lost);
}

TEST(Record, WhatTheCommandAddsDoesNotTravel)
{
    const Owner owner{.pid = 7, .user = "alice", .command = "app"};
    EXPECT_EQ(to_json(owner).dump(), R"({"pid":7,"start-time":0,"uid":0,"user":"alice","command":"app"})");
    bus::Dict dict = written(owner);
    EXPECT_FALSE(dict.contains("user"));
    dict.set("user", std::string("mallory"));
    EXPECT_EQ(read<Owner>(dict).user, "") << "nor is it believed";
    EXPECT_THAT(rows<Owner>(), testing::Each(testing::Field(&Row::name, testing::Ne("user"))));
}

TEST(Record, HasARowOfTheReferenceForEachKey)
{
    const auto all = rows<std::pair<ElementPath, BusyRate>>();
    ASSERT_EQ(all.size(), 3U);
    EXPECT_EQ(all[0].name, "class");
    EXPECT_EQ(all[0].type, "s");
    EXPECT_EQ(all[1].type, "t");
    EXPECT_EQ(rows<DevicePlan>()[1].type, "aa{sv}");
}

}    // namespace
}    // namespace rdmaqos::api
