// Service: what is called back stays on the loop, whatever happens on the other threads meanwhile.
#include <chrono>
#include <functional>
#include <stdexcept>

#include <gmock/gmock.h>

#include "tests/support/service_fixture.h"
#include "tests/support/witness.h"

namespace rdmaqos {
namespace {

using namespace std::chrono_literals;
using test::Sightings;
using test::Witness;
using ::testing::HasSubstr;

// Naming a user lets a test see the moment at which it is read.
constexpr const char* kThreadsPolicy = R"(version: 1
qos-levels:
  - {name: DEFAULT, sl: 0}
  - {name: rpc, schedule: {share: 60}, allow: {user: [alice]}}
  - {name: bulk, schedule: {share: 30}}
)";

std::shared_ptr<const SourceFile> next_policy()
{
    return std::make_shared<SourceFile>(SourceFile{"next.yaml", std::string(kThreadsPolicy) + "  - {name: more}\n"});
}

auto watched(Sightings& seen)
{
    return [witness = Witness(seen)](const auto&...) { witness.called(); };
}

struct Call {
    const char* name;
    void (*make)(Service& service, SessionId session, Sightings& seen);
};

constexpr PeerId kPeer{1};

const Call kCalls[] = {
    {"plan-host", [](Service& on, SessionId, Sightings& seen) { on.plans().plan(std::nullopt, 1000, watched(seen)); }},
    {"plan-text", [](Service& on, SessionId, Sightings& seen) { on.plans().plan(next_policy(), 1000, watched(seen)); }},
    {"check", [](Service& on, SessionId, Sightings& seen) { on.plans().check(next_policy(), 1000, watched(seen)); }},
    {"reload", [](Service& on, SessionId, Sightings& seen) { on.reloads().reload(watched(seen)); }},
    {"reread-fabric", [](Service& on, SessionId, Sightings& seen) { on.fabric().reread(watched(seen)); }},
    {"look-at-fabric", [](Service& on, SessionId, Sightings& seen) { on.fabric().look(watched(seen)); }},
    {"disable", [](Service& on, SessionId, Sightings& seen) { on.device_control().disable("mlx5_0", watched(seen)); }},
    {"enable", [](Service& on, SessionId, Sightings& seen) { on.device_control().enable("", watched(seen)); }},
    {"release-device",
     [](Service& on, SessionId, Sightings& seen) { on.device_control().release("mlx5_0", watched(seen)); }},
    {"reconcile", [](Service& on, SessionId, Sightings& seen) { on.device_control().reconcile("", watched(seen)); }},
    {"verify", [](Service& on, SessionId, Sightings& seen) { on.device_control().verify("", watched(seen)); }},
    {"counters",
     [](Service& on, SessionId, Sightings& seen) { on.device_control().counters("mlx5_0/1", watched(seen)); }},
    {"metrics", [](Service& on, SessionId, Sightings& seen) { on.metrics().collect(watched(seen)); }},
    {"attach",
     [](Service& on, SessionId session, Sightings& seen) {
         QueuePairRequest request;
         request.device = "mlx5_0";
         request.ref.number = 2;
         on.session_calls().attach(kPeer, session, {request}, watched(seen));
     }},
    {"detach", [](Service& on, SessionId session,
                  Sightings& seen) { on.session_calls().detach(kPeer, session, "mlx5_0", 1, watched(seen)); }},
    {"set-rate",
     [](Service& on, SessionId session, Sightings& seen) {
         on.session_calls().set_rate(kPeer, session, "mlx5_0", 1, RateLimit{Bandwidth::from_gbps(1), {}, {}},
                                     watched(seen));
     }},
    {"release", [](Service& on, SessionId session,
                   Sightings& seen) { on.session_calls().release(kPeer, session, watched(seen)); }},
    {"shutdown", [](Service& on, SessionId, Sightings& seen) { on.shutdown(EndOfService::Stop, watched(seen)); }},
};

class ServiceBugs : public test::ServiceFixture {
protected:
    void SetUp() override
    {
        policy(kThreadsPolicy);
        start();
        nic = &add_device("mlx5_0");
        const auto registered = register_as(kPeer, process(1), asking_for("rpc", "mlx5_0", {1}));
        ASSERT_TRUE(registered);
        session = registered->session;
        settle();
    }

    void TearDown() override { service.reset(); }

    // Lets time pass, too: what does not work is tried again.
    bool is_called()
    {
        for (int attempt = 0; attempt < 100 && seen.calls() == 0; ++attempt) {
            loop.run_until_rest();
            loop.advance(100ms);
        }
        return seen.calls() > 0;
    }

    // The firmware throws at every command, which no NIC does: a bug of ours would.
    void break_device() const
    {
        nic->firmware().faults().set_sleeper([](std::chrono::milliseconds) { throw std::runtime_error("a bug"); });
        nic->firmware().faults().delay({}, 1ms);
    }

    ModelBackend* nic = nullptr;
    SessionId session{};
    Sightings seen;
};

class ServiceThreads : public ServiceBugs, public ::testing::WithParamInterface<Call> {};

TEST_P(ServiceThreads, ItIsCalledOnceOnTheLoop)
{
    GetParam().make(*service, session, seen);
    ASSERT_TRUE(is_called());
    service.reset();
    EXPECT_TRUE(seen.only_here_and_called(1));
}

TEST_P(ServiceThreads, ItIsCalledOnceWhenTheWorkThrows)
{
    break_device();
    while_reading = [] { throw std::runtime_error("a bug"); };
    GetParam().make(*service, session, seen);
    ASSERT_TRUE(is_called());
    service.reset();
    EXPECT_TRUE(seen.only_here_and_called(1));
}

TEST_P(ServiceThreads, ItIsDestroyedOnTheLoopWhenTheServiceGoesFirst)
{
    test::Gate device;
    test::Gate reader;
    test::hang(*nic, device);
    while_reading = reader.waiter();
    service->reloads().reload([](const ReloadOutcome&) {});
    service->device_control().reconcile("", [](const Result<std::vector<DeviceReconcile>>&) {});
    device.wait_until_it_holds();
    reader.wait_until_it_holds();
    GetParam().make(*service, session, seen);
    const std::size_t at_once = seen.calls();    // what this device cannot do is refused without asking it
    std::thread opener([&] {
        std::this_thread::sleep_for(20ms);
        device.open();
        reader.open();
    });
    service.reset();
    opener.join();
    static_cast<void>(loop.run_until([] { return false; }, 0s));    // what was posted meanwhile
    EXPECT_TRUE(seen.only_here_and_called(at_once));
}

INSTANTIATE_TEST_SUITE_P(EveryCall, ServiceThreads, ::testing::ValuesIn(kCalls), [](const auto& each) {
    std::string name = each.param.name;
    std::erase(name, '-');
    return name;
});

TEST_F(ServiceBugs, WhatADeviceThrowsIsAFailureInTheAnswer)
{
    break_device();
    const auto results = answer<std::vector<DeviceReconcile>>(
        [&](auto done) { service->device_control().reconcile("", std::move(done)); });
    ASSERT_TRUE(results);
    ASSERT_EQ(results->at(0).failures.size(), 1U);
    EXPECT_EQ(results->at(0).failures[0].error.message, "a task failed: a bug");
    EXPECT_EQ(
        answer<std::vector<DeviceDrift>>([&](auto done) { service->device_control().verify("", std::move(done)); })
            .error()
            .code,
        ErrorCode::Internal);
    nic->firmware().faults().clear();
    settle();
}

TEST_F(ServiceBugs, WhatIsThrownWhileAPolicyIsReadIsAnErrorAndTheNextIsRead)
{
    while_reading = [] { throw std::runtime_error("a bug"); };
    const auto plan = answer<PlanReport>(
        [&](auto done) { service->plans().plan(std::nullopt, 1000, std::move(done)); });
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().message, "a task failed: a bug");
    const auto outcome = reload();
    EXPECT_FALSE(outcome.accepted);
    EXPECT_THAT(outcome.to_text(), HasSubstr("a task failed: a bug"));
    while_reading = nullptr;
    EXPECT_TRUE(answer<PlanReport>([&](auto done) { service->plans().plan(std::nullopt, 1000, std::move(done)); }));
    EXPECT_TRUE(reload().accepted);
}

}    // namespace
}    // namespace rdmaqos
