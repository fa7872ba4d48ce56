// A daemon's answers, made by hand: two devices, three levels, two sessions.
#pragma once

#include "lib/base/units.h"
#include "tools/rdma-qosctl/world/views.h"

namespace rdmaqos::ctl::test {

inline bus::Dict dict(std::vector<bus::Dict::Entry> entries)
{
    bus::Dict result;
    for (auto& [key, value] : entries) {
        result.set(key, std::move(value));
    }
    return result;
}

inline api::Level sample_level_default()
{
    return {.name = "DEFAULT", .sl = 0};
}

inline api::Level sample_level_rpc()
{
    return {.name = "rpc",
            .use = "latency-sensitive RPC",
            .sl = 3,
            .mtu_limit = 4096,
            .rate_limit = Bandwidth::from_gbps(40),
            .packet_life = 16,
            .traffic_class = 104,
            .class_path = "/tenants/rpc",
            .share = 60,
            .max_rate = Bandwidth::from_gbps(40),
            .fair_by = "process",
            .restricted = true,
            .sessions = 1,
            .queue_pairs = 2};
}

inline api::Level sample_level_bulk()
{
    return {.name = "bulk",
            .class_path = "/bulk",
            .share = 30,
            .fair_by = "none",
            .per_queue_pair_max_rate = Bandwidth::from_mbps(2500),
            .sessions = 1,
            .queue_pairs = 1};
}

// Of the host: in a leaf, of a program that did not register, of the kernel, of nobody who is known.
inline std::vector<api::HostQueuePair> sample_host()
{
    std::vector<api::HostQueuePair> all{
        {.number = 1, .type = "gsi", .kernel = "ib_core", .outside = "kernel"},
        {.number = 17,
         .type = "rc",
         .remote = 4711,
         .pid = 4711,
         .uid = 1000,
         .user = "alice",
         .unit = "job-7.scope",
         .command = "ib_send_bw",
         .session = 3,
         .level = "rpc",
         .rule = "session",
         .leaf = "/tenants/rpc/pid:4711",
         .enforced = true},
        {.number = 40, .type = "rc", .outside = "owner-unknown"},
        {.number = 99, .type = "ud", .pid = 815, .uid = 4242, .command = "cp\x1b[31m", .outside = "unregistered"}};
    for (auto& each : all) {
        each.device = "mlx5_0/1";
        each.state = "RTS";
    }
    return all;
}

// Of a program that did not register, while programs are adopted.
inline api::HostQueuePair not_adopted(std::uint32_t number, const char* outside, const char* reason = "")
{
    return {.device = "mlx5_0/1",
            .number = number,
            .type = "rc",
            .state = "RTS",
            .pid = 4712,
            .uid = 1000,
            .user = "alice",
            .command = "ib_write_bw",
            .reason = reason,
            .outside = outside};
}

constexpr const char* kSharedFile = "its device file was opened without DEVX: let the program register, or run it with "
                                    "rdma-qos-run";

inline std::vector<api::HostQueuePair> sample_not_adopted()
{
    std::vector<api::HostQueuePair> all{not_adopted(20, "no-rule"), not_adopted(21, "no-schedule"),
                                        not_adopted(22, "excluded"), not_adopted(23, "not-ready")};
    for (std::uint32_t number = 24; number < 30; ++number) {
        all.push_back(not_adopted(number, "not-adoptable", kSharedFile));
    }
    all.push_back(not_adopted(30, "not-adoptable", "mlx5_0/1 cannot schedule queue pairs of type xrc-ini"));
    return all;
}

inline std::vector<api::HostCount> sample_host_counts()
{
    return {{"mlx5_0/1", "", 3},
            {"mlx5_0/1", "kernel", 2},
            {"mlx5_0/1", "not-attached", 2},
            {"mlx5_1/1", "unregistered", 38},
            {"mlx5_1/1", "kernel", 2},
            {.device = "rxe0", .failure = "the kernel does not list the queue pairs of rxe0: No such device"}};
}

inline Capabilities sample_capabilities()
{
    Capabilities capabilities;
    capabilities.scheduling = true;
    capabilities.shares = true;
    capabilities.rate_caps = true;
    capabilities.max_depth = 4;
    capabilities.max_leaves = 256;
    capabilities.max_elements = 8192;
    capabilities.max_share = 100;
    capabilities.attachable = {QueuePairType::Rc, QueuePairType::Uc};
    capabilities.pacing.supported_types = {QueuePairType::RawPacket};
    capabilities.pacing.table_size = 127;
    return capabilities;
}

inline DeviceView sample_device(const std::string& name)
{
    DeviceView device;
    device.name = name;
    device.node_guid = 0x1070fd0300aa0000;
    device.port_guid = 0x1070fd0300aa0001;
    device.netdev = "ens1f0np0";
    device.pci_address = "0000:3b:00.0";
    device.driver = "model";
    device.firmware = "22.31.1014";
    device.link_layer = "ethernet";
    device.link_up = true;
    device.link_speed = Bandwidth::from_gbps(100);
    device.state = "ready";
    device.attach_mode = "shared";
    device.capabilities = sample_capabilities();
    device.elements_used = 6;
    device.elements_free = 8186;
    device.leaves_used = 3;
    device.leaves_free = 253;
    device.queue_pairs_inside = 3;
    device.tree = {{"/", "", ElementKind::Node, std::nullopt, std::nullopt, 0, false},
                   {"/bulk", "/", ElementKind::Leaf, 30, std::nullopt, 1, false},
                   {"/tenants", "/", ElementKind::Node, 70, Bandwidth::from_gbps(80), 0, false},
                   {"/tenants/rpc", "/tenants", ElementKind::Node, 60, Bandwidth::from_gbps(40), 0, false},
                   {"/tenants/rpc/others", "/tenants/rpc", ElementKind::Leaf, 1, std::nullopt, 0, false},
                   {"/tenants/rpc/pid:4711", "/tenants/rpc", ElementKind::Leaf, 1, std::nullopt, 2, false}};
    device.statistics = {{"operations", 6}, {"failed", 0}, {"drift-found", 0}};
    return device;
}

// A virtual function of a card in a bond, which refused one step of its self-test.
inline DeviceView sample_hardware()
{
    DeviceView device = sample_device("mlx5_0");
    device.driver = "mlx5";
    device.board_id = "MT_0000000359";
    device.virtual_function = true;
    device.bond = "bond-storage";
    device.netdev = "enx1070fdaa0000";
    device.reason = "create /customer: no space";
    device.attach_mode = "per-process";
    device.attach_reason = "the device refuses the leaf of another process (port enx1070fdaa0000 in bond-storage)";
    device.capabilities.pacing.burst = true;
    device.self_test = {
        {"create elements", true, 0, 0, 0, "", "shared leaf"},
        {"create elements", false, 121, 2, 0x51c00b, "the root", "shared leaf, legacy"},
        {"queue pair of another process", true},
        {"create elements", true, 0, 0, 0, "", "own tree"},
        {"change", true, 0, 0, 0, "", "shared leaf"},
        {"read back", true, 0, 0, 0, "", "shared leaf"},
        {"attach in INIT", false, 121, 3, 0x51c00a,
         "a queue pair of one process may not use the leaf of another, so each process gets a tree of its own, "
         "seen from 1070:fd03:00aa:0001",
         "shared leaf"},
        {"attach in INIT", true, 0, 0, 0, "", "own tree"},
        {"detach in INIT", false, 4711, 0, 0, "", "own tree"},
    };
    device.attributes = {
        {"orig_attr.fw_ver", "22.31.1014", "what the self-test found holds for this firmware"},
        {"orig_attr.node_guid", "0x1070fd0300aa0000", ""},
        {"orig_attr.sys_image_guid", "0x1070FD0300AA0FFE", "devices with the same one are functions of one card"},
        {"comp_mask", "none", ""},
        {"completion_timestamp_mask", "0x7fffffffffffffff", ""},
        {"orig_attr.device_cap_flags",
         "BAD_PKEY_CNTR, BAD_QKEY_CNTR, AUTO_PATH_MIG, CHANGE_PHY_PORT, PORT_ACTIVE_EVENT, SYS_IMAGE_GUID, "
         "RC_RNR_NAK_GEN, MEM_WINDOW",
         ""},
        {"packet_pacing_caps.qp_rate_limit_min", "not stated",
         "lowest `max-rate` of a queue pair that pacing can hold, as far as the device says, which some do not"},
    };
    return device;
}

inline SessionView sample_session_rpc()
{
    SessionView session;
    session.id = 3;
    session.owner = {.pid = 4711,
                     .start_time = 123456,
                     .uid = 1000,
                     .user = "alice",
                     .unit = "job-7.scope",
                     .cgroup = "/user.slice/job-7.scope",
                     .executable = "/usr/bin/ib_send_bw",
                     .command = "ib_send_bw"};
    session.state = "active";
    session.level = "rpc";
    session.grant = {.level = "rpc",
                     .rule = "match rule 1 (policy.yaml:40:5): service-id 0x10064 (claimed)",
                     .sl = 3,
                     .traffic_class = 104,
                     .share = 60,
                     .max_rate = Bandwidth::from_gbps(40),
                     .leaf = "/tenants/rpc/pid:4711",
                     .enforced = true};
    session.queue_pairs = {{.device = "mlx5_0/1",
                            .number = 17,
                            .level = "rpc",
                            .rule = "session",
                            .leaf = "/tenants/rpc/pid:4711",
                            .enforced = true},
                           {.device = "mlx5_0/1",
                            .number = 18,
                            .level = "bulk",
                            .rule = "match rule 2 (policy.yaml:44:5): destination 10.2.0.9 (claimed)",
                            .leaf = "/bulk",
                            .rate = RateLimit{Bandwidth::from_mbps(2500), {}, {}},
                            .enforced = true}};
    return session;
}

// The same process, if it did not register.
inline SessionView sample_session_adopted()
{
    SessionView session = sample_session_rpc();
    session.adopted = true;
    session.grant.rule = "match rule 3 (policy.yaml:48:5): client command ib_send_bw";
    session.grant.verified = true;
    return session;
}

inline SessionView sample_session_bulk()
{
    SessionView session;
    session.id = 12;
    session.owner = {.pid = 815, .uid = 4242, .command = "cp\x1b[31m"};
    session.state = "active";
    session.level = "bulk";
    session.grant = {.level = "bulk", .rule = "requested by name", .reason = "1 of 1 queue pair not enforced"};
    session.queue_pairs = {{.device = "mlx5_0/1",
                            .number = 99,
                            .level = "bulk",
                            .rule = "session",
                            .leaf = "/bulk",
                            .reason = "pacing of rc queue pairs is not supported"}};
    return session;
}

// As after a reload that removed rpc, in which it was with its session.
inline SessionView sample_session_without_level()
{
    SessionView session = sample_session_rpc();
    session.id = 21;
    const std::string rule = "the policy has no level \"rpc\"";
    const std::string reason =
        "it has no level since the reload of 2026-11-23T22:00:00Z (revision 9f3a2c11), which removed level rpc";
    const api::Lost lost{"rpc", 1'795'471'200, "removed", "", "9f3a2c11"};
    session.level.clear();
    session.grant = {.rule = rule, .cause = "no-level", .reason = reason, .lost = lost};
    session.queue_pairs = {
        {.device = "mlx5_0/1", .number = 31, .rule = rule, .cause = "no-level", .reason = reason, .lost = lost}};
    return session;
}

inline World sample_world()
{
    World world;
    world.manager.version = "0.1.0";
    world.manager.features = {"qos-levels", "scheduling", "simulated"};
    world.manager.mode = "enforce";
    world.manager.policy_revision = "9f3a2c11";
    world.manager.policy_sources = {"/etc/rdma-qos/policy.yaml", "/etc/rdma-qos/policy.d/60-site.yaml"};
    world.manager.levels = {sample_level_default(), sample_level_rpc(), sample_level_bulk()};
    world.manager.statistics = {{"registers", 2}, {"reloads", 1}};
    world.devices = {sample_device("mlx5_0"), sample_device("mlx5_1")};
    world.sessions = {sample_session_rpc()};
    return world;
}

inline Diagnostics sample_diagnostics()
{
    Diagnostics diagnostics;
    diagnostics.error({std::make_shared<SourceFile>(SourceFile{"policy.yaml", "      max-rat: 40Gbps", 12}), 12, 7, 7},
                      "unknown key `max-rat` in `schedule`");
    return diagnostics;
}

// Everything that can be wrong at once.
inline World troubled_world()
{
    World world = sample_world();
    world.manager.last_reload.accepted = false;
    world.manager.last_reload.diagnostics = sample_diagnostics();
    world.devices[0].state = "degraded";
    world.devices[0].reason = "1 element cannot be made: the device is out of leaves";
    world.devices[0].failures = {{.message = "create /tenants/rpc/pid:9: no space (tried 3 times)"}};
    world.devices[0].findings = {
        {.kind = "min-rate-missed",
         .message = "/tenants: requested min-rate 10 Gbit/s, achievable 8.333 Gbit/s: shares are 1 to 100"}};
    world.devices[0].leaves_free = 0;
    world.devices[0].leaves_used = 256;
    world.devices[0].tree[1].draining = true;
    world.devices[1].link_up = false;
    world.devices[1].attach_mode = "none";
    world.devices[1].shapers = {
        {"the queueing discipline mqprio of ens1f0np0 is offloaded to the NIC", "tc qdisc show dev ens1f0np0"}};
    world.sessions.push_back(sample_session_bulk());
    world.sessions.back().state = "detached";
    return world;
}

}    // namespace rdmaqos::ctl::test
