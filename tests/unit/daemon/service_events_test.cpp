// Service: the events of the log that administrators look for (lib/base/log_events.h), with what they are about.
#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tests/support/journal.h"
#include "tests/support/service_fixture.h"

namespace rdmaqos {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kPolicyOfEvents = "version: 1\n"
                                        "qos-levels:\n"
                                        "  - {name: DEFAULT}\n"
                                        "  - {name: rpc, allow: {user: [alice]}, schedule: {min-rate: 40Gbps}}\n"
                                        "  - {name: bulk, schedule: {share: 30}}\n";

class ServiceEventsTest : public test::ServiceFixture {
protected:
    void SetUp() override
    {
        policy(kPolicyOfEvents);
        start();
        nic = &add_device("mlx5_0");
        journal.clear();
    }
    void TearDown() override { service.reset(); }    // before the journal goes

    // There is one, or comes, and it is this one.
    test::Journal::Entry only(LogEvent event)
    {
        static_cast<void>(loop.run_until([&] { return !journal.of(event).empty(); }));
        const auto found = journal.of(event);
        EXPECT_THAT(found, SizeIs(1)) << testing::PrintToString(journal.lines());
        return found.empty() ? test::Journal::Entry{} : found.front();
    }

    // Somebody else changes the first element that was made.
    void change_an_element()
    {
        for (const auto& operation : nic->log()) {
            if (operation.kind == CommandKind::Create && operation.request->attributes.share > 0) {
                ASSERT_TRUE(nic->firmware().drift(ModelBackend::object_of(*operation.element), 99, 0));
                return;
            }
        }
        FAIL() << "nothing was written";
    }

    test::Journal journal;
    ModelBackend* nic = nullptr;
};

TEST_F(ServiceEventsTest, APolicyIsAppliedOrRejected)
{
    EXPECT_TRUE(reload().accepted);
    const auto applied = only(LogEvent::PolicyApplied);
    EXPECT_EQ(applied.level, LogLevel::Notice);
    EXPECT_EQ(applied.field("REVISION"), service->in_force().policy()->revision);

    journal.clear();
    policy("version: 1\nqos-levels: [{name: DEFAULT, sl: 99}]\n");
    EXPECT_FALSE(reload().accepted);
    const auto rejected = only(LogEvent::PolicyRejected);
    EXPECT_EQ(rejected.level, LogLevel::Error);
    EXPECT_EQ(rejected.field("REVISION"), service->in_force().policy()->revision);
    EXPECT_THAT(rejected.message, HasSubstr("policy.yaml:2:34: error"));
}

TEST_F(ServiceEventsTest, ClientsComeAndGo)
{
    const auto reply = register_as(PeerId{1}, process(4711), asking_for("rpc", "mlx5_0", {10}));
    ASSERT_TRUE(reply);
    const auto attached = only(LogEvent::ClientAttached);
    EXPECT_EQ(attached.level, LogLevel::Info);
    EXPECT_EQ(attached.message, "client of uid 1000, pid 4711 in job.service has session 1 in level rpc");
    EXPECT_EQ(attached.field("SESSION"), "1");
    EXPECT_EQ(attached.field("LEVEL"), "rpc");
    EXPECT_EQ(attached.field("UID"), "1000");
    EXPECT_EQ(attached.field("PID"), "4711");
    EXPECT_EQ(attached.field("UNIT"), "job.service");

    service->session_calls().peer_gone(PeerId{1});
    const auto gone = only(LogEvent::ClientGone);
    EXPECT_EQ(gone.message, "client of uid 1000, pid 4711 in job.service is gone: session 1 ends with 1 queue pair");
    EXPECT_EQ(gone.field("SESSION"), "1");
    EXPECT_THAT(journal.of(LogEvent::ClientRefused), IsEmpty());
}

TEST_F(ServiceEventsTest, ARefusedSessionSaysWhoseAndWhy)
{
    EXPECT_FALSE(register_as(PeerId{1}, process(4711, 1001), asking_for("rpc")));
    const auto refused = only(LogEvent::ClientRefused);
    EXPECT_EQ(refused.level, LogLevel::Warning);
    EXPECT_THAT(refused.message, HasSubstr("uid 1001, pid 4711 in job.service is refused a session in level rpc: "));
    EXPECT_EQ(refused.field("UID"), "1001");
    EXPECT_EQ(refused.field("ERROR"), "org.rdmaqos1.Error.LevelNotAllowed");
    EXPECT_THAT(journal.of(LogEvent::ClientAttached), IsEmpty());
}

TEST_F(ServiceEventsTest, WhatAClientCallsItselfIsNoTextOfOurs)
{
    auto named = std::make_shared<Identity>(*process(4711, 1001));
    named->command = "x)\nrdma-qosd";
    named->unit.clear();
    EXPECT_FALSE(register_as(PeerId{1}, named, asking_for("no\nsuch")));
    const auto refused = only(LogEvent::ClientRefused);
    EXPECT_EQ(refused.message.find('\n'), std::string::npos) << refused.message;
}

TEST_F(ServiceEventsTest, RefusedQueuePairsHaveOneLineForACall)
{
    ASSERT_TRUE(register_as(PeerId{1}, process(4711), asking_for("rpc", "mlx5_0", {10})));
    journal.clear();
    const auto reply = register_as(PeerId{2}, process(4712), asking_for("bulk", "mlx5_0", {10, 11}));
    ASSERT_TRUE(reply);
    const auto refused = only(LogEvent::ClientRefused);
    EXPECT_THAT(refused.message, HasSubstr("is refused queue pair 10 of mlx5_0"));
    EXPECT_EQ(refused.field("QPN"), "10");
    EXPECT_EQ(refused.field("SESSION"), "2");
}

TEST_F(ServiceEventsTest, DriftIsOneLineForADevice)
{
    change_an_element();
    loop.advance(service->in_force().settings().drift_interval);
    const auto repaired = only(LogEvent::DriftRepaired);
    EXPECT_EQ(repaired.level, LogLevel::Warning);
    EXPECT_EQ(repaired.field("DEVICE"), "mlx5_0/1");
    EXPECT_EQ(repaired.field("COUNT"), "1");
    EXPECT_THAT(repaired.message, HasSubstr("1 element drifted and repaired: "));
    EXPECT_THAT(repaired.message, HasSubstr("found share 99"));

    journal.clear();
    change_an_element();
    ASSERT_TRUE(
        answer<std::vector<DeviceDrift>>([&](auto done) { service->device_control().verify("", std::move(done)); }));
    EXPECT_THAT(only(LogEvent::DriftFound).message, HasSubstr("1 element drifted, and not repaired: "));
    EXPECT_THAT(journal.of(LogEvent::DriftRepaired), IsEmpty());
}

TEST_F(ServiceEventsTest, ADeviceIsLostAndComesBack)
{
    EXPECT_EQ(add_device("mlx5_1").info().name, "mlx5_1");
    EXPECT_EQ(only(LogEvent::DevicePresent).field("DEVICE"), "mlx5_1/1");

    journal.clear();
    ASSERT_TRUE(register_as(PeerId{1}, process(4711), asking_for("rpc", "mlx5_0", {10})));
    nic->reset();
    const auto lost = only(LogEvent::DeviceLost);
    EXPECT_EQ(lost.level, LogLevel::Warning);
    EXPECT_EQ(lost.message, "mlx5_0/1 was reset: its tree is being rebuilt; 1 session had queue pairs on it");
    EXPECT_THAT(journal.of(LogEvent::DevicePresent), IsEmpty());
    nic->replug();
    EXPECT_EQ(only(LogEvent::DevicePresent).message, "mlx5_0/1 answers again, and has its tree");

    journal.clear();
    service->device_control().remove("mlx5_1/1");
    EXPECT_EQ(only(LogEvent::DeviceLost).level, LogLevel::Notice) << "nobody used it";
}

TEST_F(ServiceEventsTest, WhatCannotBeWrittenIsAnErrorUntilItIs)
{
    nic->firmware().faults().fail(CommandKind::Create, 1);
    policy(std::string(kPolicyOfEvents) + "  - {name: new, schedule: {share: 5}}\n");
    EXPECT_TRUE(reload().accepted);
    const auto degraded = only(LogEvent::DeviceDegraded);
    EXPECT_EQ(degraded.level, LogLevel::Error);
    EXPECT_EQ(degraded.field("PATH"), "/new");
    EXPECT_THAT(degraded.message, HasSubstr("mlx5_0/1: 1 element could not be written (create /new: "));
    EXPECT_THAT(journal.of(LogEvent::DeviceRecovered), IsEmpty());

    loop.advance(std::chrono::seconds(1));
    settle();
    EXPECT_EQ(only(LogEvent::DeviceRecovered).message, "mlx5_0/1: every element could be written again");
}

TEST_F(ServiceEventsTest, ASlowerLinkThatKeepsThePolicyIsNews)
{
    nic->set_link(Bandwidth::from_gbps(50));
    EXPECT_EQ(only(LogEvent::LinkChanged).level, LogLevel::Notice);
    EXPECT_EQ(only(LogEvent::LinkChanged).field("LINK"), "50 Gbit/s");
    EXPECT_THAT(journal.of(LogEvent::LinkGuarantees), IsEmpty());
}

TEST_F(ServiceEventsTest, ASlowerLinkThatBreaksAGuaranteeIsAWarning)
{
    nic->set_link(Bandwidth::from_gbps(25));
    const auto broken = only(LogEvent::LinkGuarantees);
    EXPECT_EQ(broken.level, LogLevel::Warning);
    EXPECT_EQ(broken.field("LINK"), "25 Gbit/s");
    EXPECT_THAT(broken.message, HasSubstr("mlx5_0/1: link up, 25 Gbit/s, with which the policy cannot be kept: "));
    EXPECT_THAT(broken.message, HasSubstr("min-rate 40 Gbit/s"));
    EXPECT_THAT(journal.of(LogEvent::LinkChanged), IsEmpty());

    journal.clear();
    nic->set_link(Bandwidth::from_gbps(100));
    EXPECT_EQ(only(LogEvent::LinkChanged).level, LogLevel::Notice) << "it can be kept again";
}

TEST_F(ServiceEventsTest, ALinkThatIsDownIsAWarningIfItIsUsed)
{
    nic->set_link(Bandwidth::from_gbps(100), false);
    EXPECT_EQ(only(LogEvent::LinkChanged).field("LINK"), "down");
    journal.clear();
    nic->set_link(Bandwidth::from_gbps(100), true);
    EXPECT_EQ(only(LogEvent::LinkChanged).field("LINK"), "100 Gbit/s");
    ASSERT_TRUE(register_as(PeerId{1}, process(4711), asking_for("rpc", "mlx5_0", {10})));
    journal.clear();
    nic->set_link(Bandwidth::from_gbps(100), false);
    EXPECT_EQ(only(LogEvent::LinkGuarantees).message, "mlx5_0/1: link down; 1 queue pair of sessions cannot send");
}

}    // namespace
}    // namespace rdmaqos
