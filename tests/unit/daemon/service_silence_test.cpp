// Service: devices that answer nothing, or go away while they are waited for; and the end.
#include <algorithm>
#include <chrono>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "daemon/watchdog.h"
#include "tests/support/service_fixture.h"

namespace rdmaqos {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Results = std::vector<DeviceReconcile>;

std::string with_share(int rpc)
{
    return fmt::format(R"(version: 1
qos-levels:
  - {{name: DEFAULT, sl: 0}}
  - {{name: rpc, schedule: {{share: {}}}}}
  - {{name: bulk, schedule: {{share: 30}}}}
)",
                       rpc);
}

class ServiceSilence : public test::ServiceFixture {
protected:
    void SetUp() override
    {
        policy(with_share(60));
        start();
        well = &add_device("mlx5_0");
        silent = &add_device("mlx5_1");
        ASSERT_TRUE(register_as(PeerId{1}, process(1), asking_for("rpc", "mlx5_0", {1})));
        ASSERT_TRUE(register_as(PeerId{2}, process(2), asking_for("rpc", "mlx5_1", {1})));
        settle();
    }

    void TearDown() override
    {
        gate.open();
        service.reset();    // waits for its threads, which wait for the gate
    }

    void hang_now()
    {
        test::hang(*silent, gate);
        service->device_control().reconcile("mlx5_1", [](const Result<Results>&) {});
        gate.wait_until_it_holds();
    }

    // Calls, and lets as much time pass as anybody waits for a device.
    template <typename T, typename Call>
    Result<T> answer_in_time(Call call)
    {
        std::optional<Result<T>> got;
        call([&got](Result<T> result) { got.emplace(std::move(result)); });
        loop.run_until_rest();
        EXPECT_FALSE(got) << "it waits for the device";
        loop.advance(15s);
        if (!loop.run_until([&got] { return got.has_value(); })) {
            return fail(ErrorCode::Timeout, "no answer");
        }
        return std::move(*got);
    }
    Result<ReloadOutcome> reload_in_time()
    {
        return answer_in_time<ReloadOutcome>([this](auto done) {
            service->reloads().reload([done = std::move(done)](ReloadOutcome outcome) { done(std::move(outcome)); });
        });
    }
    void let_answer()
    {
        silent->firmware().faults().clear();
        gate.open();
        settle();
    }
    Result<Results> release(const std::string& device)
    {
        return answer<Results>([&](auto done) { service->device_control().release(device, std::move(done)); });
    }

    test::Gate gate;
    ModelBackend* well = nullptr;
    ModelBackend* silent = nullptr;
};

TEST_F(ServiceSilence, AReloadAnswersAndTheDeviceCatchesUp)
{
    hang_now();
    policy(with_share(50));
    const auto outcome = reload_in_time();
    ASSERT_TRUE(outcome);
    EXPECT_TRUE(outcome->accepted);
    EXPECT_THAT(outcome->unanswered, ElementsAre("mlx5_1/1"));
    EXPECT_THAT(outcome->to_text(),
                HasSubstr("mlx5_1/1: warning: has not answered yet; it gets the policy when it does"));
    EXPECT_THAT(writes(*well).back(), HasSubstr("share 50"));
    EXPECT_EQ(service->devices().status("mlx5_0/1")->state, DeviceState::Ready);
    EXPECT_EQ(service->devices().status("mlx5_1/1")->state, DeviceState::Degraded);
    EXPECT_THAT(service->devices().status("mlx5_1/1")->reason, HasSubstr("has not answered for 15 s"));

    policy(with_share(40));
    const auto next = reload_in_time();
    ASSERT_TRUE(next) << "no reload waits for the one before";
    EXPECT_TRUE(next->accepted);

    let_answer();
    EXPECT_EQ(service->devices().status("mlx5_1/1")->state, DeviceState::Ready)
        << service->devices().status("mlx5_1/1")->reason;
    EXPECT_THAT(writes(*silent).back(), HasSubstr("share 40"));
}

// With what is given to it meanwhile: a restart would not make the device answer.
TEST_F(ServiceSilence, ADeviceThatAnswersNothingIsNoLostThread)
{
    hang_now();
    service->device_control().reconcile("mlx5_1", [](const Result<Results>&) {});
    const auto before = service->devices().pulses();
    ASSERT_EQ(before.size(), 2U);
    EXPECT_THAT(service->devices().silent(), IsEmpty());
    loop.advance(15s);
    EXPECT_THAT(service->devices().silent(), ElementsAre("mlx5_1/1"));
    EXPECT_TRUE(before.at("mlx5_1/1").busy);
    EXPECT_EQ(before.at("mlx5_1/1").waiting, 1U);
    EXPECT_THAT(lost_threads(before, service->devices().pulses()), IsEmpty());
    let_answer();
}

TEST_F(ServiceSilence, AdministratorsAreToldWhoDoesNotAnswer)
{
    hang_now();
    for (const auto ask : {&DeviceControl::reconcile, &DeviceControl::disable, &DeviceControl::enable}) {
        const auto results = answer_in_time<Results>(
            [&](auto done) { (service->device_control().*ask)("", std::move(done)); });
        ASSERT_TRUE(results);
        ASSERT_EQ(results->size(), 2U);
        EXPECT_THAT(results->at(0).failures, IsEmpty());
        EXPECT_EQ(results->at(1).device, "mlx5_1/1");
        ASSERT_EQ(results->at(1).failures.size(), 1U);
        EXPECT_EQ(results->at(1).failures[0].error.message,
                  "mlx5_1/1 has not answered for 15 s; what it was told is done when it answers");
    }
    const auto drift = answer_in_time<std::vector<DeviceDrift>>(
        [&](auto done) { service->device_control().verify("", std::move(done)); });
    ASSERT_FALSE(drift);
    EXPECT_EQ(drift.error().code, ErrorCode::Timeout);
    let_answer();
}

TEST_F(ServiceSilence, APlanIsMadeFromWhatTheDeviceHadWhenItAnsweredLast)
{
    hang_now();
    const auto text = std::make_shared<SourceFile>(SourceFile{"next.yaml", with_share(50)});
    const auto report = answer_in_time<PlanReport>([&](auto done) { service->plans().plan(text, 0, std::move(done)); });
    ASSERT_TRUE(report);
    ASSERT_EQ(report->devices.size(), 2U);
    EXPECT_THAT(report->devices[0].findings, IsEmpty());
    EXPECT_EQ(report->devices[1].plan.operations.size(), report->devices[0].plan.operations.size());
    ASSERT_EQ(report->devices[1].findings.size(), 1U);
    EXPECT_THAT(to_string(report->devices[1].findings[0].finding), HasSubstr("mlx5_1/1 has not answered"));
}

TEST_F(ServiceSilence, ItIsNotAskedForDriftAgainAndAgain)
{
    hang_now();
    for (int i = 0; i < 50; ++i) {
        loop.advance(10min);
    }
    EXPECT_LE(service->devices().status("mlx5_1/1")->queue_depth, 1U);
    let_answer();
    policy(with_share(50));
    silent->clear_log();
    loop.advance(10min);
    settle();
    EXPECT_FALSE(silent->log().empty()) << "drift is looked for again";
}

TEST_F(ServiceSilence, AReleaseIsAnsweredAndGoesOn)
{
    hang_now();
    const auto results = answer_in_time<Results>(
        [&](auto done) { service->device_control().release("mlx5_1", std::move(done)); });
    ASSERT_TRUE(results);
    ASSERT_EQ(results->at(0).failures.size(), 1U);
    EXPECT_EQ(results->at(0).failures[0].error.code, ErrorCode::Timeout);
    EXPECT_EQ(release("mlx5_1").error().code, ErrorCode::Busy);
    gate.open();
    ASSERT_TRUE(loop.run_until([&] { return !service->devices().status("mlx5_1/1"); }));
    EXPECT_THAT(service->devices().released_keys(), ElementsAre("mlx5_1/1"));
}

TEST_F(ServiceSilence, ADeviceThatVanishesWhileItIsReleasedIsNoSuccessAndCanBeReleasedWhenItIsBack)
{
    hang_now();
    std::optional<Result<Results>> got;
    service->device_control().release("mlx5_1", [&](Result<Results> result) { got.emplace(std::move(result)); });
    const Guid guid = service->devices().status("mlx5_1/1")->info.node_guid;
    service->device_control().remove("mlx5_1/1");
    ASSERT_TRUE(loop.run_until([&] { return got.has_value(); })) << "it does not wait for a device that is gone";
    ASSERT_TRUE(*got);
    ASSERT_EQ((*got)->size(), 1U);
    ASSERT_EQ((*got)->at(0).failures.size(), 1U);
    EXPECT_EQ((*got)->at(0).failures[0].error.code, ErrorCode::DeviceGone);

    service->device_control().vanished({guid, 1});
    devices = 1;    // the same GUID
    add_device("mlx5_1");
    const auto again = release("mlx5_1");
    ASSERT_TRUE(again) << to_string(again.error());
    EXPECT_THAT(again->at(0).failures, IsEmpty());
}

TEST_F(ServiceSilence, ADeviceThatVanishesBetweenTwoAttemptsIsNoSuccessEither)
{
    silent->firmware().faults().busy(CommandKind::Attach, 100);
    std::optional<Result<Results>> got;
    service->device_control().release("mlx5_1", [&](Result<Results> result) { got.emplace(std::move(result)); });
    settle();
    ASSERT_FALSE(got);
    service->device_control().remove("mlx5_1/1");
    loop.advance(100ms);
    ASSERT_TRUE(loop.run_until([&] { return got.has_value(); }));
    EXPECT_THAT((*got)->at(0).failures.at(0).error.message, HasSubstr("went away while it was being released"));
    EXPECT_EQ(release("mlx5_1").error().code, ErrorCode::UnknownDevice);
}

TEST_F(ServiceSilence, OneThatHasGoneHoldsUpNoOther)
{
    hang_now();
    service->device_control().remove("mlx5_1/1");
    const auto results = release("mlx5_0");
    ASSERT_TRUE(results) << "the files of one are closed whatever the other does";
    EXPECT_THAT(results->at(0).failures, IsEmpty());
}

TEST_F(ServiceSilence, WhatWaitsForADeviceThatGoesIsAnsweredAtOnce)
{
    hang_now();
    std::optional<Result<Results>> reconciled;
    service->device_control().reconcile("", [&](Result<Results> result) { reconciled.emplace(std::move(result)); });
    std::optional<ReloadOutcome> reloaded;
    policy(with_share(50));
    service->reloads().reload([&](ReloadOutcome outcome) { reloaded = std::move(outcome); });
    ASSERT_TRUE(loop.run_until([&] { return service->in_force().policy()->revision != started.revision; }));
    silent->remove();    // says so by an event
    ASSERT_TRUE(loop.run_until([&] { return reloaded && reconciled; }));
    EXPECT_TRUE(reloaded->accepted);
    EXPECT_THAT(reloaded->unanswered, IsEmpty());
    ASSERT_EQ((*reconciled)->size(), 2U);
    // In the order in which they answered.
    const auto gone = std::ranges::find(**reconciled, "mlx5_1/1", &DeviceReconcile::device);
    ASSERT_NE(gone, (*reconciled)->end());
    EXPECT_EQ(gone->failures.at(0).error.code, ErrorCode::DeviceGone);
    EXPECT_EQ(service->devices().keys(), std::vector<std::string>{"mlx5_0/1"});
}

TEST_F(ServiceSilence, ADeviceThatComesBeforeItsGoneSelfWasTakenOutStays)
{
    silent->remove();
    add_device("mlx5_1");    // before what the event posted has run to its end
    settle();
    EXPECT_EQ(service->devices().status("mlx5_1/1")->state, DeviceState::Ready);
}

TEST_F(ServiceSilence, WhenTheServiceEndsNothingIsBegun)
{
    test::Gate reader;
    while_reading = reader.waiter();
    policy(with_share(50) + "  - {name: own, allow: {user: [alice]}}\n");
    std::optional<ReloadOutcome> reloaded;
    service->reloads().reload([&](ReloadOutcome outcome) { reloaded = std::move(outcome); });
    reader.wait_until_it_holds();
    bool ended = false;
    service->shutdown(EndOfService::Stop, [&ended] { ended = true; });
    ASSERT_TRUE(loop.run_until([&ended] { return ended; })) << "a load that hangs is not waited for";
    EXPECT_TRUE(well->firmware().elements().empty());

    reader.open();
    ASSERT_TRUE(loop.run_until([&] { return reloaded.has_value(); }));
    EXPECT_FALSE(reloaded->accepted);
    EXPECT_THAT(reloaded->to_text(), HasSubstr("rdma-qosd is stopping"));
    const auto late = reload();
    EXPECT_FALSE(late.accepted);
    EXPECT_THAT(late.to_text(), HasSubstr("rdma-qosd is stopping"));
    EXPECT_EQ(
        answer<PlanReport>([&](auto done) { service->plans().plan(std::nullopt, 0, std::move(done)); }).error().code,
        ErrorCode::Busy);
    EXPECT_EQ(register_as(PeerId{3}, process(3), asking_for("rpc")).error().code, ErrorCode::Busy);
    for (const auto ask :
         {&DeviceControl::reconcile, &DeviceControl::disable, &DeviceControl::enable, &DeviceControl::release}) {
        EXPECT_EQ(answer<Results>([&](auto done) { (service->device_control().*ask)("mlx5_0", std::move(done)); })
                      .error()
                      .code,
                  ErrorCode::Busy);
    }
    EXPECT_TRUE(well->firmware().elements().empty()) << "and nothing was built again";
    const auto before = service->devices().keys();
    DeviceInfo info;
    info.name = "mlx5_9";
    service->device_control().add(std::make_unique<ModelBackend>(info, default_capabilities()));
    EXPECT_EQ(service->devices().keys(), before);
}

}    // namespace
}    // namespace rdmaqos
