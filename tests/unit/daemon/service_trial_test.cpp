// Service: a policy is tried, and goes back by itself unless it is confirmed.
#include <chrono>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "daemon/service/last_good.h"
#include "lib/base/file.h"
#include "tests/support/journal.h"
#include "tests/support/service_fixture.h"

namespace rdmaqos {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kBrokenTrial = "version: 1\nqos-levels: [{name: DEFAULT, sl: 99}]\n";

std::string trial_shares(int rpc, int bulk)
{
    return fmt::format(R"(version: 1
qos-levels:
  - {{name: DEFAULT, sl: 0}}
  - {{name: rpc, schedule: {{share: {}}}}}
  - {{name: bulk, schedule: {{share: {}}}}}
)",
                       rpc, bulk);
}

std::string text_of(const std::filesystem::path& file)
{
    return read_regular_file(file, kMaxConfigFileSize).value_or("unreadable");
}

const std::string kBeforeTrial = trial_shares(60, 30);
const std::string kTriedText = trial_shares(50, 30);

struct Heard final : ServiceObserver {
    void trial_changed(TrialStep step, const std::string& revision) override
    {
        steps.push_back(fmt::format("{} {}", to_string(step), revision));
    }
    std::vector<std::string> steps;
};

class ServiceTrialTest : public test::ServiceFixture {
protected:
    void SetUp() override
    {
        policy(kBeforeTrial);
        start();
        service->context().add_observer(heard);
        nic = &add_device("mlx5_0");
        ASSERT_TRUE(register_as(PeerId{1}, process(1), asking_for("rpc", "mlx5_0", {1, 2})));
        before = service->in_force().policy()->revision;
        journal.clear();
        nic->clear_log();
    }
    void TearDown() override { service.reset(); }    // before the journal goes

    Result<TrialOutcome> begin(const std::string& text, std::chrono::seconds timeout = 60s)
    {
        auto who = std::make_shared<Identity>(*process(4711, 0));
        who->command = "rdma-qosctl";
        TrialRequest request{std::make_shared<SourceFile>(SourceFile{std::string(kTriedFile), text}), timeout, who};
        return answer<TrialOutcome>([&](auto done) { service->trials().begin(std::move(request), std::move(done)); });
    }
    // In force, as the test goes on from.
    std::string tried(const std::string& text, std::chrono::seconds timeout = 60s)
    {
        const auto outcome = begin(text, timeout);
        EXPECT_TRUE(outcome && outcome->reload.accepted);
        EXPECT_TRUE(service->trial().status());
        return service->in_force().policy()->revision;
    }
    Result<void> confirm(const std::string& revision)
    {
        return answer<void>([&](auto done) { service->trials().confirm(revision, std::move(done)); });
    }
    Result<ReloadOutcome> revert()
    {
        return answer<ReloadOutcome>([&](auto done) { service->trials().revert(std::move(done)); });
    }
    // The trial is over.
    void let_time_out(std::chrono::seconds timeout = 60s)
    {
        loop.advance(timeout);
        ASSERT_TRUE(loop.run_until([this] { return !service->trial().status(); }));
        settle();
    }
    [[nodiscard]] std::string running() const { return service->in_force().policy()->revision; }
    [[nodiscard]] std::string share_of_rpc() const
    {
        for (const auto& level : service->in_force().policy()->levels) {
            if (level.name == "rpc") {
                return fmt::format("{}", level.schedule->rate.share.value_or(0));
            }
        }
        return {};
    }
    // What a daemon that starts with broken files would run.
    [[nodiscard]] std::string last_good_now() const
    {
        const auto sources = load_last_good(root.path());
        return sources && !sources->empty() ? sources->back()->text : "";
    }
    [[nodiscard]] std::string last_good()
    {
        // It is saved on the thread that reads, in turn.
        const auto source = std::make_shared<SourceFile>(SourceFile{"p.yaml", kBeforeTrial});
        EXPECT_TRUE(answer<ReloadOutcome>([&](auto done) { service->plans().check(source, 0, std::move(done)); }));
        return last_good_now();
    }

    test::Journal journal;
    Heard heard;
    ModelBackend* nic = nullptr;
    std::string before;
};

TEST_F(ServiceTrialTest, IsInForceInMemoryAlone)
{
    const auto outcome = begin(kTriedText, 90s);
    ASSERT_TRUE(outcome) << to_string(outcome.error());
    ASSERT_TRUE(outcome->reload.accepted) << outcome->reload.to_text();
    EXPECT_TRUE(outcome->reload.diagnostics.empty()) << outcome->reload.to_text();
    EXPECT_EQ(outcome->reload.revision, running());
    EXPECT_NE(running(), before);
    EXPECT_THAT(writes(*nic), ElementsAre(HasSubstr("share 50")));
    ASSERT_TRUE(outcome->trial);
    EXPECT_EQ(outcome->trial->revision, running());
    EXPECT_EQ(outcome->trial->goes_back_to, before);
    EXPECT_EQ(outcome->trial->left, 90s);
    EXPECT_EQ(outcome->trial->who->pid, 4711);
    EXPECT_EQ(outcome->trial->file_revision, before) << "the policy is that one file";
    EXPECT_EQ(service->trial().text()->text, kTriedText);
    loop.clock.advance(29'500ms);
    EXPECT_EQ(service->trial().status()->left, 61s) << "rounded up";
    EXPECT_EQ(last_good(), kBeforeTrial);
    EXPECT_EQ(text_of(root.path() / "etc/rdma-qos/policy.yaml"), kBeforeTrial);
    EXPECT_THAT(heard.steps, ElementsAre("begun " + running()));
    const auto begun = journal.of(LogEvent::TrialBegun);
    ASSERT_THAT(begun, SizeIs(1));
    EXPECT_EQ(begun[0].field("REVISION"), running());
    EXPECT_EQ(begun[0].field("PID"), "4711");
    EXPECT_THAT(begun[0].message, HasSubstr("pid 4711 (rdma-qosctl)"));
}

TEST_F(ServiceTrialTest, GoesBackWhenItsTimeIsOver)
{
    const std::string revision = tried(kTriedText);
    nic->clear_log();
    let_time_out();
    EXPECT_EQ(running(), before);
    EXPECT_THAT(writes(*nic), ElementsAre(HasSubstr("share 60")));
    EXPECT_THAT(heard.steps, ElementsAre("begun " + revision, "timeout " + before));
    const auto reverted = journal.of(LogEvent::TrialReverted);
    ASSERT_THAT(reverted, SizeIs(1));
    EXPECT_EQ(reverted[0].field("CAUSE"), "timeout");
    EXPECT_EQ(reverted[0].field("TRIED"), revision);
    EXPECT_EQ(reverted[0].field("REVISION"), before);
    EXPECT_TRUE(service->in_force().last_reload.accepted);
    EXPECT_EQ(service->trial().text(), nullptr);
    loop.advance(1h);
    settle();
    EXPECT_EQ(running(), before);
    EXPECT_THAT(heard.steps, SizeIs(2));
}

TEST_F(ServiceTrialTest, IsConfirmedWhenTheFileSaysTheSame)
{
    const std::string revision = tried(kTriedText);
    policy(kTriedText);
    nic->clear_log();
    std::string on_disk;
    const auto confirmed = answer<void>([&](auto done) {
        service->trials().confirm(revision, [&, done = std::move(done)](Result<void> result) {
            on_disk = last_good_now();
            done(std::move(result));
        });
    });
    ASSERT_TRUE(confirmed) << to_string(confirmed.error());
    EXPECT_EQ(on_disk, kTriedText) << "clients rely on the answer, also after a crash of the host";
    EXPECT_FALSE(service->trial().status());
    EXPECT_EQ(running(), revision);
    EXPECT_THAT(writes(*nic), IsEmpty());
    EXPECT_THAT(journal.of(LogEvent::TrialConfirmed), SizeIs(1));
    EXPECT_THAT(journal.of(LogEvent::TrialReverted), IsEmpty());
    EXPECT_THAT(heard.steps, ElementsAre("begun " + revision, "confirmed " + revision));
    loop.advance(1h);
    settle();
    EXPECT_EQ(running(), revision) << "nothing is left to go back to";
    ASSERT_TRUE(reload().accepted);
    EXPECT_EQ(running(), revision);
}

TEST_F(ServiceTrialTest, IsNotConfirmedByFilesThatSayOtherwise)
{
    EXPECT_EQ(confirm(before).error().code, ErrorCode::InvalidArgument) << "nothing is tried";
    const std::string revision = tried(kTriedText);
    EXPECT_THAT(confirm(before).error().message, HasSubstr(revision));
    EXPECT_THAT(confirm(revision).error().message, HasSubstr("/etc/rdma-qos/policy.yaml")) << "it has the old text";
    policy(kTriedText);
    root.write("etc/rdma-qos/policy.d/70-late.yaml", "version: 1\n");
    const auto late = confirm(revision);
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, ErrorCode::InvalidArgument);
    EXPECT_THAT(late.error().message, HasSubstr("/etc/rdma-qos/policy.d/70-late.yaml"));
    EXPECT_THAT(late.error().message, testing::Not(HasSubstr("policy.yaml")));
    policy(kBrokenTrial);
    EXPECT_EQ(confirm(revision).error().code, ErrorCode::InvalidPolicy);
    EXPECT_TRUE(service->trial().status());
    EXPECT_EQ(running(), revision);
    EXPECT_EQ(last_good(), kBeforeTrial);
    policy(kBeforeTrial);
    std::filesystem::remove(root.path() / "etc/rdma-qos/policy.d/70-late.yaml");
    let_time_out();
    EXPECT_EQ(running(), before);
}

TEST_F(ServiceTrialTest, IsRevertedByCommand)
{
    EXPECT_EQ(revert().error().code, ErrorCode::InvalidArgument) << "nothing is tried";
    tried(kTriedText);
    const auto outcome = revert();
    ASSERT_TRUE(outcome);
    EXPECT_TRUE(outcome->accepted);
    EXPECT_EQ(outcome->revision, before);
    EXPECT_EQ(running(), before);
    EXPECT_FALSE(service->trial().status());
    ASSERT_THAT(journal.of(LogEvent::TrialReverted), SizeIs(1));
    EXPECT_EQ(journal.of(LogEvent::TrialReverted)[0].field("CAUSE"), "revert");
    loop.advance(1h);
    EXPECT_THAT(heard.steps, SizeIs(2));
}

TEST_F(ServiceTrialTest, GoesBackToTheFilesAsTheyAreThen)
{
    tried(kTriedText);
    policy(trial_shares(70, 30));
    let_time_out();
    EXPECT_EQ(share_of_rpc(), "70");
    EXPECT_TRUE(loop.run_until([this] { return last_good() == trial_shares(70, 30); })) << last_good();
}

TEST_F(ServiceTrialTest, GoesBackFromMemoryWhenTheFilesAreBroken)
{
    const std::string revision = tried(kTriedText);
    policy(kBrokenTrial);
    nic->clear_log();
    let_time_out();
    EXPECT_EQ(running(), before);
    EXPECT_THAT(writes(*nic), ElementsAre(HasSubstr("share 60")));
    EXPECT_FALSE(service->in_force().last_reload.accepted) << "the status says so";
    const auto rejected = journal.of(LogEvent::PolicyRejected);
    ASSERT_THAT(rejected, SizeIs(1));
    EXPECT_EQ(rejected[0].level, LogLevel::Error);
    EXPECT_EQ(rejected[0].field("REVISION"), before);
    EXPECT_THAT(rejected[0].message, HasSubstr("policy.yaml:2:34: error"));
    EXPECT_THAT(heard.steps, ElementsAre("begun " + revision, "timeout " + before));
    EXPECT_EQ(last_good(), kBeforeTrial);

    policy(kBeforeTrial);
    tried(kTriedText);
    policy(kBrokenTrial);
    const auto outcome = revert();
    ASSERT_TRUE(outcome);
    EXPECT_FALSE(outcome->accepted);
    EXPECT_EQ(outcome->revision, before);
    EXPECT_EQ(outcome->diagnostics.error_count(), 1U);
}

// A rule that came during the trial is none of the files that are broken.
TEST_F(ServiceTrialTest, GoesBackFromMemoryWithTheTransientFilesOfNow)
{
    const std::size_t rules = service->in_force().policy()->rules.size();
    tried(kTriedText);
    policy(kBrokenTrial);
    root.write("run/rdma-qos/policy.d/10-job.yaml",
               "version: 1\nqos-match-rules: [{service-id: 5, qos-level-name: bulk}]\n");
    ASSERT_TRUE(revert());
    ASSERT_TRUE(loop.run_until([&] { return service->in_force().policy()->rules.size() == rules + 1; }));
    EXPECT_EQ(share_of_rpc(), "60");
}

// What the files say by then may be more than a device can do; what it had before it can have again.
TEST_F(ServiceTrialTest, GoesBackFromMemoryWhenTheDeviceRefusesTheFiles)
{
    tried(kTriedText);
    policy("version: 1\nqos-levels: [{name: DEFAULT}, {name: rpc, schedule: {min-rate: 150Gbps}}]\n");
    let_time_out();
    EXPECT_EQ(running(), before);
    EXPECT_FALSE(service->in_force().last_reload.accepted);
}

TEST_F(ServiceTrialTest, AnotherOneReplacesItAndGoesBackAsFar)
{
    tried(kTriedText);
    loop.advance(50s);
    const std::string second = tried(trial_shares(40, 30));
    EXPECT_EQ(service->trial().status()->goes_back_to, before);
    EXPECT_EQ(service->trial().status()->left, 60s);
    loop.advance(30s);
    settle();
    EXPECT_EQ(running(), second) << "the time of the first is of no account";
    policy(kBrokenTrial);
    let_time_out(30s);
    EXPECT_EQ(running(), before);
}

TEST_F(ServiceTrialTest, OneThatIsRefusedChangesNothing)
{
    const auto broken = begin(kBrokenTrial);
    ASSERT_TRUE(broken);
    EXPECT_FALSE(broken->reload.accepted);
    EXPECT_FALSE(broken->trial);
    EXPECT_THAT(broken->reload.to_text(), HasSubstr("/etc/rdma-qos/policy.yaml:2:34: error"));
    const auto too_much = begin(
        "version: 1\nqos-levels: [{name: DEFAULT}, {name: rpc, schedule: {min-rate: 150Gbps}}]\n");
    ASSERT_TRUE(too_much);
    EXPECT_FALSE(too_much->reload.accepted);
    EXPECT_THAT(too_much->reload.to_text(), HasSubstr("mlx5_0/1"));
    EXPECT_FALSE(service->trial().status());
    EXPECT_EQ(running(), before);
    EXPECT_THAT(writes(*nic), IsEmpty());
    EXPECT_TRUE(service->in_force().last_reload.accepted) << "nothing is wrong with the host's files";
    EXPECT_THAT(heard.steps, IsEmpty());
    EXPECT_THAT(journal.of(LogEvent::PolicyRejected), SizeIs(2));

    const std::string revision = tried(kTriedText);
    EXPECT_FALSE(begin(kBrokenTrial)->reload.accepted);
    EXPECT_EQ(service->trial().status()->revision, revision) << "the first one goes on";
}

TEST_F(ServiceTrialTest, WhatMakesNoSenseIsAnError)
{
    EXPECT_EQ(begin(kTriedText, 0s).error().code, ErrorCode::InvalidArgument);
    EXPECT_EQ(begin(kTriedText, 24h + 1s).error().code, ErrorCode::InvalidArgument);
    EXPECT_EQ(begin("version: 1 # \xff\n").error().code, ErrorCode::InvalidArgument);
    EXPECT_EQ(begin(std::string("version: 1\n#\0\n", 13)).error().code, ErrorCode::InvalidArgument);
    EXPECT_FALSE(service->trial().status());
    ASSERT_TRUE(begin(kTriedText, 24h));

    bool answered = false;
    TrialRequest request{std::make_shared<SourceFile>(SourceFile{std::string(kTriedFile), kTriedText}), 60s,
                         process(1)};
    service->trials().begin(request, [&](const Result<TrialOutcome>&) { answered = true; });
    EXPECT_EQ(begin(kTriedText).error().code, ErrorCode::Busy) << "one is being begun";
    EXPECT_TRUE(loop.run_until([&] { return answered; }));
}

TEST_F(ServiceTrialTest, WithoutAPolicyThereIsNothingToGoBackTo)
{
    service.reset();
    policy(kBrokenTrial);
    std::filesystem::remove_all(root.path() / "var");
    start();
    ASSERT_FALSE(service->in_force().policy());
    EXPECT_EQ(begin(kTriedText).error().code, ErrorCode::InvalidPolicy);
}

TEST_F(ServiceTrialTest, ThePolicyThatRunsCanBeTried)
{
    EXPECT_EQ(tried(kBeforeTrial), before);
    EXPECT_THAT(writes(*nic), IsEmpty());
    const auto confirmed = confirm(before);
    EXPECT_TRUE(confirmed) << to_string(confirmed.error());
}

TEST_F(ServiceTrialTest, WarnsIfTheWayBackIsNotToWhatRuns)
{
    policy(trial_shares(70, 30));    // and nobody has reloaded
    const auto other = begin(kTriedText);
    ASSERT_TRUE(other && other->reload.accepted);
    EXPECT_THAT(other->reload.to_text(), HasSubstr("are not what was in force, revision " + before));
    const auto second = begin(trial_shares(51, 30));
    ASSERT_TRUE(second && second->reload.accepted);
    EXPECT_TRUE(second->reload.diagnostics.empty()) << "said once";
    policy(kBrokenTrial);
    ASSERT_TRUE(revert());
    const auto broken = begin(kTriedText);
    ASSERT_TRUE(broken && broken->reload.accepted);
    EXPECT_THAT(broken->reload.to_text(), HasSubstr("cannot be used as they are"));
}

TEST_F(ServiceTrialTest, AReloadEndsIt)
{
    const std::string first = tried(kTriedText);
    const auto taken = reload();
    ASSERT_TRUE(taken.accepted);
    EXPECT_EQ(taken.ended_trial, first);
    EXPECT_TRUE(reload().ended_trial.empty());
    EXPECT_FALSE(service->trial().status());
    EXPECT_EQ(running(), before);
    ASSERT_THAT(journal.of(LogEvent::TrialReverted), SizeIs(1));
    EXPECT_EQ(journal.of(LogEvent::TrialReverted)[0].field("CAUSE"), "reload");

    const std::string revision = tried(kTriedText);
    policy(kBrokenTrial);
    EXPECT_FALSE(reload().accepted);
    EXPECT_EQ(running(), revision) << "a reload that is refused changes nothing";
    ASSERT_TRUE(service->trial().status());
    policy(kBeforeTrial);
    let_time_out();
    EXPECT_EQ(running(), before);
}

// A rule leads to level bulk, for as long as a job's cgroup is there.
class TransientTrialTest : public ServiceTrialTest {
protected:
    void SetUp() override
    {
        root.write("sys/fs/cgroup/cgroup.controllers", "cpu\n");
        std::filesystem::create_directories(job);
        root.write("run/rdma-qos/policy.d/10-job.yaml", "version: 1\ntransient: {cgroup: /job}\n"
                                                        "qos-match-rules: [{service-id: 5, qos-level-name: bulk}]\n");
        ServiceTrialTest::SetUp();
    }
    [[nodiscard]] std::string level_of_service() const
    {
        Request request;
        request.service_id = 5;
        const auto path = service->paths().query(request, *process(1));
        return path ? path->level : to_string(path.error());
    }

    const std::filesystem::path job = root.path() / "sys/fs/cgroup/job";
};

TEST_F(TransientTrialTest, TransientRulesEndDuringIt)
{
    const std::string revision = tried(kTriedText);
    EXPECT_EQ(level_of_service(), "bulk");
    std::filesystem::remove(job);
    EXPECT_TRUE(service->transient_ends().end());
    ASSERT_TRUE(loop.run_until([this] { return level_of_service() == "DEFAULT"; }));
    settle();
    ASSERT_TRUE(service->trial().status()) << "it goes on";
    EXPECT_EQ(share_of_rpc(), "50");
    EXPECT_NE(running(), revision);
    EXPECT_EQ(service->trial().status()->revision, running());
    EXPECT_EQ(last_good(), kBeforeTrial) << "of the reload before the trial";
    policy(kTriedText);
    const auto confirmed = confirm(running());
    EXPECT_TRUE(confirmed) << to_string(confirmed.error());
}

TEST_F(ServiceTrialTest, ARefreshTakesOtherFilesAndLetsItGoOn)
{
    tried(kTriedText);
    root.write("run/rdma-qos/policy.d/10-job.yaml",
               "version: 1\nqos-match-rules: [{service-id: 5, qos-level-name: bulk}]\n");
    std::optional<ReloadOutcome> outcome;
    service->reloads().refresh([&](ReloadOutcome got) { outcome = std::move(got); });
    ASSERT_TRUE(loop.run_until([&] { return outcome.has_value(); }));
    EXPECT_TRUE(outcome->accepted);
    ASSERT_TRUE(service->trial().status());
    EXPECT_EQ(service->in_force().policy()->rules.size(), 1U);
    EXPECT_EQ(share_of_rpc(), "50");
    EXPECT_EQ(service->trial().status()->revision, running());
    // The trial is what the file is merged into, not the files of the host.
    policy(kBrokenTrial);
    service->reloads().refresh([&](ReloadOutcome got) { outcome = std::move(got); });
    settle();
    EXPECT_TRUE(outcome->accepted);
    EXPECT_EQ(share_of_rpc(), "50");
    policy(kBeforeTrial);
    let_time_out();
    EXPECT_EQ(service->in_force().policy()->rules.size(), 1U);
    EXPECT_EQ(share_of_rpc(), "60");
}

// Nor does it read what somebody is editing: that is for a reload.
TEST_F(ServiceTrialTest, ARefreshTakesNoUnfinishedEdits)
{
    root.write("etc/rdma-qos/policy.d/70-late.yaml",
               "version: 1\nqos-match-rules: [{service-id: 7, qos-level-name: rpc}]\n");
    ASSERT_TRUE(reload().accepted);
    const std::string rule = "version: 1\nqos-match-rules: [{service-id: 5, qos-level-name: bulk}]\n";
    const auto refresh = [this] {
        std::optional<ReloadOutcome> outcome;
        service->reloads().refresh([&](ReloadOutcome got) { outcome = std::move(got); });
        EXPECT_TRUE(loop.run_until([&] { return outcome.has_value(); }));
        return outcome.value_or(ReloadOutcome{});
    };
    policy(kBrokenTrial);
    root.write("etc/rdma-qos/policy.d/70-late.yaml", "version: 1\n");
    root.write("etc/rdma-qos/policy.d/80-new.yaml",
               "version: 1\nqos-match-rules: [{service-id: 9, qos-level-name: rpc}]\n");
    settings("mode: monitor\n");
    root.write("run/rdma-qos/policy.d/10-job.yaml", rule);
    const auto added = refresh();
    EXPECT_TRUE(added.accepted) << added.to_text();
    EXPECT_EQ(service->in_force().policy()->rules.size(), 2U);
    EXPECT_EQ(service->in_force().settings().mode, Mode::Enforce);
    policy(trial_shares(10, 30));
    root.write("run/rdma-qos/policy.d/10-job.yaml", "version: 1\n");
    EXPECT_TRUE(refresh().accepted);
    EXPECT_EQ(share_of_rpc(), "60") << "nobody has reloaded";
    EXPECT_EQ(service->in_force().policy()->rules.size(), 1U);

    // What is refused is no state of the files.
    root.write("run/rdma-qos/policy.d/10-job.yaml", "version: 1\nqos-match-rules: [{qos-level-name: none}]\n");
    EXPECT_FALSE(refresh().accepted);
    EXPECT_TRUE(service->in_force().last_reload.accepted);
    EXPECT_EQ(service->tally().counters().reloads_refused, 0U);
    // Nor does a refresh end what a refused reload says.
    std::filesystem::remove(root.path() / "run/rdma-qos/policy.d/10-job.yaml");
    policy(kBrokenTrial);
    EXPECT_FALSE(reload().accepted);
    EXPECT_TRUE(refresh().accepted);
    EXPECT_FALSE(service->in_force().last_reload.accepted);
}

// Several ask at once: each gets what it has asked for.
TEST_F(ServiceTrialTest, AReloadThatSharesItsTurnWithARefreshEndsIt)
{
    tried(kTriedText);
    int answers = 0;
    const auto count = [&](const ReloadOutcome& outcome) {
        EXPECT_TRUE(outcome.accepted);
        ++answers;
    };
    service->reloads().refresh(count);
    service->reloads().refresh(count);
    service->reloads().reload(count);
    ASSERT_TRUE(loop.run_until([&] { return answers == 3; }));
    EXPECT_FALSE(service->trial().status());
    EXPECT_EQ(running(), before);
}

TEST_F(ServiceTrialTest, ADeviceThatArrivesGetsIt)
{
    tried(kTriedText);
    const ModelBackend& second = add_device("mlx5_1");
    ASSERT_TRUE(register_as(PeerId{2}, process(2), asking_for("rpc", "mlx5_1", {7})));
    settle();
    EXPECT_THAT(writes(second), testing::Contains(HasSubstr("share 50")));
    let_time_out();
    EXPECT_THAT(writes(second), testing::Contains(HasSubstr("share 60")));
}

TEST_F(ServiceTrialTest, TheFabricMayChangeDuringIt)
{
    tried(kTriedText);
    root.write("etc/rdma-qos/fabric.yaml", "version: 1\nports: [{guid: 0x77, name: far}]\n");
    bool done = false;
    service->fabric().reread([&] { done = true; });
    ASSERT_TRUE(loop.run_until([&] { return done; }));
    EXPECT_TRUE(service->trial().status());
    EXPECT_EQ(share_of_rpc(), "50");
}

TEST_F(ServiceTrialTest, AShutdownEndsItWithoutAWord)
{
    tried(kTriedText);
    bool done = false;
    service->shutdown(EndOfService::Stop, [&] { done = true; });
    ASSERT_TRUE(loop.run_until([&] { return done; }));
    journal.clear();
    loop.advance(1h);
    EXPECT_THAT(journal.of(LogEvent::PolicyRejected), IsEmpty());
    service.reset();
    start();
    EXPECT_TRUE(started.accepted);
    EXPECT_FALSE(service->trial().status());
    EXPECT_EQ(running(), before);
}

// The one that has the tried text goes first: what is confirmed is not gone back from.
TEST_F(ServiceTrialTest, AConfirmationThatCrossesTheEndOfTheTimeWins)
{
    const std::string revision = tried(kTriedText);
    policy(kTriedText);
    std::optional<Result<void>> confirmed;
    service->trials().confirm(revision, [&](Result<void> result) { confirmed = std::move(result); });
    loop.advance(60s);
    ASSERT_TRUE(loop.run_until([&] { return confirmed.has_value(); }));
    EXPECT_TRUE(*confirmed);
    settle();
    EXPECT_EQ(running(), revision);
    EXPECT_THAT(journal.of(LogEvent::TrialReverted), IsEmpty());
}

}    // namespace
}    // namespace rdmaqos
