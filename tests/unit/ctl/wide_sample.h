// What rdma-qosctl shows, with names as long as clusters have them.
#pragma once

#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/unit/ctl/sample.h"
#include "tests/unit/ctl/simulate_sample.h"
#include "tools/rdma-qosctl/rendering/check.h"
#include "tools/rdma-qosctl/world/broadcast.h"

namespace rdmaqos::ctl::test {

inline constexpr const char* kWideLevel = "distributed-training-gold";
inline constexpr const char* kWideClass = "/site/tenants/gold/distributed-training";
inline constexpr const char* kWideLeaf = "/site/tenants/gold/distributed-training/pid:4711";
inline constexpr const char* kWideUnit = "slurmstepd-extern-job-1234567.scope";
inline constexpr const char* kWideRule =
    "match rule 12 (/etc/rdma-qos/policy.d/60-storage.yaml:40:5): service-id 0x10064 (claimed)";

inline DeviceView wide_device(const std::string& name)
{
    DeviceView device = sample_device(name);
    const std::string parent = kWideClass;
    device.tree = {{"/", "", ElementKind::Node, std::nullopt, std::nullopt, 0, false},
                   {"/backup-of-the-archive", "/", ElementKind::Leaf, 30, std::nullopt, 1600, true},
                   {"/site", "/", ElementKind::Node, 70, Bandwidth::from_gbps(80), 0, false},
                   {"/site/tenants", "/site", ElementKind::Node, 100, std::nullopt, 0, false},
                   {"/site/tenants/gold", "/site/tenants", ElementKind::Node, 100, std::nullopt, 0, false},
                   {parent, "/site/tenants/gold", ElementKind::Node, 60, Bandwidth::from_gbps(40), 0, false},
                   {parent + "/others", parent, ElementKind::Leaf, 1, std::nullopt, 0, false},
                   {kWideLeaf, parent, ElementKind::Leaf, 1, std::nullopt, 2, true},
                   {parent + "/unit:" + kWideUnit, parent, ElementKind::Leaf, 1, std::nullopt, 2, false}};
    device.queue_pairs_inside = 1604;
    return device;
}

// Its queue pairs are held to nothing.
inline World wide_world()
{
    World world = sample_world();
    world.devices = {wide_device("rocep59s0f0np0"), wide_device("rocex1070fd0300aa0000")};
    SessionView& session = world.sessions.front();
    session.owner.unit = kWideUnit;
    session.level = kWideLevel;
    session.grant.rule = kWideRule;
    for (auto& queue_pair : session.queue_pairs) {
        queue_pair.device = world.devices[0].key();
        queue_pair.level = kWideLevel;
        queue_pair.leaf = kWideLeaf;
        queue_pair.enforced = false;
        queue_pair.reason = "the device's leaves are used up; 12 processes share the fallback leaf of the class";
    }
    return world;
}

inline CheckReport wide_check(bool is_error)
{
    CheckReport report;
    report.sources = {"/etc/rdma-qos/policy.yaml", "/etc/rdma-qos/policy.d/50-tenants.yaml",
                      "/etc/rdma-qos/policy.d/60-storage.yaml"};
    report.revision = "9f3a2c11";
    report.levels = 12;
    report.note = "checked against the default profile (a ConnectX-6 Dx at 100 Gbit/s); --devices FILE names others";
    report.devices = {{"rocep59s0f0np0/1",
                       3,
                       6,
                       {},
                       {{"rocep59s0f0np0/1",
                         {FindingKind::MinRateMissed, is_error, ElementPath(kWideClass), "min-rate 10 Gbit/s",
                          "8.333 Gbit/s", "its parent is capped at 25 Gbit/s"},
                         is_error ? FindingVerdict::Refuses : FindingVerdict::Harmless}}}};
    report.unresolved = {
        "port-group storage-targets-of-the-second-building: partition Part7 is not in the fabric file"};
    return report;
}

inline CheckReport mistaken_check()
{
    CheckReport report;
    const auto file = std::make_shared<SourceFile>(
        SourceFile{"policy.yaml", "version: 1\nqos-levels:\n  - {name: DEFAULT, sll: 0}\n"});
    report.diagnostics.error({file, 3, 20, 3}, "unknown key `sll` in `qos-levels`").hint = "did you mean `sl`?";
    return report;
}

inline SimulationReport wide_simulation(bool over_time)
{
    const std::string policy = R"(scheduling-nodes:
  - {name: tenants-of-the-site, share: 70, max-rate: 80Gbps}
qos-levels:
  - {name: DEFAULT}
  - {name: distributed-training-gold, schedule: {parent: tenants-of-the-site, share: 3, fair-by: process}}
  - {name: backup-of-the-archive, schedule: {parent: tenants-of-the-site, max-rate: 30Gbps}}
)";
    const LoadedTree loaded = loaded_policy(policy, {"distributed-training-gold*8=1Gbps,distributed-training-gold=inf,"
                                                     "backup-of-the-archive=inf,DEFAULT=inf"});
    SimulationReport report;
    report.over_time = over_time;
    report
        .note = "who would get what with /etc/rdma-qos/policy.yaml, /etc/rdma-qos/policy.d/50-tenants.yaml on a device "
                "of the default profile (a ConnectX-6 Dx at 100 Gbit/s)";
    SimulatedPort port{"rocep59s0f0np0/1",
                       Bandwidth::from_gbps(100),
                       {"distributed-training-gold: its limit of 2 Gbit/s for each queue pair is not simulated"},
                       {}};
    port.steps.push_back(simulate_step(loaded, port.link_speed));
    port.steps[0].until = std::chrono::minutes(1);
    if (over_time) {
        port.steps[0].use = "the night's backup while nobody trains, as it is measured on the first day of each month";
    } else {
        port.steps[0].deviation = Deviation{
            ElementPath("/tenants-of-the-site/backup-of-the-archive"), 30e6, 29.9e6, 0.3, 7, 1};
    }
    report.ports.push_back(port);
    return report;
}

// The group and the path of a partition agree in nothing.
inline BroadcastReport wide_broadcast()
{
    IpoibParameters group;
    group.sl = 3;
    group.mtu = IbMtu::Mtu2048;
    group.rate = ib_rate_from_bandwidth(Bandwidth::from_gbps(10));
    group.packet_life = 18;
    return compare_broadcast({"storage-of-the-second-building", 0x1234, group}, {.level = kWideLevel,
                                                                                 .rule = kWideRule,
                                                                                 .mtu = 1024,
                                                                                 .rate = Bandwidth::from_gbps(5),
                                                                                 .packet_life = 16,
                                                                                 .pkey = 0x9234,
                                                                                 .sl = 0});
}

// On each of two devices, `count` sessions get another level.
inline PlanReport moves(std::size_t count)
{
    PlanReport report;
    report.note = "what a reload with the host's files would do, by the running daemon:";
    const ElementPath root = ElementPath::root();
    DescribedOperation create;
    create.path = root.child("gold");
    create.parent = root;
    create.element_kind = ElementKind::Leaf;
    create.share = 10;
    DescribedPlan plan;
    plan.tree = {
        {root, {}, ElementKind::Node, ElementAttributes{}, ElementAttributes{}, 0, 0},
        {create.path, root, ElementKind::Leaf, {}, ElementAttributes{10, {}}, 0, static_cast<std::uint32_t>(count)}};
    plan.operations = {create};
    for (std::size_t i = 1; i <= count; ++i) {
        DescribedOperation move;
        move.kind = DescribedOperation::Kind::Move;
        move.queue_pair = static_cast<std::uint32_t>(i);
        move.leaf_before = root.child("rpc");
        move.leaf = create.path;
        plan.operations.push_back(move);
        report.sessions.push_back({.session = i,
                                   .pid = 4000U + static_cast<std::uint32_t>(i),
                                   .command = "trainer",
                                   .device = "mlx5_0/1",
                                   .queue_pairs = 1,
                                   .level_before = "rpc",
                                   .level_after = "gold",
                                   .leaf_before = "/rpc",
                                   .leaf_after = create.path.text(),
                                   .user = "alice"});
    }
    DescribedOperation detach;
    detach.kind = DescribedOperation::Kind::Move;
    detach.queue_pair = 9;
    detach.leaf_before = root.child("old");
    plan.operations.push_back(detach);
    for (const char* device : {"mlx5_0/1", "mlx5_1/1"}) {
        report.plans.push_back({device, plan, {}, Bandwidth::from_gbps(100), {}});
    }
    return report;
}

inline PlanReport wide_plan()
{
    PlanReport report;
    report.note = "what a reload with /etc/rdma-qos/candidates/policy-of-the-second-building.yaml would do, by the "
                  "running daemon:";
    report.levels = {{kWideLevel, "changed",
                      "max-rate 40 Gbit/s -> 30 Gbit/s, allow group hpc -> group hpc, group "
                      "storage-of-the-second-building"}};
    const ElementPath root = ElementPath::root();
    const ElementPath path(kWideClass);
    DescribedOperation modify;
    modify.kind = DescribedOperation::Kind::Modify;
    modify.path = path;
    modify.share_before = 60;
    modify.share = 40;
    modify.max_rate_before = Bandwidth::from_gbps(40);
    modify.max_rate = Bandwidth::from_gbps(30);
    DescribedPlan plan;
    plan.tree = {{root, {}, ElementKind::Node, ElementAttributes{}, ElementAttributes{}, 0, 0},
                 {path, root, ElementKind::Leaf, ElementAttributes{60, modify.max_rate_before},
                  ElementAttributes{40, modify.max_rate}, 16, 1600}};
    plan.operations = {modify};
    const api::Finding finding{
        .message = fmt::format(
            "{}: requested min-rate 10 Gbit/s, achievable 8.333 Gbit/s: its parent is capped at 25 Gbit/s",
            kWideClass)};
    report.plans = {{"rocep59s0f0np0/1",
                     plan,
                     {finding},
                     Bandwidth::from_gbps(100),
                     {{path, {Bandwidth::from_kbps(42'345'678), Bandwidth::from_kbps(23'333'333)}}}}};
    report.sessions = {{.session = 1234567,
                        .pid = 4194303,
                        .command = "nccl-perf-train",
                        .device = "rocep59s0f0np0/1",
                        .queue_pairs = 1600,
                        .level_before = kWideLevel,
                        .level_after = "backup-of-the-archive",
                        .leaf_before = kWideLeaf,
                        .leaf_after = "/backup-of-the-archive",
                        .user = "alice"}};
    return report;
}

}    // namespace rdmaqos::ctl::test
