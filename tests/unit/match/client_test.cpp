#include "policy/match/client.h"

#include <gtest/gtest.h>

#include "tests/unit/match/policy_dsl.h"

namespace rdmaqos {
namespace {

using namespace test;

QosLevel open_to(ClientCriteria allow)
{
    QosLevel level;
    level.name = "rpc";
    level.allow = std::move(allow);
    return level;
}

// Placed like a process of `cgroup`.
Identity inside(const std::string& cgroup)
{
    Identity identity = somebody();
    identity.cgroup = cgroup;
    identity.unit = unit_of_cgroup(cgroup);
    return identity;
}

TEST(MayUse, WithoutAllowEverybody)
{
    QosLevel level;
    EXPECT_TRUE(may_use(level, somebody()).allowed);
    EXPECT_EQ(may_use(level, somebody()).why, "");
}

struct ClientCase {
    const char* name;
    ClientCriteria allow;
    const char* why;    // "" for allowed
};

class MayUseTable : public testing::TestWithParam<ClientCase> {};

TEST_P(MayUseTable, Outcome)
{
    Identity identity = somebody(1001);
    identity.gids = {20, 1001};
    const auto permission = may_use(open_to(GetParam().allow), identity);
    EXPECT_EQ(permission.why, GetParam().why);
    EXPECT_EQ(permission.allowed, std::string(GetParam().why).empty());
    EXPECT_EQ(is_allowed(open_to(GetParam().allow), identity), permission.allowed);
}

INSTANTIATE_TEST_SUITE_P(
    Table, MayUseTable,
    testing::Values(
        ClientCase{"user", {.uids = {1000, 1001}, .users = {"alice", "bob"}}, ""},
        ClientCase{
            "not_the_user", {.uids = {1000}, .users = {"alice"}}, "level rpc allows user alice; you are uid 1001"},
        ClientCase{"group", {.gids = {20}, .groups = {"hpc"}}, ""},
        ClientCase{
            "not_the_group", {.gids = {21}, .groups = {"hpc"}}, "level rpc allows group hpc; you are in gid 20, 1001"},
        ClientCase{"a_name_nobody_has", {.users = {"ghost"}}, "level rpc allows user ghost; you are uid 1001"},
        ClientCase{"unit", {.units = {"a.service", "job-*.scope"}}, ""},
        ClientCase{
            "not_the_unit", {.units = {"a.service"}}, "level rpc allows unit a.service; you are in unit job-7.scope"},
        ClientCase{"cgroup", {.cgroups = {"/system.slice/*"}}, ""},
        ClientCase{"not_the_cgroup",
                   {.cgroups = {"/slurm/*"}},
                   "level rpc allows cgroup /slurm/*; you are in cgroup /system.slice/job-7.scope"},
        ClientCase{"different_keys_must_all_hold",
                   {.uids = {1001}, .gids = {21}, .users = {"bob"}, .groups = {"hpc"}},
                   "level rpc allows user bob and group hpc; you are in gid 20, 1001"},
        ClientCase{"none_of_two_keys",
                   {.uids = {1}, .gids = {21}, .users = {"eve"}, .groups = {"hpc"}},
                   "level rpc allows user eve and group hpc; you are uid 1001, are in gid 20, 1001"},
        ClientCase{
            "names_nobody",
            {},
            "level rpc allows nobody: its `allow` names no user, group, unit, cgroup, slurm-job or kubernetes-pod"},
        ClientCase{
            "a_command_gives_no_permission",
            {.commands = {"ib_*"}},
            "level rpc allows nobody: its `allow` names no user, group, unit, cgroup, slurm-job or kubernetes-pod"},
        ClientCase{
            "an_executable_gives_no_permission",
            {.executables = {"/usr/bin/ib_*"}},
            "level rpc allows nobody: its `allow` names no user, group, unit, cgroup, slurm-job or kubernetes-pod"}),
    [](const auto& test) { return test.param.name; });

TEST(MayUse, AUnitThatUsersCanNameGivesNoPermission)
{
    const QosLevel level = open_to({.units = {"job-*.scope"}});
    EXPECT_TRUE(may_use(level, inside("/system.slice/job-1.scope")).allowed);
    EXPECT_TRUE(may_use(level, inside("/system.slice/job-1.scope/step_0/inner.scope")).allowed);
    EXPECT_EQ(may_use(level, inside("/user.slice/user-1000.slice/user@1000.service/app.slice/job-1.scope")).why,
              "level rpc allows unit job-*.scope; you are in unit job-1.scope (inside user@1000.service)");
    EXPECT_EQ(may_use(level, inside("/lxc.payload.c1/system.slice/job-1.scope")).why,
              "level rpc allows unit job-*.scope; you are in unit job-1.scope (inside a container)");
    EXPECT_EQ(may_use(level, inside("/")).why, "level rpc allows unit job-*.scope; you are in no unit");
}

TEST(Client, ARuleMayGoByEitherUnit)
{
    const Identity identity = inside("/user.slice/user-1000.slice/user@1000.service/app.slice/job-1.scope");
    for (const auto* pattern : {"job-*.scope", "user@1000.service"}) {
        EXPECT_TRUE(holds({.units = {pattern}}, client_key("unit"), identity, ClientUse::Classify)) << pattern;
    }
    EXPECT_FALSE(holds({.units = {"other.service"}}, client_key("unit"), identity, ClientUse::Classify));
}

TEST(Client, WhatIsAbsentMatchesNoGlob)
{
    const Identity nobody;
    const ClientCriteria anything{.units = {"*"}, .cgroups = {"*"}, .executables = {"*"}, .commands = {"*"}};
    for (const auto* name : {"unit", "cgroup", "executable", "command"}) {
        EXPECT_FALSE(holds(anything, client_key(name), nobody, ClientUse::Classify)) << name;
        EXPECT_TRUE(holds(anything, client_key(name), somebody(), ClientUse::Classify)) << name;
    }
}

TEST(Client, AUnitNameWithABackslashMeansItself)
{
    const Identity identity = inside("/system.slice/dev-disk\\x2dfoo.service");
    EXPECT_TRUE(holds({.units = {"dev-disk\\x2dfoo.service"}}, client_key("unit"), identity, ClientUse::Permit));
}

TEST(Client, ExecutableClassifiesOnly)
{
    const ClientCriteria criteria{.executables = {"/usr/bin/ib_*"}};
    EXPECT_TRUE(holds(criteria, client_key("executable"), somebody(), ClientUse::Classify));
    EXPECT_FALSE(holds(criteria, client_key("executable"), somebody(), ClientUse::Permit));
}

TEST(Client, CommandClassifiesOnly)
{
    const ClientCriteria criteria{.commands = {"rank-0", "ib_write_*"}};
    EXPECT_TRUE(holds(criteria, client_key("command"), somebody(), ClientUse::Classify));
    EXPECT_FALSE(holds(criteria, client_key("command"), somebody(), ClientUse::Permit));
    EXPECT_EQ(asked(criteria, client_key("command")), "rank-0, ib_write_*");
    Identity other = somebody();
    other.command = "ib_read_bw";
    EXPECT_FALSE(holds(criteria, client_key("command"), other, ClientUse::Classify));
}

}    // namespace
}    // namespace rdmaqos
