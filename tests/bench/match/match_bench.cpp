// What a Register costs before it reaches a device: finding the level in policies of growing size, and the identity of
// a new connection.
#include <algorithm>
#include <utility>

#include <benchmark/benchmark.h>
#include <unistd.h>

#include "policy/match/adoption.h"
#include "policy/match/hidden_rules.h"
#include "policy/match/matcher.h"
#include "tests/support/scan.h"

namespace rdmaqos {
namespace {

Identity caller()
{
    Identity identity;
    identity.uid = 1000;
    identity.gids = {1000};
    identity.unit = "job-7.scope";
    identity.cgroup = "/system.slice/job-7.scope";
    return identity;
}

// Policies of growing size in four mixes, and requests of which each meets one rule, spread over all of them.
struct World {
    Policy policy;
    std::vector<Request> requests;
    std::vector<Identity> clients;
};

constexpr std::size_t kQuestions = 256;
constexpr std::size_t kPortGroups = 100;
constexpr std::uint64_t kGuidsPerGroup = 10'000;

World with_default()
{
    World world;
    world.policy.levels.resize(1);
    world.policy.levels[0].name = "DEFAULT";
    return world;
}

// The rule that question number `question` meets: one of all, in no order a cache or a branch could learn.
std::size_t target(std::size_t question, std::size_t rules)
{
    return question * 7919 % rules;
}

// make_rule(number) and ask(rule's number, request, client).
template <typename MakeRule, typename Ask>
World world_of(World world, std::size_t rules, MakeRule make_rule, Ask ask)
{
    for (std::size_t i = 0; i < rules; ++i) {
        MatchRule rule = make_rule(i);
        rule.number = i + 1;
        world.policy.rules.push_back(std::move(rule));
    }
    for (std::size_t question = 0; question < kQuestions; ++question) {
        Identity client = caller();
        Request request;
        ask(target(question, rules), request, client);
        world.requests.push_back(std::move(request));
        world.clients.push_back(std::move(client));
    }
    return world;
}

World service_ids(std::size_t rules)
{
    const auto first = [](std::size_t i) { return 0x100000 + i * 16; };
    return world_of(
        with_default(), rules,
        [&](std::size_t i) {
            MatchRule rule;
            rule.service_id = IntervalSet({{first(i), first(i) + 7}});
            return rule;
        },
        [&](std::size_t i, Request& request, Identity&) { request.service_id = first(i) + 3; });
}

World pkeys_and_classes(std::size_t rules)
{
    const auto pkey = [](std::size_t i) { return 1 + i % 128; };
    const auto qos_class = [](std::size_t i) { return i / 128; };
    return world_of(
        with_default(), rules,
        [&](std::size_t i) {
            MatchRule rule;
            rule.pkey = IntervalSet({{pkey(i), pkey(i)}});
            rule.qos_class = IntervalSet({{qos_class(i), qos_class(i)}});
            return rule;
        },
        [&](std::size_t i, Request& request, Identity&) {
            request.pkey = static_cast<std::uint16_t>(0x8000U | pkey(i));
            request.qos_class = static_cast<std::uint16_t>(qos_class(i));
        });
}

// The GUIDs of the groups are interleaved: no two of a group are neighbours.
World port_groups(std::size_t rules)
{
    const auto guid = [](std::size_t group, std::uint64_t i) { return 0x10000 + i * kPortGroups + group; };
    World world = with_default();
    for (std::size_t group = 0; group < kPortGroups; ++group) {
        std::vector<Interval> guids;
        for (std::uint64_t i = 0; i < kGuidsPerGroup; ++i) {
            guids.push_back({guid(group, i), guid(group, i)});
        }
        world.policy.groups.emplace_back().port_guids = IntervalSet(std::move(guids));
    }
    return world_of(
        std::move(world), rules,
        [](std::size_t i) {
            MatchRule rule;
            rule.source = {i % kPortGroups};
            rule.destination = {i / kPortGroups};
            return rule;
        },
        [&](std::size_t i, Request& request, Identity&) {
            request.source = Guid{guid(i % kPortGroups, i % kGuidsPerGroup)};
            request.destination = Guid{guid(i / kPortGroups, (i + 77) % kGuidsPerGroup)};
        });
}

World client_globs(std::size_t rules)
{
    return world_of(
        with_default(), rules,
        [](std::size_t i) {
            MatchRule rule;
            ClientCriteria& client = rule.client.emplace();
            if (i % 2 == 0) {
                client.units = {"job-" + std::to_string(i) + "-*.scope"};
            } else {
                client.cgroups = {"/slurm/*/job_" + std::to_string(i) + "/*"};
            }
            return rule;
        },
        [](std::size_t i, Request&, Identity& client) {
            const std::string number = std::to_string(i);
            client.unit = "job-" + number + "-a.scope";
            client.cgroup = i % 2 == 0 ? "/system.slice/" + client.unit : "/slurm/uid_1000/job_" + number + "/step_0";
            client.unit = i % 2 == 0 ? client.unit : "";
        });
}

template <typename Ask>
void ask_all(benchmark::State& state, const World& world, Ask ask)
{
    std::size_t question = 0;
    for (auto _ : state) {
        const auto answer = ask(world.requests[question], world.clients[question]);
        if (!answer || answer->source != LevelSource::Rule) {
            state.SkipWithError("a request met no rule");
            return;
        }
        question = (question + 1) % kQuestions;
    }
}

template <World (*make)(std::size_t)>
void BM_Match(benchmark::State& state)
{
    const World world = make(static_cast<std::size_t>(state.range(0)));
    const Matcher matcher(world.policy, resolve(world.policy, {}, {}));
    ask_all(state, world,
            [&](const Request& request, const Identity& client) { return matcher.match(request, client); });
    state.counters["index_KiB"] = static_cast<double>(matcher.memory()) / 1024;
}

// The same requests rule by rule, as OpenSM goes about it.
template <World (*make)(std::size_t)>
void BM_Scan(benchmark::State& state)
{
    const World world = make(static_cast<std::size_t>(state.range(0)));
    const ResolvedGroups groups = resolve(world.policy, {}, {});
    ask_all(state, world, [&](const Request& request, const Identity& client) {
        return test::scan(world.policy, groups, request, client);
    });
}

#define RDMAQOS_MATCH_BENCH(mix)                                                                                       \
    BENCHMARK_TEMPLATE(BM_Match, mix)->RangeMultiplier(10)->Range(10, 10000);                                          \
    BENCHMARK_TEMPLATE(BM_Scan, mix)->RangeMultiplier(10)->Range(10, 10000)
RDMAQOS_MATCH_BENCH(service_ids);
RDMAQOS_MATCH_BENCH(pkeys_and_classes);
RDMAQOS_MATCH_BENCH(port_groups);
RDMAQOS_MATCH_BENCH(client_globs);
#undef RDMAQOS_MATCH_BENCH

// A program that never registered: a rule of its unit or cgroup among rules that ask for the path, none of which leads
// elsewhere, so that all of them are looked at.
World adopted_clients(std::size_t rules)
{
    World world = client_globs(rules);
    world.policy.levels[0].schedule.emplace();
    world.policy.groups.emplace_back().port_guids = IntervalSet({{1, 1}});
    for (std::size_t i = 0; i < rules; i += 2) {
        world.policy.rules[i].client.reset();
        world.policy.rules[i].destination = {0};
    }
    std::erase_if(world.clients, [](const Identity& client) { return !client.unit.empty(); });
    world.requests.resize(world.clients.size());
    return world;
}

void BM_ChooseForAdoption(benchmark::State& state)
{
    const World world = adopted_clients(static_cast<std::size_t>(state.range(0)));
    const Matcher matcher(world.policy, resolve(world.policy, {}, {}));
    std::size_t question = 0;
    for (auto _ : state) {
        const auto choice = choose_for_adoption(matcher, {}, world.clients[question], false);
        if (choice.verdict != AdoptionVerdict::Adopt) {
            state.SkipWithError("a client was not adopted");
            return;
        }
        question = (question + 1) % world.clients.size();
    }
}
BENCHMARK(BM_ChooseForAdoption)->RangeMultiplier(10)->Range(10, 10000);

// Making a policy ready, which a reload does once.
template <World (*make)(std::size_t)>
void BM_MakeMatcher(benchmark::State& state)
{
    const World world = make(10'000);
    const ResolvedGroups groups = resolve(world.policy, {}, {});
    for (auto _ : state) {
        benchmark::DoNotOptimize(Matcher(world.policy, groups).memory());
    }
}
BENCHMARK_TEMPLATE(BM_MakeMatcher, service_ids)->Unit(benchmark::kMillisecond);
BENCHMARK_TEMPLATE(BM_MakeMatcher, port_groups)->Unit(benchmark::kMillisecond);
BENCHMARK_TEMPLATE(BM_MakeMatcher, client_globs)->Unit(benchmark::kMillisecond);

// The search for rules that can never match. In these worlds there are none.
template <World (*make)(std::size_t)>
void BM_HiddenRules(benchmark::State& state)
{
    const World world = make(static_cast<std::size_t>(state.range(0)));
    const Matcher matcher(world.policy, resolve(world.policy, {}, {}));
    for (auto _ : state) {
        const auto hidden = hidden_rules(matcher);
        benchmark::DoNotOptimize(hidden.data());
        state.counters["hidden"] = static_cast<double>(hidden.size());
    }
}

// Every second rule is one that was before.
World repeated_globs(std::size_t rules)
{
    World world = client_globs(rules);
    std::copy_n(world.policy.rules.begin(), rules / 2,
                world.policy.rules.begin() + static_cast<std::ptrdiff_t>(rules / 2));
    return world;
}

// The first rule takes what the search tries of the others, and not all of it: every rule is compared with all above.
World pierced_ids(std::size_t rules)
{
    World world = service_ids(rules);
    std::vector<Interval> tried;
    for (std::size_t i = 1; i < rules; ++i) {
        const Interval& ids = world.policy.rules[i].service_id.intervals().front();
        for (const std::uint64_t id : {ids.first, ids.first + 3, ids.last}) {
            tried.push_back({id, id});
        }
    }
    world.policy.rules[0].service_id = IntervalSet(std::move(tried));
    return world;
}

World pierced_globs(std::size_t rules)
{
    World world = client_globs(rules);
    for (std::size_t i = 0; i < rules; ++i) {
        world.policy.rules[i].client.emplace().units = {"[a-z]ob-*-" + std::to_string(i) + ".scope"};
    }
    world.policy.rules[0].client->units = {"?ob-q~*", "?ob--*", "?ob-7*", "?ob-~q~*"};
    return world;
}

#define RDMAQOS_HIDDEN_BENCH(mix)                                                                                      \
    BENCHMARK_TEMPLATE(BM_HiddenRules, mix)->Arg(1000)->Arg(10000)->Unit(benchmark::kMillisecond)
RDMAQOS_HIDDEN_BENCH(service_ids);
RDMAQOS_HIDDEN_BENCH(pkeys_and_classes);
RDMAQOS_HIDDEN_BENCH(port_groups);
RDMAQOS_HIDDEN_BENCH(client_globs);
RDMAQOS_HIDDEN_BENCH(repeated_globs);
RDMAQOS_HIDDEN_BENCH(pierced_ids);
RDMAQOS_HIDDEN_BENCH(pierced_globs);
#undef RDMAQOS_HIDDEN_BENCH

void BM_Resolve(benchmark::State& state)
{
    Policy policy;
    policy.groups.resize(16);
    Fabric fabric;
    for (std::int64_t i = 0; i < state.range(0); ++i) {
        fabric.ports.push_back({Guid{0x10000 + static_cast<std::uint64_t>(i)},
                                1,
                                {},
                                NodeType::Ca,
                                "node " + std::to_string(i),
                                {0xFFFF, 0x8001},
                                false});
    }
    policy.groups[0].pkeys = IntervalSet({{0, 0x7FFF}});
    policy.groups[1].port_names = {"node 7/P1"};
    for (auto _ : state) {
        benchmark::DoNotOptimize(resolve(policy, fabric, {}));
    }
}
BENCHMARK(BM_Resolve)->Arg(100)->Arg(10000)->Unit(benchmark::kMicrosecond);

// As for a client of the direct socket, whose groups the socket knows.
void BM_ReadIdentity(benchmark::State& state)
{
    const PeerCredentials self{getpid(), geteuid(), {getegid()}};
    for (auto _ : state) {
        benchmark::DoNotOptimize(read_identity("/proc", self));
    }
}
BENCHMARK(BM_ReadIdentity)->Unit(benchmark::kMicrosecond);

void BM_ReadIdentityWithGroups(benchmark::State& state)
{
    const PeerCredentials self{getpid(), geteuid(), {}};
    for (auto _ : state) {
        benchmark::DoNotOptimize(read_identity("/proc", self));
    }
}
BENCHMARK(BM_ReadIdentityWithGroups)->Unit(benchmark::kMicrosecond);

void BM_ReadStartTime(benchmark::State& state)
{
    for (auto _ : state) {
        benchmark::DoNotOptimize(read_start_time("/proc", getpid()));
    }
}
BENCHMARK(BM_ReadStartTime)->Unit(benchmark::kMicrosecond);

}    // namespace
}    // namespace rdmaqos
