// Plans as people and programs read them.
#include "tools/rdma-qosctl/rendering/plan.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/golden.h"
#include "tests/unit/ctl/sample.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/world/reports.h"

namespace rdmaqos::ctl {
namespace {

using rdmaqos::test::expect_golden;
using testing::HasSubstr;
using testing::Not;
using namespace rdmaqos::ctl::test;

constexpr std::uint64_t kGbps = 1'000'000;    // in kbit/s

api::SessionChange moved(std::uint64_t session, std::uint32_t pid, const std::string& command,
                         const std::string& device, std::uint32_t queue_pairs, const std::string& level_after,
                         const std::string& leaf_after)
{
    return {.session = session,
            .pid = pid,
            .uid = 1000,
            .unit = "job-7.scope",
            .command = command,
            .device = device,
            .queue_pairs = queue_pairs,
            .level_before = "rpc",
            .level_after = level_after,
            .leaf_before = device.empty() ? "" : fmt::format("/rpc/pid:{}", pid),
            .leaf_after = leaf_after,
            .user = "alice"};
}

// A device with two classes, one of them of another share.
DescribedPlan sample_plan(bool changes)
{
    const ElementPath root = ElementPath::root();
    DescribedPlan plan;
    plan.tree = {
        {root, {}, ElementKind::Node, ElementAttributes{}, ElementAttributes{}, 0, 0},
        {root.child("bulk"), root, ElementKind::Leaf, ElementAttributes{30, {}},
         ElementAttributes{changes ? 40U : 30U, {}}, 3, 3},
        {root.child("rpc"), root, ElementKind::Leaf, ElementAttributes{60, {}}, ElementAttributes{60, {}}, 0, 0}};
    if (changes) {
        DescribedOperation modify;
        modify.kind = DescribedOperation::Kind::Modify;
        modify.path = root.child("bulk");
        modify.share_before = 30;
        modify.share = 40;
        plan.operations = {modify};
    }
    return plan;
}

api::DevicePlan plan(const std::string& device, DescribedPlan described, std::map<std::string, BusyRate> rates)
{
    api::DevicePlan view{device, std::move(described), {}, Bandwidth::from_gbps(100), {}};
    for (const auto& [path, rate] : rates) {
        view.rates[ElementPath(path)] = rate;
    }
    return view;
}

std::optional<Bandwidth> gbps(std::uint64_t rate)
{
    return Bandwidth::from_gbps(rate);
}

TEST(Render, Plans)
{
    PlanReport report;
    report.note = "what a reload with new.yaml would do, by the running daemon:";
    report.plans = {
        plan("mlx5_0/1", sample_plan(true),
             {{"/bulk", {gbps(30), gbps(40)}},
              {"/new", {{}, gbps(5)}},
              {"/old", {gbps(10), {}}},
              {"/rpc", {gbps(60), gbps(60)}}}),
        plan("mlx5_1/1", sample_plan(false), {{"/bulk", {gbps(30), gbps(30)}}, {"/rpc", {gbps(60), gbps(60)}}})};
    report.plans[0].findings = {{.message = "/x: requested share 200, achievable 100: the device's maximum"}};
    expect_golden("ctl/plans-no-session.txt", render_plans(report, false, Colour::Off));
    report.levels = {{"bulk", "changed", "share 30 -> 40"}};
    const auto change = [](const char* part, const char* name, const char* message) {
        return api::PartChange{part, name, "changed", message};
    };
    report.changes = {change("match rule", "2", "level rpc -> level bulk (service-id 0x50)"),
                      change("port-group", "sto\x1b[31m", "port-guid 0x7 -> 0x7-0x8")};
    report.more_changes = 5;
    report.sessions = {moved(7, 4711, "ib_write_bw", "mlx5_0/1", 4, "bulk", "/bulk"),
                       moved(8, 4712, "cp\x1b[31m", "mlx5_0/1", 1, "rpc", ""),
                       moved(9, 4713, "idle", "", 0, "DEFAULT", "")};
    expect_golden("ctl/plans.txt", render_plans(report, false, Colour::Off));
    expect_golden("ctl/plans.json", to_text(plans_json(report)));
}

TEST(Render, ARefusedPlan)
{
    PlanReport report;
    report.note = "what a reload with new.yaml would do, by the running daemon:";
    report.accepted = false;
    report.plans = {plan("mlx5_0/1", sample_plan(false), {}), plan("mlx5_1/1", sample_plan(false), {})};
    const auto finding = [](const char* message, const char* verdict) {
        return api::Finding{.severity = "error", .verdict = verdict, .message = message};
    };
    report.plans[0].findings = {finding("/x: requested min-rate 9 Gbit/s, achievable 8 Gbit/s: the port", "known")};
    report.plans[1].findings = {finding("/y: requested min-rate 9 Gbit/s, achievable 8 Gbit/s: the port", "refuses")};
    report.left_out = {{"mlx5_2/1", "released"}};
    report.monitors = true;
    report.writes = false;
    expect_golden("ctl/plan-refused.txt", render_plans(report, false, Colour::Off));
}

TEST(Render, RatesOfAPlanAreWholeMegabits)
{
    PlanReport report;
    report.plans = {plan("mlx5_0/1", {}, {{"/rpc", {gbps(42), Bandwidth::from_kbps(23'333'333)}}})};
    const std::string text = render_plans(report, false, Colour::Off);
    EXPECT_NE(text.find("23.333 Gbit/s"), std::string::npos) << text;
    EXPECT_NE(text.find("-18.666 Gbit/s (-44.4 %)"), std::string::npos) << text;
}

TEST(Render, RatesOfAPlanAddUpToThePort)
{
    PlanReport report;
    report.plans = {plan("mlx5_0/1", {},
                         {{"/bulk", {gbps(40), gbps(20)}},
                          {"/rpc", {gbps(35), gbps(35)}},
                          {"/rpc.responder", {gbps(15), gbps(15)}},
                          {"/web", {gbps(10), gbps(30)}}})};
    expect_golden("ctl/plan-rates-full.txt", render_plans(report, false, Colour::Off));
    report.plans[0].rates[ElementPath("/web")].after = gbps(5);
    expect_golden("ctl/plan-rates-left.txt", render_plans(report, false, Colour::Off));
    report.offline = true;
    expect_golden("ctl/plan-rates-offline.txt", render_plans(report, false, Colour::Off));
}

TEST(Render, OfflinePlans)
{
    PlanReport report;
    report.offline = true;
    report.note = "offline: what the policy would do to an empty device:";
    const ElementPath root = ElementPath::root();
    DescribedPlan described;
    described.tree = {{root, {}, ElementKind::Node, {}, ElementAttributes{}, 0, 0},
                      {root.child("bulk"), root, ElementKind::Leaf, {}, ElementAttributes{1, {}}, 0, 0}};
    DescribedOperation create;
    create.path = root.child("bulk");
    create.parent = root;
    create.element_kind = ElementKind::Leaf;
    create.share = 1;
    described.operations = {create};
    report.plans = {plan("default profile", described, {{"/bulk", {{}, gbps(100)}}})};
    expect_golden("ctl/plans-offline.txt", render_plans(report, false, Colour::Off));
}

std::string port_shown(const api::PortPlan& port)
{
    PlanReport report;
    report.plans = {plan("mlx5_0/1", sample_plan(false), {})};
    report.plans[0].port = port;
    return render_plans(report, false, Colour::Off);
}

TEST(Plans, SayWhatTheStepsOfAPortAreFor)
{
    constexpr const char* kTable = "class  weight\n1      40 %\n";
    constexpr const char* kPutBack =
        "  the daemon would let them go; these steps put back what was there before it first "
        "wrote:\n  divides the port\n";
    const api::PortStep step{"divides the port", ""};
    EXPECT_THAT(port_shown({"ens1", "", {step}, {}, {}}), HasSubstr(kPutBack));
    EXPECT_THAT(port_shown({"ens1", kTable, {step}, {}, {}}), Not(HasSubstr("put back")));
    EXPECT_THAT(port_shown({"ens1", kTable, {}, {}, {}}), HasSubstr("  no step: the port is so already\n"));
    // As `status` says it: the tree divides the port, or the policy asks nothing that it can have.
    const std::string left_alone = port_shown({"ens1", "", {}, {}, {}});
    EXPECT_THAT(left_alone, HasSubstr("traffic classes of ens1:\n  no step: they would be left as they are\n"));
    EXPECT_THAT(left_alone, Not(HasSubstr("so already")));
}

TEST(Plans, OfNoDeviceSayWhichTheDaemonDoesNotManage)
{
    EXPECT_EQ(nothing_planned({}, {}), "the policy is valid; the daemon has no device, so nothing would be done");
    EXPECT_EQ(nothing_planned({{"mlx5_2/1", "released"}}, {}),
              "the policy is valid; no device takes part, so nothing would be done");
    EXPECT_EQ(nothing_planned({}, {{.device = "mlx5_0/1", .reason = "it is being opened"},
                                   {.device = "mlx5_1/1", .reason = "no DEVX"}}),
              "the policy is valid; the daemon manages no device just now, so nothing is known of what would be done: "
              "mlx5_0/1: it is being opened; mlx5_1/1: no DEVX");
}

}    // namespace
}    // namespace rdmaqos::ctl
