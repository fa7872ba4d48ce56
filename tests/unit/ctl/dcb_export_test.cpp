#include "tools/rdma-qosctl/offline/dcb_export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/dcb/driver.h"
#include "lib/port_classes/rules.h"
#include "policy/load/policy_reader.h"
#include "tests/support/golden.h"

namespace rdmaqos::ctl {
namespace {

using rdmaqos::test::expect_golden;
using ::testing::EndsWith;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr const char* kPolicy = R"(version: 1
qos-levels:
  - {name: DEFAULT}
  - {name: rpc, dscp: 26, schedule: {share: 70}}
  - {name: bulk, dscp: 10, schedule: {share: 30, max-rate: 40Gbps}}
  - {name: logs, schedule: {share: 1}}
)";

dcb::PortSettings fresh_port()
{
    dcb::PortSettings port;
    port.ets = dcb::Ets{};
    for (std::uint8_t priority = 0; priority < dcb::kPriorities; ++priority) {
        port.ets->class_of_priority.at(priority) = priority;
    }
    port.ets->traffic_class.at(0) = {dcb::Selection::Ets, 100, {}};
    port.has_max_rates = true;
    return port;
}

PortExport export_to(const dcb::PortSettings& before, const std::string& driver, const Settings& settings = {})
{
    const auto read = read_policy({std::make_shared<const SourceFile>(SourceFile{"policy.yaml", kPolicy})},
                                  NameService{});
    EXPECT_TRUE(read.value) << render(read.diagnostics, Colour::Off);
    return read.value
               ? export_port(*read.value, settings,
                             {"mlx5_0", 1, "ens1", "0000:3b:00.0", LinkLayer::Ethernet, Bandwidth::from_gbps(100)},
                             driver, before)
               : PortExport{};
}

TEST(DcbExport, PrintsAScript)
{
    Settings settings;
    settings.cnp_dscp = 48;
    expect_golden("ctl/export-dcb.txt", to_script(export_to(fresh_port(), "mlx5_core", settings)));
    expect_golden("ctl/export-dcb-ice.txt", to_script(export_to(fresh_port(), "ice", settings)));
}

TEST(DcbExport, GivesNotificationsNoClassUnlessAsked)
{
    const PortExport exported = export_to(fresh_port(), "mlx5_core");
    EXPECT_THAT(to_script(exported), Not(HasSubstr("congestion notifications")));
    EXPECT_THAT(to_script(exported), HasSubstr(" 48:0 "));
}

// Who runs it would have it undone, and after the third time the daemon gives up the port.
TEST(DcbExport, SaysSoWhereTheDaemonKeepsThePort)
{
    PortExport exported = export_to(fresh_port(), "mlx5_core");
    EXPECT_THAT(to_script(exported), Not(HasSubstr("rdma-qosd")));
    exported.is_kept = true;
    EXPECT_THAT(
        to_script(exported),
        StartsWith("# ens1\n"
                   "# rdma-qosd keeps the traffic classes of this port and puts back what others set, so do not "
                   "run this:\n"
                   "# `rdma-qosctl plan` shows what a reload of the daemon would set, and the reload sets it\n"
                   "# class "));
}

TEST(DcbExport, HasNoCommandsForADriverThatItDoesNotKnow)
{
    const PortExport exported = export_to(fresh_port(), "nothing");
    EXPECT_THAT(exported.steps, IsEmpty());
    EXPECT_THAT(to_script(exported), EndsWith("# nothing to set\n"));
}

class WhatTheScriptLeaves : public ::testing::TestWithParam<const char*> {};

TEST_P(WhatTheScriptLeaves, IsWhatItPrintsNothingFor)
{
    const PortExport first = export_to(fresh_port(), GetParam());
    ASSERT_FALSE(first.steps.empty());
    dcb::PortSettings port = first.before;
    const port_classes::Rules rules = port_classes::rules_of(dcb::find_driver(GetParam()));
    for (const port_classes::Step& step : first.steps) {
        port = port_classes::after(std::move(port), step.write, rules);
    }
    EXPECT_THAT(export_to(port, GetParam()).steps, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Drivers, WhatTheScriptLeaves, ::testing::Values("mlx5_core", "bnxt_en", "ice", "hns3"));

}    // namespace
}    // namespace rdmaqos::ctl
