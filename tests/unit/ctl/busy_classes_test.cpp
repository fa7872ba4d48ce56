// What the command says of rates where the port divides itself among traffic classes above the trees.
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "lib/port_classes/scheduling.h"
#include "tests/support/golden.h"
#include "tests/unit/ctl/sample.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/rendering/devices.h"
#include "tools/rdma-qosctl/rendering/why.h"
#include "tools/rdma-qosctl/rendering/world_json.h"
#include "tools/rdma-qosctl/world/busy_rates.h"
#include "tools/rdma-qosctl/world/level_classes.h"
#include "tools/rdma-qosctl/world/mark_path.h"
#include "tools/rdma-qosctl/world/why.h"

namespace rdmaqos::ctl {
namespace {

using rdmaqos::test::expect_golden;
using testing::HasSubstr;
using testing::Not;

// As a port that is set to this says it.
api::Port port_of(const std::vector<std::string>& words)
{
    const PortClasses classes = parse_port_classes(words).value();
    dcb::PortSettings settings;
    dcb::Ets& ets = settings.ets.emplace();
    for (std::size_t number = 0; number < kPortClasses; ++number) {
        const PortClass& each = classes.classes.at(number);
        ets.traffic_class.at(number) = {each.is_strict ? dcb::Selection::Strict : dcb::Selection::Ets,
                                        static_cast<std::uint8_t>(each.weight), each.max_rate};
    }
    ets.class_of_priority = classes.class_of_priority;
    settings.has_max_rates = true;
    for (std::uint16_t dscp = 0; dscp < kDscps; ++dscp) {
        if (classes.priority_of_dscp.at(dscp) != 0) {
            settings.apps.push_back({dcb::Selector::Dscp, dscp, classes.priority_of_dscp.at(dscp)});
        }
    }
    api::Port port{.state = std::string(api::kPortRead), .netdev = "ens1f0np0", .driver = "mlx5_core"};
    api::set_settings(port, settings);
    EXPECT_EQ(port_classes::scheduling_of(api::settings_of(port).value()), classes);
    return port;
}

// A process with queue pairs in a level of its own or of others; the level's class is a leaf below the root.
struct Sender {
    std::uint32_t pid = 0;
    std::string level;
    std::uint8_t dscp = 0;    // 0: the level has no traffic class
    std::uint32_t queue_pairs = 1;
    std::optional<Bandwidth> cap{};
};

World world_of(const std::vector<std::string>& classes, const std::vector<Sender>& senders, const char* attach_mode)
{
    World world = test::sample_world();
    world.devices.resize(1);
    world.sessions.clear();
    world.manager.levels = {test::sample_level_default()};
    DeviceView& device = world.devices.front();
    device.link_speed = Bandwidth::from_mbps(100);
    device.attach_mode = attach_mode;
    device.port_classes = port_of(classes);
    device.tree = {{"/", "", ElementKind::Node, std::nullopt, std::nullopt, 0, false}};
    std::uint32_t number = 17;
    for (const Sender& sender : senders) {
        const std::string path = "/" + sender.level;
        auto leaf = std::ranges::find(device.tree, path, &api::TreeElement::path);
        if (leaf == device.tree.end()) {
            device.tree.push_back({path, "/", ElementKind::Leaf, 1, sender.cap, 0, false});
            leaf = device.tree.end() - 1;
            world.manager.levels.push_back({.name = sender.level, .class_path = path, .share = 1});
            if (sender.dscp != 0) {
                world.manager.levels.back().traffic_class = static_cast<std::uint8_t>(sender.dscp << 2U);
            }
        }
        leaf->queue_pairs += sender.queue_pairs;
        SessionView session = test::sample_session_rpc();
        session.id = sender.pid;
        session.owner.pid = sender.pid;
        session.level = sender.level;
        session.queue_pairs.clear();
        for (std::uint32_t i = 0; i < sender.queue_pairs; ++i) {
            session.queue_pairs.push_back(
                {.device = device.key(), .number = number++, .level = sender.level, .leaf = path, .enforced = true});
        }
        world.sessions.push_back(std::move(session));
    }
    return world;
}

struct Case {
    std::string name;
    std::vector<std::string> classes;
    std::vector<Sender> senders;
    std::map<std::uint32_t, std::uint64_t> gets;    // kbit/s by process
};

std::vector<std::string> marked(std::vector<std::string> words)
{
    words.insert(words.end(), {"dscp26=1", "dscp10=2", "dscp18=3", "dscp46=6"});
    return words;
}

// The rows of docs/traffic.md that were measured: 100 Mbit/s, one tree for each process.
std::vector<Case> measured()
{
    const Sender heavy{1, "heavy", 26};
    const Sender light{2, "light", 10};
    const auto mbps = [](std::uint64_t rate) { return std::optional(Bandwidth::from_mbps(rate)); };
    return {
        {"70 and 30 of two processes", {"tc1=70", "tc2=30"}, {heavy, light}, {{1, 70'000}, {2, 30'000}}},
        {"50, 30 and 20",
         {"tc1=50", "tc2=30", "tc3=20"},
         {heavy, light, {3, "red", 18}},
         {{1, 50'000}, {2, 30'000}, {3, 20'000}}},
        {"two processes in one of them",
         {"tc1=70", "tc2=30"},
         {heavy, {3, "heavy", 26, 4}, light},
         {{1, 35'000}, {3, 35'000}, {2, 30'000}}},
        {"a maximum rate of 25", {"tc1=70,25Mbps", "tc2=30"}, {heavy, light}, {{1, 25'000}, {2, 75'000}}},
        {"a cap of 25 in the tree",
         {"tc1=70", "tc2=30"},
         {{1, "heavy", 26, 1, mbps(25)}, light},
         {{1, 25'000}, {2, 75'000}}},
        {"a strict one with a cap of 20 in the tree",
         {"tc1=70", "tc2=30", "tc6=strict"},
         {heavy, light, {3, "control", 46, 1, mbps(20)}},
         {{1, 56'000}, {2, 24'000}, {3, 20'000}}},
        {"a strict one with a maximum rate of 20",
         {"tc1=70", "tc2=30", "tc6=strict,20Mbps"},
         {heavy, light, {3, "control", 46}},
         {{1, 56'000}, {2, 24'000}, {3, 20'000}}},
        {"a program that marks nothing",
         {"tc0=10", "tc1=70", "tc2=20"},
         {heavy, light, {3, "plain", 0}},
         {{1, 70'000}, {2, 20'000}, {3, 10'000}}},
    };
}

const WhyLeaf& leaf_of(std::vector<WhySession>& answers, const World& world, std::uint32_t pid)
{
    answers = explain_sessions(world, sessions_of(world, std::to_string(pid)));
    EXPECT_EQ(answers.size(), 1U);
    EXPECT_EQ(answers.at(0).leaves.size(), 1U);
    return answers.at(0).leaves.at(0);
}

TEST(BusyClasses, TreeAndWhySayWhatWasMeasured)
{
    for (const Case& one : measured()) {
        SCOPED_TRACE(one.name);
        const World world = world_of(marked(one.classes), one.senders, "per-process");
        std::map<std::string, std::uint64_t> of_leaf;
        for (const Sender& sender : one.senders) {
            std::vector<WhySession> answers;
            EXPECT_EQ(leaf_of(answers, world, sender.pid).own.kbps(), one.gets.at(sender.pid)) << sender.level;
            of_leaf["/" + sender.level] += one.gets.at(sender.pid);
        }
        const BusyRates rates = busy_rates(world, world.devices.front());
        std::uint64_t all = 0;
        for (const auto& [path, rate] : rates.leaves) {
            EXPECT_EQ(rate.kbps(), of_leaf.at(path)) << path;
            all += rate.kbps();
        }
        EXPECT_EQ(all, 100'000U) << "nothing is left over";
        EXPECT_EQ(rates.classes.size(), of_leaf.size());
    }
}

TEST(BusyClasses, WithOneTreeForAllAClassServesWhatTheTreeHasInIt)
{
    // Shares 1 and 1 of the tree do not count between classes.
    const World world = world_of(marked({"tc1=70", "tc2=30"}), {{1, "heavy", 26}, {2, "light", 10}, {3, "mate", 10}},
                                 "shared");
    const BusyRates rates = busy_rates(world, world.devices.front());
    EXPECT_EQ(rates.leaves.at("/heavy").kbps(), 70'000U);
    EXPECT_EQ(rates.leaves.at("/light").kbps(), 15'000U);
    ASSERT_EQ(rates.classes.size(), 2U);
    EXPECT_EQ(rates.classes[1].number, 2);
    EXPECT_THAT(rates.classes[1].levels, testing::ElementsAre("light", "mate"));
    EXPECT_EQ(rates.classes[1].gets.kbps(), 30'000U);
}

TEST(BusyClasses, NothingIsSaidOfAPortThatDividesNothing)
{
    World world = world_of({"tc1=70", "tc2=30"}, {{1, "heavy", 26}, {2, "light", 10}}, "per-process");
    const BusyRates rates = busy_rates(world, world.devices.front());
    EXPECT_TRUE(rates.classes.empty());
    EXPECT_EQ(rates.leaves.at("/heavy").kbps(), 50'000U);
    std::vector<WhySession> answers;
    const WhyLeaf& leaf = leaf_of(answers, world, 1);
    EXPECT_FALSE(leaf.port_class);
    EXPECT_TRUE(leaf.stages.empty());
    world.devices.front().port_classes = {};
    const WhyLeaf& of_unknown = leaf_of(answers, world, 1);
    EXPECT_FALSE(of_unknown.port_class) << "an older daemon does not say it";
}

TEST(BusyClasses, WhyTellsWhichBoundComesFromWhichStage)
{
    World world = world_of(marked({"tc1=67", "tc2=33"}), {{1, "heavy", 26}, {3, "heavy", 26, 4}, {2, "light", 10}},
                           "per-process");
    std::vector<WhySession> answers;
    const WhyLeaf& leaf = leaf_of(answers, world, 1);
    ASSERT_EQ(leaf.stages.size(), 3U);
    EXPECT_EQ(leaf.stages[0].by, "traffic class 1");
    EXPECT_EQ(leaf.stages[0].rate.kbps(), 67'000U);
    EXPECT_EQ(leaf.stages[1].by, "the trees of processes");
    EXPECT_EQ(leaf.stages[1].rate.kbps(), 33'500U);
    EXPECT_TRUE(leaf.stages[1].assumed);
    EXPECT_EQ(leaf.other_processes, 1U) << "the one of the other class does not compete here";
    EXPECT_THAT(leaf.class_reason,
                HasSubstr("that of DSCP 26 of level heavy: what its queue pairs carry is not known"));
    WhyReport report;
    report.target = "1";
    report.sessions = answers;
    const std::string text = render_why(report, Colour::Off);
    EXPECT_THAT(text, HasSubstr("67 % of the port by traffic class 1 (67 Mbit/s), then 50 % of that by the trees of"));
    expect_golden("ctl/why-port-class.txt", text);
    expect_golden("ctl/why-port-class.json", to_text(why_json(report)));
}

TEST(BusyClasses, WhyNamesTheClassThatHolds)
{
    World world = world_of(marked({"tc1=70", "tc2=30"}), {{1, "heavy", 26}, {2, "light", 10}}, "per-process");
    std::vector<WhySession> answers;
    const WhyLeaf& light = leaf_of(answers, world, 2);
    EXPECT_EQ(light.narrowness, Narrowness::Crowded);
    EXPECT_THAT(light.verdict, HasSubstr("crowded: traffic class 2 of the port has weight 30 of 100; traffic class 1 "
                                         "(weight 70) sends too"));
    EXPECT_THAT(light.advice, HasSubstr("`rdma-qosctl export dcb`"));
    // One that is strict goes before it, and its weight is not what it gets.
    world = world_of(marked({"tc2=30", "tc6=strict,90Mbps"}), {{1, "control", 46}, {2, "light", 10}}, "per-process");
    EXPECT_EQ(leaf_of(answers, world, 2).own.kbps(), 10'000U);
    EXPECT_THAT(leaf_of(answers, world, 2).verdict,
                HasSubstr("traffic class 6 (strict, at most 90 Mbit/s, goes first) sends too"));
    // The one that is strict is held by its maximum rate alone.
    const WhyLeaf& control = leaf_of(answers, world, 1);
    EXPECT_EQ(control.narrowness, Narrowness::Capped);
    EXPECT_EQ(control.own.kbps(), 90'000U);
    EXPECT_THAT(control.verdict, HasSubstr("traffic class 6 may send 90 Mbit/s"));
    EXPECT_THAT(control.advice, HasSubstr("raise the maximum rate of traffic class 6 of the port"));
}

TEST(BusyClasses, AClassThatItsOwnTreeHoldsIsNotToBlame)
{
    World world = world_of(marked({"tc1=70", "tc2=30"}),
                           {{1, "heavy", 26, 1, Bandwidth::from_mbps(10)}, {3, "heavy", 26}, {2, "light", 10}},
                           "shared");
    std::vector<WhySession> answers;
    const WhyLeaf& heavy = leaf_of(answers, world, 1);
    EXPECT_EQ(heavy.own.kbps(), 5'000U);
    EXPECT_THAT(heavy.verdict, HasSubstr("1 queue pair of others in the same leaf")) << heavy.verdict;
    ASSERT_EQ(heavy.stages.size(), 3U);
    EXPECT_EQ(heavy.stages[2].by, "others in its leaf");
}

TEST(BusyClasses, WhySaysWhatIsAssumedOfAClass)
{
    std::vector<WhySession> answers;
    World world = world_of(marked({"tc0=10", "tc1=90"}), {{1, "heavy", 26}, {3, "plain", 0}}, "per-process");
    EXPECT_THAT(leaf_of(answers, world, 3).class_reason,
                HasSubstr("traffic class 0 is assumed, that of priority 0: level plain has no `traffic-class`"));
    // It trusts VLAN tags, and class 0 has a maximum rate.
    world = world_of({"tc0=10,50Mbps"}, {{1, "heavy", 26}}, "per-process");
    EXPECT_THAT(leaf_of(answers, world, 1).class_reason, HasSubstr("ens1f0np0 goes by VLAN tags"));
}

// Queue pair 17 of process 1 is not marked, 18 of process 3 is; both are of level heavy.
World half_marked()
{
    World world = world_of(marked({"tc0=10", "tc1=60", "tc2=30"}),
                           {{1, "heavy", 26}, {3, "heavy", 26}, {2, "light", 10}}, "per-process");
    take_marks({{.device = "mlx5_0/1", .number = 17, .dscp = std::uint8_t{0}},
                {.device = "mlx5_0/1", .number = 18, .dscp = std::uint8_t{26}},
                {.device = "mlx5_0/1", .number = 19}},
               world);
    return world;
}

TEST(BusyClasses, WhyComputesWithTheMarkThatIsKnown)
{
    World world = half_marked();
    std::vector<WhySession> answers;
    const WhyLeaf& unmarked = leaf_of(answers, world, 1);
    EXPECT_EQ(unmarked.port_class, 0);
    EXPECT_EQ(unmarked.own.kbps(), 10'000U);
    EXPECT_EQ(unmarked.other_processes, 0U);
    EXPECT_EQ(unmarked.stages.at(0).by, "traffic class 0");
    EXPECT_EQ(unmarked.class_reason, "traffic class 0 is that of DSCP 0, which its queue pair carries; level heavy has "
                                     "DSCP 26, of traffic class 1");
    EXPECT_THAT(unmarked.advice, HasSubstr("mark its packets with DSCP 26 of level heavy"));
    WhyReport report;
    report.target = "1";
    report.sessions = answers;
    expect_golden("ctl/why-wrong-mark.txt", render_why(report, Colour::Off));
    const WhyLeaf& right = leaf_of(answers, world, 3);
    EXPECT_EQ(right.own.kbps(), 60'000U) << "process 1 takes nothing of its class";
    EXPECT_EQ(right.class_reason, "traffic class 1 is that of DSCP 26, which its queue pair carries");
    EXPECT_THAT(right.advice, Not(HasSubstr("mark its packets")));
    EXPECT_THAT(leaf_of(answers, world, 2).class_reason,
                HasSubstr("traffic class 2 is assumed, that of DSCP 10 of level light"));
    // Nobody else sends: the class is what it is all the same, and to be blamed when others do.
    world = half_marked();
    world.sessions.resize(1);
    for (auto& element : world.devices.front().tree) {
        element.queue_pairs = element.path == "/heavy" ? 1 : 0;
    }
    EXPECT_THAT(leaf_of(answers, world, 1).advice, HasSubstr("mark its packets with DSCP 26"));
}

// One process, one leaf, two classes: an answer for each, in which nothing of its own counts as another's.
TEST(BusyClasses, QueuePairsOfOneLeafThatCarryDifferentMarksAreToldApart)
{
    World world = world_of(marked({"tc0=10", "tc1=60", "tc2=30"}), {{1, "heavy", 26, 4}, {2, "light", 10}}, "shared");
    take_marks({{.device = "mlx5_0/1", .number = 17, .dscp = std::uint8_t{0}},
                {.device = "mlx5_0/1", .number = 18, .dscp = std::uint8_t{26}},
                {.device = "mlx5_0/1", .number = 19, .dscp = std::uint8_t{26}}},
               world);
    const auto answers = explain_sessions(world, sessions_of(world, "1"));
    ASSERT_EQ(answers.size(), 1U);
    ASSERT_EQ(answers[0].leaves.size(), 2U);
    const WhyLeaf& unmarked = answers[0].leaves[0];
    EXPECT_THAT(unmarked.queue_pairs, testing::ElementsAre(17));
    EXPECT_EQ(unmarked.port_class, 0);
    EXPECT_EQ(unmarked.others_in_leaf, 0U);
    const WhyLeaf& rest = answers[0].leaves[1];
    EXPECT_THAT(rest.queue_pairs, testing::ElementsAre(18, 19, 20));
    EXPECT_EQ(rest.others_in_leaf, 0U);
    EXPECT_EQ(rest.class_reason,
              "traffic class 1 is that of DSCP 26, which 2 of its 3 queue pairs carry; of the others "
              "it is not known, and assumed");
}

// To raise the class alone would help nobody: what is below it has the same cap, of which the class's is made.
TEST(BusyClasses, ACapOfAClassThatTheLevelHasTooIsRaisedThere)
{
    const auto cap = Bandwidth::from_mbps(25);
    World world = world_of(marked({"tc1=70,25Mbps", "tc2=30"}), {{1, "heavy", 26, 1, cap}, {2, "light", 10}},
                           "per-process");
    std::vector<WhySession> answers;
    EXPECT_EQ(leaf_of(answers, world, 1).advice, "raise `max-rate` of level heavy and reload; then set traffic class 1 "
                                                 "by it, as `rdma-qosctl export dcb` prints");
    auto& care = world.devices.front().port_classes.care.emplace();
    care.keeping = PortKeeping::Kept;
    EXPECT_EQ(leaf_of(answers, world, 1).advice,
              "raise `max-rate` of level heavy and reload: the daemon then sets traffic class 1 by it");
    world.devices.front().tree.at(1).max_rate = Bandwidth::from_mbps(40);
    EXPECT_EQ(leaf_of(answers, world, 1).advice,
              "raise the maximum rate of traffic class 1 of the port, which the daemon "
              "sets by the policy (`rdma-qosctl plan` shows for which levels)");
    care.keeping = PortKeeping::Stopped;
    EXPECT_THAT(leaf_of(answers, world, 1).advice, HasSubstr("raise the maximum rate of traffic class 1 of the port "
                                                             "(`rdma-qosctl export dcb` prints"));
}

TEST(BusyClasses, WhatIsOutsideTheTreeIsInAClassToo)
{
    World world = world_of(marked({"tc1=70", "tc2=30"}), {{1, "heavy", 26}, {2, "light", 10}}, "per-process");
    world.devices.front().queue_pairs_outside = 2;
    std::vector<WhySession> answers;
    EXPECT_THAT(
        leaf_of(answers, world, 1).verdict,
        HasSubstr("2 queue pairs outside the tree compete with all that is in the traffic classes of their packets"));
    const BusyRates rates = busy_rates(world, world.devices.front());
    const std::string text = render_device_trees({{&world.devices.front(), &rates}}, 0, Colour::Off);
    EXPECT_THAT(text, HasSubstr("compete with all that is in the traffic classes of their packets"));
    expect_golden("ctl/tree-busy-classes.txt", text);
    expect_golden("ctl/tree-busy-classes.json", to_text(trees_json({&world.devices.front()}, {rates})));
    // In no leaf, with a level that has a DSCP.
    world.sessions[0].queue_pairs[0].leaf.clear();
    world.sessions[0].queue_pairs[0].enforced = false;
    EXPECT_THAT(leaf_of(answers, world, 1).verdict,
                HasSubstr("it competes with all that is in traffic class 1 of the port"));
}

// Of what is in a leaf only the number is known: its level is that of the leaf, also of one below a class.
TEST(BusyClasses, TheLevelOfALeafIsThatOfTheClassAboveIt)
{
    World world = world_of(marked({"tc1=70", "tc2=30"}), {{1, "heavy", 26}, {2, "light", 10}}, "shared");
    DeviceView& device = world.devices.front();
    device.tree.push_back({"/heavy.responder", "/", ElementKind::Leaf, 1, std::nullopt, 1, false});
    device.tree.push_back({"/light2", "/", ElementKind::Leaf, 1, std::nullopt, 0, false});
    const LevelClasses classes(world.manager.levels, device);
    EXPECT_EQ(classes.class_of("", ElementPath("/heavy/pid:7")), 1);
    EXPECT_EQ(classes.class_of("", ElementPath("/heavy.responder")), 1);
    EXPECT_EQ(classes.class_of("", ElementPath("/light2")), 0);
    EXPECT_EQ(classes.class_of("LIGHT", ElementPath("/heavy")), 2)
        << "the level of the queue pair is before that of the leaf";
    EXPECT_EQ(busy_rates(world, device).leaves.at("/heavy").kbps(), 35'000U) << "beside the responses";
}

}    // namespace
}    // namespace rdmaqos::ctl
