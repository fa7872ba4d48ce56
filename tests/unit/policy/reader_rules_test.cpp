#include "policy/model/service_id.h"
#include "tests/unit/policy/reader_support.h"

namespace rdmaqos::test {
namespace {

constexpr std::string_view kObjects = R"(
port-groups:
  - name: storage
    use: targets
    port-guid: [0x10, 0x20-0x2f, 0x11]
    port-name: ["vs1 HCA-1/P1", "a/b/p2"]
    pkey: 0x8001
    partition: [Part1, part1]
    node-type: [ca, Switch]
    gid: ["fd00:10::/32", "10.1.0.1"]
  - {name: here, node-type: [SELF, ALL]}
qos-class-names: {KV-cache: 7, expert: 8}
partitions: [{name: Part1, pkey: 0x8001, qos-level-name: RPC}]
qos-levels: [{name: DEFAULT}, {name: rpc}]
)";

Policy with_rules(const std::string& rules)
{
    return read_good(std::string(kObjects) + rules);
}

TEST(ReadGroups, TakesEveryKey)
{
    const Policy policy = with_rules("");
    ASSERT_EQ(policy.groups.size(), 2U);
    const PortGroup& group = policy.groups[0];
    EXPECT_EQ(group.name, "storage");
    EXPECT_EQ(group.use, "targets");
    EXPECT_EQ(group.port_guids, IntervalSet({{0x10, 0x11}, {0x20, 0x2f}}));
    EXPECT_EQ(group.port_names, (std::vector<std::string>{"vs1 HCA-1/P1", "a/b/p2"}));
    EXPECT_EQ(group.pkeys, IntervalSet({{1, 1}}));
    EXPECT_EQ(group.partitions, (std::vector<std::string>{"Part1", "part1"}));
    EXPECT_EQ(group.node_types, (NodeTypes{true, true, false}));
    EXPECT_FALSE(group.self);
    ASSERT_EQ(group.gids.size(), 2U);
    EXPECT_EQ(to_string(group.gids[1]), "::ffff:10.1.0.1/128");
    EXPECT_EQ(policy.groups[1].node_types, (NodeTypes{true, true, true}));
    EXPECT_TRUE(policy.groups[1].self);
    EXPECT_EQ(policy.find_qos_class("kv-CACHE"), 7);
    EXPECT_EQ(policy.find_qos_class("none"), std::nullopt);
    ASSERT_EQ(policy.partitions.size(), 1U);
    EXPECT_EQ(policy.partitions[0].pkey, 1);
    EXPECT_EQ(policy.partitions[0].level, 1U);
}

TEST(ReadRules, TakesEveryKey)
{
    const Policy policy = with_rules(R"(
qos-match-rules:
  - use: everything there is
    source: [STORAGE, here]
    destination: storage
    qos-class: [1-3, Expert, 0x10]
    service-id: [0x10000-0x1ffff]
    ulp-port: {space: TCP, port: [4420, 5000-5001]}
    pkey: [0x0F00-0x0FFF, 0x8001]
    client: {user: alice, group: [hpc, 7], unit: a.service, cgroup: "*/x", executable: ["/usr/bin/ib_*"],
             command: ib_write_bw, slurm-job: [4711, "98*"], kubernetes-pod: "1f0c*"}
    devices: [mlx5_0/1, "0000:3b:*", {link-layer: Ethernet, speed: ">= 200 Gbit/s"}, {netdev: ens*, pci: "0000:17:*"}]
    qos-level-name: rpc
    adopt: No
)");
    ASSERT_EQ(policy.rules.size(), 1U);
    const MatchRule& rule = policy.rules[0];
    EXPECT_EQ(rule.origin, RuleOrigin::MatchRule);
    EXPECT_EQ(rule.number, 1U);
    EXPECT_EQ(rule.use, "everything there is");
    EXPECT_EQ(rule.source, (std::vector<std::size_t>{0, 1}));
    EXPECT_EQ(rule.destination, std::vector<std::size_t>{0});
    EXPECT_EQ(rule.qos_class, IntervalSet({{1, 3}, {8, 8}, {16, 16}}));
    EXPECT_EQ(
        rule.service_id,
        IntervalSet({{0x10000, 0x1ffff}, {0x1060000 + 4420, 0x1060000 + 4420}, {0x1060000 + 5000, 0x1060000 + 5001}}));
    EXPECT_EQ(rule.pkey, IntervalSet({{1, 1}, {0xF00, 0xFFF}}));
    ASSERT_TRUE(rule.client);
    EXPECT_EQ(rule.client->uids, std::vector<std::uint32_t>{1000});
    EXPECT_EQ(rule.client->gids, (std::vector<std::uint32_t>{2000, 7}));
    EXPECT_EQ(rule.client->executables, std::vector<std::string>{"/usr/bin/ib_*"});
    EXPECT_EQ(rule.client->commands, std::vector<std::string>{"ib_write_bw"});
    EXPECT_EQ(rule.client->slurm_jobs, (std::vector<std::string>{"4711", "98*"}));
    EXPECT_EQ(rule.client->kubernetes_pods, std::vector<std::string>{"1f0c*"});
    EXPECT_EQ(to_string(rule.devices), "mlx5_0/1, 0000:3b:*, link-layer ethernet and speed >= 200 Gbit/s, "
                                       "netdev ens* and pci 0000:17:*");
    EXPECT_EQ(rule.level, 1U);
    EXPECT_FALSE(rule.adopt);
    EXPECT_EQ(policy.describe_rule(rule), "match rule 1 (policy.yaml:18:5)");
}

TEST(ReadRules, AreNumberedInOrderAndUlpsComeLast)
{
    const auto result = read_texts({"qos-levels: [{name: DEFAULT}]\nqos-ulps: [{ulp: sdp, sl: 1}]\n"
                                    "qos-match-rules: [{qos-class: 1, qos-level-name: default}]\n",
                                    "qos-match-rules: [{qos-class: 2, qos-level-name: DEFAULT}]\n"
                                    "qos-ulps: [{ulp: rds, sl: 2}]\n"});
    const Policy policy = good(result);
    ASSERT_EQ(policy.rules.size(), 4U);
    EXPECT_EQ(policy.describe_rule(policy.rules[0]), "match rule 1 (file1.yaml:4:19)");
    EXPECT_EQ(policy.describe_rule(policy.rules[1]), "match rule 2 (file2.yaml:2:19)");
    EXPECT_EQ(policy.describe_rule(policy.rules[2]), "ulp rule 3 (file1.yaml:3:12)");
    EXPECT_EQ(policy.describe_rule(policy.rules[3]), "ulp rule 4 (file2.yaml:3:12)");
}

struct UlpCase {
    std::string entry;
    std::string ulp;
    IntervalSet service_id;
    IntervalSet pkey;
    std::string source;
    std::string destination;
};

class ReadUlp : public testing::TestWithParam<UlpCase> {};

TEST_P(ReadUlp, IsTranslatedAsOpenSmDoes)
{
    const UlpCase& expected = GetParam();
    const Policy policy = read_good("qos-levels: [{name: DEFAULT}]\nqos-ulps: [{" + expected.entry + ", sl: 5}]\n");
    ASSERT_EQ(policy.rules.size(), 1U);
    const MatchRule& rule = policy.rules[0];
    const auto group = [&](const std::vector<std::size_t>& indexes) {
        return indexes.empty() ? std::string() : policy.groups.at(indexes[0]).name;
    };
    EXPECT_EQ(rule.origin, RuleOrigin::Ulp);
    EXPECT_EQ(rule.ulp, expected.ulp);
    EXPECT_EQ(rule.service_id, expected.service_id);
    EXPECT_EQ(rule.pkey, expected.pkey);
    EXPECT_EQ(group(rule.source), expected.source);
    EXPECT_EQ(group(rule.destination), expected.destination);
    const QosLevel& level = policy.levels.at(rule.level);
    EXPECT_EQ(level.name, "SimpleQoSLevel_SL5");
    EXPECT_EQ(level.sl, 5);
    EXPECT_TRUE(level.from_ulp);
    EXPECT_EQ(policy.find_level(level.name), nullptr);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, ReadUlp,
    testing::Values(
        UlpCase{"ulp: sdp", "sdp", IntervalSet({{0x10000, 0x1ffff}}), {}, "", ""},
        UlpCase{"ulp: SDP, port-num: [10-20, 5]",
                "sdp, port-num 10-20,5",
                IntervalSet({{0x10005, 0x10005}, {0x1000a, 0x10014}}),
                {},
                "",
                ""},
        UlpCase{"ulp: rds", "rds", IntervalSet({{0x10648ca, 0x10648ca}}), {}, "", ""},
        UlpCase{"ulp: rds, port-num: 0xcbc", "rds, port-num 0xcbc", IntervalSet({{0x1060cbc, 0x1060cbc}}), {}, "", ""},
        UlpCase{"ulp: iser", "iser", IntervalSet({{0x1060cbc, 0x1060cbc}}), {}, "", ""},
        UlpCase{"ulp: iser, port-num: 1", "iser, port-num 1", IntervalSet({{0x1060001, 0x1060001}}), {}, "", ""},
        UlpCase{"ulp: lustre", "lustre", IntervalSet({{0x10603db, 0x10603db}}), {}, "", ""},
        UlpCase{"ulp: NVMe-oF", "nvme-of", IntervalSet({{0x1061144, 0x1061144}}), {}, "", ""},
        UlpCase{"ulp: nfs-rdma", "nfs-rdma", IntervalSet({{0x1064e51, 0x1064e51}}), {}, "", ""},
        UlpCase{"ulp: nfs-rdma, port-num: 2050",
                "nfs-rdma, port-num 2050",
                IntervalSet({{0x1060802, 0x1060802}}),
                {},
                "",
                ""},
        UlpCase{"ulp: ceph",
                "ceph",
                IntervalSet({{0x1060ce4, 0x1060ce4}, {0x1061a85, 0x1061a85}, {0x1061a90, 0x1061d90}}),
                {},
                "",
                ""},
        UlpCase{"ulp: srp, target-port-guid: 7", "srp, target-port-guid 7", {}, {}, "", "_SRP_Targets_"},
        UlpCase{"ulp: ipoib", "ipoib", {}, IntervalSet({{0x7fff, 0x7fff}}), "", ""},
        UlpCase{"ulp: ipoib, pkey: [0x8003]", "ipoib, pkey 0x8003", {}, IntervalSet({{3, 3}}), "", ""},
        UlpCase{"ulp: any, service-id: 9", "any, service-id 9", IntervalSet({{9, 9}}), {}, "", ""},
        UlpCase{"ulp: any, pkey: 9", "any, pkey 9", {}, IntervalSet({{9, 9}}), "", ""},
        UlpCase{"ulp: any, target-port-guid: 9", "any, target-port-guid 9", {}, {}, "", "_ULP_Targets_"},
        UlpCase{"ulp: any, source-port-guid: 9", "any, source-port-guid 9", {}, {}, "_ULP_Sources_", ""},
        UlpCase{"ulp: any, source-target-port-guid: 9",
                "any, source-target-port-guid 9",
                {},
                {},
                "_ULP_Sources_Targets_",
                "_ULP_Sources_Targets_"}),
    [](const auto& test) { return std::to_string(test.index); });

TEST(ReadUlps, ShareALevelPerSlAndMayNameOne)
{
    const Policy policy = read_good("qos-levels: [{name: DEFAULT}, {name: rpc}]\n"
                                    "qos-ulps:\n  - {ulp: sdp, sl: 3}\n  - {ulp: rds, sl: 3}\n"
                                    "  - {ulp: any, pkey: 1, qos-level-name: rpc}\n");
    ASSERT_EQ(policy.rules.size(), 3U);
    EXPECT_EQ(policy.levels.size(), 3U);
    EXPECT_EQ(policy.rules[0].level, policy.rules[1].level);
    EXPECT_EQ(policy.rules[2].level, 1U);
}

TEST(ReadUlps, TheirGroupsCanBeNamedAndTheFirstWins)
{
    const Policy policy = read_good("qos-levels: [{name: DEFAULT}]\n"
                                    "qos-match-rules: [{source: _ulp_targets_, qos-level-name: default}]\n"
                                    "qos-ulps:\n  - {ulp: any, target-port-guid: 1, sl: 1}\n"
                                    "  - {ulp: any, target-port-guid: 2, sl: 1}\n");
    ASSERT_EQ(policy.groups.size(), 2U);
    EXPECT_EQ(policy.rules.at(0).source, std::vector<std::size_t>{0});
    EXPECT_EQ(policy.rules.at(1).destination, std::vector<std::size_t>{0});
    EXPECT_EQ(policy.rules.at(2).destination, std::vector<std::size_t>{1});
    EXPECT_EQ(policy.groups[1].port_guids, IntervalSet({{2, 2}}));
}

TEST(ReadUlps, DefaultIsNoRule)
{
    const Policy policy = read_good("qos-ulps: [{ulp: default, sl: 4}, {ulp: sdp, sl: 4}]");
    ASSERT_EQ(policy.rules.size(), 1U);
    EXPECT_EQ(policy.rules[0].number, 1U);
    EXPECT_EQ(policy.levels.at(policy.default_level).name, "SimpleQoSLevel_DEFAULT");
    EXPECT_EQ(policy.levels[policy.default_level].sl, 4);
    const Policy named = read_good("qos-levels: [{name: rpc}]\nqos-ulps: [{ulp: Default, qos-level-name: rpc}]");
    EXPECT_EQ(named.levels.at(named.default_level).name, "rpc");
    const Policy both = expect_warning("qos-levels: [{name: default}]\nqos-ulps: [{ulp: default, sl: 1}]",
                                       "`ulp: default` is ignored, as in OpenSM: there is a qos-level `DEFAULT`");
    EXPECT_EQ(both.levels.at(both.default_level).name, "default");
    // Only a level of qos-levels can be named.
    expect_error("qos-ulps: [{ulp: default, sl: 1}]\nqos-match-rules: [{pkey: 1, qos-level-name: default}]",
                 "there is no qos-level `default`");
}

TEST(ServiceId, IsFormedAsTheKernelDoes)
{
    EXPECT_EQ(*service_id_of("tcp", 4420), 0x1061144U);
    EXPECT_EQ(*service_id_of("udp", 1), 0x1110001U);
    EXPECT_EQ(*service_id_of("ib", 0xFFFF), 0x13FFFFFU);
    EXPECT_EQ(*service_id_of("ipoib", 2), 0x20002U);
    const auto unknown = service_id_of("sctp", 1);
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().code, ErrorCode::InvalidArgument);
}

TEST(ReadValues, AreShownUpToAWholeCharacter)
{
    const std::string start(59, 'x');
    expect_error("qos-levels: [{name: DEFAULT, sl: " + start + "\u00fcber}]\n",
                 "`sl` must be a number, not `" + start + "...`");
}

TEST(ReadPKeys, AllOfThemWithAndWithoutMembershipAreNoMistake)
{
    const Policy policy = with_rules("qos-match-rules: [{pkey: [0-0xffff], qos-level-name: rpc}]\n");
    EXPECT_EQ(policy.rules.front().pkey, IntervalSet({{0, 0x7fff}}));
}

TEST(ReadRules, ACommandThatTheKernelWouldCutNeverMatches)
{
    const auto rule = [](const std::string& command) {
        return "qos-levels: [{name: DEFAULT}]\n"
               "qos-match-rules: [{client: {command: [" +
               command + "]}, qos-level-name: DEFAULT}]";
    };
    const Policy policy = expect_warning(rule("ib_write_bw_long"),
                                         "`ib_write_bw_long` never matches: the kernel truncates names to 15 "
                                         "characters");
    EXPECT_EQ(policy.rules.at(0).client->commands, std::vector<std::string>{"ib_write_bw_long"});
    for (const auto* good : {"ib_write_bw_lon", "ib_write_bw_lon*", "'a\\x0ab\\x0ac\\x0ad'"}) {
        EXPECT_EQ(read_good(rule(good)).rules.at(0).client->commands.size(), 1U) << good;
    }
}

TEST(ReadRules, ACommandCannotStandInAllow)
{
    expect_error("qos-levels: [{name: DEFAULT, allow: {command: sshd}}]", "`command` cannot be used in `allow`");
}

TEST(ReadRules, OneWithoutCriteriaIsSaidToHideOthersUnlessItsLevelIsNotForAll)
{
    const auto rules = [](const std::string& level) {
        return "qos-levels: [{name: DEFAULT}, {name: ours, allow: {user: [alice]}}]\n"
               "qos-match-rules: [{qos-level-name: " +
               level + "}, {pkey: [1], qos-level-name: DEFAULT}]\n";
    };
    static_cast<void>(expect_warning(rules("DEFAULT"),
                                     "a rule without criteria matches everything: no rule after it is ever reached"));
    static_cast<void>(read_good(rules("ours")));
}

}    // namespace
}    // namespace rdmaqos::test
