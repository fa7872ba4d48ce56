// What a Service counts, on model NICs.
#include <atomic>
#include <mutex>

#include <gtest/gtest.h>

#include "tests/support/service_fixture.h"

namespace rdmaqos {
namespace {

using namespace std::chrono_literals;

constexpr const char* kMetricsPolicy = R"(version: 1
qos-levels:
  - {name: DEFAULT, sl: 0}
  - {name: rpc, schedule: {share: 60, fair-by: process}}
  - {name: bulk, schedule: {share: 40}}
qos-match-rules:
  - {service-id: [0x10], qos-level-name: rpc}
)";

class ServiceMetrics : public test::ServiceFixture {
protected:
    void SetUp() override
    {
        policy(kMetricsPolicy);
        start();
        ASSERT_TRUE(started.accepted) << started.to_text();
        nic = &add_device("mlx5_0");
    }

    Metrics metrics()
    {
        std::optional<Metrics> got;
        service->metrics().collect([&got](Metrics all) { got = std::move(all); });
        EXPECT_TRUE(loop.run_until([&got] { return got.has_value(); }));
        return got.value_or(Metrics{});
    }
    DeviceMetrics device() { return metrics().devices.at(0); }
    static const OperationStatistics& of(const DeviceMetrics& device, OperationKind kind)
    {
        return device.operations.at(static_cast<std::size_t>(kind));
    }

    ModelBackend* nic = nullptr;
};

TEST_F(ServiceMetrics, OfADaemonThatHasJustStarted)
{
    const Metrics all = metrics();
    EXPECT_FALSE(all.version.empty());
    EXPECT_TRUE(all.enforcing);
    EXPECT_TRUE(all.last_reload_good);
    EXPECT_TRUE(all.service.last_good_reload);
    EXPECT_EQ(all.service.reloads_accepted + all.service.reloads_refused, 0U);
    ASSERT_TRUE(all.policy);
    EXPECT_EQ(all.policy->revision, service->in_force().policy()->revision);
    EXPECT_EQ(all.policy->levels, 3U);
    EXPECT_EQ(all.policy->rules, 1U);
    EXPECT_GT(all.policy->match_index_bytes, 0U);
    EXPECT_EQ(all.sessions, (std::map<std::string, std::uint64_t>{{"DEFAULT", 0}, {"bulk", 0}, {"rpc", 0}}));
    ASSERT_EQ(all.devices.size(), 1U);
    const DeviceMetrics& nic0 = all.devices[0];
    EXPECT_EQ(nic0.device, "mlx5_0/1");
    EXPECT_TRUE(nic0.up && nic0.link_up && !nic0.degraded);
    EXPECT_EQ(nic0.link_speed, Bandwidth::from_gbps(100));
    EXPECT_EQ(nic0.elements_used, 4U);    // root, rpc, its others, bulk
    EXPECT_EQ(nic0.elements_used + nic0.elements_free, 8192U);
    EXPECT_EQ(nic0.leaves_used, 2U);
    EXPECT_EQ(nic0.queue_limit, service->in_force().settings().limits.device_queue);
    EXPECT_EQ(of(nic0, OperationKind::Create).times.count(), 4U);
    EXPECT_EQ(of(nic0, OperationKind::Create).failed, 0U);
    EXPECT_GT(nic0.passes.count(), 0U);
}

TEST_F(ServiceMetrics, TellWhatAdoptionDoes)
{
    EXPECT_EQ(metrics().adoption.setting, Unregistered::Count);
    settings("version: 1\nunregistered: adopt\n");
    ASSERT_TRUE(reload().accepted);
    const AdoptionStatus adoption = metrics().adoption;
    EXPECT_EQ(adoption.setting, Unregistered::Adopt);
    EXPECT_EQ(adoption, service->adoption().status());
}

TEST_F(ServiceMetrics, SessionsQueuePairsAndLeavesPerLevel)
{
    ASSERT_TRUE(register_as(PeerId{1}, process(1), asking_for("rpc", "mlx5_0", {10, 11})));
    ASSERT_TRUE(register_as(PeerId{2}, process(2), asking_for("rpc", "mlx5_0", {12})));
    ASSERT_TRUE(register_as(PeerId{3}, process(3), asking_for("bulk")));
    ASSERT_TRUE(register_as(PeerId{4}, process(4), asking_for("", "mlx5_0", {13})));
    const Metrics all = metrics();
    EXPECT_EQ(all.sessions, (std::map<std::string, std::uint64_t>{{"DEFAULT", 1}, {"bulk", 1}, {"rpc", 2}}));
    EXPECT_EQ(all.service.sessions, 4U);
    EXPECT_EQ(all.service.register_calls.count(), 4U);
    const DeviceMetrics& nic0 = all.devices.at(0);
    EXPECT_EQ(nic0.levels.at("rpc").sessions, 2U);
    EXPECT_EQ(nic0.levels.at("rpc").queue_pairs, 3U);
    EXPECT_EQ(nic0.levels.at("rpc").leaves, 3U);    // two processes and `others`
    EXPECT_EQ(nic0.levels.at("bulk").sessions, 0U);
    EXPECT_EQ(nic0.levels.at("bulk").leaves, 1U);
    EXPECT_EQ(nic0.levels.at("DEFAULT").queue_pairs, 1U);
    EXPECT_EQ(nic0.queue_pairs_inside, 3U);
    EXPECT_EQ(nic0.queue_pairs_outside, 1U);
    EXPECT_EQ(nic0.queue_pairs_enforced, 3U);
    EXPECT_EQ(nic0.queue_pairs_unenforced, 0U);
    EXPECT_EQ(nic0.queue_pairs_unscheduled, 1U);    // DEFAULT has no `schedule`
    EXPECT_EQ(of(nic0, OperationKind::Place).times.count(), 3U);
}

TEST_F(ServiceMetrics, FailuresRetriesAndDrift)
{
    nic->firmware().faults().busy(CommandKind::Attach, 2);
    ASSERT_TRUE(register_as(PeerId{1}, process(1), asking_for("bulk", "mlx5_0", {10})));
    EXPECT_EQ(of(device(), OperationKind::Place).failed, 2U);
    EXPECT_EQ(device().counters.retries, 2U);

    nic->firmware().faults().fail(CommandKind::Create, 1, {}, 100);
    ASSERT_TRUE(register_as(PeerId{2}, process(2), asking_for("rpc", "mlx5_0", {11})));
    const DeviceMetrics failing = device();
    EXPECT_TRUE(failing.degraded);
    EXPECT_EQ(failing.open_failures, 1U);
    EXPECT_GT(of(failing, OperationKind::Create).failed, 0U);
    EXPECT_EQ(failing.queue_pairs_unenforced, 1U);
    nic->firmware().faults().clear();

    for (const auto& element : nic->firmware().elements()) {
        if (element.share == 40) {    // bulk
            ASSERT_TRUE(nic->firmware().drift(element.id, 99, 0));
        }
    }
    loop.advance(service->in_force().settings().drift_interval);
    ASSERT_TRUE(loop.run_until(
        [this] { return service->devices().status("mlx5_0/1")->snapshot->counters.drift_repaired > 0; }));
    const DeviceMetrics healed = device();
    EXPECT_EQ(healed.counters.drift_found, 1U);
    EXPECT_EQ(healed.counters.drift_repaired, 1U);
    EXPECT_EQ(healed.open_failures, 0U);
    EXPECT_FALSE(healed.degraded);
}

TEST_F(ServiceMetrics, ReloadsByTheirResult)
{
    loop.clock.advance(1s);
    policy("version: 1\nqos-levels: [{name: DEFAULT, sl: 99}]\n");
    EXPECT_FALSE(reload().accepted);
    EXPECT_FALSE(metrics().last_reload_good);
    const auto before = metrics().service.last_good_reload;
    policy(kMetricsPolicy);
    EXPECT_TRUE(reload().accepted);
    const Metrics all = metrics();
    EXPECT_EQ(all.service.reloads_accepted, 1U);
    EXPECT_EQ(all.service.reloads_refused, 1U);
    EXPECT_EQ(all.service.reloads.count(), 2U);
    EXPECT_TRUE(all.last_reload_good);
    EXPECT_GE(*all.service.last_good_reload, *before);
}

TEST_F(ServiceMetrics, AttachIsTimedUntilTheDeviceHasAnswered)
{
    nic->firmware().faults().set_sleeper([this](std::chrono::milliseconds time) { loop.clock.advance(time); });
    nic->firmware().faults().delay(CommandKind::Attach, 30ms);
    const auto reply = register_as(PeerId{1}, process(1), asking_for("bulk"));
    ASSERT_TRUE(reply);
    ASSERT_TRUE(answer<std::vector<QueuePairResult>>([&](auto done) {
        service->session_calls().attach(PeerId{1}, reply->session, {queue_pair("mlx5_0", 10)}, std::move(done));
    }));
    const Metrics all = metrics();
    EXPECT_EQ(all.service.attach_calls.count(), 1U);
    EXPECT_DOUBLE_EQ(all.service.attach_calls.sum_seconds(), 0.03);
    EXPECT_DOUBLE_EQ(of(all.devices.at(0), OperationKind::Place).times.sum_seconds(), 0.03);
    EXPECT_DOUBLE_EQ(all.devices.at(0).passes.sum_seconds(), 0.03);
}

TEST_F(ServiceMetrics, PortBytes)
{
    nic->carry({Bandwidth::from_gbps(8), {}}, loop.clock);
    loop.clock.advance(1s);
    EXPECT_EQ(device().port, (PortCounters{1'000'000'000, 0}));
    nic->withhold_counters();
    EXPECT_EQ(device().port, std::nullopt);
}

// The numbers are wanted most when a device hangs: what does not depend on it is there after a second, and the device
// is not asked a second time before it has answered.
TEST_F(ServiceMetrics, ADeviceThatHangsDoesNotHoldThemUp)
{
    test::HangingAttach hanging(*nic);
    std::optional<Result<RegisterReply>> registered;
    service->session_calls().register_session(
        PeerId{1}, process(1), asking_for("bulk", "mlx5_0", {10}),
        [&](Result<RegisterReply> reply) { registered.emplace(std::move(reply)); });
    // The device is asked for admission first; what hangs posts nothing that would wake the loop.
    ASSERT_TRUE(loop.run_until([&] { return hanging.hangs(); }));
    for (int round = 0; round < 3; ++round) {
        std::optional<Metrics> got;
        service->metrics().collect([&got](Metrics all) { got = std::move(all); });
        service->metrics().collect([&got](Metrics all) { got = std::move(all); });    // shares the first one's answer
        loop.advance(2s);
        ASSERT_TRUE(got);
        EXPECT_EQ(got->devices.at(0).port, std::nullopt);
        EXPECT_LE(got->devices.at(0).queue_depth, 1U);
    }
    hanging.let_go();
    ASSERT_TRUE(loop.run_until([&] { return registered.has_value(); }));
    settle();
    EXPECT_TRUE(device().port);
}

TEST_F(ServiceMetrics, ADeviceThatGoesTakesItsNumbersAlong)
{
    const auto reply = register_as(PeerId{1}, process(1), asking_for("bulk", "mlx5_0", {10}));
    ASSERT_TRUE(reply);
    std::optional<Metrics> got;
    service->metrics().collect([&got](Metrics all) { got = std::move(all); });
    service->device_control().remove("mlx5_0/1");
    ASSERT_TRUE(loop.run_until([&got] { return got.has_value(); }));
    EXPECT_TRUE(got->devices.empty());
    EXPECT_EQ(got->sessions_detached, 1U);
}

TEST_F(ServiceMetrics, MonitorModeEnforcesNothing)
{
    settings("version: 1\nmode: monitor\n");
    ASSERT_TRUE(reload().accepted);
    ASSERT_TRUE(register_as(PeerId{1}, process(1), asking_for("bulk", "mlx5_0", {10})));
    const Metrics all = metrics();
    EXPECT_FALSE(all.enforcing);
    EXPECT_EQ(all.devices.at(0).queue_pairs_unenforced, 1U);
    EXPECT_FALSE(all.devices.at(0).degraded);
}

}    // namespace
}    // namespace rdmaqos
