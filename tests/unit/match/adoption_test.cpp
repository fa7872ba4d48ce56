// Which programs that never registered are taken in, with and without the path of their queue pair.
#include <functional>
#include <ostream>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "policy/match/adoption.h"
#include "tests/unit/match/generators.h"

namespace rdmaqos {

void PrintTo(AdoptionVerdict verdict, std::ostream* out)
{
    constexpr std::array kNames{"Adopt", "NeedsPath", "NoRule", "NotScheduled", "Monitored", "Excluded"};
    *out << kNames.at(static_cast<std::size_t>(verdict));
}

namespace {

using namespace test;

constexpr auto kAdopt = AdoptionVerdict::Adopt;
constexpr auto kNeedsPath = AdoptionVerdict::NeedsPath;
constexpr auto kNoRule = AdoptionVerdict::NoRule;
constexpr auto kNotScheduled = AdoptionVerdict::NotScheduled;
constexpr auto kExcluded = AdoptionVerdict::Excluded;

constexpr std::uint64_t kStorage = 7;    // a port of the group "storage"

// Levels fast and slow (scheduled), idle (not), new (scheduled, only monitored), private (`adopt: no`), alice
// (scheduled, only for uid 1); all of them are open to anybody but alice. A group "storage".
TestPolicy with_levels()
{
    TestPolicy policy;
    const auto scheduled = [](QosLevel& level) { level.schedule.emplace(); };
    policy.level("fast", scheduled);
    policy.level("slow", scheduled);
    policy.level("idle");
    policy.level("new", [](QosLevel& level) {
        level.schedule.emplace();
        level.mode = Mode::Monitor;
    });
    policy.level("private", [](QosLevel& level) {
        level.schedule.emplace();
        level.adopt = false;
    });
    policy.level("alice", [](QosLevel& level) {
        level.schedule.emplace();
        level.allow.emplace().uids = {1};
    });
    policy.group("storage", [](PortGroup& group) { group.port_guids = number(kStorage); });
    return policy;
}

const auto kEverybody = [](MatchRule&) {};
const auto kToStorage = [](MatchRule& rule) { rule.destination = {0}; };
const auto kFromStorage = [](MatchRule& rule) { rule.source = {0}; };
const auto kOfPartition = [](MatchRule& rule) { rule.pkey = number(0x10); };
const auto kNotAdopted = [](MatchRule& rule) { rule.adopt = false; };

AdoptionChoice choose(const TestPolicy& policy, const Request& request, const Identity& identity, bool path_known)
{
    return choose_for_adoption(Matcher(policy.policy, policy.resolved()), request, identity, path_known);
}

AdoptionVerdict unseen(const TestPolicy& policy, const Identity& identity = somebody())
{
    return choose(policy, {}, identity, false).verdict;
}

Request to_storage()
{
    Request request;
    request.destination = Guid{kStorage};
    return request;
}

TEST(Adoption, ARuleOfTheIdentityDecidesAtOnce)
{
    TestPolicy policy = with_levels();
    policy.rule("fast", [](MatchRule& rule) { rule.client.emplace().units = {"job-*.scope"}; });
    const auto choice = choose(policy, {}, somebody(), false);
    EXPECT_EQ(choice.verdict, kAdopt);
    EXPECT_EQ(choice.match.level, policy.policy.find_level("fast"));
    EXPECT_EQ(choice.match.rule, &policy.policy.rules[0]);
    EXPECT_EQ(choice.match.source, LevelSource::Rule);
    EXPECT_TRUE(choice.match.verified);
}

TEST(Adoption, ARuleOfTheDeviceDecidesAtOnce)
{
    TestPolicy policy = with_levels();
    policy.rule("fast", [](MatchRule& rule) { rule.devices = devices_named({"mlx5_0/1"}); });
    Request request;
    request.device = DeviceNames{"mlx5_0", 1, "eth0", "0000:01:00.0"};
    EXPECT_EQ(choose(policy, request, somebody(), false).verdict, kAdopt);
    request.device->port = 2;
    EXPECT_EQ(choose(policy, request, somebody(), false).verdict, kNoRule);
}

TEST(Adoption, TheDefaultTakesNobodyIn)
{
    TestPolicy policy = with_levels();
    policy.policy.levels[0].schedule.emplace();
    EXPECT_EQ(unseen(policy), kNoRule);
    EXPECT_EQ(choose(policy, to_storage(), somebody(), true).verdict, kNoRule);
    policy.policy.levels[0].allow.emplace().uids = {1};
    EXPECT_EQ(unseen(policy), kNoRule);
    EXPECT_EQ(choose(policy, to_storage(), somebody(), true).verdict, kNoRule);
    policy.rule("DEFAULT", kEverybody);
    EXPECT_EQ(unseen(policy, somebody(1)), kAdopt);
}

TEST(Adoption, ARuleWhoseClaimIsNotMadeDoesNotMatch)
{
    TestPolicy policy = with_levels();
    policy.rule("fast", [](MatchRule& rule) { rule.service_id = number(1); });
    policy.rule("fast", [](MatchRule& rule) {
        rule.qos_class = number(1);
        rule.destination = {0};
    });
    EXPECT_EQ(unseen(policy), kNoRule);
}

TEST(Adoption, ALevelWithoutScheduleIsLeftAlone)
{
    TestPolicy policy = with_levels();
    policy.rule("idle", kEverybody);
    const auto choice = choose(policy, {}, somebody(), false);
    EXPECT_EQ(choice.verdict, kNotScheduled);
    EXPECT_EQ(choice.match.rule, &policy.policy.rules[0]);
}

TEST(Adoption, ALevelThatIsOnlyMonitoredIsLeftAlone)
{
    TestPolicy policy = with_levels();
    policy.rule("new", kToStorage);
    EXPECT_EQ(unseen(policy), kNoRule) << "the path would not lead to adoption";
    policy.rule("new", kEverybody);
    const auto choice = choose(policy, {}, somebody(), false);
    EXPECT_EQ(choice.verdict, AdoptionVerdict::Monitored);
    EXPECT_EQ(choice.match.level->name, "new");
    EXPECT_EQ(choose(policy, to_storage(), somebody(), true).match.rule, &policy.policy.rules[0]);
    policy.policy.rules[1].level = policy.level_index("fast");
    EXPECT_EQ(unseen(policy), kNeedsPath) << "to storage it is not taken in";
    policy.policy.levels[policy.level_index("new")].adopt = false;
    EXPECT_EQ(choose(policy, to_storage(), somebody(), true).verdict, kExcluded);
}

TEST(Adoption, ALevelOrARuleExcludes)
{
    TestPolicy by_level = with_levels();
    by_level.rule("private", kEverybody);
    EXPECT_EQ(unseen(by_level), kExcluded);
    TestPolicy by_rule = with_levels();
    by_rule.rule("fast", kNotAdopted);
    by_rule.rule("slow", kEverybody);
    EXPECT_EQ(unseen(by_rule), kExcluded);
    EXPECT_EQ(choose(by_rule, {}, somebody(), true).verdict, kExcluded);
    TestPolicy by_both = with_levels();
    by_both.rule("idle", kNotAdopted);
    EXPECT_EQ(unseen(by_both), kExcluded) << "what somebody wrote, before what is missing";
}

TEST(Adoption, ARuleOfThePathPerhapsMatches)
{
    for (const auto& criterion : std::vector<std::function<void(MatchRule&)>>{kToStorage, kFromStorage, kOfPartition}) {
        TestPolicy policy = with_levels();
        policy.rule("fast", criterion);
        const auto choice = choose(policy, {}, somebody(), false);
        EXPECT_EQ(choice.verdict, kNeedsPath);
        EXPECT_EQ(choice.match.level, nullptr);
    }
}

TEST(Adoption, WithThePathTheRuleMatchesOrNot)
{
    TestPolicy policy = with_levels();
    policy.rule("fast", kToStorage);
    const auto choice = choose(policy, to_storage(), somebody(), true);
    EXPECT_EQ(choice.verdict, kAdopt);
    EXPECT_EQ(choice.match.rule, &policy.policy.rules[0]);
    EXPECT_EQ(choose(policy, {}, somebody(), true).verdict, kNoRule);
    EXPECT_EQ(choose(policy, to_storage(), somebody(), false).verdict, kNeedsPath) << "it is not looked at";
}

TEST(Adoption, ARuleOfThePathThatCouldOnlySayTheSameIsNotAsked)
{
    TestPolicy policy = with_levels();
    policy.rule("fast", kToStorage);
    policy.rule("fast", kEverybody);
    const auto choice = choose(policy, {}, somebody(), false);
    EXPECT_EQ(choice.verdict, kAdopt);
    EXPECT_EQ(choice.match.rule, &policy.policy.rules[1]);
}

TEST(Adoption, ARuleOfThePathToAnotherLevelIsAsked)
{
    for (const auto* level : {"slow", "idle", "private"}) {
        TestPolicy policy = with_levels();
        policy.rule(level, kToStorage);
        policy.rule("fast", kEverybody);
        EXPECT_EQ(unseen(policy), kNeedsPath) << level;
    }
    TestPolicy policy = with_levels();
    policy.rule("fast", [](MatchRule& rule) {
        kToStorage(rule);
        kNotAdopted(rule);
    });
    policy.rule("fast", kEverybody);
    EXPECT_EQ(unseen(policy), kNeedsPath) << "the same level, but not adopted";
}

TEST(Adoption, ARuleOfThePathBehindTheCertainOneIsNotAsked)
{
    TestPolicy policy = with_levels();
    policy.rule("idle", kEverybody);
    policy.rule("fast", kToStorage);
    policy.partition("p", 0x10, "fast");
    EXPECT_EQ(unseen(policy), kNotScheduled);
}

TEST(Adoption, NobodyIsTouchedWhenNothingLeadsToAdoption)
{
    TestPolicy policy = with_levels();
    policy.rule("idle", kToStorage);
    policy.rule("private", kFromStorage);
    EXPECT_EQ(unseen(policy), kNoRule);
    policy.rule("private", kEverybody);
    EXPECT_EQ(unseen(policy), kExcluded);
    policy.rule("fast", kEverybody);
    EXPECT_EQ(unseen(policy), kExcluded) << "the first that matches counts";
}

TEST(Adoption, ALevelThatTheClientMayNotUseIsPassedOver)
{
    TestPolicy policy = with_levels();
    policy.rule("alice", kToStorage);
    policy.rule("alice", kEverybody);
    policy.rule("idle", kEverybody);
    EXPECT_EQ(unseen(policy), kNotScheduled);
    EXPECT_EQ(unseen(policy, somebody(1)), kAdopt);
}

TEST(Adoption, ARuleOfThePathAndOfSomebodyElseIsNotAsked)
{
    TestPolicy policy = with_levels();
    policy.rule("fast", [](MatchRule& rule) {
        kToStorage(rule);
        rule.client.emplace().uids = {1};
    });
    EXPECT_EQ(unseen(policy), kNoRule);
    EXPECT_EQ(unseen(policy, somebody(1)), kNeedsPath);
}

TEST(Adoption, ThePartitionsDefaultCountsAsARuleOfThePKey)
{
    TestPolicy policy = with_levels();
    policy.partition("p", 0x10, "idle");
    EXPECT_EQ(unseen(policy), kNoRule);
    policy.partition("q", 0x11, "alice");
    EXPECT_EQ(unseen(policy), kNoRule);
    EXPECT_EQ(unseen(policy, somebody(1)), kNeedsPath);
    policy.partition("r", 0x12, "private");
    EXPECT_EQ(unseen(policy), kNoRule);
    Request request;
    request.pkey = 0x8010;
    EXPECT_EQ(choose(policy, request, somebody(), true).verdict, kNotScheduled);
    request.pkey = 0x8011;
    const auto choice = choose(policy, request, somebody(1), true);
    EXPECT_EQ(choice.verdict, kAdopt);
    EXPECT_EQ(choice.match.partition, &policy.policy.partitions[1]);
    EXPECT_EQ(choice.match.rule, nullptr);
    request.pkey = 0x12;
    EXPECT_EQ(choose(policy, request, somebody(1), true).verdict, kExcluded);
}

// Some hundred rules that perhaps match, of which the last says otherwise.
// What the daemon asks for a program that did not register is the kernel's word.
TEST(Adoption, ThePathIsNoClaim)
{
    TestPolicy policy = with_levels();
    policy.rule("slow", kOfPartition);
    policy.rule("fast", kToStorage);
    const Matcher matcher(policy.policy, policy.resolved());
    Request request = to_storage();
    for (const bool of_kernel : {false, true}) {
        request.of_kernel = of_kernel;
        const auto found = matcher.match(request, somebody());
        ASSERT_TRUE(found.has_value());
        EXPECT_EQ(found->verified, of_kernel);
        EXPECT_EQ(matcher.why(*found, request, somebody()).ends_with(of_kernel ? "(verified)" : "(claimed)"), true)
            << matcher.why(*found, request, somebody());
    }
}

TEST(Adoption, FindsTheOneAmongMany)
{
    TestPolicy policy = with_levels();
    for (int i = 0; i < 300; ++i) {
        policy.rule("fast", kToStorage);
    }
    policy.rule("fast", kEverybody);
    EXPECT_EQ(unseen(policy), kAdopt);
    policy.policy.rules[299].level = policy.level_index("slow");
    EXPECT_EQ(unseen(policy), kNeedsPath);
    policy.policy.rules[299].client.emplace().uids = {1};
    EXPECT_EQ(unseen(policy), kAdopt);
}

// ---- properties

TestPolicy any_adopting_policy()
{
    TestPolicy policy = any_policy();
    for (auto& level : policy.policy.levels) {
        if (*rc::gen::weightedElement<bool>({{3, true}, {1, false}})) {
            level.schedule.emplace();
        }
        level.adopt = *rc::gen::weightedElement<bool>({{4, true}, {1, false}});
        level.mode = *rc::gen::weightedElement<Mode>({{4, Mode::Enforce}, {1, Mode::Monitor}});
    }
    for (auto& rule : policy.policy.rules) {
        rule.adopt = *rc::gen::weightedElement<bool>({{4, true}, {1, false}});
        // Else hardly any would match a program that claims nothing.
        if (*rc::gen::weightedElement<bool>({{4, true}, {1, false}})) {
            rule.qos_class = {};
            rule.service_id = {};
        }
        if (*rc::gen::arbitrary<bool>()) {
            rule.devices = devices_named({*rc::gen::element<std::string>("mlx5_*", "mlx5_0/1", "mlx5_1")});
        }
        if (*rc::gen::arbitrary<bool>()) {
            rule.source = {};
            rule.pkey = {};
        }
    }
    return policy;
}

Request any_device()
{
    Request request;
    request.device = DeviceNames{*rc::gen::element<std::string>("mlx5_0", "mlx5_1"), 1, "", ""};
    return request;
}

// Rule by rule and word for word.
AdoptionChoice plain_choice(const Matcher& matcher, const Request& request, const Identity& identity)
{
    const Policy& policy = matcher.policy();
    const Evaluator evaluator(policy, matcher.groups(), request, identity);
    std::vector<AdoptionChoice> perhaps;
    AdoptionChoice certain;
    for (const auto& rule : policy.rules) {
        const QosLevel& level = policy.levels[rule.level];
        const bool of_path = !rule.source.empty() || !rule.destination.empty() || !rule.pkey.empty();
        const bool concerned = std::ranges::all_of(kCriteria, [&](const Criterion& criterion) {
            return criterion.of_path || evaluator.holds(rule, criterion);
        });
        if (!concerned || !is_allowed(level, identity)) {
            continue;
        }
        const AdoptionChoice choice{adoption_of(level, &rule), {&level, &rule, nullptr, LevelSource::Rule, false}};
        if (!of_path) {
            certain = choice;
            break;
        }
        perhaps.push_back(choice);
    }
    for (const auto& partition : policy.partitions) {
        const QosLevel& level = policy.levels[*partition.level];
        if (certain.match.rule == nullptr && is_allowed(level, identity)) {
            perhaps.push_back(
                {adoption_of(level, nullptr), {&level, nullptr, &partition, LevelSource::Partition, false}});
        }
    }
    const auto adopts = [](const AdoptionChoice& choice) { return choice.verdict == kAdopt; };
    const auto differs = [&](const AdoptionChoice& choice) {
        return choice.verdict != certain.verdict || choice.match.level != certain.match.level;
    };
    if ((adopts(certain) || std::ranges::any_of(perhaps, adopts)) && std::ranges::any_of(perhaps, differs)) {
        return {kNeedsPath, {}};
    }
    return certain;
}

TEST(AdoptionProperty, WithThePathItIsTheMatch)
{
    EXPECT_TRUE(rc::check("with the path, adoption goes by the match", [] {
        const TestPolicy policy = any_adopting_policy();
        const Matcher matcher(policy.policy, policy.resolved());
        Request request = any_device();
        request.pkey = maybe<std::uint16_t>();
        if (const auto guid = maybe<std::uint64_t>()) {
            request.destination = Guid{*guid};
        }
        const Identity identity = anybody();
        const auto match = matcher.match(request, identity);
        const auto choice = choose_for_adoption(matcher, request, identity, true);
        RC_ASSERT(choice.verdict != kNeedsPath);
        if (!match || match->source == LevelSource::Default) {
            RC_ASSERT(choice.verdict == kNoRule);
            return;
        }
        RC_ASSERT(in_full(choice.match) == in_full(match));
        const bool wanted = match->level->adopt && (match->rule == nullptr || match->rule->adopt);
        const bool scheduled = match->level->schedule.has_value();
        const bool enforced = match->level->mode == Mode::Enforce;
        RC_ASSERT((choice.verdict == kAdopt) == (wanted && scheduled && enforced));
        RC_ASSERT((choice.verdict == AdoptionVerdict::Monitored) == (wanted && scheduled && !enforced));
        RC_ASSERT((choice.verdict == kExcluded) == !wanted);
    }));
}

TEST(AdoptionProperty, WithoutThePathItIsWhatAPlainScanSays)
{
    EXPECT_TRUE(rc::check("without the path, the index says what a plain scan says", [] {
        const TestPolicy policy = any_adopting_policy();
        const Matcher matcher(policy.policy, policy.resolved());
        const Request request = any_device();
        const Identity identity = anybody();
        const auto choice = choose_for_adoption(matcher, request, identity, false);
        const auto plain = plain_choice(matcher, request, identity);
        RC_TAG(static_cast<int>(plain.verdict));
        RC_ASSERT(choice.verdict == plain.verdict);
        RC_ASSERT(choice.match.level == plain.match.level);
        RC_ASSERT(choice.match.rule == plain.match.rule);
    }));
}

// What is said without the path holds for every path.
void check_completion(const AdoptionChoice& without, const AdoptionChoice& with)
{
    if (without.verdict == kNeedsPath) {
        return;
    }
    if (without.verdict == kAdopt) {
        RC_ASSERT(with.verdict == kAdopt);
        RC_ASSERT(with.match.level == without.match.level);
    } else {
        RC_ASSERT(with.verdict != kAdopt);
    }
}

TEST(AdoptionProperty, ThePathNeverProvesItWrong)
{
    EXPECT_TRUE(rc::check("no path contradicts what was said without it", [] {
        const TestPolicy policy = any_adopting_policy();
        const Matcher matcher(policy.policy, policy.resolved());
        Request request = any_device();
        const Identity identity = anybody();
        const auto without = choose_for_adoption(matcher, request, identity, false);
        RC_TAG(static_cast<int>(without.verdict));
        const auto end = [](std::uint64_t value) -> std::optional<Endpoint> {
            return value == kValues ? std::nullopt : std::optional<Endpoint>(Guid{value});
        };
        for (std::uint64_t source = 0; source <= kValues; ++source) {
            for (std::uint64_t destination = 0; destination <= kValues; ++destination) {
                for (std::uint64_t pkey = 0; pkey <= kValues; ++pkey) {
                    request.source = end(source);
                    request.destination = end(destination);
                    request.pkey = static_cast<std::uint16_t>(0x8000 | pkey);
                    if (pkey == kValues) {
                        request.pkey.reset();
                    }
                    check_completion(without, choose_for_adoption(matcher, request, identity, true));
                }
            }
        }
    }));
}

}    // namespace
}    // namespace rdmaqos
