// What a device does to its driver: refusals, EBUSY, half-done work, resets.
#include "lib/reconcile/reconciler.h"

#include <cerrno>

#include <gtest/gtest.h>

#include "tests/unit/reconcile/fixture.h"

namespace rdmaqos {
namespace {

using namespace test;

Tree unlimited_levels()
{
    return TreeText().node("/tenants", 70).leaf("/tenants/bulk", 40).leaf("/tenants/rpc", 60).leaf("/sys", 30).tree;
}

std::size_t count(const Rig& rig, CommandKind kind)
{
    const auto log = rig.model->log();
    return static_cast<std::size_t>(
        std::count_if(log.begin(), log.end(), [kind](const ModelOperation& one) { return one.kind == kind; }));
}

TEST(ReconcilerFailure, IndependentOperationsGoOn)
{
    Rig rig;
    rig.firmware->faults().fail(CommandKind::Create, 2);    // /sys
    const auto report = rig.update(unlimited_levels(), {put(1, "/sys"), put(2, "/tenants/rpc")});
    EXPECT_EQ(failed_text(report), "create /sys x1; ");
    EXPECT_EQ(rig.share_of_leaf(2), 60U);
    const auto* outcome = outcome_of(report, 1);
    ASSERT_TRUE(outcome->error);
    EXPECT_TRUE(outcome->error->message.starts_with("/sys is not on the device: ")) << outcome->error->message;
    EXPECT_EQ(report.retry_after, 100ms);

    const auto retried = rig.retry_after(report);
    EXPECT_EQ(retried.operations, 2U);
    EXPECT_EQ(outcome_of(retried, 1)->error, std::nullopt);
    EXPECT_EQ(retried.retry_after, std::nullopt);
    EXPECT_TRUE(retried.snapshot->failures.empty());
    EXPECT_EQ(retried.snapshot->counters, (Counters{8, 1, 1, 0, 0}));
    rig.expect_converged();
}

// It has never left its leaf, so that nothing is done to it when it belongs there again.
TEST(ReconcilerFailure, AReasonGoesWithItsCause)
{
    Rig rig;
    (void)rig.update(unlimited_levels(), {put(1, "/sys"), put(2, "/tenants/rpc")});
    const DesiredState before = rig.reconciler().desired();
    DesiredState trial = before;
    trial.tree[ElementPath("/named")] = trial.tree.at(ElementPath("/sys"));
    trial.queue_pairs.at(QueuePairId{1}).requester = ElementPath("/named");
    rig.firmware->faults().fail(CommandKind::Create, 1, {}, 9);
    const auto refused = rig.reconciler().replace(trial);
    ASSERT_TRUE(outcome_of(refused, 1)->error);
    EXPECT_TRUE(outcome_of(refused, 1)->error->message.starts_with("/named is not on the device: "));
    const auto reverted = rig.reconciler().replace(before);
    ASSERT_EQ(reverted.queue_pairs.size(), 1U) << "the other one has nothing to report";
    EXPECT_EQ(outcome_of(reverted, 1)->error, std::nullopt);
    EXPECT_EQ(outcome_of(reverted, 1)->requester, ElementPath("/sys"));
    EXPECT_TRUE(rig.reconciler().replace(before).queue_pairs.empty()) << "once";
}

TEST(ReconcilerFailure, WhatDependsOnAFailedCreateIsNotSent)
{
    Rig rig;
    rig.firmware->faults().fail(CommandKind::Create, 3);    // /tenants
    const auto report = rig.update(unlimited_levels(), {put(1, "/tenants/rpc")});
    EXPECT_EQ(failed_text(report), "create /tenants x1; ");
    EXPECT_EQ(count(rig, CommandKind::Create), 3U);
    EXPECT_EQ(count(rig, CommandKind::Attach), 0U);
    EXPECT_TRUE(outcome_of(report, 1)->error->message.starts_with("/tenants/rpc is not on the device: /tenants: "));
    (void)rig.retry_after(report);
    rig.expect_converged();
}

TEST(ReconcilerFailure, AQueuePairWhoseNewLeafFailsKeepsTheOldOne)
{
    Rig rig;
    (void)rig.update(unlimited_levels(), {put(1, "/tenants/rpc"), put(2, "/tenants/bulk")});
    // The same leaf under another parent has to be made anew.
    Tree tree = unlimited_levels();
    tree[ElementPath("/tenants/rpc")] = Element{ElementKind::Leaf, ElementPath::root(), {61, {}}};
    rig.firmware->faults().fail(CommandKind::Create, 1, {}, 2);
    auto report = rig.update(tree);
    EXPECT_EQ(rig.share_of_leaf(1), 60U);
    EXPECT_EQ(report.snapshot->draining, std::vector{ElementPath("/tenants/rpc")});
    report = rig.retry_after(report);
    EXPECT_EQ(failed_text(report), "create /tenants/rpc x2; ");
    EXPECT_EQ(rig.share_of_leaf(1), 60U);
    report = rig.retry_after(report);
    EXPECT_EQ(report.retry_after, std::nullopt);
    EXPECT_EQ(rig.share_of_leaf(1), 61U);
    rig.expect_converged();
}

TEST(ReconcilerFailure, OneSideGoesOnWithoutTheOther)
{
    Rig rig;
    QueuePairUpdate both = put(1, "/rpc");
    both.placement->responder = ElementPath("/rpc.responder");
    rig.firmware->faults().fail(CommandKind::Create, 3);
    const auto report = rig.update(TreeText().leaf("/rpc", 60).leaf("/rpc.responder", 20).tree, {both});
    EXPECT_EQ(outcome_of(report, 1)->requester, ElementPath("/rpc"));
    EXPECT_EQ(outcome_of(report, 1)->responder, ElementPath());
    EXPECT_TRUE(outcome_of(report, 1)->error->message.starts_with("/rpc.responder is not on the device: "));
    (void)rig.retry_after(report);
    rig.expect_converged();
}

TEST(ReconcilerFailure, BackoffDoublesToItsLimitAndSuccessResetsIt)
{
    Rig rig;
    rig.options.longest_retry = 1000ms;
    rig.firmware->faults().fail(CommandKind::Create, 1, {}, 7);
    auto report = rig.update(unlimited_levels());
    for (const auto expected : {100ms, 200ms, 400ms, 800ms, 1000ms, 1000ms}) {
        ASSERT_EQ(report.retry_after, expected);
        report = rig.retry_after(report);
    }
    EXPECT_EQ(failed_text(report), "create / x7; ");
    report = rig.retry_after(report);
    EXPECT_EQ(report.retry_after, std::nullopt);
    rig.firmware->faults().fail(CommandKind::Modify, 1);
    Tree tree = unlimited_levels();
    tree[ElementPath("/sys")].attributes.share = 31;
    EXPECT_EQ(rig.update(tree).retry_after, 100ms);
}

TEST(ReconcilerFailure, RetryWaitsForItsTime)
{
    Rig rig;
    rig.firmware->faults().fail(CommandKind::Create, 1);
    (void)rig.update(unlimited_levels());
    rig.clock.advance(60ms);
    const auto early = rig.reconciler().retry();
    EXPECT_EQ(early.operations, 0U);
    EXPECT_EQ(early.retry_after, 40ms);
    rig.clock.advance(40ms);
    EXPECT_GT(rig.reconciler().retry().operations, 0U);
    EXPECT_EQ(rig.reconciler().retry().operations, 0U) << "nothing is open";
}

TEST(ReconcilerFailure, BusyIsTriedAgainAtOnce)
{
    Rig rig;
    (void)rig.update(unlimited_levels());
    rig.firmware->faults().busy(CommandKind::Attach, 5);
    const auto report = rig.update({put(1, "/sys")});
    EXPECT_EQ(report.operations, 6U);
    EXPECT_EQ(outcome_of(report, 1)->error, std::nullopt);
    EXPECT_EQ(report.snapshot->counters.retries, 5U);
    EXPECT_EQ(report.snapshot->counters.failed, 5U);
    const auto& placed = report.snapshot->operations.at(static_cast<std::size_t>(OperationKind::Place));
    EXPECT_EQ(placed.times.count(), 6U);
    EXPECT_EQ(placed.failed, 5U);
}

TEST(ReconcilerFailure, BusyBeyondTheBoundIsRetriedLater)
{
    Rig rig;
    (void)rig.update(unlimited_levels());
    rig.firmware->faults().busy(CommandKind::Attach, 6);
    const auto report = rig.update({put(1, "/sys")});
    EXPECT_EQ(outcome_of(report, 1)->error->code, ErrorCode::Busy);
    EXPECT_EQ(report.retry_after, 100ms);
    const auto retried = rig.retry_after(report);
    EXPECT_EQ(retried.operations, 1U);
    EXPECT_EQ(outcome_of(retried, 1)->requester, ElementPath("/sys"));
}

TEST(ReconcilerFailure, AFailedQueuePairDoesNotDelayWhatIsOpenAlready)
{
    Rig rig;
    rig.firmware->faults().fail(CommandKind::Create, 5);
    ASSERT_EQ(rig.update(unlimited_levels()).retry_after, 100ms);
    rig.clock.advance(70ms);
    const auto report = rig.update({put(1, "/tenants/rpc")});    // the one that is missing
    EXPECT_TRUE(outcome_of(report, 1)->error);
    EXPECT_EQ(report.retry_after, 30ms);
    (void)rig.retry_after(report);
    rig.expect_converged();
}

TEST(ReconcilerFailure, ABusyLeafDrains)
{
    Rig rig;
    (void)rig.update(unlimited_levels());
    // Somebody else's queue pair: attached by a client that guessed the group.
    rig.firmware->create_queue_pair(99, QueuePairType::Rc, QueuePairState::Rts);
    ASSERT_TRUE(rig.firmware->attach({kHostContext, 99, QueuePairType::Rc, rig.object_with_share(60), kNoObject}));
    auto report = rig.update(TreeText().leaf("/sys", 30).tree);
    EXPECT_EQ(report.snapshot->draining, std::vector{ElementPath("/tenants/rpc")});
    EXPECT_EQ(failed_text(report), "");
    ASSERT_EQ(report.retry_after, 100ms);
    report = rig.retry_after(report);
    EXPECT_EQ(report.operations, 1U) << "only the leaf is asked to go, not its parent";
    EXPECT_EQ(report.retry_after, 200ms);
    rig.firmware->destroy_queue_pair(99);
    report = rig.retry_after(report);
    EXPECT_TRUE(report.snapshot->draining.empty());
    EXPECT_EQ(report.retry_after, std::nullopt);
    rig.expect_converged();
}

TEST(ReconcilerFailure, AYesThatDoesSomethingElseIsAFailure)
{
    Rig rig;
    bool lie = true;
    rig.backend->after_write = [&](CommandKind) {
        for (const auto& element : rig.firmware->elements()) {
            if (lie && element.share == 30) {
                rig.firmware->drift(element.id, 17, 0);
            }
        }
    };
    auto report = rig.update(unlimited_levels(), {put(1, "/sys")});
    ASSERT_EQ(failed_text(report), "create /sys x1; ");
    EXPECT_EQ(report.snapshot->failures[0].error.message,
              "the device reports success, but reads back share 17 instead of share 30");
    EXPECT_EQ(rig.share_of_leaf(1), 17U) << "the leaf is of use all the same";
    report = rig.retry_after(report);
    EXPECT_EQ(failed_text(report), "modify /sys x1; ");
    lie = false;
    report = rig.retry_after(report);
    EXPECT_EQ(report.operations, 1U);
    EXPECT_EQ(failed_text(report), "");
    rig.expect_converged();
}

TEST(ReconcilerFailure, AnElementOfTheWrongKindIsDestroyedAndMadeAnew)
{
    Rig rig;
    int lies = 1;
    rig.backend->on_query = [&](ElementHandle, Result<ElementState>& state) {
        if (state && state->attributes.share == 30 && lies > 0) {
            --lies;
            state->kind = ElementKind::Node;
        }
    };
    auto report = rig.update(unlimited_levels(), {put(1, "/sys")});
    EXPECT_EQ(failed_text(report), "create /sys x1; ");
    EXPECT_EQ(rig.firmware->usage().elements, 4U) << "what is of no use does not stay";
    report = rig.retry_after(report);
    EXPECT_EQ(outcome_of(report, 1)->error, std::nullopt);
    rig.expect_converged();
}

TEST(ReconcilerFailure, WhatCouldNotBeReadBackIsReadAgain)
{
    Rig rig;
    rig.firmware->faults().fail(CommandKind::Query, 2, {}, 2);
    auto report = rig.update(TreeText().leaf("/sys", 30).leaf("/x", 5).tree);
    EXPECT_EQ(failed_text(report), "create /sys x1; create /x x1; ");
    EXPECT_EQ(report.operations, 3U);
    rig.firmware->faults().fail(CommandKind::Query, 1);
    report = rig.retry_after(report);
    EXPECT_EQ(failed_text(report), "query /sys x1; ");
    EXPECT_EQ(report.operations, 0U);
    // Meanwhile it turns out to be otherwise.
    rig.firmware->drift(rig.object_with_share(30), 3, 0);
    report = rig.retry_after(report);
    EXPECT_EQ(report.operations, 1U);
    EXPECT_EQ(report.retry_after, std::nullopt);
    rig.expect_converged();
}

TEST(ReconcilerFailure, AFailedModifyIsReadBackBeforeItIsTriedAgain)
{
    Rig rig;
    (void)rig.update(unlimited_levels());
    rig.firmware->faults().fail(CommandKind::Modify, 1);
    Tree tree = unlimited_levels();
    tree[ElementPath("/sys")].attributes.share = 31;
    const auto report = rig.update(tree);
    EXPECT_EQ(failed_text(report), "modify /sys x1; ");
    // It had been done in spite of the error.
    rig.firmware->drift(rig.object_with_share(30), 31, 0);
    const auto retried = rig.retry_after(report);
    EXPECT_EQ(retried.operations, 0U);
    EXPECT_EQ(retried.retry_after, std::nullopt);
    rig.expect_converged();
}

TEST(ReconcilerFailure, ALeafThatVanishedIsMadeAnewWhenAQueuePairFindsOut)
{
    Rig rig;
    (void)rig.update(unlimited_levels(), {put(1, "/sys")});
    ASSERT_TRUE(rig.firmware->lose(rig.object_with_share(30)));
    const auto report = rig.update({put(2, "/sys")});
    EXPECT_EQ(outcome_of(report, 2)->error->sys_errno, ENOENT);
    EXPECT_EQ(outcome_of(report, 2)->error->message, "/sys has vanished from the device");
    const auto retried = rig.retry_after(report);
    EXPECT_EQ(retried.operations, 3U);
    EXPECT_EQ(rig.share_of_leaf(1), 30U);
    EXPECT_EQ(rig.share_of_leaf(2), 30U);
    rig.expect_converged();
}

// Taken for a refusal for good, the queue pair would have stayed outside for ever.
TEST(ReconcilerFailure, ALeafOfWhichNobodyKnowsWhetherItVanishedIsNoRefusal)
{
    Rig rig;
    (void)rig.update(unlimited_levels(), {put(1, "/sys")});
    ASSERT_TRUE(rig.firmware->lose(rig.object_with_share(30)));
    rig.firmware->faults().fail(CommandKind::Query, 1);
    const auto report = rig.update({put(2, "/sys")});
    EXPECT_EQ(outcome_of(report, 2)->error->message, "/sys may have vanished from the device: it cannot be read back");
    ASSERT_NE(report.retry_after, std::nullopt);
    (void)rig.retry_after(report);
    EXPECT_EQ(rig.share_of_leaf(1), 30U);
    EXPECT_EQ(rig.share_of_leaf(2), 30U);
    rig.expect_converged();
}

FirmwareOptions explicit_queue_pairs()
{
    FirmwareOptions options;
    options.capabilities = default_capabilities();
    options.implicit_queue_pairs = false;
    return options;
}

TEST(ReconcilerFailure, AQueuePairThatIsGoneIsForgottenSoThatItsLeafCanGo)
{
    Rig rig(explicit_queue_pairs());
    for (const std::uint32_t number : {1U, 2U}) {
        rig.firmware->create_queue_pair(number, QueuePairType::Rc, QueuePairState::Rts);
    }
    (void)rig.update(unlimited_levels(), {put(1, "/sys"), put(2, "/sys")});
    rig.firmware->destroy_queue_pair(1);
    const auto report = rig.reconciler().update(
        TreeText().leaf("/new", 5).tree, {},
        {{{1}, {ElementPath("/new"), {}, {}}}, {{2}, {ElementPath("/new"), {}, {}}}});
    EXPECT_EQ(outcome_of(report, 1)->error->code, ErrorCode::BadQueuePair);
    EXPECT_EQ(outcome_of(report, 1)->requester, ElementPath());
    EXPECT_EQ(outcome_of(report, 2)->requester, ElementPath("/new"));
    EXPECT_FALSE(rig.reconciler().desired().queue_pairs.contains({1}));
    EXPECT_EQ(report.retry_after, std::nullopt);
    rig.expect_converged();
}

TEST(ReconcilerFailure, AQueuePairThatIsGoneWhenItShallLeaveIsNoError)
{
    Rig rig(explicit_queue_pairs());
    rig.firmware->create_queue_pair(1, QueuePairType::Rc, QueuePairState::Rts);
    (void)rig.update(unlimited_levels(), {put(1, "/sys")});
    rig.firmware->destroy_queue_pair(1);
    const auto report = rig.update({take_out(1)});
    EXPECT_EQ(outcome_of(report, 1)->error, std::nullopt);
    EXPECT_EQ(report.retry_after, std::nullopt);
    EXPECT_TRUE(rig.reconciler().actual().queue_pairs.empty());
}

// Closing the device's file would leave its leaf in the firmware.
TEST(ReconcilerFailure, AQueuePairThatCannotLeaveAtOnceLeavesWhileAllAreTakenOut)
{
    Rig rig(explicit_queue_pairs());
    rig.firmware->create_queue_pair(1, QueuePairType::Rc, QueuePairState::Rts);
    QueuePairUpdate update = put(1, "/sys");
    update.ref.file = std::make_shared<File>();
    (void)rig.update(unlimited_levels(), {update});
    rig.firmware->set_queue_pair_state(1, QueuePairState::Sqd);
    for (int tries = 0; tries < 10; ++tries) {
        EXPECT_TRUE(rig.reconciler().drain().retry_after);
    }
    rig.firmware->set_queue_pair_state(1, QueuePairState::Rts);
    (void)rig.reconciler().drain();
    EXPECT_TRUE(rig.reconciler().actual().elements.empty());
    EXPECT_EQ(update.ref.file.use_count(), 1);
}

// In ERR a queue pair cannot be moved any more. Its owner's file may be the last thing that keeps it alive.
TEST(ReconcilerFailure, AQueuePairThatCannotLeaveIsLetGoOfInTheEnd)
{
    Rig rig(explicit_queue_pairs());
    rig.firmware->create_queue_pair(1, QueuePairType::Rc, QueuePairState::Rts);
    QueuePairUpdate update = put(1, "/sys");
    update.ref.file = std::make_shared<File>();
    (void)rig.update(unlimited_levels(), {update});
    rig.firmware->set_queue_pair_state(1, QueuePairState::Error);
    auto report = rig.update({{update.ref, std::nullopt}});
    EXPECT_EQ(outcome_of(report, 1)->error->code, ErrorCode::BadState);
    EXPECT_EQ(outcome_of(report, 1)->requester, ElementPath("/sys"));
    report = rig.retry_after(report);
    EXPECT_EQ(update.ref.file.use_count(), 2);
    report = rig.retry_after(report);
    EXPECT_EQ(update.ref.file.use_count(), 1) << "let go of";
    EXPECT_EQ(outcome_of(report, 1)->requester, ElementPath());
    EXPECT_EQ(report.retry_after, std::nullopt);
    // The leaf drains until the kernel has destroyed the queue pair.
    report = rig.update(TreeText().tree);
    EXPECT_EQ(report.snapshot->draining, std::vector{ElementPath("/sys")});
    rig.firmware->destroy_queue_pair(1);
    report = rig.retry_after(report);
    EXPECT_EQ(report.retry_after, std::nullopt);
    rig.expect_converged();
}

TEST(ReconcilerFailure, AQueuePairInAStateThatForbidsMovingIsRetried)
{
    Rig rig(explicit_queue_pairs());
    rig.firmware->create_queue_pair(1, QueuePairType::Rc, QueuePairState::Rtr);
    const auto report = rig.update(unlimited_levels(), {put(1, "/sys")});
    EXPECT_EQ(outcome_of(report, 1)->error->code, ErrorCode::BadState);
    rig.firmware->set_queue_pair_state(1, QueuePairState::Rts);
    const auto retried = rig.retry_after(report);
    EXPECT_EQ(outcome_of(retried, 1)->requester, ElementPath("/sys"));
    rig.expect_converged();
}

TEST(ReconcilerFailure, MoreLeavesThanTheDeviceHas)
{
    Capabilities capabilities = default_capabilities();
    capabilities.max_leaves = 2;
    Rig rig(capabilities);
    const auto report = rig.update(TreeText().leaf("/a", 1).leaf("/b", 2).leaf("/c", 3).tree,
                                   {put(1, "/a"), put(2, "/b"), put(3, "/c")});
    EXPECT_EQ(rig.firmware->usage().leaves, 2U);
    EXPECT_EQ(report.snapshot->unreachable.size() + report.snapshot->failures.size(), 1U);
    const auto missing = std::count_if(report.queue_pairs.begin(), report.queue_pairs.end(),
                                       [](const QueuePairOutcome& outcome) { return outcome.error.has_value(); });
    EXPECT_EQ(missing, 1);
    EXPECT_TRUE(report.retry_after);
    const auto fits = rig.reconciler().update(TreeText().leaf("/a", 1).leaf("/c", 3).tree, {take_out(2)}, {});
    EXPECT_EQ(fits.retry_after, std::nullopt);
    rig.expect_converged();
}

TEST(ReconcilerFailure, AGoneDeviceStopsEverythingAtOnce)
{
    Rig rig;
    (void)rig.update(unlimited_levels(), {put(1, "/sys")});
    rig.model->reset();
    rig.model->clear_log();
    auto report = rig.update(TreeText().leaf("/other", 5).tree, {put(2, "/other")});
    EXPECT_TRUE(report.device_gone);
    EXPECT_EQ(report.operations, 1U);
    EXPECT_EQ(report.retry_after, std::nullopt);
    EXPECT_EQ(outcome_of(report, 2)->error->code, ErrorCode::DeviceGone);
    // Nothing is sent any more, whoever asks.
    rig.model->clear_log();
    EXPECT_TRUE(rig.update({put(3, "/other")}).device_gone);
    EXPECT_TRUE(rig.reconciler().retry().device_gone);
    EXPECT_TRUE(rig.reconciler().verify(true).report.device_gone);
    EXPECT_TRUE(rig.reconciler().drain().device_gone);
    EXPECT_TRUE(rig.model->log().empty());

    rig.model->replug();
    const auto next_id = rig.reconciler().actual().next_id;
    rig.reconciler().device_was_reset();
    EXPECT_TRUE(rig.reconciler().actual().elements.empty());
    EXPECT_TRUE(rig.reconciler().snapshot()->actual.elements.empty());
    EXPECT_EQ(rig.reconciler().desired(), DesiredState{});
    EXPECT_EQ(rig.reconciler().actual().next_id, next_id);
    report = rig.update(unlimited_levels(), {put(1, "/sys")});
    EXPECT_FALSE(report.device_gone);
    EXPECT_EQ(report.operations, 6U);
    rig.expect_converged();
}

TEST(ReconcilerFailure, AResetInTheMiddleOfAPlan)
{
    Rig rig;
    int left = 3;
    rig.backend->after_write = [&](CommandKind) {
        if (--left == 0) {
            rig.model->reset();
        }
    };
    const auto report = rig.update(unlimited_levels(), {put(1, "/sys")});
    EXPECT_TRUE(report.device_gone);
    EXPECT_EQ(report.operations, 3U) << "the read-back of the third found out";
    EXPECT_EQ(outcome_of(report, 1)->error->code, ErrorCode::DeviceGone);
}

}    // namespace
}    // namespace rdmaqos
