#include "lib/model/firmware.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lib/model/profile.h"
#include "tests/support/firmware_driver.h"

namespace rdmaqos {
namespace {

class RefusalTest : public testing::TestWithParam<test::RefusalRow> {};

TEST_P(RefusalTest, OnTheFirmware)
{
    test::FirmwareDriver driver(GetParam().capabilities);
    test::run_row(GetParam(), driver);
}

INSTANTIATE_TEST_SUITE_P(Table, RefusalTest, testing::ValuesIn(test::refusal_table()), test::row_name);

ObjectId make(Firmware& firmware, ElementKind kind, std::optional<ObjectId> parent, ContextId context = kHostContext)
{
    CreateCommand command;
    command.context = context;
    command.kind = kind;
    command.parent = parent;
    const auto id = firmware.create(command);
    EXPECT_TRUE(id) << id.error().message;
    return id.value_or(kNoObject);
}

template <typename T>
void expect_refused(const Answer<T>& answer, RefusalReason reason)
{
    ASSERT_FALSE(answer);
    EXPECT_EQ(to_string(answer.error().reason), to_string(reason)) << answer.error().message;
}

AttachCommand attach_to(std::uint32_t number, ObjectId requester, ContextId context = kHostContext)
{
    return {context, number, QueuePairType::Rc, requester, kNoObject};
}

TEST(Firmware, DefaultProfileHolds256Leaves)
{
    Firmware firmware(default_capabilities());
    const ObjectId root = make(firmware, ElementKind::Node, {});
    for (int leaf = 0; leaf < 256; ++leaf) {
        make(firmware, ElementKind::Leaf, root);
    }
    CreateCommand command;
    command.kind = ElementKind::Leaf;
    command.parent = root;
    const auto refused = firmware.create(command);
    expect_refused(refused, RefusalReason::TooManyLeaves);
    EXPECT_EQ(refused.error().message, "256 of the device's 256 leaves are in use; let queue pairs share leaves");
    EXPECT_EQ(firmware.usage(), (FirmwareUsage{257, 256, 0, 0}));
}

TEST(Firmware, DefaultProfileHolds8192Elements)
{
    Firmware firmware(default_capabilities());
    const ObjectId root = make(firmware, ElementKind::Node, {});
    for (int node = 1; node < 8192; ++node) {
        make(firmware, ElementKind::Node, root);
    }
    CreateCommand command;
    command.parent = root;
    expect_refused(firmware.create(command), RefusalReason::TooManyElements);
}

TEST(Firmware, DefaultProfilePaces127Rates)
{
    Firmware firmware(default_capabilities());
    const auto pace = [&](std::uint32_t number) {
        return firmware.set_rate(
            {kHostContext, number, QueuePairType::RawPacket, RateLimit{Bandwidth::from_mbps(number), {}, {}}});
    };
    for (std::uint32_t number = 1; number <= 127; ++number) {
        ASSERT_TRUE(pace(number)) << number;
    }
    expect_refused(pace(128), RefusalReason::PacingTableFull);
    EXPECT_EQ(firmware.usage().pacing_entries, 127U);
    EXPECT_FALSE(firmware.queue_pair(128));    // a refused command leaves no queue pair behind
}

TEST(Firmware, ObjectIdsAreNotReused)
{
    Firmware firmware(default_capabilities());
    std::set<ObjectId> seen;
    for (int round = 0; round < 1000; ++round) {
        const ObjectId root = make(firmware, ElementKind::Node, {});
        EXPECT_TRUE(seen.insert(root).second);
        ASSERT_TRUE(firmware.destroy(kHostContext, root));
        if (round % 100 == 0) {
            firmware.reset();
            firmware.replug();
        }
    }
}

TEST(Firmware, QueryTellsPlaceAndContent)
{
    Firmware firmware(default_capabilities());
    const ObjectId root = make(firmware, ElementKind::Node, {});
    const ObjectId leaf = make(firmware, ElementKind::Leaf, root);
    ASSERT_TRUE(firmware.attach({kHostContext, 1, QueuePairType::Rc, leaf, leaf}));
    const auto record = firmware.query(kHostContext, leaf);
    ASSERT_TRUE(record);
    EXPECT_EQ(*record, (ElementRecord{leaf, kHostContext, ElementKind::Leaf, root, 0, 0, 2, 0, 2}));
    EXPECT_EQ(firmware.query(kHostContext, root)->children, 1U);
}

TEST(Firmware, RefusedCommandChangesNothing)
{
    Firmware firmware(default_capabilities());
    const ObjectId root = make(firmware, ElementKind::Node, {});
    const ObjectId leaf = make(firmware, ElementKind::Leaf, root);
    const ObjectId other = make(firmware, ElementKind::Leaf, root);
    ASSERT_TRUE(firmware.attach(attach_to(1, leaf)));
    const auto elements = firmware.elements();
    const auto queue_pairs = firmware.queue_pairs();
    expect_refused(firmware.modify(kHostContext, leaf, {kSchedulingShare | kSchedulingMaxRate, 101, 500}),
                   RefusalReason::ShareOutOfRange);
    expect_refused(firmware.modify(kHostContext, leaf, {kSchedulingShare | 8, 50, 0}), RefusalReason::UnknownFlags);
    expect_refused(firmware.attach({kHostContext, 1, QueuePairType::Rc, other, root}), RefusalReason::NotALeaf);
    expect_refused(firmware.attach(attach_to(2, root)), RefusalReason::NotALeaf);
    expect_refused(firmware.destroy(kHostContext, leaf), RefusalReason::HasQueuePairs);
    EXPECT_EQ(firmware.elements(), elements);
    EXPECT_EQ(firmware.queue_pairs(), queue_pairs);
}

TEST(Firmware, ImplicitQueuePairLivesWhileItIsUsed)
{
    Firmware firmware(default_capabilities());
    const ObjectId root = make(firmware, ElementKind::Node, {});
    const ObjectId leaf = make(firmware, ElementKind::Leaf, root);
    EXPECT_EQ(firmware.query_queue_pair(9).value(), QueuePairState::Rts);
    ASSERT_TRUE(firmware.attach(attach_to(9, leaf)));
    EXPECT_TRUE(firmware.queue_pair(9).value().implicit);
    EXPECT_EQ(firmware.queue_pair(9)->requester, leaf);
    ASSERT_TRUE(firmware.attach(attach_to(9, kNoObject)));
    EXPECT_FALSE(firmware.queue_pair(9));
    EXPECT_TRUE(firmware.queue_pairs().empty());
}

TEST(Firmware, CreatedQueuePairStaysWhenDetached)
{
    Firmware firmware(default_capabilities());
    const ObjectId leaf = make(firmware, ElementKind::Leaf, make(firmware, ElementKind::Node, {}));
    firmware.create_queue_pair(9, QueuePairType::Rc, QueuePairState::Init);
    ASSERT_TRUE(firmware.attach(attach_to(9, leaf)));
    ASSERT_TRUE(firmware.attach(attach_to(9, kNoObject)));
    EXPECT_EQ(firmware.queue_pair(9).value().state, QueuePairState::Init);
}

TEST(Firmware, StateChangesDropRateAndLeaf)
{
    struct Row {
        QueuePairState state;
        bool keeps_rate;
        bool keeps_leaf;
    };
    for (const Row row : {Row{QueuePairState::Reset, false, false}, Row{QueuePairState::Error, false, true},
                          Row{QueuePairState::Sqd, true, true}}) {
        SCOPED_TRACE(to_string(row.state));
        Firmware firmware(default_capabilities());
        const ObjectId leaf = make(firmware, ElementKind::Leaf, make(firmware, ElementKind::Node, {}));
        firmware.create_queue_pair(5, QueuePairType::RawPacket, QueuePairState::Rts);
        ASSERT_TRUE(firmware.attach({kHostContext, 5, QueuePairType::RawPacket, leaf, kNoObject}));
        ASSERT_TRUE(firmware.set_rate(
            {kHostContext, 5, QueuePairType::RawPacket, RateLimit{Bandwidth::from_mbps(10), {}, {}}}));
        firmware.set_queue_pair_state(5, row.state);
        EXPECT_EQ(firmware.queue_pair(5)->rate.has_value(), row.keeps_rate);
        EXPECT_EQ(firmware.usage().pacing_entries, row.keeps_rate ? 1U : 0U);
        EXPECT_EQ(firmware.queue_pair(5)->requester, row.keeps_leaf ? leaf : kNoObject);
        EXPECT_EQ(firmware.query(kHostContext, leaf)->queue_pairs, row.keeps_leaf ? 1U : 0U);
    }
}

TEST(Firmware, LeafMayLetGoOfQueuePairs)
{
    FirmwareOptions options;
    options.capabilities = default_capabilities();
    options.refuse_busy_leaf = false;
    Firmware firmware(options);
    const ObjectId leaf = make(firmware, ElementKind::Leaf, make(firmware, ElementKind::Node, {}));
    firmware.create_queue_pair(1, QueuePairType::Rc, QueuePairState::Rts);
    ASSERT_TRUE(firmware.attach(attach_to(1, leaf)));
    ASSERT_TRUE(firmware.destroy(kHostContext, leaf));
    EXPECT_EQ(firmware.queue_pair(1)->requester, kNoObject);
}

TEST(Firmware, ContextsKeepTheirElementsApart)
{
    Firmware firmware(default_capabilities());
    const ContextId mine = firmware.open_context().value();
    const ContextId yours = firmware.open_context().value();
    const ObjectId root = make(firmware, ElementKind::Node, {}, mine);
    make(firmware, ElementKind::Node, {}, yours);    // each has a root of its own
    expect_refused(firmware.modify(yours, root, {}), RefusalReason::ForeignElement);
    expect_refused(firmware.query(yours, root), RefusalReason::ForeignElement);
    expect_refused(firmware.destroy(yours, root), RefusalReason::ForeignElement);
}

TEST(Firmware, KeepsContextsApartAsItIsTold)
{
    struct Case {
        Isolation isolation;
        ElementForm form;
        bool attaches;
        bool may_be_below;
    };
    for (const auto& [isolation, form, attaches, may_be_below] : {
             Case{Isolation::None, ElementForm::Object, true, true},
             Case{Isolation::None, ElementForm::Legacy, true, true},
             Case{Isolation::All, ElementForm::Object, false, false},
             Case{Isolation::All, ElementForm::Legacy, false, false},
             Case{Isolation::Objects, ElementForm::Object, false, false},
             Case{Isolation::Objects, ElementForm::Legacy, true, true},
             Case{Isolation::Attach, ElementForm::Object, false, true},
             Case{Isolation::Attach, ElementForm::Legacy, false, true},
         }) {
        SCOPED_TRACE(fmt::format("{} {}", to_string(isolation), form == ElementForm::Legacy ? "legacy" : "object"));
        FirmwareOptions options;
        options.capabilities = default_capabilities();
        options.isolation = isolation;
        Firmware firmware(options);
        const ContextId daemon = firmware.open_context().value();
        const ContextId client = firmware.open_context().value();
        const auto create = [&, form = form](ContextId context, ElementKind kind, std::optional<ObjectId> parent) {
            return firmware.create({context, kind, parent, {}, form});
        };
        const ObjectId root = create(daemon, ElementKind::Node, {}).value();
        const ObjectId leaf = create(daemon, ElementKind::Leaf, root).value();
        const auto attached = firmware.attach(attach_to(1, leaf, client));
        const auto below = create(client, ElementKind::Leaf, root);
        EXPECT_EQ(attached.has_value(), attaches);
        EXPECT_EQ(below.has_value(), may_be_below);
        if (!attaches) {
            expect_refused(attached, RefusalReason::ForeignElement);
        }
        if (below) {
            EXPECT_TRUE(firmware.attach(attach_to(2, *below, client))) << "its own";
        } else {
            expect_refused(below, RefusalReason::ForeignElement);
        }
    }
}

TEST(Firmware, AnElementAnswersOnlyTheKindOfCommandThatMadeIt)
{
    Firmware firmware(default_capabilities());
    const ObjectId root = firmware.create({kHostContext, ElementKind::Node, {}, {}, ElementForm::Legacy}).value();
    expect_refused(firmware.query(kHostContext, root), RefusalReason::NoSuchElement);
    expect_refused(firmware.modify(kHostContext, root, {}), RefusalReason::NoSuchElement);
    expect_refused(firmware.destroy(kHostContext, root), RefusalReason::NoSuchElement);
    EXPECT_TRUE(firmware.query(kHostContext, root, ElementForm::Legacy));
    EXPECT_TRUE(firmware.destroy(kHostContext, root, ElementForm::Legacy));
}

TEST(Firmware, ClosingAContextDestroysWhatItOwns)
{
    Firmware firmware(default_capabilities());
    const ContextId context = firmware.open_context().value();
    const ObjectId root = make(firmware, ElementKind::Node, {}, context);
    const ObjectId leaf = make(firmware, ElementKind::Leaf, make(firmware, ElementKind::Node, root, context), context);
    firmware.create_queue_pair(1, QueuePairType::Rc, QueuePairState::Rts, context);
    ASSERT_TRUE(firmware.attach(attach_to(1, leaf, context)));
    EXPECT_EQ(firmware.close_context(context), 0U);
    EXPECT_EQ(firmware.usage(), FirmwareUsage{});
    expect_refused(firmware.query(context, leaf), RefusalReason::NoSuchContext);
}

TEST(Firmware, ClosingAContextLeaksWhatOthersUse)
{
    Firmware firmware(default_capabilities());
    const ContextId daemon = firmware.open_context().value();
    const ContextId client = firmware.open_context().value();
    const ObjectId root = make(firmware, ElementKind::Node, {}, daemon);
    const ObjectId busy = make(firmware, ElementKind::Leaf, root, daemon);
    make(firmware, ElementKind::Leaf, root, daemon);
    ASSERT_TRUE(firmware.attach(attach_to(1, busy, client)));
    EXPECT_EQ(firmware.close_context(daemon), 2U);    // the leaf, and the root above it
    EXPECT_EQ(firmware.usage().elements, 2U);
    firmware.reset();
    firmware.replug();
    EXPECT_EQ(firmware.usage(), FirmwareUsage{});
}

TEST(Firmware, ResetLosesEverythingAndContextsForEver)
{
    Firmware firmware(default_capabilities());
    const ContextId context = firmware.open_context().value();
    const ObjectId root = make(firmware, ElementKind::Node, {}, context);
    ASSERT_TRUE(
        firmware.set_rate({kHostContext, 5, QueuePairType::RawPacket, RateLimit{Bandwidth::from_mbps(10), {}, {}}}));
    firmware.reset();
    EXPECT_EQ(firmware.presence(), DevicePresence::InReset);
    expect_refused(firmware.query(context, root), RefusalReason::DeviceGone);
    expect_refused(firmware.query_queue_pair(5), RefusalReason::DeviceGone);
    expect_refused(firmware.open_context(), RefusalReason::DeviceGone);
    firmware.replug();
    EXPECT_EQ(firmware.presence(), DevicePresence::Present);
    expect_refused(firmware.query(context, root), RefusalReason::NoSuchContext);
    expect_refused(firmware.query(kHostContext, root), RefusalReason::NoSuchElement);
    EXPECT_EQ(firmware.usage(), FirmwareUsage{});
    EXPECT_EQ(firmware.close_context(context), 0U);
}

// Nobody would ever destroy it.
TEST(Firmware, NoQueuePairIsMadeOfAContextThatIsNotOpen)
{
    Firmware firmware(default_capabilities());
    const ContextId context = firmware.open_context().value();
    firmware.reset();
    const auto make_one = [&] {
        return firmware.create_queue_pair(1, QueuePairType::Rc, QueuePairState::Rts, context);
    };
    expect_refused(make_one(), RefusalReason::DeviceGone);
    firmware.replug();
    expect_refused(make_one(), RefusalReason::NoSuchContext);
    EXPECT_TRUE(firmware.queue_pairs().empty());
}

TEST(Firmware, RemovedDeviceSaysSo)
{
    Firmware firmware(default_capabilities());
    firmware.remove();
    const auto answer = firmware.create({});
    expect_refused(answer, RefusalReason::DeviceGone);
    EXPECT_EQ(answer.error().message, "the device was removed");
    EXPECT_EQ(answer.error().sys_errno, EIO);
}

TEST(Firmware, DriftIsSilentAndFoundByQuery)
{
    Firmware firmware(default_capabilities());
    const ObjectId root = make(firmware, ElementKind::Node, {});
    const ObjectId leaf = make(firmware, ElementKind::Leaf, root);
    EXPECT_TRUE(firmware.drift(leaf, 42, 1000));
    EXPECT_EQ(firmware.query(kHostContext, leaf)->share, 42U);
    EXPECT_EQ(firmware.query(kHostContext, leaf)->max_rate_mbps, 1000U);
    EXPECT_FALSE(firmware.drift(ObjectId{99}, 1, 1));
    EXPECT_FALSE(firmware.lose(ObjectId{99}));
}

TEST(Firmware, LosingANodeLosesWhatIsBelow)
{
    Firmware firmware(default_capabilities());
    const ObjectId root = make(firmware, ElementKind::Node, {});
    const ObjectId node = make(firmware, ElementKind::Node, root);
    const ObjectId stays = make(firmware, ElementKind::Leaf, root);
    const ObjectId below = make(firmware, ElementKind::Node, node);
    const ObjectId leaf = make(firmware, ElementKind::Leaf, below);
    firmware.create_queue_pair(1, QueuePairType::Rc, QueuePairState::Rts);
    ASSERT_TRUE(firmware.attach({kHostContext, 1, QueuePairType::Rc, leaf, stays}));
    EXPECT_TRUE(firmware.lose(node));
    EXPECT_EQ(firmware.usage(), (FirmwareUsage{2, 1, 1, 0}));
    expect_refused(firmware.query(kHostContext, leaf), RefusalReason::NoSuchElement);
    EXPECT_EQ(firmware.queue_pair(1)->requester, kNoObject);
    EXPECT_EQ(firmware.queue_pair(1)->responder, stays);
    EXPECT_EQ(firmware.query(kHostContext, root)->children, 1U);
}

TEST(Firmware, AnyNumberOfRootsWhenAllowed)
{
    FirmwareOptions options;
    options.capabilities = default_capabilities();
    options.roots_per_context = 0;
    Firmware firmware(options);
    make(firmware, ElementKind::Node, {});
    make(firmware, ElementKind::Node, {});
    EXPECT_EQ(firmware.elements().size(), 2U);
}

// Whoever follows the changes knows as much as who looks at everything, and nobody is told of what stays.
class FollowedFirmware : public testing::Test {
protected:
    // How many queue pairs are told, of those that there are.
    std::size_t follow()
    {
        const FirmwareChanges changes = firmware.take_changes();
        elements_were_told = changes.elements.has_value();
        elements = changes.elements.value_or(elements);
        std::erase_if(known, [&](const auto& entry) { return !firmware.queue_pair(entry.first); });
        for (const auto& each : changes.queue_pairs) {
            known.insert_or_assign(each.number, each);
        }
        EXPECT_EQ(firmware.queue_pairs().size(), known.size());
        for (const auto& each : firmware.queue_pairs()) {
            EXPECT_EQ(known[each.number], each) << each.number;
        }
        for (const auto& each : firmware.elements()) {
            const auto same = std::ranges::find(elements, each.id, &ElementRecord::id);
            EXPECT_TRUE(same != elements.end() && same->share == each.share && same->parent == each.parent &&
                        same->max_rate_mbps == each.max_rate_mbps);
        }
        return changes.queue_pairs.size();
    }

    Firmware firmware{default_capabilities()};
    bool elements_were_told = false;
    std::vector<ElementRecord> elements;
    std::map<std::uint32_t, QueuePairRecord> known;
};

TEST_F(FollowedFirmware, TellsWhatHasChanged)
{
    const ObjectId root = make(firmware, ElementKind::Node, {});
    const ObjectId leaf = make(firmware, ElementKind::Leaf, root);
    const ObjectId other = make(firmware, ElementKind::Leaf, root);
    for (std::uint32_t number = 1; number <= 10; ++number) {
        firmware.create_queue_pair(number, number == 6 ? QueuePairType::RawPacket : QueuePairType::Rc,
                                   QueuePairState::Rts);
    }
    EXPECT_EQ(follow(), 10U);
    EXPECT_TRUE(elements_were_told);
    EXPECT_EQ(follow(), 0U);
    EXPECT_FALSE(elements_were_told);

    ASSERT_TRUE(firmware.attach(attach_to(3, leaf)));
    ASSERT_TRUE(firmware.attach(attach_to(4, other)));
    firmware.set_queue_pair_state(5, QueuePairState::Error);
    ASSERT_TRUE(
        firmware.set_rate({kHostContext, 6, QueuePairType::RawPacket, RateLimit{Bandwidth::from_mbps(10), {}, {}}}));
    EXPECT_EQ(follow(), 4U);
    EXPECT_FALSE(elements_were_told) << "an attached queue pair is not a change of its leaf";

    ASSERT_TRUE(firmware.attach(attach_to(7, leaf)));
    firmware.destroy_queue_pair(7);
    firmware.set_queue_pair_state(6, QueuePairState::Reset);
    EXPECT_EQ(follow(), 1U);

    EXPECT_TRUE(firmware.drift(leaf, 42, 1000));
    EXPECT_EQ(follow(), 0U);
    EXPECT_TRUE(elements_were_told);

    EXPECT_TRUE(firmware.lose(leaf));
    EXPECT_GE(follow(), 1U) << "of the queue pair that was in it";
    EXPECT_TRUE(elements_were_told);

    ASSERT_TRUE(firmware.attach(attach_to(1000, other))) << "one that nobody has created";
    EXPECT_EQ(follow(), 1U);
    ASSERT_TRUE(firmware.attach(attach_to(1000, kNoObject)));
    EXPECT_EQ(follow(), 0U);

    firmware.reset();
    EXPECT_EQ(follow(), 0U);
    EXPECT_TRUE(elements_were_told);
}

TEST(Firmware, ThreadsDoNotDisturbEachOther)
{
    Firmware firmware(default_capabilities());
    const ObjectId root = make(firmware, ElementKind::Node, {});
    std::atomic<int> failures{0};
    std::vector<std::thread> threads;
    for (std::uint32_t thread = 0; thread < 4; ++thread) {
        threads.emplace_back([&, thread] {
            for (std::uint32_t round = 0; round < 200; ++round) {
                CreateCommand command;
                command.kind = ElementKind::Leaf;
                command.parent = root;
                const auto leaf = firmware.create(command);
                const std::uint32_t number = thread * 1000 + round;
                const bool worked = leaf && firmware.attach(attach_to(number, *leaf)) &&
                                    firmware.attach(attach_to(number, kNoObject)) &&
                                    firmware.destroy(kHostContext, *leaf);
                failures += worked ? 0 : 1;
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(failures, 0);
    EXPECT_EQ(firmware.usage(), (FirmwareUsage{1, 0, 0, 0}));
}

TEST(Firmware, EveryReasonHasANameOfItsOwn)
{
    std::set<std::string_view> names;
    for (int reason = 0; reason <= static_cast<int>(RefusalReason::Injected); ++reason) {
        const auto value = static_cast<RefusalReason>(reason);
        EXPECT_TRUE(names.insert(to_string(value)).second) << to_string(value);
        EXPECT_NE(make_refusal(value, "").sys_errno, 0);
        EXPECT_NE(make_refusal(value, "").status, FirmwareStatus::Ok);
    }
}

}    // namespace
}    // namespace rdmaqos
