#include "lib/reconcile/reconciler.h"

#include <gtest/gtest.h>

#include "tests/unit/reconcile/fixture.h"

namespace rdmaqos {
namespace {

using namespace test;

class Verify : public testing::Test {
protected:
    void SetUp() override
    {
        (void)rig.update(TreeText().node("/tenants", 70).leaf("/tenants/rpc", 60, 40).leaf("/sys", 30).tree,
                         {put(1, "/sys"), put(2, "/tenants/rpc")});
        rig.expect_converged();
    }

    Rig rig;
};

Drift repaired(const std::string& path, DriftKind kind, const std::string& expected, const std::string& found)
{
    return {ElementPath(path), kind, expected, found, true, std::nullopt};
}

TEST_F(Verify, NothingDrifted)
{
    const auto before = rig.model->writes();
    const auto report = rig.reconciler().verify(true);
    EXPECT_TRUE(report.drifts.empty());
    EXPECT_EQ(report.report.operations, 0U);
    EXPECT_EQ(rig.model->writes(), before);
}

TEST_F(Verify, LookingChangesNothing)
{
    ASSERT_TRUE(rig.firmware->drift(rig.object_with_share(60), 10, 0));
    for (int i = 0; i < 2; ++i) {
        const auto report = rig.reconciler().verify(false);
        ASSERT_EQ(report.drifts.size(), 2U);
        EXPECT_EQ(report.drifts[0],
                  (Drift{ElementPath("/tenants/rpc"), DriftKind::Share, "share 60", "share 10", false, {}}));
        EXPECT_EQ(
            report.drifts[1],
            (Drift{ElementPath("/tenants/rpc"), DriftKind::MaxRate, "max-rate 40 Gbit/s", "no max-rate", false, {}}));
        EXPECT_EQ(report.report.operations, 0U);
        EXPECT_EQ(report.report.retry_after, std::nullopt);
    }
    EXPECT_EQ(rig.reconciler().snapshot()->counters.drift_found, 4U);
    EXPECT_EQ(rig.reconciler().snapshot()->counters.drift_repaired, 0U);
}

TEST_F(Verify, AttributesAreWrittenAgain)
{
    ASSERT_TRUE(rig.firmware->drift(rig.object_with_share(60), 60, 5000));
    ASSERT_TRUE(rig.firmware->drift(rig.object_with_share(30), 0, 0));
    const auto report = rig.reconciler().verify(true);
    EXPECT_EQ(report.drifts,
              (std::vector{repaired("/sys", DriftKind::Share, "share 30", "share of the device's default"),
                           repaired("/tenants/rpc", DriftKind::MaxRate, "max-rate 40 Gbit/s", "max-rate 5 Gbit/s")}));
    EXPECT_EQ(report.report.operations, 2U);
    EXPECT_EQ(report.report.snapshot->counters.drift_found, 2U);
    EXPECT_EQ(report.report.snapshot->counters.drift_repaired, 2U);
    rig.expect_converged();
    EXPECT_TRUE(rig.reconciler().verify(true).drifts.empty());
}

TEST_F(Verify, AMissingLeafIsMadeAnewAndGetsItsQueuePairs)
{
    ASSERT_TRUE(rig.firmware->lose(rig.object_with_share(30)));
    const auto report = rig.reconciler().verify(true);
    EXPECT_EQ(report.drifts, std::vector{repaired("/sys", DriftKind::Missing, "leaf", "nothing")});
    EXPECT_EQ(report.report.operations, 2U);
    EXPECT_EQ(outcome_of(report.report, 1)->requester, ElementPath("/sys"));
    rig.expect_converged();
}

TEST_F(Verify, AMissingNodeIsMadeAnewWithAllBelowIt)
{
    ASSERT_TRUE(rig.firmware->lose(rig.object_with_share(70)));
    const auto report = rig.reconciler().verify(true);
    EXPECT_EQ(report.drifts, (std::vector{repaired("/tenants", DriftKind::Missing, "node", "nothing"),
                                          repaired("/tenants/rpc", DriftKind::Missing, "leaf", "nothing")}));
    EXPECT_EQ(report.report.operations, 3U);
    EXPECT_EQ(rig.share_of_leaf(2), 60U);
    rig.expect_converged();
}

TEST_F(Verify, EverythingMissing)
{
    for (const auto& element : rig.firmware->elements()) {
        if (!element.parent) {
            rig.firmware->lose(element.id);
        }
    }
    const auto report = rig.reconciler().verify(true);
    EXPECT_EQ(report.drifts.size(), 4U);
    EXPECT_TRUE(std::all_of(report.drifts.begin(), report.drifts.end(), [](const Drift& one) { return one.repaired; }));
    rig.expect_converged();
}

// Parent and kind of an element never change on a device we know; a device that says so is not argued with.
TEST_F(Verify, AnotherParentOrKindIsMadeAnewBeforeTheOldOneGoes)
{
    const auto node = rig.object_with_share(70);
    const auto leaf = rig.object_with_share(30);
    bool lie = true;
    rig.backend->on_query = [&](ElementHandle handle, Result<ElementState>& state) {
        if (state && lie && ModelBackend::object_of(handle) == leaf) {
            state->parent = ElementHandle{static_cast<std::uint64_t>(node)};
            state->kind = ElementKind::Node;
        }
    };
    bool always_in_a_leaf = true;
    rig.backend->after_write = [&](CommandKind) {
        always_in_a_leaf = always_in_a_leaf && rig.firmware->queue_pair(1)->requester != kNoObject;
    };
    const auto report = rig.reconciler().verify(true);
    ASSERT_EQ(report.drifts.size(), 2U);
    EXPECT_EQ(report.drifts[0], repaired("/sys", DriftKind::Kind, "leaf", "node"));
    EXPECT_EQ(report.drifts[1].kind, DriftKind::Parent);
    EXPECT_EQ(report.drifts[1].expected, "parent /");
    EXPECT_TRUE(report.drifts[1].repaired);
    EXPECT_EQ(report.report.operations, 3U) << "create, move, destroy";
    EXPECT_TRUE(always_in_a_leaf);
    lie = false;
    rig.expect_converged();
    EXPECT_TRUE(rig.reconciler().verify(false).drifts.empty());
}

TEST_F(Verify, ARepairThatFailsSaysWhyAndIsRetried)
{
    ASSERT_TRUE(rig.firmware->lose(rig.object_with_share(30)));
    rig.firmware->faults().fail(CommandKind::Create, 1);
    const auto report = rig.reconciler().verify(true);
    ASSERT_EQ(report.drifts.size(), 1U);
    EXPECT_FALSE(report.drifts[0].repaired);
    ASSERT_TRUE(report.drifts[0].error);
    EXPECT_EQ(report.drifts[0].error->code, ErrorCode::DeviceFailed);
    EXPECT_EQ(report.report.snapshot->counters.drift_repaired, 0U);
    EXPECT_EQ(outcome_of(rig.retry_after(report.report), 1)->requester, ElementPath("/sys"));
    rig.expect_converged();
}

TEST_F(Verify, WhatCannotBeReadIsNoDriftButReadAgain)
{
    rig.firmware->faults().fail(CommandKind::Query, 2);
    auto report = rig.reconciler().verify(true);
    EXPECT_TRUE(report.drifts.empty());
    EXPECT_EQ(failed_text(report.report), "query /sys x1; ");
    EXPECT_EQ(report.report.retry_after, 100ms);
    const auto retried = rig.retry_after(report.report);
    EXPECT_EQ(retried.operations, 0U);
    EXPECT_EQ(retried.retry_after, std::nullopt);
    EXPECT_EQ(failed_text(retried), "");
}

TEST_F(Verify, WhatIsOnItsWayOutMayLookAsItLikes)
{
    ASSERT_TRUE(rig.firmware->attach({kHostContext, 99, QueuePairType::Rc, rig.object_with_share(60), kNoObject}));
    auto report = rig.reconciler().update(TreeText().leaf("/sys", 30).tree, {take_out(2)}, {});
    ASSERT_EQ(report.snapshot->draining, std::vector{ElementPath("/tenants/rpc")});
    ASSERT_TRUE(rig.firmware->lose(rig.object_with_share(60)));
    EXPECT_TRUE(rig.reconciler().verify(false).drifts.empty());
    const auto verified = rig.reconciler().verify(true);
    EXPECT_TRUE(verified.drifts.empty());
    EXPECT_TRUE(verified.report.snapshot->draining.empty());
    rig.expect_converged();
}

TEST_F(Verify, AResetWhileReading)
{
    rig.model->reset();
    const auto report = rig.reconciler().verify(true);
    EXPECT_TRUE(report.report.device_gone);
    EXPECT_TRUE(report.drifts.empty()) << "a device that is gone has not drifted";
}

// A query that was answered wrongly once: what was believed to be gone is destroyed with what follows.
TEST_F(Verify, AnElementThatWasDeniedOnceIsNotLeftBehind)
{
    const auto before = shape_of(*rig.firmware);
    const std::size_t elements = rig.firmware->elements().size();
    const ElementHandle denied{static_cast<std::uint64_t>(rig.object_with_share(30))};
    bool is_denied = false;
    rig.backend->on_query = [&](ElementHandle handle, Result<ElementState>& state) {
        if (handle == denied && !std::exchange(is_denied, true)) {
            state = fail(Error{ErrorCode::InvalidArgument, ENOENT, "there is no such element"});
        }
    };
    const auto report = rig.reconciler().verify(true);
    EXPECT_EQ(report.drifts, std::vector{repaired("/sys", DriftKind::Missing, "leaf", "nothing")});
    EXPECT_EQ(rig.firmware->elements().size(), elements);
    EXPECT_EQ(shape_of(*rig.firmware), before);
    EXPECT_TRUE(rig.reconciler().verify(false).drifts.empty());
}

TEST_F(Verify, ElementsThatNobodyUsesAreFoundAndDestroyed)
{
    const auto root = rig.object_with_share(70);
    CreateCommand command;
    for (const auto& element : rig.firmware->elements()) {
        if (element.id == root) {
            command.context = element.context;
            command.parent = element.id;
        }
    }
    command.kind = ElementKind::Leaf;
    ASSERT_TRUE(rig.firmware->create(command));
    const Drift stray{ElementPath::root(), DriftKind::Unknown, "nothing else", "1 element that nobody uses", false, {}};
    EXPECT_EQ(rig.reconciler().verify(false).drifts, std::vector{stray});
    Drift destroyed = stray;
    destroyed.repaired = true;
    EXPECT_EQ(rig.reconciler().verify(true).drifts, std::vector{destroyed});
    EXPECT_TRUE(rig.reconciler().verify(false).drifts.empty());
    rig.expect_converged();
}

}    // namespace
}    // namespace rdmaqos
