// What the command says of the traffic classes of ports.
#include "tools/rdma-qosctl/rendering/port_classes.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "lib/port_lint/lint.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/ctl/sample.h"
#include "tools/rdma-qosctl/offline/notifications.h"
#include "tools/rdma-qosctl/rendering/devices.h"
#include "tools/rdma-qosctl/rendering/world_json.h"
#include "tools/rdma-qosctl/rendering/world_text.h"
#include "tools/rdma-qosctl/world/port_levels.h"
#include "tools/rdma-qosctl/world/problems.h"

namespace rdmaqos::ctl {
namespace {

using namespace rdmaqos::ctl::test;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

// Priority 1 is in class 1: 60 %, at most 40 Gbit/s, lossless; DSCP 26, that of level rpc, has it.
dcb::PortSettings some_settings()
{
    dcb::PortSettings settings;
    dcb::Ets& ets = settings.ets.emplace();
    ets.traffic_class[0] = {dcb::Selection::Ets, 40, {}};
    ets.traffic_class[1] = {dcb::Selection::Ets, 60, Bandwidth::from_gbps(40)};
    ets.class_of_priority = {0, 1, 0, 0, 0, 0, 0, 2};
    settings.has_max_rates = true;
    settings.apps = {{dcb::Selector::Dscp, 26, 1}};
    settings.pfc.emplace().capacity = 8;
    settings.pfc->lossless[1] = true;
    settings.dcbx = dcb::Dcbx{.host = true, .firmware = false, .ieee = true, .cee = false};
    return settings;
}

World world_with(const dcb::PortSettings& settings)
{
    World world = sample_world();
    api::Port& port = world.devices.front().port_classes;
    port = {.state = std::string(api::kPortRead), .netdev = "ens1f0np0", .driver = "mlx5_core"};
    api::set_settings(port, settings);
    port.read_at = 1'800'000'000;
    port.last_change = {1'800'000'000, "the tool dcb, probably"};
    return world;
}

std::string shown(const World& world)
{
    return render_port_classes(world.devices.front(), world.manager.levels, Colour::Off);
}

TEST(PortClassesScreen, ALineForEachLevelWithADscp)
{
    const std::string text = shown(world_with(some_settings()));
    EXPECT_THAT(text, HasSubstr("traffic classes of ens1f0np0, trust dscp; changed "));
    EXPECT_THAT(text, HasSubstr(" by the tool dcb, probably\n"));
    EXPECT_THAT(text, ContainsRegex("rpc +26 +1 +1 +60 %, at most 40 Gbit/s +yes"));
    EXPECT_THAT(text, ContainsRegex("all others. +0 +0 +0 +40 % +no"));
    EXPECT_THAT(text, Not(HasSubstr("bulk"))) << "it has no DSCP";
}

TEST(PortClassesScreen, TheClassOfCongestionNotificationsWhereTheirDscpIsKnown)
{
    dcb::PortSettings settings = some_settings();
    settings.apps.push_back({dcb::Selector::Dscp, 48, 7});
    settings.ets->traffic_class[2] = {dcb::Selection::Strict, 0, Bandwidth::from_gbps(1)};
    World world = world_with(settings);
    EXPECT_THAT(shown(world), Not(HasSubstr("notifications")));
    world.devices.front().cnp_dscp = 48;
    EXPECT_THAT(shown(world), ContainsRegex("congestion notifications. +48 +7 +2 +strict, at most 1 Gbit/s +no"));
    Json json = Json::object();
    set_port_classes(json, world.devices.front(), world.manager.levels);
    EXPECT_EQ(json.at("port-classes").at("notifications"), Json::parse(R"({"dscp": 48, "priority": 7, "class": 2})"));
}

// What the driver says is before what the daemon says, and that before the settings; of ports that are not read,
// nothing is asked.
TEST(PortClassesScreen, TheDscpOfNotificationsIsThatOfTheDriverOrOfTheSettings)
{
    const rdmaqos::test::TempDir root;
    World world = world_with(some_settings());
    DeviceView& device = world.devices.front();
    const auto found = [&] {
        device.cnp_dscp.reset();
        find_notifications(world, root.path().string(), root.path());
        EXPECT_FALSE(world.devices.back().cnp_dscp);
        return device.cnp_dscp;
    };
    EXPECT_EQ(found(), std::nullopt);
    root.write("etc/rdma-qos/rdma-qosd.yaml", "version: 1\ncnp-dscp: 40\n");
    root.write("sys/class/net/" + device.netdev + "/ecn/roce_np/cnp_dscp", "48\n");
    EXPECT_EQ(found(), 40) << "a simulated device has no such file";
    device.port_classes.care.emplace().cnp_dscp = 41;
    EXPECT_EQ(found(), 41) << "what the daemon uses, whatever the file says by now";
    device.port_classes.care->cnp_dscp.reset();
    EXPECT_EQ(found(), std::nullopt);
    device.driver = "mlx5";
    EXPECT_EQ(found(), 48);
}

// Whoever reads that nothing is wrong must know what that is not about.
TEST(PortClassesScreen, StatusSaysThatTheyAreNotLookedAt)
{
    World world = sample_world();
    EXPECT_THAT(render_status(world, {}, Colour::Off), Not(HasSubstr("not checked")));
    world.devices.front().port_classes.state = "off";
    const std::string text = render_status(world, {}, Colour::Off);
    EXPECT_THAT(text, HasSubstr("nothing is wrong in what could be checked\n"
                                "  not checked: traffic classes of ports, which the daemon does not read "
                                "(`port-classes: off` in rdma-qosd.yaml): `rdma-qosctl check --host` reads them\n"));
    EXPECT_EQ(status_json(world, {}).at("unchecked"),
              Json::array({{{"interface", world.devices.front().netdev},
                            {"what", "traffic classes"},
                            {"why", "the daemon does not read them (`port-classes: off` in rdma-qosd.yaml)"}}}));
    world.devices.front().link_layer = "InfiniBand";
    EXPECT_THAT(render_status(world, {}, Colour::Off), Not(HasSubstr("not checked"))) << "it has none";
    EXPECT_EQ(status_json(world, {}).at("unchecked"), Json::array());
}

TEST(PortClassesScreen, IsPartOfStatusAndOfTheDevice)
{
    const World world = world_with(some_settings());
    const std::string text = shown(world);
    EXPECT_THAT(render_status(world, {}, Colour::Off), HasSubstr(text));
    EXPECT_THAT(render_device(world.devices.front(), Colour::Off, world.manager.levels), HasSubstr(text));
}

TEST(PortClassesScreen, NothingWhereNoLevelHasADscp)
{
    World world = world_with(some_settings());
    for (auto& level : world.manager.levels) {
        level.traffic_class.reset();
    }
    EXPECT_EQ(shown(world), "");
}

// One tree divides the port: levels in one traffic class get their shares all the same.
TEST(PortClassesScreen, SharesInOneClassAreWorthKnowingWithoutACommonTree)
{
    dcb::PortSettings settings = some_settings();
    settings.apps.clear();
    World world = world_with(settings);
    DeviceView& device = world.devices.front();
    std::uint32_t share = 0;
    for (auto& element : device.tree) {
        element.requested.share = ++share;
    }
    const auto names_shared_class = [&] {
        const auto port = interface_of(device, world.manager.levels);
        const auto findings = port_lint::lint(std::vector{port.value()});
        return std::ranges::any_of(findings, [](const auto& each) { return each.rule == "shared-class"; });
    };
    device.attach_mode = "per-process";
    EXPECT_TRUE(names_shared_class());
    device.attach_mode = "shared";
    EXPECT_FALSE(names_shared_class());
}

// Whoever has set them: what the tree does not divide between processes, they do.
TEST(PortClassesScreen, WhatDividesBetweenProcessesIsSaidWhereTheTreeDoesNot)
{
    World world = world_with(some_settings());
    DeviceView& device = world.devices.front();
    const auto said = [&world] {
        const auto problems = find_problems(world);
        EXPECT_EQ(problems.size(), 1U);
        return problems.at(0).what;
    };
    device.attach_mode = "per-process";
    EXPECT_EQ(said(), "mlx5_0/1 attaches per process: the tree does not enforce weights between processes; between its "
                      "traffic classes, ens1f0np0 divides the link as it is set");
    device.attach_mode = "none";
    EXPECT_EQ(said(), "mlx5_0/1 cannot attach queue pairs: the tree enforces no class; between its traffic classes, "
                      "ens1f0np0 divides the link as it is set");
    device.port_classes.care.emplace().keeping = PortKeeping::Kept;
    EXPECT_THAT(said(), HasSubstr("shares and caps hold between the traffic classes of ens1f0np0"));
    device.port_classes.care.reset();
    dcb::PortSettings settings = some_settings();
    settings.ets->class_of_priority = {};
    api::set_settings(device.port_classes = {.state = std::string(api::kPortRead), .netdev = "ens1f0np0"}, settings);
    EXPECT_EQ(said(), "mlx5_0/1 cannot attach queue pairs: no class is enforced") << "all is in one class";
    device.attach_mode = "per-process";
    EXPECT_EQ(said(), "mlx5_0/1 attaches per process: weights between processes are not enforced");
}

// `check --host` reads ports without the daemon, which undoes what others set in classes that it keeps.
TEST(PortClassesScreen, WhatTheDaemonKeepsIsKeptForTheLintToo)
{
    World world = world_with(some_settings());
    DeviceView& device = world.devices.front();
    device.attach_mode = "per-process";
    device.port_classes.care = api::PortCare{.keeping = PortKeeping::Kept};
    port_lint::Interface port;
    port.rdma.device = device.name;
    port.rdma.port = device.port;
    take_from_daemon(port, world.devices);
    EXPECT_TRUE(port.is_kept);
    EXPECT_FALSE(port.is_divided_by_tree);
    device.port_classes.care->keeping = PortKeeping::Stopped;
    device.attach_mode = "shared";
    take_from_daemon(port, world.devices);
    EXPECT_FALSE(port.is_kept) << "nothing is written there any more";
    EXPECT_TRUE(port.is_divided_by_tree);
    port.rdma.port = device.port + 1;
    port.is_divided_by_tree = false;
    take_from_daemon(port, world.devices);
    EXPECT_FALSE(port.is_divided_by_tree) << "another port";
    take_from_daemon(port, {});
    EXPECT_FALSE(port.is_kept);
}

TEST(PortClassesScreen, AsJson)
{
    const World world = world_with(some_settings());
    Json json = Json::object();
    set_port_classes(json, world.devices.front(), world.manager.levels);
    EXPECT_EQ(json.at("port-classes").at("state"), "read");
    EXPECT_EQ(json.at("port-classes").at("classes").at(1).at("weight"), 60);
    EXPECT_EQ(json.at("port-classes").at("levels"),
              Json::parse(R"([{"level": "rpc", "dscp": 26, "priority": 1, "class": 1},
                              {"dscp": 0, "priority": 0, "class": 0}])"));
    EXPECT_EQ(status_json(world, {}).at("devices").at(0).at("port-classes"), json.at("port-classes"));
    EXPECT_EQ(
        devices_json({&world.devices.front()}, nullptr, world.manager.levels).at("devices").at(0).at("port-classes"),
        json.at("port-classes"));
}

TEST(PortClassesScreen, OfADriverThatHasOnlyPriorities)
{
    dcb::PortSettings settings = some_settings();
    settings.ets.reset();
    settings.pfc.reset();
    settings.apps.clear();
    const std::string text = shown(world_with(settings));
    EXPECT_THAT(text, HasSubstr("trust pcp"));
    EXPECT_THAT(text, Not(HasSubstr("%")));
    EXPECT_THAT(text, Not(HasSubstr("yes")));
}

TEST(PortClassesScreen, StrictAndTheOtherKinds)
{
    EXPECT_EQ(in_words(dcb::TrafficClass{dcb::Selection::Strict, 0, {}}), "strict");
    EXPECT_EQ(in_words(dcb::TrafficClass{dcb::Selection::Strict, 0, Bandwidth::from_gbps(1)}),
              "strict, at most 1 Gbit/s");
    EXPECT_EQ(in_words(dcb::TrafficClass{dcb::Selection::CreditBasedShaper, 0, {}}), "credit-based");
    EXPECT_EQ(in_words(dcb::TrafficClass{dcb::Selection::Vendor, 0, {}}), "as the vendor does");
    EXPECT_EQ(in_words(std::nullopt), "-");
}

TEST(PortClassesScreen, NothingWhereThereIsNothing)
{
    World world = sample_world();
    for (const char* state : {"", "off", "none"}) {
        world.devices.front().port_classes = {.state = state, .reason = "its link layer is InfiniBand"};
        EXPECT_EQ(shown(world), "") << state;
        EXPECT_THAT(find_problems(world), IsEmpty()) << state;
    }
    EXPECT_TRUE(status_json(world, {}).at("devices").at(0).contains("port-classes"));
    world.devices.front().port_classes = {};
    EXPECT_FALSE(status_json(world, {}).at("devices").at(0).contains("port-classes")) << "an older daemon";
}

TEST(PortClassesScreen, AFailureIsShown)
{
    World world = sample_world();
    world.devices.front().port_classes = {
        .state = "failed", .reason = "the kernel\x1b has not answered", .netdev = "eth0"};
    EXPECT_EQ(shown(world), "traffic classes of eth0: the kernel\\x1b has not answered\n");
    const auto problems = find_problems(world);
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_FALSE(problems[0].is_error);
    EXPECT_THAT(problems[0].what, HasSubstr("mlx5_0/1: the traffic classes of eth0 cannot be read"));
    world.devices.front().port_classes.state = "pending";
    EXPECT_EQ(shown(world), "traffic classes of eth0: the kernel has not answered yet\n");
    EXPECT_THAT(find_problems(world), IsEmpty());
}

TEST(PortClassesScreen, APortThatIsNotAsItShouldBeIsAProblem)
{
    World world = sample_world();
    api::Port& port = world.devices.front().port_classes;
    port = {.state = "failed", .reason = "the kernel does not answer", .netdev = "eth0"};
    auto& care = port.care.emplace();
    care.keeping = PortKeeping::Waiting;
    care.reason = "the traffic classes of eth0 are not set yet, since they cannot be read: the kernel does not answer";
    EXPECT_THAT(shown(world), StartsWith("the traffic classes of eth0 are not set yet"));
    EXPECT_THAT(shown(world), HasSubstr("the daemon tries again"));
    auto problems = find_problems(world);
    ASSERT_EQ(problems.size(), 1U) << "once";
    EXPECT_TRUE(problems[0].is_error);
    EXPECT_EQ(problems[0].what, "mlx5_0/1: " + care.reason);

    port.state = "read";
    care.keeping = PortKeeping::Failed;
    care.reason = "what the traffic classes of eth0 were before is not put back: driver mlx5_core, step 1 of 2: EPERM";
    EXPECT_THAT(shown(world), HasSubstr("is not put back: driver mlx5_core"));
    EXPECT_THAT(shown(world), Not(HasSubstr("tries again")));
    problems = find_problems(world);
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_TRUE(problems[0].is_error);
    EXPECT_THAT(problems[0].advice, HasSubstr("`rdma-qosctl reconcile mlx5_0/1` tries again"));
}

// Level rpc has DSCP 26; here its packets have a lossy priority, while another one is lossless.
TEST(PortClassesScreen, TheLintIsGivenWhatThePolicySays)
{
    dcb::PortSettings settings = some_settings();
    settings.apps = {{dcb::Selector::Dscp, 26, 7}};
    World world = world_with(settings);
    const auto port = interface_of(world.devices.front(), world.manager.levels);
    ASSERT_TRUE(port);
    EXPECT_EQ(port->name, "ens1f0np0");
    EXPECT_EQ(port->driver, "mlx5_core");
    EXPECT_EQ(port->settings, settings);
    ASSERT_EQ(port->root_children.size(), 2U);
    EXPECT_EQ(port->root_children[1].name, "tenants");
    EXPECT_EQ(port->root_children[1].max_rate, Bandwidth::from_gbps(80));
    ASSERT_EQ(port->levels.size(), 3U);
    EXPECT_EQ(port->levels[1].name, "rpc");
    EXPECT_EQ(port->levels[1].traffic_class, 104);
    EXPECT_EQ(port->levels[1].root_child, "tenants");
    EXPECT_EQ(port->levels[2].root_child, "bulk");

    world.devices.front().lint = port_lint::lint(std::vector{*port});
    ASSERT_FALSE(world.devices.front().lint.empty());
    const auto& finding = world.devices.front().lint.front();
    const auto problems = find_problems(world);
    ASSERT_EQ(problems.size(), world.devices.front().lint.size());
    EXPECT_FALSE(problems[0].is_error);
    EXPECT_THAT(problems[0].what, HasSubstr("mlx5_0/1: " + finding.what));
    EXPECT_THAT(problems[0].advice, HasSubstr(finding.command));
    EXPECT_FALSE(interface_of(sample_world().devices.front(), world.manager.levels)) << "nothing was read";
}

}    // namespace
}    // namespace rdmaqos::ctl
