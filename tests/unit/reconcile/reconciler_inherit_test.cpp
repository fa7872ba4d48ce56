// A reconciler that goes on where another one, of a process that has died, was killed.
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/reconcile/fixture.h"

namespace rdmaqos {
namespace {

using namespace test;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Thrown in the middle of a call, as a process ends there.
struct Killed {};

// What a record is, without its form.
class Memory final : public StateRecorder {
public:
    void element_is(const LeftElement& element) override { elements_.insert_or_assign(element.id, element); }
    void element_is_gone(ElementId element) override { elements_.erase(element); }
    void queue_pair_is(const LeftQueuePair& queue_pair) override
    {
        queue_pairs_.insert_or_assign(queue_pair.queue_pair, queue_pair);
    }
    void queue_pair_is_gone(QueuePairId queue_pair) override { queue_pairs_.erase(queue_pair); }
    void note_is(const std::string& /*key*/, const std::string& /*text*/) override {}

    [[nodiscard]] Inheritance left() const
    {
        Inheritance left;
        for (const auto& [id, element] : elements_) {
            left.elements.push_back(element);
        }
        for (const auto& [id, queue_pair] : queue_pairs_) {
            left.queue_pairs.push_back(queue_pair);
        }
        return left;
    }

private:
    std::map<ElementId, LeftElement> elements_;
    std::map<QueuePairId, LeftQueuePair> queue_pairs_;
};

constexpr pid_t kProgram = 4711;

QueuePairUpdate of_program(QueuePairUpdate update)
{
    update.ref.owner_pid = kProgram;
    update.ref.owner_start_time = 90;
    update.again = true;
    return update;
}

// One device, and daemons on it, one after the other.
class Inheriting : public ::testing::Test {
protected:
    explicit Inheriting(const Capabilities& capabilities = with_pacing()) : rig(capabilities)
    {
        EXPECT_TRUE(next_daemon());
    }

    // The one before is gone without a word.
    Result<void> next_daemon()
    {
        reconciler = std::make_unique<Reconciler>(*rig.backend, rig.clock, rig.options);
        rig.model->clear_log();
        return reconciler->inherit(memory.left(), memory,
                                   [this](const ClientFile::Owner& owner) { return running.contains(owner.pid); });
    }
    Report update(const Tree& tree, const std::vector<QueuePairUpdate>& queue_pairs = {})
    {
        return reconciler->update(tree, queue_pairs, {});
    }
    void expect_converged() const { EXPECT_EQ(shape_of(*rig.firmware), shape_of(reconciler->desired())); }
    [[nodiscard]] std::vector<std::string> written() const
    {
        std::vector<std::string> lines;
        for (const auto& operation : rig.model->log()) {
            if (operation.is_write()) {
                lines.push_back(to_string(operation));
            }
        }
        return lines;
    }

    Rig rig;
    Memory memory;
    std::set<pid_t> running{kProgram};
    std::unique_ptr<Reconciler> reconciler;
};

Tree rpc_and_bulk()
{
    return TreeText().leaf("/rpc", 60).leaf("/bulk", 40).tree;
}

TEST_F(Inheriting, AnUnchangedPolicyWritesNothing)
{
    (void)update(rpc_and_bulk(), {of_program(put(1, "/rpc")), of_program(put(2, "/bulk", kOneGbps))});
    const auto before = shape_of(*rig.firmware);
    ASSERT_TRUE(next_daemon());
    const auto report = update(rpc_and_bulk());
    EXPECT_THAT(written(), IsEmpty());
    EXPECT_EQ(report.operations, 0U);
    EXPECT_FALSE(report.retry_after);
    EXPECT_EQ(shape_of(*rig.firmware), before);
    EXPECT_EQ(report.snapshot->queue_pairs_in.at(ElementPath("/rpc")), 1U);
}

TEST_F(Inheriting, AProgramThatNamesItsQueuePairAgainCostsOneWrite)
{
    (void)update(rpc_and_bulk(), {of_program(put(1, "/rpc"))});
    ASSERT_TRUE(next_daemon());
    (void)update(rpc_and_bulk());
    (void)reconciler->update(std::nullopt, {of_program(put(1, "/rpc"))}, {});
    ASSERT_EQ(written().size(), 1U);
    EXPECT_THAT(written().front(), ::testing::StartsWith("attach queue pair 1: "));
    expect_converged();
    (void)reconciler->update(std::nullopt, {take_out(1)}, {});
    expect_converged();
}

// One that only answers RDMA READ is attached in INIT, and the device moves nothing that is in RTR.
TEST_F(Inheriting, WhatStaysInRtrStaysInItsLeaf)
{
    rig.firmware->create_queue_pair(1, QueuePairType::Rc, QueuePairState::Init);
    (void)update(rpc_and_bulk(), {of_program(put(1, "/rpc"))});
    rig.firmware->set_queue_pair_state(1, QueuePairState::Rtr);
    ASSERT_TRUE(next_daemon());
    (void)update(rpc_and_bulk());
    auto report = reconciler->update(std::nullopt, {of_program(put(1, "/rpc"))}, {});
    EXPECT_EQ(outcome_of(report, 1)->error, std::nullopt);
    EXPECT_EQ(outcome_of(report, 1)->requester, ElementPath("/rpc"));
    expect_converged();

    report = reconciler->update(std::nullopt, {of_program(put(1, "/rpc"))}, {});
    ASSERT_TRUE(outcome_of(report, 1)->error) << "perhaps it was reset since";
    EXPECT_EQ(outcome_of(report, 1)->error->code, ErrorCode::BadState);
}

TEST_F(Inheriting, WhatIsInRtrInAnotherLeafIsNotSaidToBeInItsOwn)
{
    rig.firmware->create_queue_pair(1, QueuePairType::Rc, QueuePairState::Init);
    (void)update(rpc_and_bulk(), {of_program(put(1, "/rpc"))});
    rig.firmware->set_queue_pair_state(1, QueuePairState::Rtr);
    ASSERT_TRUE(next_daemon());
    const auto report = update(rpc_and_bulk(), {of_program(put(1, "/bulk"))});
    ASSERT_TRUE(outcome_of(report, 1)->error);
    EXPECT_EQ(outcome_of(report, 1)->error->code, ErrorCode::BadState);
    EXPECT_EQ(outcome_of(report, 1)->requester, ElementPath("/rpc"));
}

TEST_F(Inheriting, AnotherPolicyIsReached)
{
    (void)update(rpc_and_bulk(), {of_program(put(1, "/rpc"))});
    ASSERT_TRUE(next_daemon());
    (void)update(TreeText().leaf("/rpc", 70).leaf("/storage", 40).tree);
    EXPECT_EQ(written().size(), 3U) << "a modify, a create, a destroy";
    (void)reconciler->update(std::nullopt, {of_program(put(1, "/storage"))}, {});
    expect_converged();
}

TEST_F(Inheriting, ALeafStaysWhileTheProgramsInItRun)
{
    const Tree fair = TreeText().node("/rpc", 60).leaf("/rpc/pid:4711", 1).leaf("/rpc/others", 2).tree;
    const Tree idle = TreeText().node("/rpc", 60).leaf("/rpc/others", 2).tree;
    (void)update(fair, {of_program(put(1, "/rpc/pid:4711"))});
    ASSERT_TRUE(next_daemon());
    auto report = update(idle);
    EXPECT_THAT(written(), IsEmpty());
    EXPECT_THAT(report.snapshot->draining, ElementsAre(ElementPath("/rpc/pid:4711")));
    ASSERT_TRUE(report.retry_after);

    // It outlives the next daemon as well.
    ASSERT_TRUE(next_daemon());
    report = update(idle);
    EXPECT_THAT(written(), IsEmpty());

    // Its program registers again, then ends.
    (void)update(fair, {of_program(put(1, "/rpc/pid:4711"))});
    expect_converged();
    EXPECT_EQ(written().size(), 1U);
    ASSERT_TRUE(next_daemon());
    report = update(idle);
    running.clear();
    rig.firmware->destroy_queue_pair(1);
    rig.clock.advance(report.retry_after.value_or(0ms));
    report = reconciler->retry();
    EXPECT_THAT(report.snapshot->draining, IsEmpty());
    expect_converged();
    EXPECT_EQ(memory.left().queue_pairs.size(), 0U);
}

TEST_F(Inheriting, ARateThatIsNotDesiredAnyLongerIsLifted)
{
    (void)update(rpc_and_bulk(), {of_program(put(1, "/rpc", kOneGbps))});
    ASSERT_TRUE(next_daemon());
    (void)update(rpc_and_bulk(), {of_program(put(1, "/rpc"))});
    EXPECT_EQ(written().size(), 2U);
    expect_converged();
}

// A number that another program has got since.
TEST_F(Inheriting, ANumberThatIsGivenAgainIsWritten)
{
    (void)update(rpc_and_bulk(), {of_program(put(1, "/rpc"))});
    rig.firmware->destroy_queue_pair(1);
    ASSERT_TRUE(next_daemon());
    auto other = of_program(put(1, "/rpc"));
    other.ref.owner_pid = 4712;
    (void)update(rpc_and_bulk(), {other});
    EXPECT_EQ(written().size(), 1U);
    expect_converged();
}

TEST_F(Inheriting, WhatChangedWhileNobodyWasThereIsSeen)
{
    (void)update(rpc_and_bulk());
    ASSERT_TRUE(rig.firmware->drift(rig.object_with_share(60), 10, 0));
    ASSERT_TRUE(next_daemon());
    (void)update(rpc_and_bulk());
    EXPECT_EQ(written().size(), 1U);
    expect_converged();

    ASSERT_TRUE(rig.firmware->lose(rig.object_with_share(40)));
    ASSERT_TRUE(next_daemon());
    (void)update(rpc_and_bulk());
    expect_converged();
}

// In monitor mode it is left as it is, and a drain takes everything down.
TEST_F(Inheriting, ADrainTakesDownWhatWasLeft)
{
    (void)update(rpc_and_bulk(), {of_program(put(1, "/rpc"))});
    rig.options.write = false;
    ASSERT_TRUE(next_daemon());
    (void)update(TreeText().leaf("/rpc", 1).tree);
    EXPECT_THAT(written(), IsEmpty());
    rig.firmware->destroy_queue_pair(1);
    (void)reconciler->drain();
    EXPECT_THAT(rig.firmware->elements(), IsEmpty());
    EXPECT_TRUE(memory.left().empty());
}

// Of a record of which a part is missing.
TEST_F(Inheriting, WhatHangsBelowNothingKnownGoes)
{
    const Tree deep = TreeText().node("/a", 5).leaf("/a/b", 6).leaf("/c", 7).tree;
    (void)update(deep, {of_program(put(1, "/c"))});
    for (const auto& element : memory.left().elements) {
        if (element.element.path == ElementPath("/a")) {
            memory.element_is_gone(element.id);
        }
    }
    ASSERT_TRUE(next_daemon());
    EXPECT_EQ(rig.firmware->elements().size(), 2U) << "the root and /c";
    (void)update(deep, {of_program(put(1, "/c"))});
    expect_converged();
}

TEST_F(Inheriting, ADeviceThatWasResetHasNothingLeft)
{
    (void)update(rpc_and_bulk(), {of_program(put(1, "/rpc"))});
    ASSERT_TRUE(next_daemon());
    reconciler->device_was_reset();
    EXPECT_TRUE(memory.left().empty());
}

// ---- killed in the middle ----

struct Kill {
    std::size_t at = 0;    // so many writes and queries are let through
    std::size_t seen = 0;

    void count()
    {
        if (seen++ == at) {
            throw Killed();
        }
    }
};

// A large change: elements that come, go, move and change their kind, and queue pairs that follow them.
const Tree& tree_before()
{
    static const Tree tree = TreeText()
                                 .node("/a", 10)
                                 .leaf("/a/x", 11, 5)
                                 .leaf("/a/y", 12)
                                 .leaf("/b", 20)
                                 .node("/c", 30, 40)
                                 .leaf("/c/z", 31)
                                 .tree;
    return tree;
}

const Tree& tree_after()
{
    static const Tree tree = TreeText()
                                 .node("/a", 13)
                                 .leaf("/a/x", 11, 6)
                                 .leaf("/b", 20)
                                 .leaf("/c", 33)
                                 .node("/d", 40)
                                 .leaf("/d/new", 41)
                                 .tree;
    return tree;
}

std::vector<QueuePairUpdate> queue_pairs_before()
{
    return {of_program(put(1, "/a/x")), of_program(put(2, "/a/y")), of_program(put(3, "/b", kOneGbps)),
            of_program(put(4, "/c/z"))};
}

std::vector<QueuePairUpdate> queue_pairs_after()
{
    return {of_program(put(1, "/d/new")), of_program(put(2, "/a/x", kOneGbps)), of_program(put(3, "/b")),
            of_program(put(4, "/c"))};
}

class KilledInTheMiddle : public Inheriting {
protected:
    // True: it was killed before it was done.
    bool is_killed(std::size_t at, const std::function<void()>& work)
    {
        Kill kill{at};
        rig.backend->after_write = [&kill](CommandKind) { kill.count(); };
        rig.backend->on_query = [&kill](ElementHandle, Result<ElementState>&) { kill.count(); };
        bool killed = false;
        try {
            work();
        } catch (const Killed&) {
            killed = true;
        }
        rig.backend->after_write = [](CommandKind) {};
        rig.backend->on_query = [](ElementHandle, Result<ElementState>&) {};
        return killed;
    }
    void reload()
    {
        std::map<QueuePairId, Placement> moves;
        for (const auto& update : queue_pairs_after()) {
            moves.emplace(QueuePairId{update.ref.number}, *update.placement);
        }
        (void)reconciler->update(tree_after(), {}, moves);
    }
    // Until nothing is open.
    void finish()
    {
        auto report = update(tree_after(), queue_pairs_after());
        for (int i = 0; i < 50 && report.retry_after; ++i) {
            rig.clock.advance(*report.retry_after);
            report = reconciler->retry();
        }
        EXPECT_FALSE(report.retry_after);
        expect_converged();
    }
};

TEST_F(KilledInTheMiddle, TheNextOneFinishesTheReloadWhereverThatWas)
{
    std::size_t kills = 0;
    for (std::size_t at = 0;; ++at) {
        (void)update(tree_before(), queue_pairs_before());
        const bool killed = is_killed(at, [&] { reload(); });
        ASSERT_TRUE(next_daemon()) << at;
        // It is killed, too, at each of its steps.
        for (std::size_t again = 0; killed && again < 40; ++again) {
            const bool died = is_killed(again, [&] { (void)update(tree_after(), queue_pairs_after()); });
            ASSERT_TRUE(next_daemon()) << at << ", " << again;
            kills += died ? 1 : 0;
        }
        finish();
        if (!killed) {
            break;
        }
        ++kills;
        // Back for the next round, by a new device.
        (void)reconciler->drain();
        ASSERT_THAT(rig.firmware->elements(), IsEmpty()) << at;
        ASSERT_TRUE(memory.left().empty()) << at;
        ASSERT_TRUE(next_daemon());
    }
    printf("%zu kills\n", kills);
    EXPECT_GT(kills, 100U);
}

// Killed while it starts for the first time.
TEST_F(KilledInTheMiddle, WhateverWasMadeIsUsedOrGone)
{
    for (std::size_t at = 0;; ++at) {
        const bool killed = is_killed(at, [&] { (void)update(tree_after(), queue_pairs_after()); });
        ASSERT_TRUE(next_daemon()) << at;
        finish();
        if (!killed) {
            EXPECT_GT(at, 10U);
            break;
        }
        (void)reconciler->drain();
        ASSERT_THAT(rig.firmware->elements(), IsEmpty()) << at;
        ASSERT_TRUE(next_daemon());
    }
}

}    // namespace
}    // namespace rdmaqos
