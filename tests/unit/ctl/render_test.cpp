#include "tools/rdma-qosctl/rendering/world_text.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "lib/api/json.h"
#include "lib/base/text.h"
#include "tests/support/golden.h"
#include "tests/unit/ctl/sample.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/rendering/devices.h"
#include "tools/rdma-qosctl/rendering/path_answers.h"
#include "tools/rdma-qosctl/rendering/plan.h"
#include "tools/rdma-qosctl/rendering/port_classes.h"
#include "tools/rdma-qosctl/rendering/signal.h"
#include "tools/rdma-qosctl/rendering/world_json.h"
#include "tools/rdma-qosctl/world/busy_rates.h"
#include "tools/rdma-qosctl/world/host.h"
#include "tools/rdma-qosctl/world/online.h"
#include "tools/rdma-qosctl/world/problems.h"

namespace rdmaqos::ctl {
namespace {

using rdmaqos::test::expect_golden;
using namespace rdmaqos::ctl::test;
using testing::ElementsAre;

TEST(Render, Levels)
{
    expect_golden("ctl/levels.txt", render_levels(sample_world().manager.levels, Colour::Off));
}

TEST(Render, QueuePairsOfTheHost)
{
    expect_golden("ctl/qps.txt", render_host_queue_pairs(sample_host(), Colour::Off));
    expect_golden("ctl/qps.json", to_text({{"queue-pairs", api::to_json(sample_host())}}));
    EXPECT_EQ(render_host_queue_pairs({}, Colour::Off), "no queue pair\n");
    const auto below = [](const std::vector<api::HostQueuePair>& queue_pairs) {
        const std::string text = render_host_queue_pairs(queue_pairs, Colour::Off);
        const auto end_of_table = text.find("\n\n");
        return end_of_table == std::string::npos ? "" : text.substr(end_of_table + 2);
    };
    EXPECT_EQ(below(sample_host()), "");
    EXPECT_EQ(below({not_adopted(1, "not-adoptable", "because"), not_adopted(2, "not-adoptable", "because")}),
              "not-adoptable: because\n");
    EXPECT_EQ(below({not_adopted(1, "not-adoptable", "a"), not_adopted(2, "not-adoptable", "b\x1b")}),
              "not-adoptable, mlx5_0/1:1: a\nnot-adoptable, mlx5_0/1:2: b\\x1b\n");
}

TEST(Render, StatusCountsTheHost)
{
    World world = sample_world();
    world.host_counts = sample_host_counts();
    expect_golden("ctl/status-host.txt", render_status(world, find_problems(world), Colour::Off));
}

TEST(HostFilter, TakesWhatItNames)
{
    const auto taken = [](const HostFilter& filter) {
        std::vector<std::uint64_t> numbers;
        for (const auto& queue_pair : sample_host()) {
            if (filter.takes(queue_pair)) {
                numbers.push_back(queue_pair.number);
            }
        }
        return numbers;
    };
    EXPECT_THAT(taken({}), ElementsAre(1, 17, 40, 99));
    EXPECT_THAT(taken({"", {}, "RPC", "", false}), ElementsAre(17));
    EXPECT_THAT(taken({"", {}, "", "job-*.scope", false}), ElementsAre(17));
    EXPECT_THAT(taken({"", {}, "", "", true}), ElementsAre(40, 99)) << "those of the kernel cannot be placed";
    EXPECT_THAT(taken({"", {}, "", "", true, {"owner-unknown", "no-rule"}}), ElementsAre(40));
    EXPECT_THAT(taken({"", {}, "", "", true, {"kernel"}}), ElementsAre(1)) << "asked for by name";
}

TEST(Render, StatusSaysWhetherProgramsAreAdopted)
{
    World world = sample_world();
    const auto line = [&] {
        const std::string text = render_status(world, find_problems(world), Colour::Off);
        for (const auto each : lines_of(text)) {
            if (each.starts_with("adoption:")) {
                return std::string(without_leading_blanks(each.substr(9)));
            }
        }
        return std::string("nothing");
    };
    EXPECT_EQ(line(), "nothing") << "an older daemon does not tell";
    world.manager.adoption = {"count", "", 0, 0};
    EXPECT_EQ(line(), "off (unregistered: count)");
    world.manager.adoption = {"adopt", "", 12, 96};
    EXPECT_EQ(line(), "on: 12 programs, 96 queue pairs");
    world.manager.adoption = {"adopt", "", 1, 1};
    EXPECT_EQ(line(), "on: 1 program, 1 queue pair");
    EXPECT_TRUE(find_problems(world).empty());
    world.manager.adoption.unavailable = "the kernel is older than 5.6";
    EXPECT_EQ(line(), "unavailable, see below");
    const auto problems = find_problems(world);
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_TRUE(problems[0].is_error);
    EXPECT_EQ(problems[0].what, "programs that do not register are not adopted: the kernel is older than 5.6");
}

TEST(Render, LevelsSayWhatEachPrincipalMayHave)
{
    const std::vector<api::Level> levels{
        {.name = "a",
         .class_path = "/a",
         .fair_by = "cgroup",
         .fair_by_pattern = "/slurm/*",
         .max_rate_each = Bandwidth::from_gbps(10),
         .leaf_budget = 64},
        {.name = "b", .class_path = "/b", .fair_by = "user", .max_rate_each_part = Percentage::from_hundredths(2500)},
        {.name = "c", .class_path = "/c", .fair_by = "process"}};
    const std::string text = render_levels(levels, Colour::Off);
    EXPECT_THAT(text, testing::HasSubstr("  cgroup /slurm/*, each 10 Gbit/s, 64 leaves  "));
    EXPECT_THAT(text, testing::HasSubstr("  user, each 25 %  "));
    EXPECT_THAT(text, testing::HasSubstr("  process  "));
}

TEST(Render, NoLevels)
{
    EXPECT_EQ(render_levels({}, Colour::Off), "no level: no policy is running\n");
    auto levels = sample_world().manager.levels;
    levels.at(1).mode = "monitor";
    EXPECT_THAT(
        render_levels(levels, Colour::Off),
        testing::EndsWith("\nlevel rpc is only monitored (`mode: monitor`): nothing is written to a device for it\n"));
}

TEST(Render, LevelsThatAreStrictAreSaidToBe)
{
    auto levels = sample_world().manager.levels;
    levels.at(1).strict = true;
    EXPECT_THAT(render_levels(levels, Colour::Off),
                testing::EndsWith("\nlevel rpc is strict: in a port whose traffic classes are as the policy asks, its "
                                  "class goes first\n"));
}

TEST(Render, SessionsShowThePerQueuePairChoice)
{
    expect_golden("ctl/sessions.txt", render_sessions({sample_session_rpc(), sample_session_bulk()}, 0, Colour::Off));
}

// On a terminal.
TEST(Render, OfManySessionsSomeAreShown)
{
    std::vector<SessionView> many(102, sample_session_rpc());
    ASSERT_FALSE(many.front().queue_pairs.empty());
    const std::size_t each = many.front().queue_pairs.size();
    const std::string some = render_sessions(many, 100, Colour::Off);
    EXPECT_THAT(some, testing::HasSubstr("\n... and more; `--all` lists them\n\nSESSION"));
    EXPECT_THAT(some, testing::EndsWith(fmt::format("\n... {} queue pairs more of these sessions; `--all` lists "
                                                    "them, `sessions PID` those of a process\n",
                                                    100 * each - 100 / each * each)));
    EXPECT_EQ(std::ranges::count(some, '\n'), 101 + 1 + 1 + 1 + static_cast<std::ptrdiff_t>(100 / each * each) + 1);
    EXPECT_THAT(render_sessions(many, 0, Colour::Off), testing::Not(testing::HasSubstr("more")));
    EXPECT_EQ(render_sessions({many.front()}, 100, Colour::Off), render_sessions({many.front()}, 0, Colour::Off));
}

TEST(Render, NoSessions)
{
    EXPECT_EQ(render_sessions({}, 0, Colour::Off), "no session: no process has registered\n");
}

TEST(Render, NamesFromOutsideAreMadePrintable)
{
    const std::string text = render_sessions({sample_session_bulk()}, 0, Colour::Off);
    EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
    EXPECT_NE(text.find("cp\\x1b[31m"), std::string::npos) << text;
}

TEST(Render, Devices)
{
    expect_golden("ctl/devices.txt", render_devices(troubled_world(), Colour::Off));
}

TEST(Render, DevicesInColour)
{
    expect_golden("ctl/devices-colour.txt", render_devices(troubled_world(), Colour::On));
}

TEST(Render, DeviceInDetail)
{
    expect_golden("ctl/device.txt", render_device(troubled_world().devices[0], Colour::Off));
}

TEST(Render, DeviceThatCannotSchedule)
{
    DeviceView device = sample_device("rxe0");
    device.capabilities = {};
    const std::string text = render_device(device, Colour::Off);
    EXPECT_NE(text.find("none: no class can be enforced"), std::string::npos) << text;
}

std::string tree_text(const DeviceView& device, const BusyRates* busy)
{
    return render_device_trees({{&device, busy}}, 0, Colour::Off);
}

TEST(Render, Tree)
{
    expect_golden("ctl/tree.txt", tree_text(sample_device("mlx5_0"), nullptr));
}

TEST(Render, TreeWithDrainingAndWhatLeavesGet)
{
    const DeviceView device = troubled_world().devices[0];
    const BusyRates busy = busy_rates({}, device);
    expect_golden("ctl/tree-busy.txt", tree_text(device, &busy));
}

TEST(Render, TreeOfProcessesAndWhatLeavesAreAssumedToGet)
{
    World world = sample_world();
    world.devices[0].attach_mode = "per-process";
    const BusyRates busy = busy_rates(world, world.devices[0]);
    expect_golden("ctl/tree-busy-per-process.txt", tree_text(world.devices[0], &busy));
}

TEST(Render, EmptyTree)
{
    DeviceView device = sample_device("mlx5_0");
    device.tree.clear();
    EXPECT_EQ(tree_text(device, nullptr),
              "mlx5_0/1  ready, 100 Gbit/s, shared\nno element: the running policy schedules nothing here\n");
    device.state = "disabled";
    EXPECT_EQ(tree_text(device, nullptr), "mlx5_0/1  disabled, 100 Gbit/s, shared\n"
                                          "no element: `rdma-qosctl enable` makes those of the policy\n");
}

// The link is divided 70:30, the capped class takes its 40 Gbit/s and leaves the rest.
TEST(Render, BusyRatesAreTheSolvers)
{
    const BusyRates rates = busy_rates({}, sample_device("mlx5_0"));
    ASSERT_EQ(rates.leaves.size(), 2U);
    EXPECT_EQ(rates.leaves.at("/tenants/rpc/pid:4711"), Bandwidth::from_gbps(40));
    EXPECT_EQ(rates.leaves.at("/bulk"), Bandwidth::from_gbps(60));
}

TEST(Render, StatusWhenNothingIsWrong)
{
    const World world = sample_world();
    expect_golden("ctl/status-ok.txt", render_status(world, find_problems(world), Colour::Off));
}

TEST(Render, StatusWithNothingButNotes)
{
    World world = sample_world();
    world.devices[1].link_up = false;
    const std::string text = render_status(world, find_problems(world), Colour::Off);
    EXPECT_NE(text.find("nothing is wrong, 1 thing worth knowing:\n  note: mlx5_1/1: the link is down\n"),
              std::string::npos)
        << text;
}

// It says no more than it could see.
TEST(Render, StatusWithPortsThatWereNotLookedAtWhole)
{
    World world = sample_world();
    world.unchecked = {{"eth0", "buffers of eth0", "its driver does not tell"},
                       {"eth0", "congestion notifications of mlx5_0", "only root may read them"},
                       {"eth1", "buffers of eth1", "its driver does not tell"}};
    EXPECT_THAT(
        render_status(world, find_problems(world), Colour::Off),
        testing::EndsWith("nothing is wrong in what could be checked\n"
                          "  not checked: parts of the settings of eth0, eth1: `rdma-qosctl check --host` says which, "
                          "and why\n"));
}

TEST(Render, StatusWithProblems)
{
    const World world = troubled_world();
    expect_golden("ctl/status-problems.txt", render_status(world, find_problems(world), Colour::Off));
}

TEST(Render, StatusWithoutPolicyAndDevices)
{
    World world;
    world.manager.version = "0.1.0";
    world.manager.mode = "monitor";
    expect_golden("ctl/status-empty.txt", render_status(world, find_problems(world), Colour::Off));
}

TEST(Render, LongReloadErrorIsCut)
{
    World world = sample_world();
    world.manager.last_reload.accepted = false;
    for (int i = 0; i < 40; ++i) {
        world.manager.last_reload.diagnostics.error({}, "one more");
    }
    const std::string text = render_status(world, find_problems(world), Colour::Off);
    EXPECT_NE(text.find("... (the rest: rdma-qosctl status --json)"), std::string::npos) << text;
    EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 35);
}

TEST(Render, Grant)
{
    api::Grant grant = sample_session_rpc().grant;
    grant.queue_pairs = sample_session_rpc().queue_pairs;
    expect_golden("ctl/grant.txt", render_grant("3", grant, Colour::Off));
}

TEST(Render, RefusedQueuePair)
{
    const api::Grant grant{.queue_pairs = {{.device = "mlx5_9",
                                            .number = 5,
                                            .error = "org.rdmaqos1.Error.UnknownDevice",
                                            .message = "there is no mlx5_9"}}};
    const std::string text = render_grant("3", grant, Colour::Off);
    EXPECT_NE(text.find("refused"), std::string::npos) << text;
    EXPECT_NE(text.find("there is no mlx5_9"), std::string::npos) << text;
}

TEST(Render, Answers)
{
    const api::PathAnswer answer{.level = "rpc",
                                 .rule = "requested by name",
                                 .source = "fd00::1",
                                 .destination = "fd00::2",
                                 .mtu = 4096,
                                 .rate = Bandwidth::from_gbps(40),
                                 .packet_life = 16,
                                 .pkey = 0x9234,
                                 .sl = 3};
    const api::PathAnswer bare{
        .level = "DEFAULT", .rule = "DEFAULT", .mtu = 2048, .rate = Bandwidth::from_gbps(100), .packet_life = 18};
    expect_golden("ctl/answers.txt", render_answers({answer, bare}, Colour::Off));
}

api::DeviceResult result(const char* device, std::uint32_t operations, const std::vector<std::string>& failures)
{
    api::DeviceResult result{device, operations};
    for (const auto& failure : failures) {
        result.failures.push_back({.message = failure});
    }
    return result;
}

TEST(Render, Reconciled)
{
    expect_golden(
        "ctl/reconciled.txt",
        render_reconciled({result("mlx5_0/1", 0, {}), result("mlx5_1/1", 2, {"create /x: no space (tried 2 times)"})},
                          Colour::Off));
    EXPECT_EQ(render_reconciled({}, Colour::Off), "no device: nothing to do\n");
}

TEST(Render, APacedQueuePairShowsWhereItsBurstComesFrom)
{
    const auto rate = Bandwidth::from_gbps(2);
    const auto grant = [](const std::optional<RateLimit>& limit) {
        return render_grant("3", {.per_queue_pair = limit}, Colour::Off);
    };
    EXPECT_THAT(
        grant(RateLimit{rate, 65536, {}}),
        testing::HasSubstr("per queue pair:  2 Gbit/s; burst: 64 KiB, packet: device default (the port's MTU)\n"));
    EXPECT_THAT(grant(RateLimit{rate, {}, 1024}),
                testing::HasSubstr("per queue pair:  2 Gbit/s; burst: device default, packet: 1 KiB\n"));
    EXPECT_THAT(grant({}), testing::Not(testing::HasSubstr("device default")));
}

TEST(Render, Switched)
{
    expect_golden("ctl/switched.txt",
                  render_switched({result("mlx5_0/1", 0, {}),
                                   result("mlx5_1/1", 2, {"destroy /x: holds queue pairs (tried 1 time)"})},
                                  "disabled", Colour::Off));
    EXPECT_EQ(render_switched({}, "disabled", Colour::Off), "no device: nothing to do\n");
}

TEST(Render, Drift)
{
    const api::Drift share{"mlx5_0/1", "/bulk", "share", "30", "31"};
    const api::Drift missing{"mlx5_0/1", "/tenants/rpc", "missing", "node", ""};
    expect_golden("ctl/drift.txt", render_drift({share, missing}, Colour::Off));
    EXPECT_EQ(render_drift({}, Colour::Off), "no drift: everything is as written\n");
}

struct SignalCase {
    bus::Signal signal;
    const char* line;
};

struct HeardCase {
    bus::Signal signal;
    const char* sentence;
};

TEST(Render, SignalsAsSentences)
{
    const std::string root = "/org/rdmaqos1";
    const std::string session = root + "/session/3";
    const std::string adopted = root + "/session/4";
    const std::string device = root + "/device/mlx5_0";
    const std::string manager = "org.rdmaqos1.Manager";
    const std::string properties = "org.freedesktop.DBus.Properties";
    const std::string objects = "org.freedesktop.DBus.ObjectManager";
    const bus::Dict grant = dict({{"level", "rpc"}, {"enforced", true}});
    bool is_there = true;
    Narrator narrator([&](const std::string& path, const char*) -> std::optional<bus::Dict> {
        if (!is_there) {
            return std::nullopt;
        }
        if (path == session) {
            return dict({{"Owner", dict({{"pid", 4711U}, {"uid", 4294967290U}, {"command", "trainer\x1b"}})},
                         {"Grant", grant}});
        }
        if (path == adopted) {
            return dict({{"Owner", dict({{"pid", 4712U}, {"uid", 4294967290U}, {"command", "ib_write_bw"}})},
                         {"Adopted", true},
                         {"Grant", grant}});
        }
        return dict({{"Name", "mlx5_0"}, {"Port", 1U}, {"Reason", "the link is down"}});
    });
    const HeardCase cases[] = {
        {{root, manager, "PolicyChanged", {"abc"}}, "policy revision abc is in force"},
        {{root, manager, "TrialChanged", {"begun", "abc"}}, "policy revision abc is being tried"},
        {{root, manager, "TrialChanged", {"confirmed", "abc"}}, "policy revision abc, which was tried, is confirmed"},
        {{root, manager, "TrialChanged", {"timeout", "def"}},
         "the trial is over, nobody has confirmed it in time: back to policy revision def"},
        {{root, manager, "TrialChanged", {"reload", "def"}},
         "the trial is over, a reload has taken the files: back to policy revision def"},
        {{root, manager, "DriftRepaired", {bus::ObjectPath{device}, 2U}},
         "mlx5_0/1: 2 elements had drifted and were repaired"},
        {{root, manager, "DriftRepaired", {bus::ObjectPath{device}, 1U}},
         "mlx5_0/1: 1 element had drifted and was repaired"},
        {{root, manager, "DeviceChanged", {bus::ObjectPath{device}, "degraded"}},
         "mlx5_0/1 is degraded: the link is down"},
        {{root, objects, "InterfacesAdded", {bus::ObjectPath{session}}},
         "session 3 (trainer\\x1b, pid 4711, 4294967290) registered: level rpc, enforced"},
        {{root, objects, "InterfacesAdded", {bus::ObjectPath{adopted}}},
         "session 4 (ib_write_bw, pid 4712, 4294967290) was adopted: level rpc, enforced"},
        {{session,
          "org.rdmaqos1.Session",
          "GrantChanged",
          {dict({{"level", "bulk"}, {"enforced", false}, {"reason", "the link is down"}})}},
         "session 3 (trainer\\x1b, pid 4711, 4294967290): level bulk, not enforced: the link is down"},
        {{session,
          properties,
          "PropertiesChanged",
          {"org.rdmaqos1.Session", dict({{"State", "detached"}, {"Grant", grant}}), std::vector<std::string>{}}},
         "session 3 (trainer\\x1b, pid 4711, 4294967290): detached"},
        {{device,
          properties,
          "PropertiesChanged",
          {"org.rdmaqos1.Device",
           dict({{"QueuePairsInside", 12U}, {"ElementsUsed", 7U}, {"State", "ready"}, {"Firmware", "22"}}),
           std::vector<std::string>{"Tree"}}},
         "mlx5_0/1: 12 queue pairs in leaves, 7 elements, new Firmware"},
        {{root,
          properties,
          "PropertiesChanged",
          {manager, dict({{"PolicyRevision", "abc"}}), std::vector<std::string>{}}},
         ""},
        {{root,
          properties,
          "PropertiesChanged",
          {manager, dict({{"Mode", "monitor"}, {"LastReload", dict({{"accepted", false}})}}),
           std::vector<std::string>{}}},
         "rdma-qosd: mode monitor, the last reload was refused (`rdma-qosctl status`)"},
        {{root, manager, "SomethingNew", {}}, "/org/rdmaqos1 org.rdmaqos1.Manager.SomethingNew"},
        {{root, manager, "PolicyChanged", {}}, "policy revision  is in force"},
    };
    for (const auto& [signal, sentence] : cases) {
        EXPECT_EQ(narrator.sentence(signal), sentence);
    }
    is_there = false;
    EXPECT_EQ(narrator.sentence({root, objects, "InterfacesRemoved", {bus::ObjectPath{session}}}),
              "session 3 (trainer\\x1b, pid 4711, 4294967290) ended")
        << "what has ended is remembered";
    EXPECT_EQ(narrator.sentence({root, objects, "InterfacesRemoved", {bus::ObjectPath{session}}}), "session 3 ended");
    EXPECT_EQ(narrator.sentence({root, objects, "InterfacesAdded", {bus::ObjectPath{session}}}),
              "session 3 registered");
    EXPECT_EQ(narrator.sentence({root, objects, "InterfacesRemoved", {bus::ObjectPath{device}}}),
              "mlx5_0/1 is not managed any more");
    const bus::ObjectPath unknown{root + "/device/mlx5_5f1_2f1"};
    EXPECT_EQ(narrator.sentence({root, objects, "InterfacesRemoved", {unknown}}), "mlx5_1/1 is not managed any more")
        << "by the name that people know, not by its path";
}

// What of it the sentences are made of.
bus::Dict as_it_travels(const api::Port& port)
{
    bus::Dict result = dict({{"state", port.state}, {"reason", port.reason}, {"netdev", port.netdev}});
    if (port.read_at) {
        result.set("read-at", *port.read_at);
    }
    if (const auto& change = port.last_change) {
        result.set("last-change", dict({{"at", change->at}, {"by", change->by}}));
    }
    if (const auto& care = port.care) {
        bus::Dict management = dict(
            {{"state", std::string(to_string(care->keeping))}, {"reason", care->reason}, {"repairs", care->repairs}});
        if (const auto& drift = care->drift) {
            management.set("drift", dict({{"at", drift->at}, {"by", drift->by}, {"what", drift->what}}));
        }
        result.set("management", std::move(management));
    }
    return result;
}

TEST(Render, AChangeOfTrafficClassesIsSaidInWords)
{
    const std::string path = "/org/rdmaqos1/device/mlx5_0";
    Narrator narrator([](const std::string&, const char*) {
        return std::optional(dict({{"Name", "mlx5_0"}, {"Port", 1U}}));
    });
    api::Port port{.state = std::string(api::kPortRead), .netdev = "ens1"};
    const auto said = [&] {
        return narrator.sentence(
            {path,
             "org.freedesktop.DBus.Properties",
             "PropertiesChanged",
             {"org.rdmaqos1.Device", dict({{"PortClasses", as_it_travels(port)}}), std::vector<std::string>{}}});
    };
    port.last_change = {1, "the tool dcb"};
    EXPECT_EQ(said(), "mlx5_0/1: traffic classes of ens1 changed, by the tool dcb");
    port.read_at = 17;
    EXPECT_EQ(said(), "") << "read again, as before";
    port.last_change = {2, "the tool dcb"};
    EXPECT_EQ(said(), "mlx5_0/1: traffic classes of ens1 changed, by the tool dcb");
    api::PortCare& care = port.care.emplace();
    care.keeping = PortKeeping::Kept;
    EXPECT_EQ(said(), "mlx5_0/1: traffic classes of ens1: set as the policy asks");
    care.findings = {"/plain: requested a traffic class of its own"};
    EXPECT_EQ(keeping_in_words("ens1", care),
              "traffic classes of ens1: set as the policy asks, as far as the port can have it");
    care.findings.clear();
    care.keeping = PortKeeping::Pending;
    EXPECT_EQ(said(), "mlx5_0/1: traffic classes of ens1: being set");
    care.keeping = PortKeeping::Kept;
    care.repairs = 1;
    care.drift = {3, "the tool dcb", "caps class 1 at 15 Gbit/s"};
    EXPECT_EQ(said(),
              "mlx5_0/1: traffic classes of ens1: set as the policy asks; what the tool dcb wrote was put back: "
              "caps class 1 at 15 Gbit/s");
    care.repairs = 2;
    EXPECT_EQ(said(), "mlx5_0/1: traffic classes of ens1: what the tool dcb wrote was put back: caps class 1 at 15 "
                      "Gbit/s");
    care.keeping = PortKeeping::Stopped;
    care.reason = "others write, too";
    EXPECT_EQ(said(), "mlx5_0/1: traffic classes of ens1: not set any more: others write, too");
    port.care.reset();
    EXPECT_EQ(said(), "mlx5_0/1: traffic classes of ens1: not set by the daemon any more");
    port.state = "failed";
    port.reason = "no answer";
    EXPECT_EQ(said(), "mlx5_0/1: traffic classes of ens1 cannot be read: no answer");
    EXPECT_EQ(said(), "");
}

}    // namespace
}    // namespace rdmaqos::ctl
