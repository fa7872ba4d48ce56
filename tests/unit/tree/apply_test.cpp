#include <gtest/gtest.h>

#include "lib/tree/plan.h"
#include "tests/unit/tree/support.h"

namespace rdmaqos::test {
namespace {

ActualState two_leaves()
{
    ActualState state;
    apply(CreateElement{ElementId{1}, {ElementPath::root(), ElementKind::Node, std::nullopt, {}}}, state);
    apply(CreateElement{ElementId{2}, {ElementPath("/a"), ElementKind::Leaf, ElementId{1}, {3, gbps(5)}}}, state);
    apply(CreateElement{ElementId{3}, {ElementPath("/b"), ElementKind::Leaf, ElementId{1}, {1, std::nullopt}}}, state);
    return state;
}

TEST(Apply, CreatingTakesTheId)
{
    EXPECT_EQ(two_leaves().next_id, 4U);
    EXPECT_EQ(two_leaves().elements.size(), 3U);
}

TEST(Apply, ModifyingChangesOnlyWhatIsSet)
{
    auto state = two_leaves();
    apply(ModifyElement{ElementId{2}, ElementPath("/a"), 9U, std::nullopt}, state);
    EXPECT_EQ(state.elements.at(ElementId{2}).attributes, (ElementAttributes{9, gbps(5)}));
    apply(ModifyElement{ElementId{2}, ElementPath("/a"), std::nullopt, std::optional<Bandwidth>()}, state);
    EXPECT_EQ(state.elements.at(ElementId{2}).attributes, (ElementAttributes{9, std::nullopt}));
}

TEST(Apply, AQueuePairIsKnownAsLongAsItHasSomething)
{
    auto state = two_leaves();
    const QueuePairId qp{7};
    apply(MoveQueuePair{qp, ElementId{2}, std::nullopt}, state);
    apply(SetQueuePairRate{qp, RateLimit{gbps(1), std::nullopt, std::nullopt}}, state);
    apply(MoveQueuePair{qp, std::nullopt, std::nullopt}, state);
    EXPECT_TRUE(state.queue_pairs.contains(qp));
    apply(SetQueuePairRate{qp, std::nullopt}, state);
    EXPECT_FALSE(state.queue_pairs.contains(qp));
}

TEST(Apply, WithoutIdsNamesParentsAndLeavesByPath)
{
    auto state = two_leaves();
    apply(MoveQueuePair{QueuePairId{7}, ElementId{2}, ElementId{3}}, state);
    const auto seen = without_ids(state);
    EXPECT_EQ(seen.tree.at(ElementPath("/a")), (Element{ElementKind::Leaf, ElementPath::root(), {3, gbps(5)}}));
    EXPECT_EQ(seen.queue_pairs.at(QueuePairId{7}), (Placement{ElementPath("/a"), ElementPath("/b"), std::nullopt}));
}

TEST(Apply, WithoutIdsShowsTheNewestOfOnePath)
{
    auto state = two_leaves();
    apply(CreateElement{ElementId{9}, {ElementPath("/a"), ElementKind::Node, ElementId{1}, {8, std::nullopt}}}, state);
    EXPECT_EQ(without_ids(state).tree.at(ElementPath("/a")).kind, ElementKind::Node);
}

#ifndef NDEBUG
TEST(ApplyDeath, PreconditionsAreChecked)
{
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    auto state = two_leaves();
    apply(MoveQueuePair{QueuePairId{7}, ElementId{2}, std::nullopt}, state);
    EXPECT_DEATH(apply(DestroyElement{ElementId{2}, ElementPath("/a")}, state), "is_busy");
    EXPECT_DEATH(apply(DestroyElement{ElementId{1}, ElementPath::root()}, state), "is_busy");
    EXPECT_DEATH(apply(MoveQueuePair{QueuePairId{7}, ElementId{1}, std::nullopt}, state), "is_leaf_or_none");
    EXPECT_DEATH(apply(CreateElement{ElementId{9}, {ElementPath("/a/x"), ElementKind::Leaf, ElementId{2}, {}}}, state),
                 "is_node");
}
#endif

}    // namespace
}    // namespace rdmaqos::test
