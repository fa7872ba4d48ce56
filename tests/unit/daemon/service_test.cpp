#include "daemon/service/service.h"

#include <fmt/format.h>

#include "tests/support/service_fixture.h"

namespace rdmaqos {
namespace {

constexpr const char* kPolicy = R"(version: 1
qos-levels:
  - {name: DEFAULT, sl: 0}
  - name: rpc
    sl: 3
    schedule: {share: 60, max-rate: 40Gbps, fair-by: process}
  - name: bulk
    sl: 1
    schedule: {share: 30}
  - name: private
    schedule: {share: 10}
    allow: {user: [alice]}
qos-match-rules:
  - {service-id: [0x10], qos-level-name: rpc}
  - {service-id: [0x20], qos-level-name: bulk}
)";

class ServiceTest : public test::ServiceFixture {
protected:
    void SetUp() override
    {
        policy(kPolicy);
        start();
        ASSERT_TRUE(started.accepted) << started.to_text();
        nic = &add_device("mlx5_0");
    }

    ModelBackend* nic = nullptr;
};

TEST_F(ServiceTest, RegisterGivesTheLevelAndItsValues)
{
    const auto reply = register_as(PeerId{1}, process(4711), asking_for("rpc"));
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->grant.level, "rpc");
    EXPECT_EQ(reply->grant.sl, 3);
    EXPECT_EQ(reply->grant.share, 60U);
    EXPECT_EQ(reply->grant.max_rate, Bandwidth::from_gbps(40));
    EXPECT_EQ(reply->grant.leaf, "/rpc/pid:4711");
    EXPECT_TRUE(reply->grant.enforced);
}

TEST_F(ServiceTest, QueuePairsOfOneRegisterAreInTheirLeaf)
{
    const auto reply = register_as(PeerId{1}, process(4711), asking_for("rpc", "mlx5_0", {10, 11}));
    ASSERT_TRUE(reply);
    ASSERT_EQ(reply->queue_pairs.size(), 2U);
    for (const auto& result : reply->queue_pairs) {
        EXPECT_TRUE(result.enforced) << result.reason;
        EXPECT_EQ(result.leaf, "/rpc/pid:4711");
        EXPECT_EQ(result.device, "mlx5_0/1");
    }
    EXPECT_EQ(service->devices().status("mlx5_0/1")->queue_pairs_inside, 2U);
}

TEST_F(ServiceTest, EachQueuePairIsMatchedByItsOwnPath)
{
    auto request = asking_for("", "mlx5_0", {10, 11});
    request.request.service_id = 0x10;
    request.queue_pairs[1].path.service_id = 0x20;
    request.queue_pairs[1].has_path = true;
    const auto reply = register_as(PeerId{1}, process(4711), request);
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->grant.level, "rpc");
    EXPECT_EQ(reply->queue_pairs[0].leaf, "/rpc/pid:4711");
    EXPECT_EQ(reply->queue_pairs[1].leaf, "/bulk");
}

TEST_F(ServiceTest, ALevelIsGivenOrRefusedNeverSwapped)
{
    EXPECT_EQ(register_as(PeerId{1}, process(1), asking_for("rcp")).error().code, ErrorCode::UnknownLevel);
    EXPECT_EQ(register_as(PeerId{1}, process(1, 1001), asking_for("private")).error().code, ErrorCode::LevelNotAllowed);
    EXPECT_TRUE(register_as(PeerId{1}, process(1, 1000), asking_for("private")));
}

TEST_F(ServiceTest, OneRefusedQueuePairDoesNotUndoTheOthers)
{
    auto request = asking_for("bulk", "mlx5_0", {10});
    request.queue_pairs.push_back(queue_pair("mlx5_9", 11));
    request.queue_pairs.push_back(queue_pair("mlx5_0", 10));
    const auto reply = register_as(PeerId{1}, process(1), request);
    ASSERT_TRUE(reply);
    EXPECT_FALSE(reply->queue_pairs[0].error);
    EXPECT_EQ(reply->queue_pairs[1].error->code, ErrorCode::UnknownDevice);
    EXPECT_NE(reply->queue_pairs[1].error->message.find("mlx5_0/1"), std::string::npos);
    EXPECT_EQ(reply->queue_pairs[2].error->code, ErrorCode::BadQueuePair);
    EXPECT_EQ(service->sessions().with_queue_pairs(reply->session)->queue_pairs.size(), 1U);
}

TEST_F(ServiceTest, WhatADeviceRefusesIsLetGo)
{
    nic->firmware().faults().fail(CommandKind::Attach, 1, {FirmwareStatus::BadResource, 0, 0, true}, 20);
    const auto reply = register_as(PeerId{1}, process(1), asking_for("bulk", "mlx5_0", {10}));
    ASSERT_TRUE(reply);
    EXPECT_FALSE(reply->queue_pairs[0].enforced);
    EXPECT_FALSE(reply->queue_pairs[0].reason.empty());
}

TEST_F(ServiceTest, APeerThatEndsLeavesNoTrace)
{
    ASSERT_TRUE(register_as(PeerId{1}, process(4711), asking_for("rpc", "mlx5_0", {10, 11})));
    ASSERT_TRUE(register_as(PeerId{2}, process(4712), asking_for("rpc", "mlx5_0", {12})));
    service->session_calls().peer_gone(PeerId{1});
    settle();
    EXPECT_EQ(service->sessions().ids().size(), 1U);
    const auto status = *service->devices().status("mlx5_0/1");
    EXPECT_EQ(status.queue_pairs_inside, 1U);
    for (const auto& [id, element] : status.snapshot->actual.elements) {
        EXPECT_NE(element.path.text(), "/rpc/pid:4711");
    }
}

// Others have their turn between the pieces.
TEST_F(ServiceTest, APeerWithMuchToTakeOutLeavesBitByBit)
{
    struct Slow final : ServiceObserver {
        explicit Slow(ManualClock& time) : clock(time) {}
        void session_removed(SessionId) override
        {
            ++gone;
            clock.advance(std::chrono::milliseconds(1));
        }
        ManualClock& clock;
        int gone = 0;
    };
    SessionId last{};
    for (std::uint32_t count = 0; count < 5; ++count) {
        last = register_as(PeerId{1}, process(100), asking_for("rpc", "mlx5_0", {count + 1}))->session;
    }
    Slow slow(loop.clock);
    service->context().add_observer(slow);
    service->session_calls().peer_gone(PeerId{1});
    EXPECT_EQ(slow.gone, 1);
    EXPECT_EQ(answer<std::vector<QueuePairResult>>([&](auto done) {
                  service->session_calls().attach(PeerId{1}, last, {queue_pair("mlx5_0", 9)}, std::move(done));
              })
                  .error()
                  .code,
              ErrorCode::UnknownSession);
    EXPECT_TRUE(loop.run_until([&slow] { return slow.gone == 5; }));
    EXPECT_TRUE(service->sessions().ids().empty());
    EXPECT_TRUE(register_as(PeerId{2}, process(200), asking_for("rpc", "mlx5_0", {1}))->queue_pairs.at(0).enforced);
    service->context().remove_observer(slow);
}

TEST_F(ServiceTest, OnlyTheOwnerTouchesASession)
{
    const auto reply = register_as(PeerId{1}, process(1), asking_for("bulk", "mlx5_0", {10}));
    ASSERT_TRUE(reply);
    const auto released = answer<void>(
        [&](auto done) { service->session_calls().release(PeerId{2}, reply->session, std::move(done)); });
    EXPECT_EQ(released.error().code, ErrorCode::NotOwner);
    const auto detached = answer<void>(
        [&](auto done) { service->session_calls().detach(PeerId{1}, reply->session, "mlx5_0", 10, std::move(done)); });
    EXPECT_TRUE(detached);
    const auto again = answer<void>(
        [&](auto done) { service->session_calls().detach(PeerId{1}, reply->session, "mlx5_0", 10, std::move(done)); });
    EXPECT_EQ(again.error().code, ErrorCode::BadQueuePair);
    EXPECT_EQ(service->devices().status("mlx5_0/1")->queue_pairs_inside, 0U);
}

TEST_F(ServiceTest, AQueuePairBelongsToOneSession)
{
    ASSERT_TRUE(register_as(PeerId{1}, process(1), asking_for("bulk", "mlx5_0", {10})));
    const auto other = register_as(PeerId{2}, process(2), asking_for("bulk", "mlx5_0", {10}));
    ASSERT_TRUE(other);
    EXPECT_EQ(other->queue_pairs[0].error->code, ErrorCode::NotOwner);
    service->session_calls().peer_gone(PeerId{2});
    settle();
    EXPECT_EQ(service->devices().status("mlx5_0/1")->queue_pairs_inside, 1U) << "the first session's is untouched";
}

TEST_F(ServiceTest, AttachedAgainItsPlaceAndRateAreWrittenOnceMore)
{
    const auto reply = register_as(PeerId{1}, process(1), asking_for("bulk", "mlx5_0", {10}));
    ASSERT_TRUE(reply);
    auto raw = queue_pair("mlx5_0", 11);
    raw.ref.type = QueuePairType::RawPacket;
    const auto attach = [&](PeerId peer, SessionId session, std::vector<QueuePairRequest> queue_pairs) {
        return answer<std::vector<QueuePairResult>>([&](auto done) {
            service->session_calls().attach(peer, session, std::move(queue_pairs), std::move(done));
        });
    };
    ASSERT_TRUE(attach(PeerId{1}, reply->session, {raw}));
    ASSERT_TRUE(answer<void>([&](auto done) {
        service->session_calls().set_rate(PeerId{1}, reply->session, "mlx5_0", 11,
                                          RateLimit{Bandwidth::from_gbps(1), {}, {}}, std::move(done));
    }));
    nic->clear_log();
    const auto again = attach(PeerId{1}, reply->session, {raw});
    ASSERT_TRUE(again);
    EXPECT_FALSE(again->at(0).error);
    EXPECT_TRUE(again->at(0).enforced) << again->at(0).reason;
    EXPECT_EQ(again->at(0).leaf, "/bulk");
    EXPECT_EQ(again->at(0).rate->rate, Bandwidth::from_gbps(1));
    const auto lines = writes(*nic);
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_TRUE(lines[0].starts_with("attach queue pair 11: requester #")) << lines[0];
    EXPECT_EQ(lines[1], "set-rate queue pair 11: 1 Gbit/s");
    EXPECT_EQ(service->sessions().with_queue_pairs(reply->session)->queue_pairs.size(), 2U);

    const auto other = register_as(PeerId{2}, process(2), asking_for("bulk"));
    ASSERT_TRUE(other);
    EXPECT_EQ(attach(PeerId{2}, other->session, {raw})->at(0).error->code, ErrorCode::NotOwner);
    const auto twice = attach(PeerId{1}, reply->session, {raw, raw});
    EXPECT_FALSE(twice->at(0).error);
    EXPECT_EQ(twice->at(1).error->code, ErrorCode::BadQueuePair);

    // The number of a queue pair that its owner has destroyed, given to a new one.
    raw.ref.handle = 99;
    const auto reused = attach(PeerId{1}, reply->session, {raw});
    EXPECT_TRUE(reused->at(0).enforced) << reused->at(0).reason;
    EXPECT_EQ(reused->at(0).rate, std::nullopt);

    // Refused like a fresh one, and then not the session's any longer.
    nic->firmware().destroy_queue_pair(10);
    nic->firmware().create_queue_pair(10, QueuePairType::Ud, QueuePairState::Rts,
                                      nic->firmware().open_context().value());
    EXPECT_EQ(attach(PeerId{1}, reply->session, {queue_pair("mlx5_0", 10)})->at(0).error->code,
              ErrorCode::BadQueuePair);
    EXPECT_EQ(service->sessions().with_queue_pairs(reply->session)->queue_pairs.size(), 1U);
    EXPECT_EQ(service->devices().status("mlx5_0/1")->queue_pairs_inside, 1U);
}

TEST_F(ServiceTest, AttachedAgainItIsCountedOnce)
{
    settings("version: 1\nlimits: {queue-pairs-per-uid: 2}\n");
    ASSERT_TRUE(reload().accepted);
    const auto reply = register_as(PeerId{1}, process(1), asking_for("bulk", "mlx5_0", {1, 2}));
    ASSERT_TRUE(reply);
    for (int i = 0; i < 3; ++i) {
        const auto again = answer<std::vector<QueuePairResult>>([&](auto done) {
            service->session_calls().attach(PeerId{1}, reply->session,
                                            {queue_pair("mlx5_0", 1), queue_pair("mlx5_0", 2)}, std::move(done));
        });
        ASSERT_TRUE(again) << to_string(again.error());
    }
    service->session_calls().peer_gone(PeerId{1});
    EXPECT_TRUE(register_as(PeerId{2}, process(1), asking_for("bulk", "mlx5_0", {1, 2})));
}

TEST_F(ServiceTest, LimitsPerUserHold)
{
    settings("version: 1\nlimits: {sessions-per-uid: 1, queue-pairs-per-uid: 2}\n");
    ASSERT_TRUE(reload().accepted);
    const auto first = register_as(PeerId{1}, process(1), asking_for("bulk"));
    ASSERT_TRUE(first);
    EXPECT_EQ(register_as(PeerId{1}, process(1), asking_for("bulk")).error().code, ErrorCode::LimitReached);
    const auto too_many = answer<std::vector<QueuePairResult>>([&](auto done) {
        service->session_calls().attach(PeerId{1}, first->session,
                                        {queue_pair("mlx5_0", 1), queue_pair("mlx5_0", 2), queue_pair("mlx5_0", 3)},
                                        std::move(done));
    });
    EXPECT_EQ(too_many.error().code, ErrorCode::LimitReached);
    service->session_calls().peer_gone(PeerId{1});
    EXPECT_TRUE(register_as(PeerId{3}, process(1), asking_for("bulk", "mlx5_0", {1, 2})));
}

TEST_F(ServiceTest, ARemovedDeviceDetachesItsSessions)
{
    add_device("mlx5_1");
    const auto reply = register_as(PeerId{1}, process(1), asking_for("bulk", "mlx5_0", {10}));
    ASSERT_TRUE(reply);
    service->device_control().remove("mlx5_0/1");
    const auto info = *service->sessions().with_queue_pairs(reply->session);
    EXPECT_EQ(info.state, SessionState::Detached);
    EXPECT_TRUE(info.queue_pairs.empty());
    EXPECT_EQ(info.grant.cause, "detached");
    EXPECT_EQ(info.grant.detached_devices, std::vector<std::string>{"mlx5_0/1"});
    const auto again = answer<std::vector<QueuePairResult>>([&](auto done) {
        service->session_calls().attach(PeerId{1}, reply->session, {queue_pair("mlx5_1", 10)}, std::move(done));
    });
    ASSERT_TRUE(again);
    EXPECT_TRUE(again->at(0).enforced);
    EXPECT_EQ(service->sessions().with_queue_pairs(reply->session)->state, SessionState::Active);
}

TEST_F(ServiceTest, AResetRebuildsTheTree)
{
    const auto reply = register_as(PeerId{1}, process(1), asking_for("bulk", "mlx5_0", {10}));
    ASSERT_TRUE(reply);
    nic->reset();
    ASSERT_TRUE(loop.run_until(
        [&] { return service->sessions().with_queue_pairs(reply->session)->state == SessionState::Detached; }));
    nic->replug();
    ASSERT_TRUE(loop.run_until([&] {
        const auto status = *service->devices().status("mlx5_0/1");
        return status.state == DeviceState::Ready && status.snapshot->actual.elements.size() == 5;
    }));
    EXPECT_EQ(service->devices().status("mlx5_0/1")->queue_pairs_inside, 0U);
}

TEST_F(ServiceTest, DriftIsRepairedOnItsInterval)
{
    ASSERT_EQ(nic->firmware().elements().size(), 5U);
    struct Observer : ServiceObserver {
        void drift_repaired(const std::string&, std::uint32_t count) override { repaired += count; }
        std::uint32_t repaired = 0;
    } observer;
    service->context().add_observer(observer);
    const auto created = nic->log();
    for (const auto& operation : created) {
        if (operation.kind == CommandKind::Create && operation.request->attributes.share == 30) {
            ASSERT_TRUE(nic->firmware().drift(ModelBackend::object_of(*operation.element), 99, 0));
        }
    }
    loop.advance(std::chrono::minutes(2));
    EXPECT_TRUE(loop.run_until([&] { return observer.repaired == 1; }));
    service->context().remove_observer(observer);
}

TEST_F(ServiceTest, SetRateNeedsALeafOrPacing)
{
    const auto reply = register_as(PeerId{1}, process(1), asking_for("bulk", "mlx5_0", {10}));
    ASSERT_TRUE(reply);
    const auto refused = answer<void>([&](auto done) {
        service->session_calls().set_rate(PeerId{1}, reply->session, "mlx5_0", 10,
                                          RateLimit{Bandwidth::from_gbps(1), {}, {}}, std::move(done));
    });
    EXPECT_EQ(refused.error().code, ErrorCode::Unsupported);
    auto raw = queue_pair("mlx5_0", 11);
    raw.ref.type = QueuePairType::RawPacket;
    ASSERT_TRUE(answer<std::vector<QueuePairResult>>(
        [&](auto done) { service->session_calls().attach(PeerId{1}, reply->session, {raw}, std::move(done)); }));
    EXPECT_TRUE(answer<void>([&](auto done) {
        service->session_calls().set_rate(PeerId{1}, reply->session, "mlx5_0", 11,
                                          RateLimit{Bandwidth::from_gbps(1), {}, {}}, std::move(done));
    }));
}

TEST_F(ServiceTest, CountersAreReadWithTheirTime)
{
    const auto counters = [&](const std::string& key) {
        return answer<CounterReading>([&](auto done) { service->device_control().counters(key, std::move(done)); });
    };
    nic->carry({Bandwidth::from_gbps(8), Bandwidth::from_gbps(4)}, loop.clock);
    loop.clock.advance(std::chrono::seconds(1));
    const auto reading = counters("mlx5_0/1");
    ASSERT_TRUE(reading) << to_string(reading.error());
    EXPECT_EQ(*reading, (CounterReading{{1'000'000'000, 500'000'000}, loop.clock.now()}));
    nic->withhold_counters();
    EXPECT_EQ(counters("mlx5_0/1").error().code, ErrorCode::Unsupported);
    EXPECT_EQ(counters("mlx5_7/1").error().code, ErrorCode::UnknownDevice);
}

TEST_F(ServiceTest, CountersOfADeviceThatGoesMeanwhileAreAnswered)
{
    std::optional<Result<CounterReading>> got;
    service->device_control().counters("mlx5_0/1",
                                       [&](Result<CounterReading> reading) { got.emplace(std::move(reading)); });
    service->device_control().remove("mlx5_0/1");
    ASSERT_TRUE(loop.run_until([&] { return got.has_value(); }));
    EXPECT_EQ(got->error().code, ErrorCode::DeviceGone);
}

TEST_F(ServiceTest, ShutdownTakesEverythingDown)
{
    ASSERT_TRUE(register_as(PeerId{1}, process(4711), asking_for("rpc", "mlx5_0", {10, 11})));
    bool down = false;
    service->shutdown(EndOfService::Stop, [&] { down = true; });
    ASSERT_TRUE(loop.run_until([&] { return down; }));
    EXPECT_EQ(nic->firmware().elements().size(), 0U);
    EXPECT_EQ(register_as(PeerId{2}, process(1), asking_for("rpc")).error().code, ErrorCode::Busy);
}

TEST_F(ServiceTest, ShutdownWaitsForAQueuePairThatIsBusy)
{
    ASSERT_TRUE(register_as(PeerId{1}, process(4711), asking_for("rpc", "mlx5_0", {10})));
    nic->firmware().faults().busy(CommandKind::Attach, 6);
    bool down = false;
    service->shutdown(EndOfService::Stop, [&] { down = true; });
    loop.run_until_rest();
    EXPECT_FALSE(down);
    EXPECT_NE(nic->firmware().elements().size(), 0U);
    loop.advance(std::chrono::milliseconds(100));
    ASSERT_TRUE(loop.run_until([&] { return down; }));
    EXPECT_EQ(nic->firmware().elements().size(), 0U);
}

TEST_F(ServiceTest, ShutdownWaitsTwoSecondsAtMost)
{
    ASSERT_TRUE(register_as(PeerId{1}, process(4711), asking_for("rpc", "mlx5_0", {10})));
    nic->firmware().faults().busy(CommandKind::Attach, 1'000'000);
    bool down = false;
    service->shutdown(EndOfService::Stop, [&] { down = true; });
    int pauses = 0;
    for (loop.run_until_rest(); !down && pauses < 30; ++pauses) {
        loop.advance(std::chrono::milliseconds(100));
        loop.run_until_rest();
    }
    EXPECT_TRUE(down);
    EXPECT_EQ(pauses, 19);
}

TEST_F(ServiceTest, The300thProcessSharesOthersAndIsTold)
{
    Result<RegisterReply> last = fail(ErrorCode::Internal, "none");
    for (std::uint32_t i = 0; i < 300; ++i) {
        last = register_as(PeerId{i}, process(static_cast<pid_t>(1000 + i)), asking_for("rpc", "mlx5_0", {5000 + i}));
        ASSERT_TRUE(last);
    }
    EXPECT_EQ(last->grant.leaf, "/rpc/others");
    EXPECT_NE(last->grant.reason.find("no leaf of its own is available"), std::string::npos) << last->grant.reason;
    const auto status = *service->devices().status("mlx5_0/1");
    EXPECT_EQ(status.queue_pairs_inside, 300U);
    EXPECT_EQ(status.findings.at(0).kind, FindingKind::BudgetExceeded);
}

}    // namespace
}    // namespace rdmaqos
