#include "tools/rdma-qosctl/rendering/check.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "policy/load/policy_reader.h"
#include "policy/match/hidden_rules.h"
#include "policy/match/resolve.h"
#include "tests/support/golden.h"
#include "tools/rdma-qosctl/rendering/plan.h"

namespace rdmaqos::ctl {
namespace {

using rdmaqos::test::expect_golden;

CheckReport good_report()
{
    CheckReport report;
    report.sources = {"policy.yaml", "60-site.yaml"};
    report.revision = "9f3a2c11";
    report.levels = 3;
    report.note = "checked against the devices of the running daemon";
    report.devices = {{"mlx5_0/1", 3, 6, {}, {}}, {"mlx5_1/1", 1, 2, {}, {}}};
    return report;
}

Finding finding(bool is_error)
{
    return {is_error ? FindingKind::MinRateMissed : FindingKind::ShareError,
            is_error,
            ElementPath("/tenants/rpc"),
            "min-rate 10 Gbit/s",
            "8.333 Gbit/s",
            "its parent is capped at 25 Gbit/s"};
}

CheckReport broken_report()
{
    CheckReport report;
    const auto file = std::make_shared<SourceFile>(
        SourceFile{"policy.yaml", "version: 1\nqos-levels:\n  - {name: DEFAULT, sll: 0}\n"});
    report.diagnostics.error({file, 3, 20, 3}, "unknown key `sll` in `qos-levels`").hint = "did you mean `sl`?";
    return report;
}

TEST(Check, Good)
{
    EXPECT_TRUE(good_report().ok());
    expect_golden("ctl/check-ok.txt", render_check(good_report(), Colour::Off));
    expect_golden("ctl/check-ok.json", to_text(check_json(good_report())));
}

TEST(Check, BrokenText)
{
    EXPECT_FALSE(broken_report().ok());
    expect_golden("ctl/check-broken.txt", render_check(broken_report(), Colour::Off));
    expect_golden("ctl/check-broken.json", to_text(check_json(broken_report())));
}

TEST(Check, WarningsDoNotRefuse)
{
    CheckReport report = good_report();
    report.devices[0].findings = {{"mlx5_0/1", finding(false), FindingVerdict::Harmless}};
    report.unresolved = {"port-group storage: partition Part7 is not in the fabric file"};
    EXPECT_TRUE(report.ok());
    expect_golden("ctl/check-warnings.txt", render_check(report, Colour::Off));
}

// Warnings of a policy, with the rules that hide others.
Diagnostics of_hidden_rules()
{
    const auto read = read_policy({std::make_shared<const SourceFile>(SourceFile{"policy.yaml", R"(version: 1
qos-levels:
  - {name: DEFAULT}
  - {name: rpc, allow: {group: [7]}}
qos-match-rules:
  - {service-id: [0x10000-0x1ffff], qos-level-name: DEFAULT}
  - {service-id: [0x10007], qos-level-name: rpc}
  - {pkey: [1-5], qos-level-name: DEFAULT}
  - {pkey: [6-9], qos-level-name: DEFAULT}
  - {pkey: [4-7], qos-level-name: DEFAULT}
)"})},
                                  NameService{});
    EXPECT_TRUE(read.value);
    return warnings_of_hidden_rules({*read.value, resolve(*read.value, {}, {})});
}

TEST(Check, RulesThatCanNeverMatchAreWarnings)
{
    CheckReport report = good_report();
    report.diagnostics = of_hidden_rules();
    EXPECT_TRUE(report.ok());
    expect_golden("ctl/check-hidden-rules.txt", render_check(report, Colour::Off));
    expect_golden("ctl/check-hidden-rules.json", to_text(check_json(report)));
}

TEST(Plan, HasTheWarningsOfThePolicy)
{
    PlanReport report;
    report.note = "what a reload with the host's files would do, by the running daemon:";
    report.diagnostics = of_hidden_rules();
    expect_golden("ctl/plan-hidden-rules.txt", render_plans(report, false, Colour::Off));
}

TEST(Check, WhatADeviceCannotGiveRefusesUnlessDegraded)
{
    CheckReport report = good_report();
    report.devices[1].findings = {{"rxe0/1", finding(true), FindingVerdict::Refuses}};
    EXPECT_FALSE(report.ok());
    expect_golden("ctl/check-unreachable.txt", render_check(report, Colour::Off));
    report.devices[1].findings[0].verdict = FindingVerdict::Harmless;
    EXPECT_TRUE(report.ok());
}

TEST(Check, ListsDevicesThatTakeNoPart)
{
    CheckReport report = good_report();
    report.left_out = {{"mlx5_8/1", LeftOutDevice::Why::Disabled}, {"mlx5_9/1", LeftOutDevice::Why::Released}};
    EXPECT_TRUE(report.ok());
    expect_golden("ctl/check-left-out.txt", render_check(report, Colour::Off));
    expect_golden("ctl/check-left-out.json", to_text(check_json(report)));
}

}    // namespace
}    // namespace rdmaqos::ctl
