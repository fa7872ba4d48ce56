// `check --host`: what is shown of a host's ports, and what of a policy they are compared with.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "policy/load/policy_reader.h"
#include "tests/support/golden.h"
#include "tests/support/temp_dir.h"
#include "tools/rdma-qosctl/offline/port_demands.h"
#include "tools/rdma-qosctl/rendering/check.h"

namespace rdmaqos::ctl {
namespace {

using rdmaqos::test::expect_golden;

CheckReport good_report()
{
    CheckReport report;
    report.sources = {"policy.yaml"};
    report.revision = "9f3a2c11";
    report.levels = 3;
    report.note = "checked against the devices of the running daemon";
    report.devices = {{"mlx5_0/1", 3, 6, {}, {}}};
    return report;
}

CheckReport report_with_ports()
{
    CheckReport report = good_report();
    report.ports = CheckedPorts{
        {"eth0", "eth1"},
        {"eth2: its driver has no DCB netlink"},
        {{.rule = "cnp-lossless",
          .interface = "eth0",
          .traffic_class = 3,
          .what = "congestion notifications (CNP) of eth0 have the lossless priority 3",
          .why = "a pause stops them when they are needed, and the congestion that they report spreads",
          .command = "dcb app replace dev eth0 dscp-prio 48:6",
          .caution = "priority 6 must not be lossless"},
         {.rule = "trust",
          .interface = "eth1",
          .levels = {"rpc", "bulk"},
          .what = "eth1 does not look at the DSCP of packets: no DSCP has a priority",
          .why = "packets of levels rpc and bulk have priority 0, in traffic class 0, with all that have no mark",
          .command = "dcb app add dev eth1 dscp-prio 26:3 34:PRIORITY"},
         {.rule = "trust",
          .interface = "eth3",
          .levels = {"rpc"},
          .what = "eth3 does not look at the DSCP of packets: no DSCP has a priority",
          .why = "packets of level rpc have priority 0; its driver, qede, cannot map DSCPs"}},
        {{"eth0", "congestion notifications of mlx5_0", "their DSCP cannot be read: only root may read it"}}};
    report.ports->interfaces.emplace_back("eth3");
    return report;
}

// No port is found there, which says nothing of the host.
TEST(Check, SaysWhyNoPortCanBeFoundBelowARoot)
{
    const rdmaqos::test::TempDir root;
    EXPECT_EQ(why_no_ports(root.path()), fmt::format("there is no {}/sys/class, where the kernel lists the ports of a "
                                                     "host",
                                                     root.path().string()));
    std::filesystem::create_directories(root.path() / "sys/class");
    EXPECT_EQ(why_no_ports(root.path()), "");
}

TEST(Check, ShowsHowThePortsOfTheHostAreSet)
{
    EXPECT_TRUE(report_with_ports().ok()) << "it is not what the policy is refused for";
    expect_golden("ctl/check-host.txt", render_check(report_with_ports(), Colour::Off));
    expect_golden("ctl/check-host.json", to_text(check_json(report_with_ports())));
    CheckReport nothing = good_report();
    nothing.ports = CheckedPorts{{"eth0"}, {}, {}};
    expect_golden("ctl/check-host-well.txt", render_check(nothing, Colour::Off));
    nothing.ports->unchecked = {{"eth0", "congestion notifications of mlx5_0", "only root may read them"}};
    expect_golden("ctl/check-host-unchecked.txt", render_check(nothing, Colour::Off));
    nothing.ports->unchecked.clear();
    nothing.ports->compared_lanes = {"mlx5_1/1", "mlx5_2/1"};
    expect_golden("ctl/check-host-lanes.txt", render_check(nothing, Colour::Off));
    nothing.ports = CheckedPorts{};
    expect_golden("ctl/check-host-none.txt", render_check(nothing, Colour::Off));
    nothing.ports->notes = {"eth2: its driver has no DCB netlink"};
    expect_golden("ctl/check-host-unseen.txt", render_check(nothing, Colour::Off));
}

TEST(PortDemands, AreThoseOfThePolicyForTheDevice)
{
    const auto read = read_policy({std::make_shared<const SourceFile>(SourceFile{"policy.yaml", R"(version: 1
scheduling-nodes:
  - {name: tenants, share: 70, max-rate: 80Gbps}
qos-levels:
  - {name: DEFAULT}
  - {name: rpc, dscp: 26, schedule: {parent: tenants, max-rate: 25%}}
  - {name: bulk, dscp: 34, schedule: {share: 30}}
  - {name: control, dscp: 46, schedule: {strict: true}}
  - {name: marked, dscp: 10}
  - {name: elsewhere, dscp: 12, devices: [mlx5_9], schedule: {share: 5}}
)"})},
                                  NameService{});
    ASSERT_TRUE(read.value) << render(read.diagnostics, Colour::Off);
    port_lint::Interface port;
    port.link_speed = Bandwidth::from_gbps(200);
    set_demands(port, *read.value, {"mlx5_0", 1, "eth0", "", LinkLayer::Ethernet, *port.link_speed});
    std::string text;
    for (const auto& child : port.root_children) {
        text += fmt::format("{} {} {}{}\n", child.name, child.share.value_or(0),
                            child.max_rate ? to_string(*child.max_rate) : "-", child.is_strict ? " strict" : "");
    }
    for (const auto& level : port.levels) {
        text += fmt::format("{} {} below {} {}\n", level.name, level.traffic_class.value_or(0),
                            level.root_child.empty() ? "nothing" : level.root_child,
                            level.max_rate ? to_string(*level.max_rate) : "-");
    }
    EXPECT_EQ(text, "tenants 70 80 Gbit/s\n"
                    "bulk 30 -\n"
                    "control 1 - strict\n"
                    "rpc 104 below tenants 20 Gbit/s\n"
                    "bulk 136 below bulk -\n"
                    "control 184 below control -\n"
                    "marked 40 below nothing -\n");
}

}    // namespace
}    // namespace rdmaqos::ctl
