#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/tree/plan.h"
#include "lib/tree/render.h"
#include "tests/unit/tree/support.h"

namespace rdmaqos::test {
namespace {

// A tree from lines of path, parent, kind and share: enough for an order of operations.
class State {
public:
    State() { desired.tree[ElementPath::root()] = {}; }

    State& node(const std::string& path, std::uint32_t share = 1, std::string parent = {})
    {
        return add(path, ElementKind::Node, share, std::move(parent));
    }
    State& leaf(const std::string& path, std::uint32_t share = 1, std::string parent = {})
    {
        return add(path, ElementKind::Leaf, share, std::move(parent));
    }
    State& cap(const std::string& path, Bandwidth max_rate)
    {
        desired.tree.at(ElementPath(path)).attributes.max_rate = max_rate;
        return *this;
    }
    State& queue_pair(std::uint32_t number, const std::string& requester, const std::string& responder = {})
    {
        desired.queue_pairs[QueuePairId{number}] = {ElementPath(requester), ElementPath(responder), std::nullopt};
        return *this;
    }
    State& rate(std::uint32_t number, Bandwidth rate)
    {
        desired.queue_pairs[QueuePairId{number}].rate = RateLimit{rate, std::nullopt, std::nullopt};
        return *this;
    }

    DesiredState desired;

private:
    State& add(const std::string& path, ElementKind kind, std::uint32_t share, std::string parent)
    {
        const ElementPath own(path);
        const ElementPath above = parent.empty() ? own.parent() : ElementPath(std::move(parent));
        desired.tree[own] = {kind, above, {share, std::nullopt}};
        return *this;
    }
};

Capabilities with_room(std::uint32_t leaves, std::uint32_t elements = 1000)
{
    auto capabilities = connectx6();
    capabilities.max_leaves = leaves;
    capabilities.max_elements = elements;
    return capabilities;
}

std::string operations(const State& from, const State& to, const Capabilities& capabilities = connectx6())
{
    const auto actual = built(from.desired);
    return render_operations(actual, diff(to.desired, actual, capabilities));
}

TEST(Diff, ANewTreeIsMadeFromTheRoot)
{
    EXPECT_EQ(operations({}, State().node("/t", 70).leaf("/t/a", 2).queue_pair(1, "/t/a")),
              "create node /t: share 70\n"
              "create leaf /t/a: share 2\n"
              "attach queue pair 1 to /t/a\n");
    EXPECT_EQ(render_operations({}, diff(State().desired, {}, connectx6())), "create root /\n");
}

TEST(Diff, AChangedShareIsOneModifyOfTheShareAlone)
{
    const auto actual = built(State().leaf("/a", 60).cap("/a", gbps(40)).desired);
    const auto plan = diff(State().leaf("/a", 40).cap("/a", gbps(40)).desired, actual, connectx6());
    ASSERT_EQ(plan.operations.size(), 1U);
    const auto* modify = std::get_if<ModifyElement>(&plan.operations[0]);
    ASSERT_NE(modify, nullptr);
    EXPECT_EQ(modify->share, 40U);
    EXPECT_FALSE(modify->max_rate.has_value());
}

TEST(Diff, AShareAndACapAreOneModify)
{
    EXPECT_EQ(operations(State().leaf("/a", 60).cap("/a", gbps(40)), State().leaf("/a", 40)),
              "modify /a: share 60 -> 40, max 40 Gbit/s -> unlimited\n");
}

TEST(Diff, OneShareAmongTenThousandQueuePairs)
{
    State from;
    from.leaf("/a", 60).leaf("/b", 40);
    for (std::uint32_t i = 0; i < 10'000; ++i) {
        from.queue_pair(i, i % 2 == 0 ? "/a" : "/b", "/a");
    }
    State to = from;
    to.leaf("/a", 50);
    EXPECT_EQ(operations(from, to), "modify /a: share 60 -> 50\n");
}

TEST(Diff, GrowthComesBeforeShrink)
{
    EXPECT_EQ(operations(State().leaf("/a", 60).leaf("/b", 40).leaf("/old").queue_pair(1, "/old"),
                         State().leaf("/a", 40).leaf("/b", 60).leaf("/new").queue_pair(1, "/new")),
              "modify /b: share 40 -> 60\n"
              "create leaf /new: share 1\n"
              "move queue pair 1 from /old to /new\n"
              "modify /a: share 60 -> 40\n"
              "destroy /old\n");
}

TEST(Diff, QueuePairsThatAreNotDesiredAreDetachedAndForgotten)
{
    const auto actual = built(State().leaf("/a").queue_pair(1, "/a", "/a").rate(1, gbps(5)).desired);
    const auto plan = diff(State().leaf("/a").desired, actual, connectx6());
    EXPECT_EQ(render_operations(actual, plan), "detach queue pair 1 from /a\n"
                                               "limit queue pair 1: 5 Gbit/s -> unlimited\n");
    EXPECT_TRUE(apply(plan, actual).queue_pairs.empty());
}

TEST(Diff, AQueuePairWithoutAPlaceNeedsNothing)
{
    EXPECT_EQ(operations({}, State().queue_pair(1, "")), "");
}

TEST(Diff, BothSidesOfAQueuePairAreOneMove)
{
    EXPECT_EQ(operations(State().leaf("/a").leaf("/b").leaf("/r").queue_pair(1, "/a", "/a"),
                         State().leaf("/a").leaf("/b").leaf("/r").queue_pair(1, "/b", "/r")),
              "move queue pair 1 from /a to /b (responses /r)\n");
}

TEST(Diff, AnotherParentMeansAnotherElementAndAllBelowIt)
{
    const auto from = State().node("/t").node("/t/u").leaf("/t/u/a").queue_pair(1, "/t/u/a");
    const auto to = State().node("/t").node("/t/u", 1, "/").leaf("/t/u/a").queue_pair(1, "/t/u/a");
    EXPECT_EQ(operations(from, to), "create node /t/u below /: share 1\n"
                                    "create leaf /t/u/a: share 1\n"
                                    "move queue pair 1 from /t/u/a to /t/u/a\n"
                                    "destroy /t/u/a\n"
                                    "destroy /t/u\n");
}

TEST(Diff, AnotherKindMeansAnotherElement)
{
    const auto from = State().leaf("/rpc").queue_pair(1, "/rpc").queue_pair(2, "/rpc");
    const auto to = State()
                        .node("/rpc")
                        .leaf("/rpc/pid:1")
                        .leaf("/rpc/others")
                        .queue_pair(1, "/rpc/pid:1")
                        .queue_pair(2, "/rpc/others");
    EXPECT_EQ(operations(from, to), "create node /rpc: share 1\n"
                                    "create leaf /rpc/others: share 1\n"
                                    "create leaf /rpc/pid:1: share 1\n"
                                    "move queue pair 1 from /rpc to /rpc/pid:1\n"
                                    "move queue pair 2 from /rpc to /rpc/others\n"
                                    "destroy /rpc\n");
}

TEST(Diff, OfTwoElementsOfOnePathTheNewestStays)
{
    ActualState actual = built(State().leaf("/a").desired);
    const ElementId root{1};
    apply(CreateElement{ElementId{7}, {ElementPath("/a"), ElementKind::Leaf, root, {1, std::nullopt}}}, actual);
    apply(MoveQueuePair{QueuePairId{1}, ElementId{2}, std::nullopt}, actual);
    const auto plan = diff(State().leaf("/a").queue_pair(1, "/a").desired, actual, connectx6());
    ASSERT_EQ(plan.operations.size(), 2U);
    EXPECT_EQ(std::get<MoveQueuePair>(plan.operations[0]).requester, ElementId{7});
    EXPECT_EQ(std::get<DestroyElement>(plan.operations[1]).id, ElementId{2});
}

TEST(Diff, OfTwoElementsOfOnePathAnOlderOneThatFitsStays)
{
    ActualState actual = built(State().leaf("/a").desired);
    apply(CreateElement{ElementId{7}, {ElementPath("/a"), ElementKind::Node, ElementId{1}, {1, std::nullopt}}}, actual);
    const auto plan = diff(State().leaf("/a").desired, actual, connectx6());
    ASSERT_EQ(plan.operations.size(), 1U);
    EXPECT_EQ(std::get<DestroyElement>(plan.operations[0]).id, ElementId{7});
}

TEST(Diff, ALeafThatIsNotInTheTreeIsReported)
{
    const auto actual = built(State().leaf("/a").queue_pair(1, "/a").desired);
    const auto plan = diff(State().leaf("/a").queue_pair(1, "/b").desired, actual, connectx6());
    EXPECT_EQ(render_operations(actual, plan), "detach queue pair 1 from /a\n");
    ASSERT_EQ(plan.unreachable.size(), 1U);
    EXPECT_EQ(plan.unreachable[0].path.text(), "/b");
}

// ---- nearly full devices

TEST(DiffWithoutRoom, EmptyLeavesGoFirst)
{
    EXPECT_EQ(operations(State().leaf("/old").leaf("/a").queue_pair(1, "/a"),
                         State().leaf("/new").leaf("/a").queue_pair(1, "/a"), with_room(2)),
              "destroy /old\n"
              "create leaf /new: share 1\n");
}

TEST(DiffWithoutRoom, TheLastSpareLeafIsUsedWhereItEmptiesAnother)
{
    // /a has nobody waiting and comes first by name; taking the spare leaf for it would leave /m's queue pair
    // without a place to go.
    EXPECT_EQ(operations(State().node("/n").leaf("/n/m", 1, "/n").queue_pair(1, "/n/m"),
                         State().node("/n").leaf("/a").leaf("/n/m", 1, "/").queue_pair(1, "/n/m"), with_room(2)),
              "create leaf /n/m below /: share 1\n"
              "move queue pair 1 from /n/m to /n/m\n"
              "destroy /n/m\n"
              "create leaf /a: share 1\n");
}

TEST(DiffWithoutRoom, QueuePairsPassThroughOthersOfTheirClass)
{
    EXPECT_EQ(operations(State().leaf("/bulk").node("/c").leaf("/c/others").leaf("/c/pid:1").queue_pair(1, "/c/pid:1"),
                         State().leaf("/bulk").node("/c").leaf("/c/others").leaf("/c/pid:2").queue_pair(1, "/c/pid:2"),
                         with_room(3)),
              "move queue pair 1 from /c/pid:1 to /c/others\n"
              "destroy /c/pid:1\n"
              "create leaf /c/pid:2: share 1\n"
              "move queue pair 1 from /c/others to /c/pid:2\n");
}

TEST(DiffWithoutRoom, TheNearestLeafServesWhereThereIsNoOthers)
{
    EXPECT_EQ(operations(State().leaf("/bulk").node("/c").leaf("/c/x").leaf("/c/pid:1").queue_pair(1, "/c/pid:1"),
                         State().leaf("/bulk").node("/c").leaf("/c/x").leaf("/c/pid:2").queue_pair(1, "/c/pid:2"),
                         with_room(3)),
              "move queue pair 1 from /c/pid:1 to /c/x\n"
              "destroy /c/pid:1\n"
              "create leaf /c/pid:2: share 1\n"
              "move queue pair 1 from /c/x to /c/pid:2\n");
}

TEST(DiffWithoutRoom, NothingThatStays)
{
    EXPECT_EQ(operations(State().leaf("/a").leaf("/b").queue_pair(1, "/a").queue_pair(2, "/b"),
                         State().leaf("/c").leaf("/d").queue_pair(1, "/c").queue_pair(2, "/d"), with_room(2)),
              "move queue pair 2 from /b to /a\n"
              "destroy /b\n"
              "create leaf /c: share 1\n"
              "move queue pair 1 from /a to /c\n"
              "move queue pair 2 from /a to /c\n"
              "destroy /a\n"
              "create leaf /d: share 1\n"
              "move queue pair 2 from /c to /d\n");
}

TEST(DiffWithoutRoom, TheOnlyLeafIsKeptRatherThanItsQueuePairsLost)
{
    const auto actual = built(State().leaf("/a").queue_pair(1, "/a").desired);
    const auto plan = diff(State().leaf("/b").queue_pair(1, "/b").desired, actual, with_room(1));
    EXPECT_TRUE(plan.operations.empty());
    ASSERT_EQ(plan.unreachable.size(), 1U);
    EXPECT_EQ(plan.unreachable[0].path.text(), "/b");
    EXPECT_EQ(plan.unreachable[0].why, "no room for it: 1 of 1 leaves and 2 of 1000 elements are in use");
}

TEST(DiffWithoutRoom, WhatFitsIsDoneAndTheRestReported)
{
    const auto actual = built(State().leaf("/a").desired);
    const auto plan = diff(State().leaf("/a").leaf("/b").leaf("/c").queue_pair(1, "/c", "/a").desired, actual,
                           with_room(2));
    EXPECT_EQ(render_operations(actual, plan), "create leaf /b: share 1\n"
                                               "attach queue pair 1 to no leaf (responses /a)\n");
    ASSERT_EQ(plan.unreachable.size(), 1U);
    EXPECT_EQ(plan.unreachable[0].path.text(), "/c");
}

TEST(DiffWithoutRoom, ElementsRunOutToo)
{
    EXPECT_EQ(operations(State().node("/t").leaf("/t/a").leaf("/b").queue_pair(1, "/t/a"),
                         State().node("/u").leaf("/u/a").leaf("/b").queue_pair(1, "/u/a"), with_room(100, 4)),
              "move queue pair 1 from /t/a to /b\n"
              "destroy /t/a\n"
              "destroy /t\n"
              "create node /u: share 1\n"
              "create leaf /u/a: share 1\n"
              "move queue pair 1 from /b to /u/a\n");
}

TEST(DiffWithoutRoom, ADeviceAboveItsLimitNeverGrows)
{
    const auto actual = built(State().leaf("/a").leaf("/b").leaf("/c").desired);
    const auto plan = diff(State().leaf("/a").leaf("/b").leaf("/c").leaf("/d").desired, actual, with_room(2));
    EXPECT_TRUE(plan.operations.empty());
    EXPECT_EQ(plan.unreachable.size(), 1U);
}

}    // namespace
}    // namespace rdmaqos::test
