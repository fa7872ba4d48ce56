#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/match/policy_dsl.h"

namespace rdmaqos {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::IsEmpty;

// Two servers, one of them with two ports, a switch and a router; the ports as in the fabric of the OpenSM corpus.
Fabric small_fabric()
{
    Fabric fabric;
    fabric.ports = {ca_port(0x10000000000001, "vs1 HCA-1", 1, {0xFFFF, 0x8005, 0x8001}),
                    ca_port(0x10000000000002, "vs2 HCA-1", 1, {0xFFFF, 0x9234, 0x8001}),
                    ca_port(0x10000000000005, "vs3", 1, {0xFFFF, 0x8F01}),
                    ca_port(0x10000000000006, "vs3", 2, {0x7FFF, 0x0005}),
                    {Guid{0x20000000000001}, 0, {}, NodeType::Switch, "sw1", {0x7FFF}, false},
                    {Guid{0x30000000000001}, 1, {}, NodeType::Router, "r1", {0xFFFF}, false}};
    fabric.partitions = {{"Default", 0x7FFF, {}}, {"Part1", 5, {}}, {"Ghosts", 0x77, {}}};
    return fabric;
}

struct ResolveCase {
    const char* name;
    PortGroup group;
    std::vector<std::uint64_t> members;
    std::vector<std::string> unresolved;
};

class ResolveTable : public testing::TestWithParam<ResolveCase> {};

TEST_P(ResolveTable, Members)
{
    Policy policy;
    policy.groups = {GetParam().group};
    policy.groups[0].name = "g";
    const auto resolved = resolve(policy, small_fabric(), {});
    std::vector<Interval> expected;
    for (const auto guid : GetParam().members) {
        expected.push_back({guid, guid});
    }
    EXPECT_EQ(resolved.groups.at(0).guids, IntervalSet(expected));
    EXPECT_EQ(resolved.unresolved, GetParam().unresolved);
}

INSTANTIATE_TEST_SUITE_P(
    Table, ResolveTable,
    testing::Values(
        ResolveCase{"empty", {}, {}, {}},
        ResolveCase{"port_name", {.port_names = {"vs1 HCA-1/P1"}}, {0x10000000000001}, {}},
        ResolveCase{"port_name_small_p_and_second_port", {.port_names = {"vs3/p2"}}, {0x10000000000006}, {}},
        ResolveCase{"port_number_as_strtoul_reads_it",
                    {.port_names = {"vs3/P02", "vs3/P1xyz"}},
                    {0x10000000000005, 0x10000000000006},
                    {}},
        ResolveCase{"port_name_is_case_sensitive",
                    {.port_names = {"VS3/P1"}},
                    {},
                    {"port-group g: port-name \"VS3/P1\": no node with this description is in the fabric file"}},
        ResolveCase{"port_not_there",
                    {.port_names = {"vs1 HCA-1/P2"}},
                    {},
                    {"port-group g: port-name \"vs1 HCA-1/P2\": port 2 of this node is not in the fabric file"}},
        ResolveCase{"any_port_of_a_switch_is_the_switch", {.port_names = {"sw1/P3"}}, {0x20000000000001}, {}},
        ResolveCase{"not_a_port_name",
                    {.port_names = {"vs1", "vs1/Q1", "vs1/P", "vs1/P0", "vs1/P-1"}},
                    {},
                    {"port-group g: port-name \"vs1\" is not of the form DESCRIPTION/Pn with a port number from 1",
                     "port-group g: port-name \"vs1/Q1\" is not of the form DESCRIPTION/Pn with a port number from 1",
                     "port-group g: port-name \"vs1/P\" is not of the form DESCRIPTION/Pn with a port number from 1",
                     "port-group g: port-name \"vs1/P0\" is not of the form DESCRIPTION/Pn with a port number from 1",
                     "port-group g: port-name \"vs1/P-1\": no node with this description is in the fabric file"}},
        ResolveCase{"pkey_full_and_limited_members", {.pkeys = number(5)}, {0x10000000000001, 0x10000000000006}, {}},
        ResolveCase{"pkey_range",
                    {.pkeys = numbers({{2, 0x1234}})},
                    {0x10000000000001, 0x10000000000002, 0x10000000000005, 0x10000000000006},
                    {}},
        ResolveCase{"pkey_nobody_has",
                    {.pkeys = numbers({{0x100, 0x200}})},
                    {},
                    {"port-group g: no port with pkey 0x100-0x200 is in the fabric file"}},
        ResolveCase{"partition", {.partitions = {"Part1"}}, {0x10000000000001, 0x10000000000006}, {}},
        ResolveCase{"partition_is_case_sensitive",
                    {.partitions = {"part1"}},
                    {},
                    {"port-group g: partition part1 is not in the fabric file, or has no port there"}},
        ResolveCase{
            "a_partition_without_a_name_is_called_by_its_pkey", {.partitions = {"1234"}}, {0x10000000000002}, {}},
        ResolveCase{"partition_without_members",
                    {.partitions = {"Ghosts"}},
                    {},
                    {"port-group g: partition Ghosts is not in the fabric file, or has no port there"}},
        ResolveCase{
            "self_without_ports", {.self = true}, {}, {"port-group g: node-type SELF: this host has no RDMA port"}}),
    [](const auto& test) { return test.param.name; });

TEST(Resolve, GuidRangesStayIntervals)
{
    Policy policy;
    policy.groups = {PortGroup{.name = "g", .port_guids = numbers({{1, ~0ULL - 1}, {~0ULL, ~0ULL}})}};
    EXPECT_EQ(resolve(policy, {}, {}).groups.at(0).guids, numbers({{1, ~0ULL}}));
}

TEST(Resolve, OfTwoNodesWithOneDescriptionTheFirstInByteSwappedOrder)
{
    Policy policy;
    policy.groups = {PortGroup{.name = "g", .port_names = {"twin/P1"}}};
    Fabric fabric;
    fabric.ports = {ca_port(0x1111, "twin", 1, {}, 0x0102), ca_port(0x2222, "twin", 1, {}, 0x0201)};
    EXPECT_EQ(resolve(policy, fabric, {}).groups.at(0).guids, number(0x2222));
    std::swap(fabric.ports[0], fabric.ports[1]);
    EXPECT_EQ(resolve(policy, fabric, {}).groups.at(0).guids, number(0x2222));
}

TEST(Resolve, OfTwoPartitionsWithOneNameTheFirstInByteSwappedOrder)
{
    Policy policy;
    policy.groups = {PortGroup{.name = "g", .partitions = {"P"}}};
    Fabric fabric;
    fabric.ports = {ca_port(0x1111, "a", 1, {0x0102}), ca_port(0x2222, "b", 1, {0x0201})};
    fabric.partitions = {{"P", 0x0102, {}}, {"P", 0x0201, {}}};
    EXPECT_EQ(resolve(policy, fabric, {}).groups.at(0).guids, number(0x2222));
}

TEST(Resolve, ThePolicysPartitionNamesHelpWhereTheFabricFileIsSilent)
{
    Policy policy;
    policy.groups = {PortGroup{.name = "g", .partitions = {"mine"}}};
    policy.partitions = {{"mine", 0x1234, std::nullopt, {}}};
    EXPECT_EQ(resolve(policy, small_fabric(), {}).groups.at(0).guids, number(0x10000000000002));
    EXPECT_THAT(resolve(policy, {}, {}).unresolved,
                ElementsAre("port-group g: partition mine: no port with pkey 0x1234 is in the fabric file"));
}

TEST(Resolve, NodeTypes)
{
    Policy policy;
    policy.groups = {PortGroup{.name = "g", .node_types = {.router = true}},
                     PortGroup{.name = "h", .node_types = {true, true, true}}};
    const auto resolved = resolve(policy, small_fabric(), {});
    EXPECT_EQ(resolved.groups.at(0).node_types, policy.groups[0].node_types);
    EXPECT_THAT(resolved.unresolved, IsEmpty());
    EXPECT_EQ(resolved.node_types.size(), 6U);
    EXPECT_EQ(resolved.node_types.front(), std::pair(Guid{0x10000000000001}, NodeType::Ca));
    EXPECT_EQ(resolved.node_types.back(), std::pair(Guid{0x30000000000001}, NodeType::Router));
    EXPECT_THAT(resolve(policy, {}, {}).unresolved,
                ElementsAre("port-group g: node-type ROUTER: no such port is in the fabric file"));
}

std::vector<LocalPort> this_host()
{
    return {{Guid{0xA1}, Guid{0xA0}, 1, {gid("fe80::a1"), gid("10.0.0.1")}, {0xFFFF, 0x8042}, "here mlx5_0"},
            {Guid{0xA2}, Guid{0xA0}, 2, {gid("10.0.1.1")}, {0xFFFF}, "here mlx5_0"}};
}

TEST(Resolve, PortsOfThisHostNeedNoFabricFile)
{
    Policy policy;
    policy.groups = {PortGroup{.name = "self", .self = true}, PortGroup{.name = "pkey", .pkeys = number(0x42)},
                     PortGroup{.name = "name", .port_names = {"here mlx5_0/P2"}},
                     PortGroup{.name = "guid", .port_guids = number(0xA2)},
                     PortGroup{.name = "ca", .node_types = {.ca = true}}};
    const auto resolved = resolve(policy, {}, this_host());
    EXPECT_THAT(resolved.unresolved, IsEmpty());
    const auto first = std::vector<GidPrefix>{{gid("fe80::a1"), 128}, {gid("10.0.0.1"), 128}};
    const auto second = std::vector<GidPrefix>{{gid("10.0.1.1"), 128}};
    EXPECT_EQ(resolved.groups.at(0).guids, numbers({{0xA1, 0xA2}}));
    EXPECT_EQ(resolved.groups.at(0).gids.size(), 3U);
    EXPECT_EQ(resolved.groups.at(1).guids, number(0xA1));
    EXPECT_EQ(resolved.groups.at(1).gids, first) << "a member under every address it has";
    EXPECT_EQ(resolved.groups.at(2).guids, number(0xA2));
    EXPECT_EQ(resolved.groups.at(2).gids, second);
    EXPECT_EQ(resolved.groups.at(3).gids, second);
    EXPECT_EQ(resolved.groups.at(4).gids.size(), 3U);
}

TEST(Resolve, TheFabricFileNamesPortsOfThisHost)
{
    Policy policy;
    policy.groups = {PortGroup{.name = "g", .port_names = {"renamed/P1"}}};
    Fabric fabric;
    fabric.ports = {ca_port(0xA1, "renamed", 1, {0x8007})};
    auto resolved = resolve(policy, fabric, this_host());
    EXPECT_EQ(resolved.groups.at(0).guids, number(0xA1));
    EXPECT_EQ(resolved.node_types.size(), 2U);
    policy.groups = {PortGroup{.name = "g", .pkeys = numbers({{7, 0x42}})}};
    resolved = resolve(policy, fabric, this_host());
    EXPECT_EQ(resolved.groups.at(0).guids, number(0xA1)) << "P_Keys of both";
}

TEST(Resolve, APortWithoutGuidCountsByItsAddresses)
{
    Policy policy;
    policy.groups = {PortGroup{.name = "g", .self = true}};
    const auto resolved = resolve(policy, {}, {{{}, {}, 1, {gid("10.0.0.1")}, {}, ""}});
    EXPECT_TRUE(resolved.groups.at(0).guids.empty());
    EXPECT_EQ(resolved.groups.at(0).gids, (std::vector<GidPrefix>{{gid("10.0.0.1"), 128}}));
    EXPECT_THAT(resolved.node_types, IsEmpty());
}

}    // namespace
}    // namespace rdmaqos
