// Both kinds of trees on an emulated device. What is expected is read from the emulator.
#include "lib/nic_mlx5/element_tree.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <new>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/nic_mlx5/trees.h"

namespace rdmaqos::mlx5 {
namespace {

using namespace test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// ---- a tree per client ----

TEST_F(MirroredTrees, APathIsMadeOnFirstUse)
{
    Client client;
    const auto queue_pair = client.make();
    EXPECT_THAT(elements(), IsEmpty());
    place(queue_pair, leaf_);
    EXPECT_THAT(elements(), ElementsAre("rate 0 share 0", "rate 0 share 7", "rate 40000 share 60"));
    EXPECT_EQ(place_of(queue_pair), "rate 0 share 7 < rate 40000 share 60 < root");
}

TEST_F(MirroredTrees, QueuePairsOfOneFileShareALeafAndOthersDoNot)
{
    Client one;
    Client two;
    const auto first = place(one.make(), leaf_);
    EXPECT_EQ(place(one.make(), leaf_), first);
    EXPECT_EQ(elements().size(), 3U);
    EXPECT_NE(place(two.make(), leaf_), first);
    EXPECT_EQ(elements().size(), 6U);
}

TEST_F(MirroredTrees, GoneWithTheLastQueuePair)
{
    Client client;
    const auto first = client.make();
    const auto second = client.make();
    place(first, leaf_);
    place(second, leaf_);
    place(first, std::nullopt);
    EXPECT_EQ(elements().size(), 3U);
    EXPECT_EQ(place_of(second), "rate 0 share 7 < rate 40000 share 60 < root");
    place(second, other_);
    EXPECT_THAT(elements(), ElementsAre("rate 0 share 0", "rate 0 share 20"));
    place(second, std::nullopt);
    EXPECT_THAT(elements(), IsEmpty());
    place(second, std::nullopt);    // again: nothing happens
    place(second, leaf_);
    EXPECT_EQ(elements().size(), 3U);
}

// One answer of the firmware is no proof: in a program's file nobody would destroy what was forgotten wrongly.
TEST_F(MirroredTrees, WhatAQueryDeniesOnceIsKept)
{
    Client client;
    const auto queue_pair = client.make();
    place(queue_pair, leaf_);
    emulator("fail query 1 0x5");    // a bad resource
    EXPECT_TRUE(tree_->query(*root_));
    place(client.make(), other_);
    EXPECT_THAT(elements(), ElementsAre("rate 0 share 0", "rate 0 share 20", "rate 0 share 7", "rate 40000 share 60"));
    EXPECT_EQ(place_of(queue_pair), "rate 0 share 7 < rate 40000 share 60 < root");
}

// Of what was forgotten wrongly, the file can be known by the rest.
TEST_F(MirroredTrees, ARootThatWasForgottenWronglyIsInTheWay)
{
    Client client;
    place(client.make(), leaf_);
    emulator("fail any 1 0x5 times 2");    // a query, and the modify that would prove it wrong
    EXPECT_FALSE(tree_->query(*root_));
    const auto root = add(ElementKind::Node, std::nullopt, {});
    const auto leaf = add(ElementKind::Leaf, root, {5, std::nullopt});
    const auto other = client.make();
    const auto ids = tree_->leaves_for(other.file, leaf, std::nullopt);
    ASSERT_FALSE(ids);
    EXPECT_THAT(ids.error().message, HasSubstr("until the program is started again"));
    EXPECT_FALSE(tree_->leaves_for(other.file, leaf, std::nullopt)) << "nor the next time";
}

TEST_F(MirroredTrees, BothSides)
{
    Client client;
    const auto queue_pair = client.make();
    place(queue_pair, leaf_, other_);
    EXPECT_EQ(elements().size(), 4U);
    place(queue_pair, std::nullopt, other_);
    EXPECT_THAT(elements(), ElementsAre("rate 0 share 0", "rate 0 share 20"));
}

TEST_F(MirroredTrees, CapsAreWholeForEveryone)
{
    Client one;
    Client two;
    place(one.make(), leaf_);
    place(two.make(), leaf_);
    EXPECT_EQ(std::ranges::count(elements(), "rate 40000 share 60"), 2);
}

TEST_F(DividedTrees, CapsFollowFilesThatComeAndGo)
{
    const auto has = [](const char* what) { return std::ranges::count(elements(), what); };
    Client one;
    Client two;
    auto three = std::make_unique<Client>();
    const auto first = one.make();
    place(first, leaf_);
    EXPECT_EQ(has("rate 40000 share 60"), 1);
    const auto second = two.make();
    place(second, leaf_);
    EXPECT_EQ(has("rate 20000 share 60"), 2);
    place(three->make(), leaf_);
    EXPECT_EQ(has("rate 13333 share 60"), 3);
    EXPECT_EQ(tree_->query(*rpc_)->attributes, (ElementAttributes{60, Bandwidth::from_mbps(40000)}));
    place(second, std::nullopt);
    EXPECT_EQ(has("rate 20000 share 60"), 2);
    three.reset();    // without detaching
    EXPECT_EQ(tree_->query(*rpc_)->attributes, (ElementAttributes{60, Bandwidth::from_mbps(40000)}));
    EXPECT_EQ(has("rate 40000 share 60"), 1);
}

TEST_F(DividedTrees, APartIsNeverUnlimited)
{
    ASSERT_TRUE(tree_->modify(*rpc_, {std::nullopt, Bandwidth::from_mbps(1)}).has_value());
    Client one;
    Client two;
    place(one.make(), leaf_);
    place(two.make(), leaf_);
    EXPECT_EQ(std::ranges::count(elements(), "rate 1 share 60"), 2);
}

TEST_F(MirroredTrees, ACopyHasACapOfItsOwn)
{
    Client one;
    Client two;
    const auto first = one.make();
    const auto second = two.make();
    place(first, other_);
    place(second, other_);
    ASSERT_TRUE(tree_->cap_copy(first.file, *other_, Bandwidth::from_mbps(7000)));
    EXPECT_EQ(place_of(first), "rate 7000 share 20 < root");
    EXPECT_EQ(place_of(second), "rate 0 share 20 < root");
    EXPECT_EQ(tree_->query(*other_)->attributes, (ElementAttributes{20, std::nullopt})) << "no drift";
    drift(place(first, other_), 20, 9000);
    EXPECT_EQ(tree_->query(*other_)->attributes.max_rate, Bandwidth::from_mbps(9000)) << "drift";
    ASSERT_TRUE(tree_->modify(*other_, {std::nullopt, std::optional<Bandwidth>()}));
    EXPECT_EQ(place_of(first), "rate 7000 share 20 < root") << "repaired";
    ASSERT_TRUE(tree_->modify(*other_, {20, Bandwidth::from_mbps(5000)}));
    EXPECT_EQ(place_of(first), "rate 5000 share 20 < root") << "the leaf's own is lower";
    ASSERT_TRUE(tree_->modify(*other_, {20, std::optional<Bandwidth>()}));
    ASSERT_TRUE(tree_->cap_copy(first.file, *other_, std::nullopt));
    EXPECT_EQ(place_of(first), "rate 0 share 20 < root");
    EXPECT_FALSE(tree_->cap_copy(first.file, *leaf_, Bandwidth::from_mbps(7000))) << "it has no copy of this one";
}

TEST_F(MirroredTrees, CapsOfThoseWhoShareAFileAddUp)
{
    Client client;
    const auto queue_pair = client.make();
    place(queue_pair, other_);
    ASSERT_TRUE(tree_->cap_copy(queue_pair.file, *other_, Bandwidth::from_mbps(7000)));
    QueuePairRef of_child = client.make();
    of_child.file = std::make_shared<ClientFile>(UniqueFd(dup(queue_pair.file->fd())), nullptr);
    place(of_child, other_);
    ASSERT_TRUE(tree_->cap_copy(of_child.file, *other_, Bandwidth::from_mbps(2000)));
    EXPECT_EQ(place_of(queue_pair), "rate 9000 share 20 < root");
    ASSERT_TRUE(tree_->cap_copy(of_child.file, *other_, std::nullopt));
    EXPECT_EQ(place_of(queue_pair), "rate 0 share 20 < root");
    place(of_child, std::nullopt);
    of_child.file.reset();
    ASSERT_TRUE(tree_->cap_copy(queue_pair.file, *other_, Bandwidth::from_mbps(7000)));
    EXPECT_EQ(place_of(queue_pair), "rate 7000 share 20 < root");
}

TEST_F(MirroredTrees, ModifyReachesAllMirrors)
{
    Client one;
    Client two;
    place(one.make(), leaf_);
    place(two.make(), leaf_);
    ASSERT_TRUE(tree_->modify(*rpc_, {30, std::nullopt}).has_value());
    EXPECT_EQ(std::ranges::count(elements(), "rate 40000 share 30"), 2);
    ASSERT_TRUE(tree_->modify(*rpc_, {std::nullopt, std::optional<Bandwidth>()}).has_value());
    EXPECT_EQ(std::ranges::count(elements(), "rate 0 share 30"), 2);
    Client later;
    place(later.make(), leaf_);
    EXPECT_EQ(std::ranges::count(elements(), "rate 0 share 30"), 3);
}

TEST_F(DividedTrees, ModifyDividesToo)
{
    Client one;
    Client two;
    place(one.make(), leaf_);
    place(two.make(), leaf_);
    ASSERT_TRUE(tree_->modify(*rpc_, {std::nullopt, Bandwidth::from_mbps(10000)}).has_value());
    EXPECT_EQ(std::ranges::count(elements(), "rate 5000 share 60"), 2);
}

TEST_F(MirroredTrees, DriftOfAMirrorIsFoundAndRepaired)
{
    Client one;
    Client two;
    place(one.make(), leaf_);
    const ObjectId mirror = place(two.make(), leaf_);
    EXPECT_EQ(tree_->query(*leaf_)->attributes, (ElementAttributes{7, std::nullopt}));
    drift(mirror, 99, 5);
    EXPECT_EQ(tree_->query(*leaf_)->attributes, (ElementAttributes{99, Bandwidth::from_mbps(5)}));
    ASSERT_TRUE(tree_->modify(*leaf_, {7, std::optional<Bandwidth>()}).has_value());
    EXPECT_EQ(tree_->query(*leaf_)->attributes, (ElementAttributes{7, std::nullopt}));
    EXPECT_EQ(std::ranges::count(elements(), "rate 0 share 7"), 2);
}

TEST_F(DividedTrees, AFairPartIsNoDrift)
{
    Client one;
    Client two;
    place(one.make(), leaf_);
    place(two.make(), leaf_);
    EXPECT_EQ(*tree_->query(*rpc_), (ElementState{ElementKind::Node, root_, {60, Bandwidth::from_mbps(40000)}}));
}

// A refused attach leaves nothing behind that would keep its class from going.
TEST_F(MirroredTrees, AQueuePairThatCannotBePlaced)
{
    Client client;
    const auto placed = client.make();
    place(placed, other_);
    const auto refused = client.make();
    ASSERT_TRUE(tree_->leaves_for(refused.file, leaf_, std::nullopt).has_value());
    EXPECT_EQ(elements().size(), 4U);
    tree_->not_placed(refused.file);
    EXPECT_THAT(elements(), ElementsAre("rate 0 share 0", "rate 0 share 20"));
    EXPECT_TRUE(tree_->destroy(*leaf_).has_value());
    EXPECT_EQ(place_of(placed), "rate 0 share 20 < root");
}

TEST_F(MirroredTrees, ALeafThatIsNotThere)
{
    Client client;
    const auto queue_pair = client.make();
    EXPECT_FALSE(tree_->leaves_for(queue_pair.file, ElementHandle{99}, std::nullopt).has_value());
    EXPECT_FALSE(tree_->leaves_for(queue_pair.file, leaf_, ElementHandle{99}).has_value());
    EXPECT_THAT(elements(), IsEmpty());
}

TEST_F(MirroredTrees, DestroyIsBusyWhileAnyFileUsesIt)
{
    auto client = std::make_unique<Client>();
    place(client->make(), leaf_);
    EXPECT_EQ(tree_->destroy(*leaf_).error().code, ErrorCode::Busy);
    EXPECT_EQ(tree_->destroy(*rpc_).error().code, ErrorCode::Busy);
    client.reset();
    EXPECT_TRUE(destroy_all().has_value());
    EXPECT_EQ(tree_->query(*leaf_).error().sys_errno, ENOENT);
    EXPECT_EQ(tree_->destroy(*leaf_).error().sys_errno, ENOENT);
}

// A client can destroy what is in its file; that must not hold up anybody.
TEST_F(MirroredTrees, AMirrorThatCouldNotBeDestroyedAtOnce)
{
    Client client;
    const auto queue_pair = client.make();
    place(queue_pair, leaf_);
    emulator("fail destroy 1 0x1 errno-only");
    place(queue_pair, std::nullopt);
    EXPECT_EQ(elements().size(), 3U) << "the leaf, and so all above it";
    EXPECT_TRUE(tree_->destroy(*leaf_));
    EXPECT_THAT(elements(), IsEmpty());
    EXPECT_TRUE(tree_->destroy(*rpc_));
}

TEST_F(MirroredTrees, AMirrorThatIsInUseIsKeptWhateverAQuerySays)
{
    Client client;
    const auto queue_pair = client.make();
    place(queue_pair, leaf_);
    emulator("fail destroy 1 0x9");    // a resource in a state that does not allow it
    emulator("fail query 1 0x5");
    place(queue_pair, std::nullopt);
    EXPECT_EQ(elements().size(), 3U);
    EXPECT_TRUE(tree_->destroy(*leaf_));
    EXPECT_THAT(elements(), IsEmpty());
}

TEST_F(MirroredTrees, AMirrorThatItsOwnerDestroyed)
{
    Client client;
    const auto queue_pair = client.make();
    place(queue_pair, leaf_);
    const auto command = place_queue_pair(QueuePairState::Rts, queue_pair.number, kNoObject, kNoObject);
    ASSERT_TRUE(devx_modify(queue_pair.file->fd(), queue_pair.handle, command).has_value());
    for (std::uint32_t handle = 64; handle-- > 0;) {
        if (handle != queue_pair.handle) {
            static_cast<void>(devx_destroy(queue_pair.file->fd(), handle));
        }
    }
    ASSERT_THAT(elements(), IsEmpty());
    tree_->placed(queue_pair.file, queue_pair.handle, std::nullopt, std::nullopt);
    EXPECT_TRUE(destroy_all().has_value());
}

// Lost by the firmware in one of two files: the element is another one from then on, in both.
TEST_F(MirroredTrees, AMirrorThatTheFirmwareLost)
{
    Client one;
    Client two;
    const auto first = one.make();
    const auto second = two.make();
    lose(place(first, leaf_));
    place(second, leaf_);
    EXPECT_EQ(tree_->query(*rpc_)->attributes, (ElementAttributes{60, Bandwidth::from_mbps(40000)}));
    EXPECT_EQ(tree_->query(*leaf_).error().sys_errno, ENOENT);
    EXPECT_EQ(tree_->query(*leaf_).error().sys_errno, ENOENT) << "also when it is asked again";
    EXPECT_EQ(tree_->modify(*leaf_, {1, std::nullopt}).error().sys_errno, ENOENT);
    EXPECT_EQ(tree_->destroy(*leaf_).error().sys_errno, ENOENT);
    EXPECT_EQ(tree_->leaves_for(second.file, leaf_, std::nullopt).error().sys_errno, ENOENT);
    tree_->not_placed(second.file);
    EXPECT_EQ(place_of(second), "rate 0 share 7 < rate 40000 share 60 < root") << "it has lost nothing";

    leaf_ = add(ElementKind::Leaf, rpc_, {7, std::nullopt});
    place(first, leaf_);
    place(second, leaf_);
    EXPECT_EQ(place_of(first), "rate 0 share 7 < rate 40000 share 60 < root");
    EXPECT_EQ(place_of(second), "rate 0 share 7 < rate 40000 share 60 < root");
    EXPECT_EQ(elements().size(), 6U) << "nothing is left of the first";
    place(first, std::nullopt);
    place(second, std::nullopt);
    EXPECT_TRUE(destroy_all().has_value());
}

// With everything below it. A leaf that is asked for then is found to have nothing to be below.
TEST_F(MirroredTrees, ANodeThatTheFirmwareLost)
{
    Client one;
    Client two;
    const auto first = one.make();
    const auto second = two.make();
    place(first, leaf_);
    place(second, leaf_);
    lose(element_above(first));
    const Handle sibling = add(ElementKind::Leaf, rpc_, {3, std::nullopt});
    const auto third = one.make();
    ASSERT_FALSE(tree_->leaves_for(third.file, sibling, std::nullopt).has_value());
    tree_->not_placed(third.file);
    for (const Handle each : {rpc_, leaf_, sibling}) {
        EXPECT_EQ(tree_->query(*each).error().sys_errno, ENOENT);
    }
    EXPECT_FALSE(tree_->create({ElementKind::Leaf, rpc_, {}}).has_value());
    // As the reconciler does it: what was below is given up when its queue pairs have left.
    EXPECT_EQ(tree_->destroy(*leaf_).error().code, ErrorCode::Busy);
    const Handle before = leaf_;
    rpc_ = add(ElementKind::Node, root_, {60, Bandwidth::from_mbps(40000)});
    leaf_ = add(ElementKind::Leaf, rpc_, {7, std::nullopt});
    place(first, leaf_);
    place(second, leaf_);
    EXPECT_EQ(place_of(first), "rate 0 share 7 < rate 40000 share 60 < root");
    EXPECT_EQ(elements().size(), 6U);
    EXPECT_TRUE(tree_->destroy(*before).has_value());
    EXPECT_TRUE(tree_->destroy(*sibling).has_value());
    place(first, std::nullopt);
    place(second, std::nullopt);
    EXPECT_TRUE(destroy_all().has_value());
    EXPECT_THAT(elements(), IsEmpty());
}

TEST_F(DividedTrees, AClientThatGoesWithWhatWasLost)
{
    Client one;
    Client two;
    {
        const auto first = one.make();
        place(first, leaf_);
        place(two.make(), leaf_);
        lose(element_above(first));
    }
    EXPECT_EQ(tree_->query(*rpc_).error().sys_errno, ENOENT);
    EXPECT_EQ(tree_->destroy(*rpc_).error().sys_errno, ENOENT);
    one.close();
    two.close();
    EXPECT_TRUE(tree_->destroy(*leaf_).has_value());
    EXPECT_TRUE(tree_->destroy(*other_).has_value());
    EXPECT_TRUE(tree_->destroy(*root_).has_value()) << "the lost one does not hold it";
}

// Two files in turn at one address: what was known of the first must not be done to the second.
TEST_F(MirroredTrees, AFileAtTheAddressOfAnother)
{
    alignas(ClientFile) std::byte memory[sizeof(ClientFile)];
    const auto held = [&](int fd) {
        return std::shared_ptr<ClientFile>(new (memory) ClientFile(UniqueFd(dup(fd)), nullptr),
                                           [](ClientFile* file) { file->~ClientFile(); });
    };
    Client first;
    auto queue_pair = first.make();
    queue_pair.file = held(first.context().cmd_fd);
    place(queue_pair, leaf_);
    queue_pair.file.reset();
    first.close();
    ASSERT_THAT(elements(), IsEmpty());

    // The same handles mean other objects here: elements of the client's own.
    Client second;
    auto other = second.make();
    const auto root = devx_create(second.context().cmd_fd, create_element(ElementKind::Node, kNoObject, {}));
    ASSERT_TRUE(root.has_value());
    for (int i = 0; i < 4; ++i) {
        ASSERT_TRUE(devx_create(second.context().cmd_fd, create_element(ElementKind::Leaf, ObjectId{root->id}, {5, {}}))
                        .has_value());
    }
    other.file = held(second.context().cmd_fd);
    ASSERT_EQ(elements().size(), 5U);
    tree_->placed(other.file, other.handle, std::nullopt, std::nullopt);
    EXPECT_EQ(elements().size(), 5U);
    other.file.reset();
    second.close();
}

TEST_F(MirroredTrees, NoRoomNamesTheMode)
{
    Client client;
    const auto queue_pair = client.make();
    emulator("fail create 1 0x8");
    const auto ids = tree_->leaves_for(queue_pair.file, leaf_, std::nullopt);
    ASSERT_FALSE(ids.has_value());
    EXPECT_EQ(ids.error().code, ErrorCode::NoSpace);
    EXPECT_THAT(ids.error().message, HasSubstr("attach mode per-process"));
    EXPECT_THAT(elements(), IsEmpty());
}

// ---- one tree in the daemon's context ----

class SharedTrees : public Trees {
protected:
    SharedTrees() { make(make_shared_tree(own_.context().cmd_fd, kObjectCommands, Reads::Device, Capabilities{})); }
    ~SharedTrees() override
    {
        emulator("clear");
        emulator("set mailbox-on-error yes");
        tree_.reset();
    }

    Client own_;
};

TEST_F(SharedTrees, ElementsAreOnTheDevice)
{
    EXPECT_THAT(elements(), ElementsAre("rate 0 share 0", "rate 0 share 20", "rate 0 share 7", "rate 40000 share 60"));
    EXPECT_EQ(*tree_->query(*rpc_), (ElementState{ElementKind::Node, root_, {60, Bandwidth::from_mbps(40000)}}));
    EXPECT_EQ(*tree_->query(*leaf_), (ElementState{ElementKind::Leaf, rpc_, {7, std::nullopt}}));
    EXPECT_EQ(*tree_->query(*root_), (ElementState{ElementKind::Node, std::nullopt, {}}));
    ASSERT_TRUE(tree_->modify(*rpc_, {30, std::optional<Bandwidth>()}).has_value());
    EXPECT_EQ(tree_->query(*rpc_)->attributes, (ElementAttributes{30, std::nullopt}));
    EXPECT_TRUE(destroy_all().has_value());
    EXPECT_THAT(elements(), IsEmpty());
}

// One answer of the firmware is no proof.
TEST_F(SharedTrees, WhatAQueryDeniesOnceIsNotMissing)
{
    for (const char* status : {"0x3", "0x5"}) {    // a bad parameter, a bad resource
        emulator(std::string("fail query 1 ") + status);
        const auto root = tree_->query(*root_);
        ASSERT_FALSE(root);
        EXPECT_EQ(root.error().code, ErrorCode::DeviceFailed) << status;
        EXPECT_TRUE(tree_->query(*root_));
    }
}

TEST_F(SharedTrees, EveryClientUsesThem)
{
    Client one;
    Client two;
    const auto first = one.make();
    const auto second = two.make();
    EXPECT_EQ(place(first, leaf_), place(second, leaf_));
    EXPECT_EQ(elements().size(), 4U);
    EXPECT_EQ(place_of(second), "rate 0 share 7 < rate 40000 share 60 < root");
    for (const char* told : {"yes", "no"}) {
        emulator(std::string("set mailbox-on-error ") + told);
        EXPECT_EQ(tree_->destroy(*leaf_).error().code, ErrorCode::Busy) << told;    // queue pairs
        EXPECT_EQ(tree_->destroy(*rpc_).error().code, ErrorCode::Busy) << told;     // children
    }
}

TEST_F(SharedTrees, WhatIsLostIsNotBusy)
{
    for (const char* told : {"yes", "no"}) {
        emulator(std::string("set mailbox-on-error ") + told);
        const Handle lost = add(ElementKind::Leaf, root_, {3, std::nullopt});
        lose(ObjectId{static_cast<std::uint32_t>(*lost)});    // an element's id is its handle here
        EXPECT_EQ(tree_->query(*lost).error().sys_errno, ENOENT) << told;
        EXPECT_EQ(tree_->destroy(*lost).error().sys_errno, ENOENT) << told;
        EXPECT_EQ(tree_->destroy(*lost).error().sys_errno, ENOENT) << told;
    }
}

TEST_F(SharedTrees, NoRoomSaysHowMuchIsUsed)
{
    emulator("fail create 1 0x8");
    const auto made = tree_->create({ElementKind::Leaf, root_, {}});
    ASSERT_FALSE(made.has_value());
    EXPECT_EQ(made.error().code, ErrorCode::NoSpace);
    EXPECT_THAT(made.error().message, HasSubstr("rdma-qosd has 4 of 0 elements and 2 of 0 leaves"));
    EXPECT_THAT(made.error().message, ::testing::StartsWith("a leaf: "));
}

TEST_F(SharedTrees, ALeafThatIsNotThere)
{
    Client client;
    EXPECT_EQ(tree_->leaves_for(client.file(), ElementHandle{9999}, std::nullopt).error().sys_errno, ENOENT);
    const auto none = tree_->leaves_for(client.file(), std::nullopt, std::nullopt);
    ASSERT_TRUE(none.has_value());
    EXPECT_EQ(none->requester, kNoObject);
    EXPECT_EQ(none->responder, kNoObject);
}

}    // namespace
}    // namespace rdmaqos::mlx5
