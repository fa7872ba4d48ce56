#include "lib/reconcile/reconciler.h"

#include <gtest/gtest.h>

#include "tests/unit/reconcile/fixture.h"

namespace rdmaqos {
namespace {

using namespace test;

Tree two_levels()
{
    return TreeText()
        .node("/tenants", 70, 80)
        .leaf("/tenants/rpc", 60, 40)
        .leaf("/tenants/bulk", 40)
        .leaf("/sys", 30)
        .tree;
}

TEST(Reconciler, BuildsTheTreeAndPlacesQueuePairs)
{
    Rig rig;
    const auto report = rig.update(two_levels(), {put(1, "/tenants/rpc"), put(2, "/sys")});
    rig.expect_converged();
    EXPECT_EQ(report.operations, 7U);
    EXPECT_EQ(report.retry_after, std::nullopt);
    EXPECT_FALSE(report.device_gone);
    ASSERT_EQ(report.queue_pairs.size(), 2U);
    EXPECT_EQ(report.queue_pairs[0],
              (QueuePairOutcome{{1}, ElementPath("/tenants/rpc"), ElementPath(), std::nullopt, std::nullopt}));
    EXPECT_EQ(without_ids(rig.reconciler().actual()), rig.reconciler().desired());
    EXPECT_EQ(report.snapshot->counters, (Counters{7, 0, 0, 0, 0}));
}

TEST(Reconciler, UnchangedDesiredIsNoOperation)
{
    Rig rig;
    const auto first = rig.update(two_levels(), {put(1, "/sys")});
    rig.model->clear_log();
    const auto same = rig.reconciler().replace(rig.reconciler().desired());
    EXPECT_EQ(same.operations, 0U);
    EXPECT_TRUE(same.queue_pairs.empty());
    EXPECT_EQ(rig.update({put(1, "/sys")}).operations, 0U);
    EXPECT_EQ(rig.update(two_levels()).operations, 0U);
    EXPECT_TRUE(rig.model->log().empty()) << "not even a query";
    EXPECT_EQ(same.snapshot, first.snapshot) << "an unchanged snapshot is shared";
}

TEST(Reconciler, AChangedShareUnderTenThousandQueuePairsIsOneModify)
{
    Rig rig;
    std::vector<QueuePairUpdate> queue_pairs;
    for (std::uint32_t number = 1; number <= 10'000; ++number) {
        queue_pairs.push_back(put(number, number % 2 == 0 ? "/tenants/rpc" : "/sys"));
    }
    EXPECT_EQ(rig.update(two_levels(), queue_pairs).operations, 10'005U);
    Tree tree = two_levels();
    tree[ElementPath("/tenants/rpc")].attributes.share = 50;
    rig.model->clear_log();
    const auto report = rig.update(tree);
    EXPECT_EQ(report.operations, 1U);
    EXPECT_TRUE(report.queue_pairs.empty());
    const auto log = rig.model->log();
    ASSERT_EQ(log.size(), 2U);
    EXPECT_EQ(log[0].kind, CommandKind::Modify);
    EXPECT_EQ(log[0].change->share, 50U);
    EXPECT_FALSE(log[0].change->max_rate) << "only the field that changes";
    EXPECT_EQ(log[1].kind, CommandKind::Query);
    EXPECT_EQ(report.snapshot->queue_pairs_in.at(ElementPath("/tenants/rpc")), 5000U);
}

TEST(Reconciler, UpdateWithoutTreeCostsOnlyTheQueuePairsNamed)
{
    Rig rig;
    ASSERT_EQ(rig.update(two_levels(), {put(1, "/sys"), put(2, "/sys"), put(3, "/sys")}).operations, 8U);
    const auto report = rig.update({put(2, "/tenants/rpc"), take_out(3), put(4, "/tenants/bulk")});
    EXPECT_EQ(report.operations, 3U);
    ASSERT_EQ(report.queue_pairs.size(), 3U);
    EXPECT_EQ(outcome_of(report, 2)->requester, ElementPath("/tenants/rpc"));
    EXPECT_EQ(outcome_of(report, 3)->requester, ElementPath());
    EXPECT_EQ(outcome_of(report, 3)->error, std::nullopt);
    EXPECT_FALSE(rig.reconciler().desired().queue_pairs.contains({3}));
    rig.expect_converged();
    EXPECT_EQ(rig.reconciler().replace(rig.reconciler().desired()).operations, 0U);
}

TEST(Reconciler, MovesFollowANewTree)
{
    Rig rig;
    (void)rig.update(two_levels(), {put(1, "/sys"), put(2, "/tenants/rpc")});
    const Tree tree = TreeText().leaf("/other", 10).leaf("/tenants", 70).tree;
    const auto report = rig.reconciler().update(
        tree, {put(3, "/other")}, {{{1}, {ElementPath("/other"), {}, {}}}, {{2}, {ElementPath("/tenants"), {}, {}}}});
    rig.expect_converged();
    EXPECT_EQ(report.queue_pairs.size(), 3U);
    EXPECT_EQ(outcome_of(report, 2)->requester, ElementPath("/tenants"));
}

TEST(Reconciler, ReplaceTakesOutWhatIsNotDesired)
{
    Rig rig;
    (void)rig.update(two_levels(), {put(1, "/sys"), put(2, "/sys")});
    DesiredState desired = rig.reconciler().desired();
    desired.queue_pairs.erase({1});
    const auto report = rig.reconciler().replace(desired);
    EXPECT_EQ(report.operations, 1U);
    EXPECT_EQ(outcome_of(report, 1)->requester, ElementPath());
    rig.expect_converged();
    // Its reference is gone with it.
    desired.queue_pairs[{1}] = {ElementPath("/sys"), {}, {}};
    const auto unknown = rig.reconciler().replace(desired);
    EXPECT_EQ(unknown.operations, 0U);
    EXPECT_EQ(outcome_of(unknown, 1)->error->code, ErrorCode::BadQueuePair);
    EXPECT_FALSE(rig.reconciler().desired().queue_pairs.contains({1}));
}

TEST(Reconciler, PlacementsMustBeInLeavesOfTheTree)
{
    Rig rig;
    const auto report = rig.update(two_levels(), {put(1, "/tenants"), put(2, "/nowhere"), put(3, "/sys")});
    EXPECT_EQ(outcome_of(report, 1)->error->code, ErrorCode::InvalidArgument);
    EXPECT_EQ(outcome_of(report, 2)->error->message, "/nowhere is not a leaf of the tree");
    EXPECT_EQ(outcome_of(report, 3)->error, std::nullopt);
    EXPECT_EQ(report.retry_after, std::nullopt) << "only another placement helps";
    rig.expect_converged();
    // A tree that takes a leaf away without saying where its queue pairs go.
    const auto left = rig.update(TreeText().leaf("/only").tree);
    EXPECT_EQ(outcome_of(left, 3)->error->message, "/sys is not a leaf of the tree");
    rig.expect_converged();
}

TEST(Reconciler, BothSidesAndRates)
{
    Rig rig(with_pacing());
    const Tree tree = TreeText().leaf("/rpc", 60).leaf("/rpc.responder", 20).tree;
    QueuePairUpdate both = put(1, "/rpc", kOneGbps);
    both.placement->responder = ElementPath("/rpc.responder");
    auto report = rig.update(tree, {both});
    EXPECT_EQ(report.operations, 5U);
    EXPECT_EQ(report.queue_pairs[0],
              (QueuePairOutcome{{1}, ElementPath("/rpc"), ElementPath("/rpc.responder"), kOneGbps, {}}));
    rig.expect_converged();
    // One that leaves takes its limit along.
    report = rig.update({take_out(1)});
    EXPECT_EQ(report.operations, 2U);
    EXPECT_EQ(rig.firmware->queue_pair(1), std::nullopt);
    EXPECT_EQ(rig.firmware->usage().pacing_entries, 0U);
}

TEST(Reconciler, ARateThatIsAlwaysRefusedIsReportedAndNotAskedForAgain)
{
    Rig rig;    // paces raw packet queue pairs only
    const auto report = rig.update(two_levels(), {put(1, "/sys", kOneGbps)});
    EXPECT_EQ(outcome_of(report, 1)->requester, ElementPath("/sys")) << "the placement is not undone";
    ASSERT_TRUE(outcome_of(report, 1)->error);
    EXPECT_EQ(outcome_of(report, 1)->error->code, ErrorCode::Unsupported);
    EXPECT_TRUE(outcome_of(report, 1)->error->message.starts_with("rate limit: "));
    EXPECT_EQ(report.retry_after, std::nullopt);
    EXPECT_EQ(rig.reconciler().replace(rig.reconciler().desired()).operations, 0U);
    // The leaf is still looked after.
    Tree tree = two_levels();
    tree.erase(ElementPath("/tenants/rpc"));
    EXPECT_EQ(rig.update(tree).operations, 1U);
    // Asked for anew: tried anew.
    const auto again = rig.update({put(1, "/tenants/bulk", kOneGbps)});
    EXPECT_EQ(again.operations, 2U);
    EXPECT_EQ(outcome_of(again, 1)->requester, ElementPath("/tenants/bulk"));
    EXPECT_EQ(outcome_of(again, 1)->error->code, ErrorCode::Unsupported);
}

TEST(Reconciler, ATypeThatCannotBeAttachedStaysOutsideWithoutBeingAskedForAgain)
{
    Capabilities capabilities = default_capabilities();
    capabilities.attachable = {QueuePairType::Rc};
    Rig rig(capabilities);
    const auto report = rig.update(two_levels(), {put(1, "/sys", {}, QueuePairType::Ud), put(2, "/sys")});
    EXPECT_EQ(outcome_of(report, 1)->error->code, ErrorCode::Unsupported);
    EXPECT_EQ(outcome_of(report, 1)->requester, ElementPath());
    EXPECT_EQ(outcome_of(report, 2)->error, std::nullopt);
    EXPECT_EQ(report.retry_after, std::nullopt);
    EXPECT_EQ(rig.reconciler().replace(rig.reconciler().desired()).operations, 0U);
    EXPECT_EQ(rig.reconciler().drain().retry_after, std::nullopt);
    EXPECT_EQ(rig.firmware->usage(), FirmwareUsage{});
}

TEST(Reconciler, AFullPacingTableIsTriedAgain)
{
    Rig rig(with_pacing());
    const auto rate = [](std::uint64_t mbps) { return RateLimit{Bandwidth::from_mbps(mbps), {}, {}}; };
    const auto report = rig.update(two_levels(),
                                   {put(1, "/sys", rate(1)), put(2, "/sys", rate(2)), put(3, "/sys", rate(3))});
    EXPECT_EQ(outcome_of(report, 3)->error->code, ErrorCode::NoSpace);
    ASSERT_EQ(report.retry_after, 100ms);
    ASSERT_EQ(rig.update({take_out(1)}).operations, 2U);
    const auto retried = rig.retry_after(report);
    EXPECT_EQ(outcome_of(retried, 3)->error, std::nullopt);
    EXPECT_EQ(outcome_of(retried, 3)->rate, rate(3));
    EXPECT_EQ(retried.retry_after, std::nullopt);
}

TEST(Reconciler, AnEntryOfTheFullPacingTableIsPassedOnAtOnce)
{
    Rig rig(with_pacing());
    const auto rate = [](std::uint64_t mbps) { return RateLimit{Bandwidth::from_mbps(mbps), {}, {}}; };
    (void)rig.update(two_levels(), {put(1, "/sys", rate(1)), put(2, "/sys", rate(2))});
    const auto own = rig.update({put(2, "/sys", rate(3))});
    EXPECT_EQ(outcome_of(own, 2)->rate, rate(3)) << "the one that it gives up itself";
    EXPECT_EQ(outcome_of(own, 2)->error, std::nullopt);
    const auto passed = rig.update(std::vector{put(1, "/sys", rate(4)), put(2, "/sys")});
    EXPECT_EQ(outcome_of(passed, 1)->rate, rate(4)) << "one that comes later in the same call";
    EXPECT_EQ(passed.operations, 2U);
    const auto gone = rig.update({put(0, "/sys", rate(5)), put(3, "/sys", rate(6)), take_out(1)});
    EXPECT_EQ(outcome_of(gone, 3)->error, std::nullopt);
    EXPECT_EQ(gone.retry_after, std::nullopt);
    // All of a limit change to another one.
    (void)rig.update({put(4, "/sys", rate(5))});
    const auto both = rig.update(std::vector{put(0, "/sys", rate(7)), put(4, "/sys", rate(7))});
    EXPECT_EQ(outcome_of(both, 4)->rate, rate(7));
    EXPECT_EQ(outcome_of(rig.retry_after(both), 0)->rate, rate(7));
    rig.expect_converged();
}

TEST(Reconciler, MonitorModeWritesNothing)
{
    Rig rig;
    rig.options.write = false;
    const auto report = rig.update(two_levels(), {put(1, "/sys"), put(2, "/sys")});
    EXPECT_EQ(report.operations, 0U);
    EXPECT_EQ(report.retry_after, std::nullopt);
    ASSERT_EQ(report.queue_pairs.size(), 2U);
    EXPECT_EQ(report.queue_pairs[0].error->message, "not enforced: in monitor mode nothing is written to the device");
    EXPECT_EQ(rig.update({put(3, "/sys")}).queue_pairs.size(), 1U);
    (void)rig.update({take_out(2)});
    EXPECT_TRUE(rig.reconciler().verify(true).drifts.empty());
    EXPECT_EQ(rig.model->operations(), 0U);

    // What was desired meanwhile is due at once.
    rig.reconciler().set_write(true);
    EXPECT_EQ(rig.reconciler().retry().operations, 7U);
    rig.expect_converged();
    EXPECT_EQ(rig.share_of_leaf(1), 30U);
    EXPECT_EQ(rig.share_of_leaf(2), 0U);

    // Back in monitor mode what is there stays, until the end.
    rig.reconciler().set_write(false);
    EXPECT_EQ(rig.update(TreeText().tree).operations, 0U);
    EXPECT_EQ(rig.firmware->usage().elements, 5U);
    EXPECT_GT(rig.reconciler().drain().operations, 0U);
    EXPECT_EQ(rig.firmware->usage(), FirmwareUsage{});
}

TEST(Reconciler, DrainEmptiesTheDevice)
{
    Rig rig;
    (void)rig.update(two_levels(), {put(1, "/sys"), put(2, "/tenants/rpc")});
    const auto report = rig.reconciler().drain();
    EXPECT_EQ(report.operations, 7U);
    EXPECT_EQ(rig.firmware->usage(), FirmwareUsage{});
    EXPECT_EQ(rig.reconciler().desired(), DesiredState{});
    EXPECT_TRUE(rig.reconciler().actual().elements.empty());
    EXPECT_EQ(report.retry_after, std::nullopt);
    EXPECT_EQ(rig.reconciler().drain().operations, 0U);
    EXPECT_EQ(rig.update(two_levels(), {put(1, "/sys")}).operations, 6U) << "it can be used again";
    rig.expect_converged();
}

TEST(Reconciler, OwnersThatGoDoNotEndADrainInMonitorMode)
{
    Rig rig;
    (void)rig.update(two_levels(), {put(1, "/sys")});
    rig.reconciler().set_write(false);
    rig.firmware->faults().fail(CommandKind::Destroy, 1);
    (void)rig.reconciler().drain();
    const auto report = rig.update({take_out(1)});
    ASSERT_TRUE(report.retry_after);
    EXPECT_EQ(rig.retry_after(report).retry_after, std::nullopt);
    EXPECT_EQ(rig.firmware->usage(), FirmwareUsage{});
    // Something new does.
    EXPECT_EQ(rig.update(two_levels(), {put(1, "/sys")}).operations, 0U);
}

TEST(Reconciler, ANumberThatIsGivenAgainIsAnotherQueuePair)
{
    Rig rig;
    QueuePairUpdate first = put(1, "/sys");
    first.ref.file = std::make_shared<File>();
    (void)rig.update(two_levels(), {first});
    rig.firmware->destroy_queue_pair(1);
    QueuePairUpdate second = put(1, "/sys");
    second.ref.file = std::make_shared<File>();
    EXPECT_EQ(rig.update({second}).operations, 1U) << "it is not in the leaf just because its predecessor was";
    EXPECT_EQ(rig.share_of_leaf(1), 30U);
    // Late news of the first one does not touch the second.
    first.placement.reset();
    EXPECT_EQ(rig.update({first}).operations, 0U);
    EXPECT_EQ(rig.share_of_leaf(1), 30U);
    EXPECT_EQ(first.ref.file.use_count(), 1) << "its file is not held";
    EXPECT_EQ(second.ref.file.use_count(), 2);
    EXPECT_EQ(rig.update({{second.ref, std::nullopt}}).operations, 1U);
    EXPECT_EQ(second.ref.file.use_count(), 1);
}

TEST(Reconciler, SnapshotIsAValueOfItsOwn)
{
    Rig rig;
    EXPECT_TRUE(rig.reconciler().snapshot()->actual.elements.empty());
    const auto before = rig.update(two_levels(), {put(1, "/sys")}).snapshot;
    const auto after = rig.update({put(2, "/sys")}).snapshot;
    EXPECT_EQ(before->queue_pairs_in.at(ElementPath("/sys")), 1U);
    EXPECT_EQ(after->queue_pairs_in.at(ElementPath("/sys")), 2U);
    EXPECT_EQ(after->actual.elements, rig.reconciler().actual().elements);
    EXPECT_EQ(rig.reconciler().snapshot(), after);
}

ElementChanges leaf_comes(const std::string& path)
{
    return {{ElementPath(path), Element{ElementKind::Leaf, ElementPath(path).parent(), {1, std::nullopt}}}};
}

ElementChanges leaf_goes(const std::string& path)
{
    return {{ElementPath(path), std::nullopt}};
}

TEST(Reconciler, ALeafThatComesOrGoesIsNotComparedWithTheOthers)
{
    Rig rig;
    (void)rig.update(two_levels(), {put(1, "/tenants/rpc")});
    const auto before = rig.reconciler().comparisons();
    for (std::uint32_t pid = 10; pid < 30; ++pid) {
        const std::string path = fmt::format("/tenants/pid:{}", pid);
        const auto came = rig.reconciler().update(leaf_comes(path), {put(pid, path)}, {});
        EXPECT_EQ(came.operations, 2U);
        rig.expect_converged();
        if (pid % 2 == 0) {
            const auto gone = rig.reconciler().update(leaf_goes(path), {take_out(pid)}, {});
            EXPECT_EQ(gone.operations, 2U);
            EXPECT_EQ(gone.retry_after, std::nullopt);
            rig.expect_converged();
        }
    }
    EXPECT_EQ(rig.reconciler().comparisons(), before);
    EXPECT_EQ(rig.reconciler().replace(rig.reconciler().desired()).operations, 0U) << "nothing else was to be done";
}

TEST(Reconciler, WhatIsOpenIsComparedWithAll)
{
    Rig rig;
    (void)rig.update(two_levels(), {put(1, "/tenants/rpc")});
    const auto before = rig.reconciler().comparisons();
    // Of another kind than a leaf, of one that is there, below nothing.
    ElementChanges changes = leaf_comes("/sys");
    changes.at(ElementPath("/sys"))->attributes.share = 7;
    (void)rig.reconciler().update(changes, {}, {});
    EXPECT_EQ(rig.reconciler().comparisons(), before + 1);
    rig.expect_converged();
    rig.firmware->faults().fail(CommandKind::Create, 1, {FirmwareStatus::ExceedsLimit, 0, 0, true}, 1);
    const auto failed = rig.reconciler().update(leaf_comes("/tenants/pid:1"), {put(2, "/tenants/pid:1")}, {});
    EXPECT_EQ(failed.snapshot->failures.size(), 1U);
    EXPECT_EQ(rig.reconciler().comparisons(), before + 1);
    ASSERT_TRUE(failed.retry_after);
    (void)rig.reconciler().update(leaf_comes("/tenants/pid:2"), {put(3, "/tenants/pid:2")}, {});
    EXPECT_EQ(rig.reconciler().comparisons(), before + 2);
    rig.expect_converged();
}

}    // namespace
}    // namespace rdmaqos
