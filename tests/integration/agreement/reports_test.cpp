// What the daemon writes of a reload or a plan is what rdma-qosctl reads.
#include "tools/rdma-qosctl/world/reports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/tree/render.h"
#include "tests/support/world.h"

namespace rdmaqos::test {
namespace {

using ctl::PlanReport;
using testing::HasSubstr;

const ElementPath kRoot = ElementPath::root();
const ElementPath kOld("/a");

// A tree with a queue pair in each of two leaves.
ActualState state()
{
    ActualState state;
    state.elements = {
        {ElementId{1}, {kRoot, ElementKind::Node, std::nullopt, {}}},
        {ElementId{2}, {kOld, ElementKind::Leaf, ElementId{1}, {30, Bandwidth::from_gbps(5)}}},
        {ElementId{3}, {ElementPath("/b"), ElementKind::Leaf, ElementId{1}, {60, std::nullopt}}},
    };
    state.queue_pairs = {{{17}, {ElementId{2}, ElementId{3}, RateLimit{Bandwidth::from_mbps(10), 4096, 1024}}},
                         {{18}, {ElementId{3}, std::nullopt, std::nullopt}}};
    return state;
}

// Everything an operation can be: /a becomes a node with a leaf, /b gets another share and cap.
Plan everything()
{
    const ActualElement node{kOld, ElementKind::Node, ElementId{1}, {30, std::nullopt}};
    const ActualElement leaf{kOld.child("x"), ElementKind::Leaf, ElementId{4}, {0, Bandwidth::from_gbps(1)}};
    Plan plan;
    plan.operations = {CreateElement{ElementId{4}, node},
                       CreateElement{ElementId{5}, leaf},
                       MoveQueuePair{{17}, ElementId{5}, ElementId{5}},
                       DestroyElement{ElementId{2}, kOld},
                       ModifyElement{ElementId{3}, ElementPath("/b"), 40, std::optional(Bandwidth::from_gbps(2))},
                       MoveQueuePair{{18}, std::nullopt, std::nullopt},
                       SetQueuePairRate{{17}, std::nullopt},
                       SetQueuePairRate{{18}, RateLimit{Bandwidth::from_mbps(7), std::nullopt, std::nullopt}}};
    plan.unreachable = {{ElementPath("/c"), "no leaf is free"}};
    return plan;
}

rdmaqos::PlanReport report()
{
    rdmaqos::PlanReport report;
    report.accepted = true;
    report.revision = "abc";
    report.diagnostics.warning({std::make_shared<SourceFile>(SourceFile{"p.yaml", "version: 1\n\tx: 2\n"}), 2, 2, 1},
                               "odd");
    report.levels = {{"rpc", PolicyChangeKind::Changed, "sl 3 -> 4"}};
    report.parts = {{PolicyPart::PortGroup, "storage", PolicyChangeKind::Removed, "removed"}};
    report.more_parts = 3;
    SessionChange moved;
    moved.session = SessionId{7};
    moved.owner = std::make_shared<Identity>();
    moved.leaf_after = "/a/x";
    report.sessions = {moved};
    DevicePlan device;
    device.device = "mlx5_0/1";
    device.before = state();
    device.plan = everything();
    device.findings = {{"mlx5_0/1",
                        {FindingKind::CapLost, true, kOld, "max-rate 5 Gbit/s", "no cap", "the device has none"},
                        FindingVerdict::Refuses}};
    device.link_speed = Bandwidth::from_gbps(100);
    device.rates = {{kOld, {Bandwidth::from_gbps(5), std::nullopt}}};
    report.devices = {device};
    report.left_out = {{"mlx5_1/1", LeftOutDevice::Why::Released}};
    report.monitors = true;
    return report;
}

TEST(Reports, APlanArrivesWhole)
{
    const auto sent = report();
    const PlanReport plan = ctl::to_plan_report(
        api::read<api::Plan>(told([&](bus::Writer& writer) { write(writer, sent, Quote::Lines); })));
    EXPECT_TRUE(plan.accepted);
    EXPECT_EQ(plan.revision, "abc");
    EXPECT_EQ(render(plan.diagnostics, Colour::Off), render(sent.diagnostics, Colour::Off));
    ASSERT_EQ(plan.levels.size(), 1U);
    EXPECT_EQ(plan.levels.front().change, "changed");
    ASSERT_EQ(plan.changes.size(), 1U);
    EXPECT_EQ(plan.changes.front().part + " " + plan.changes.front().name, "port-group storage");
    EXPECT_EQ(plan.more_changes, 3U);
    ASSERT_EQ(plan.sessions.size(), 1U);
    EXPECT_EQ(plan.sessions.front().leaf_after, "/a/x");
    EXPECT_EQ(plan.sessions.front().user, "root");
    ASSERT_EQ(plan.plans.size(), 1U);
    const auto& device = plan.plans.front();
    EXPECT_EQ(device.plan, describe(sent.devices.front().before, sent.devices.front().plan));
    EXPECT_EQ(device.plan.operations.size(), everything().operations.size());
    EXPECT_EQ(device.link_speed, Bandwidth::from_gbps(100));
    EXPECT_EQ(device.rates, sent.devices.front().rates);
    ASSERT_EQ(device.findings.size(), 1U);
    EXPECT_EQ(device.findings.front(), ctl::to_record(sent.devices.front().findings.front()));
    EXPECT_TRUE(ctl::refuses(device.findings.front()));
    EXPECT_THAT(render_plan(device.plan), HasSubstr("! /c: no leaf is free"));
    ASSERT_EQ(plan.left_out.size(), 1U);
    EXPECT_EQ(plan.left_out.front(), ctl::to_record(sent.left_out.front()));
    EXPECT_FALSE(plan.writes);
}

// What an operation is called on the bus is what a terminal shows.
TEST(Reports, AnOperationSaysOnTheBusWhatATerminalShows)
{
    const auto sent = report();
    const auto dict = told([&](bus::Writer& writer) { write(writer, sent, Quote::Lines); });
    const auto plan = ctl::to_plan_report(api::read<api::Plan>(dict));
    const auto& devices = *dict.find("devices")->as<std::vector<bus::Dict>>();
    const auto& operations = *devices.front().find("operations")->as<std::vector<bus::Dict>>();
    ASSERT_EQ(operations.size(), plan.plans.front().plan.operations.size());
    for (std::size_t i = 0; i < operations.size(); ++i) {
        EXPECT_EQ(*operations[i].find("message")->as<std::string>(), to_string(plan.plans.front().plan.operations[i]));
    }
}

TEST(Reports, AReloadArrivesWhole)
{
    ReloadOutcome outcome;
    outcome.accepted = false;
    outcome.revision = "abc";
    const auto file = std::make_shared<SourceFile>(SourceFile{"p.yaml", "version: 1\n" + std::string(500, 'x') + "\n"});
    outcome.diagnostics.error({file, 2, 400, 3}, "too long").hint = "shorten it";
    outcome.diagnostics.note({file, 0, 0}, "as a whole");
    outcome.diagnostics.warning({}, "of no file");
    for (std::size_t i = 0; i < Diagnostics::kMaxKept; ++i) {
        outcome.diagnostics.warning({}, "one of many");
    }
    outcome.findings = {{"mlx5_0/1", {FindingKind::CapLost, true, kOld, "a", "b", "c"}, FindingVerdict::Known}};
    outcome.left_out = {{"mlx5_1/1", LeftOutDevice::Why::Disabled}};
    outcome.unanswered = {"mlx5_1/1"};
    const auto read = [&](Quote quote) {
        return ctl::to_reload(
            api::read<api::Reload>(told([&](bus::Writer& writer) { write(writer, outcome, quote); })));
    };
    const auto all = read(Quote::Lines);
    EXPECT_EQ(all.accepted, outcome.accepted);
    EXPECT_EQ(all.revision, outcome.revision);
    EXPECT_THAT(ctl::to_text(all, Colour::Off),
                HasSubstr("\n... and 3 more messages not shown\n1 error, 201 warnings\n"));
    EXPECT_THAT(ctl::to_text(all, Colour::Off), HasSubstr("mlx5_1/1: warning: has not answered yet"));
    const std::string of_devices =
        "mlx5_0/1: error: /a: requested a, achievable b: c; the running policy has this problem too\n"
        "mlx5_1/1: note: takes no part, because it is disabled\n";
    EXPECT_THAT(ctl::to_text(all, Colour::Off), HasSubstr(of_devices));
    EXPECT_THAT(outcome.to_text(), HasSubstr(of_devices)) << "the same words in the log";
    // The end of a long line is not sent, so "..." behind it is missing.
    const std::string here = outcome.to_text();
    const std::string there = ctl::to_text(all, Colour::Off);
    EXPECT_EQ(there.substr(0, there.find('\n')), here.substr(0, here.find('\n')));
    EXPECT_EQ(there.find("^~~"), here.find("^~~") - 3);
    EXPECT_THAT(there, HasSubstr("    2 | ...xxx"));
    EXPECT_THAT(there, HasSubstr("= hint: shorten it"));

    const auto some = read(Quote::Nothing);
    EXPECT_EQ(render(some.diagnostics, Colour::Off), render(outcome.diagnostics, Colour::Off, Quote::Nothing));
}

}    // namespace
}    // namespace rdmaqos::test
