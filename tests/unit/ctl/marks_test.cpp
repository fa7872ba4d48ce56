// What the command says of marks: which queue pairs carry their level's DSCP, the way of the packets, bytes by
// priority.
#include "tools/rdma-qosctl/world/marks.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/unit/ctl/sample.h"
#include "tools/rdma-qosctl/rendering/devices.h"
#include "tools/rdma-qosctl/rendering/marks.h"
#include "tools/rdma-qosctl/rendering/why.h"
#include "tools/rdma-qosctl/rendering/world_json.h"
#include "tools/rdma-qosctl/rendering/world_text.h"
#include "tools/rdma-qosctl/world/mark_path.h"
#include "tools/rdma-qosctl/world/port_traffic.h"
#include "tools/rdma-qosctl/world/problems.h"

namespace rdmaqos::ctl {
namespace {

using namespace rdmaqos::ctl::test;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

api::MarkCount carry(std::uint8_t found, std::uint64_t count, const std::string& level = "rpc")
{
    return {"mlx5_0/1", level, 26, found, "", count};
}

api::MarkCount unseen(const std::string& why, std::uint64_t count)
{
    return {"mlx5_0/1", "rpc", 26, {}, why, count};
}

// DSCP 26, that of level rpc, has priority 1, in class 1: 60 %, at most 40 Gbit/s, lossless.
dcb::PortSettings good_settings()
{
    dcb::PortSettings settings;
    dcb::Ets& ets = settings.ets.emplace();
    ets.traffic_class[0] = {dcb::Selection::Ets, 40, {}};
    ets.traffic_class[1] = {dcb::Selection::Ets, 60, Bandwidth::from_gbps(40)};
    ets.class_of_priority = {0, 1, 0, 0, 0, 0, 6, 0};
    settings.has_max_rates = true;
    settings.apps = {{dcb::Selector::Dscp, 26, 1}, {dcb::Selector::Dscp, 48, 6}};
    settings.pfc.emplace().capacity = 8;
    settings.pfc->lossless[1] = true;
    return settings;
}

World world_with(const dcb::PortSettings& settings)
{
    World world = sample_world();
    api::Port& port = world.devices.front().port_classes;
    port = {.state = std::string(api::kPortRead), .netdev = "eth0", .driver = "mlx5_core"};
    api::set_settings(port, settings);
    return world;
}

api::HostQueuePair queue_pair(std::uint32_t number, std::optional<std::uint8_t> dscp, const char* unseen = "")
{
    return {.device = "mlx5_0/1",
            .number = number,
            .type = "rc",
            .session = 3,
            .level = "rpc",
            .dscp = dscp,
            .mark_unseen = unseen};
}

TEST(WrongMarks, AreNothingToSayWhereAllThatAreSeenAreRight)
{
    for (const auto& counts : {std::vector<api::MarkCount>{},
                               {carry(26, 5)},
                               {carry(26, 1), unseen("datagram", 3)},
                               {unseen("not-connected", 1)}}) {
        EXPECT_EQ(render_wrong_marks(counts, "", Colour::Off), "");
        World world = sample_world();
        const auto before = find_problems(world).size();
        world.marks = counts;
        EXPECT_THAT(find_problems(world), SizeIs(before));
    }
}

TEST(WrongMarks, AreSaidWithWhatWouldMarkThem)
{
    World world = sample_world();
    const auto before = find_problems(world).size();
    world.marks = {carry(0, 3), carry(26, 2)};
    const auto problems = find_problems(world);
    ASSERT_THAT(problems, SizeIs(before + 1));
    const auto found = std::ranges::find_if(
        problems, [](const Problem& each) { return each.what.find("DSCP 26") != std::string::npos; });
    ASSERT_NE(found, problems.end());
    EXPECT_EQ(found->what, "3 of 5 queue pairs of level rpc on mlx5_0/1 do not carry its DSCP 26 but 0");
    EXPECT_FALSE(found->is_error);
    EXPECT_THAT(found->advice, AllOf(HasSubstr("`rdma-qos-run`"), HasSubstr("NCCL_IB_TC=104"),
                                     HasSubstr("UCX_IB_TRAFFIC_CLASS=104"), HasSubstr("`rdma-qosctl env --level rpc`"),
                                     HasSubstr("--default-roce-tos mlx5_0/1=104"), HasSubstr("rdmaqos_apply_qp()")));
}

TEST(WrongMarks, NameEachOtherDscpAndWhatIsNotSeen)
{
    const auto marks = sum_marks({carry(0, 1), carry(26, 2), carry(10, 3), unseen("datagram", 2), unseen("devx", 1)});
    ASSERT_THAT(marks, SizeIs(1));
    EXPECT_EQ(wrong_in_words(marks.front()),
              "4 of 6 queue pairs of level rpc on mlx5_0/1 do not carry its DSCP 26 but 0 (1) and 10 (3); of 3 more it "
              "cannot be seen (2 datagram, 1 devx)");
    EXPECT_EQ(wrong_in_words(sum_marks({carry(0, 1)}).front()),
              "1 of 1 queue pair of level rpc on mlx5_0/1 does not carry its DSCP 26 but 0");
}

TEST(WrongMarks, AreThoseOfOneDeviceBelowItsTree)
{
    auto elsewhere = carry(0, 1);
    elsewhere.device = "mlx5_1/1";
    EXPECT_THAT(render_wrong_marks({carry(0, 3), elsewhere}, "mlx5_1/1", Colour::Off),
                AllOf(HasSubstr("1 of 1 queue pair of level rpc on mlx5_1/1"), Not(HasSubstr("mlx5_0/1 do"))));
    EXPECT_EQ(render_wrong_marks({carry(0, 3)}, "mlx5_1/1", Colour::Off), "");
}

TEST(MarkPath, OfAMarkedQueuePairLeadsToItsClass)
{
    const auto paths = trace_marks(world_with(good_settings()), {queue_pair(17, 26), queue_pair(18, 26)}, {});
    ASSERT_THAT(paths, SizeIs(1));
    EXPECT_THAT(paths.front().queue_pairs, ElementsAre(17, 18));
    EXPECT_THAT(paths.front().wrong, IsEmpty());
    EXPECT_EQ(paths.front().advice, "");
    EXPECT_EQ(way_in_words(paths.front()),
              "DSCP 26 -> priority 1 -> traffic class 1 (60 %, at most 40 Gbit/s), lossless");
    EXPECT_EQ(render_mark_paths(paths, Colour::Off),
              "\nway through the port, by the DSCP of the packets\n"
              "  mlx5_0/1, queue pairs 17, 18 of level rpc\n"
              "    DSCP 26 -> priority 1 -> traffic class 1 (60 %, at most 40 Gbit/s), lossless\n");
}

struct HopCase {
    const char* name;
    std::function<void(World&, dcb::PortSettings&, api::HostQueuePair&, std::map<std::string, std::uint8_t>&)> change;
    const char* way;
    const char* wrong;
    const char* advice;
};

TEST(MarkPath, SaysAtWhichHopItGoesWrong)
{
    using Settings = dcb::PortSettings;
    using Cnp = std::map<std::string, std::uint8_t>;
    const HopCase cases[] = {
        {"not marked", [](World&, Settings&, api::HostQueuePair& it, Cnp&) { it.dscp = 0; },
         "DSCP 0 -> priority 0 -> traffic class 0 (40 %), can be dropped",
         "their packets do not carry DSCP 26 of level rpc but 0", "rdma-qos-run"},
        {"trusts VLAN tags", [](World&, Settings& port, api::HostQueuePair&, Cnp&) { port.apps.clear(); },
         "DSCP 26 -> priority 0 -> traffic class 0 (40 %), can be dropped", "eth0 does not look at the DSCP",
         "dcb app add dev eth0 dscp-prio 26:PRIORITY"},
        {"no entry",
         [](World&, Settings& port, api::HostQueuePair&, Cnp&) {
             port.apps = {{dcb::Selector::Dscp, 10, 1}};
         },
         "DSCP 26 -> priority 0 -> traffic class 0 (40 %), can be dropped",
         "DSCP 26 has no entry in the application table of eth0", "dcb app add dev eth0 dscp-prio 26:PRIORITY"},
        {"in the class of the rest",
         [](World&, Settings& port, api::HostQueuePair&, Cnp&) { port.ets->class_of_priority[1] = 0; },
         "DSCP 26 -> priority 1 -> traffic class 0 (40 %), lossless",
         "priority 1 is in traffic class 0 of eth0, with all packets that have no mark", "dcb ets set dev eth0"},
        {"shared with a level",
         [](World& world, Settings& port, api::HostQueuePair&, Cnp&) {
             world.manager.levels.at(2).traffic_class = 40;
             port.apps.push_back({dcb::Selector::Dscp, 10, 1});
         },
         "DSCP 26 -> priority 1 -> traffic class 1 (60 %, at most 40 Gbit/s), lossless",
         "traffic class 1 of eth0 is also that of level bulk", "different traffic classes"},
        {"with congestion notifications",
         [](World&, Settings& port, api::HostQueuePair&, Cnp& cnp) {
             port.ets->class_of_priority[6] = 1;
             cnp = {{"mlx5_0/1", 48}};
         },
         "DSCP 26 -> priority 1 -> traffic class 1 (60 %, at most 40 Gbit/s), lossless",
         "congestion notifications (CNP, DSCP 48) are in traffic class 1, too", "rdma-qosctl status"},
    };
    for (const HopCase& each : cases) {
        SCOPED_TRACE(each.name);
        World world = sample_world();
        auto settings = good_settings();
        auto of = queue_pair(17, 26);
        Cnp notifications{{"mlx5_0/1", 48}};
        each.change(world, settings, of, notifications);
        std::ranges::sort(settings.apps);
        World shown = world_with(settings);
        shown.manager = world.manager;
        const auto paths = trace_marks(shown, {of}, notifications);
        ASSERT_THAT(paths, SizeIs(1));
        EXPECT_EQ(way_in_words(paths.front()), each.way);
        EXPECT_THAT(paths.front().wrong, ElementsAre(HasSubstr(each.wrong)));
        EXPECT_THAT(paths.front().advice, HasSubstr(each.advice));
        EXPECT_THAT(render_mark_paths(paths, Colour::Off), HasSubstr(each.wrong));
    }
}

TEST(MarkPath, ThatIsNotSeenIsThatOfTheLevel)
{
    const auto paths = trace_marks(world_with(good_settings()), {queue_pair(17, {}, "datagram"), queue_pair(18, 26)},
                                   {});
    ASSERT_THAT(paths, SizeIs(2));
    EXPECT_EQ(way_in_words(paths.front()),
              "not seen (each message of a datagram queue pair carries what its address handle says); with DSCP 26 -> "
              "priority 1 -> traffic class 1 (60 %, at most 40 Gbit/s), lossless");
    EXPECT_THAT(paths.front().wrong, IsEmpty());
}

TEST(MarkPath, WithoutTrafficClassesSaysSo)
{
    const auto paths = trace_marks(sample_world(), {queue_pair(17, 0)}, {});
    ASSERT_THAT(paths, SizeIs(1));
    EXPECT_EQ(way_in_words(paths.front()), "DSCP 0 -> the traffic classes of the port are not known");
    EXPECT_THAT(paths.front().wrong, SizeIs(1));
}

TEST(MarkPath, IsThatOfQueuePairsInALevelWithADscp)
{
    auto of_bulk = queue_pair(19, 0);
    of_bulk.level = "bulk";
    EXPECT_THAT(trace_marks(world_with(good_settings()), {of_bulk, queue_pair(20, {})}, {}), IsEmpty());
    EXPECT_EQ(render_mark_paths({}, Colour::Off), "");
}

TEST(MarkPath, AsJsonHasEachHop)
{
    const auto paths = trace_marks(world_with(good_settings()), {queue_pair(17, 0), queue_pair(18, {}, "devx")}, {});
    const Json json = mark_paths_json(paths);
    ASSERT_EQ(json.size(), 2U);
    EXPECT_EQ(json[0]["dscp"], 0);
    EXPECT_EQ(json[0]["meant-dscp"], 26);
    EXPECT_EQ(json[0]["priority"], 0);
    EXPECT_EQ(json[0]["class"], 0);
    EXPECT_EQ(json[0]["gets"], "40 %");
    EXPECT_EQ(json[0]["lossless"], false);
    EXPECT_EQ(json[0]["wrong"].size(), 1U);
    EXPECT_FALSE(json[1].contains("dscp"));
    EXPECT_EQ(json[1]["unseen"], "devx");
    EXPECT_EQ(json[1]["priority"], 1);
}

// ---- bytes by priority ----

api::PortTraffic traffic(const std::map<std::uint32_t, std::uint64_t>& sent, std::uint64_t rdma)
{
    constexpr std::uint64_t kMega = 1'000'000;
    api::PortTraffic all;
    for (std::uint32_t priority = 0; priority < port_bytes::kPriorities; ++priority) {
        const auto found = sent.find(priority);
        const std::uint64_t bytes = found == sent.end() ? 0 : found->second * kMega;
        all.priorities.push_back({priority, bytes, 0, bytes, 0});
    }
    all.rdma_sent = all.rdma_sent_lately = rdma * kMega;
    all.rdma_received = all.rdma_received_lately = 0;
    all.read_at = 1'800'000'000;
    all.interval = 30 * kMega;
    return all;
}

std::vector<std::string> said_of(const World& world)
{
    std::vector<std::string> said;
    for (const auto& problem : find_problems(world)) {
        if (problem.what.find("that RDMA sent") != std::string::npos) {
            said.push_back(problem.what);
        }
    }
    return said;
}

TEST(Traffic, WithPrioritiesOfNoLevelIsAProblem)
{
    World world = world_with(good_settings());
    for (auto& level : world.manager.levels) {
        level.queue_pairs = level.traffic_class ? 2 : 0;
    }
    DeviceView& device = world.devices.front();
    EXPECT_THAT(said_of(world), IsEmpty()) << "nothing is known";
    EXPECT_EQ(render_traffic(device, world.manager.levels, Colour::Off), "");

    device.traffic = traffic({{0, 90}, {1, 20}}, 100);
    EXPECT_THAT(said_of(world), ElementsAre("mlx5_0/1: in the last 30 s, at least 80 % of the 100.0 MB that RDMA sent "
                                            "had priorities of no level: priority 0 (90.0 MB)"));
    EXPECT_EQ(render_traffic(device, world.manager.levels, Colour::Off),
              "sent in the last 30 s: 90.0 MB with priority 0 (no level's), 20.0 MB with priority 1 (rpc); 100.0 MB of "
              "all that by RDMA\n"
              "at least 80 % of the 100.0 MB that RDMA sent had priorities of no level: priority 0 (90.0 MB)\n");

    device.traffic = traffic({{0, 90}, {1, 100}}, 100);
    EXPECT_THAT(said_of(world), IsEmpty()) << "priority 0 may be TCP";
    device.traffic = traffic({{0, 90}, {1, 20}}, 100);
    device.traffic.interval.reset();
    for (auto& each : device.traffic.priorities) {
        each.sent_lately.reset();
    }
    EXPECT_THAT(said_of(world), IsEmpty()) << "there was one reading only";
}

TEST(Traffic, ThatCannotBeCheckedIsSaidToBe)
{
    World world = world_with(good_settings());
    DeviceView& device = world.devices.front();
    device.port_classes.driver = "mlx4_core";
    device.traffic = traffic({{0, 90}, {1, 20}}, 100);
    device.traffic.rdma_sent.reset();
    device.traffic.rdma_sent_lately.reset();
    EXPECT_EQ(
        render_traffic(device, world.manager.levels, Colour::Off),
        "whether RDMA sends with the priorities of the levels is not checked: the driver mlx4_core does not count "
        "what RDMA sends\n");
    EXPECT_THAT(said_of(world), IsEmpty());
    for (auto& level : world.manager.levels) {
        level.traffic_class.reset();
    }
    EXPECT_EQ(render_traffic(device, world.manager.levels, Colour::Off), "") << "no level has a DSCP";
}

TEST(Traffic, OfLevelsWithoutADscpHasPriorityZero)
{
    World world = world_with(good_settings());
    for (auto& level : world.manager.levels) {
        level.queue_pairs = 2;
    }
    world.devices.front().traffic = traffic({{0, 90}, {1, 20}}, 100);
    EXPECT_THAT(said_of(world), IsEmpty());
    world.devices.front().traffic = traffic({{3, 90}, {1, 20}}, 100);
    EXPECT_THAT(said_of(world), SizeIs(1));
}

TEST(Traffic, IsInTheJsonOfADevice)
{
    World world = world_with(good_settings());
    for (auto& level : world.manager.levels) {
        level.queue_pairs = 0;
    }
    world.devices.front().traffic = traffic({{0, 90}, {1, 20}}, 100);
    const Json json = devices_json({&world.devices.front()}, nullptr, world.manager.levels);
    const Json& shown = json.is_array() ? json[0]["traffic"] : json["devices"][0]["traffic"];
    EXPECT_EQ(shown["rdma-sent"], 100'000'000);
    EXPECT_EQ(shown["priorities"][1]["levels"], Json::array({"rpc"}));
    EXPECT_EQ(shown["rdma-outside-at-least"], 80'000'000);
}

}    // namespace
}    // namespace rdmaqos::ctl
