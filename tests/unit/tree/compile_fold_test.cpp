// What compile() does where a policy is deeper than a device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/tree/compiled.h"

namespace rdmaqos::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(CompileFold, AnOnlyChildInheritsEverythingOfItsFoldedParent)
{
    auto in = input({node("/a", share(70)), node("/a/b", share(1, gbps(20))),
                     level("/a/b/x", share(5), FairBy::Process), level("/a/y", share(3)), level("/z", share(30))});
    const auto compiled = compile(in);
    EXPECT_EQ(depth(compiled.tree), 4U);
    EXPECT_FALSE(compiled.tree.contains(ElementPath("/a/b")));
    EXPECT_EQ(at(compiled, "/a/b/x"), (Element{ElementKind::Node, ElementPath("/a"), {1, gbps(20)}}));
    EXPECT_EQ(share_of(compiled, "/a/y"), 3U);
    EXPECT_THAT(compiled.findings, IsEmpty());
}

TEST(CompileFold, FoldingMultipliesShares)
{
    auto in = input({node("/a", share(70)), level("/a/x", share(2)), level("/a/y", share(5)), level("/b", share(30))});
    in.capabilities.max_depth = 2;
    const auto compiled = compile(in);
    EXPECT_EQ(share_of(compiled, "/a/x"), 2U);
    EXPECT_EQ(share_of(compiled, "/a/y"), 5U);
    EXPECT_EQ(share_of(compiled, "/b"), 3U);
    EXPECT_EQ(at(compiled, "/a/x").parent, ElementPath::root());
    EXPECT_THAT(compiled.findings, IsEmpty());    // everybody gets what the policy says
}

TEST(CompileFold, AFoldedNodeWhoseSharesCannotBeMultipliedIsReported)
{
    auto in = input({node("/a", share(1)), level("/a/x", share(1)), level("/a/y", share(300)), level("/b", share(1))});
    in.capabilities.max_depth = 2;
    const auto compiled = compile(in);
    EXPECT_EQ(only(compiled, FindingKind::ShareError).path.text(), "/a/x");
    EXPECT_FALSE(only(compiled, FindingKind::Folded).is_error);
}

// What the processes of a class get together while all others send, and its `others` does not.
Bandwidth processes_together(const Compiled& compiled, const std::string& class_path)
{
    Demands demands = all_backlogged(compiled.tree);
    demands.erase(ElementPath(class_path + "/others"));
    double sum = 0;
    for (const auto& [path, allocation] : solve(compiled.tree, gbps(100), demands)) {
        const bool is_process = path.text().starts_with(class_path + "/pid:");
        sum += is_process ? allocation.kbps : 0;
    }
    return Bandwidth::from_mbps(Bandwidth::from_computed(sum).mbps());
}

TEST(CompileFold, AFoldedClassWhosePartDependsOnItsProcessesIsAnError)
{
    const auto policy = [](int count, std::uint32_t depth) {
        auto in = input({node("/t", share(1)), level("/t/x", share(1), FairBy::Process), level("/t/y", share(1)),
                         level("/b", share(1))});
        in.capabilities.max_depth = depth;
        in.principals = processes("/t/x", count);
        return compile(in);
    };
    EXPECT_EQ(processes_together(policy(1, 4), "/t/x"), gbps(25));
    EXPECT_EQ(processes_together(policy(9, 4), "/t/x"), gbps(25));
    EXPECT_THAT(policy(9, 4).findings, IsEmpty());

    const auto folded = policy(9, 2);
    EXPECT_EQ(only(folded, FindingKind::Folded).gap, Gap::between(Bandwidth::from_kbps(14'285'714), gbps(25)));
    EXPECT_EQ(processes_together(policy(1, 2), "/t/x"), Bandwidth::from_mbps(14'285));
    EXPECT_EQ(processes_together(folded, "/t/x"), Bandwidth::from_mbps(23'076));
    EXPECT_EQ(
        findings_text(folded.findings),
        "error: /t/x: cannot have a node of its own: the device has 2 levels; its leaves are placed below /; instead "
        "of 25 Gbit/s for any number of principals, 1 process gets 14.285 Gbit/s, and 9 get 23.076 Gbit/s together\n");
    EXPECT_EQ(policy(0, 2).findings, folded.findings);    // who is there makes no other finding
}

TEST(CompileFold, AFoldedClassWithNothingBesideItKeepsEverything)
{
    auto in = input({node("/t"), level("/t/x", {}, FairBy::Process)});
    in.capabilities.max_depth = 2;
    in.principals = processes("/t/x", 3);
    const auto compiled = compile(in);
    EXPECT_EQ(leaf_count(compiled.tree), 4U);
    EXPECT_EQ(processes_together(compiled, "/t/x"), gbps(100));
    EXPECT_THAT(compiled.findings, IsEmpty());
}

TEST(CompileFold, WhatACappedLevelOfAFoldedNodeLeavesStaysInTheNode)
{
    auto in = input({node("/t"), level("/t/a", share(1, gbps(10))), level("/t/b"), node("/t/empty"), level("/s"),
                     node("/e"), node("/e/empty")});
    in.capabilities.max_depth = 2;
    const auto compiled = compile(in);
    const auto rates = solve(compiled.tree, gbps(100), all_backlogged(compiled.tree));
    EXPECT_EQ(rates.at(ElementPath("/t/a")).rate(), gbps(10));
    EXPECT_EQ(rates.at(ElementPath("/t/b")).rate(), gbps(40));
    EXPECT_EQ(rates.at(ElementPath("/s")).rate(), gbps(50));
    EXPECT_THAT(compiled.findings, IsEmpty());
}

TEST(CompileFold, ALostCapIsReportedWithWhatIsReached)
{
    auto in = input({node("/a", share(1, gbps(40))), level("/a/x"), level("/a/y")});
    in.capabilities.max_depth = 2;
    const auto compiled = compile(in);
    EXPECT_EQ(at(compiled, "/a/x").attributes.max_rate, gbps(40));
    const auto& finding = only(compiled, FindingKind::CapLost);
    EXPECT_TRUE(finding.is_error);
    EXPECT_EQ(finding.path.text(), "/a");
    EXPECT_EQ(finding.requested, "max-rate 40 Gbit/s for all below it");
    EXPECT_EQ(finding.achievable, "at most 40 Gbit/s for each of 2 elements, 80 Gbit/s together");
    EXPECT_EQ(finding.gap, Gap::between(gbps(40), gbps(80)));
}

TEST(CompileFold, ACapThatItsChildrenKeepAnywayIsNotLost)
{
    auto in = input(
        {node("/a", share(1, gbps(40))), level("/a/x", share(1, gbps(20))), level("/a/y", share(1, gbps(20)))});
    in.capabilities.max_depth = 2;
    EXPECT_THAT(compile(in).findings, IsEmpty());
}

TEST(CompileFold, NodesWithoutCapAreFoldedFirst)
{
    auto in = input({node("/a"), level("/a/1"), node("/a/b", share(1, gbps(40))), level("/a/b/2"), node("/a/b/c"),
                     level("/a/b/c/3"), level("/a/b/c/4"), node("/z")});
    const auto compiled = compile(in);
    EXPECT_EQ(depth(compiled.tree), 4U);
    EXPECT_TRUE(compiled.tree.contains(ElementPath("/a/b")));
    EXPECT_FALSE(compiled.tree.contains(ElementPath("/a/b/c")));
    EXPECT_EQ(at(compiled, "/a/b/c/3").parent.text(), "/a/b");
}

TEST(CompileFold, PrincipalsDoNotChangeWhatIsFolded)
{
    auto in = input({node("/a"), level("/a/1"), node("/a/b"), level("/a/b/x", {}, FairBy::Process), level("/a/b/y")});
    const auto empty = compile(in);
    in.principals = {principal("/a/b/x", {"pid:1", "qp:1"}), principal("/a/b/x", {"pid:1", "qp:2"}),
                     principal("/a/b/x", {"pid:2", "qp:3"})};
    const auto busy = compile(in);
    EXPECT_EQ(depth(busy.tree), 4U);
    for (const auto& [path, element] : empty.tree) {
        EXPECT_EQ(at(busy, path.text()).parent, element.parent) << path.text();
    }
    EXPECT_TRUE(busy.tree.contains(ElementPath("/a/b/x/pid:1/qp:1")));
}

TEST(CompileFold, QueuePairsOfAFoldedProcessShareItsPart)
{
    auto in = input({node("/a"), level("/a/x", {}, FairBy::Process), level("/a/y")});
    in.principals = {principal("/a/x", {"pid:1", "qp:1"}), principal("/a/x", {"pid:1", "qp:2"}),
                     principal("/a/x", {"pid:2"})};
    const auto compiled = compile(in);
    EXPECT_EQ(at(compiled, "/a/x/pid:1/qp:1").parent.text(), "/a/x");
    EXPECT_EQ(share_of(compiled, "/a/x/pid:1/qp:1"), 1U);
    EXPECT_EQ(share_of(compiled, "/a/x/pid:1/qp:2"), 1U);
    EXPECT_EQ(share_of(compiled, "/a/x/pid:2"), 2U);
    EXPECT_EQ(share_of(compiled, "/a/x/others"), 2U);
    EXPECT_THAT(kinds(compiled), ElementsAre(FindingKind::Folded));
}

}    // namespace
}    // namespace rdmaqos::test
