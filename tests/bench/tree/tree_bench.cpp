// How long a policy takes to become a tree and a plan. Times should grow with the number of levels, not its square:
// each benchmark prints its growth ("BigO").
#include <string>

#include <benchmark/benchmark.h>

#include "lib/tree/compile.h"
#include "lib/tree/plan.h"

namespace rdmaqos {
namespace {

enum class Rates : std::uint8_t { Shares, MinRates };

// Twenty levels below each node, one in four of them fair by process.
CompileInput policy_of(std::int64_t levels, Rates rates, std::uint32_t max_depth)
{
    CompileInput input;
    input.capabilities.scheduling = true;
    input.capabilities.shares = true;
    input.capabilities.rate_caps = true;
    input.capabilities.max_depth = max_depth;
    input.capabilities.max_leaves = 1U << 20U;
    input.capabilities.max_elements = 1U << 20U;
    input.capabilities.max_share = 100;
    input.link_speed = Bandwidth::from_gbps(400);
    for (std::int64_t i = 0; i < levels; ++i) {
        const auto node = ElementPath::root().child("node-" + std::to_string(i / 20));
        if (i % 20 == 0) {
            SpecElement& parent = input.spec.elements.emplace_back();
            parent.path = node;
            parent.rate.share = static_cast<std::uint32_t>(i / 20 % 50 + 1);
        }
        SpecElement& level = input.spec.elements.emplace_back();
        level.path = node.child("level-" + std::to_string(i));
        level.is_class = true;
        level.fair_by = i % 4 == 0 ? FairBy::Process : FairBy::None;
        level.rate.share = static_cast<std::uint32_t>(i % 7 + 1);
        if (rates == Rates::MinRates && i % 5 == 0) {
            level.rate.min_rate = Bandwidth::from_mbps(static_cast<std::uint64_t>(i % 10 + 1));
        }
        if (level.fair_by == FairBy::Process) {
            input.principals.push_back({level.path, {"pid:" + std::to_string(i)}, std::nullopt});
        }
    }
    return input;
}

void compile_and_diff(benchmark::State& state, const CompileInput& input)
{
    const ActualState before = apply(diff({compile(input).tree, {}}, {}, input.capabilities), {});
    auto edited = input;
    edited.spec.elements.back().rate.share = 9;
    for (auto _ : state) {
        const DesiredState desired{compile(edited).tree, {}};
        benchmark::DoNotOptimize(diff(desired, before, input.capabilities));
    }
    state.SetComplexityN(state.range(0));
}

void CompileAndDiff(benchmark::State& state)
{
    compile_and_diff(state, policy_of(state.range(0), Rates::Shares, 4));
}
BENCHMARK(CompileAndDiff)->Arg(250)->Arg(1000)->Arg(4000)->Unit(benchmark::kMillisecond)->Complexity();

void CompileAndDiffWithMinRates(benchmark::State& state)
{
    compile_and_diff(state, policy_of(state.range(0), Rates::MinRates, 4));
}
BENCHMARK(CompileAndDiffWithMinRates)->Arg(250)->Arg(1000)->Arg(4000)->Unit(benchmark::kMillisecond)->Complexity();

// Every node has to be folded: all levels become siblings.
void CompileAndDiffFolded(benchmark::State& state)
{
    compile_and_diff(state, policy_of(state.range(0), Rates::Shares, 3));
}
BENCHMARK(CompileAndDiffFolded)->Arg(250)->Arg(1000)->Arg(4000)->Unit(benchmark::kMillisecond)->Complexity();

void MakeFromNothing(benchmark::State& state)
{
    const auto input = policy_of(state.range(0), Rates::Shares, 4);
    const DesiredState desired{compile(input).tree, {}};
    for (auto _ : state) {
        benchmark::DoNotOptimize(diff(desired, {}, input.capabilities));
    }
    state.SetComplexityN(state.range(0));
}
BENCHMARK(MakeFromNothing)->Arg(250)->Arg(1000)->Arg(4000)->Unit(benchmark::kMillisecond)->Complexity();

// One share changes under many queue pairs: one operation, and no work that grows with anything but a comparison each.
void OneShareUnderQueuePairs(benchmark::State& state)
{
    const auto input = policy_of(100, Rates::Shares, 4);
    const auto compiled = compile(input);
    DesiredState desired{compiled.tree, {}};
    const auto& classes = compiled.classes;
    auto at = classes.begin();
    for (std::int64_t i = 0; i < state.range(0); ++i) {
        const auto& leaf = at->second.shared_leaf;
        desired.queue_pairs[QueuePairId{static_cast<std::uint32_t>(i)}] = {leaf, leaf, std::nullopt};
        at = std::next(at) == classes.end() ? classes.begin() : std::next(at);
    }
    const auto actual = apply(diff(desired, {}, input.capabilities), {});
    desired.tree.rbegin()->second.attributes.share = 50;
    for (auto _ : state) {
        auto plan = diff(desired, actual, input.capabilities);
        if (plan.operations.size() != 1) {
            state.SkipWithError("expected exactly one operation");
        }
        benchmark::DoNotOptimize(plan);
    }
    state.SetComplexityN(state.range(0));
}
BENCHMARK(OneShareUnderQueuePairs)
    ->RangeMultiplier(10)
    ->Range(100, 10'000)
    ->Unit(benchmark::kMicrosecond)
    ->Complexity();

// All leaves of a full device are made anew and every queue pair passes through another leaf.
void TurnOverAFullDevice(benchmark::State& state)
{
    const auto leaves = static_cast<std::uint32_t>(state.range(0));
    const auto full = [leaves](const std::string& prefix) {
        DesiredState desired;
        desired.tree[ElementPath::root()] = {};
        for (std::uint32_t i = 0; i < leaves; ++i) {
            const auto path = ElementPath::root().child(prefix + std::to_string(i));
            desired.tree[path] = {ElementKind::Leaf, ElementPath::root(), {1, std::nullopt}};
            for (std::uint32_t k = 0; k < 4; ++k) {
                desired.queue_pairs[QueuePairId{i * 4 + k}] = {path, path, std::nullopt};
            }
        }
        return desired;
    };
    Capabilities capabilities;
    capabilities.max_leaves = leaves;
    capabilities.max_elements = leaves + 1;
    const auto actual = apply(diff(full("a"), {}, capabilities), {});
    const auto desired = full("b");
    for (auto _ : state) {
        benchmark::DoNotOptimize(diff(desired, actual, capabilities));
    }
    state.SetComplexityN(state.range(0));
}
BENCHMARK(TurnOverAFullDevice)->RangeMultiplier(2)->Range(64, 256)->Unit(benchmark::kMillisecond)->Complexity();

}    // namespace
}    // namespace rdmaqos
