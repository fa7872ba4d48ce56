#include "tools/rdma-qosctl/world/online.h"

#include <gtest/gtest.h>

#include "tests/unit/ctl/sample.h"

namespace rdmaqos::ctl {
namespace {

using namespace rdmaqos::ctl::test;

bus::Dict device_properties(const std::string& name, std::uint32_t port)
{
    return dict({{"Name", name},
                 {"Port", port},
                 {"NodeGUID", std::uint64_t{0x10}},
                 {"NetDev", "ens" + std::to_string(port)},
                 {"PCIAddress", "0000:3b:00." + std::to_string(port)},
                 {"BoardId", "MT_0000000359"},
                 {"VirtualFunction", true},
                 {"Bond", "bond0"},
                 {"AttachReason", "because"},
                 {"SelfTest", std::vector<bus::Dict>{dict({{"name", "create"}, {"passed", true}}),
                                                     dict({{"name", "attach"},
                                                           {"passed", false},
                                                           {"errno", 121U},
                                                           {"status", std::uint8_t{3}},
                                                           {"syndrome", 7U},
                                                           {"remark", "refused"}})}},
                 {"Attributes", bus::Triples{{"max_qp", "131072", "many"}, {"max_ee", "unsupported", ""}}},
                 {"LinkUp", true},
                 {"LinkSpeed", std::uint64_t{100'000'000}},
                 {"State", "ready"},
                 {"Capabilities", dict({{"scheduling", true},
                                        {"max-leaves", 256U},
                                        {"attachable", std::vector<std::string>{"rc", "raw-packet", "newtype"}},
                                        {"pacing-burst", true},
                                        {"pacing-min-rate", std::uint64_t{1000}}})},
                 {"Tree", std::vector<bus::Dict>{dict({{"path", "/"}, {"kind", "node"}, {"draining", false}}),
                                                 dict({{"path", "/a"},
                                                       {"parent", "/"},
                                                       {"kind", "leaf"},
                                                       {"share", 7U},
                                                       {"max-rate", std::uint64_t{4'096'000}},
                                                       {"queue-pairs", 2U},
                                                       {"draining", true}})}},
                 {"Findings", std::vector<bus::Dict>{dict({{"message", "f"}})}},
                 {"Statistics", bus::Counts{{"operations", 2}}}});
}

TEST(Online, Device)
{
    const DeviceView device = to_device(device_properties("mlx5_0", 1));
    EXPECT_EQ(device.key(), "mlx5_0/1");
    EXPECT_EQ(device.link_speed, Bandwidth::from_gbps(100));
    EXPECT_TRUE(device.capabilities.scheduling);
    EXPECT_EQ(device.capabilities.max_leaves, 256U);
    EXPECT_EQ(device.capabilities.attachable, (std::set{QueuePairType::Rc, QueuePairType::RawPacket}));
    EXPECT_EQ(device.capabilities.pacing.min_rate, Bandwidth::from_mbps(1));
    EXPECT_FALSE(device.capabilities.pacing.max_rate.has_value());
    EXPECT_TRUE(device.capabilities.pacing.burst);
    EXPECT_FALSE(device.capabilities.pacing.typical_packet);
    EXPECT_EQ(device.board_id, "MT_0000000359");
    EXPECT_TRUE(device.virtual_function);
    EXPECT_EQ(device.bond, "bond0");
    EXPECT_EQ(device.attach_reason, "because");
    ASSERT_EQ(device.self_test.size(), 2U);
    EXPECT_TRUE(device.self_test[0].passed);
    EXPECT_EQ(device.self_test[1].sys_errno, 121U);
    ASSERT_EQ(device.attributes.size(), 2U);
    EXPECT_EQ(device.attributes[0].meaning, "many");
    EXPECT_EQ(device.attributes[1].value, "unsupported");
    ASSERT_EQ(device.tree.size(), 2U);
    EXPECT_FALSE(device.tree[0].share.has_value());
    EXPECT_EQ(device.tree[1].kind, ElementKind::Leaf);
    EXPECT_EQ(device.tree[1].share, 7U);
    EXPECT_EQ(device.tree[1].max_rate, Bandwidth::from_mbps(4096));
    EXPECT_TRUE(device.tree[1].draining);
    EXPECT_EQ(device.statistics, (bus::Counts{{"operations", 2}}));
}

TEST(Online, MissingAndMistypedPropertiesCountAsAbsent)
{
    const DeviceView device = to_device(
        dict({{"Name", 7U}, {"Port", "one"}, {"Tree", "?"}, {"LinkSpeed", true}, {"Attributes", "?"}}));
    EXPECT_EQ(device.name, "");
    EXPECT_EQ(device.port, 1U);
    EXPECT_TRUE(device.tree.empty());
    EXPECT_TRUE(device.attributes.empty());
    EXPECT_TRUE(device.self_test.empty());
    EXPECT_TRUE(device.link_speed.is_zero());
    EXPECT_EQ(to_device(dict({{"NodeGUID", -1}})).node_guid, 0U);
}

TEST(Online, Session)
{
    const SessionView session = to_session(
        "/org/rdmaqos1/session/42",
        dict({{"Owner", dict({{"pid", 4711U}, {"uid", 1000U}, {"unit", "a.scope"}, {"command", "cmd"}})},
              {"State", "active"},
              {"Level", "rpc"},
              {"Grant", dict({{"level", "rpc"}})}}));
    EXPECT_EQ(session.id, 42U);
    EXPECT_EQ(session.owner.pid, 4711U);
    EXPECT_EQ(session.owner.unit, "a.scope");
    EXPECT_EQ(session.level, "rpc");
    EXPECT_EQ(session.grant.level, "rpc");
    EXPECT_FALSE(session.adopted) << "an older daemon does not tell";
    EXPECT_TRUE(to_session("/org/rdmaqos1/session/43", dict({{"Adopted", true}})).adopted);
}

TEST(Online, Adoption)
{
    EXPECT_EQ(to_manager(bus::Dict()).adoption.setting, "") << "an older daemon does not tell";
    const api::Adoption adoption = to_manager(dict({{"Adoption", dict({{"setting", "adopt"},
                                                                       {"unavailable", "the kernel is too old"},
                                                                       {"programs", 12U},
                                                                       {"queue-pairs", 96U}})}}))
                                       .adoption;
    EXPECT_EQ(adoption.setting, "adopt");
    EXPECT_EQ(adoption.unavailable, "the kernel is too old");
    EXPECT_EQ(adoption.programs, 12U);
    EXPECT_EQ(adoption.queue_pairs, 96U);
}

TEST(Online, DevicesAreSortedByNameAndNumber)
{
    bus::ManagedObjects objects;
    objects["/org/rdmaqos1/device/b"][kDeviceInterface] = device_properties("mlx5_1", 1);
    objects["/org/rdmaqos1/device/c"][kDeviceInterface] = device_properties("mlx5_0", 2);
    objects["/org/rdmaqos1/device/d"][kDeviceInterface] = device_properties("mlx5_0", 1);
    objects["/org/rdmaqos1"]["org.freedesktop.DBus.Peer"] = {};
    const World world = to_world(to_manager(dict({{"Version", "1"}, {"PolicySources", std::vector<std::string>{"a"}}})),
                                 objects);
    EXPECT_EQ(world.manager.version, "1");
    ASSERT_EQ(world.devices.size(), 3U);
    EXPECT_EQ(world.devices[0].key(), "mlx5_0/1");
    EXPECT_EQ(world.devices[1].key(), "mlx5_0/2");
}

TEST(Online, FindDevice)
{
    World world;
    world.devices = {to_device(device_properties("mlx5_0", 1)), to_device(device_properties("mlx5_0", 2))};
    struct Case {
        const char* name;
        std::uint32_t port;
    };
    for (const auto& [name, port] :
         {Case{"mlx5_0", 1}, Case{"mlx5_0/2", 2}, Case{"ens2", 2}, Case{"0000:3b:00.1", 1}}) {
        const auto device = find_device(world, name);
        ASSERT_TRUE(device.has_value()) << name;
        EXPECT_EQ((*device)->port, port) << name;
    }
    const auto missing = find_device(world, "mlx5_9");
    ASSERT_FALSE(missing.has_value());
    EXPECT_EQ(missing.error().code, ErrorCode::UnknownDevice);
    EXPECT_EQ(missing.error().message, "there is no device mlx5_9; there are: mlx5_0/1, mlx5_0/2");
    EXPECT_EQ(find_device(World{}, "x").error().message, "there is no device x: the daemon has none");
}

TEST(Online, UsersHaveNamesWhereThisHostHas)
{
    UserNames names;
    EXPECT_EQ(names.name_of(0), "root");
    EXPECT_EQ(names.name_of(0xFFFFFFF0), "");
}

}    // namespace
}    // namespace rdmaqos::ctl
