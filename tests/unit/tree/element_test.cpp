#include "lib/tree/element.h"

#include <gtest/gtest.h>

namespace rdmaqos {
namespace {

TEST(ElementPath, ChildAndParentAreOpposites)
{
    const auto tenants = ElementPath::root().child("tenants");
    EXPECT_EQ(tenants.text(), "/tenants");
    EXPECT_EQ(tenants.child("rpc").text(), "/tenants/rpc");
    EXPECT_EQ(tenants.child("rpc").parent(), tenants);
    EXPECT_EQ(tenants.parent(), ElementPath::root());
}

TEST(ElementPath, RootHasNoParent)
{
    EXPECT_TRUE(ElementPath::root().parent().empty());
    EXPECT_TRUE(ElementPath().parent().empty());
}

TEST(ElementPath, NameIsTheLastSegment)
{
    EXPECT_EQ(ElementPath("/tenants/rpc/pid:4711").name(), "pid:4711");
    EXPECT_EQ(ElementPath::root().name(), "/");
}

TEST(Tree, DepthCountsRootAndLeaf)
{
    Tree tree;
    EXPECT_EQ(depth(tree), 0U);
    tree[ElementPath("/")] = {};
    EXPECT_EQ(depth(tree), 1U);
    tree[ElementPath("/a")] = {ElementKind::Node, ElementPath("/"), {}};
    tree[ElementPath("/a/b")] = {ElementKind::Leaf, ElementPath("/a"), {}};
    EXPECT_EQ(depth(tree), 3U);
}

TEST(Tree, DepthFollowsParentsNotPaths)
{
    Tree tree;
    tree[ElementPath("/")] = {};
    tree[ElementPath("/a/b/c")] = {ElementKind::Leaf, ElementPath("/"), {}};
    EXPECT_EQ(depth(tree), 2U);
}

TEST(Tree, LeafCountLeavesOutNodes)
{
    Tree tree;
    tree[ElementPath("/")] = {};
    tree[ElementPath("/a")] = {ElementKind::Leaf, ElementPath("/"), {}};
    tree[ElementPath("/b")] = {ElementKind::Leaf, ElementPath("/"), {}};
    EXPECT_EQ(leaf_count(tree), 2U);
}

}    // namespace
}    // namespace rdmaqos
