#include "policy/match/port_sets.h"

#include <gtest/gtest.h>

#include "tests/unit/match/policy_dsl.h"

namespace rdmaqos {
namespace {

using namespace test;

class PortSetsTest : public testing::Test {
protected:
    PortSetsTest()
    {
        policy.fabric.ports = {ca_port(1, "node HCA-1"), ca_port(2, "node HCA-2")};
        policy.local = {LocalPort{}};
        add("one", [](PortGroup& g) { g.port_guids = number(1); });
        add("two", [](PortGroup& g) { g.port_guids = number(2); });
        add("both", [](PortGroup& g) { g.port_guids = numbers({{1, 2}}); });
        add("hosts", [](PortGroup& g) { g.node_types.ca = true; });
        add("everything", [](PortGroup& g) { g.node_types = {true, true, true}; });
        add("net", [](PortGroup& g) { g.gids = {prefix("fd00::/63")}; });
        add("net 0", [](PortGroup& g) { g.gids = {prefix("fd00::/64")}; });
        add("net 1", [](PortGroup& g) { g.gids = {prefix("fd00:0:0:1::/64")}; });
        add("a gid", [](PortGroup& g) { g.gids = {prefix("fd00::1")}; });
        add("all guids", [](PortGroup& g) { g.port_guids = numbers({{0, ~std::uint64_t{0}}}); });
        add("ipv4", [](PortGroup& g) { g.gids = {prefix("10.1.0.0/16")}; });
        add("nobody", [](PortGroup&) {});
        add("unknown", [](PortGroup& g) {
            g.port_guids = number(1);
            g.port_names = {"absent/P1"};
        });
        resolved = policy.resolved();
    }

    template <typename Edit>
    void add(std::string name, Edit edit)
    {
        policy.group(std::move(name), edit);
    }

    bool include(const std::vector<std::string>& wide, const std::vector<std::string>& narrow)
    {
        PortSets sets(resolved);
        Effort effort(1000);
        return sets.surely_include(indexes(wide), indexes(narrow), effort);
    }

    PortSets::Groups indexes(const std::vector<std::string>& names) const
    {
        PortSets::Groups groups;
        for (const auto& name : names) {
            groups.push_back(policy.group_index(name));
        }
        std::sort(groups.begin(), groups.end());
        return groups;
    }

    TestPolicy policy;
    ResolvedGroups resolved;
};

TEST_F(PortSetsTest, ByGuids)
{
    EXPECT_TRUE(include({"both"}, {"one"}));
    EXPECT_FALSE(include({"one"}, {"both"}));
    EXPECT_TRUE(include({"one", "two"}, {"both"}));
    EXPECT_TRUE(include({"one"}, {"one"}));
}

TEST_F(PortSetsTest, ByNodeTypesOfKnownPorts)
{
    EXPECT_TRUE(include({"both"}, {"hosts"}));
    EXPECT_TRUE(include({"hosts"}, {"both"}));
    EXPECT_TRUE(include({"everything"}, {"hosts", "net"}));
    EXPECT_FALSE(include({"hosts", "net", "all guids"}, {"everything"})) << "nor does anybody know all LIDs";
}

TEST_F(PortSetsTest, ByGids)
{
    EXPECT_TRUE(include({"net"}, {"net 0", "net 1"}));
    EXPECT_TRUE(include({"net 0", "net 1"}, {"net"}));
    EXPECT_FALSE(include({"net 0"}, {"net"}));
    EXPECT_FALSE(include({"net"}, {"one"})) << "a GUID alone is in no subnet";
}

TEST_F(PortSetsTest, AGidIsAMemberByItsGuid)
{
    EXPECT_TRUE(include({"one"}, {"a gid"}));
    EXPECT_FALSE(include({"two"}, {"a gid"}));
    EXPECT_FALSE(include({"one"}, {"net 0"}));
    EXPECT_TRUE(include({"all guids"}, {"net"}));
    EXPECT_TRUE(include({"net 0", "all guids"}, {"net"}));
    EXPECT_FALSE(include({"all guids"}, {"ipv4"})) << "the lower half of an IPv4 address is no GUID";
    EXPECT_TRUE(include({"ipv4", "all guids"}, {"ipv4", "one"}));
}

TEST_F(PortSetsTest, AGroupThatMayGetMembersIsInNoOther)
{
    EXPECT_FALSE(include({"one"}, {"unknown"}));
    EXPECT_TRUE(include({"one", "unknown"}, {"unknown"}));
    EXPECT_TRUE(include({"everything"}, {"unknown"}));
    EXPECT_TRUE(include({"unknown"}, {"one"}));
    policy.local.clear();
    resolved = policy.resolved();
    EXPECT_FALSE(include({"both"}, {"hosts"})) << "while no port of this host is known";
    EXPECT_TRUE(include({"both"}, {"one"}));
}

TEST_F(PortSetsTest, GivesAMemberAsAnExample)
{
    PortSets sets(resolved);
    EXPECT_EQ(sets.example_of(indexes({"both"}), false), std::optional<Endpoint>(Guid{1}));
    EXPECT_EQ(sets.example_of(indexes({"both"}), true), std::optional<Endpoint>(Guid{2}));
    EXPECT_EQ(sets.example_of(indexes({"ipv4"}), true), std::optional<Endpoint>(gid("10.1.255.255")));
    EXPECT_EQ(sets.example_of(indexes({"everything"}), false), std::optional<Endpoint>(Lid{kHighestLid}));
    EXPECT_EQ(sets.example_of(indexes({"nobody"}), false), std::nullopt);
}

TEST_F(PortSetsTest, GivesUpInTime)
{
    PortSets sets(resolved);
    Effort effort(1);
    EXPECT_FALSE(sets.surely_include(indexes({"both"}), indexes({"one"}), effort));
}

}    // namespace
}    // namespace rdmaqos
