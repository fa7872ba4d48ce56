#include "policy/model/lower.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rdmaqos {
namespace {

SchedulingNode node(const std::string& name, std::optional<std::size_t> parent = std::nullopt)
{
    SchedulingNode result;
    result.name = name;
    result.parent = parent;
    return result;
}

QosLevel level(const std::string& name, std::optional<std::size_t> parent = std::nullopt)
{
    QosLevel result;
    result.name = name;
    result.schedule.emplace();
    result.schedule->parent = parent;
    return result;
}

Identity process(const std::string& cgroup, const std::string& unit)
{
    Identity identity;
    identity.pid = 4711;
    identity.uid = 1000;
    identity.cgroup = cgroup;
    identity.unit = unit;
    return identity;
}

TEST(Lower, NodesThenClassesWithEverythingTheySay)
{
    Policy policy;
    policy.nodes = {node("tenants"), node("gold", 0)};
    policy.nodes[0].rate.share = 70;
    policy.levels = {level("rpc", 1), QosLevel{}, level("bulk")};
    auto& schedule = *policy.levels[0].schedule;
    schedule.rate.min_rate = Bandwidth::from_gbps(10);
    schedule.fair_by = FairBy::Process;
    schedule.leaf_budget = 64;
    schedule.responder.emplace().share = 20;

    const auto spec = to_tree_spec(policy);
    ASSERT_EQ(spec.elements.size(), 4U);
    EXPECT_EQ(spec.elements[0].path.text(), "/tenants");
    EXPECT_EQ(spec.elements[0].rate.share, 70U);
    EXPECT_FALSE(spec.elements[0].is_class);
    EXPECT_EQ(spec.elements[1].path.text(), "/tenants/gold");
    EXPECT_EQ(spec.elements[2].path.text(), "/tenants/gold/rpc");
    EXPECT_TRUE(spec.elements[2].is_class);
    EXPECT_EQ(spec.elements[2].rate.min_rate, Bandwidth::from_gbps(10));
    EXPECT_EQ(spec.elements[2].fair_by, FairBy::Process);
    EXPECT_EQ(spec.elements[2].leaf_budget, 64U);
    EXPECT_EQ(spec.elements[2].responder->share, 20U);
    EXPECT_EQ(spec.elements[3].path.text(), "/bulk");
}

TEST(Lower, ALevelWithoutScheduleHasNoClass)
{
    Policy policy;
    policy.levels = {QosLevel{}};
    EXPECT_TRUE(to_tree_spec(policy).elements.empty());
    EXPECT_TRUE(class_path(policy, policy.levels[0]).empty());
}

TEST(Lower, DifferentNamesHaveDifferentPaths)
{
    Policy policy;
    policy.levels = {level("a/b"), level("a%2Fb"), level("a_b"), level("a\nb"), level("a\x7f"), level("a%")};
    std::set<std::string> paths;
    for (const auto& element : to_tree_spec(policy).elements) {
        EXPECT_EQ(element.path.parent(), ElementPath::root()) << element.path.text();
        EXPECT_EQ(element.path.text().find_first_of("\n\x7f"), std::string::npos);
        paths.insert(element.path.text());
    }
    EXPECT_EQ(paths.size(), policy.levels.size());
    EXPECT_TRUE(paths.contains("/a%2Fb"));
}

TEST(Lower, ALevelMayBeCalledAsANodeBesideIt)
{
    Policy policy;
    policy.nodes = {node("tenants")};
    policy.levels = {level("tenants"), level("tenants", 0)};
    EXPECT_EQ(class_path(policy, policy.levels[0]).text(), "/tenants%level");
    EXPECT_EQ(class_path(policy, policy.levels[1]).text(), "/tenants/tenants");
}

std::vector<std::string> paths_for(const Policy& policy, const DeviceNames& device)
{
    std::vector<std::string> paths;
    for (const auto& element : to_tree_spec(policy, device).elements) {
        paths.push_back(element.path.text());
    }
    return paths;
}

TEST(Lower, ADeviceHasWhatIsForIt)
{
    Policy policy;
    policy.nodes = {node("compute"), node("storage"), node("fast", 0)};
    policy.nodes[1].devices = {DeviceSelector{"mlx5_1", "", "", {}, {}}};
    policy.nodes[2].devices = {DeviceSelector{"", "", "", {}, parse_speed_condition(">=200Gbps")}};
    policy.levels = {level("a", 0), level("b", 1), level("c", 2), level("d")};
    policy.levels[3].devices = {DeviceSelector{"", "", "", LinkLayer::Ethernet, {}}};
    const DeviceNames slow{"mlx5_0", 1, "", "", LinkLayer::InfiniBand, Bandwidth::from_gbps(100)};
    const DeviceNames fast{"mlx5_1", 1, "", "", LinkLayer::Ethernet, Bandwidth::from_gbps(400)};
    EXPECT_EQ(paths_for(policy, slow), (std::vector<std::string>{"/compute", "/compute/a"}));
    EXPECT_EQ(paths_for(policy, fast), (std::vector<std::string>{"/compute", "/storage", "/compute/fast", "/compute/a",
                                                                 "/storage/b", "/compute/fast/c", "/d"}));
    EXPECT_EQ(to_tree_spec(policy).elements.size(), 7U) << "without a device, all of it";
}

TEST(Lower, ALevelThatIsOnlyMonitoredHasNothing)
{
    Policy policy;
    policy.nodes = {node("tenants"), node("new"), node("inner", 1), node("empty")};
    policy.levels = {level("a", 0), level("b", 0), level("c"), level("d", 2)};
    policy.levels[3].mode = Mode::Monitor;
    for (const std::size_t monitored : {1, 2}) {
        policy.levels[monitored].mode = Mode::Monitor;
        policy.levels[monitored].per_queue_pair.max_rate = Bandwidth::from_gbps(1);
    }
    policy.levels[2].schedule.reset();
    EXPECT_EQ(paths_for(policy, {}), (std::vector<std::string>{"/tenants", "/empty", "/tenants/a"}))
        << "nodes that are only there for monitored levels are not";
    EXPECT_THAT(to_tree_spec(policy).limits, testing::IsEmpty());
    EXPECT_EQ(class_path(policy, policy.levels[1]).text(), "/tenants/b") << "where it would be";
    policy.levels[3].mode = Mode::Enforce;
    EXPECT_EQ(paths_for(policy, {}),
              (std::vector<std::string>{"/tenants", "/new", "/new/inner", "/empty", "/tenants/a", "/new/inner/d"}));
}

TEST(Lower, WhatIsForADeviceIsForItAllTheWayUp)
{
    const ElementDevices devices{{ElementPath("/a"), {DeviceSelector{"mlx5_1", "", "", {}, {}}}},
                                 {ElementPath("/b/c"), {DeviceSelector{"mlx5_0", "", "", {}, {}}}}};
    const DeviceNames device{"mlx5_0", 1, "", "", {}, {}};
    EXPECT_FALSE(is_for_device(ElementPath("/a"), devices, device));
    EXPECT_FALSE(is_for_device(ElementPath("/a/b/c"), devices, device));
    EXPECT_TRUE(is_for_device(ElementPath("/b/c/d"), devices, device));
    EXPECT_TRUE(is_for_device(ElementPath("/ab"), devices, device));
    EXPECT_TRUE(is_for_device(ElementPath(), devices, device)) << "a limit without a class";
}

TEST(Lower, ALimitOfAClassElsewhereStays)
{
    Policy policy;
    policy.levels = {level("a")};
    policy.levels[0].devices = {DeviceSelector{"mlx5_1", "", "", {}, {}}};
    policy.levels[0].per_queue_pair.max_rate = Bandwidth::from_gbps(1);
    const auto spec = to_tree_spec(policy, {"mlx5_0", 1, "", "", {}, {}});
    EXPECT_TRUE(spec.elements.empty());
    ASSERT_EQ(spec.limits.size(), 1U);
    EXPECT_TRUE(spec.limits[0].class_path.empty()) << "it is held by pacing, or not";
}

TEST(PrincipalSegment, NamesWhoIsCounted)
{
    const auto identity = process("/system.slice/job-7.scope", "job-7.scope");
    EXPECT_EQ(principal_segment(FairBy::None, "", identity, QueuePairId{17}), "");
    EXPECT_EQ(principal_segment(FairBy::QueuePair, "", identity, QueuePairId{17}), "qp:17");
    EXPECT_EQ(principal_segment(FairBy::Process, "", identity, QueuePairId{17}), "pid:4711");
    EXPECT_EQ(principal_segment(FairBy::User, "", identity, QueuePairId{17}), "uid:1000");
    EXPECT_EQ(principal_segment(FairBy::Unit, "", identity, QueuePairId{17}), "unit:job-7.scope");
}

TEST(PrincipalSegment, AProcessOutsideAnyUnitIsItself)
{
    EXPECT_EQ(principal_segment(FairBy::Unit, "", process("/", ""), QueuePairId{17}), "pid:4711");
}

TEST(PrincipalSegment, UnitsOfUsersAreTheirOwn)
{
    const std::string manager = "/user.slice/user-1000.slice/user@1000.service";
    EXPECT_EQ(
        principal_segment(FairBy::Unit, "", process(manager + "/app.slice/app.service", "app.service"), QueuePairId{1}),
        "uid:1000,unit:app.service");
    EXPECT_EQ(principal_segment(FairBy::Unit, "", process(manager, "user@1000.service"), QueuePairId{1}),
              "unit:user@1000.service");
}

TEST(PrincipalSegment, IsAlwaysOneSegment)
{
    const auto segment = principal_segment(FairBy::Unit, "", process("/x", "a/b\x01.service"), QueuePairId{1});
    EXPECT_EQ(segment, "unit:a%2Fb%01.service");
}

}    // namespace
}    // namespace rdmaqos
