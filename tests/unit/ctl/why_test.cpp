#include "tools/rdma-qosctl/world/why.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "lib/base/text.h"
#include "tests/support/golden.h"
#include "tests/unit/ctl/sample.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/rendering/why.h"

namespace rdmaqos::ctl {
namespace {

using rdmaqos::test::expect_golden;
using testing::HasSubstr;

// The sample with one session that has one queue pair in this leaf.
WhyReport report_of(World world, const std::string& level, const std::string& leaf,
                    std::vector<api::QueuePair> queue_pairs)
{
    SessionView& session = world.sessions.front();
    session.level = level;
    session.queue_pairs = std::move(queue_pairs);
    WhyReport report;
    report.target = "4711";
    report.sessions = {explain_session(world, session)};
    EXPECT_EQ(report.sessions[0].leaves.size(), 1U);
    EXPECT_EQ(report.sessions[0].leaves[0].leaf, leaf);
    return report;
}

api::QueuePair queue_pair(std::uint32_t number, const std::string& level, const std::string& leaf)
{
    return {.device = "mlx5_0/1", .number = number, .level = level, .leaf = leaf, .enforced = true};
}

// All queue pairs in the leaf of the sample's process.
std::vector<api::QueuePair> both()
{
    return {queue_pair(17, "rpc", "/tenants/rpc/pid:4711"), queue_pair(18, "rpc", "/tenants/rpc/pid:4711")};
}

api::TreeElement* find(World& world, const std::string& path)
{
    auto& tree = world.devices[0].tree;
    const auto found = std::find_if(tree.begin(), tree.end(),
                                    [&](const api::TreeElement& element) { return element.path == path; });
    return found == tree.end() ? nullptr : &*found;
}

void expect_texts(const std::string& name, const WhyReport& report)
{
    expect_golden("ctl/why-" + name + ".txt", render_why(report, Colour::Off));
    expect_golden("ctl/why-" + name + ".json", to_text(why_json(report)));
}

TEST(Why, TheDaemonsWordsAreShown)
{
    World world = test::sample_world();
    auto split = queue_pair(17, "rpc", "/tenants/rpc/pid:4711");
    split.reason = "class cap 40 Gbit/s split 10 ways";
    world.devices[0].attach_mode = "per-process";
    const auto report = report_of(world, "rpc", "/tenants/rpc/pid:4711", {split});
    EXPECT_THAT(render_why(report, Colour::Off), HasSubstr("\n  class cap 40 Gbit/s split 10 ways\n"));
    EXPECT_THAT(to_text(why_json(report)), HasSubstr("\"remark\": \"class cap 40 Gbit/s split 10 ways\""));
}

TEST(Why, CappedWhenNobodyElseSends)
{
    World world = test::sample_world();
    find(world, "/bulk")->queue_pairs = 0;
    auto report = report_of(world, "rpc", "/tenants/rpc/pid:4711", both());
    const WhyLeaf& leaf = report.sessions[0].leaves[0];
    EXPECT_EQ(leaf.narrowness, Narrowness::Capped);
    EXPECT_EQ(leaf.alone, Bandwidth::from_gbps(40));
    EXPECT_THAT(leaf.advice, HasSubstr("`max-rate` of level rpc"));
    report.ports = {{"mlx5_0/1", Bandwidth::from_gbps(100), Bandwidth::from_gbps(39), Bandwidth::from_mbps(200)}};
    ProgramRate counted;
    counted.session = report.sessions[0].session.id;
    counted.queue_pairs = 2;
    counted.sent = Bandwidth::from_mbps(38'500);
    counted.received = Bandwidth::from_mbps(150);
    report.ports[0].programs = {counted};
    expect_texts("capped", report);
}

// Every process has its own tree: what one gets is an assumption, and is said to be one.
// What is in no leaf competes with the whole tree: no figure of the tree holds against it.
TEST(Why, CrowdedByWhatIsOutsideTheTree)
{
    World world = test::sample_world();
    find(world, "/bulk")->queue_pairs = 0;
    SessionView& session = world.sessions.front();
    session.queue_pairs = both();
    const auto without = explain_session(world, session).leaves.at(0);
    ASSERT_EQ(without.narrowness, Narrowness::Capped);
    EXPECT_THAT(without.verdict, HasSubstr("nobody else takes from it"));
    world.devices[0].queue_pairs_outside = 32;
    const std::vector<api::HostQueuePair> others(
        32, {.device = "mlx5_0/1", .pid = 815, .command = "ib_write_bw", .outside = "unregistered"});
    WhyReport report;
    report.target = "4711";
    report.sessions = {explain_session(world, session, others)};
    const auto& leaf = report.sessions[0].leaves.at(0);
    EXPECT_EQ(leaf.narrowness, Narrowness::Crowded);
    EXPECT_THAT(leaf.verdict, HasSubstr("32 queue pairs outside the tree (32 of ib_write_bw, pid 815)"));
    EXPECT_THAT(leaf.verdict, testing::Not(HasSubstr("nobody else")));
    EXPECT_THAT(leaf.advice, HasSubstr("`rdma-qosctl qps --outside`"));
    EXPECT_THAT(leaf.advice, HasSubstr(without.advice));
    expect_texts("beside-outside", report);
    // Where the port sends little, nobody takes anything.
    judge_by_use(world, {{"mlx5_0/1", leaf.link_speed, Bandwidth::from_mbps(10), {}}}, report.sessions);
    EXPECT_THAT(report.sessions[0].leaves[0].verdict, HasSubstr("not crowded now"));
}

TEST(Why, CrowdedByProcessesWithTreesOfTheirOwn)
{
    World world = test::sample_world();
    world.devices[0].attach_mode = "per-process";
    find(world, "/tenants/rpc")->max_rate = Bandwidth::from_gbps(80);
    for (std::uint32_t pid = 5000; pid < 5003; ++pid) {
        SessionView other = world.sessions[0];
        other.id = pid;
        other.owner = {.pid = pid};
        other.queue_pairs = {queue_pair(pid, "bulk", "/bulk")};
        world.sessions.push_back(std::move(other));
    }
    find(world, "/bulk")->queue_pairs = 3;
    const auto report = report_of(world, "rpc", "/tenants/rpc/pid:4711", both());
    const WhyLeaf& leaf = report.sessions[0].leaves[0];
    EXPECT_EQ(leaf.alone, Bandwidth::from_gbps(80));
    EXPECT_EQ(leaf.own, Bandwidth::from_gbps(25)) << "the share of rpc takes nothing from the others";
    EXPECT_EQ(leaf.others_in_leaf, 0U);
    EXPECT_EQ(leaf.other_processes, 3U);
    expect_texts("per-process", report);
    world.devices[0].cap_mode = "adaptive";
    const auto adaptive = report_of(world, "rpc", "/tenants/rpc/pid:4711", both());
    EXPECT_EQ(adaptive.sessions[0].leaves[0].other_processes, 0U) << "with trees of their own";
    expect_texts("adaptive", adaptive);
    world.devices[0].cap_mode = "divide";
    world.sessions[0].queue_pairs = both();
    world.sessions.back().queue_pairs = {queue_pair(20, "rpc", "/tenants/rpc/pid:4711")};
    EXPECT_EQ(explain_session(world, world.sessions[0]).leaves[0].alone, Bandwidth::from_gbps(40))
        << "half of the cap of its class";
}

TEST(Why, CappedByASchedulingNode)
{
    World world = test::sample_world();
    find(world, "/bulk")->queue_pairs = 0;
    find(world, "/tenants/rpc")->max_rate.reset();
    const auto report = report_of(world, "rpc", "/tenants/rpc/pid:4711", both());
    EXPECT_THAT(report.sessions[0].leaves[0].advice, HasSubstr("`max-rate` of scheduling node tenants"));
}

TEST(Why, CrowdedByItsOwnClass)
{
    World world = test::sample_world();
    for (int pid = 1; pid <= 7; ++pid) {
        world.devices[0].tree.push_back(
            {"/tenants/rpc/pid:" + std::to_string(pid), "/tenants/rpc", ElementKind::Leaf, 1, std::nullopt, 3, false});
    }
    auto report = report_of(world, "rpc", "/tenants/rpc/pid:4711", both());
    const WhyLeaf& leaf = report.sessions[0].leaves[0];
    EXPECT_EQ(leaf.narrowness, Narrowness::Crowded);
    EXPECT_EQ(leaf.own, Bandwidth::from_gbps(5)) << "an eighth of 40 Gbit/s";
    EXPECT_THAT(leaf.advice, HasSubstr("the class itself is full"));
    // Alone it gets 40 Gbit/s: nobody can be full with less than that.
    report.ports = {{"mlx5_0/1", Bandwidth::from_gbps(100), Bandwidth::from_gbps(39), Bandwidth::from_gbps(1)}};
    judge_by_use(world, report.ports, report.sessions);
    EXPECT_EQ(leaf.narrowness, Narrowness::Crowded);
    expect_texts("crowded", report);
}

TEST(Why, NobodyIsCrowdedWhileThePortSendsTooLittle)
{
    const World world = test::sample_world();
    auto bulk = report_of(world, "bulk", "/bulk", {queue_pair(18, "bulk", "/bulk")});
    bulk.ports = {{"mlx5_0/1", Bandwidth::from_gbps(100), Bandwidth(), Bandwidth::from_gbps(1)}};
    judge_by_use(world, bulk.ports, bulk.sessions);
    const WhyLeaf& leaf = bulk.sessions[0].leaves[0];
    EXPECT_EQ(leaf.narrowness, Narrowness::Nothing);
    EXPECT_THAT(leaf.verdict,
                HasSubstr("not crowded now: mlx5_0/1 transmits 0 kbit/s of 100 Gbit/s (0 %), so others take nothing "
                          "from it and it may send 100 Gbit/s"));
    EXPECT_THAT(leaf.advice, HasSubstr("the cause is elsewhere"));
    expect_texts("not-crowded", bulk);
    // Of another port nothing is known.
    auto unknown = report_of(world, "bulk", "/bulk", {queue_pair(18, "bulk", "/bulk")});
    judge_by_use(world, {{"mlx5_1/1", Bandwidth::from_gbps(100), Bandwidth(), Bandwidth()}}, unknown.sessions);
    EXPECT_EQ(unknown.sessions[0].leaves[0].narrowness, Narrowness::Crowded);
}

TEST(Why, WithoutACrowdACapIsWhatHolds)
{
    World world = test::sample_world();
    for (int pid = 1; pid <= 7; ++pid) {
        world.devices[0].tree.push_back(
            {"/tenants/rpc/pid:" + std::to_string(pid), "/tenants/rpc", ElementKind::Leaf, 1, std::nullopt, 3, false});
    }
    auto report = report_of(world, "rpc", "/tenants/rpc/pid:4711", both());
    judge_by_use(world, {{"mlx5_0/1", Bandwidth::from_gbps(100), Bandwidth::from_gbps(12), Bandwidth()}},
                 report.sessions);
    const WhyLeaf& leaf = report.sessions[0].leaves[0];
    EXPECT_EQ(leaf.narrowness, Narrowness::Capped);
    EXPECT_THAT(leaf.verdict, HasSubstr("at least 28 Gbit/s of the 40 Gbit/s of /tenants/rpc are left"))
        << "all 12 may be of the other processes of the class";
    EXPECT_THAT(leaf.verdict, HasSubstr("its part is 5 Gbit/s"));
    EXPECT_THAT(leaf.advice, HasSubstr("beyond 40 Gbit/s, raise `max-rate` of level rpc"));
}

// The port is in use, though not full: what it transmits is not there for this level, unless by its share.
TEST(Why, SaysWhatIsLeftOfAPortThatOthersUse)
{
    const World world = test::sample_world();
    auto bulk = report_of(world, "bulk", "/bulk", {queue_pair(18, "bulk", "/bulk")});
    bulk.ports = {{"mlx5_0/1", Bandwidth::from_gbps(100), Bandwidth::from_gbps(62), Bandwidth::from_gbps(1)}};
    judge_by_use(world, bulk.ports, bulk.sessions);
    const WhyLeaf& leaf = bulk.sessions[0].leaves[0];
    EXPECT_EQ(leaf.narrowness, Narrowness::Nothing);
    EXPECT_THAT(leaf.verdict, testing::Not(HasSubstr("may send 100 Gbit/s")));
    EXPECT_EQ(leaf.verdict,
              "not crowded now: mlx5_0/1 transmits 62 Gbit/s of 100 Gbit/s (62 %), so at least 38 Gbit/s are "
              "left, by which it may send more than now; if all send all they can, its part is 60 Gbit/s");
    expect_texts("partly-used", bulk);
}

// A cap of its own, of which nobody else takes anything, is there as long as the port has that much left.
TEST(Why, ACapOfItsOwnIsNotSharedWithOthers)
{
    const World world = test::sample_world();
    auto rpc = report_of(world, "rpc", "/tenants/rpc/pid:4711", both());
    WhyLeaf& leaf = rpc.sessions[0].leaves[0];
    leaf.narrowness = Narrowness::Crowded;
    judge_by_use(world, {{"mlx5_0/1", Bandwidth::from_gbps(100), Bandwidth::from_gbps(30), {}}}, rpc.sessions);
    EXPECT_THAT(leaf.verdict, HasSubstr("others take nothing from it and it may send 40 Gbit/s"));
    leaf.outside = 3;
    leaf.narrowness = Narrowness::Crowded;
    leaf.alone = Bandwidth::from_gbps(80);
    judge_by_use(world, {{"mlx5_0/1", Bandwidth::from_gbps(100), Bandwidth::from_gbps(50), {}}}, rpc.sessions);
    EXPECT_THAT(leaf.verdict, HasSubstr("at least 50 Gbit/s are left"));
    EXPECT_THAT(leaf.verdict, HasSubstr("or less, as what is outside the tree takes from all of it"));
}

TEST(Why, ACapForAWhileIsNamedAsSuch)
{
    World world = test::sample_world();
    for (auto& level : world.manager.levels) {
        level.overrides = {{.property = "max-rate", .in_place_of = "80 Gbit/s"}};
    }
    auto report = report_of(world, "rpc", "/tenants/rpc/pid:4711", both());
    judge_by_use(world, {{"mlx5_0/1", Bandwidth::from_gbps(100), Bandwidth::from_gbps(40), Bandwidth()}},
                 report.sessions);
    EXPECT_THAT(report.sessions[0].leaves[0].advice,
                HasSubstr("raise `max-rate` of level rpc (overridden: without that it is 80 Gbit/s)"));
}

TEST(Why, CrowdedByAnotherClass)
{
    const auto report = report_of(test::sample_world(), "bulk", "/bulk", {queue_pair(18, "bulk", "/bulk")});
    const WhyLeaf& leaf = report.sessions[0].leaves[0];
    EXPECT_EQ(leaf.narrowness, Narrowness::Crowded);
    EXPECT_EQ(leaf.own, Bandwidth::from_gbps(60)) << "rpc is capped at 40 Gbit/s, the rest is left";
    EXPECT_EQ(leaf.verdict, "crowded: /bulk has share 30 of 100; one other sends too");
    EXPECT_THAT(leaf.advice, HasSubstr("raise the share of /bulk"));
}

TEST(Why, CrowdedInsideALeaf)
{
    World world = test::sample_world();
    find(world, "/tenants/rpc/others")->queue_pairs = 10;
    find(world, "/tenants/rpc/pid:4711")->queue_pairs = 0;
    const auto report = report_of(world, "rpc", "/tenants/rpc/others", {queue_pair(17, "rpc", "/tenants/rpc/others")});
    const WhyLeaf& leaf = report.sessions[0].leaves[0];
    EXPECT_EQ(leaf.narrowness, Narrowness::Crowded);
    EXPECT_EQ(leaf.others_in_leaf, 9U);
    EXPECT_EQ(leaf.own, Bandwidth::from_gbps(4)) << "one of ten queue pairs";
    EXPECT_THAT(leaf.advice, HasSubstr("raise `leaf-budget` of level rpc"));
    expect_texts("in-others", report);
}

TEST(Why, PacedByItsQueuePairs)
{
    api::QueuePair paced = queue_pair(18, "bulk", "/bulk");
    paced.rate = RateLimit{Bandwidth::from_mbps(2500), {}, {}};
    const auto report = report_of(test::sample_world(), "bulk", "/bulk", {paced});
    const WhyLeaf& leaf = report.sessions[0].leaves[0];
    EXPECT_EQ(leaf.narrowness, Narrowness::Paced);
    EXPECT_EQ(leaf.own, Bandwidth::from_mbps(2500));
    EXPECT_THAT(leaf.advice, HasSubstr("`per-queue-pair: max-rate` of level bulk"));
}

// Its neighbours' rates count too: what they cannot send is left.
TEST(Why, PacedNeighboursLeaveTheRest)
{
    World world = test::sample_world();
    find(world, "/tenants/rpc")->max_rate.reset();
    find(world, "/tenants")->max_rate.reset();
    const auto report = report_of(world, "rpc", "/tenants/rpc/pid:4711", both());
    EXPECT_EQ(report.sessions[0].leaves[0].own, Bandwidth::from_gbps(70))
        << "7 of 10, as the other may send all it can";
    world.sessions.push_back(test::sample_session_bulk());
    world.sessions[1].queue_pairs[0].rate = RateLimit{Bandwidth::from_mbps(2500), {}, {}};
    const auto beside = report_of(world, "rpc", "/tenants/rpc/pid:4711", both());
    EXPECT_EQ(beside.sessions[0].leaves[0].own, Bandwidth::from_kbps(97'500'000));
}

// In one leaf a paced queue pair gets its rate, and the other the rest.
TEST(Why, PacedAndUnpacedInOneLeaf)
{
    World world = test::sample_world();
    find(world, "/bulk")->queue_pairs = 0;
    find(world, "/tenants/rpc/pid:4711")->queue_pairs = 2;
    auto of_two = both();
    of_two[0].rate = RateLimit{Bandwidth::from_gbps(1), {}, {}};
    World one = world;
    one.sessions[0].queue_pairs = of_two;
    one.sessions.push_back(one.sessions[0]);
    one.sessions[0].queue_pairs.pop_back();
    one.sessions[1].queue_pairs.erase(one.sessions[1].queue_pairs.begin());
    EXPECT_EQ(explain_session(one, one.sessions[0]).leaves[0].own, Bandwidth::from_gbps(1));
    EXPECT_EQ(explain_session(one, one.sessions[1]).leaves[0].own, Bandwidth::from_gbps(39));
}

TEST(Why, PacedWithoutAPlaceInTheTree)
{
    api::QueuePair paced = queue_pair(18, "bulk", "");
    paced.rate = RateLimit{Bandwidth::from_mbps(2500), {}, {}};
    const auto report = report_of(test::sample_world(), "bulk", "", {paced});
    const WhyLeaf& leaf = report.sessions[0].leaves[0];
    EXPECT_EQ(leaf.narrowness, Narrowness::Paced);
    EXPECT_EQ(leaf.own, Bandwidth::from_mbps(2500));
    EXPECT_THAT(leaf.verdict, HasSubstr("not in the tree, so it competes with the whole tree"));
    expect_texts("paced-outside", report);
}

TEST(Why, NothingHoldsIt)
{
    World world = test::sample_world();
    find(world, "/tenants/rpc/pid:4711")->queue_pairs = 0;
    const auto report = report_of(world, "bulk", "/bulk", {queue_pair(18, "bulk", "/bulk")});
    EXPECT_EQ(report.sessions[0].leaves[0].narrowness, Narrowness::Nothing);
    expect_texts("free", report);
}

struct OutsideCase {
    const char* name;
    void (*edit)(World&, api::QueuePair&);
    const char* advice;
};

class WhyOutside : public testing::TestWithParam<OutsideCase> {};

TEST_P(WhyOutside, SaysWhatToDo)
{
    World world = test::sample_world();
    api::QueuePair lost{.device = "mlx5_0/1", .number = 17, .level = "rpc", .reason = "no room"};
    GetParam().edit(world, lost);
    const auto report = report_of(world, "rpc", "", {lost});
    const WhyLeaf& leaf = report.sessions[0].leaves[0];
    EXPECT_EQ(leaf.narrowness, Narrowness::Outside);
    EXPECT_THAT(leaf.verdict, HasSubstr("not in the tree: no room"));
    EXPECT_THAT(leaf.advice, HasSubstr(GetParam().advice));
}

INSTANTIATE_TEST_SUITE_P(
    Reasons, WhyOutside,
    testing::Values(
        OutsideCase{"refused", [](World&, api::QueuePair&) {}, "`rdma-qosctl reconcile mlx5_0/1` tries again"},
        OutsideCase{"no_schedule",
                    [](World&, api::QueuePair& qp) {
                        qp.level = "DEFAULT";
                        qp.cause = "nothing-asked";
                    },
                    "level DEFAULT has no `schedule`"},
        OutsideCase{"monitored_level", [](World&, api::QueuePair& qp) { qp.cause = "level-monitor"; },
                    "set `mode: enforce` of level rpc in the policy"},
        OutsideCase{"monitor", [](World& world, api::QueuePair&) { world.manager.mode = "monitor"; },
                    "`mode: enforce`"},
        OutsideCase{"disabled", [](World& world, api::QueuePair&) { world.devices[0].state = "disabled"; },
                    "`rdma-qosctl enable mlx5_0/1` places it again"},
        OutsideCase{"detached", [](World& world, api::QueuePair&) { world.sessions[0].state = "detached"; },
                    "attach its queue pairs again"},
        OutsideCase{"no_attach", [](World& world, api::QueuePair&) { world.devices[0].attach_mode = "none"; },
                    "cannot attach queue pairs"}),
    [](const auto& instance) { return instance.param.name; });

TEST(Why, NotEnforced)
{
    const auto report = report_of(
        test::sample_world(), "rpc", "",
        {{.device = "mlx5_0/1", .number = 17, .level = "rpc", .reason = "the device refused it: cp\x1b[31m"}});
    expect_texts("not-enforced", report);
}

TEST(Why, ALevelThatWentAway)
{
    World world = test::sample_world();
    world.sessions = {test::sample_session_without_level()};
    WhyReport report;
    report.target = "4711";
    report.sessions = {explain_session(world, world.sessions[0])};
    expect_texts("without-level", report);
    EXPECT_EQ(report.sessions[0].leaves[0].narrowness, Narrowness::Outside);
    // Nothing to attach, and still something to do.
    world.sessions[0].queue_pairs.clear();
    report.sessions = {explain_session(world, world.sessions[0])};
    EXPECT_THAT(render_why(report, Colour::Off),
                HasSubstr(", which removed level rpc\n  -> define level rpc again, or"));
}

TEST(Why, WithoutQueuePairsAndWithoutASession)
{
    World world = test::sample_world();
    world.sessions[0].queue_pairs.clear();
    WhyReport report;
    report.target = "job-7.scope";
    report.sessions = {explain_session(world, world.sessions[0])};
    expect_texts("idle", report);

    WhyReport nobody;
    nobody.target = "99";
    nobody.note = "process 99 (ib_send_bw) has not registered";
    nobody.queue_pairs = {{.device = "mlx5_0/1",
                           .number = 17,
                           .type = "rc",
                           .state = "RTS",
                           .remote = 4711,
                           .pid = 99,
                           .uid = 1000,
                           .user = "alice",
                           .command = "ib_send_bw",
                           .outside = "unregistered"}};
    nobody.advice = {"if it registered, it would be in level DEFAULT"};
    expect_texts("unregistered", nobody);
}

TEST(Why, Adopted)
{
    World world = test::sample_world();
    world.sessions[0] = test::sample_session_adopted();
    WhyReport report;
    report.target = "4711";
    report.sessions = {explain_session(world, world.sessions[0])};
    report.note = "not adopted, and so outside the tree: 11 queue pairs";
    report.queue_pairs = test::sample_not_adopted();
    expect_texts("adopted", report);
}

std::vector<std::uint64_t> ids(const World& world, const std::string& target)
{
    std::vector<std::uint64_t> result;
    for (const auto* session : sessions_of(world, target)) {
        result.push_back(session->id);
    }
    return result;
}

TEST(Why, WhoIsMeant)
{
    World world = test::sample_world();
    world.sessions.push_back(test::sample_session_bulk());
    using Ids = std::vector<std::uint64_t>;
    EXPECT_EQ(ids(world, "4711"), Ids{3}) << "a pid";
    EXPECT_EQ(ids(world, "99"), Ids{12}) << "a queue pair";
    EXPECT_EQ(ids(world, "qp:17"), Ids{3});
    EXPECT_EQ(ids(world, "mlx5_0:99"), Ids{12});
    EXPECT_EQ(ids(world, "mlx5_0/1:99"), Ids{12});
    EXPECT_EQ(ids(world, "mlx5_1:99"), Ids{});
    EXPECT_EQ(ids(world, "mlx5_9:99"), Ids{});
    EXPECT_EQ(ids(world, "job-7.scope"), Ids{3});
    EXPECT_EQ(ids(world, "job-*"), Ids{3});
    EXPECT_EQ(ids(world, "*"), Ids{3}) << "a session without a unit is in none";
    EXPECT_EQ(ids(world, "12345"), Ids{});
}

// A program with so many sessions in two leaves.
World world_of_many_sessions(std::size_t sessions)
{
    World world = test::sample_world();
    const SessionView like = world.sessions.front();
    world.sessions.clear();
    for (std::size_t i = 0; i < sessions; ++i) {
        SessionView session = like;
        session.id = i + 1;
        session.queue_pairs = {queue_pair(static_cast<std::uint32_t>(100 + i), "rpc", "/tenants/rpc/pid:4711")};
        world.sessions.push_back(std::move(session));
    }
    return world;
}

TEST(Why, AProgramWithManySessionsGetsOneAnswerForEachLeaf)
{
    for (const std::size_t many : {std::size_t{1}, std::size_t{2000}}) {
        const World world = world_of_many_sessions(many);
        WhyWork work;
        WhyReport report;
        report.target = "4711";
        report.sessions = explain_sessions(world, sessions_of(world, "4711"), {}, &work);
        EXPECT_EQ(work.trees, 1U);
        EXPECT_EQ(work.answers, 1U);
        ASSERT_EQ(report.sessions.size(), 1U);
        EXPECT_EQ(report.sessions[0].more_sessions.size(), many - 1);
        ASSERT_EQ(report.sessions[0].leaves.size(), 1U);
        EXPECT_EQ(report.sessions[0].leaves[0].queue_pairs.size(), many);
        EXPECT_LE(lines_of(render_why(report, Colour::Off)).size(), 24U) << "one screen";
    }
}

TEST(Why, SessionsThatDifferAreToldApart)
{
    World world = world_of_many_sessions(5);
    world.sessions[3].state = "detached";
    world.sessions[4].level = "bulk";
    const auto answers = explain_sessions(world, sessions_of(world, "4711"));
    ASSERT_EQ(answers.size(), 3U);
    EXPECT_EQ(answers[0].more_sessions, (std::vector<std::uint64_t>{2, 3}));
    EXPECT_EQ(answers[1].session.id, 4U);
    EXPECT_EQ(answers[2].session.id, 5U);
}

}    // namespace
}    // namespace rdmaqos::ctl
