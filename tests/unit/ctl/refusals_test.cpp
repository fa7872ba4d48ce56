// What the command says when the daemon, a device or a port has not done what was asked.
#include <chrono>
#include <optional>

#include <gmock/gmock.h>

#include "lib/base/error.h"
#include "tests/unit/ctl/sample.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/rendering/plan.h"
#include "tools/rdma-qosctl/rendering/transient.h"
#include "tools/rdma-qosctl/rendering/world_text.h"
#include "tools/rdma-qosctl/world/problems.h"
#include "tools/rdma-qosctl/world/reports.h"

namespace rdmaqos::ctl {
namespace {

using namespace rdmaqos::ctl::test;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr const char* kRefused = "mlx5_0/1: the driver of ens1 says no";

ReloadView reload_with(bool is_given_up)
{
    ReloadView reload;
    reload.accepted = true;
    reload.revision = "abc";
    reload.failures = {{.device = "mlx5_0/1", .given_up = is_given_up, .message = "the driver says no"}};
    return reload;
}

TEST(Refusals, OnlyWhatIsTriedAgainIsSaidToBe)
{
    EXPECT_EQ(failures_text(reload_with(false)), "mlx5_0/1: error: the driver says no; this will be retried\n");
    EXPECT_EQ(failures_text(reload_with(true)), "mlx5_0/1: error: the driver says no\n");
}

TEST(Refusals, ADeviceThatHasRefusedDoesNotMatchThePolicy)
{
    const auto said = [](std::uint64_t operations, std::vector<api::Failure> failures) {
        return render_reconciled({{"mlx5_0/1", operations, std::move(failures)}}, Colour::Off);
    };
    EXPECT_EQ(said(0, {}), "mlx5_0/1: already matched the policy\n");
    EXPECT_EQ(said(4, {}), "mlx5_0/1: 4 operations\n");
    EXPECT_EQ(said(0, {{.message = kRefused}}),
              std::string("mlx5_0/1: 0 operations, 1 failure\n  failure: ") + kRefused + "\n");
}

TEST(Refusals, AnOverrideIsInForceOnlyIfTheDevicesHaveIt)
{
    const auto now = std::chrono::system_clock::from_time_t(1'800'000'000);
    const std::chrono::sys_seconds until{std::chrono::seconds(1'800'000'020)};
    const OverrideView view{"bulk", "max-rate", "10 Gbit/s", "25 Gbit/s", {until, "", ""}, ""};
    ReloadView well = reload_with(true);
    well.failures.clear();
    EXPECT_EQ(render_set_override(view, well, now), "the override of bulk is in force; it ends in 20 s\n");
    EXPECT_EQ(render_set_override(view, reload_with(true), now),
              "the override of bulk is in policy abc, but not all of it is on the devices; it ends in 20 s\n");
    well.unanswered = {"mlx5_0/1"};
    EXPECT_THAT(render_set_override(view, well, now), HasSubstr("but not every device has answered"));
    EXPECT_THAT(render_set_override(view, std::nullopt, now), HasSubstr("is written, and in force when a daemon runs"));
}

// Of `confirm`, which changes nothing and so hears no refusal.
TEST(Refusals, WhatDevicesAndPortsRefuseJustNow)
{
    World world = sample_world();
    EXPECT_THAT(open_failures(world.devices), IsEmpty());
    world.devices[0].failures = {{.message = "create /x: no"}};
    auto& care = world.devices[1].port_classes.care.emplace();
    care.reason = "the driver says no";
    for (const auto& [keeping, is_failure, is_given_up] : {std::tuple{PortKeeping::Kept, false, false},
                                                           {PortKeeping::LeftAlone, false, false},
                                                           {PortKeeping::Waiting, true, false},
                                                           {PortKeeping::Failed, true, true},
                                                           {PortKeeping::Stopped, true, true}}) {
        care.keeping = keeping;
        const auto failures = open_failures(world.devices);
        ASSERT_THAT(failures, SizeIs(is_failure ? 2 : 1));
        EXPECT_EQ(failures.front().device, "mlx5_0/1");
        EXPECT_EQ(failures.front().message, "create /x: no");
        if (is_failure) {
            EXPECT_EQ(failures.back().device, "mlx5_1/1");
            EXPECT_EQ(failures.back().message, "the driver says no");
            EXPECT_EQ(failures.back().given_up, is_given_up);
        }
    }
}

TEST(Refusals, APlanTowardsMonitoringWritesWhatPutsBackAPort)
{
    PlanReport report;
    report.monitors = true;
    report.writes = false;
    EXPECT_THAT(render_plans(report, false, Colour::Off),
                HasSubstr("a reload would write nothing of this to a device"));
    report.writes = true;
    const std::string text = render_plans(report, false, Colour::Off);
    EXPECT_THAT(text, Not(HasSubstr("write nothing")));
    EXPECT_THAT(text, HasSubstr("only carry out the steps of ports, which put back what their traffic classes were"));
    report.monitors = false;
    EXPECT_THAT(render_plans(report, false, Colour::Off), Not(HasSubstr("mode: monitor")));
}

Diagnostics an_error_in(const char* file)
{
    Diagnostics diagnostics;
    diagnostics.error({std::make_shared<SourceFile>(SourceFile{file, ""}), 2, 15}, "no such right");
    return diagnostics;
}

// A setting that is refused is no refused policy, and a start is no reload.
TEST(Refusals, SayWhatWasRefusedAndWhen)
{
    World world = sample_world();
    ManagerView& manager = world.manager;
    manager.last_reload.accepted = false;
    const auto said = [&](std::uint64_t reloads, const char* file) {
        manager.statistics = {{"reloads", reloads}};
        manager.last_reload.diagnostics = an_error_in(file);
        const auto problems = find_problems(world);
        return problems.size() == 1 ? problems.front() : Problem{};
    };
    const Problem setting = said(0, "/etc/rdma-qos/rdma-qosd.yaml");
    EXPECT_THAT(setting.what, HasSubstr("not all settings are in force since the daemon started:\n"
                                        "/etc/rdma-qos/rdma-qosd.yaml:2:15: error: no such right"));
    EXPECT_THAT(setting.advice, HasSubstr("correct /etc/rdma-qos/rdma-qosd.yaml"));
    EXPECT_THAT(setting.advice, Not(HasSubstr("rdma-qosctl plan"))) << "it is about policies";
    EXPECT_THAT(render_status(world, {}, Colour::Off), HasSubstr("none since the start, which had an error"));
    EXPECT_THAT(said(1, "/etc/rdma-qos/rdma-qosd.yaml").what,
                HasSubstr("the last reload was refused for the settings:\n"));
    EXPECT_THAT(said(0, "/etc/rdma-qos/policy.yaml").what,
                HasSubstr("the policy was refused when the daemon started:\n"));
    EXPECT_THAT(said(1, "/etc/rdma-qos/policy.yaml").what, HasSubstr("the last reload was refused:\n"));
    EXPECT_THAT(render_status(world, {}, Colour::Off), HasSubstr("refused, see below"));
}

TEST(Refusals, NoHintToCheckWhatIsNotChecked)
{
    const auto hint = [](const char* message) {
        return render_error({ErrorCode::InvalidPolicy, 0, message}, Colour::Off);
    };
    EXPECT_THAT(hint("/etc/rdma-qos/policy.yaml:1:1: error: no"), HasSubstr("rdma-qosctl check FILE"));
    EXPECT_THAT(hint("/etc/rdma-qos/rdma-qosd.yaml:2:15: error: no"), Not(HasSubstr("hint")));
}

// With `attach-mode: shared`, the port is left alone, and a port that divides otherwise than the tree is a finding.
TEST(Refusals, WhatAPortThatIsLeftAloneCannotGiveIsWorthKnowing)
{
    World world = sample_world();
    auto& care = world.devices[0].port_classes.care.emplace();
    care.keeping = PortKeeping::LeftAlone;
    care.reason = "the scheduling tree divides the port, for all processes together";
    EXPECT_THAT(find_problems(world), IsEmpty());
    care.findings = {"/rpc: requested 70.00 %, achievable 50.00 %: the port divides itself"};
    const auto problems = find_problems(world);
    ASSERT_THAT(problems, SizeIs(1));
    EXPECT_FALSE(problems[0].is_error);
    EXPECT_EQ(problems[0].what, "mlx5_0/1: /rpc: requested 70.00 %, achievable 50.00 %: the port divides itself");
    care.reason = care.findings.front();
    EXPECT_THAT(find_problems(world), IsEmpty()) << "it is said with the port";
}

}    // namespace
}    // namespace rdmaqos::ctl
