// Whatever is asked for, whatever fails on the way: once the device works again, retries make it equal to what is
// desired, by the firmware's own view; and nobody loses a leaf meanwhile.
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "lib/reconcile/reconciler.h"
#include "tests/unit/reconcile/fixture.h"

namespace rdmaqos {
namespace {

using namespace test;

constexpr std::uint32_t kQueuePairs = 12;
constexpr std::uint32_t kMaxLeaves = 8;

Capabilities small_device()
{
    Capabilities capabilities = default_capabilities();
    capabilities.max_leaves = kMaxLeaves;
    capabilities.max_elements = 64;
    capabilities.pacing.supported_types = {QueuePairType::Rc};
    capabilities.pacing.table_size = 16;
    return capabilities;
}

template <typename T>
T one_of(const std::vector<T>& choices)
{
    return choices.at(*rc::gen::inRange<std::size_t>(0, choices.size()));
}

bool chance(int percent)
{
    return *rc::gen::inRange(0, 100) < percent;
}

// A few fixed places, so that the same path comes back with another kind, parent or attributes.
DesiredState random_state(std::size_t most_leaves)
{
    DesiredState state;
    if (chance(5)) {
        return state;
    }
    TreeText text;
    std::vector<std::string> nodes{""};
    for (const std::string name : {"/a", "/b", "/a/m"}) {
        const bool has_parent = name != "/a/m" || std::find(nodes.begin(), nodes.end(), "/a") != nodes.end();
        if (has_parent && chance(60)) {
            text.node(name, *rc::gen::inRange(1U, 100U), chance(30) ? *rc::gen::inRange(1U, 90U) : 0);
            nodes.push_back(name);
        }
    }
    std::vector<std::string> leaves;
    for (const std::string name : {"/a", "/b", "/a/x", "/a/others", "/b/x", "/b/y", "/a/m/x", "/z"}) {
        if (leaves.size() == most_leaves || text.tree.contains(ElementPath(name)) || !chance(60)) {
            continue;
        }
        // Where its own node is missing it hangs higher, as after folding.
        std::string parent = ElementPath(name).parent().text();
        while (parent != "/" && (!text.tree.contains(ElementPath(parent)) ||
                                 text.tree.at(ElementPath(parent)).kind != ElementKind::Node || chance(10))) {
            parent = ElementPath(parent).parent().text();
        }
        text.leaf(name, *rc::gen::inRange(1U, 100U), chance(30) ? *rc::gen::inRange(1U, 90U) : 0, parent);
        leaves.push_back(name);
    }
    state.tree = text.tree;
    for (std::uint32_t number = 1; number <= kQueuePairs && !leaves.empty(); ++number) {
        if (chance(70)) {
            Placement placement{ElementPath(one_of(leaves)), {}, {}};
            if (chance(20)) {
                placement.responder = ElementPath(one_of(leaves));
            }
            if (chance(20)) {
                placement.rate = RateLimit{Bandwidth::from_gbps(*rc::gen::inRange<std::uint64_t>(1, 4)), {}, {}};
            }
            state.queue_pairs[{number}] = placement;
        }
    }
    return state;
}

void random_fault(Rig& rig)
{
    static const std::vector<CommandKind> kKinds{CommandKind::Create,  CommandKind::Modify, CommandKind::Query,
                                                 CommandKind::Destroy, CommandKind::Attach, CommandKind::SetRate};
    auto& faults = rig.firmware->faults();
    const auto nth = *rc::gen::inRange<std::uint64_t>(1, 8);
    switch (*rc::gen::inRange(0, 5)) {
    case 0:
        faults.fail(std::nullopt, nth, {}, *rc::gen::inRange<std::uint64_t>(1, 6));
        break;
    case 1:
        faults.fail(one_of(kKinds), nth, {}, *rc::gen::inRange<std::uint64_t>(1, 6));
        break;
    case 2:
        faults.busy(CommandKind::Attach, *rc::gen::inRange<std::uint64_t>(1, 12));
        break;
    case 3:
        faults.fail(CommandKind::Create, nth, {FirmwareStatus::ExceedsLimit, 0, 0, true}, 3);
        break;
    default:
        break;
    }
}

// Something happens behind the reconciler's back; says whether queue pairs may have lost their leaf by it.
bool random_drift(Rig& rig)
{
    const auto elements = rig.firmware->elements();
    if (elements.empty() || !chance(20)) {
        return false;
    }
    const auto element = one_of(elements);
    if (element.parent && chance(50)) {
        rig.firmware->drift(element.id, *rc::gen::inRange(1U, 100U), 0);
        return false;
    }
    rig.firmware->lose(element.id);
    return true;
}

// Queue pairs in a leaf that shall be in one afterwards too: at no step may they be without.
class LeafWatch {
public:
    LeafWatch(Rig& rig, const DesiredState& next) : rig_(rig)
    {
        for (const auto& [queue_pair, placement] : next.queue_pairs) {
            const auto record = rig.firmware->queue_pair(queue_pair.number);
            if (record && record->requester != kNoObject && !placement.requester.empty()) {
                watched_.insert(queue_pair.number);
            }
        }
        rig.backend->after_write = [this](CommandKind) {
            for (const auto number : watched_) {
                const auto record = rig_.firmware->queue_pair(number);
                if (!record || record->requester == kNoObject) {
                    lost_.insert(number);
                }
            }
        };
    }
    ~LeafWatch()
    {
        rig_.backend->after_write = [](CommandKind) {};
    }
    LeafWatch(const LeafWatch&) = delete;
    LeafWatch& operator=(const LeafWatch&) = delete;

    [[nodiscard]] const std::set<std::uint32_t>& lost() const { return lost_; }

private:
    Rig& rig_;
    std::set<std::uint32_t> watched_;
    std::set<std::uint32_t> lost_;
};

std::vector<QueuePairUpdate> updates_to(const DesiredState& next, const DesiredState& before)
{
    std::vector<QueuePairUpdate> updates;
    for (const auto& [queue_pair, placement] : next.queue_pairs) {
        updates.push_back({ref(queue_pair.number), placement});
    }
    for (const auto& [queue_pair, placement] : before.queue_pairs) {
        if (!next.queue_pairs.contains(queue_pair)) {
            updates.push_back({ref(queue_pair.number), std::nullopt});
        }
    }
    return updates;
}

// The tree as a whole, or what differs from the one before.
TreeUpdate tree_to(const DesiredState& next, const DesiredState& before)
{
    if (chance(50)) {
        return next.tree;
    }
    ElementChanges changes;
    for (const auto& [path, element] : before.tree) {
        if (!next.tree.contains(path)) {
            changes.emplace(path, std::nullopt);
        }
    }
    for (const auto& [path, element] : next.tree) {
        const auto known = before.tree.find(path);
        if (known == before.tree.end() || known->second != element) {
            changes.emplace(path, element);
        }
    }
    return changes;
}

void heal(Rig& rig)
{
    rig.firmware->faults().clear();
    auto report = rig.reconciler().verify(true).report;
    for (int i = 0; report.retry_after && i < 10; ++i) {
        rig.clock.advance(*report.retry_after);
        report = rig.reconciler().retry();
    }
    RC_ASSERT(!report.retry_after.has_value());
    for (const auto& outcome : report.queue_pairs) {
        RC_ASSERT(!outcome.error.has_value());
    }
}

void expect_consistent(Rig& rig)
{
    const auto snapshot = rig.reconciler().snapshot();
    std::map<ElementPath, std::uint32_t> counts;
    const auto& actual = rig.reconciler().actual();
    for (const auto& [queue_pair, placement] : actual.queue_pairs) {
        if (placement.requester) {
            ++counts[actual.elements.at(*placement.requester).path];
        }
    }
    RC_ASSERT(snapshot->queue_pairs_in == counts);
    RC_ASSERT(snapshot->actual.elements == actual.elements);
}

struct Run {
    std::size_t most_leaves;
    bool faults;
    bool drift;
};

void converges(const Run& run)
{
    Rig rig(small_device());
    rig.options.removal_attempts = 1000;    // nobody's file is closed here
    const int steps = *rc::gen::inRange(1, 6);
    for (int step = 0; step < steps; ++step) {
        const auto next = random_state(run.most_leaves);
        if (run.faults) {
            random_fault(rig);
        }
        const bool lost = run.drift && random_drift(rig);
        if (chance(20)) {
            // A tree that takes leaves away without saying where their queue pairs go.
            (void)rig.reconciler().update(next.tree, {}, {});
        }
        const LeafWatch watch(rig, next);
        const auto updates = updates_to(next, rig.reconciler().desired());
        auto report = rig.reconciler().update(tree_to(next, rig.reconciler().desired()), updates, {});
        for (int i = *rc::gen::inRange(0, 3); i > 0 && report.retry_after; --i) {
            rig.clock.advance(*report.retry_after);
            report = rig.reconciler().retry();
        }
        if (!lost) {
            RC_ASSERT(watch.lost() == std::set<std::uint32_t>{});
        }
        RC_ASSERT(rig.reconciler().desired() == next);
        expect_consistent(rig);
    }
    heal(rig);
    RC_ASSERT(shape_of(*rig.firmware) == shape_of(rig.reconciler().desired()));
    RC_ASSERT(without_ids(rig.reconciler().actual()) == rig.reconciler().desired());
    RC_ASSERT(rig.reconciler().replace(rig.reconciler().desired()).operations == 0U);
    (void)rig.reconciler().drain();
    RC_ASSERT(rig.firmware->usage() == FirmwareUsage{});
}

TEST(ReconcilerProperty, ConvergesAtOnceWithoutFaults)
{
    EXPECT_TRUE(rc::check("one call is enough", [] {
        Rig rig(small_device());
        for (int step = 0; step < 4; ++step) {
            const auto next = random_state(kMaxLeaves - 1);
            const LeafWatch watch(rig, next);
            const auto report = rig.reconciler().update(tree_to(next, rig.reconciler().desired()),
                                                        updates_to(next, rig.reconciler().desired()), {});
            RC_ASSERT(!report.retry_after.has_value());
            RC_ASSERT(report.snapshot->counters.failed == 0U);
            RC_ASSERT(watch.lost() == std::set<std::uint32_t>{});
            RC_ASSERT(shape_of(*rig.firmware) == shape_of(next));
        }
    }));
}

// The device would refuse what is beyond its limits, and the refusal would be counted.
TEST(ReconcilerProperty, LimitsAreKeptOnTheWayWhereEveryLeafIsInUse)
{
    EXPECT_TRUE(rc::check("no operation is refused", [] {
        Rig rig(small_device());
        for (int step = 0; step < 4; ++step) {
            const auto next = random_state(kMaxLeaves);
            const LeafWatch watch(rig, next);
            const auto report = rig.reconciler().update(next.tree, updates_to(next, rig.reconciler().desired()), {});
            RC_ASSERT(report.snapshot->counters.failed == 0U);
            RC_ASSERT(watch.lost() == std::set<std::uint32_t>{});
        }
        heal(rig);
        RC_ASSERT(shape_of(*rig.firmware) == shape_of(rig.reconciler().desired()));
    }));
}

TEST(ReconcilerProperty, ConvergesAfterFaults)
{
    EXPECT_TRUE(rc::check("faults", [] { converges({kMaxLeaves - 2, true, false}); }));
}

TEST(ReconcilerProperty, ConvergesAfterDrift)
{
    EXPECT_TRUE(rc::check("drift", [] { converges({kMaxLeaves - 2, false, true}); }));
}

TEST(ReconcilerProperty, ConvergesAfterFaultsAndDrift)
{
    EXPECT_TRUE(rc::check("faults and drift", [] { converges({kMaxLeaves - 2, true, true}); }));
}

TEST(ReconcilerProperty, ConvergesWhereEveryLeafIsInUse)
{
    EXPECT_TRUE(rc::check("no spare leaf", [] { converges({kMaxLeaves, true, false}); }));
}

}    // namespace
}    // namespace rdmaqos
