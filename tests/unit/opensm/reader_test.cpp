// What OpenSM's parser and validation refuse, at their positions, and what a file means that they take.
#include <array>
#include <string>
#include <utility>

#include "policy/match/matcher.h"
#include "tests/unit/opensm/opensm_support.h"

namespace rdmaqos::test {
namespace {

constexpr auto kValidate = OpensmResult::Rejected::Validate;

TEST(OpensmReader, TagsThatStandTwice)
{
    expect_refused(with_group("name: a\nname: b\n"), "5:15", "port-group has multiple 'name' tags");
    expect_refused(with_group("name: a\nuse: b\nuse: c\n"), "6:15", "port-group has multiple 'use' tags");
    expect_refused(with_level("name: b\n"), "6:14", "qos-level has multiple 'name' tags");
    expect_refused(with_level("sl: 2\n"), "5:6", "'qos-level' has multiple 'sl' tags");
    for (const std::string tag : {"mtu-limit", "rate-limit", "packet-life"}) {
        const std::string line = tag + ": 3\n";
        expect_refused(with_level(line + line), "6:" + std::to_string(line.size()),
                       "'qos-level' has multiple '" + tag + "' tags");
    }
    expect_refused(with_rule("use: a\nuse: b\n"), "12:19", "'qos-match-rule' has multiple 'use' tags");
    expect_refused(with_rule("qos-level-name: b\n"), "11:19", "qos-match-rule has multiple 'qos-level-name' tags");
}

TEST(OpensmReader, LimitsOfLevels)
{
    expect_refused(with_level("mtu-limit: 0\n"), "5:13", "mtu limit is out of range, value: 0");
    expect_refused(with_level("mtu-limit: 2048\n"), "5:16", "mtu limit is out of range, value: 2048");
    expect_refused(with_level("mtu-limit: 0xffffffffff\n"), "5:24", "mtu limit is out of range, value: -1");
    expect_refused(with_level("rate-limit: 1\n"), "5:14", "rate limit is out of range, value: 1");
    expect_refused(with_level("rate-limit: 25\n"), "5:15", "rate limit is out of range, value: 25");
    const QosLevel level = accepted(with_level("mtu-limit: 5\nrate-limit: 24\npacket-life: 63\n")).levels.front();
    EXPECT_EQ(level.mtu_limit, IbMtu::Mtu4096);
    EXPECT_EQ(level.rate_limit, IbRate{24});
    EXPECT_EQ(level.packet_life, 63);
}

TEST(OpensmReader, SlAndLifeLoseTheirHighBitsInStrictModeOnly)
{
    const std::string text = "qos-levels\nqos-level\nname: DEFAULT\nsl: 300\npacket-life: 300\nend-qos-level\n"
                             "end-qos-levels\n";
    const QosLevel level = accepted(text).levels.front();
    EXPECT_EQ(level.sl, 44);
    EXPECT_EQ(level.packet_life, 44);
    const auto result = read_native(text, OpensmMode::Default);
    EXPECT_FALSE(result.value);
    EXPECT_EQ(result.diagnostics.error_count(), 2U) << shown(result);
}

TEST(OpensmReader, WhatAnObjectMustHave)
{
    expect_refused(with_group("use: x\n"), "4:15", "port-group validation failed - no port group name specified");
    expect_refused("qos-levels\nqos-level\nend-qos-level\n", "3:14", "qos-level validation failed - no 'sl' specified");
    expect_refused("qos-levels\nqos-level\nsl: 1\nend-qos-level\n", "4:14",
                   "qos-level validation failed - no 'name' specified");
    expect_refused("qos-match-rules\nqos-match-rule\nend-qos-match-rule\n", "3:19",
                   "match-rule validation failed - no 'qos-level-name' specified");
    expect_refused("port-groups\nend-port-groups\n", "2:16", "syntax error");
    expect_refused("qos-ulps\nend-qos-ulps\n", "2:13", "syntax error");
    expect_refused(with_group("name:\nuse: x\n"), "4:6", "syntax error");
    expect_refused("qos-levels\n", "2:1", "syntax error");
}

TEST(OpensmReader, TheFirstMistakeCounts)
{
    // OpenSM acts on a value before it looks at whether the next token can follow.
    expect_refused(with_group("name: a\nname: b\n,\n"), "5:2", "port-group has multiple 'name' tags");
    expect_refused(with_level("mtu-limit: 9\nbogus\n"), "5:13", "mtu limit is out of range, value: 9");
    expect_refused("bogus\n" + with_level("mtu-limit: 9\n"), "1:2", "syntax error");
    // A list that is not complete has not been acted on.
    expect_refused(with_group("name: g\nport-name: x, \nport-guid: 1\n"), "5:12", "syntax error");
}

TEST(OpensmReader, PortNames)
{
    const auto refused = [](const std::string& name, const std::string& message) {
        expect_refused(with_group("name: g\nport-name: " + name + "\n"), "5:15", message);
    };
    refused("vs3", "'vs3' - illegal port name");
    refused("vs3/X1", "'vs3/X1' - illegal port name");
    refused("vs3/P", "'vs3/P' - illegal port name");
    refused("vs3/P0", "'vs3/P0' - illegal port number in port name");
    refused("vs3/Px", "'vs3/Px' - illegal port number in port name");
    refused("vs3/P99", "'vs3' - port number out of range in port name");
    refused("r1/P2", "'r1' - port number out of range in port name");
    EXPECT_EQ(accepted(with_group("name: g\nport-name: nobody/P99, vs3/p1x, \"vs1 HCA-1/P01\", sw1/P3\n"))
                  .groups.front()
                  .port_names.size(),
              4U);
}

TEST(OpensmReader, UlpsAreCheckedBehindTheirColon)
{
    expect_refused(with_ulps("rds, port-num 65536 : 1\n"), "2:22", "SDP port number out of range");
    expect_refused(with_ulps("rds, port-num 65536 : x\n"), "2:22", "SDP port number out of range");
    expect_refused(with_ulps("sdp : 16\n"), "2:9", "illegal SL value");
    expect_refused("qos-ulps\ndefault: 16\nend-qos-ulps\n", "2:12", "illegal SL value");
    expect_refused(with_ulps("ipoib, pkey 5 : 1\n"), "2:16",
                   "IPoIB partition, pkey 0x0005 - partition has less than two full members");
    expect_refused(with_ulps("ipoib, pkey 1-2 : 1\n"), "2:18",
                   "IPoIB partition, pkey 0x0002 - partition doesn't exist");
    EXPECT_EQ(accepted(with_ulps("ipoib, pkey 0x8001 : 1\nipoib : 2\n")).rules.size(), 2U);
}

TEST(OpensmReader, SetupIsCheckedAndHasNoEffect)
{
    const auto setup = [](const std::string& tables) {
        return "qos-setup\n" + tables + "end-qos-setup\n" + kDefaultLevel;
    };
    const auto sl2vl = [&](const std::string& entries) {
        return setup("sl2vl-tables\nsl2vl-scope\n" + entries + "end-sl2vl-scope\nend-sl2vl-tables\n");
    };
    const std::string table = "sl2vl-table: 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n";
    expect_refused(setup("vlarb-tables\nvlarb-scope\nend-vlarb-scope\nend-vlarb-tables\n"), "4:16",
                   "vlarb-scope validation failed - no port groups specified by 'group' or by 'across'");
    expect_refused(sl2vl("group: g\n"), "5:16", "sl2vl-scope validation failed - no sl2vl table specified");
    expect_refused(sl2vl(table), "5:16",
                   "sl2vl-scope validation failed - no port groups specified by 'group', 'across-to' or 'across-from'");
    expect_refused(sl2vl("sl2vl-table: 1,2\n"), "5:16", "wrong number of values in 'sl2vl-table' (should be 16)");
    expect_refused(sl2vl("sl2vl-table: 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,16\n"), "5:16",
                   "wrong VL value in 'sl2vl-table' (should be 0 to 15)");
    expect_refused(sl2vl(table + table), "6:16", "sl2vl-scope has more than one sl2vl-table");
    expect_refused(sl2vl("from: 128\n"), "5:16", "port number out of range 'from' list");
    expect_refused(sl2vl("to: 1,130-2\n"), "5:16", "port number out of range 'to' list");
    const auto result = read_native(
        setup("vlarb-tables\nvlarb-scope\ngroup: a, b\nacross: c\nvlarb-high: 0:255,1:127\nvlarb-low: 8:255\n"
              "vl-high-limit: 10\nend-vlarb-scope\nend-vlarb-tables\nsl2vl-tables\nsl2vl-scope\nacross-from: x\n"
              "from: *\nto: 1-3\n" +
              table + "end-sl2vl-scope\nend-sl2vl-tables\n"),
        OpensmMode::Strict);
    ASSERT_TRUE(result.value) << shown(result);
    ASSERT_EQ(result.file->setups.size(), 1U);
    EXPECT_EQ(result.file->setups.front().vlarb.front().high.size(), 2U);
    EXPECT_TRUE(result.file->setups.front().sl2vl.front().from.front().all);
}

TEST(OpensmReader, Validation)
{
    expect_refused("", "0:0", "Default qos-level (default) not defined", kValidate);
    expect_refused("qos-levels\nend-qos-levels\n", "1:1", "Default qos-level (default) not defined", kValidate);
    expect_refused(with_rule("source: nobody\n"), "10:9", "qos-match-rule num 1: source port-group 'nobody' not found",
                   kValidate);
    expect_refused(with_rule("destination: nobody\n"), "10:14",
                   "qos-match-rule num 1: destination port-group 'nobody' not found", kValidate);
    expect_refused("qos-ulps\ndefault: 0\nend-qos-ulps\nqos-match-rules\nqos-match-rule\nqos-level-name: default\n"
                   "source: nobody\nend-qos-match-rule\nend-qos-match-rules\n",
                   "6:17", "qos-match-rule num 1: qos-level 'default' not found", kValidate);
}

TEST(OpensmReader, NamesIgnoreCaseAndTheFirstCounts)
{
    const Policy policy = accepted(
        "port-groups\nport-group\nname: A\nport-guid: 1\nend-port-group\nport-group\nname: a\nport-guid: 2\n"
        "end-port-group\nend-port-groups\n" +
        with_level("", "x") + with_level("mtu-limit: 1\n", "X") + with_rule("source: a\n"));
    ASSERT_EQ(policy.groups.size(), 1U);
    EXPECT_EQ(policy.groups.front().port_guids, IntervalSet({{1, 1}}));
    ASSERT_EQ(policy.levels.size(), 2U);
    EXPECT_FALSE(policy.levels.front().mtu_limit);
    EXPECT_EQ(policy.rules.front().source, std::vector<std::size_t>{0});
}

TEST(OpensmReader, GroupsOfUlpsCanBeNamedInTheOrderOfTheFile)
{
    const std::string group = "port-groups\nport-group\nname: _ulp_targets_\nport-guid: 7\nend-port-group\n"
                              "end-port-groups\n";
    const std::string ulps = with_ulps("any, target-port-guid 5 : 1\n");
    const Policy ulp_first = accepted(ulps + group + with_rule("source: _ULP_Targets_\n"));
    EXPECT_EQ(ulp_first.groups.at(ulp_first.rules.front().source.front()).port_guids, IntervalSet({{5, 5}}));
    const Policy group_first = accepted(group + ulps + with_rule("source: _ULP_Targets_\n"));
    EXPECT_EQ(group_first.groups.at(group_first.rules.front().source.front()).port_guids, IntervalSet({{7, 7}}));
}

TEST(OpensmReader, RulesGoBeforeUlpsWhereverTheyStand)
{
    const Policy policy = accepted(with_ulps("sdp, port-num 80-82,90 : 3\n") + with_rule("qos-class: 5\n"));
    ASSERT_EQ(policy.rules.size(), 2U);
    EXPECT_EQ(policy.rules[0].origin, RuleOrigin::MatchRule);
    EXPECT_EQ(policy.rules[1].number, 2U);
    EXPECT_EQ(policy.rules[1].ulp, "sdp, port-num 80-82,90");
    EXPECT_EQ(policy.rules[1].service_id, IntervalSet({{0x10050, 0x10052}, {0x1005A, 0x1005A}}));
    EXPECT_EQ(policy.levels.at(policy.rules[1].level).name, "SimpleQoSLevel_SL3");
    EXPECT_EQ(policy.levels.at(policy.default_level).name, "DEFAULT");
}

TEST(OpensmReader, PKeyRanges)
{
    const auto pkeys = [](const std::string& ranges) {
        return accepted(with_rule("pkey: " + ranges + "\n")).rules.front().pkey;
    };
    EXPECT_EQ(pkeys("0x8001"), IntervalSet({{1, 1}}));
    EXPECT_EQ(pkeys("0x18001"), IntervalSet({{1, 1}}));
    EXPECT_EQ(pkeys("0x7ff0-0x8010"), IntervalSet({{0x10, 0x7ff0}}));
    EXPECT_EQ(pkeys("1-0x8000"), IntervalSet({{0, 1}}));
    EXPECT_EQ(pkeys("0-0xffff"), IntervalSet({{0, 0x7fff}}));
}

TEST(OpensmReader, SelfIsTheSubnetManagersPort)
{
    const Fabric fabric = sample_fabric();
    const Policy policy = accepted(with_group("name: g\nnode-type: SELF\n"));
    EXPECT_FALSE(policy.groups.front().self);
    EXPECT_EQ(resolve(policy, fabric, {}).groups.front().guids, IntervalSet({{0x10000000000001, 0x10000000000001}}));
    EXPECT_TRUE(resolve(policy, fabric, {}).unresolved.empty());
    EXPECT_EQ(resolve(policy, Fabric{}, {}).unresolved.size(), 1U);
}

TEST(OpensmReader, GuidRangesAreNotEnumerated)
{
    const Policy policy = accepted(with_group("name: g\nport-guid: 0-0xffffffffffffffff\n"));
    EXPECT_EQ(policy.groups.front().port_guids.intervals().size(), 1U);
}

TEST(OpensmReader, LevelsHaveNoSchedule)
{
    for (const QosLevel& level : accepted(with_ulps("sdp : 1\n") + with_level("", "x")).levels) {
        EXPECT_FALSE(level.schedule);
        EXPECT_FALSE(level.allow);
    }
}

TEST(OpensmReader, TheFileKeepsWhatAnImporterNeeds)
{
    const auto result = read_native(with_group("name: Virtual Servers\npkey: 0x7ff0-0x8010, 010\n"),
                                    OpensmMode::Default);
    ASSERT_TRUE(result.file);
    const opensm::Group& group = result.file->groups.front();
    EXPECT_EQ(group.name->value, "VirtualServers");
    EXPECT_EQ(group.name->spelled, "Virtual Servers");
    EXPECT_TRUE(group.name->lost_blanks);
    EXPECT_EQ(group.name->at.line, 3U);
    EXPECT_EQ(group.name->at.column, 7U);
    EXPECT_EQ(group.name->at.length, 15U);
    ASSERT_EQ(group.pkeys.size(), 2U);
    EXPECT_EQ(mask_pkeys(group.pkeys[0].interval()).masking, PKeyMasking::InsideOut);
    EXPECT_EQ(group.pkeys[0].at.length, 13U);
    EXPECT_TRUE(group.pkeys[1].first.is_octal);
    EXPECT_EQ(group.pkeys[1].first.spelled, "010");
    ASSERT_EQ(result.file->sections.size(), 2U);
    EXPECT_EQ(result.file->sections[1].kind, opensm::SectionKind::Levels);
}

}    // namespace
}    // namespace rdmaqos::test
