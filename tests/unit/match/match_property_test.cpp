// What must hold for every policy and every request.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "policy/explain/explain.h"
#include "tests/unit/match/generators.h"

namespace rdmaqos {
namespace {

using namespace test;

// Level and source; rule numbers may differ.
std::string decision(const Result<Match>& match)
{
    return match ? std::to_string(static_cast<int>(match->source)) + match->level->name : match.error().message;
}

TEST(MatchProperty, ARuleThatNeverMatchesChangesNothing)
{
    EXPECT_TRUE(rc::check("a rule that never matches changes nothing", [] {
        TestPolicy policy = any_policy();
        policy.group("nobody", [](PortGroup&) {});
        const Request request = any_request();
        const Identity identity = anybody();
        const std::string before = decision(policy.ask(request, identity));
        policy.rule("a", [&](MatchRule& r) { r.destination = {policy.group_index("nobody")}; });
        auto& rules = policy.policy.rules;
        const auto place = *rc::gen::inRange<std::size_t>(0, rules.size());
        std::rotate(rules.begin() + static_cast<std::ptrdiff_t>(place), rules.end() - 1, rules.end());
        RC_ASSERT(decision(policy.ask(request, identity)) == before);
    }));
}

TEST(MatchProperty, ARuleWithoutCriteriaShadowsEverythingBelow)
{
    EXPECT_TRUE(rc::check("a rule without criteria shadows everything below", [] {
        TestPolicy policy = any_policy();
        const Request request = any_request();
        const Identity identity = anybody();
        policy.rule("DEFAULT", [](MatchRule&) {});
        const std::string before = decision(policy.ask(request, identity));
        policy.rule("a", [](MatchRule&) {});
        policy.partition("late", request.pkey.value_or(0), "b");
        RC_ASSERT(decision(policy.ask(request, identity)) == before);
    }));
}

TEST(MatchProperty, AllowNeverWidens)
{
    EXPECT_TRUE(rc::check("nobody gets a level by an allow that they did not get without it", [] {
        TestPolicy policy = any_policy();
        for (auto& level : policy.policy.levels) {
            level.allow.reset();
        }
        const Request request = any_request();
        const Identity identity = anybody();
        const auto open = policy.ask(request, identity);
        auto& level = policy.policy.levels.at(*rc::gen::inRange<std::size_t>(0, policy.policy.levels.size()));
        level.allow = any_client();
        const auto closed = policy.ask(request, identity);
        if (!may_use(level, identity).allowed) {
            RC_ASSERT((!closed || closed->level != &level));
        } else {
            RC_ASSERT(decision(closed) == decision(open));
        }
    }));
}

TEST(MatchProperty, WhoeverGetsALevelMayUseIt)
{
    EXPECT_TRUE(rc::check("whoever gets a level may use it", [] {
        const TestPolicy policy = any_policy();
        Request request = any_request();
        if (*rc::gen::arbitrary<bool>()) {
            request.level = *rc::gen::element<std::string>("a", "B", "default", "nope");
        }
        const Identity identity = anybody();
        const auto match = policy.ask(request, identity);
        RC_ASSERT((!match || may_use(*match->level, identity).allowed));
    }));
}

TEST(MatchProperty, WhatIsVerifiedDoesNotDependOnClaims)
{
    EXPECT_TRUE(rc::check("what is verified does not depend on claims", [] {
        const TestPolicy policy = any_policy();
        const Identity identity = anybody();
        const auto match = policy.ask(any_request(), identity);
        if (match && match->verified) {
            RC_ASSERT(decision(policy.ask(any_request(), identity)) == decision(match));
        }
    }));
}

TEST(MatchProperty, ExplainAgreesWithMatch)
{
    EXPECT_TRUE(rc::check("explain agrees with match", [] {
        const TestPolicy policy = any_policy();
        const Request request = any_request();
        const Identity identity = anybody();
        const auto match = policy.ask(request, identity);
        PathLimits limits;
        limits.rate = static_cast<IbRate>(16);
        const auto explanation = policy.explain(request, identity, limits);
        RC_ASSERT(match.has_value() == explanation.match.has_value());
        const bool by_rule = match && match->source == LevelSource::Rule;
        for (const auto& result : explanation.rules) {
            const bool decides = by_rule && result.rule == match->rule;
            RC_ASSERT((result.matched && result.refused.empty()) == decides);
        }
        RC_ASSERT((by_rule ? explanation.rules.back().rule == match->rule
                           : explanation.rules.size() == policy.policy.rules.size()));
        RC_ASSERT(explanation.fallbacks.empty() == by_rule);
        if (match && !by_rule) {
            RC_ASSERT(explanation.fallbacks.back().taken);
            RC_ASSERT(explanation.fallbacks.back().level == match->level);
        }
    }));
}

TEST(MatchProperty, ALimitNeverRaisesAPath)
{
    EXPECT_TRUE(rc::check("a level never raises MTU or rate", [] {
        QosLevel level;
        level.mtu_limit = static_cast<IbMtu>(*rc::gen::inRange(1, 6));
        level.rate_limit = static_cast<IbRate>(*rc::gen::inRange(2, 25));
        PathLimits limits;
        limits.mtu = static_cast<IbMtu>(*rc::gen::inRange(1, 6));
        limits.rate = static_cast<IbRate>(*rc::gen::inRange(2, 25));
        const auto answer = apply_level(level, {}, limits);
        RC_ASSERT(answer.has_value());
        RC_ASSERT((answer->mtu <= limits.mtu && answer->mtu <= *level.mtu_limit));
        RC_ASSERT((compare_rates(answer->rate, limits.rate) <= 0));
        RC_ASSERT((compare_rates(answer->rate, *level.rate_limit) <= 0));
    }));
}

}    // namespace
}    // namespace rdmaqos
