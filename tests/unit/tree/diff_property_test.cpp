#include <algorithm>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "tests/unit/tree/generators.h"

namespace rdmaqos::test {
namespace {

// RC_ASSERT evaluates all of a bare a || b: such conditions stand in parentheses of their own.

std::uint32_t leaves_in(const ActualState& state)
{
    return static_cast<std::uint32_t>(
        std::count_if(state.elements.begin(), state.elements.end(),
                      [](const auto& entry) { return entry.second.kind == ElementKind::Leaf; }));
}

// A desired placement in no leaf and without a rate is the same as none.
DesiredState normal(DesiredState state)
{
    std::erase_if(state.queue_pairs, [](const auto& entry) { return entry.second == Placement{}; });
    return state;
}

// A device that has just room for both states, and a leaf or two more.
Capabilities tight(const DesiredState& a, const DesiredState& b, std::uint32_t spare_leaves)
{
    auto capabilities = connectx6();
    capabilities.max_leaves = std::max({leaf_count(a.tree), leaf_count(b.tree), 2U}) + spare_leaves;
    // What one leaf and the nodes above it need beside a full device.
    capabilities.max_elements = static_cast<std::uint32_t>(std::max(a.tree.size(), b.tree.size())) +
                                std::max(depth(a.tree), depth(b.tree));
    return capabilities;
}

ActualPlacement placement_in(const ActualState& state, QueuePairId queue_pair)
{
    const auto found = state.queue_pairs.find(queue_pair);
    return found == state.queue_pairs.end() ? ActualPlacement() : found->second;
}

Capabilities roomy()
{
    auto capabilities = connectx6();
    capabilities.max_leaves = 1000;
    return capabilities;
}

class Walk {
public:
    Walk(const DesiredState& desired, ActualState start, const Capabilities& capabilities)
        : desired_(desired), start_(std::move(start)), capabilities_(capabilities),
          plan_(diff(desired, start_, capabilities)), end_(apply(plan_, start_))
    {
        const auto new_leaves = std::count_if(plan_.operations.begin(), plan_.operations.end(), [](const auto& one) {
            const auto* create = std::get_if<CreateElement>(&one);
            return create != nullptr && create->element.kind == ElementKind::Leaf;
        });
        const auto creates = std::count_if(plan_.operations.begin(), plan_.operations.end(),
                                           [](const auto& one) { return std::holds_alternative<CreateElement>(one); });
        has_spare_ = leaves_in(start_) + static_cast<std::uint32_t>(new_leaves) <= capabilities.max_leaves &&
                     start_.elements.size() + static_cast<std::size_t>(creates) <= capabilities.max_elements;
    }

    // Every intermediate state; `apply` itself asserts that parents exist and that nothing busy is destroyed.
    void check_steps() const
    {
        ActualState state = start_;
        for (const auto& operation : plan_.operations) {
            apply(operation, state);
            RC_ASSERT(leaves_in(state) <= std::max(capabilities_.max_leaves, leaves_in(start_)));
            RC_ASSERT(state.elements.size() <=
                      std::max<std::size_t>(capabilities_.max_elements, start_.elements.size()));
            for (const auto& [queue_pair, before] : start_.queue_pairs) {
                check_sides(queue_pair, before, state);
            }
        }
    }

    // Unchanged elements and queue pairs cost nothing.
    void check_minimal() const
    {
        std::set<ElementId> touched;
        std::set<QueuePairId> moved;
        for (const auto& operation : plan_.operations) {
            if (const auto* modify = std::get_if<ModifyElement>(&operation)) {
                RC_ASSERT(touched.insert(modify->id).second);
                const auto& now = start_.elements.at(modify->id).attributes;
                RC_ASSERT((modify->share || modify->max_rate));
                RC_ASSERT((!modify->share || *modify->share != now.share));
                RC_ASSERT((!modify->max_rate || *modify->max_rate != now.max_rate));
            } else if (const auto* create = std::get_if<CreateElement>(&operation)) {
                RC_ASSERT(touched.insert(create->id).second);
            } else if (const auto* destroy = std::get_if<DestroyElement>(&operation)) {
                RC_ASSERT(touched.insert(destroy->id).second);
            } else if (const auto* move = std::get_if<MoveQueuePair>(&operation)) {
                RC_ASSERT((moved.insert(move->queue_pair).second || !has_spare_));
                const auto before = placement_in(start_, move->queue_pair);
                const auto after = placement_in(end_, move->queue_pair);
                RC_ASSERT((before.requester != after.requester || before.responder != after.responder));
            }
        }
    }

    [[nodiscard]] const Plan& plan() const { return plan_; }
    [[nodiscard]] const ActualState& end() const { return end_; }

private:
    void check_sides(QueuePairId queue_pair, const ActualPlacement& before, const ActualState& state) const
    {
        const ActualPlacement now = placement_in(state, queue_pair);
        const ActualPlacement after = placement_in(end_, queue_pair);
        // With no spare leaf it may be in another one for a while, but never in none.
        RC_ASSERT((now.requester == before.requester || now.requester == after.requester ||
                   (!has_spare_ && now.requester.has_value())));
        RC_ASSERT((now.responder == before.responder || now.responder == after.responder ||
                   (!has_spare_ && now.responder.has_value())));
    }

    const DesiredState& desired_;
    ActualState start_;
    Capabilities capabilities_;
    Plan plan_;
    ActualState end_;
    bool has_spare_ = true;
};

TEST(DiffProperty, ApplyingItGivesWhatIsDesired)
{
    EXPECT_TRUE(rc::check("apply(diff(a, b), a) == b", [] {
        const auto a = any_state();
        const auto b = any_state();
        const Walk walk(b, built(a), roomy());
        RC_ASSERT(walk.plan().unreachable.empty());
        RC_ASSERT(without_ids(walk.end()) == normal(b));
        walk.check_steps();
        walk.check_minimal();
    }));
}

TEST(DiffProperty, NothingToDoIsAnEmptyPlan)
{
    EXPECT_TRUE(rc::check("diff(a, a) is empty", [] {
        const auto a = any_state();
        const auto actual = built(a);
        RC_ASSERT(without_ids(actual) == normal(a));
        RC_ASSERT(diff(a, actual, roomy()).empty());
        auto full = roomy();
        full.max_leaves = leaf_count(a.tree);
        full.max_elements = static_cast<std::uint32_t>(a.tree.size());
        RC_ASSERT(diff(a, actual, full).empty());
    }));
}

TEST(DiffProperty, ANearlyFullDeviceIsNeverOverfilledAndGetsThere)
{
    EXPECT_TRUE(rc::check("near full", [] {
        const auto a = any_state();
        const auto b = any_state();
        const Walk walk(b, built(a), tight(a, b, number<std::uint32_t>(0, 3)));
        RC_ASSERT(walk.plan().unreachable.empty());
        RC_ASSERT(without_ids(walk.end()) == normal(b));
        walk.check_steps();
        walk.check_minimal();
        RC_ASSERT(diff(b, walk.end(), tight(a, b, 0)).empty());
    }));
}

TEST(DiffProperty, AFullDeviceIsTurnedOver)
{
    EXPECT_TRUE(rc::check("full", [] {
        const auto leaves = number<std::uint32_t>(2, 7);
        const auto a = any_crowded_state(leaves);
        const auto b = any_crowded_state(leaves - number<std::uint32_t>(0, 2));
        const auto capabilities = tight(a, b, number<std::uint32_t>(0, 2));
        const Walk walk(b, built(a), capabilities);
        RC_ASSERT(walk.plan().unreachable.empty());
        RC_ASSERT(without_ids(walk.end()) == b);
        walk.check_steps();
        walk.check_minimal();
    }));
}

TEST(DiffProperty, ADeviceThatIsTooSmallKeepsItsQueuePairs)
{
    EXPECT_TRUE(rc::check("too small", [] {
        const bool crowded = one_in(2);
        const auto a = crowded ? any_crowded_state(4) : any_state();
        const auto b = crowded ? any_crowded_state(6) : any_state();
        auto capabilities = connectx6();
        capabilities.max_leaves = number<std::uint32_t>(0, 6);
        capabilities.max_elements = number<std::uint32_t>(0, 10);
        const Walk walk(b, built(a), capabilities);
        walk.check_steps();
        // What is out of reach now is so the next time, and nothing else is done again.
        const auto again = diff(b, walk.end(), capabilities);
        RC_ASSERT(again.operations.empty());
        RC_ASSERT(again.unreachable.size() == walk.plan().unreachable.size());
    }));
}

TEST(DiffProperty, AFaultAtAnyStepConverges)
{
    EXPECT_TRUE(rc::check("fault, then retry", [] {
        const bool crowded = one_in(2);
        const auto a = crowded ? any_crowded_state(5) : any_state();
        const auto b = crowded ? any_crowded_state(5) : any_state();
        const auto c = any_state();
        const auto capabilities = one_in(2) ? roomy() : tight(a, b, one_in(2) ? 0 : 1);
        ActualState state = built(a);
        const auto first = diff(b, state, capabilities);
        const auto step = number<std::size_t>(0, first.operations.size() + 1);
        for (std::size_t i = 0; i < step; ++i) {
            apply(first.operations[i], state);
        }
        const Walk retry(b, state, capabilities);
        retry.check_steps();
        RC_ASSERT(retry.plan().unreachable.empty());
        RC_ASSERT(without_ids(retry.end()) == normal(b));
        // And with another policy in between.
        const Walk other(c, state, roomy());
        RC_ASSERT(without_ids(other.end()) == normal(c));
    }));
}

TEST(DiffProperty, DrainingEverythingLeavesNothing)
{
    EXPECT_TRUE(rc::check("drain", [] {
        const auto a = any_state();
        const Walk walk({}, built(a), connectx6());
        RC_ASSERT(walk.end().elements.empty());
        RC_ASSERT(walk.end().queue_pairs.empty());
    }));
}

}    // namespace
}    // namespace rdmaqos::test
