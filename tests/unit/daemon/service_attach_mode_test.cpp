// What grants, queue pairs and devices say where the tree is not shared between processes.
#include <gmock/gmock.h>

#include "tests/support/service_fixture.h"

namespace rdmaqos {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kAlone = R"(version: 1
qos-levels:
  - {name: DEFAULT, sl: 0}
  - {name: rpc, schedule: {max-rate: 40Gbps}}
)";
constexpr const char* kBelowANode = R"(version: 1
scheduling-nodes:
  - {name: apps, max-rate: 60Gbps}
qos-levels:
  - {name: DEFAULT, sl: 0}
  - {name: rpc, schedule: {parent: apps, max-rate: 40Gbps}}
  - {name: bulk, schedule: {parent: apps}}
)";
constexpr const char* kTwo = R"(version: 1
qos-levels:
  - {name: DEFAULT, sl: 0}
  - {name: rpc, schedule: {share: 60, max-rate: 40Gbps}}
  - {name: bulk, schedule: {share: 30}}
)";

constexpr CapMode kDivides = CapMode::Divide;

class ServiceAttachMode : public test::ServiceFixture {
protected:
    void begin(const char* text, AttachMode mode, CapMode caps = CapMode::Whole)
    {
        policy(text);
        start();
        ASSERT_TRUE(started.accepted) << started.to_text();
        DeviceInfo info;
        info.name = "mlx5_0";
        info.node_guid = Guid{0x1};
        info.link_speed = Bandwidth::from_gbps(100);
        service->device_control().add(
            std::make_unique<ModelBackend>(info, default_capabilities(), nullptr, mode, caps));
        settle();
    }
    SessionId join(const std::string& level, std::uint32_t number, pid_t pid)
    {
        const auto reply = register_as(PeerId{static_cast<std::uint64_t>(pid)}, process(pid),
                                       asking_for(level, "mlx5_0", {number}));
        EXPECT_TRUE(reply);
        return reply ? reply->session : SessionId{};
    }
    Grant grant(SessionId id) { return service->sessions().with_queue_pairs(id)->grant; }
};

TEST_F(ServiceAttachMode, ADividedCapIsToldInNumbersThatFollowTheProcesses)
{
    begin(kAlone, AttachMode::PerProcess, kDivides);
    const auto first = join("rpc", 1, 100);
    EXPECT_TRUE(grant(first).enforced);
    EXPECT_THAT(grant(first).reason, HasSubstr("class cap 40 Gbit/s, for its only process"));
    for (pid_t pid = 101; pid < 110; ++pid) {
        join("rpc", static_cast<std::uint32_t>(pid), pid);
    }
    EXPECT_TRUE(grant(first).enforced);
    EXPECT_EQ(grant(first).reason, "attach mode per-process: class cap 40 Gbit/s split 10 ways: 4 Gbit/s each; "
                                   "unused parts go to nobody");
    EXPECT_EQ(service->sessions().with_queue_pairs(first)->queue_pairs[0].reason, grant(first).reason);
    EXPECT_THAT(service->devices().status("mlx5_0/1")->attach_notes,
                ElementsAre("/rpc: attach mode per-process: class cap 40 Gbit/s split 10 ways: 4 Gbit/s each; unused "
                            "parts go to nobody"));

    // A process is counted once, and one that only asks is counted in its own answer.
    ASSERT_TRUE(register_as(PeerId{100}, process(100), asking_for("rpc", "mlx5_0", {50})));
    EXPECT_THAT(grant(first).reason, HasSubstr("split 10 ways"));
    const auto asks = register_as(PeerId{9}, process(9), asking_for("rpc"));
    EXPECT_THAT(asks->grant.reason, HasSubstr("split 11 ways"));
    EXPECT_THAT(grant(first).reason, HasSubstr("split 10 ways"));

    for (std::uint64_t peer = 102; peer < 110; ++peer) {
        service->session_calls().peer_gone(PeerId{peer});
    }
    settle();
    EXPECT_THAT(grant(first).reason, HasSubstr("split 2 ways: 20 Gbit/s each"));
}

// One more process changes the grants of all.
TEST_F(ServiceAttachMode, GrantsThatTakeLongAreMadeInATenthOfTheTime)
{
    struct Costly final : ServiceObserver {
        explicit Costly(ManualClock& time) : clock(time) {}
        void session_changed(SessionId, bool grant_changed) override
        {
            if (grant_changed) {
                ++changes;
                clock.advance(std::chrono::milliseconds(1));
            }
        }
        ManualClock& clock;
        int changes = 0;
    };
    begin(kAlone, AttachMode::PerProcess, kDivides);
    std::vector<SessionId> sessions;
    for (pid_t pid = 100; pid < 110; ++pid) {
        sessions.push_back(join("rpc", static_cast<std::uint32_t>(pid), pid));
    }
    Costly costly(loop.clock);
    service->context().add_observer(costly);
    join("rpc", 200, 200);
    loop.advance({});
    EXPECT_EQ(costly.changes, 1) << "the others have to wait";
    EXPECT_THAT(grant(sessions.back()).reason, HasSubstr("split 11 ways")) << "who asks is told what holds now";
    EXPECT_EQ(costly.changes, 2);
    loop.advance(std::chrono::milliseconds(5));
    EXPECT_EQ(costly.changes, 2);
    for (int turn = 1; turn <= 8; ++turn) {
        loop.advance(std::chrono::milliseconds(10));
        EXPECT_EQ(costly.changes, std::min(2 + turn, 10));
    }
    for (const auto id : sessions) {
        EXPECT_THAT(grant(id).reason, HasSubstr("split 11 ways"));
    }
    EXPECT_EQ(costly.changes, 10) << "each once";
    service->context().remove_observer(costly);
}

TEST_F(ServiceAttachMode, AWholeCapIsNotHeldAgainstTwo)
{
    begin(kAlone, AttachMode::PerProcess);
    const auto first = join("rpc", 1, 100);
    EXPECT_TRUE(grant(first).enforced);
    const auto second = join("rpc", 2, 101);
    for (const auto id : {first, second}) {
        EXPECT_FALSE(grant(id).enforced);
        EXPECT_THAT(grant(id).reason, HasSubstr("each of 2 processes may use the whole class cap of 40 Gbit/s"));
    }
    settings("version: 1\ncap-mode: divide\n");
    ASSERT_TRUE(reload().accepted);
    EXPECT_THAT(grant(first).reason, HasSubstr("each of 2 processes may use the whole class cap"))
        << "a device keeps the mode it was opened with";
}

// Also the cap of a node above the class, which is divided among the processes of all its classes.
TEST_F(ServiceAttachMode, TheRateThatHoldsNowFollowsTheProcesses)
{
    begin(kBelowANode, AttachMode::PerProcess, kDivides);
    const auto first = join("rpc", 1, 100);
    EXPECT_EQ(grant(first).max_rate_now, Bandwidth::from_gbps(40));
    const auto second = join("bulk", 2, 200);
    for (const auto id : {first, second}) {
        EXPECT_EQ(grant(id).max_rate_now, Bandwidth::from_gbps(30)) << "half of the node's 60 Gbit/s";
        EXPECT_EQ(service->sessions().with_queue_pairs(id)->queue_pairs[0].max_rate_now, Bandwidth::from_gbps(30));
    }
    const auto asks = register_as(PeerId{9}, process(9), asking_for("bulk"));
    EXPECT_EQ(asks->grant.max_rate_now, Bandwidth::from_gbps(20)) << "it would be the third";
    join("rpc", 3, 300);
    EXPECT_EQ(grant(first).max_rate_now, Bandwidth::from_gbps(20)) << "half of its class, a third of the node";
    EXPECT_THAT(grant(first).reason, HasSubstr("cap of /apps 60 Gbit/s split 3 ways: 20 Gbit/s each"));
}

TEST_F(ServiceAttachMode, APlanPredictsNoRatesWhereSharesDoNotHold)
{
    begin(kTwo, AttachMode::PerProcess);
    const auto planned = answer<PlanReport>(
        [&](auto done) { service->plans().plan(std::nullopt, 0, std::move(done)); });
    ASSERT_TRUE(planned);
    ASSERT_EQ(planned->devices.size(), 1U);
    EXPECT_TRUE(planned->devices[0].rates.empty());
}

TEST_F(ServiceAttachMode, AShareDependsOnOtherProcesses)
{
    begin(kTwo, AttachMode::PerProcess, kDivides);
    const auto rpc = join("rpc", 1, 100);
    EXPECT_TRUE(grant(rpc).enforced) << "nobody else is there";
    const auto bulk = join("bulk", 2, 200);
    EXPECT_FALSE(grant(rpc).enforced);
    EXPECT_THAT(grant(rpc).reason,
                HasSubstr("its share 60 is not enforced by the tree against the 1 other process on the device"));
    EXPECT_FALSE(grant(bulk).enforced);
    const auto unscheduled = join("DEFAULT", 3, 300);
    EXPECT_THAT(grant(unscheduled).reason, HasSubstr("has no `schedule`"));
    service->session_calls().peer_gone(PeerId{200});
    settle();
    EXPECT_TRUE(grant(rpc).enforced);
}

TEST_F(ServiceAttachMode, InModeNoneTheReasonIsToldAndNothingIsEnforced)
{
    begin(kTwo, AttachMode::None);
    const auto rpc = join("rpc", 1, 100);
    const auto asks = register_as(PeerId{9}, process(9), asking_for("bulk"));
    ASSERT_TRUE(asks);
    for (const auto& one : {grant(rpc), asks->grant}) {
        EXPECT_FALSE(one.enforced);
        EXPECT_THAT(one.reason, HasSubstr("attach mode none, a simulated device"));
    }
    EXPECT_FALSE(service->sessions().with_queue_pairs(rpc)->queue_pairs[0].enforced);
    EXPECT_TRUE(service->devices().status("mlx5_0/1")->attach_notes.empty());
}

// A device that nothing was tried on yet.
class ServiceUntestedDevice : public ServiceAttachMode {
protected:
    void begin_untested(const char* text, AttachMode found)
    {
        policy(text);
        start();
        auto made = std::make_unique<ModelBackend>(new_device("mlx5_0"), default_capabilities());
        made->postpone_test({found, "a simulated device that was tested", {}});
        nic = made.get();
        service->device_control().add(std::move(made));
        settle();
    }
    [[nodiscard]] DeviceStatus device() { return *service->devices().status("mlx5_0/1"); }

    ModelBackend* nic = nullptr;
};

constexpr const char* kNoClass = "version: 1\nqos-levels:\n  - {name: DEFAULT, sl: 0}\n";
constexpr const char* kMonitor = "version: 1\nmode: monitor\n";

TEST_F(ServiceUntestedDevice, IsLeftAloneByAPolicyWithoutAClass)
{
    begin_untested(kNoClass, AttachMode::PerProcess);
    EXPECT_TRUE(device().attach.postponed);
    EXPECT_EQ(nic->writes(), 0U);
}

TEST_F(ServiceUntestedDevice, IsTestedBeforeTheFirstClassIsBuilt)
{
    begin_untested(kNoClass, AttachMode::PerProcess);
    join("DEFAULT", 1, 100);

    policy(kTwo);
    EXPECT_TRUE(reload().accepted);
    EXPECT_FALSE(device().attach.postponed);
    EXPECT_EQ(device().attach.mode, AttachMode::PerProcess);
    EXPECT_GT(nic->writes(), 0U);
}

TEST_F(ServiceUntestedDevice, ThatTurnsOutToAttachNothingRefusesThePolicy)
{
    begin_untested(kNoClass, AttachMode::None);
    policy(kTwo);
    const auto outcome = reload();
    EXPECT_FALSE(outcome.accepted);
    EXPECT_THAT(outcome.to_text(), HasSubstr("mlx5_0/1"));
    EXPECT_EQ(service->in_force().policy()->revision, started.revision);
    EXPECT_FALSE(device().attach.postponed) << "it was found out";
    EXPECT_EQ(nic->writes(), 0U);
}

TEST_F(ServiceUntestedDevice, ThatTurnsOutToAttachNothingGetsNothing)
{
    settings("version: 1\non-unsupported: degrade\n");
    begin_untested(kNoClass, AttachMode::None);
    const auto early = join("DEFAULT", 1, 100);

    policy(kTwo);
    const auto outcome = reload();
    EXPECT_TRUE(outcome.accepted);
    EXPECT_FALSE(outcome.findings.empty());
    EXPECT_EQ(nic->writes(), 0U);
    const auto late = join("rpc", 2, 200);
    EXPECT_FALSE(grant(late).enforced);
    EXPECT_THAT(grant(late).reason, HasSubstr("attach mode none, a simulated device that was tested"));
    EXPECT_EQ(service->sessions().queue_pair_count(early), 1U);
}

TEST_F(ServiceUntestedDevice, IsLeftAloneInModeMonitor)
{
    settings(kMonitor);
    begin_untested(kTwo, AttachMode::PerProcess);
    EXPECT_TRUE(device().attach.postponed);

    settings("version: 1\nmode: enforce\n");
    EXPECT_TRUE(reload().accepted);
    EXPECT_FALSE(device().attach.postponed);
    EXPECT_GT(nic->writes(), 0U);
}

TEST_F(ServiceUntestedDevice, IsLeftAloneWhileItIsDisabled)
{
    begin_untested(kNoClass, AttachMode::PerProcess);
    EXPECT_TRUE(
        answer<std::vector<DeviceReconcile>>([&](auto done) { service->device_control().disable("mlx5_0", done); }));
    policy(kTwo);
    EXPECT_TRUE(reload().accepted);
    EXPECT_TRUE(device().attach.postponed);

    EXPECT_TRUE(
        answer<std::vector<DeviceReconcile>>([&](auto done) { service->device_control().enable("mlx5_0", done); }));
    EXPECT_FALSE(device().attach.postponed);
    EXPECT_GT(nic->writes(), 0U);
}

TEST_F(ServiceUntestedDevice, AnswersAReloadThoughItGoesMeanwhile)
{
    begin_untested(kNoClass, AttachMode::PerProcess);
    policy(kTwo);
    std::optional<ReloadOutcome> outcome;
    service->reloads().reload([&](const ReloadOutcome& answer) { outcome = answer; });
    nic->remove();
    EXPECT_TRUE(loop.run_until([&] { return outcome.has_value(); }));
}

TEST_F(ServiceAttachMode, SharedSaysNothing)
{
    begin(kTwo, AttachMode::Shared);
    const auto rpc = join("rpc", 1, 100);
    join("bulk", 2, 200);
    EXPECT_TRUE(grant(rpc).enforced);
    EXPECT_EQ(grant(rpc).reason, "");
}

}    // namespace
}    // namespace rdmaqos
