// A queue pair whose owner says that it may have lost its leaf and its rate.
#include <gtest/gtest.h>

#include "tests/unit/reconcile/fixture.h"

namespace rdmaqos {
namespace {

using namespace test;

Tree two_leaves()
{
    return TreeText().leaf("/rpc", 60).leaf("/bulk", 40).tree;
}

QueuePairUpdate again(std::uint32_t number, const std::string& leaf, std::optional<RateLimit> rate = {})
{
    QueuePairUpdate update = put(number, leaf, rate);
    update.again = true;
    return update;
}

std::vector<std::string> kinds(const Rig& rig)
{
    std::vector<std::string> lines;
    for (const auto& operation : rig.model->log()) {
        if (operation.is_write()) {
            lines.push_back(operation.kind == CommandKind::Attach    ? "place"
                            : operation.kind == CommandKind::SetRate ? "rate"
                                                                     : to_string(operation));
        }
    }
    return lines;
}

struct Case {
    const char* name;
    QueuePairUpdate first;
    QueuePairUpdate second;
    std::vector<std::string> written;
};

TEST(ReconcilerAgain, OnePlaceAndOneRateAreWritten)
{
    const Case cases[] = {
        {"both", put(1, "/rpc", kOneGbps), again(1, "/rpc", kOneGbps), {"place", "rate"}},
        {"no rate", put(1, "/rpc"), again(1, "/rpc"), {"place"}},
        {"no leaf", put(1, "", kOneGbps), again(1, "", kOneGbps), {"rate"}},
        {"neither", put(1, ""), again(1, ""), {}},
        {"elsewhere", put(1, "/rpc", kOneGbps), again(1, "/bulk", kOneGbps), {"place", "rate"}},
        {"out", put(1, "/rpc", kOneGbps), again(1, ""), {"place", "rate"}},
        {"not said", put(1, "/rpc", kOneGbps), put(1, "/rpc", kOneGbps), {}},
        {"a stranger", put(2, "/rpc"), again(1, "/rpc", kOneGbps), {"place", "rate"}},
    };
    for (const auto& [name, first, second, written] : cases) {
        for (const bool with_tree : {false, true}) {
            Rig rig(with_pacing());
            (void)rig.update(two_leaves(), {first});
            rig.model->clear_log();
            const auto report = with_tree ? rig.update(two_leaves(), {second}) : rig.update({second});
            EXPECT_EQ(kinds(rig), written) << name << (with_tree ? ", with a tree" : "");
            EXPECT_EQ(report.retry_after, std::nullopt) << name;
            ASSERT_NE(outcome_of(report, 1), nullptr) << name;
            EXPECT_EQ(outcome_of(report, 1)->requester, second.placement->requester) << name;
            EXPECT_EQ(outcome_of(report, 1)->rate, second.placement->rate) << name;
            rig.expect_converged();
        }
    }
}

TEST(ReconcilerAgain, WhatItLostComesBack)
{
    Rig rig(with_pacing());
    (void)rig.update(two_leaves(), {put(1, "/rpc", kOneGbps), put(2, "/bulk")});
    for (const auto state : {QueuePairState::Reset, QueuePairState::Init, QueuePairState::Rtr, QueuePairState::Rts}) {
        rig.firmware->set_queue_pair_state(1, state);
    }
    EXPECT_EQ(rig.share_of_leaf(1), 0U);
    EXPECT_EQ(rig.firmware->queue_pair(1)->rate, std::nullopt);
    (void)rig.update({again(1, "/rpc", kOneGbps)});
    EXPECT_EQ(rig.share_of_leaf(1), 60U);
    EXPECT_EQ(rig.firmware->queue_pair(1)->rate, kOneGbps);
    EXPECT_EQ(rig.reconciler().snapshot()->queue_pairs_in.at(ElementPath("/rpc")), 1U);
}

struct File final : ClientFile {
    File() : ClientFile(UniqueFd(), nullptr) {}
};

TEST(ReconcilerAgain, WithAnotherCopyOfItsFileItIsStillItself)
{
    Rig rig(with_pacing());
    auto first = put(1, "/rpc");
    first.ref.file = std::make_shared<File>();
    (void)rig.update(two_leaves(), {first});
    auto second = again(1, "");
    second.ref.file = std::make_shared<File>();
    EXPECT_EQ(rig.update({second}).operations, 1U) << "it is known to be in a leaf, and taken out";
    EXPECT_EQ(rig.share_of_leaf(1), 0U);
    EXPECT_EQ(first.ref.file.use_count(), 1) << "the old copy is not held";
    EXPECT_EQ(second.ref.file.use_count(), 2);
}

TEST(ReconcilerAgain, AFailureIsTriedAgainUntilItIsThere)
{
    Rig rig(with_pacing());
    (void)rig.update(two_leaves(), {put(1, "/rpc", kOneGbps)});
    rig.firmware->faults().busy(CommandKind::Attach, 10);
    const auto report = rig.update({again(1, "/rpc", kOneGbps)});
    EXPECT_EQ(outcome_of(report, 1)->error->code, ErrorCode::Busy);
    EXPECT_EQ(outcome_of(report, 1)->requester, ElementPath()) << "nothing is believed that was not written";
    rig.firmware->faults().clear();
    rig.model->clear_log();
    const auto retried = rig.retry_after(report);
    EXPECT_EQ(kinds(rig), std::vector<std::string>{"place"});
    EXPECT_EQ(outcome_of(retried, 1)->requester, ElementPath("/rpc"));
}

TEST(ReconcilerAgain, WatchingChangesNothingThatIsBelieved)
{
    Rig rig(with_pacing());
    (void)rig.update(two_leaves(), {put(1, "/rpc", kOneGbps)});
    rig.reconciler().set_write(false);
    EXPECT_EQ(rig.update({again(1, "/rpc", kOneGbps)}).operations, 0U);
    rig.reconciler().set_write(true);
    EXPECT_EQ(rig.reconciler().retry().operations, 0U);
    rig.expect_converged();
}

}    // namespace
}    // namespace rdmaqos
