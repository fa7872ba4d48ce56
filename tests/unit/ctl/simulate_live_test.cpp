// Loads on the trees of a daemon.
#include <gmock/gmock.h>

#include "tests/unit/ctl/sample.h"
#include "tests/unit/ctl/simulate_sample.h"
#include "tools/rdma-qosctl/simulate/loaded_tree.h"
#include "tools/rdma-qosctl/simulate/simulation.h"
#include "tools/rdma-qosctl/world/busy_rates.h"
#include "tools/rdma-qosctl/world/online.h"

namespace rdmaqos::ctl {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace test;

const std::vector<api::Level> kLevels{sample_level_default(), sample_level_rpc(), sample_level_bulk()};

// Three processes in rpc: pid:4711 and pid:8 with queue pairs, pid:9 without.
DeviceView device_with_sessions()
{
    DeviceView device = sample_device("mlx5_0");
    device.tree.push_back({"/tenants/rpc/pid:8", "/tenants/rpc", ElementKind::Leaf, 1, std::nullopt, 1, false});
    return device;
}

LoadedTree live(const DeviceView& device, const std::vector<std::string>& loads)
{
    return load_live_tree(kLevels, device, senders_on({}, device), loads_of(loads));
}

SimulatedStep simulated_live(const DeviceView& device, const std::vector<std::string>& loads)
{
    return simulate_step(live(device, loads), device.link_speed);
}

TEST(SimulateLive, ALoadIsDividedOverTheLeavesOfSessions)
{
    const SimulatedStep step = simulated_live(device_with_sessions(), {"rpc=10Gbps,bulk=inf"});
    EXPECT_EQ(level_of(step, "rpc").senders, 2U);
    EXPECT_DOUBLE_EQ(element_of(step, "/tenants/rpc/pid:4711").rates.gets, 5 * kGigabit);
    EXPECT_DOUBLE_EQ(element_of(step, "/tenants/rpc/pid:8").rates.gets, 5 * kGigabit);
    EXPECT_DOUBLE_EQ(level_of(step, "bulk").rates.gets, 90 * kGigabit);
    EXPECT_EQ(level_of(step, "bulk").senders, 1U);
}

TEST(SimulateLive, ALevelThatIsOnlyMonitoredTakesNothing)
{
    auto levels = kLevels;
    levels.at(2).mode = "monitor";
    const DeviceView device = device_with_sessions();
    const LoadedTree loaded = load_live_tree(levels, device, senders_on({}, device), loads_of({"bulk=inf"}));
    EXPECT_THAT(loaded.outside, ElementsAre(OutsideLevel{"bulk", "it is only monitored (`mode: monitor`)"}));
    EXPECT_THAT(loaded.demands, IsEmpty());
}

TEST(SimulateLive, DividingLosesNothing)
{
    const LoadedTree loaded = live(device_with_sessions(), {"rpc=1.000001Gbps"});
    EXPECT_EQ(loaded.demands.at(ElementPath("/tenants/rpc/pid:4711"))->kbps() +
                  loaded.demands.at(ElementPath("/tenants/rpc/pid:8"))->kbps(),
              1'000'001U);
}

TEST(SimulateLive, MoreSendersThanSessionsAreImagined)
{
    const LoadedTree loaded = live(device_with_sessions(), {"rpc*4=inf"});
    const SimulatedStep step = simulate_step(loaded, Bandwidth::from_gbps(100));
    for (const char* leaf : {"pid:8", "pid:4711", "process-1", "process-2"}) {
        EXPECT_DOUBLE_EQ(element_of(step, std::string("/tenants/rpc/") + leaf).rates.gets, 10 * kGigabit) << leaf;
    }
    EXPECT_THAT(loaded.notes, ElementsAre(HasSubstr("have leaves like process-1")));
}

TEST(SimulateLive, LoadsTakeSendersOneAfterTheOther)
{
    const SimulatedStep step = simulated_live(device_with_sessions(), {"rpc*1=1Gbps,rpc=inf"});
    EXPECT_DOUBLE_EQ(element_of(step, "/tenants/rpc/pid:8").rates.gets, 1 * kGigabit);
    EXPECT_DOUBLE_EQ(element_of(step, "/tenants/rpc/pid:4711").rates.gets, 39 * kGigabit);
    // All are taken: one more.
    EXPECT_EQ(level_of(simulated_live(device_with_sessions(), {"rpc=1Gbps,rpc=inf"}), "rpc").senders, 3U);
}

TEST(SimulateLive, WithoutALeafLeftOthersIsShared)
{
    DeviceView device = device_with_sessions();
    device.leaves_free = 1;
    const LoadedTree loaded = live(device, {"rpc*6=inf"});
    EXPECT_EQ(loaded.senders.at(ElementPath("/tenants/rpc/others")), 3U);
    EXPECT_THAT(loaded.notes,
                Contains(HasSubstr("the device has no leaf left; more senders share /tenants/rpc/others")));
}

// Who is there and sends nothing keeps his part.
TEST(SimulateLive, SessionsWithoutALoadCountForTheGuarantee)
{
    const SimulatedStep step = simulated_live(device_with_sessions(), {"bulk=inf"});
    EXPECT_DOUBLE_EQ(element_of(step, "/tenants/rpc/pid:8").rates.guaranteed, 20 * kGigabit);
    EXPECT_EQ(element_of(step, "/tenants/rpc/pid:8").senders, 0U);
}

TEST(SimulateLive, ResponsesAndQueuePairLeaves)
{
    DeviceView device = sample_device("mlx5_0");
    device.tree.push_back({"/bulk.responder", "/", ElementKind::Leaf, 30, std::nullopt, 0, false});
    World world;
    world.manager.levels = kLevels;
    world.devices = {device};
    EXPECT_THAT(level_names(world), ElementsAre("DEFAULT", "rpc", "bulk", "bulk.responder"));
    EXPECT_DOUBLE_EQ(level_of(simulated_live(device, {"bulk.responder=inf"}), "bulk.responder").rates.gets,
                     100 * kGigabit);
    // On a device without it.
    EXPECT_THAT(simulated_live(sample_device("mlx5_1"), {"bulk.responder=inf"}).outside,
                ElementsAre(OutsideLevel{"bulk.responder", "the device has no leaf for it"}));

    // bulk has leaves for queue pairs, capped at 2.5 Gbit/s each.
    device.tree[1].kind = ElementKind::Node;
    device.tree[1].queue_pairs = 0;
    device.tree.push_back({"/bulk/others", "/bulk", ElementKind::Leaf, 1, std::nullopt, 0, false});
    device.tree.push_back({"/bulk/qp:7", "/bulk", ElementKind::Leaf, 1, Bandwidth::from_kbps(2'500'000), 1, false});
    const SimulatedStep step = simulated_live(device, {"bulk*3=inf"});
    EXPECT_DOUBLE_EQ(level_of(step, "bulk").rates.gets, 7.5 * kGigabit);
    EXPECT_EQ(element_of(step, "/bulk/queue-pair-2").limit.kind, Limit::Kind::Cap);
}

// Four queue pairs paced at 1 Gbit/s have 4 together, however much they would like and whoever counts.
TEST(SimulateLive, PacedQueuePairsOfSessionsAskForNoMore)
{
    DeviceView device = sample_device("mlx5_0");
    device.tree = {{"/", "", ElementKind::Node, std::nullopt, std::nullopt, 0, false},
                   {"/a", "/", ElementKind::Leaf, 50, std::nullopt, 4, false},
                   {"/b", "/", ElementKind::Leaf, 50, std::nullopt, 1, false}};
    World world;
    world.devices = {device};
    SessionView session;
    for (std::uint32_t number = 1; number <= 4; ++number) {
        session.queue_pairs.push_back(
            {.device = "mlx5_0/1", .number = number, .leaf = "/a", .rate = RateLimit{Bandwidth::from_gbps(1), {}, {}}});
    }
    world.sessions = {session};
    const std::vector<api::Level> levels{
        {.name = "a", .class_path = "/a", .fair_by = "none", .per_queue_pair_max_rate = Bandwidth::from_gbps(1)},
        {.name = "b", .class_path = "/b", .fair_by = "none"}};
    const auto gets = [&](const std::vector<std::string>& loads) {
        const auto loaded = load_live_tree(levels, device, senders_on(world, device), loads_of(loads));
        return simulate_step(loaded, device.link_speed);
    };
    const SimulatedStep step = gets({"a=inf,b=inf"});
    EXPECT_DOUBLE_EQ(level_of(step, "a").rates.gets, 4 * kGigabit);
    EXPECT_DOUBLE_EQ(level_of(step, "a").rates.guaranteed, 4 * kGigabit);
    EXPECT_DOUBLE_EQ(level_of(step, "b").rates.gets, 96 * kGigabit);
    EXPECT_EQ(level_of(step, "a").senders, 4U);
    EXPECT_DOUBLE_EQ(level_of(gets({"a*2=inf"}), "a").rates.gets, 2 * kGigabit) << "two of them";
    EXPECT_DOUBLE_EQ(level_of(gets({"a*1=500Mbps,a=inf"}), "a").rates.gets, 3.5 * kGigabit) << "and the other three";
    const BusyRates busy = busy_rates(world, device);
    EXPECT_EQ(busy.leaves.at("/a"), Bandwidth::from_gbps(4));
    EXPECT_EQ(busy.leaves.at("/b"), Bandwidth::from_gbps(96));
}

TEST(SimulateLive, WhatIsOutside)
{
    DeviceView device = sample_device("mlx5_0");
    EXPECT_THAT(live(device, {"DEFAULT=inf"}).outside,
                ElementsAre(OutsideLevel{"DEFAULT", "the policy gives it no `schedule`"}));
    device.tree.clear();
    EXPECT_THAT(live(device, {"rpc=inf"}).outside, ElementsAre(OutsideLevel{"rpc", "the device has no tree now"}));
    EXPECT_THAT(live(device, {"rpc=inf"}).levels, IsEmpty());
}

TEST(SimulateLive, WhatTheReaderHasToKnow)
{
    DeviceView device = sample_device("mlx5_0");
    device.tree[1].draining = true;
    device.link_speed = Bandwidth();
    device.queue_pairs_outside = 2;
    EXPECT_THAT(live(device, {"rpc=inf"}).notes,
                ElementsAre(HasSubstr("1 leaf is of an earlier policy"), HasSubstr("the link is down"),
                            HasSubstr("outside the tree: 2 queue pairs of programs")));
    EXPECT_THAT(live(device, {"bulk=inf"}).outside, ElementsAre(OutsideLevel{"bulk", "the device has no leaf for it"}));
    device.attach_mode = "none";
    EXPECT_THAT(live(device, {"rpc=inf"}).notes, Contains(HasSubstr("nothing of this is enforced")));
    LoadedTree loaded = live(device, {"rpc=inf"});
    give_processes_trees(loaded, {}, CapMode::Whole);
    EXPECT_THAT(loaded.notes, Contains(HasSubstr("every process has a tree of its own")));
}

TEST(SimulateLive, WhatIsInNoLeafHasAPlaceBesideTheTree)
{
    const LoadedTree loaded = live(sample_device("mlx5_0"), {"rpc=inf,outside.dscp26*2=inf"});
    EXPECT_THAT(loaded.outside, IsEmpty());
    EXPECT_THAT(loaded.outside_leaves, ElementsAre(ElementPath("/outside.dscp26")));
    const SimulatedStep step = simulate_step(loaded, Bandwidth::from_gbps(90));
    EXPECT_NEAR(level_of(step, "outside.dscp26").rates.gets, 60e6, 1) << "each of two as the whole tree";
    EXPECT_NEAR(step.used, 90e6, 1);
}

}    // namespace
}    // namespace rdmaqos::ctl
