#include "policy/match/criteria.h"

#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "lib/base/overloaded.h"
#include "policy/explain/explain_render.h"
#include "tests/unit/match/policy_dsl.h"

namespace rdmaqos {
namespace {

using namespace test;

// A rule that asks for this alone, in the one way its kind has.
MatchRule rule_with(const Criterion& criterion)
{
    MatchRule rule;
    std::visit(Overloaded{
                   [&](const EndKind& kind) { rule.*kind.groups = {0}; },
                   [&](const NumberKind& kind) { rule.*kind.intervals = number(1); },
                   [&](const DeviceKind& kind) { rule.*kind.selectors = {{.name = "*"}}; },
                   [&](const ClientKey* key) {
                       auto& client = rule.client.emplace();
                       std::visit(Overloaded{
                                      [&](const AccountKind& kind) { client.*kind.numbers = {1}; },
                                      [&](const NameKind& kind) { client.*kind.patterns = {"*"}; },
                                  },
                                  key->kind);
                   },
               },
               criterion.kind);
    return rule;
}

TEST(Criteria, EachIsAskedForByItself)
{
    TestPolicy policy;
    policy.group("g", [](PortGroup& group) { group.node_types = {true, true, true}; });
    const ResolvedGroups groups{{ResolvedGroup{}}, {}};
    const Request request;
    const Identity nobody;
    const Evaluator evaluator(policy.policy, groups, request, nobody);
    for (const Criterion& criterion : kCriteria) {
        const MatchRule rule = rule_with(criterion);
        for (const Criterion& other : kCriteria) {
            EXPECT_EQ(Evaluator::asks(rule, other), &other == &criterion) << criterion.key << ", " << other.key;
            EXPECT_EQ(evaluator.holds(rule, other), &other != &criterion) << criterion.key << ", " << other.key;
        }
        EXPECT_NE(evaluator.asked(rule, criterion), "") << criterion.key;
        EXPECT_EQ(evaluator.has(criterion), criterion.key == "client.user" ? "uid 0" : "absent") << criterion.key;
        const std::string whose = criterion.trust == Trust::Verified ? "(verified)" : "(claimed)";
        EXPECT_TRUE(evaluator.reasons(rule).ends_with(whose)) << evaluator.reasons(rule);
    }
}

TEST(Criteria, EachLeadsToItsRule)
{
    Request request;
    request.source = request.destination = Guid{1};
    request.qos_class = 1;
    request.service_id = 1;
    request.pkey = 0x8001;
    request.device = DeviceNames{"mlx5_0", 1, "", ""};
    for (const Criterion& criterion : kCriteria) {
        TestPolicy policy;
        policy.level("rpc");
        policy.group("g", [](PortGroup& group) { group.port_guids = number(1); });
        policy.rule("rpc", [&](MatchRule& rule) {
            const std::size_t level = rule.level;
            rule = rule_with(criterion);
            rule.level = level;
        });
        EXPECT_EQ(policy.ask(request, somebody(1))->level->name, "rpc") << criterion.key;
        EXPECT_EQ(policy.ask({}, Identity{})->level->name, "DEFAULT") << criterion.key;
    }
}

TEST(Criteria, HaveKeysOfTheirOwn)
{
    std::set<std::string_view> keys;
    for (const Criterion& criterion : kCriteria) {
        EXPECT_TRUE(keys.insert(criterion.key).second) << criterion.key;
    }
}

// A member of ClientCriteria without a row would be read by nobody.
TEST(ClientKeys, AreAllThatClientCriteriaHold)
{
    std::size_t bytes = sizeof(ClientCriteria::location);
    for (const ClientKey& key : kClientKeys) {
        bytes += std::visit(Overloaded{
                                [](const AccountKind&) {
                                    return sizeof(std::vector<std::string>) + sizeof(std::vector<std::uint32_t>);
                                },
                                [](const NameKind&) { return sizeof(std::vector<std::string>); },
                            },
                            key.kind);
    }
    EXPECT_EQ(sizeof(ClientCriteria), bytes);
}

TEST(ClientKeys, NamesAreShownOfWhoAsks)
{
    TestPolicy policy;
    const auto json = nlohmann::json::parse(
        explanation_to_json(policy.policy, policy.explain({}, somebody(), PathLimits{})));
    for (const ClientKey& key : kClientKeys) {
        if (const auto* kind = std::get_if<NameKind>(&key.kind)) {
            EXPECT_EQ(json.at("client").at(std::string(key.name())), somebody().*kind->name);
        }
    }
}

}    // namespace
}    // namespace rdmaqos
