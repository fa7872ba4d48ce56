// Service: start, reload, plan, check.
#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "tests/support/service_fixture.h"

namespace rdmaqos {
namespace {

using namespace std::chrono_literals;

std::string with_shares(int rpc, int bulk)
{
    return fmt::format(R"(version: 1
qos-levels:
  - {{name: DEFAULT, sl: 0}}
  - {{name: rpc, schedule: {{share: {}}}}}
  - {{name: bulk, schedule: {{share: {}}}}}
)",
                       rpc, bulk);
}

class ServicePolicyTest : public test::ServiceFixture {};

TEST_F(ServicePolicyTest, AChangedShareIsOneOperation)
{
    policy(with_shares(60, 30));
    start();
    ModelBackend& nic = add_device("mlx5_0");
    ASSERT_TRUE(register_as(PeerId{1}, process(1), asking_for("rpc", "mlx5_0", {1, 2, 3})));
    nic.clear_log();
    ASSERT_TRUE(reload().accepted);
    EXPECT_TRUE(writes(nic).empty()) << "an unchanged policy writes nothing";
    policy(with_shares(40, 30));
    ASSERT_TRUE(reload().accepted);
    const auto lines = writes(nic);
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_NE(lines[0].find("share 40"), std::string::npos) << lines[0];
}

// The level was chosen when the queue pair was asked for, and the policy changed before the device had admitted it.
TEST_F(ServicePolicyTest, AQueuePairThatIsBeingAdmittedTakesTheNewPolicy)
{
    policy(with_shares(60, 30));
    start();
    ModelBackend& nic = add_device("mlx5_0");
    const auto session = register_as(PeerId{1}, process(1), asking_for("bulk"));
    ASSERT_TRUE(session);
    test::HangingAttach hanging(nic);
    std::vector<std::vector<QueuePairResult>> answers;
    const auto attach = [&](std::uint32_t number) {
        service->session_calls().attach(PeerId{1}, session->session, {queue_pair("mlx5_0", number)}, [&](auto results) {
            ASSERT_TRUE(results);
            answers.push_back(std::move(*results));
        });
    };
    attach(1);
    ASSERT_TRUE(loop.run_until([&] { return hanging.hangs(); }));
    attach(2);
    const std::string before = service->in_force().policy()->revision;
    policy("version: 1\nqos-levels: [{name: DEFAULT}, {name: bulk, schedule: {share: 30, fair-by: process}}]\n");
    service->reloads().reload([](const ReloadOutcome& outcome) { EXPECT_TRUE(outcome.accepted); });
    ASSERT_TRUE(loop.run_until([&] { return service->in_force().policy()->revision != before; }));
    hanging.let_go();
    ASSERT_TRUE(loop.run_until([&] { return answers.size() == 2; }));
    settle();
    ASSERT_EQ(answers[1].size(), 1U);
    EXPECT_TRUE(answers[1][0].enforced) << answers[1][0].reason;
    EXPECT_EQ(answers[1][0].leaf, "/bulk/pid:1");
}

TEST_F(ServicePolicyTest, ABrokenReloadChangesNothing)
{
    policy(with_shares(60, 30));
    start();
    ModelBackend& nic = add_device("mlx5_0");
    const std::string before = service->in_force().policy()->revision;
    nic.clear_log();
    policy("version: 1\nqos-levels:\n  - {name: DEFAULT, sl: 99, schedul: 3}\n");
    const auto outcome = reload();
    EXPECT_FALSE(outcome.accepted);
    EXPECT_EQ(outcome.revision, before);
    EXPECT_GE(outcome.diagnostics.error_count(), 2U);
    EXPECT_EQ(service->in_force().policy()->revision, before);
    EXPECT_FALSE(service->in_force().last_reload.accepted);
    EXPECT_EQ(service->in_force().last_reload.why_refused(), outcome.why_refused());
    EXPECT_TRUE(writes(nic).empty());
    policy(with_shares(60, 31));
    EXPECT_TRUE(reload().accepted);
    EXPECT_TRUE(service->in_force().last_reload.accepted);
}

TEST_F(ServicePolicyTest, APolicyTheDeviceCannotTakeIsRefusedOrDegradedBySetting)
{
    Capabilities none;
    policy("version: 1\nqos-levels: [{name: DEFAULT, sl: 0}]\n");
    start();
    add_device("rxe0", none);
    policy(with_shares(60, 30));
    const auto refused = reload();
    EXPECT_FALSE(refused.accepted);
    EXPECT_NE(refused.to_text().find("rxe0/1"), std::string::npos) << refused.to_text();
    settings("version: 1\non-unsupported: degrade\n");
    const auto plan = [this](std::optional<std::shared_ptr<const SourceFile>> text) {
        return answer<PlanReport>([&](auto done) { service->plans().plan(std::move(text), 0, std::move(done)); })
            .value();
    };
    EXPECT_TRUE(plan(std::nullopt).accepted) << "by the settings that a reload would read";
    EXPECT_FALSE(plan(std::make_shared<SourceFile>(SourceFile{"p.yaml", with_shares(60, 30)})).accepted)
        << "by the running ones";
    const auto degraded = reload();
    EXPECT_TRUE(degraded.accepted);
    EXPECT_EQ(service->devices().status("rxe0/1")->state, DeviceState::Degraded);
    EXPECT_FALSE(service->devices().status("rxe0/1")->reason.empty());
}

TEST_F(ServicePolicyTest, ABrokenPolicyAtBootFallsBackToTheLastGoodOne)
{
    policy(with_shares(60, 30));
    const std::string good = start().in_force().policy()->revision;
    service.reset();
    policy("version: 1\nqos-levels: [{name: DEFAULT, sl: 99}]\n");
    start();
    EXPECT_FALSE(started.accepted);
    ASSERT_TRUE(service->in_force().policy());
    EXPECT_EQ(service->in_force().policy()->revision, good);
    EXPECT_FALSE(service->in_force().last_reload.accepted);
    add_device("mlx5_0");
    EXPECT_TRUE(register_as(PeerId{1}, process(1), asking_for("rpc", "mlx5_0", {1})));
}

// Those that came while the files were broken were in force when the daemon ended.
TEST_F(ServicePolicyTest, TheLastGoodOneRunsWithTheTransientFilesOfNow)
{
    policy(with_shares(60, 30));
    const std::size_t rules = start().in_force().policy()->rules.size();
    const auto starts_with = [&](const std::string& transient) {
        service.reset();
        policy("version: 1\nqos-levels: [{name: DEFAULT, sl: 99}]\n");
        root.write("run/rdma-qos/policy.d/10-job.yaml", transient);
        start();
        EXPECT_FALSE(started.accepted);
        return service->in_force().policy() ? service->in_force().policy()->rules.size() : 0;
    };
    EXPECT_EQ(starts_with("version: 1\nqos-match-rules: [{service-id: 5, qos-level-name: rpc}]\n"), rules + 1);
    EXPECT_EQ(starts_with("version: 1\nqos-match-rules: [{service-id: 5, qos-level-name: none}]\n"), rules);
}

TEST_F(ServicePolicyTest, WithoutAnyPolicyRequestsAreRefusedAndAReloadHeals)
{
    policy("version: 2\n");
    start();
    EXPECT_EQ(register_as(PeerId{1}, process(1), asking_for("rpc")).error().code, ErrorCode::InvalidPolicy);
    EXPECT_FALSE(service->paths().explain({}, *process(1)));
    policy(with_shares(60, 30));
    EXPECT_TRUE(reload().accepted);
    EXPECT_TRUE(register_as(PeerId{1}, process(1), asking_for("rpc")));
}

TEST_F(ServicePolicyTest, ALevelThatVanishesTakesItsQueuePairsOutAndSaysSo)
{
    policy(with_shares(60, 30));
    start();
    add_device("mlx5_0");
    const auto reply = register_as(PeerId{1}, process(1), asking_for("rpc", "mlx5_0", {1}));
    ASSERT_TRUE(reply);
    policy("version: 1\nqos-levels: [{name: DEFAULT, sl: 0}, {name: bulk, schedule: {share: 1}}]\n");
    ASSERT_TRUE(reload().accepted);
    const auto info = *service->sessions().with_queue_pairs(reply->session);
    EXPECT_FALSE(info.grant.enforced);
    EXPECT_NE(info.grant.reason.find("rpc"), std::string::npos) << info.grant.reason;
    EXPECT_EQ(info.queue_pairs.at(0).leaf, "");
    EXPECT_EQ(service->devices().status("mlx5_0/1")->queue_pairs_inside, 0U);
}

TEST_F(ServicePolicyTest, QueuePairsMoveWithTheirRule)
{
    const std::string levels = with_shares(60, 30);
    policy(levels + "qos-match-rules: [{service-id: [7], qos-level-name: rpc}]\n");
    start();
    add_device("mlx5_0");
    auto request = asking_for("", "mlx5_0", {1});
    request.request.service_id = 7;
    const auto reply = register_as(PeerId{1}, process(1), request);
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->queue_pairs[0].leaf, "/rpc");
    policy(levels + "qos-match-rules: [{service-id: [7], qos-level-name: bulk}]\n");
    ASSERT_TRUE(reload().accepted);
    const auto info = *service->sessions().with_queue_pairs(reply->session);
    EXPECT_EQ(info.grant.level, "bulk");
    EXPECT_EQ(info.queue_pairs.at(0).leaf, "/bulk");
    EXPECT_TRUE(info.queue_pairs.at(0).enforced);
}

TEST_F(ServicePolicyTest, APlanIsWhatTheReloadThenDoes)
{
    policy(with_shares(60, 30));
    start();
    ModelBackend& nic = add_device("mlx5_0");
    ASSERT_TRUE(register_as(PeerId{1}, process(1), asking_for("rpc", "mlx5_0", {1})));
    nic.clear_log();
    const std::string next = with_shares(60, 30) + "  - {name: new, schedule: {share: 5, max-rate: 1Gbps}}\n";
    const auto planned = answer<PlanReport>([&](auto done) {
        service->plans().plan(std::make_shared<SourceFile>(SourceFile{"next.yaml", next}), 0, std::move(done));
    });
    ASSERT_TRUE(planned) << planned.error().message;
    ASSERT_EQ(planned->devices.size(), 1U);
    EXPECT_EQ(planned->devices[0].plan.operations.size(), 1U);
    EXPECT_EQ(planned->devices[0].rates.at(ElementPath("/rpc")),
              (BusyRate{Bandwidth::from_kbps(66'666'666), Bandwidth::from_kbps(66'000'000)}))
        << "the new class takes its 1 Gbit/s from both";
    EXPECT_TRUE(planned->accepted);
    EXPECT_EQ(planned->levels, (std::vector{LevelChange{"new", PolicyChangeKind::New,
                                                        "new (parent the root, share 5, max-rate 1 Gbit/s)"}}));
    EXPECT_TRUE(planned->sessions.empty());
    EXPECT_TRUE(writes(nic).empty()) << "a plan changes nothing";
    policy(next);
    ASSERT_TRUE(reload().accepted);
    EXPECT_EQ(writes(nic).size(), 1U);
}

TEST_F(ServicePolicyTest, APlanSaysThatASessionMovesThatHasDetachedItsQueuePairs)
{
    policy(with_shares(60, 30) + "qos-match-rules:\n  - {service-id: [80], qos-level-name: rpc}\n");
    start();
    add_device("mlx5_0");
    RegisterRequest request = asking_for("", "mlx5_0", {1});
    request.request.level.reset();
    request.request.service_id = 80;
    const auto reply = register_as(PeerId{1}, process(1), request);
    ASSERT_TRUE(reply);
    ASSERT_TRUE(answer<void>(
        [&](auto done) { service->session_calls().detach(PeerId{1}, reply->session, "mlx5_0", 1, std::move(done)); }));
    const std::string next = with_shares(60, 30) + "qos-match-rules:\n  - {service-id: [80], qos-level-name: bulk}\n";
    const auto planned = answer<PlanReport>([&](auto done) {
        service->plans().plan(std::make_shared<SourceFile>(SourceFile{"next.yaml", next}), 0, std::move(done));
    });
    ASSERT_TRUE(planned) << planned.error().message;
    ASSERT_EQ(planned->sessions.size(), 1U);
    EXPECT_EQ(planned->sessions[0].level_before, "rpc");
    EXPECT_EQ(planned->sessions[0].level_after, "bulk");
    EXPECT_EQ(planned->sessions[0].queue_pairs, 0U);
}

TEST_F(ServicePolicyTest, APlanSaysWhoMoves)
{
    policy(with_shares(60, 30) + "qos-match-rules:\n  - {service-id: [80], qos-level-name: rpc}\n");
    start();
    add_device("mlx5_0");
    RegisterRequest by_rule = asking_for("", "mlx5_0", {1, 2});
    by_rule.request.level.reset();
    by_rule.request.service_id = 80;
    RegisterRequest idle = by_rule;
    idle.queue_pairs.clear();
    ASSERT_TRUE(register_as(PeerId{1}, process(1), by_rule));
    ASSERT_TRUE(register_as(PeerId{2}, process(2), idle));
    ASSERT_TRUE(register_as(PeerId{3}, process(3), asking_for("bulk", "mlx5_0", {3})));
    const std::string next = with_shares(60, 30) + "qos-match-rules:\n  - {service-id: [80], qos-level-name: bulk}\n";
    const auto planned = answer<PlanReport>([&](auto done) {
        service->plans().plan(std::make_shared<SourceFile>(SourceFile{"next.yaml", next}), 0, std::move(done));
    });
    ASSERT_TRUE(planned) << planned.error().message;
    EXPECT_TRUE(planned->levels.empty());
    EXPECT_EQ(planned->parts, (std::vector{PartChange{PolicyPart::MatchRule, "1", PolicyChangeKind::Changed,
                                                      "level rpc -> level bulk (service-id 0x50)"}}));
    ASSERT_EQ(planned->sessions.size(), 2U);
    for (const SessionChange& change : planned->sessions) {
        EXPECT_THAT(change.rule_after, testing::StartsWith("match rule 1 (next.yaml:"));
    }
    const SessionChange& without = planned->sessions[0];
    EXPECT_EQ(without.queue_pairs, 0U);
    EXPECT_EQ(without.level_after, "bulk");
    const SessionChange& moved = planned->sessions[1];
    EXPECT_EQ(moved.queue_pairs, 2U);
    EXPECT_EQ(moved.level_before + " " + moved.leaf_before, "rpc /rpc");
    EXPECT_EQ(moved.level_after + " " + moved.leaf_after, "bulk /bulk");
    EXPECT_EQ(moved.owner->pid, 1);
}

TEST_F(ServicePolicyTest, CheckReportsWithoutTakingThePolicy)
{
    policy(with_shares(60, 30));
    start();
    add_device("mlx5_0");
    const std::string before = service->in_force().policy()->revision;
    const auto outcome = answer<ReloadOutcome>([&](auto done) {
        service->plans().check(std::make_shared<SourceFile>(
                                   SourceFile{"next.yaml", "version: 1\nbogus: 1\nqos-levels: [{name: DEFAULT}]\n"}),
                               0, std::move(done));
    });
    ASSERT_TRUE(outcome);
    EXPECT_FALSE(outcome->accepted);
    EXPECT_EQ(outcome->why_refused().find("next.yaml:2:1: "), 0U) << outcome->why_refused();
    EXPECT_EQ(service->in_force().policy()->revision, before);
}

// Whole files are not kept for them.
TEST_F(ServicePolicyTest, DiagnosticsAreKeptWithTheirLinesAlone)
{
    policy(with_shares(60, 30));
    start();
    policy("version: 1\nbogus: hidden\nqos-levels: [{name: DEFAULT}]\n");
    EXPECT_FALSE(reload().accepted);
    const Diagnostics& kept = service->in_force().last_reload.diagnostics;
    ASSERT_EQ(kept.error_count(), 1U);
    EXPECT_EQ(kept.all().front().location.file->text, "bogus: hidden");
    EXPECT_NE(render(kept, Colour::Off).find("    2 | bogus: hidden\n"), std::string::npos)
        << render(kept, Colour::Off);
    EXPECT_EQ(render(kept, Colour::Off, Quote::Nothing).find("hidden"), std::string::npos);
    EXPECT_EQ(service->in_force().last_reload.why_refused().find("/etc/rdma-qos/policy.yaml:2:1: unknown key `bogus`"),
              0U)
        << service->in_force().last_reload.why_refused();

    root.write("/etc/rdma-qos/fabric.yaml", "version: 1\nports: hidden\n");
    bool read = false;
    service->fabric().reread([&read] { read = true; });
    ASSERT_TRUE(loop.run_until([&read] { return read; }));
    ASSERT_EQ(service->in_force().fabric_diagnostics.error_count(), 1U);
    EXPECT_EQ(service->in_force().fabric_diagnostics.all().front().location.file->text, "ports: hidden");
}

TEST_F(ServicePolicyTest, APlanOfABrokenPolicyIsItsDiagnostics)
{
    policy(with_shares(60, 30));
    start();
    add_device("mlx5_0");
    const auto plan = answer<PlanReport>([&](auto done) {
        service->plans().plan(std::make_shared<SourceFile>(
                                  SourceFile{"mine.yaml", "version: 1\nbogus: mine\nqos-levels: [{name: DEFAULT}]\n"}),
                              1000, std::move(done));
    });
    ASSERT_TRUE(plan) << to_string(plan.error());
    EXPECT_FALSE(plan->accepted);
    EXPECT_EQ(plan->diagnostics.error_count(), 1U);
    EXPECT_TRUE(plan->devices.empty());
    EXPECT_TRUE(plan->revision.empty());
}

TEST_F(ServicePolicyTest, RulesThatCanNeverMatchAreWarnings)
{
    policy(with_shares(60, 30) + R"(qos-match-rules:
  - {pkey: [1-5], qos-level-name: rpc}
  - {pkey: [5], qos-level-name: bulk}
)");
    const std::string warning = "this rule can never match: match rule 1 (/etc/rdma-qos/policy.yaml:7:5) takes every "
                                "request that it would";
    const auto is_in = [&](const Diagnostics& diagnostics) {
        const auto found = std::ranges::find(diagnostics.all(), warning, &Diagnostic::message);
        return found != diagnostics.all().end() && found->location.line == 8;
    };
    start();
    EXPECT_TRUE(started.accepted);
    EXPECT_TRUE(is_in(started.diagnostics)) << started.to_text();
    add_device("mlx5_0");
    const auto reloaded = reload();
    EXPECT_TRUE(reloaded.accepted);
    EXPECT_TRUE(is_in(reloaded.diagnostics)) << reloaded.to_text();
    EXPECT_TRUE(is_in(service->in_force().last_reload.diagnostics));
    const auto plan = answer<PlanReport>([&](auto done) { service->plans().plan(std::nullopt, 0, std::move(done)); });
    ASSERT_TRUE(plan) << to_string(plan.error());
    EXPECT_TRUE(plan->accepted);
    EXPECT_TRUE(is_in(plan->diagnostics));
}

TEST_F(ServicePolicyTest, TextsOfUsersAreShortAndOneAtATime)
{
    policy(with_shares(60, 30));
    start();
    const auto longer = std::make_shared<SourceFile>(
        SourceFile{"long.yaml", with_shares(60, 30) + "#" + std::string(1U << 20U, 'x') + "\n"});
    const auto check = [this](Account account, const std::shared_ptr<const SourceFile>& text) {
        return answer<ReloadOutcome>([&](auto done) { service->plans().check(text, account, std::move(done)); });
    };
    EXPECT_EQ(check(1000, longer).error().code, ErrorCode::LimitReached);
    EXPECT_EQ(check(0, longer).error().code, ErrorCode::LimitReached) << "the root of a container";
    EXPECT_TRUE(check(Account::root(), longer));

    const auto text = std::make_shared<SourceFile>(SourceFile{"next.yaml", with_shares(50, 30)});
    std::size_t answered = 0;
    for (std::uint32_t uid = 1000; uid < 1003; ++uid) {
        service->plans().check(text, uid,
                               [&answered](const Result<ReloadOutcome>& outcome) { answered += outcome ? 1 : 0; });
    }
    EXPECT_EQ(check(1001, text).error().code, ErrorCode::Busy);
    ASSERT_TRUE(loop.run_until([&answered] { return answered == 3; }));
    EXPECT_TRUE(check(1001, text));
}

// Sessions come while the loader compiles.
TEST_F(ServicePolicyTest, AReloadCountsWhoCameWhileThePolicyWasRead)
{
    const std::string named = "  - {name: own, allow: {user: [alice]}}\n";
    policy(with_shares(60, 30) + named);
    start();
    ModelBackend& nic = add_device("mlx5_0");
    test::Gate gate;
    while_reading = gate.waiter();
    policy(with_shares(50, 30) + named);
    std::optional<ReloadOutcome> outcome;
    service->reloads().reload([&outcome](ReloadOutcome got) { outcome = std::move(got); });
    gate.wait_until_it_holds();
    const auto reply = register_as(PeerId{1}, process(1), asking_for("rpc", "mlx5_0", {7}));
    ASSERT_TRUE(reply);
    add_device("mlx5_1");
    gate.open();
    ASSERT_TRUE(loop.run_until([&outcome] { return outcome.has_value(); }));
    EXPECT_TRUE(outcome->accepted);
    settle();
    const auto session = service->sessions().with_queue_pairs(reply->session);
    ASSERT_EQ(session->queue_pairs.size(), 1U);
    EXPECT_TRUE(session->queue_pairs[0].enforced) << session->queue_pairs[0].reason;
    EXPECT_NE(writes(nic).back().find("share 50"), std::string::npos);
    while_reading = nullptr;
}

TEST_F(ServicePolicyTest, MonitorModeWritesNothing)
{
    policy(with_shares(60, 30));
    settings("version: 1\nmode: monitor\n");
    start();
    ModelBackend& nic = add_device("mlx5_0");
    const auto reply = register_as(PeerId{1}, process(1), asking_for("rpc", "mlx5_0", {1}));
    ASSERT_TRUE(reply);
    EXPECT_FALSE(reply->grant.enforced);
    EXPECT_TRUE(writes(nic).empty());
    // What went wrong when something was written last says nothing any longer.
    nic.firmware().faults().fail(CommandKind::QueryQueuePair, 1, {}, UINT64_MAX);
    service->device_control().reconcile("mlx5_0/1", [](const auto&) {});
    settle();
    EXPECT_EQ(service->sessions().with_queue_pairs(reply->session)->queue_pairs[0].reason,
              "the daemon only observes (`mode: monitor`)");
    nic.firmware().faults().clear();
    settings("version: 1\nmode: enforce\n");
    ASSERT_TRUE(reload().accepted);
    EXPECT_FALSE(writes(nic).empty());
    settle();
    EXPECT_TRUE(service->sessions().with_queue_pairs(reply->session)->grant.enforced)
        << service->sessions().with_queue_pairs(reply->session)->grant.reason;
}

TEST_F(ServicePolicyTest, ReloadsAskedForAtOnceAreAllAnswered)
{
    policy(with_shares(60, 30));
    start();
    add_device("mlx5_0");
    int answered = 0;
    for (int i = 0; i < 20; ++i) {
        service->reloads().reload([&](const ReloadOutcome& outcome) { answered += outcome.accepted ? 1 : 0; });
    }
    EXPECT_TRUE(loop.run_until([&] { return answered == 20; }));
}

TEST_F(ServicePolicyTest, AReloadIsAnsweredThoughADeviceGoesAwayMeanwhile)
{
    policy(with_shares(60, 30));
    start();
    ModelBackend& nic = add_device("mlx5_0");
    nic.firmware().faults().delay(CommandKind::Modify, std::chrono::milliseconds(200));
    policy(with_shares(61, 30));
    std::optional<ReloadOutcome> outcome;
    service->reloads().reload([&](ReloadOutcome got) { outcome = std::move(got); });
    ASSERT_TRUE(loop.run_until([&] { return service->in_force().policy()->revision != started.revision; }));
    service->device_control().remove("mlx5_0/1");
    EXPECT_TRUE(loop.run_until([&] { return outcome.has_value(); }));
}

}    // namespace
}    // namespace rdmaqos
