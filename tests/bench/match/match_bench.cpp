// What a Register costs before it reaches a device: the match against policies of growing size, and the identity of
// a new connection.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include "policy/match.h"

namespace rdmaqos {
namespace {

// Rules of several kinds, none of which matches the request; then DEFAULT. The worst case of a scan.
Policy policy_of(std::size_t rules)
{
    Policy policy;
    policy.levels.resize(1);
    policy.levels[0].name = "DEFAULT";
    policy.groups.resize(16);
    for (std::size_t i = 0; i < policy.groups.size(); ++i) {
        policy.groups[i].port_guids = IntervalSet({{0x1000 * i, 0x1000 * i + 0xFF}});
    }
    for (std::size_t i = 0; i < rules; ++i) {
        MatchRule rule;
        rule.number = i + 1;
        switch (i % 4) {
        case 0:
            rule.service_id = IntervalSet({{0x100000 + i * 16, 0x100000 + i * 16 + 7}});
            break;
        case 1:
            rule.source = {i % policy.groups.size()};
            rule.destination = {(i + 1) % policy.groups.size()};
            break;
        case 2:
            rule.client.emplace().uids = {static_cast<std::uint32_t>(100'000 + i)};
            break;
        default:
            rule.qos_class = IntervalSet({{i % 4096, i % 4096}});
            rule.pkey = IntervalSet({{1, 2}});
            break;
        }
        policy.rules.push_back(std::move(rule));
    }
    return policy;
}

Identity caller()
{
    Identity identity;
    identity.uid = 1000;
    identity.gids = {1000};
    identity.unit = "job-7.scope";
    identity.cgroup = "/system.slice/job-7.scope";
    return identity;
}

void BM_MatchNothing(benchmark::State& state)
{
    const Policy policy = policy_of(static_cast<std::size_t>(state.range(0)));
    const ResolvedGroups groups = resolve(policy, {}, {});
    const Identity identity = caller();
    Request request;
    request.service_id = 80;
    request.pkey = 0x8777;
    request.qos_class = 7;
    request.destination = Guid{0xABCDEF};
    for (auto _ : state) {
        benchmark::DoNotOptimize(match(policy, groups, request, identity));
    }
    state.SetComplexityN(state.range(0));
}
BENCHMARK(BM_MatchNothing)->RangeMultiplier(10)->Range(10, 10000)->Complexity(benchmark::oN);

void BM_Resolve(benchmark::State& state)
{
    Policy policy = policy_of(1000);
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
