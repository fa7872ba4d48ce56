#include "daemon/device/placement.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace rdmaqos {
namespace {

Capabilities small_device(std::uint32_t leaves)
{
    Capabilities capabilities;
    capabilities.scheduling = capabilities.shares = capabilities.rate_caps = capabilities.responder_leaf = true;
    capabilities.max_depth = 4;
    capabilities.max_leaves = leaves;
    capabilities.max_elements = 8192;
    capabilities.max_share = 100;
    capabilities.attachable = {QueuePairType::Rc, QueuePairType::Uc, QueuePairType::Ud, QueuePairType::RawPacket};
    capabilities.pacing.supported_types = {QueuePairType::RawPacket};
    return capabilities;
}

ScheduleSpec one_class(FairBy fair_by, bool capped = false)
{
    ScheduleSpec spec;
    SpecElement element;
    element.path = ElementPath("/rpc");
    element.is_class = true;
    element.fair_by = fair_by;
    spec.tree.elements.push_back(element);
    if (capped) {
        spec.capped_classes.insert(element.path);
    }
    return spec;
}

Member member(std::uint32_t number, pid_t pid, FairBy fair_by, QueuePairType type = QueuePairType::Rc)
{
    Member result;
    result.ref.number = number;
    result.ref.type = type;
    auto owner = std::make_shared<Identity>();
    owner->pid = pid;
    result.owner = owner;
    result.membership.level = "rpc";
    result.membership.class_path = ElementPath("/rpc");
    result.membership.fair_by = fair_by;
    return result;
}

PlacementBook book_with(std::uint32_t leaves, ScheduleSpec spec)
{
    PlacementBook book(small_device(leaves), Bandwidth::from_gbps(100));
    book.set_spec(std::move(spec));
    static_cast<void>(book.update());
    return book;
}

TEST(PlacementBook, AMemberThatIsAddedAgainKeepsItsOrderAndTheRateItAskedFor)
{
    auto book = book_with(8, one_class(FairBy::Process));
    book.add(member(1, 100, FairBy::Process, QueuePairType::RawPacket));
    book.add(member(2, 200, FairBy::Process));
    const RateLimit slow{Bandwidth::from_mbps(100), {}, {}};
    book.change(1, book.find(1)->membership, slow);
    static_cast<void>(book.update());
    const auto before = book.desired();

    book.add(member(1, 100, FairBy::Process, QueuePairType::RawPacket));
    const auto changes = book.update();
    EXPECT_FALSE(changes.tree);
    EXPECT_TRUE(changes.placements.empty());
    EXPECT_EQ(book.desired(), before);
    EXPECT_EQ(book.members_in_order(), (std::vector<std::uint32_t>{1, 2}));
    EXPECT_EQ(book.placement(1).rate, slow);

    auto reused = member(1, 300, FairBy::Process, QueuePairType::RawPacket);
    reused.ref.handle = 7;
    book.add(reused);
    EXPECT_TRUE(book.update().tree) << "the leaf of the process it was of goes";
    EXPECT_EQ(book.placement(1).requester, ElementPath("/rpc/pid:300"));
    EXPECT_EQ(book.placement(1).rate, std::nullopt);
    EXPECT_FALSE(book.compiled().tree.contains(ElementPath("/rpc/pid:100")));
}

TEST(PlacementBook, AClassWithoutFairnessIsOneLeaf)
{
    auto book = book_with(8, one_class(FairBy::None));
    book.add(member(1, 100, FairBy::None));
    book.add(member(2, 200, FairBy::None, QueuePairType::Ud));
    const auto changes = book.update();
    EXPECT_FALSE(changes.tree) << "nobody needs a leaf of their own";
    EXPECT_EQ(book.placement(1).requester.text(), "/rpc");
    EXPECT_EQ(book.placement(1).responder.text(), "/rpc") << "what an RC queue pair answers belongs to the class";
    EXPECT_EQ(book.placement(2).responder.text(), "") << "only RC has a responder";
}

TEST(PlacementBook, FairByProcessGivesEachProcessALeafUntilNoneIsLeft)
{
    auto book = book_with(3, one_class(FairBy::Process));    // others + two processes
    for (std::uint32_t i = 1; i <= 4; ++i) {
        book.add(member(i, static_cast<pid_t>(100 + i), FairBy::Process));
    }
    EXPECT_TRUE(book.update().tree);
    EXPECT_EQ(book.placement(1).requester.text(), "/rpc/pid:101");
    EXPECT_EQ(book.placement(2).requester.text(), "/rpc/pid:102");
    EXPECT_EQ(book.placement(3).requester.text(), "/rpc/others");
    EXPECT_EQ(book.placement(4).requester.text(), "/rpc/others");
    EXPECT_EQ(book.principals_in_others(ElementPath("/rpc")), 2U);

    // The first to come among `others` moves up when a leaf becomes free.
    book.remove(1);
    const auto changes = book.update();
    EXPECT_TRUE(changes.tree);
    ASSERT_EQ(changes.placements.size(), 1U);
    EXPECT_EQ(changes.placements.at(QueuePairId{3}).requester.text(), "/rpc/pid:103");
}

TEST(PlacementBook, ASecondQueuePairOfAProcessCostsNoTree)
{
    auto book = book_with(8, one_class(FairBy::Process));
    book.add(member(1, 100, FairBy::Process));
    static_cast<void>(book.update());
    book.add(member(2, 100, FairBy::Process));
    const auto changes = book.update();
    EXPECT_FALSE(changes.tree);
    EXPECT_EQ(changes.placements.size(), 1U);
}

TEST(PlacementBook, AQueuePairThatCannotBePacedIsCappedByALeafOfItsOwn)
{
    auto book = book_with(8, one_class(FairBy::Process, true));
    auto capped = member(17, 100, FairBy::Process);
    capped.membership.per_queue_pair.max_rate = Bandwidth::from_gbps(5);
    auto raw = member(18, 100, FairBy::Process, QueuePairType::RawPacket);
    raw.membership.per_queue_pair = capped.membership.per_queue_pair;
    book.add(capped);
    book.add(raw);
    static_cast<void>(book.update());
    EXPECT_EQ(book.placement(17).requester.text(), "/rpc/pid:100/qp:17");
    EXPECT_EQ(book.compiled().tree.at(ElementPath("/rpc/pid:100/qp:17")).attributes.max_rate, Bandwidth::from_gbps(5));
    EXPECT_FALSE(book.placement(17).rate);
    EXPECT_EQ(book.placement(18).requester.text(), "/rpc/pid:100/paced");
    EXPECT_EQ(book.placement(18).rate->rate, Bandwidth::from_gbps(5));
    EXPECT_EQ(book.shortfall(17), "");
    EXPECT_EQ(book.shortfall(18), "");
}

TEST(PlacementBook, ACapWithoutALeafLeftIsSaid)
{
    auto book = book_with(2, one_class(FairBy::None, true));    // others + one
    for (const std::uint32_t number : {1U, 2U}) {
        auto capped = member(number, 100, FairBy::None);
        capped.membership.per_queue_pair.max_rate = Bandwidth::from_gbps(5);
        book.add(capped);
    }
    static_cast<void>(book.update());
    EXPECT_EQ(book.shortfall(1), "");
    EXPECT_NE(book.shortfall(2).find("no leaf is left"), std::string::npos) << book.shortfall(2);
}

TEST(PlacementBook, ARequestedRateLowersButNeverLifts)
{
    auto book = book_with(8, one_class(FairBy::QueuePair));
    auto queue_pair = member(5, 100, FairBy::QueuePair);
    queue_pair.membership.per_queue_pair.max_rate = Bandwidth::from_gbps(4);
    book.add(queue_pair);
    static_cast<void>(book.update());
    const ElementPath leaf("/rpc/qp:5");
    ASSERT_TRUE(book.can_set_rate(5, RateLimit{Bandwidth::from_gbps(1), {}, {}}));
    book.change(5, queue_pair.membership, RateLimit{Bandwidth::from_gbps(1), {}, {}});
    static_cast<void>(book.update());
    EXPECT_EQ(book.compiled().tree.at(leaf).attributes.max_rate, Bandwidth::from_gbps(1));
    book.change(5, queue_pair.membership, RateLimit{Bandwidth::from_gbps(9), {}, {}});
    static_cast<void>(book.update());
    EXPECT_EQ(book.compiled().tree.at(leaf).attributes.max_rate, Bandwidth::from_gbps(4));
    book.change(5, queue_pair.membership, std::nullopt);
    static_cast<void>(book.update());
    EXPECT_EQ(book.compiled().tree.at(leaf).attributes.max_rate, Bandwidth::from_gbps(4));
}

TEST(PlacementBook, AskingForARateKeepsTheLeafOnACrowdedDevice)
{
    auto book = book_with(2, one_class(FairBy::QueuePair));
    book.add(member(1, 100, FairBy::QueuePair));
    book.add(member(2, 100, FairBy::QueuePair));
    static_cast<void>(book.update());
    ASSERT_EQ(book.placement(1).requester.text(), "/rpc/qp:1");
    book.change(1, book.find(1)->membership, RateLimit{Bandwidth::from_gbps(1), {}, {}});
    static_cast<void>(book.update());
    EXPECT_EQ(book.placement(1).requester.text(), "/rpc/qp:1");
}

TEST(PlacementBook, MembersThatMoveOnKeepTheirPrincipalForOthers)
{
    auto book = book_with(8, one_class(FairBy::Process));
    book.add(member(1, 100, FairBy::Process));
    book.add(member(2, 100, FairBy::Process));
    auto elsewhere = book.find(1)->membership;
    elsewhere.fair_by = FairBy::QueuePair;
    book.change(1, elsewhere, std::nullopt);
    static_cast<void>(book.update());
    EXPECT_EQ(book.placement(1).requester.text(), "/rpc/qp:1");
    EXPECT_EQ(book.placement(2).requester.text(), "/rpc/pid:100");
}

TEST(PlacementBook, ALevelWithoutScheduleLeavesItsQueuePairsAlone)
{
    auto book = book_with(8, one_class(FairBy::None));
    auto outside = member(1, 100, FairBy::None);
    outside.membership.class_path = {};
    book.add(outside);
    static_cast<void>(book.update());
    EXPECT_TRUE(book.placement(1).requester.empty());
    EXPECT_FALSE(book.can_set_rate(1, RateLimit{Bandwidth::from_gbps(1), {}, {}}));
}

TEST(PlacementBook, TheNarrowestCapIncludesTheLink)
{
    auto spec = one_class(FairBy::None);
    spec.tree.elements[0].rate.max_rate = Bandwidth::from_gbps(40);
    auto book = book_with(8, spec);
    EXPECT_EQ(book.narrowest_cap(ElementPath("/rpc"), {}), Bandwidth::from_gbps(40));
    book.set_device({}, Bandwidth::from_gbps(10));
    static_cast<void>(book.update());
    EXPECT_EQ(book.narrowest_cap(ElementPath("/rpc"), {}), Bandwidth::from_gbps(10));
}

// A process is told of the class's cap before its first queue pair makes its leaf.
TEST(PlacementBook, ALeafThatIsNotThereYetIsBelowTheCapOfItsClass)
{
    auto spec = one_class(FairBy::Process);
    spec.tree.elements[0].rate.max_rate = Bandwidth::from_gbps(40);
    auto book = book_with(8, spec);
    const auto first = member(1, 100, FairBy::Process);
    const ElementPath leaf = book.expected_leaf(first.membership, *first.owner);
    EXPECT_EQ(leaf.text(), "/rpc/pid:100");
    EXPECT_EQ(book.narrowest_cap(leaf, {}), Bandwidth::from_gbps(40));
    book.add(first);
    static_cast<void>(book.update());
    EXPECT_EQ(book.narrowest_cap(leaf, {}), Bandwidth::from_gbps(40));
}

DeviceNames with_link(Bandwidth speed)
{
    return {"mlx5_0", 1, "", "", LinkLayer::Ethernet, speed};
}

TEST(PlacementBook, AClassForOtherDevicesIsNoneHere)
{
    PlacementBook book(small_device(8), Bandwidth::from_gbps(100), with_link(Bandwidth::from_gbps(100)));
    ScheduleSpec spec = one_class(FairBy::Process);
    spec.devices[ElementPath("/rpc")] = {DeviceSelector{"mlx5_1", "", "", {}, {}}};
    book.set_spec(spec);
    book.add(member(1, 100, FairBy::Process));
    static_cast<void>(book.update());
    EXPECT_TRUE(book.compiled().tree.empty());
    EXPECT_TRUE(book.placement(1).requester.empty());
    EXPECT_TRUE(book.class_here(book.find(1)->membership).empty());
    EXPECT_EQ(book.processes(ElementPath::root()), 0U) << "nobody competes";

    spec.devices[ElementPath("/rpc")] = {DeviceSelector{"mlx5_0", "", "", {}, {}}};
    book.set_spec(spec);
    static_cast<void>(book.update());
    EXPECT_EQ(book.placement(1).requester.text(), "/rpc/pid:100");
    EXPECT_EQ(book.processes(ElementPath::root()), 1U);
}

TEST(PlacementBook, ALinkThatGoesDownKeepsItsClasses)
{
    PlacementBook book(small_device(8), Bandwidth::from_gbps(400), with_link(Bandwidth::from_gbps(400)));
    ScheduleSpec spec = one_class(FairBy::None);
    spec.devices[ElementPath("/rpc")] = {DeviceSelector{"", "", "", {}, parse_speed_condition(">=200Gbps")}};
    spec.tree.elements[0].rate.max_part = Percentage::from_hundredths(2500);
    book.set_spec(spec);
    static_cast<void>(book.update());
    const auto cap = [&] { return book.compiled().tree.at(ElementPath("/rpc")).attributes.max_rate; };
    EXPECT_EQ(cap(), Bandwidth::from_gbps(100));
    book.set_device(with_link(Bandwidth{}), Bandwidth{});
    static_cast<void>(book.update());
    EXPECT_EQ(cap(), Bandwidth::from_gbps(100)) << "down: what was known of it counts";
    book.set_device(with_link(Bandwidth::from_gbps(200)), Bandwidth::from_gbps(200));
    EXPECT_TRUE(book.update().tree);
    EXPECT_EQ(cap(), Bandwidth::from_gbps(50)) << "a part of the link, which is slower now";
    book.set_device(with_link(Bandwidth::from_gbps(100)), Bandwidth::from_gbps(100));
    static_cast<void>(book.update());
    EXPECT_TRUE(book.compiled().tree.empty()) << "too slow for the class";
}

TEST(PlacementBook, AProcessThatComesOrGoesIsAStepHoweverManyThereAre)
{
    auto book = book_with(256, one_class(FairBy::Process));
    const auto before = book.work().compilations;
    constexpr std::uint32_t kMany = 1000;    // most of them share `others`
    for (std::uint32_t number = 1; number <= kMany; ++number) {
        book.add(member(number, static_cast<pid_t>(number), FairBy::Process));
        const auto changes = book.update();
        ASSERT_TRUE(changes.elements.has_value());
        EXPECT_LE(changes.elements->size(), 1U);
        EXPECT_EQ(changes.placements.size(), 1U);
    }
    EXPECT_GT(book.principals_in_others(ElementPath("/rpc")), 700U);
    book.remove(1);
    const auto changes = book.update();
    EXPECT_EQ(changes.elements->size(), 2U) << "the leaf of the first, and one for the first that waited";
    EXPECT_EQ(changes.placements.size(), 1U);
    EXPECT_EQ(book.work().compilations, before);
    EXPECT_EQ(book.work().steps, kMany + 1U);
}

// Registers, releases, reloads and losses in any order: a book that has followed them all, and one that is given their
// outcome at once, want the same.
TEST(PlacementBook, FollowingEqualsStartingAgain)
{
    EXPECT_TRUE(rc::check("sequences", [] {
        const auto leaves = *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::uint32_t>(2, 12));
        const auto pick = [](std::uint32_t below) {
            return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::uint32_t>(0, below));
        };
        auto book = book_with(leaves, one_class(FairBy::Process));
        auto fair_by = FairBy::Process;
        Tree followed = book.compiled().tree;
        for (int step = 0; step < 30; ++step) {
            const std::uint32_t number = 1 + pick(16);
            const std::uint32_t what = pick(20);
            if (what == 0) {    // a reload
                fair_by = pick(2) == 0 ? FairBy::Process : FairBy::QueuePair;
                book.set_spec(one_class(fair_by, pick(3) == 0));
                for (const auto present : book.members_in_order()) {
                    Membership membership = book.find(present)->membership;
                    membership.fair_by = fair_by;
                    book.change(present, membership, std::nullopt);
                }
            } else if (what == 1) {    // a reset of the device
                book.clear();
            } else if (what < 8) {
                book.remove(number);
            } else if (what == 8 && book.find(number) != nullptr) {
                book.change(number, book.find(number)->membership, RateLimit{Bandwidth::from_mbps(100), {}, {}});
            } else {
                book.add(member(number, static_cast<pid_t>(100 + pick(12)), fair_by));
            }
            const auto changes = book.update();
            if (changes.elements) {
                for (const auto& [path, element] : *changes.elements) {
                    if (element) {
                        followed.insert_or_assign(path, *element);
                    } else {
                        followed.erase(path);
                    }
                }
            } else if (changes.tree) {
                followed = book.compiled().tree;
            }
            RC_ASSERT(followed == book.compiled().tree);

            // Principals are in the order of their own arrival, which is not that of their members: by a whole
            // compilation of the same book.
            const DesiredState desired = book.desired();
            const auto findings = book.compiled().findings;
            book.set_device({}, Bandwidth::from_gbps(50));
            book.set_device({}, Bandwidth::from_gbps(100));
            const auto again = book.update();
            RC_ASSERT(!again.elements.has_value());
            RC_ASSERT(!again.tree);
            RC_ASSERT(again.placements.empty());
            RC_ASSERT(book.desired() == desired);
            RC_ASSERT(book.compiled().findings == findings);
        }
    }));
}

}    // namespace
}    // namespace rdmaqos
