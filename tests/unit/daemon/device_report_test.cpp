#include "daemon/device/device_report.h"

#include <gmock/gmock.h>

namespace rdmaqos {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;

DeviceFacts facts_of_a_device()
{
    DeviceFacts facts{.key = "mlx5_0/1",
                      .info = {},
                      .capabilities = {},
                      .attach = {AttachMode::Shared, "", {}},
                      .attributes = nullptr,
                      .settings = {},
                      .book = PlacementBook({}, Bandwidth::from_gbps(100))};
    facts.settings.mode = Mode::Enforce;
    return facts;
}

std::shared_ptr<const Snapshot> snapshot_with_failure()
{
    Snapshot snapshot;
    snapshot.failures.push_back({ElementPath("/rpc"), "create", {ErrorCode::NoSpace, 0, "full"}, 1});
    return std::make_shared<const Snapshot>(std::move(snapshot));
}

TEST(DeviceReport, WhatTheSelfTestSaysOfDevxIsTold)
{
    DeviceFacts facts = facts_of_a_device();
    EXPECT_THAT(device_status(facts, {}).attach_notes, IsEmpty());
    facts.attach.devx_refused = "attach the one made by DEVX: EREMOTEIO, status 0x9";
    EXPECT_THAT(device_status(facts, {}).attach_notes,
                testing::ElementsAre(testing::AllOf(HasSubstr("as UCX makes them"), HasSubstr("status 0x9"))));
}

TEST(DeviceReport, ASelfTestThatCannotBeKeptIsTold)
{
    DeviceFacts facts = facts_of_a_device();
    facts.attach.not_kept = "/var/lib/rdma-qos/self-test: No space left on device";
    EXPECT_THAT(device_status(facts, {}).attach_notes,
                testing::ElementsAre(testing::AllOf(HasSubstr("will run again"), HasSubstr("No space left"))));
}

// What makes the rest unknown or meaningless is said first.
TEST(DeviceReport, TheStateIsThatOfTheGravestFact)
{
    DeviceFacts facts = facts_of_a_device();
    DeviceAnswers answers;
    EXPECT_EQ(device_status(facts, answers).state, DeviceState::Ready);
    EXPECT_THAT(device_status(facts, answers).reason, IsEmpty());

    facts.snapshot = snapshot_with_failure();
    EXPECT_EQ(device_status(facts, answers).state, DeviceState::Degraded);
    EXPECT_THAT(device_status(facts, answers).reason, HasSubstr("create /rpc"));

    facts.settings.mode = Mode::Monitor;
    EXPECT_EQ(device_status(facts, answers).state, DeviceState::Monitor);
    EXPECT_THAT(device_status(facts, answers).reason, HasSubstr("mode: monitor"));

    facts.disabled = true;
    EXPECT_EQ(device_status(facts, answers).state, DeviceState::Disabled);
    EXPECT_THAT(device_status(facts, answers).reason, HasSubstr("rdma-qosctl enable mlx5_0/1"));

    answers.silent_for = kPatienceWithDevices - 1s;
    EXPECT_EQ(device_status(facts, answers).state, DeviceState::Disabled) << "it is waited for";
    answers.silent_for = kPatienceWithDevices;
    EXPECT_EQ(device_status(facts, answers).state, DeviceState::Degraded);
    EXPECT_THAT(device_status(facts, answers).reason, HasSubstr("has not answered for 15 s"));

    facts.lost = true;
    EXPECT_EQ(device_status(facts, answers).state, DeviceState::Gone);
    EXPECT_THAT(device_status(facts, answers).reason, HasSubstr("since a reset"));
    facts.gone = true;
    EXPECT_EQ(device_status(facts, answers).state, DeviceState::Gone);
    EXPECT_EQ(device_status(facts, answers).reason, "the device went away");
}

TEST(DeviceReport, WhatCouldNotBeTakenOutOfADisabledDeviceIsAFailureOfItsReconcile)
{
    DeviceFacts facts = facts_of_a_device();
    Snapshot snapshot;
    snapshot.draining = {ElementPath("/rpc")};
    Report report;
    report.snapshot = std::make_shared<const Snapshot>(std::move(snapshot));
    EXPECT_THAT(reconcile_result(facts, report).failures, IsEmpty()) << "a leaf may drain while the device is in use";
    facts.disabled = true;
    const DeviceReconcile result = reconcile_result(facts, report);
    ASSERT_EQ(result.failures.size(), 1U);
    EXPECT_EQ(result.failures.front().path, ElementPath("/rpc"));
    EXPECT_EQ(result.failures.front().error.code, ErrorCode::Busy);
}

}    // namespace
}    // namespace rdmaqos
