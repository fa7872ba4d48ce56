#include "lib/model/process_trees.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/model/solver.h"

namespace rdmaqos {
namespace {

using testing::ElementsAre;

const ElementPath kRpc("/apps/rpc");
const ElementPath kBulk("/apps/bulk");
constexpr Bandwidth kLink = Bandwidth::from_gbps(100);

// rpc and bulk, 3 to 1, together at most 60 Gbit/s; and a class that nobody is in.
Tree device_tree()
{
    Tree tree;
    tree[ElementPath::root()] = {ElementKind::Node, {}, {}};
    tree[ElementPath("/apps")] = {ElementKind::Node, ElementPath::root(), {1, Bandwidth::from_gbps(60)}};
    tree[kRpc] = {ElementKind::Leaf, ElementPath("/apps"), {3, {}}};
    tree[kBulk] = {ElementKind::Leaf, ElementPath("/apps"), {1, {}}};
    tree[ElementPath("/idle")] = {ElementKind::Leaf, ElementPath::root(), {50, {}}};
    return tree;
}

ProcessSenders senders(std::initializer_list<std::pair<std::uint64_t, ElementPath>> queue_pairs)
{
    ProcessSenders all;
    for (const auto& [process, leaf] : queue_pairs) {
        all[process].add(leaf, std::nullopt);
    }
    return all;
}

std::vector<std::string> paths_of(const Tree& tree)
{
    std::vector<std::string> paths;
    for (const auto& [path, element] : tree) {
        paths.push_back(path.text());
        EXPECT_TRUE(path.is_root() || tree.contains(element.parent)) << path.text();
    }
    return paths;
}

TEST(ProcessTrees, EachProcessHasTheElementsItNeeds)
{
    const Tree trees = trees_of_processes(device_tree(), senders({{17, kRpc}, {18, kRpc}, {18, kBulk}}),
                                          CapMode::Whole);
    EXPECT_THAT(paths_of(trees), ElementsAre("/", "/pid:17", "/pid:17/apps", "/pid:17/apps/rpc", "/pid:18",
                                             "/pid:18/apps", "/pid:18/apps/bulk", "/pid:18/apps/rpc"));
    EXPECT_EQ(trees.at(ElementPath("/pid:18/apps/rpc")).attributes, (ElementAttributes{3, {}}));
    EXPECT_EQ(trees.at(ElementPath("/pid:18/apps")).attributes.max_rate, Bandwidth::from_gbps(60));
    EXPECT_EQ(trees.at(ElementPath("/pid:17/apps/rpc")).kind, ElementKind::Leaf);
    EXPECT_EQ(path_in_process(17, kRpc).text(), "/pid:17/apps/rpc");
    EXPECT_EQ(path_in_process(17, ElementPath::root()).text(), "/pid:17");
}

TEST(ProcessTrees, ADividedCapIsDividedAmongThoseBelowIt)
{
    const Tree trees = trees_of_processes(device_tree(), senders({{17, kRpc}, {18, kRpc}, {19, kBulk}}),
                                          CapMode::Divide);
    for (const auto* path : {"/pid:17/apps", "/pid:18/apps", "/pid:19/apps"}) {
        EXPECT_EQ(trees.at(ElementPath(path)).attributes.max_rate, Bandwidth::from_gbps(20)) << path;
    }
}

// Shares hold within a process only, and each may use the whole cap.
TEST(ProcessTrees, TheSolverGivesEachTreeAnEqualPart)
{
    const Tree trees = trees_of_processes(device_tree(), senders({{17, kRpc}, {18, kRpc}, {18, kBulk}}),
                                          CapMode::Whole);
    const auto rates = solve(trees, kLink, all_backlogged(trees));
    EXPECT_EQ(rates.at(path_in_process(17, kRpc)).rate(), Bandwidth::from_gbps(50));
    EXPECT_EQ(rates.at(path_in_process(18, kRpc)).rate(), Bandwidth::from_mbps(37'500));
    EXPECT_EQ(rates.at(path_in_process(18, kBulk)).rate(), Bandwidth::from_mbps(12'500));
}

TEST(ProcessTrees, AdaptiveCapsMakeThemOneTree)
{
    const Tree tree = tree_with_copies(device_tree(), senders({{17, kRpc}, {18, kRpc}, {18, kBulk}}));
    EXPECT_THAT(paths_of(tree),
                ElementsAre("/", "/apps", "/apps/bulk", "/apps/rpc", "/apps/rpc/pid:17", "/apps/rpc/pid:18", "/idle"));
    Demands demands{{path_of_copy(17, kRpc), {}}, {path_of_copy(18, kRpc), {}}, {kBulk, {}}};
    const auto rates = solve(tree, kLink, demands);
    EXPECT_EQ(rates.at(path_of_copy(17, kRpc)).rate(), Bandwidth::from_mbps(22'500));
    EXPECT_EQ(rates.at(kBulk).rate(), Bandwidth::from_gbps(15)) << "its share of what caps both";
    EXPECT_FALSE(tree.contains(path_of_copy(18, kBulk))) << "it is alone there";
}

TEST(ProcessTrees, ALeafThatIsGoneIsNobodys)
{
    const Tree trees = trees_of_processes(device_tree(), senders({{17, ElementPath("/gone")}}), CapMode::Whole);
    EXPECT_THAT(paths_of(trees), ElementsAre("/"));
    EXPECT_THAT(paths_of(trees_of_processes({}, senders({{17, kRpc}}), CapMode::Divide)), ElementsAre("/"));
}

}    // namespace
}    // namespace rdmaqos
