#include "lib/reconcile/tracked_state.h"

#include <gtest/gtest.h>

namespace rdmaqos {
namespace {

constexpr ElementId kRoot{1};
constexpr ElementId kNode{2};
constexpr ElementId kOld{3};
constexpr ElementId kNew{4};

ActualElement element(const std::string& path, ElementKind kind, std::optional<ElementId> parent)
{
    return {ElementPath(path), kind, parent, {}};
}

class TrackedStateTest : public testing::Test {
protected:
    void SetUp() override
    {
        state.add(kRoot, element("/", ElementKind::Node, {}), ElementHandle{101});
        state.add(kNode, element("/a", ElementKind::Node, kRoot), ElementHandle{102});
        state.add(kOld, element("/a/b", ElementKind::Leaf, kNode), ElementHandle{103});
        state.add(kNew, element("/a/b", ElementKind::Leaf, kRoot), ElementHandle{104});
    }

    TrackedState state;
};

TEST_F(TrackedStateTest, FindsByPathNewestFirst)
{
    EXPECT_EQ(state.with_path(ElementPath("/a/b")), (std::vector{kNew, kOld}));
    EXPECT_EQ(state.with_path(ElementPath("/a")), std::vector{kNode});
    EXPECT_TRUE(state.with_path(ElementPath("/a/")).empty());
    EXPECT_EQ(state.handle(kOld), ElementHandle{103});
    EXPECT_EQ(state.actual().next_id, 5U);
}

TEST_F(TrackedStateTest, CountsFollowEveryMove)
{
    state.place({7}, kOld, kNew);
    state.place({8}, kOld, {});
    EXPECT_EQ(state.usage(kOld).requesters, 2U);
    EXPECT_EQ(state.usage(kNew).responders, 1U);
    EXPECT_EQ(state.queue_pairs_in(), (std::map<ElementPath, std::uint32_t>{{ElementPath("/a/b"), 2}}));
    state.place({7}, kNew, {});
    EXPECT_EQ(state.usage(kOld).requesters, 1U);
    EXPECT_EQ(state.usage(kNew).requesters, 1U);
    EXPECT_FALSE(state.usage(kNew).responders);
    state.forget({8});
    EXPECT_FALSE(state.usage(kOld).holds_queue_pairs());
    EXPECT_EQ(state.actual().queue_pairs.size(), 1U);
}

TEST_F(TrackedStateTest, IdleQueuePairsAreNotKept)
{
    state.place({7}, kOld, {});
    state.set_rate({7}, RateLimit{Bandwidth::from_gbps(1), {}, {}});
    state.place({7}, {}, {});
    EXPECT_TRUE(state.actual().queue_pairs.contains({7}));
    state.set_rate({7}, {});
    EXPECT_TRUE(state.actual().queue_pairs.empty());
}

TEST_F(TrackedStateTest, RevisionChangesWithElementsAndCounts)
{
    auto before = state.revision();
    const auto changed = [&] { return std::exchange(before, state.revision()) != state.revision(); };
    state.place({7}, kOld, {});
    EXPECT_TRUE(changed());
    state.set_attributes(kOld, {5, {}});
    EXPECT_TRUE(changed());
    state.set_rate({7}, RateLimit{Bandwidth::from_gbps(1), {}, {}});
    EXPECT_FALSE(changed());
    state.forget({7});
    EXPECT_TRUE(changed());
    state.remove(kOld);
    EXPECT_TRUE(changed());
}

TEST_F(TrackedStateTest, RemovesASubtreeChildrenFirstAndStrandsItsQueuePairs)
{
    state.place({7}, kOld, kNew);
    const auto removed = state.remove_subtree(kNode);
    ASSERT_EQ(removed.size(), 2U);
    EXPECT_EQ(removed[0].id, kOld);
    EXPECT_EQ(removed[0].path, ElementPath("/a/b"));
    EXPECT_EQ(removed[1].handle, ElementHandle{102});
    EXPECT_EQ(state.actual().queue_pairs.at({7}), (ActualPlacement{{}, kNew, {}}));
    EXPECT_EQ(state.usage(kRoot).children, 1U);
    EXPECT_EQ(state.with_path(ElementPath("/a/b")), std::vector{kNew});
}

TEST_F(TrackedStateTest, ClearKeepsIdsUnique)
{
    state.clear();
    EXPECT_TRUE(state.actual().elements.empty());
    EXPECT_EQ(state.actual().next_id, 5U);
}

}    // namespace
}    // namespace rdmaqos
