#include "lib/tree/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/tree/drawing.h"
#include "tests/support/golden.h"
#include "tests/unit/tree/support.h"

namespace rdmaqos::test {
namespace {

CompileInput cluster()
{
    auto in = input({node("/tenants", share(70, gbps(80))), level("/tenants/rpc", share(60, gbps(40)), FairBy::Process),
                     level("/tenants/expert", min_rate(gbps(10))), level("/bulk", share(30))});
    in.spec.elements[1].responder = share(20, gbps(20));
    in.principals = {principal("/tenants/rpc", {"pid:4711"}), principal("/tenants/rpc", {"pid:812"}),
                     principal("/bulk", {})};
    return in;
}

// Eight queue pairs for each principal.
DesiredState placed(const CompileInput& in)
{
    const auto compiled = compile(in);
    DesiredState state{compiled.tree, {}};
    std::uint32_t number = 16;
    for (std::size_t i = 0; i < in.principals.size(); ++i) {
        const auto& responder = compiled.classes.at(in.principals[i].class_path).responder_leaf;
        const auto& leaf = compiled.principal_leaves[i];
        for (int k = 0; k < 8; ++k) {
            state.queue_pairs[QueuePairId{number++}] = {leaf, responder.empty() ? leaf : responder, std::nullopt};
        }
    }
    return state;
}

std::string with_findings(const CompileInput& in)
{
    const auto compiled = compile(in);
    const auto rates = busy_rates(compiled.tree, in.link_speed);
    const auto note = [&rates](const ElementPath& path) { return to_string(rates.at(path)); };
    return render_tree({compiled.tree, {}}, note, 4, compiled.requested) + findings_text(compiled.findings);
}

std::string with_operations(const DesiredState& from, const DesiredState& to, const Capabilities& capabilities)
{
    const auto actual = built(from);
    const auto plan = diff(to, actual, capabilities);
    return render_plan(actual, plan) + "\n" + render_operations(actual, plan);
}

TEST(RenderTree, AClusterWithQueuePairs)
{
    expect_golden("tree/cluster.txt", render_tree(placed(cluster())));
}

TEST(RenderTree, TheManualsExample)
{
    const std::vector<SpecElement> spec{level("/g1", share(7)), level("/g2", share(3, Bandwidth::from_mbps(4096)))};
    expect_golden("tree/manual-100g.txt", with_findings(input(spec)));
    expect_golden("tree/manual-10g.txt", with_findings(input(spec, gbps(10))));
}

TEST(RenderTree, ThreeHundredProcesses)
{
    auto in = cluster();
    in.leaf_reserve = 4;
    in.principals.clear();
    for (int i = 0; i < 300; ++i) {
        in.principals.push_back(principal("/tenants/rpc", {"pid:" + std::to_string(1000 + i)}));
    }
    expect_golden("tree/300-processes.txt", with_findings(in));
}

TEST(RenderTree, SixLevelsOnADeviceOfFour)
{
    auto in = input({node("/site", share(80)), node("/site/tenants", share(70)),
                     node("/site/tenants/gold", share(3, gbps(30))), node("/site/tenants/silver", share(1)),
                     level("/site/tenants/gold/rpc", share(2), FairBy::Process),
                     level("/site/tenants/gold/bulk", share(1)), level("/site/tenants/silver/rpc"),
                     level("/site/backup", share(30)), level("/system", share(20))});
    in.principals = {principal("/site/tenants/gold/rpc", {"pid:1"})};
    expect_golden("tree/six-levels.txt", with_findings(in));
    // Where only capped nodes are left to fold, the administrator is told what that means.
    in.spec.elements[0].rate.max_rate = gbps(90);
    in.spec.elements[1].rate.max_rate = gbps(60);
    expect_golden("tree/six-levels-caps.txt", with_findings(in));
}

TEST(RenderTree, WhatCannotBeMet)
{
    auto in = input({level("/a", min_rate(gbps(8))), level("/b", min_rate(gbps(4))), level("/c", share(1, gbps(40)))},
                    gbps(10));
    expect_golden("tree/min-rates-missed.txt", with_findings(in));
    in.capabilities.shares = false;
    in.capabilities.rate_caps = false;
    in.capabilities.responder_leaf = false;
    in.spec.elements[0].responder = share(1);
    expect_golden("tree/poor-device.txt", with_findings(in));
}

TEST(RenderTree, WhatThePolicyRequestsComesBeforeTheWeight)
{
    RateSpec device_default;
    device_default.share.reset();
    const auto shares = compile(input(
        {level("/a", share(200)), level("/b", share(100)), level("/c", share(300)), level("/d", device_default)}));
    EXPECT_EQ(render_tree({shares.tree, {}}, {}, 0, shares.requested), "/\n"
                                                                       "├── a   share 200 (weight 2 of 7)\n"
                                                                       "├── b   share 100 (weight 1 of 7)\n"
                                                                       "├── c   share 300 (weight 3 of 7)\n"
                                                                       "└── d   share default\n");
    const auto in = input({level("/a", min_rate(gbps(30))), level("/b", share(2)), level("/c", share(5))});
    const auto rates = compile(in);
    EXPECT_EQ(render_tree({rates.tree, {}}, {}, 0, rates.requested), "/\n"
                                                                     "├── a   min-rate 30 Gbit/s (weight 3 of 10)\n"
                                                                     "├── b   share 2\n"
                                                                     "└── c   share 5\n");
}

TEST(RenderPlan, WhatIsRequestedBeforeAndAfter)
{
    const auto plan_text = [](const RateSpec& before, const RateSpec& after) {
        const auto now = compile(input({level("/a", before), level("/b", share(1))}));
        const auto then = compile(input({level("/a", after), level("/b", share(1))}));
        const ActualState actual = built({now.tree, {}});
        const auto described = describe(actual, diff({then.tree, {}}, actual, connectx6()), now.requested,
                                        then.requested);
        const auto text = render_plan(described);
        const auto from = text.find(" a ");
        return text.substr(from, text.find('\n', from) - from);
    };
    EXPECT_EQ(plan_text(share(5), share(7)), " a   share 5 -> 7");
    EXPECT_EQ(plan_text(min_rate(gbps(50)), min_rate(gbps(75))),
              " a   min-rate 50 Gbit/s (weight 1 of 2) -> min-rate 75 Gbit/s (weight 3 of 4)");
    EXPECT_EQ(plan_text(share(3), min_rate(gbps(80))), " a   share 3 -> min-rate 80 Gbit/s (weight 4 of 5)");
    EXPECT_EQ(plan_text(min_rate(gbps(80)), min_rate(gbps(80))), " a   min-rate 80 Gbit/s (weight 4 of 5)");
}

TEST(RenderPlan, AWeightThatChangesUnderTheSameRequest)
{
    const auto now = compile(input({level("/a", min_rate(gbps(50))), level("/b", share(1))}));
    const auto then = compile(input({level("/a", min_rate(gbps(50))), level("/b", share(1)), level("/c", share(2))}));
    const ActualState actual = built({now.tree, {}});
    const auto text = render_plan(
        describe(actual, diff({then.tree, {}}, actual, connectx6()), now.requested, then.requested));
    EXPECT_THAT(text, testing::HasSubstr("a   min-rate 50 Gbit/s (weight 1 of 2 -> 3 of 6)"));
}

// What a device's default share is nobody knows: where it decides, that is said.
TEST(RenderPlan, ADefaultShareAmongOthersIsToldToBeAGuess)
{
    const auto drawn = [](std::optional<std::uint32_t> of_b) {
        RateSpec b;
        b.share = of_b;
        RateSpec a;
        a.share = std::nullopt;
        const CompileInput in = input({level("/a", a), level("/b", b)});
        const ActualState empty;
        return render_plan(empty, diff({compile(in).tree, {}}, empty, in.capabilities));
    };
    EXPECT_NE(drawn(5).find("the device does not tell its default share; wherever rates are computed it counts as 1\n"),
              std::string::npos)
        << drawn(5);
    EXPECT_EQ(drawn(std::nullopt).find("does not tell"), std::string::npos) << "all are equal, whatever it is";
}

TEST(RenderTree, NamesAreMadePrintable)
{
    Tree tree;
    tree[ElementPath::root()] = {};
    tree[ElementPath("/\x1b[31m")] = {ElementKind::Leaf, ElementPath::root(), {1, std::nullopt}};
    EXPECT_EQ(render_tree({tree, {}}), "/\n└── \\x1b[31m   share 1\n");
}

TEST(RenderTree, NothingAtAll)
{
    EXPECT_EQ(render_tree({}), "(no elements)\n");
}

TEST(RenderPlan, FromAnEmptyDevice)
{
    expect_golden("plan/from-nothing.txt", with_operations({}, placed(cluster()), connectx6()));
}

TEST(RenderPlan, AnEdit)
{
    auto in = cluster();
    in.spec.elements[0].rate = share(50, gbps(60));    // a share and a cap
    in.spec.elements[1].fair_by = FairBy::None;        // a node becomes a leaf
    in.spec.elements[1].responder.reset();
    in.principals[0].segments.clear();
    in.principals[1].segments.clear();
    in.spec.elements.push_back(level("/backup", share(5)));
    auto desired = placed(in);
    desired.queue_pairs.at(QueuePairId{32}).rate = RateLimit{gbps(5), 65536, 1024};
    expect_golden("plan/edit.txt", with_operations(placed(cluster()), desired, connectx6()));
}

TEST(RenderPlan, ANearlyFullDevice)
{
    auto from = cluster();
    auto to = cluster();
    to.principals[1].segments = {"pid:900"};
    auto capabilities = connectx6();
    capabilities.max_leaves = leaf_count(placed(from).tree);
    expect_golden("plan/nearly-full.txt", with_operations(placed(from), placed(to), capabilities));
    to.spec.elements.push_back(level("/more"));
    expect_golden("plan/out-of-reach.txt", with_operations(placed(from), placed(to), capabilities));
}

TEST(RenderPlan, NoChange)
{
    const auto state = placed(cluster());
    const auto actual = built(state);
    EXPECT_THAT(render_plan(actual, diff(state, actual, connectx6())), testing::EndsWith("\nno changes\n"));
}

TEST(Drawing, SiblingsAreInTheOrderOfTheirNumbers)
{
    using drawing::comes_before;
    EXPECT_TRUE(comes_before("pid:9", "pid:10"));
    EXPECT_FALSE(comes_before("pid:10", "pid:9"));
    EXPECT_TRUE(comes_before("pid:10", "others"));
    EXPECT_TRUE(comes_before("rpc", "rpc.responder"));
    EXPECT_TRUE(comes_before("a", "b"));
    EXPECT_NE(comes_before("a07", "a7"), comes_before("a7", "a07"));
    EXPECT_FALSE(comes_before("a7", "a7"));
}

}    // namespace
}    // namespace rdmaqos::test
