// How the solver grows with the tree, and how fast packets are played. Near-linear is what is wanted: the fitted
// coefficient and its error are in the _BigO and _RMS lines.
#include <string>

#include <benchmark/benchmark.h>

#include "lib/model/dwrr.h"
#include "lib/model/solver.h"

namespace rdmaqos {
namespace {

ElementAttributes attributes_of(std::int64_t number)
{
    ElementAttributes attributes;
    attributes.share = static_cast<std::uint32_t>(number * 7919 % 100) + 1;
    if (number % 5 == 0) {
        attributes.max_rate = Bandwidth::from_mbps(static_cast<std::uint64_t>(number * 104'729 % 40'000) + 1);
    }
    return attributes;
}

// `fan_out` leaves below each node, the nodes below the root.
Tree grouped_tree(std::int64_t leaves, std::int64_t fan_out)
{
    Tree tree;
    tree.emplace(ElementPath::root(), Element{});
    ElementPath node;
    for (std::int64_t leaf = 0; leaf < leaves; ++leaf) {
        if (leaf % fan_out == 0) {
            node = ElementPath::root().child("node" + std::to_string(leaf / fan_out));
            tree.emplace(node, Element{ElementKind::Node, ElementPath::root(), attributes_of(leaf)});
        }
        tree.emplace(node.child("leaf" + std::to_string(leaf)),
                     Element{ElementKind::Leaf, node, attributes_of(leaf + 1)});
    }
    return tree;
}

Demands mixed_demands(const Tree& tree)
{
    Demands demands = all_backlogged(tree);
    std::uint64_t number = 0;
    for (auto& [path, rate] : demands) {
        if (++number % 3 == 0) {
            rate = Bandwidth::from_mbps(number * 15'485'863 % 5'000);
        }
    }
    return demands;
}

void solve_tree(benchmark::State& state, std::int64_t fan_out)
{
    const Tree tree = grouped_tree(state.range(0), fan_out);
    const Demands demands = mixed_demands(tree);
    for (auto _ : state) {
        benchmark::DoNotOptimize(solve(tree, Bandwidth::from_gbps(100), demands));
    }
    state.SetComplexityN(state.range(0));
    state.SetItemsProcessed(state.iterations() * state.range(0));
}

void BM_SolveGrouped(benchmark::State& state)
{
    solve_tree(state, 64);
}
BENCHMARK(BM_SolveGrouped)
    ->RangeMultiplier(10)
    ->Range(1'000, 100'000)
    ->Unit(benchmark::kMillisecond)
    ->Complexity(benchmark::oNLogN);

// All leaves below one node: the largest sort.
void BM_SolveFlat(benchmark::State& state)
{
    solve_tree(state, state.range(0));
}
BENCHMARK(BM_SolveFlat)
    ->RangeMultiplier(10)
    ->Range(1'000, 100'000)
    ->Unit(benchmark::kMillisecond)
    ->Complexity(benchmark::oNLogN);

void BM_PlayPackets(benchmark::State& state)
{
    const Tree tree = grouped_tree(state.range(0), 4);
    DwrrOptions options;
    options.packets = 10'000;
    options.warm_up_packets = 0;
    for (auto _ : state) {
        benchmark::DoNotOptimize(simulate_dwrr(tree, Bandwidth::from_gbps(100), mixed_demands(tree), options));
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(options.packets));
}
BENCHMARK(BM_PlayPackets)->Arg(8)->Arg(32)->Unit(benchmark::kMillisecond);

}    // namespace
}    // namespace rdmaqos
