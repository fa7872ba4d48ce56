#include "lib/tree/compile.h"

#include <algorithm>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/tree/compiled.h"

namespace rdmaqos::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Compile, AnEmptyPolicyIsAnEmptyTree)
{
    const auto compiled = compile(input({}));
    EXPECT_THAT(compiled.tree, IsEmpty());
    EXPECT_THAT(compiled.findings, IsEmpty());
}

TEST(Compile, RootHasNeitherShareNorCap)
{
    const auto compiled = compile(input({level("/bulk")}));
    EXPECT_EQ(at(compiled, "/"), (Element{ElementKind::Node, ElementPath(), {}}));
}

TEST(Compile, SharesThatFitAreKept)
{
    const auto compiled = compile(input({level("/a", share(70)), level("/b", share(30))}));
    EXPECT_EQ(share_of(compiled, "/a"), 70U);
    EXPECT_EQ(share_of(compiled, "/b"), 30U);
    EXPECT_THAT(compiled.findings, IsEmpty());
}

TEST(Compile, SharesAboveTheRangeAreScaled)
{
    const auto compiled = compile(input({level("/a", share(2000)), level("/b", share(1000))}));
    EXPECT_EQ(share_of(compiled, "/a"), 2U);
    EXPECT_EQ(share_of(compiled, "/b"), 1U);
    EXPECT_THAT(compiled.findings, IsEmpty());
}

TEST(Compile, AnErrorOfSharesAboveFivePercentIsReported)
{
    const auto compiled = compile(input({level("/a", share(1000)), level("/b", share(1))}));
    EXPECT_EQ(share_of(compiled, "/a"), 100U);
    EXPECT_EQ(share_of(compiled, "/b"), 1U);
    const auto& finding = only(compiled, FindingKind::ShareError);
    EXPECT_FALSE(finding.is_error);
    EXPECT_EQ(finding.path.text(), "/b");
    EXPECT_EQ(finding.requested, "0.10 % of /");
    EXPECT_EQ(finding.achievable, "0.99 %");
}

TEST(Compile, EveryElementThatIsOffByMoreThanFivePercentIsReported)
{
    std::vector<SpecElement> elements{level("/a", min_rate(gbps(10))), level("/b", share(2000))};
    for (const char* path : {"/c", "/d", "/e"}) {
        elements.push_back(level(path, share(1)));
    }
    const auto compiled = compile(input(std::move(elements)));
    constexpr const char* kDetails =
        ": requested 0.04 % of /, achievable 0.91 %: shares are whole numbers from 1 to 100 on "
        "this device\n";
    EXPECT_EQ(findings_text(compiled.findings), fmt::format("warning: /c{0}warning: /d{0}warning: /e{0}", kDetails));
}

TEST(Compile, AGuaranteeThatGetsMuchMoreIsReported)
{
    const auto compiled = compile(input({level("/a", min_rate(Bandwidth::from_mbps(100))), level("/b")}));
    EXPECT_EQ(share_of(compiled, "/a"), 1U);
    EXPECT_EQ(share_of(compiled, "/b"), 100U);
    EXPECT_EQ(
        findings_text(compiled.findings),
        "warning: /a: requested min-rate 100 Mbit/s, achievable 990 Mbit/s, so that its siblings get less: shares are "
        "whole numbers from 1 to 100 on this device\n");
}

TEST(Compile, PrincipalsThatAreOffAreReportedOnce)
{
    auto in = input({node("/a", share(1)), level("/a/x", {}, FairBy::Process), level("/b", share(100))});
    in.capabilities.max_depth = 2;
    in.principals = processes("/a/x", 9);
    const auto compiled = compile(in);
    EXPECT_THAT(kinds(compiled), ElementsAre(FindingKind::ShareError, FindingKind::ShareError, FindingKind::Folded));
    EXPECT_EQ(compiled.findings[0].path.text(), "/a/x");
    EXPECT_EQ(compiled.findings[0].requested, "0.10 % of / for each principal");
    EXPECT_EQ(compiled.findings[0].achievable, "0.91 %");
    EXPECT_EQ(compiled.findings[1].path.text(), "/b");
}

// Each of so many nodes gets less than the 1 kbit/s that rates are counted in: nothing, as a number.
CompileInput crowded_below_a_small_cap(std::uint32_t max_share)
{
    constexpr int kNodes = 2000;
    std::vector<SpecElement> elements{node("/n", share(1, Bandwidth::from_mbps(1)))};
    for (int i = 0; i < kNodes; ++i) {
        const std::string path = "/n/" + std::to_string(i);
        elements.push_back(node(path));
        elements.push_back(level(path + "/a", share(500)));
        elements.push_back(level(path + "/b", share(100)));
    }
    auto in = input(std::move(elements));
    in.capabilities.max_share = max_share;
    in.capabilities.max_leaves = in.capabilities.max_elements = 10'000;
    return in;
}

TEST(Compile, SharesOfNearlyNothingAreStillShares)
{
    const auto compiled = compile(crowded_below_a_small_cap(100));
    EXPECT_TRUE(busy_rates(compiled.tree).at(ElementPath("/n/7")).is_zero());
    for (const char* parent : {"/n/0", "/n/7", "/n/1999"}) {
        EXPECT_EQ(share_of(compiled, std::string(parent) + "/a"), 5U) << parent;
        EXPECT_EQ(share_of(compiled, std::string(parent) + "/b"), 1U) << parent;
    }
    EXPECT_THAT(compiled.findings, IsEmpty());
}

TEST(Compile, SharesOfNearlyNothingThatCannotBeReachedAreReported)
{
    const auto compiled = compile(crowded_below_a_small_cap(3));
    EXPECT_EQ(share_of(compiled, "/n/7/a"), 3U);
    EXPECT_EQ(share_of(compiled, "/n/7/b"), 1U);
    const auto& finding = compiled.findings.at(1);
    EXPECT_EQ(finding.kind, FindingKind::ShareError);
    EXPECT_EQ(finding.path.text(), "/n/0/b");
    EXPECT_EQ(finding.requested, "16.67 % of /n/0");
    EXPECT_EQ(finding.achievable, "25.00 %");
    EXPECT_EQ(compiled.findings.size(), 4000U);    // /n/0/a has 75 % instead of 83 %, and so on
}

TEST(Compile, WhatAFoldedNodeDividesOfNothingHasNumbersToo)
{
    // The guarantee takes the whole link, and the node beside it is left out.
    auto in = input({level("/all", min_rate(gbps(100))), node("/n"), node("/n/m"), level("/n/m/a", share(500)),
                     level("/n/m/b", share(100))});
    in.capabilities.max_depth = 2;
    const auto compiled = compile(in);
    EXPECT_EQ(share_of(compiled, "/all"), 100U);
    EXPECT_EQ(share_of(compiled, "/n/m/a"), 1U);
    EXPECT_EQ(share_of(compiled, "/n/m/b"), 1U);
    EXPECT_EQ(only(compiled, FindingKind::MinRateMissed).path.text(), "/all");
}

TEST(Compile, DeviceDefaultIsZeroAndNotScaled)
{
    RateSpec device_default;
    device_default.share.reset();
    const auto compiled = compile(
        input({level("/a", share(2000)), level("/b", share(1000)), level("/c", device_default)}));
    EXPECT_EQ(share_of(compiled, "/a"), 2U);
    EXPECT_EQ(share_of(compiled, "/b"), 1U);
    EXPECT_EQ(share_of(compiled, "/c"), 0U);
}

TEST(Compile, AFairClassIsANodeWithOthers)
{
    auto in = input({level("/rpc", {}, FairBy::Process)});
    in.principals = processes("/rpc", 2);
    const auto compiled = compile(in);
    EXPECT_EQ(at(compiled, "/rpc").kind, ElementKind::Node);
    EXPECT_EQ(at(compiled, "/rpc/others").kind, ElementKind::Leaf);
    EXPECT_EQ(at(compiled, "/rpc/pid:1").kind, ElementKind::Leaf);
    EXPECT_THAT(compiled.principal_leaves, ElementsAre(ElementPath("/rpc/pid:0"), ElementPath("/rpc/pid:1")));
    EXPECT_EQ(compiled.classes.at(ElementPath("/rpc")).shared_leaf.text(), "/rpc/others");
}

TEST(Compile, OnePrincipalTwiceHasOneLeaf)
{
    auto in = input({level("/rpc", {}, FairBy::Process)});
    in.principals = {principal("/rpc", {"pid:1"}), principal("/rpc", {"pid:1"})};
    in.principals[1].max_rate = gbps(5);
    const auto compiled = compile(in);
    EXPECT_EQ(leaf_count(compiled.tree), 2U);
    EXPECT_EQ(at(compiled, "/rpc/pid:1").attributes.max_rate, gbps(5));
}

RateSpec capped_at(Bandwidth rate)
{
    return share(1, rate);
}

TEST(Compile, EachPrincipalHasItsCapAndOthersCountsAsOne)
{
    auto in = input({level("/rpc", {}, FairBy::Process)});
    in.spec.elements[0].principal = capped_at(gbps(5));
    in.spec.elements[0].leaf_budget = 2;
    in.principals = processes("/rpc", 3);
    const auto compiled = compile(in);
    for (const char* leaf : {"/rpc/pid:0", "/rpc/pid:1", "/rpc/others"}) {
        EXPECT_EQ(at(compiled, leaf).attributes.max_rate, gbps(5)) << leaf;
    }
    EXPECT_EQ(at(compiled, "/rpc").attributes.max_rate, std::nullopt);
    EXPECT_THAT(kinds(compiled), ElementsAre(FindingKind::BudgetExceeded));
}

TEST(Compile, TheCapOfAPrincipalIsOnItsNode)
{
    auto in = input({level("/rpc", {}, FairBy::Process)});
    in.spec.elements[0].principal = capped_at(gbps(5));
    in.principals = {principal("/rpc", {"pid:1", "qp:17"}), principal("/rpc", {"pid:1"}), principal("/rpc", {"pid:2"})};
    in.principals[0].max_rate = gbps(3);
    in.principals[2].max_rate = gbps(7);
    const auto compiled = compile(in);
    EXPECT_EQ(at(compiled, "/rpc/pid:1").attributes.max_rate, gbps(5));
    EXPECT_EQ(at(compiled, "/rpc/pid:1/qp:17").attributes.max_rate, gbps(3));
    EXPECT_EQ(at(compiled, "/rpc/pid:1/others").attributes.max_rate, std::nullopt);
    EXPECT_EQ(at(compiled, "/rpc/pid:2").attributes.max_rate, gbps(5)) << "the smaller of two caps";
    EXPECT_THAT(compiled.findings, IsEmpty());
}

TEST(Compile, TheCapOfAPrincipalIsAPartOfWhatTheClassIsAPartOf)
{
    auto in = input({node("/n", share(1, gbps(40))), level("/n/rpc", share(1, gbps(20)), FairBy::Process)});
    in.spec.elements[1].principal.max_part = Percentage::from_hundredths(2500);
    EXPECT_EQ(at(compile(in), "/n/rpc/others").attributes.max_rate, gbps(10));
}

TEST(Compile, ACapOfPrincipalsAboveTheLinkIsAWarning)
{
    auto in = input({level("/rpc", {}, FairBy::Process)}, gbps(25));
    in.spec.elements[0].principal = capped_at(gbps(40));
    const auto compiled = compile(in);
    EXPECT_FALSE(only(compiled, FindingKind::CapAboveLink).is_error);
    EXPECT_EQ(only(compiled, FindingKind::CapAboveLink).requested, "max-rate-each 40 Gbit/s");
    in.capabilities.rate_caps = false;
    EXPECT_THAT(kinds(compile(in)), ElementsAre(FindingKind::NotSupported));
}

TEST(Compile, WhatAClassGetsDoesNotDependOnTheCapsOfItsPrincipals)
{
    auto in = input({level("/rpc", min_rate(gbps(40)), FairBy::Process), level("/b", share(60)), level("/c")});
    const auto free = compile(in);
    in.spec.elements[0].principal = capped_at(gbps(5));
    const auto capped = compile(in);
    EXPECT_THAT(capped.findings, IsEmpty()) << "its guarantee is for as many as come";
    for (const char* path : {"/rpc", "/b", "/c"}) {
        EXPECT_EQ(share_of(capped, path), share_of(free, path)) << path;
    }
}

TEST(Compile, WithoutANodeForItAPrincipalsCapIsLost)
{
    auto in = input({node("/n"), level("/n/rpc", {}, FairBy::Process)});
    in.spec.elements[1].principal = capped_at(gbps(5));
    in.principals = {principal("/n/rpc", {"pid:1", "qp:17"}), principal("/n/rpc", {"pid:1", "qp:18"}),
                     principal("/n/rpc", {"pid:2", "qp:19"})};
    in.capabilities.max_depth = 5;
    EXPECT_THAT(compile(in).findings, IsEmpty());
    in.capabilities.max_depth = 4;
    const auto compiled = compile(in);
    EXPECT_EQ(at(compiled, "/n/rpc/pid:1/qp:17").attributes.max_rate, gbps(5));
    const auto& finding = only(compiled, FindingKind::CapLost);
    EXPECT_TRUE(finding.is_error);
    EXPECT_EQ(finding.requested, "max-rate-each 5 Gbit/s for all queue pairs of a process");
    EXPECT_EQ(finding.gap, (Gap{Gap::Unit::Principals, 1})) << "the other has one leaf";
}

TEST(Compile, APrincipalOfAnUnknownClassHasNoLeaf)
{
    auto in = input({level("/rpc", {}, FairBy::Process)});
    in.principals = {principal("/nope", {"pid:1"})};
    EXPECT_THAT(compile(in).principal_leaves, ElementsAre(ElementPath()));
}

TEST(Compile, BeyondTheLeafBudgetPrincipalsShareOthers)
{
    auto in = input({level("/rpc", {}, FairBy::Process)});
    in.spec.elements[0].leaf_budget = 2;
    in.principals = processes("/rpc", 5);
    const auto compiled = compile(in);
    EXPECT_EQ(leaf_count(compiled.tree), 3U);
    EXPECT_EQ(compiled.principal_leaves[1].text(), "/rpc/pid:1");
    EXPECT_EQ(compiled.principal_leaves[2].text(), "/rpc/others");
    const auto& finding = only(compiled, FindingKind::BudgetExceeded);
    EXPECT_FALSE(finding.is_error);
    EXPECT_EQ(finding.requested, "a leaf for each process, 5 in all");
    EXPECT_EQ(finding.achievable, "2 leaves, with 3 sharing /rpc/others");
    EXPECT_THAT(finding.why, HasSubstr("leaf-budget 2"));
}

TEST(Compile, The300thProcessSharesOthers)
{
    auto in = input({level("/rpc", {}, FairBy::Process), level("/bulk")});
    in.leaf_reserve = 4;
    in.principals = processes("/rpc", 300);
    const auto compiled = compile(in);
    EXPECT_EQ(leaf_count(compiled.tree), 252U);
    EXPECT_EQ(compiled.principal_leaves[249].text(), "/rpc/pid:249");
    EXPECT_EQ(compiled.principal_leaves[250].text(), "/rpc/others");
    EXPECT_EQ(compiled.principal_leaves[299].text(), "/rpc/others");
    EXPECT_EQ(only(compiled, FindingKind::BudgetExceeded).achievable, "250 leaves, with 50 sharing /rpc/others");
}

TEST(Compile, ElementsAreABudgetToo)
{
    auto in = input({level("/rpc", {}, FairBy::Process)});
    in.capabilities.max_elements = 5;    // root, class, others and two more
    in.principals = processes("/rpc", 4);
    const auto compiled = compile(in);
    EXPECT_EQ(compiled.tree.size(), 5U);
    EXPECT_THAT(only(compiled, FindingKind::BudgetExceeded).why, HasSubstr("elements are used up"));
}

TEST(Compile, MoreClassesThanLeaves)
{
    auto in = input({level("/a"), level("/b"), level("/c")});
    in.capabilities.max_leaves = 2;
    const auto compiled = compile(in);
    EXPECT_EQ(leaf_count(compiled.tree), 2U);
    EXPECT_TRUE(compiled.classes.at(ElementPath("/c")).shared_leaf.empty());
    EXPECT_TRUE(only(compiled, FindingKind::NoLeaf).is_error);
    EXPECT_EQ(only(compiled, FindingKind::NoLeaf).path.text(), "/c");
}

TEST(Compile, AResponderIsALeafBesideItsClass)
{
    auto in = input({node("/t"), level("/t/rpc", share(60), FairBy::Process)});
    in.spec.elements[1].responder = share(20, gbps(20));
    const auto compiled = compile(in);
    EXPECT_EQ(at(compiled, "/t/rpc.responder"), (Element{ElementKind::Leaf, ElementPath("/t"), {20, gbps(20)}}));
    EXPECT_EQ(compiled.classes.at(ElementPath("/t/rpc")).responder_leaf.text(), "/t/rpc.responder");
}

TEST(Compile, AResponderDoesNotTakeAnotherClassesPath)
{
    auto in = input({level("/rpc"), level("/rpc.responder")});
    in.spec.elements[0].responder = share(1);
    const auto compiled = compile(in);
    EXPECT_EQ(compiled.classes.at(ElementPath("/rpc")).responder_leaf.text(), "/rpc.responder'");
    EXPECT_EQ(leaf_count(compiled.tree), 3U);
}

TEST(Compile, ADeviceWithoutResponderLeaves)
{
    auto in = input({level("/rpc")});
    in.spec.elements[0].responder = share(20);
    in.capabilities.responder_leaf = false;
    const auto compiled = compile(in);
    EXPECT_TRUE(compiled.classes.at(ElementPath("/rpc")).responder_leaf.empty());
    EXPECT_TRUE(only(compiled, FindingKind::NotSupported).is_error);
}

TEST(Compile, ClassesHaveLeavesBeforeResponders)
{
    auto in = input({level("/a"), level("/b")});
    in.spec.elements[0].responder = share(1);
    in.capabilities.max_leaves = 2;
    const auto compiled = compile(in);
    EXPECT_FALSE(compiled.classes.at(ElementPath("/b")).shared_leaf.empty());
    EXPECT_TRUE(compiled.classes.at(ElementPath("/a")).responder_leaf.empty());
    EXPECT_EQ(only(compiled, FindingKind::NoLeaf).path.text(), "/a.responder");
}

TEST(Compile, QueuePairsOfAProcessHaveANodeBetween)
{
    auto in = input({level("/rpc", {}, FairBy::Process)});
    in.principals = {principal("/rpc", {"pid:1", "qp:17"}), principal("/rpc", {"pid:1", "qp:18"}),
                     principal("/rpc", {"pid:1"})};
    in.principals[0].max_rate = gbps(5);
    const auto compiled = compile(in);
    EXPECT_EQ(at(compiled, "/rpc/pid:1").kind, ElementKind::Node);
    EXPECT_EQ(at(compiled, "/rpc/pid:1/qp:17"), (Element{ElementKind::Leaf, ElementPath("/rpc/pid:1"), {1, gbps(5)}}));
    EXPECT_EQ(compiled.principal_leaves[2].text(), "/rpc/pid:1/others");
}

TEST(Compile, AClassThatIsOneLeafIsSplitForCappedQueuePairs)
{
    auto in = input({level("/bulk", share(30))});
    in.principals = {principal("/bulk", {}), principal("/bulk", {"qp:17"})};
    const auto compiled = compile(in);
    EXPECT_EQ(at(compiled, "/bulk").kind, ElementKind::Node);
    EXPECT_EQ(share_of(compiled, "/bulk"), 30U);
    EXPECT_THAT(compiled.principal_leaves, ElementsAre(ElementPath("/bulk/others"), ElementPath("/bulk/qp:17")));
    EXPECT_EQ(compiled.classes.at(ElementPath("/bulk")).shared_leaf.text(), "/bulk/others");
}

TEST(Compile, AClassOnTheLowestLevelIsNotSplit)
{
    auto in = input({node("/a"), node("/a/b"), level("/a/b/bulk")});
    in.principals = {principal("/a/b/bulk", {"qp:17"})};
    const auto compiled = compile(in);
    EXPECT_EQ(at(compiled, "/a/b/bulk").kind, ElementKind::Leaf);
    EXPECT_EQ(compiled.principal_leaves[0].text(), "/a/b/bulk");
    EXPECT_THAT(only(compiled, FindingKind::BudgetExceeded).why, HasSubstr("no level left"));
}

// ---- min-rates

TEST(Compile, AMinRateBecomesAWeight)
{
    const auto compiled = compile(
        input({level("/a", min_rate(gbps(10))), level("/b", share(60)), level("/c", share(30))}));
    EXPECT_EQ(share_of(compiled, "/a"), 1U);
    EXPECT_EQ(share_of(compiled, "/b"), 6U);
    EXPECT_EQ(share_of(compiled, "/c"), 3U);
    EXPECT_EQ(busy_rates(compiled.tree).at(ElementPath("/a")), gbps(10));
    EXPECT_THAT(compiled.findings, IsEmpty());
}

TEST(Compile, BesideAMinRateTheRestIsDividedAmongThoseWhoCanUseIt)
{
    const auto compiled = compile(
        input({level("/g", min_rate(gbps(14))), level("/s0", share(37, gbps(16))), level("/s1", share(3))}));
    const auto rates = busy_rates(compiled.tree);
    EXPECT_EQ(rates.at(ElementPath("/g")), gbps(14));
    EXPECT_EQ(rates.at(ElementPath("/s0")), gbps(16));
    EXPECT_EQ(rates.at(ElementPath("/s1")), gbps(70));
    EXPECT_THAT(compiled.findings, IsEmpty());
}

TEST(Compile, WhatNobodyWithAShareCanUseGoesToMinRates)
{
    const auto compiled = compile(
        input({level("/a", min_rate(gbps(10))), level("/b", min_rate(gbps(20))), level("/s", share(5, gbps(10)))}));
    const auto rates = busy_rates(compiled.tree);
    EXPECT_EQ(rates.at(ElementPath("/a")), gbps(30));
    EXPECT_EQ(rates.at(ElementPath("/b")), gbps(60));
    EXPECT_THAT(compiled.findings, IsEmpty());
}

// Its levels are on other devices, or there are none.
TEST(Compile, ANodeWithNobodyInItTakesNothing)
{
    const auto compiled = compile(input({node("/empty", share(9)), node("/guaranteed", min_rate(gbps(40))),
                                         level("/g", min_rate(gbps(10))), level("/s")}));
    EXPECT_EQ(compiled.tree.at(ElementPath("/empty")).attributes.share, 1U);
    const auto rates = solve(compiled.tree, gbps(100), all_backlogged(compiled.tree));
    EXPECT_EQ(rates.at(ElementPath("/g")).rate(), gbps(10));
    EXPECT_EQ(rates.at(ElementPath("/s")).rate(), gbps(90));
    EXPECT_THAT(compiled.findings, IsEmpty());
}

TEST(Compile, AMinRateAboveTheCapsBelowItSaysSo)
{
    const auto compiled = compile(
        input({node("/t", min_rate(gbps(40))), level("/t/a", share(1, gbps(10))), level("/s")}));
    EXPECT_EQ(findings_text(compiled.findings),
              "error: /t: requested min-rate 40 Gbit/s, achievable 10 Gbit/s: what is "
              "below it can send 10 Gbit/s at most\n");
    EXPECT_EQ(busy_rates(compiled.tree).at(ElementPath("/s")), gbps(90));
}

TEST(Compile, MinRatesFollowTheLinkSpeed)
{
    const auto at_25 = compile(input({level("/a", min_rate(gbps(10))), level("/b")}, gbps(25)));
    EXPECT_EQ(share_of(at_25, "/a"), 2U);
    EXPECT_EQ(share_of(at_25, "/b"), 3U);
}

TEST(Compile, AMinRateThatCannotBeMetIsAnError)
{
    const auto compiled = compile(input({level("/a", min_rate(gbps(8))), level("/b", min_rate(gbps(8)))}, gbps(10)));
    const auto& finding = only(compiled, FindingKind::MinRateMissed);
    EXPECT_TRUE(finding.is_error);
    EXPECT_EQ(to_string(finding),
              "/a: requested min-rate 8 Gbit/s, achievable 5 Gbit/s: the port has 10 Gbit/s for 2 elements "
              "when all are busy");
    EXPECT_EQ(finding.gap, Gap::between(gbps(5), gbps(8)));
}

TEST(Compile, AMinRateIsAgainstItsParentsCapacity)
{
    const auto compiled = compile(
        input({node("/t", share(1)), level("/t/a", min_rate(gbps(60))), level("/t/b"), level("/s", share(1))}));
    EXPECT_EQ(only(compiled, FindingKind::MinRateMissed).why,
              "its parent /t has 50 Gbit/s for 2 elements when all are busy");
}

TEST(Compile, AParentsCapLimitsItsGuarantees)
{
    const auto compiled = compile(
        input({node("/t", share(1, gbps(20))), level("/t/a", min_rate(gbps(15))), level("/t/b")}));
    EXPECT_EQ(share_of(compiled, "/t/a"), 3U);
    EXPECT_EQ(share_of(compiled, "/t/b"), 1U);
    EXPECT_EQ(busy_rates(compiled.tree).at(ElementPath("/t/a")), gbps(15));
}

TEST(Compile, WhatACappedSiblingLeavesIsGuaranteedToTheOthers)
{
    const auto compiled = compile(input({level("/g1", share(7)), level("/g2", share(3, Bandwidth::from_mbps(4096)))}));
    const auto rates = busy_rates(compiled.tree);
    EXPECT_EQ(rates.at(ElementPath("/g2")), Bandwidth::from_mbps(4096));
    EXPECT_EQ(rates.at(ElementPath("/g1")), Bandwidth::from_mbps(95904));
}

TEST(Compile, AFoldedNodesMinRateHoldsForItsChildrenTogether)
{
    auto in = input({node("/t", min_rate(gbps(40))), level("/t/a"), level("/t/b", share(3)), level("/s", share(1))});
    in.capabilities.max_depth = 2;
    const auto compiled = compile(in);
    const auto rates = busy_rates(compiled.tree);
    EXPECT_GE(rates.at(ElementPath("/t/a")).kbps() + rates.at(ElementPath("/t/b")).kbps(), gbps(40).kbps());
    EXPECT_THAT(compiled.findings, IsEmpty());
}

TEST(Compile, AResponderIsASiblingOfAMinRate)
{
    auto in = input({level("/a", min_rate(gbps(80)))});
    in.spec.elements[0].responder = share(1);
    const auto compiled = compile(in);
    EXPECT_EQ(share_of(compiled, "/a"), 4U);
    EXPECT_EQ(share_of(compiled, "/a.responder"), 1U);
}

TEST(Compile, WithoutALinkSpeedNothingIsSaidAboutRates)
{
    const auto compiled = compile(input({level("/a", min_rate(gbps(200))), level("/b", share(1, gbps(200)))}, {}));
    EXPECT_THAT(compiled.findings, IsEmpty());
    EXPECT_EQ(leaf_count(compiled.tree), 2U);
}

// ---- what a device cannot do

TEST(Compile, ADeviceWithoutScheduling)
{
    auto in = input({node("/t"), level("/t/a")});
    in.capabilities = {};
    in.principals = {principal("/t/a", {})};
    const auto compiled = compile(in);
    EXPECT_THAT(compiled.tree, IsEmpty());
    EXPECT_THAT(kinds(compiled), ElementsAre(FindingKind::NoScheduling));
    EXPECT_TRUE(compiled.findings[0].is_error);
    EXPECT_THAT(compiled.principal_leaves, ElementsAre(ElementPath()));
}

TEST(Compile, ADeviceWithoutShares)
{
    auto in = input({level("/a", share(2)), level("/b", share(1))});
    in.capabilities.shares = false;
    const auto compiled = compile(in);
    EXPECT_EQ(share_of(compiled, "/a"), 0U);
    EXPECT_EQ(only(compiled, FindingKind::NotSupported).achievable, "they get equal parts");
    EXPECT_EQ(only(compiled, FindingKind::NotSupported).gap, (Gap{Gap::Unit::Elements, 2}));
    EXPECT_EQ(busy_rates(compiled.tree).at(ElementPath("/a")), gbps(50));
}

TEST(Compile, EqualSharesNeedNoSupport)
{
    auto in = input({level("/a"), level("/b")});
    in.capabilities.shares = false;
    EXPECT_THAT(compile(in).findings, IsEmpty());
}

TEST(Compile, ADeviceWithoutCaps)
{
    auto in = input({level("/a", share(1, gbps(5)), FairBy::QueuePair)});
    in.capabilities.rate_caps = false;
    in.principals = {principal("/a", {"qp:1"})};
    in.principals[0].max_rate = gbps(1);
    const auto compiled = compile(in);
    EXPECT_THAT(kinds(compiled), ElementsAre(FindingKind::NotSupported, FindingKind::NotSupported));
    EXPECT_EQ(compiled.findings[0].gap, Gap::between(gbps(5), gbps(100)));
    EXPECT_EQ(compiled.findings[1].gap, (Gap{Gap::Unit::Principals, 1}));
    EXPECT_EQ(at(compiled, "/a").attributes.max_rate, std::nullopt);
}

TEST(Compile, ACapAboveTheLinkIsAWarning)
{
    const auto compiled = compile(input({level("/a", share(1, gbps(40)))}, gbps(25)));
    EXPECT_FALSE(only(compiled, FindingKind::CapAboveLink).is_error);
    EXPECT_EQ(at(compiled, "/a").attributes.max_rate, gbps(40));
}

TEST(Compile, CapsAreWholeMegabits)
{
    const auto compiled = compile(input(
        {level("/a", share(1, Bandwidth::from_kbps(2'999'999))), level("/b", share(1, Bandwidth::from_kbps(10)))}));
    EXPECT_EQ(at(compiled, "/a").attributes.max_rate, Bandwidth::from_mbps(2999));
    EXPECT_EQ(at(compiled, "/b").attributes.max_rate, Bandwidth::from_mbps(1));    // 0 would mean no cap at all
}

TEST(FairBy, HasTheNamesOfThePolicy)
{
    EXPECT_EQ(to_string(FairBy::None), "none");
    EXPECT_EQ(to_string(FairBy::QueuePair), "queue-pair");
    EXPECT_EQ(to_string(FairBy::Process), "process");
    EXPECT_EQ(to_string(FairBy::User), "user");
    EXPECT_EQ(to_string(FairBy::Unit), "unit");
}

}    // namespace
}    // namespace rdmaqos::test
