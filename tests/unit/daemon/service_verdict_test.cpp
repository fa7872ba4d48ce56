// Service: which policies a start, a reload and a plan take, and which devices keep one out.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/support/journal.h"
#include "tests/support/service_fixture.h"

namespace rdmaqos {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Two guarantees that a port of 100 Gbit/s can give, and one of 25 Gbit/s cannot.
std::string guarantees(int rpc, int bulk, const std::string& more = {})
{
    return fmt::format(R"(version: 1
qos-levels:
  - {{name: DEFAULT, sl: 0}}
  - {{name: rpc, schedule: {{min-rate: {}Gbps}}, allow: {{user: [alice]}}}}
  - {{name: bulk, schedule: {{min-rate: {}Gbps}}, allow: {{user: [alice]}}}}
{})",
                       rpc, bulk, more);
}

constexpr const char* kNothing = "version: 1\nqos-levels: [{name: DEFAULT, sl: 0}]\n";
constexpr const char* kRule = "qos-match-rules:\n  - {service-id: [80], qos-level-name: bulk}\n";

class ServiceVerdict : public test::ServiceFixture {
protected:
    PlanReport plan()
    {
        return answer<PlanReport>([&](auto done) { service->plans().plan(std::nullopt, 0, std::move(done)); }).value();
    }
    // With what a plan said just before.
    ReloadOutcome planned_reload()
    {
        const PlanReport planned = plan();
        ReloadOutcome outcome = reload();
        EXPECT_EQ(planned.accepted, outcome.accepted);
        EXPECT_EQ(planned.refusal, outcome.accepted ? "" : outcome.why_refused());
        EXPECT_EQ(planned.left_out, outcome.left_out);
        return outcome;
    }
    void train_down(ModelBackend& nic)
    {
        nic.set_link(Bandwidth::from_gbps(25));
        EXPECT_TRUE(loop.run_until(
            [&] { return service->devices().status("mlx5_0/1")->info.link_speed == Bandwidth::from_gbps(25); }));
    }
    // What main() does: devices are there before the start.
    void start_with(const std::function<void()>& add)
    {
        NameService names;
        names.uid_of = [](const std::string&) { return std::optional<std::uint32_t>(1000); };
        service.reset();
        service = std::make_unique<Service>(ServiceOptions{root.path(), names, true}, loop, loop.clock);
        service->reloads().read_files();
        add();
        started = answer<ReloadOutcome>([&](auto done) { service->start(std::move(done)); }).value();
        settle();
    }
};

TEST_F(ServiceVerdict, APortThatTrainedDownKeepsNoUnrelatedChangeOut)
{
    policy(guarantees(40, 20));
    start();
    ModelBackend& nic = add_device("mlx5_0");
    train_down(nic);
    ASSERT_THAT(service->devices().status("mlx5_0/1")->findings, Not(IsEmpty()));

    policy(guarantees(40, 20, kRule));
    const auto outcome = planned_reload();
    EXPECT_TRUE(outcome.accepted) << outcome.to_text();
    ASSERT_EQ(outcome.findings.size(), 2U);
    EXPECT_EQ(outcome.findings[0].verdict, FindingVerdict::Known);
    EXPECT_THAT(outcome.to_text(), HasSubstr("; the running policy has this problem too\n"));

    policy(guarantees(41, 20, kRule));
    const auto worse = planned_reload();
    EXPECT_FALSE(worse.accepted);
    EXPECT_THAT(worse.why_refused(), HasSubstr("mlx5_0/1: /rpc: requested min-rate 41 Gbit/s"));

    policy(guarantees(20, 5, kRule));
    EXPECT_TRUE(planned_reload().accepted);
    policy(guarantees(40, 20, kRule));
    EXPECT_FALSE(planned_reload().accepted) << "the policy that runs now has no such finding";
}

TEST_F(ServiceVerdict, ADisabledDeviceKeepsNothingOutAndIsListed)
{
    policy(kNothing);
    start();
    add_device("mlx5_0");
    ModelBackend& plain = add_device("rxe0", Capabilities{});
    policy(guarantees(40, 20));
    EXPECT_FALSE(planned_reload().accepted);

    ASSERT_TRUE(answer<std::vector<DeviceReconcile>>(
        [&](auto done) { service->device_control().disable("rxe0", std::move(done)); }));
    plain.clear_log();
    const PlanReport planned = plan();
    ASSERT_EQ(planned.devices.size(), 1U);
    EXPECT_EQ(planned.devices[0].device, "mlx5_0/1");
    EXPECT_THAT(planned.left_out, ElementsAre(LeftOutDevice{"rxe0/1", LeftOutDevice::Why::Disabled}));
    const auto outcome = planned_reload();
    EXPECT_TRUE(outcome.accepted) << outcome.to_text();
    EXPECT_EQ(outcome.to_text(), "rxe0/1: note: takes no part, because it is disabled\n");
    EXPECT_FALSE(outcome.has_warnings());
    EXPECT_THAT(writes(plain), IsEmpty());
}

TEST_F(ServiceVerdict, AReleasedDeviceIsListed)
{
    policy(kNothing);
    start();
    add_device("mlx5_0");
    add_device("rxe0", Capabilities{});
    ASSERT_TRUE(answer<std::vector<DeviceReconcile>>(
        [&](auto done) { service->device_control().release("rxe0", std::move(done)); }));
    policy(guarantees(40, 20));
    const auto outcome = planned_reload();
    EXPECT_TRUE(outcome.accepted) << outcome.to_text();
    EXPECT_THAT(outcome.left_out, ElementsAre(LeftOutDevice{"rxe0/1", LeftOutDevice::Why::Released}));
}

// Somebody disables a device while the policy is read.
TEST_F(ServiceVerdict, ADeviceThatIsDisabledMeanwhileKeepsNothingOut)
{
    policy(kNothing);
    start();
    add_device("rxe0", Capabilities{});
    test::Gate gate;
    while_reading = gate.waiter();
    policy(guarantees(40, 20));
    std::optional<ReloadOutcome> outcome;
    service->reloads().reload([&outcome](ReloadOutcome got) { outcome = std::move(got); });
    gate.wait_until_it_holds();
    service->device_control().disable("rxe0", [](const auto&) {});
    gate.open();
    ASSERT_TRUE(loop.run_until([&outcome] { return outcome.has_value(); }));
    EXPECT_TRUE(outcome->accepted) << outcome->to_text();
    while_reading = nullptr;
}

TEST_F(ServiceVerdict, DegradeAcceptsAndErrorThenRefusesWhatGetsWorseAlone)
{
    settings("version: 1\non-unsupported: degrade\n");
    policy(guarantees(40, 20));
    start();
    add_device("rxe0", Capabilities{});
    EXPECT_TRUE(planned_reload().accepted);
    settings("version: 1\non-unsupported: error\n");
    EXPECT_TRUE(planned_reload().accepted) << "it runs already";
    policy(guarantees(40, 20, "  - {name: third, schedule: {share: 1}}\n"));
    EXPECT_FALSE(planned_reload().accepted) << "one more class that is not enforced";
}

TEST_F(ServiceVerdict, APlanSaysThatMonitoringWritesNothing)
{
    settings("version: 1\nmode: monitor\n");
    policy(kNothing);
    start();
    add_device("mlx5_0");
    policy(guarantees(40, 20));
    const PlanReport planned = plan();
    EXPECT_TRUE(planned.monitors);
    EXPECT_FALSE(planned.devices.at(0).plan.operations.empty()) << "what enforcing would do";
}

TEST_F(ServiceVerdict, WhoEndsMonitoringWithAnotherPolicyGetsThatOneAtOnce)
{
    settings("version: 1\nmode: monitor\n");
    policy(guarantees(40, 20));
    start();
    ModelBackend& nic = add_device("mlx5_0");
    settings("version: 1\n");
    policy(guarantees(20, 60));
    const auto planned = plan().devices.at(0).plan.operations.size();
    ASSERT_TRUE(reload().accepted);
    settle();
    EXPECT_EQ(writes(nic).size(), planned) << "not the old policy's tree first";
}

TEST_F(ServiceVerdict, AStartRefusesWhatAReloadRefuses)
{
    policy(guarantees(40, 20));
    start_with([&] { add_device("mlx5_0"); });
    ASSERT_TRUE(started.accepted) << started.to_text();
    const std::string good = started.revision;
    policy(guarantees(80, 60));
    EXPECT_FALSE(reload().accepted);

    const test::Journal journal;
    ModelBackend* nic = nullptr;
    start_with([&] { nic = &add_device("mlx5_0"); });
    EXPECT_FALSE(started.accepted);
    EXPECT_EQ(started.revision, good);
    EXPECT_THAT(started.why_refused(), HasSubstr("mlx5_0/1: /rpc: requested min-rate 80 Gbit/s"));
    ASSERT_TRUE(service->in_force().policy());
    EXPECT_EQ(service->in_force().policy()->revision, good);
    EXPECT_FALSE(service->in_force().last_reload.accepted);
    EXPECT_THAT(writes(*nic), Not(IsEmpty())) << "the last good policy is built";
    EXPECT_THAT(journal.lines(),
                Contains("the policy cannot be used; the last good one (revision " + good + ") is in force"));

    start_with([&] { add_device("mlx5_0"); });
    EXPECT_FALSE(started.accepted) << "the refused one has not become the last good one";
    policy(guarantees(40, 20));
    EXPECT_TRUE(reload().accepted);
}

TEST_F(ServiceVerdict, AStartTakesWhatRanBeforeThoughAPortHasTrainedDown)
{
    policy(guarantees(40, 20));
    start_with([&] { add_device("mlx5_0"); });
    ASSERT_TRUE(started.accepted);
    const auto with_slow_port = [&] {
        DeviceInfo info = new_device("mlx5_0");
        info.link_speed = Bandwidth::from_gbps(25);
        service->device_control().add(std::make_unique<ModelBackend>(info, default_capabilities()));
    };
    start_with(with_slow_port);
    EXPECT_TRUE(started.accepted) << started.to_text();
    ASSERT_THAT(started.findings, Not(IsEmpty()));
    EXPECT_EQ(started.findings[0].verdict, FindingVerdict::Known);
    policy(guarantees(40, 20, kRule));
    start_with(with_slow_port);
    EXPECT_TRUE(started.accepted) << "an unrelated change, made while the daemon did not run";
    policy(guarantees(50, 20, kRule));
    start_with(with_slow_port);
    EXPECT_FALSE(started.accepted);
}

TEST_F(ServiceVerdict, TheVeryFirstStartHasNothingToCompareWith)
{
    policy(guarantees(40, 20));
    ModelBackend* nic = nullptr;
    start_with([&] { nic = &add_device("rxe0", Capabilities{}); });
    EXPECT_FALSE(started.accepted);
    EXPECT_FALSE(service->in_force().policy());
    EXPECT_EQ(service->in_force().last_reload.why_refused(), started.why_refused());
    EXPECT_THAT(writes(*nic), IsEmpty());
    settings("version: 1\non-unsupported: degrade\n");
    EXPECT_TRUE(planned_reload().accepted);
}

TEST_F(ServiceVerdict, ADeviceThatIsDisabledAtTheStartKeepsNothingOut)
{
    policy(kNothing);
    start_with([&] { add_device("rxe0", Capabilities{}); });
    ASSERT_TRUE(answer<std::vector<DeviceReconcile>>(
        [&](auto done) { service->device_control().disable("", std::move(done)); }));
    policy(guarantees(40, 20));
    start_with([&] {
        devices = 0;    // the same port
        add_device("rxe0", Capabilities{});
    });
    EXPECT_TRUE(started.accepted) << started.to_text();
    EXPECT_THAT(started.left_out, ElementsAre(LeftOutDevice{"rxe0/1", LeftOutDevice::Why::Disabled}));
}

// Nobody can refuse a policy that runs.
TEST_F(ServiceVerdict, ADeviceThatComesLaterTakesWhatRuns)
{
    policy(guarantees(40, 20));
    start_with([&] { add_device("mlx5_0"); });
    add_device("rxe0", Capabilities{});
    EXPECT_EQ(service->devices().status("rxe0/1")->state, DeviceState::Degraded);
    policy(guarantees(40, 20, kRule));
    EXPECT_TRUE(planned_reload().accepted);
}

TEST_F(ServiceVerdict, BetweenReadingAndStartDevicesGetNothing)
{
    policy(guarantees(40, 20));
    start_with([&] {
        EXPECT_TRUE(service->reloads().makes_elements()) << "devices are opened for the policy that was read";
        EXPECT_FALSE(service->in_force().policy());
        EXPECT_THAT(writes(add_device("mlx5_0")), IsEmpty());
    });
    EXPECT_TRUE(service->reloads().makes_elements());
    EXPECT_TRUE(service->in_force().policy());
}

}    // namespace
}    // namespace rdmaqos
