// Service: what a NIC refuses of a policy that is in force is in every report that says whether the NIC matches it.
#include <gmock/gmock.h>

#include "tests/support/journal.h"
#include "tests/support/service_fixture.h"

namespace rdmaqos {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kWithoutBulk = "version: 1\nqos-levels: [{name: DEFAULT}, {name: rpc, schedule: {share: 60}}]\n";
constexpr const char* kWithBulk = "version: 1\nqos-levels: [{name: DEFAULT}, {name: rpc, schedule: {share: 60}}, "
                                  "{name: bulk, schedule: {share: 5}}]\n";
constexpr const char* kWithLowCap =
    "version: 1\nqos-levels: [{name: DEFAULT}, {name: rpc, schedule: {share: 60, max-rate: 5Gbps}}]\n";

class ServiceRefusedClass : public test::ServiceFixture {
protected:
    void SetUp() override
    {
        policy(kWithoutBulk);
        start();
        nic = &add_device("mlx5_0");
        journal.clear();
    }
    void TearDown() override { service.reset(); }    // before the journal goes

    void refuse(CommandKind kind) { nic->firmware().faults().fail(kind, 1, {}, UINT64_MAX); }
    void end_refusals()
    {
        nic->firmware().faults().clear();
        loop.advance(std::chrono::seconds(1));
        settle();
    }
    std::vector<ElementFailure> verify()
    {
        const auto found = answer<std::vector<DeviceDrift>>(
            [&](auto done) { service->device_control().verify("", std::move(done)); });
        EXPECT_TRUE(found && found->size() == 1);
        EXPECT_THAT(found->front().drifts, IsEmpty()) << "what was written is there";
        return found->front().failures;
    }

    test::Journal journal;
    ModelBackend* nic = nullptr;
};

TEST_F(ServiceRefusedClass, IsInEveryReport)
{
    refuse(CommandKind::Create);
    policy(kWithBulk);
    const ReloadOutcome outcome = reload();
    EXPECT_TRUE(outcome.accepted) << "it is the policy that is asked for";
    ASSERT_THAT(outcome.failures, SizeIs(1));
    EXPECT_EQ(outcome.failures.front().device, "mlx5_0/1");
    EXPECT_EQ(outcome.failures.front().failure.path, ElementPath("/bulk"));
    EXPECT_THAT(outcome.to_text(), HasSubstr("mlx5_0/1: error: create /bulk: "));
    const auto applied = journal.of(LogEvent::PolicyApplied);
    ASSERT_THAT(applied, SizeIs(1));
    EXPECT_EQ(applied.front().level, LogLevel::Warning);
    EXPECT_THAT(applied.front().message, HasSubstr(", but not all of it is on the devices"));
    EXPECT_THAT(service->in_force().last_reload.failures, SizeIs(1));
    EXPECT_THAT(verify(), ElementsAre(testing::Field(&ElementFailure::path, ElementPath("/bulk"))));

    const auto waiting = register_as(PeerId{1}, process(1), asking_for("bulk"));
    ASSERT_TRUE(waiting);
    EXPECT_FALSE(waiting->grant.enforced);
    EXPECT_EQ(waiting->grant.cause, "error");
    EXPECT_THAT(waiting->grant.reason, HasSubstr("create /bulk: "));
    const auto other = register_as(PeerId{2}, process(2), asking_for("rpc"));
    EXPECT_TRUE(other->grant.enforced) << other->grant.reason;

    end_refusals();
    EXPECT_THAT(verify(), IsEmpty());
    EXPECT_TRUE(service->sessions().find(waiting->session)->grant.enforced);
    const ReloadOutcome again = reload();
    EXPECT_THAT(again.failures, IsEmpty());
}

TEST_F(ServiceRefusedClass, AQueuePairInALeafThatIsNotAsThePolicySaysIsNotEnforced)
{
    const auto reply = register_as(PeerId{1}, process(1), asking_for("rpc", "mlx5_0", {7}));
    ASSERT_TRUE(reply);
    EXPECT_TRUE(reply->grant.enforced) << reply->grant.reason;
    refuse(CommandKind::Modify);
    policy(kWithLowCap);
    EXPECT_THAT(reload().failures, SizeIs(1));
    const auto found = service->sessions().queue_pair("mlx5_0/1", 7);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->leaf, "/rpc");
    EXPECT_FALSE(found->enforced);
    EXPECT_THAT(found->reason, HasSubstr("modify /rpc: "));
    EXPECT_FALSE(service->sessions().find(reply->session)->grant.enforced);
    end_refusals();
    EXPECT_TRUE(service->sessions().queue_pair("mlx5_0/1", 7)->enforced);
}

}    // namespace
}    // namespace rdmaqos
