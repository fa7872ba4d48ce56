#include "policy/explain/explain.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "policy/explain/explain_render.h"
#include "tests/support/golden.h"
#include "tests/unit/match/policy_dsl.h"

namespace rdmaqos {
namespace {

using namespace test;

TestPolicy office()
{
    TestPolicy policy;
    policy.level("storage", [](QosLevel& l) {
        l.sl = 1;
        l.mtu_limit = IbMtu::Mtu2048;
        l.rate_limit = static_cast<IbRate>(3);
        l.packet_life = 16;
    });
    policy.level("rpc", [](QosLevel& l) {
        l.sl = 3;
        l.allow = ClientCriteria{.gids = {50}, .groups = {"hpc"}, .units = {"job-*.scope"}};
    });
    policy.level("bulk", [](QosLevel& l) { l.pkeys = numbers({{0x1234, 0x1235}}); });
    policy.group("targets", [](PortGroup& g) { g.port_guids = numbers({{0x10, 0x1f}}); });
    policy.rule("storage", [](MatchRule& r) {
        r.use = "NVMe-oF targets";
        r.destination = {0};
        r.service_id = numbers({{0x1061000, 0x10611ff}, {0x1061144, 0x1061144}});
    });
    policy.rule("rpc", [](MatchRule& r) { r.client = ClientCriteria{.executables = {"/usr/bin/ib_*"}}; });
    policy.rule("bulk", [](MatchRule& r) {
        r.client = ClientCriteria{.uids = {1000}, .users = {"alice"}};
        r.qos_class = numbers({{7, 9}, {11, 11}});
        r.devices = devices_named({"mlx5_0/1"});
    });
    policy.partition("Part1", 0x1234, "rpc");
    return policy;
}

PathLimits hundred_gigabit()
{
    PathLimits limits;
    limits.rate = static_cast<IbRate>(16);
    return limits;
}

struct ExplainCase {
    const char* name;
    void (*edit)(TestPolicy&, Request&, Identity&);
};

class ExplainGolden : public testing::TestWithParam<ExplainCase> {};

TEST_P(ExplainGolden, TextAndJson)
{
    TestPolicy policy = office();
    Request request;
    Identity identity = somebody();
    GetParam().edit(policy, request, identity);
    const auto explanation = policy.explain(request, identity, hundred_gigabit());
    const std::string name = std::string("explain/") + GetParam().name;
    expect_golden(name + ".txt", render_explanation(policy.policy, explanation));
    const std::string json = explanation_to_json(policy.policy, explanation);
    expect_golden(name + ".json", json);
    EXPECT_TRUE(nlohmann::json::accept(json));
}

INSTANTIATE_TEST_SUITE_P(
    Cases, ExplainGolden,
    testing::Values(
        ExplainCase{"rule",
                    [](TestPolicy&, Request& request, Identity&) {
                        request.destination = gid("fe80::11");
                        request.service_id = 0x1061144;
                    }},
        ExplainCase{"refused-by-allow",
                    [](TestPolicy&, Request& request, Identity&) {
                        request.qos_class = 8;
                        request.device = DeviceNames{"mlx5_0", 1, "ib0", "0000:86:00.0"};
                    }},
        ExplainCase{"partition",
                    [](TestPolicy&, Request& request, Identity& identity) {
                        request.pkey = 0x9234;
                        identity.gids = {50, 1000};
                        identity.executable = "/usr/bin/app";
                    }},
        ExplainCase{"partition-refused", [](TestPolicy&, Request& request, Identity&) { request.pkey = 0x9234; }},
        ExplainCase{"default", [](TestPolicy&, Request&, Identity&) {}},
        ExplainCase{"default-refused",
                    [](TestPolicy& policy, Request&, Identity&) {
                        policy.policy.levels[0].allow = ClientCriteria{.uids = {0}, .users = {"root"}};
                    }},
        ExplainCase{"requested",
                    [](TestPolicy&, Request& request, Identity&) {
                        request.level = "storage";
                        request.mtu = Selected<IbMtu>{Selector::LessThan, IbMtu::Mtu2048};
                        request.packet_life = Selected<std::uint8_t>{Selector::Largest, 0};
                    }},
        ExplainCase{"closed-by-rule",
                    [](TestPolicy& policy, Request&, Identity&) {
                        policy.policy.levels[0].adopt = false;
                        policy.rule("DEFAULT", [](MatchRule& rule) { rule.adopt = false; });
                    }},
        ExplainCase{"closed-by-level",
                    [](TestPolicy& policy, Request& request, Identity&) {
                        request.level = "storage";
                        policy.policy.levels[policy.level_index("storage")].adopt = false;
                    }},
        ExplainCase{"monitored-level",
                    [](TestPolicy& policy, Request& request, Identity&) {
                        request.level = "storage";
                        policy.policy.levels[policy.level_index("storage")].mode = Mode::Monitor;
                    }},
        ExplainCase{"requested-refused", [](TestPolicy&, Request& request, Identity&) { request.level = "rpc"; }},
        ExplainCase{"unknown-level",
                    [](TestPolicy&, Request& request, Identity&) { request.level = "stroage\x1b\xff"; }},
        ExplainCase{"no-path",
                    [](TestPolicy&, Request& request, Identity&) {
                        request.level = "storage";
                        request.sl = 5;
                    }}),
    [](const auto& test) {
        std::string name = test.param.name;
        std::replace(name.begin(), name.end(), '-', '_');
        return name;
    });

TEST(Explain, StopsAtTheDecidingRule)
{
    TestPolicy policy;
    policy.rule("DEFAULT", [](MatchRule& r) { r.pkey = rdmaqos::test::number(1); });
    policy.rule("DEFAULT", [](MatchRule&) {});
    policy.rule("DEFAULT", [](MatchRule&) {});
    const auto explanation = policy.explain({}, somebody(), hundred_gigabit());
    ASSERT_EQ(explanation.rules.size(), 2U);
    EXPECT_FALSE(explanation.rules[0].matched);
    EXPECT_TRUE(explanation.rules[1].matched);
    EXPECT_TRUE(explanation.rules[1].criteria.empty());
    EXPECT_TRUE(explanation.fallbacks.empty());
    EXPECT_EQ(explanation.match->rule, explanation.rules[1].rule);
}

TEST(Explain, NumbersThatAreNoMtuOrRate)
{
    const TestPolicy policy;
    Request request;
    request.mtu = Selected<IbMtu>{Selector::Exactly, static_cast<IbMtu>(200)};
    request.rate = Selected<IbRate>{Selector::LessThan, static_cast<IbRate>(0)};
    request.packet_life = Selected<std::uint8_t>{Selector::GreaterThan, 255};
    const auto explanation = policy.explain(request, somebody(), hundred_gigabit());
    EXPECT_EQ(explanation.answer_error->message, "200 is no MTU");
    EXPECT_NE(render_explanation(policy.policy, explanation).find("mtu = 200, rate < 0 = "), std::string::npos);
}

TEST(Explain, ALongListIsShortenedForPeopleOnly)
{
    TestPolicy policy;
    std::vector<Interval> many;
    for (std::uint64_t i = 0; i < 1000; ++i) {
        many.push_back({i * 2, i * 2});
    }
    policy.rule("DEFAULT", [&](MatchRule& r) { r.service_id = IntervalSet(many); });
    const auto explanation = policy.explain({}, somebody(), hundred_gigabit());
    EXPECT_NE(render_explanation(policy.policy, explanation).find("..."), std::string::npos);
    EXPECT_LT(render_explanation(policy.policy, explanation).size(), 2000U);
    EXPECT_NE(explanation_to_json(policy.policy, explanation).find("0x7ce"), std::string::npos);
}

TEST(Explain, ColumnsAreAsWideAsTheirCharacters)
{
    TestPolicy policy;
    policy.level("a", [](QosLevel&) {});
    policy.rule("a", [](MatchRule& r) { r.client = ClientCriteria{.units = {"gr\u00f6\u00dfe.scope"}}; });
    const auto text = render_explanation(policy.policy, policy.explain({}, somebody(), hundred_gigabit()));
    EXPECT_NE(text.find("asks gr\u00f6\u00dfe.scope  has "), std::string::npos) << text;
}

TEST(Explain, MarksACommandAsClaimed)
{
    TestPolicy policy;
    policy.level("rpc");
    policy.rule("rpc", [](MatchRule& r) { r.client = ClientCriteria{.commands = {"ib_write_*", "rank-0"}}; });
    const auto explanation = policy.explain({}, somebody(), hundred_gigabit());
    const std::string text = render_explanation(policy.policy, explanation);
    EXPECT_NE(text.find("yes  client.command  asks ib_write_*, rank-0  has ib_write_bw  claimed"), std::string::npos)
        << text;
    EXPECT_TRUE(text.starts_with("client   pid 4711 (ib_write_bw), uid 1000, gid 1000, unit job-7.scope, "
                                 "cgroup /system.slice/job-7.scope, slurm-job 98, kubernetes-pod 1f0c3bd4-7a65, "
                                 "executable /usr/bin/ib_write_bw\n"))
        << text;
    const auto json = nlohmann::json::parse(explanation_to_json(policy.policy, explanation));
    const auto& criterion = json.at("rules").at(0).at("criteria").at(0);
    EXPECT_EQ(criterion.at("key"), "client.command");
    EXPECT_EQ(criterion.at("verified"), false);
}

}    // namespace
}    // namespace rdmaqos
