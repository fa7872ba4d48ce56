#include "policy/model/request.h"

#include <gtest/gtest.h>

#include "tests/unit/match/policy_dsl.h"

namespace rdmaqos {
namespace {

using namespace test;

constexpr Guid kAlpha{0x10};
constexpr Guid kBeta{0x20};
constexpr Guid kGamma{0x30};

// One rule per criterion, a level each.
TestPolicy criteria_policy()
{
    TestPolicy policy;
    for (const auto* name : {"both", "source", "destination", "class", "service", "pkey", "device"}) {
        policy.level(name);
    }
    policy.group("alpha", [](PortGroup& g) { g.port_guids = number(kAlpha.value); });
    policy.group("beta", [](PortGroup& g) { g.port_guids = number(kBeta.value); });
    policy.group("gamma", [](PortGroup& g) { g.port_guids = number(kGamma.value); });
    policy.rule("both", [](MatchRule& r) { r.source = {0}, r.destination = {1, 2}; });
    policy.rule("source", [](MatchRule& r) { r.source = {1, 2}; });
    policy.rule("destination", [](MatchRule& r) { r.destination = {0}; });
    policy.rule("class", [](MatchRule& r) { r.qos_class = numbers({{0, 0}, {7, 9}}); });
    policy.rule("service", [](MatchRule& r) { r.service_id = numbers({{0x10000, 0x1ffff}}); });
    policy.rule("pkey", [](MatchRule& r) { r.pkey = numbers({{0, 0}, {0xF00, 0xFFF}}); });
    policy.rule("device", [](MatchRule& r) { r.devices = devices_named({"mlx5_[01]/2", "roce*", "0000:86:00.?"}); });
    return policy;
}

Request ends(std::optional<Endpoint> source, std::optional<Endpoint> destination)
{
    Request request;
    request.source = source;
    request.destination = destination;
    return request;
}

Request with_device(DeviceNames names)
{
    Request request;
    request.device = std::move(names);
    return request;
}

template <typename T>
Request with(std::optional<T> Request::*member, T value)
{
    Request request;
    request.*member = std::move(value);
    return request;
}

struct MatchCase {
    const char* name;
    Request request;
    const char* expected;
};

class MatchCriteria : public testing::TestWithParam<MatchCase> {};

TEST_P(MatchCriteria, Outcome)
{
    const TestPolicy policy = criteria_policy();
    EXPECT_EQ(outcome(policy.ask(GetParam().request)), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    Table, MatchCriteria,
    testing::Values(MatchCase{"nothing", {}, "default: DEFAULT"},
                    MatchCase{"both_ends", ends(kAlpha, kGamma), "rule 1: both"},
                    MatchCase{"source_of_both_is_not_enough", ends(kAlpha, std::nullopt), "default: DEFAULT"},
                    MatchCase{"source", ends(kBeta, std::nullopt), "rule 2: source"},
                    MatchCase{"destination", ends(std::nullopt, kAlpha), "rule 3: destination"},
                    MatchCase{"destination_of_both_is_not_enough", ends(std::nullopt, kBeta), "default: DEFAULT"},
                    MatchCase{"unknown_port", ends(Guid{0x99}, Guid{0x99}), "default: DEFAULT"},
                    MatchCase{"class_in_range", with<std::uint16_t>(&Request::qos_class, 8), "rule 4: class"},
                    MatchCase{"class_zero_is_a_class", with<std::uint16_t>(&Request::qos_class, 0), "rule 4: class"},
                    MatchCase{"class_outside", with<std::uint16_t>(&Request::qos_class, 10), "default: DEFAULT"},
                    MatchCase{"service_first", with<std::uint64_t>(&Request::service_id, 0x10000), "rule 5: service"},
                    MatchCase{"service_last", with<std::uint64_t>(&Request::service_id, 0x1ffff), "rule 5: service"},
                    MatchCase{"service_outside", with<std::uint64_t>(&Request::service_id, 0x20000),
                              "default: DEFAULT"},
                    MatchCase{"pkey_zero_is_a_pkey", with<std::uint16_t>(&Request::pkey, 0), "rule 6: pkey"},
                    MatchCase{"pkey_limited", with<std::uint16_t>(&Request::pkey, 0xF01), "rule 6: pkey"},
                    MatchCase{"pkey_full", with<std::uint16_t>(&Request::pkey, 0x8F01), "rule 6: pkey"},
                    MatchCase{"pkey_outside", with<std::uint16_t>(&Request::pkey, 0x8001), "default: DEFAULT"},
                    MatchCase{"device_and_port", with_device({"mlx5_1", 2, "", ""}), "rule 7: device"},
                    MatchCase{"device_other_port", with_device({"mlx5_1", 1, "", ""}), "default: DEFAULT"},
                    MatchCase{"netdev", with_device({"mlx5_9", 1, "roce0", ""}), "rule 7: device"},
                    MatchCase{"pci_address", with_device({"mlx5_9", 1, "", "0000:86:00.1"}), "rule 7: device"}),
    [](const auto& test) { return test.param.name; });

struct GidCase {
    const char* name;
    Endpoint destination;
    const char* expected;
};

class MatchGid : public testing::TestWithParam<GidCase> {};

TEST_P(MatchGid, Outcome)
{
    TestPolicy policy;
    policy.level("guid");
    policy.level("prefix");
    policy.group("by guid", [](PortGroup& g) {
        g.port_guids = numbers({{0x10, 0x1f}, {0xffff0a000000, 0xffff0affffff}});
    });
    policy.group("by gid", [](PortGroup& g) { g.gids = {prefix("fd00:10::/32"), prefix("::ffff:10.1.0.0/112")}; });
    policy.rule("guid", [](MatchRule& r) { r.destination = {0}; });
    policy.rule("prefix", [](MatchRule& r) { r.destination = {1}; });
    EXPECT_EQ(outcome(policy.ask(ends(std::nullopt, GetParam().destination))), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(Table, MatchGid,
                         testing::Values(GidCase{"guid", Guid{0x1f}, "rule 1: guid"},
                                         GidCase{"link_local_gid_of_the_guid", gid("fe80::10"), "rule 1: guid"},
                                         GidCase{"gid_of_another_subnet", gid("fec0:0:0:1::10"), "rule 1: guid"},
                                         GidCase{"prefix", gid("fd00:10:1::99"), "rule 2: prefix"},
                                         GidCase{"guid_rule_is_first", gid("fd00:10::10"), "rule 1: guid"},
                                         GidCase{"outside", gid("fd00:11::99"), "default: DEFAULT"},
                                         GidCase{"ipv4_is_no_guid", gid("10.2.0.3"), "default: DEFAULT"},
                                         GidCase{"ipv4_in_prefix", gid("10.1.0.3"), "rule 2: prefix"},
                                         GidCase{"a_guid_has_no_prefix", Guid{0x99}, "default: DEFAULT"}),
                         [](const auto& test) { return test.param.name; });

TEST(Match, NodeTypes)
{
    TestPolicy policy;
    policy.level("switch");
    policy.level("any");
    policy.fabric.ports = {ca_port(0x10, "host"), {Guid{0x20}, 0, {}, NodeType::Switch, "leaf", {}, false}};
    policy.group("switches", [](PortGroup& g) { g.node_types.switch_ = true; });
    policy.group("everybody", [](PortGroup& g) { g.node_types = {true, true, true}; });
    policy.rule("switch", [](MatchRule& r) { r.destination = {0}; });
    policy.rule("any", [](MatchRule& r) { r.destination = {1}; });
    EXPECT_EQ(outcome(policy.ask(ends({}, Guid{0x20}))), "rule 1: switch");
    EXPECT_EQ(outcome(policy.ask(ends({}, Guid{0x10}))), "rule 2: any");
    EXPECT_EQ(outcome(policy.ask(ends({}, Guid{0x77}))), "rule 2: any") << "every end point is of one of the types";
    EXPECT_EQ(outcome(policy.ask(ends({}, gid("10.0.0.1")))), "rule 2: any");
    EXPECT_EQ(outcome(policy.ask({})), "default: DEFAULT");
}

// Of a path without GIDs. A LID that nobody knows is some port's: of everybody's group, and of no other.
TEST(Match, Lids)
{
    TestPolicy policy;
    policy.level("guid");
    policy.level("switch");
    policy.level("any");
    policy.fabric.ports = {ca_port(0x10, "host"), {Guid{0x20}, 0, {}, NodeType::Switch, "leaf", {}, false}};
    policy.fabric.ports[0].lids = LidRange{{16}, 2};
    policy.fabric.ports[1].lids = LidRange{{2}, 0};
    policy.group("host", [](PortGroup& g) { g.port_guids = number(0x10); });
    policy.group("switches", [](PortGroup& g) { g.node_types.switch_ = true; });
    policy.group("everybody", [](PortGroup& g) { g.node_types = {true, true, true}; });
    policy.rule("guid", [](MatchRule& r) { r.destination = {0}; });
    policy.rule("guid", [](MatchRule& r) { r.source = {0}; });
    policy.rule("switch", [](MatchRule& r) { r.destination = {1}; });
    EXPECT_EQ(outcome(policy.ask(ends({}, Lid{16}))), "rule 1: guid");
    EXPECT_EQ(outcome(policy.ask(ends({}, Lid{19}))), "rule 1: guid");
    EXPECT_EQ(outcome(policy.ask(ends(Lid{17}, Lid{2}))), "rule 2: guid");
    EXPECT_EQ(outcome(policy.ask(ends({}, Lid{2}))), "rule 3: switch");
    for (const Lid lid : {Lid{1}, Lid{3}, Lid{15}, Lid{20}}) {
        EXPECT_EQ(outcome(policy.ask(ends({}, lid))), "default: DEFAULT") << lid.value;
    }
    policy.rule("any", [](MatchRule& r) { r.destination = {2}; });
    EXPECT_EQ(outcome(policy.ask(ends({}, Lid{20}))), "rule 4: any");
}

TEST(Match, AGroupWithoutMembersNeverMatches)
{
    TestPolicy policy;
    policy.level("rpc");
    policy.group("empty", [](PortGroup&) {});
    policy.rule("rpc", [](MatchRule& r) { r.source = {0}; });
    EXPECT_EQ(outcome(policy.ask(ends(kAlpha, kBeta))), "default: DEFAULT");
}

TEST(Match, FirstMatchWins)
{
    TestPolicy policy;
    policy.level("wide");
    policy.level("narrow");
    policy.rule("wide", [](MatchRule& r) { r.service_id = numbers({{0, 0xffff}}); });
    policy.rule("narrow", [](MatchRule& r) { r.service_id = number(80); });
    EXPECT_EQ(outcome(policy.ask(with<std::uint64_t>(&Request::service_id, 80))), "rule 1: wide");
}

TEST(Match, ALevelsOwnPKeysPlayNoPart)
{
    TestPolicy policy;
    policy.level("rpc", [](QosLevel& l) { l.pkeys = number(0x1234); });
    policy.rule("rpc", [](MatchRule& r) { r.pkey = number(1); });
    EXPECT_EQ(outcome(policy.ask(with<std::uint16_t>(&Request::pkey, 1))), "rule 1: rpc");
}

TEST(Match, PartitionDefaults)
{
    TestPolicy policy;
    policy.level("rpc");
    policy.level("vip", [](QosLevel& l) { l.allow = ClientCriteria{.uids = {7}, .users = {"vera"}}; });
    policy.partition("Part1", 0x1234, "rpc");
    policy.partition("Part2", 0x2222, "vip");
    policy.policy.partitions.push_back({"plain", 0x3333, std::nullopt, {}});
    const auto ask = [&](std::uint16_t pkey, std::uint32_t uid) {
        return outcome(policy.ask(with<std::uint16_t>(&Request::pkey, pkey), somebody(uid)));
    };
    EXPECT_EQ(ask(0x1234, 1000), "partition: rpc");
    EXPECT_EQ(ask(0x9234, 1000), "partition: rpc") << "the membership bit says nothing";
    EXPECT_EQ(ask(0x2222, 7), "partition: vip");
    EXPECT_EQ(ask(0x2222, 1000), "default: DEFAULT") << "a level that is not allowed is passed over";
    EXPECT_EQ(ask(0x3333, 1000), "default: DEFAULT");
    EXPECT_EQ(outcome(policy.ask({})), "default: DEFAULT");
    policy.rule("vip", [](MatchRule& r) { r.pkey = number(0x1234); });
    EXPECT_EQ(ask(0x1234, 7), "rule 1: vip") << "rules go before partitions";
}

TEST(Match, RequestedLevel)
{
    TestPolicy policy;
    policy.level("rpc");
    policy.level("vip", [](QosLevel& l) { l.allow = ClientCriteria{.uids = {7}, .users = {"vera"}}; });
    policy.level("SimpleQoSLevel_SL3", [](QosLevel& l) { l.from_ulp = true; });
    policy.rule("DEFAULT", [](MatchRule&) {});
    const auto ask = [&](std::string name, std::uint32_t uid = 1000) {
        return policy.ask(with<std::string>(&Request::level, std::move(name)), somebody(uid));
    };
    EXPECT_EQ(outcome(ask("rpc")), "requested: rpc") << "rules are not asked";
    EXPECT_EQ(outcome(ask("RPC")), "requested: rpc");
    EXPECT_EQ(outcome(ask("vip", 7)), "requested: vip");
    EXPECT_EQ(policy.why(with<std::string>(&Request::level, "rpc")), "requested by name");
    EXPECT_FALSE(ask("rpc")->verified);

    policy.level("latency", [](QosLevel& l) { l.renamed_from = {"calls", "VIP"}; });
    EXPECT_EQ(outcome(ask("Calls")), "requested: latency");
    EXPECT_EQ(policy.why(with<std::string>(&Request::level, "Calls")), "requested by its former name \"Calls\"");
    EXPECT_EQ(outcome(ask("vip", 7)), "requested: vip") << "a level that has the name is first";

    const auto refused = ask("vip");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::LevelNotAllowed);
    EXPECT_EQ(refused.error().message, "level vip allows user vera; you are uid 1000");

    const auto mistyped = ask("rcp");
    ASSERT_FALSE(mistyped);
    EXPECT_EQ(mistyped.error().code, ErrorCode::UnknownLevel);
    EXPECT_EQ(mistyped.error().message, "the policy has no level \"rcp\"; did you mean \"rpc\"?");
    // A wrong name is compared with a thousand levels at most.
    for (std::size_t i = policy.policy.levels.size(); i < 1000; ++i) {
        policy.level("level-" + std::to_string(i), [](QosLevel&) {});
    }
    EXPECT_EQ(outcome(ask("rcp")), "error: the policy has no level \"rcp\"; did you mean \"rpc\"?");
    policy.level("one-more", [](QosLevel&) {});
    EXPECT_EQ(outcome(ask("rcp")), "error: the policy has no level \"rcp\"");
    EXPECT_EQ(outcome(ask("ONE-more")), "requested: one-more");
    EXPECT_EQ(outcome(ask("SimpleQoSLevel_SL3")), "error: the policy has no level \"SimpleQoSLevel_SL3\"");
    EXPECT_EQ(outcome(ask("")), "error: the policy has no level \"\"");
    EXPECT_EQ(outcome(ask("\x1b[2J")), "error: the policy has no level \"\\x1b[2J\"");
    EXPECT_LT(outcome(ask(std::string(1'000'000, 'x'))).size(), 200U);
    EXPECT_EQ(outcome(ask(std::string(63, 'x') + "\u00fcber")),
              "error: the policy has no level \"" + std::string(63, 'x') + "...\"");
}

TEST(Match, AllowHoldsForRulesAndDefault)
{
    TestPolicy policy;
    policy.policy.levels[0].allow = ClientCriteria{.gids = {50}, .groups = {"staff"}};
    policy.level("vip", [](QosLevel& l) { l.allow = ClientCriteria{.uids = {7}, .users = {"vera"}}; });
    policy.level("rpc");
    policy.rule("vip", [](MatchRule& r) { r.service_id = number(80); });
    policy.rule("rpc", [](MatchRule& r) { r.service_id = number(80); });
    const Request http = with<std::uint64_t>(&Request::service_id, 80);
    EXPECT_EQ(outcome(policy.ask(http, somebody(7))), "rule 1: vip");
    EXPECT_EQ(outcome(policy.ask(http, somebody(8))), "rule 2: rpc");
    EXPECT_EQ(outcome(policy.ask({}, somebody(50))), "default: DEFAULT");
    const auto refused = policy.ask({}, somebody(8));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::LevelNotAllowed);
    EXPECT_EQ(refused.error().message, "no rule that you may use matched, and you may not use the default: level "
                                       "DEFAULT allows group staff; you are in gid 8");
}

TEST(Match, WhyNamesTheRuleAndWhoSaysSo)
{
    TestPolicy policy;
    policy.level("rpc");
    policy.rule("rpc", [](MatchRule& r) {
        r.service_id = numbers({{0x10000, 0x1ffff}});
        r.client = ClientCriteria{.uids = {1000}, .users = {"alice"}, .units = {"job-*.scope"}};
    });
    policy.rule("rpc", [](MatchRule& r) { r.pkey = number(5); });
    policy.rule("rpc", [](MatchRule&) {});
    const auto& rules = policy.policy.rules;
    const auto place = [&](std::size_t index) { return policy.policy.describe_rule(rules[index]); };
    EXPECT_EQ(policy.why(with<std::uint64_t>(&Request::service_id, 0x10064)),
              place(0) + ": service-id 0x10064 (claimed), uid 1000 (verified), unit job-7.scope (verified)");
    EXPECT_EQ(policy.why(with<std::uint16_t>(&Request::pkey, 0x8005)), place(1) + ": pkey 0x8005 (claimed)");
    EXPECT_EQ(policy.why({}), place(2) + ": it has no criterion and matches everything");
    EXPECT_EQ(TestPolicy().why({}), "the default: no rule matched");
}

TEST(Match, VerifiedOnlyWhereNoClaimTookPart)
{
    TestPolicy policy;
    policy.level("alices");
    policy.level("bobs", [](QosLevel& l) { l.allow = ClientCriteria{.uids = {2}, .users = {"bob"}}; });
    const auto only = [](std::uint32_t uid) { return ClientCriteria{.uids = {uid}}; };
    policy.rule("alices", [&](MatchRule& r) { r.client = only(1); });
    policy.rule("bobs", [&](MatchRule& r) { r.service_id = number(80); });
    policy.rule("alices", [&](MatchRule& r) { r.client = only(3); });
    EXPECT_TRUE(policy.ask({}, somebody(1))->verified);
    EXPECT_FALSE(policy.ask(with<std::uint64_t>(&Request::service_id, 80), somebody(2))->verified);
    EXPECT_FALSE(policy.ask({}, somebody(2))->verified) << "claiming service 80 would have led elsewhere";
    EXPECT_TRUE(policy.ask({}, somebody(3))->verified) << "rule 2 is closed to uid 3, whatever it claims";
    EXPECT_TRUE(policy.ask({}, somebody(4))->verified);
    policy.partition("Part1", 1, "alices");
    EXPECT_FALSE(policy.ask({}, somebody(4))->verified) << "claiming P_Key 1 would have led elsewhere";
}

// The kernel says it, but it is what the process calls itself.
TEST(Match, ACommandIsAClaim)
{
    TestPolicy policy;
    policy.level("rpc");
    policy.rule("rpc", [](MatchRule& r) {
        r.client = ClientCriteria{.uids = {1000}, .users = {"alice"}, .commands = {"ib_write_*"}};
    });
    const auto match = policy.ask({});
    EXPECT_EQ(outcome(match), "rule 1: rpc");
    EXPECT_FALSE(match->verified);
    EXPECT_EQ(policy.why({}), policy.policy.describe_rule(policy.policy.rules[0]) +
                                  ": uid 1000 (verified), command ib_write_bw (claimed)");
    Identity renamed = somebody();
    renamed.command = "sleep";
    const auto fallback = policy.ask({}, renamed);
    EXPECT_EQ(outcome(fallback), "default: DEFAULT");
    EXPECT_FALSE(fallback->verified) << "by another name it had been in rpc";
    EXPECT_TRUE(policy.ask({}, somebody(7))->verified) << "the rule is not for uid 7, whatever it is called";
}

TEST(Endpoint, Texts)
{
    EXPECT_EQ(parse_endpoint("0x10000000000001"), Endpoint(Guid{0x10000000000001}));
    EXPECT_EQ(parse_endpoint("0XFF"), Endpoint(Guid{0xFF}));
    EXPECT_EQ(parse_endpoint("fd00::1"), Endpoint(gid("fd00::1")));
    EXPECT_EQ(parse_endpoint("10.1.0.1"), Endpoint(gid("::ffff:10.1.0.1")));
    for (const auto* bad : {"", "0x", "0x0", "::", "17", "lid:0", "lid:49152", "host", "0x1ffffffffffffffff",
                            "fd00::1/64", "0x1 ", " ::1"}) {
        EXPECT_FALSE(parse_endpoint(bad)) << bad;
    }
    EXPECT_EQ(parse_endpoint("lid:17"), Endpoint(Lid{17}));
    for (const auto* text : {"0x0010000000000001", "fd00::1", "::ffff:10.1.0.1", "lid:17"}) {
        EXPECT_EQ(to_string(parse_endpoint(text).value()), text);
    }
}

}    // namespace
}    // namespace rdmaqos
