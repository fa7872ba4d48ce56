// Devices that the administrator switches off, on, and lets go of.
#include <gmock/gmock.h>

#include "tests/support/service_fixture.h"

namespace rdmaqos {
namespace {

using testing::HasSubstr;

constexpr const char* kDevicesPolicy = R"(version: 1
qos-levels:
  - {name: DEFAULT, sl: 0}
  - name: rpc
    schedule: {share: 60, max-rate: 40Gbps, fair-by: process}
  - name: bulk
    schedule: {share: 30}
    per-queue-pair: {max-rate: 5Gbps}
)";

class ServiceDevices : public test::ServiceFixture {
protected:
    using Results = std::vector<DeviceReconcile>;

    void SetUp() override
    {
        policy(kDevicesPolicy);
        start();
        ASSERT_TRUE(started.accepted) << started.to_text();
        nic = &add_device("mlx5_0");
    }
    Result<Results> disable(const std::string& device)
    {
        return answer<Results>([&](auto done) { service->device_control().disable(device, std::move(done)); });
    }
    Result<Results> enable(const std::string& device)
    {
        return answer<Results>([&](auto done) { service->device_control().enable(device, std::move(done)); });
    }
    Result<Results> release(const std::string& device)
    {
        return answer<Results>([&](auto done) { service->device_control().release(device, std::move(done)); });
    }
    QueuePairResult attach(const RegisterReply& to, std::uint32_t number, QueuePairType type = QueuePairType::Rc)
    {
        auto request = queue_pair("mlx5_0", number);
        request.ref.type = type;
        const auto results = answer<std::vector<QueuePairResult>>(
            [&](auto done) { service->session_calls().attach(PeerId{1}, to.session, {request}, std::move(done)); });
        EXPECT_TRUE(results);
        return results ? results->at(0) : QueuePairResult{};
    }
    DeviceStatus status() { return *service->devices().status("mlx5_0/1"); }

    ModelBackend* nic = nullptr;
};

TEST_F(ServiceDevices, DisabledEverythingIsOutAndSessionsSaySo)
{
    const auto reply = register_as(PeerId{1}, process(4711), asking_for("rpc", "mlx5_0", {10, 11}));
    ASSERT_TRUE(reply);
    attach(*reply, 12, QueuePairType::RawPacket);
    const auto results = disable("mlx5_0");
    ASSERT_TRUE(results) << to_string(results.error());
    ASSERT_EQ(results->size(), 1U);
    EXPECT_EQ(results->at(0).device, "mlx5_0/1");
    EXPECT_TRUE(results->at(0).failures.empty());
    EXPECT_GT(results->at(0).operations, 3U);
    EXPECT_TRUE(nic->firmware().elements().empty());
    for (const auto& queue_pair : nic->firmware().queue_pairs()) {
        EXPECT_EQ(queue_pair.requester, kNoObject);
        EXPECT_FALSE(queue_pair.rate);
    }

    EXPECT_EQ(status().state, DeviceState::Disabled);
    EXPECT_THAT(status().reason, HasSubstr("rdma-qosctl enable mlx5_0/1"));
    const auto info = *service->sessions().with_queue_pairs(reply->session);
    EXPECT_EQ(info.state, SessionState::Active);
    EXPECT_FALSE(info.grant.enforced);
    EXPECT_THAT(info.grant.reason, HasSubstr("rdma-qosctl disable"));
    ASSERT_EQ(info.queue_pairs.size(), 3U);
    for (const auto& result : info.queue_pairs) {
        EXPECT_FALSE(result.enforced);
        EXPECT_EQ(result.leaf, "");
        EXPECT_EQ(result.reason, "mlx5_0/1 is disabled (`rdma-qosctl disable`)");
    }
}

TEST_F(ServiceDevices, WhatComesWhileDisabledIsTakenButNotPlaced)
{
    ASSERT_TRUE(disable(""));
    nic->clear_log();
    const auto reply = register_as(PeerId{1}, process(4711), asking_for("rpc", "mlx5_0", {10}));
    ASSERT_TRUE(reply);
    EXPECT_FALSE(reply->queue_pairs[0].error);
    EXPECT_FALSE(reply->queue_pairs[0].enforced);
    EXPECT_THAT(reply->grant.reason, HasSubstr("rdma-qosctl disable"));
    EXPECT_TRUE(answer<void>(
        [&](auto done) { service->session_calls().detach(PeerId{1}, reply->session, "mlx5_0", 10, std::move(done)); }));
    attach(*reply, 11);
    policy(std::string(kDevicesPolicy) + "  - {name: new, schedule: {share: 5}}\n");
    ASSERT_TRUE(reload().accepted);
    nic->set_link(Bandwidth::from_gbps(200));
    loop.advance(service->in_force().settings().drift_interval);
    ASSERT_TRUE(answer<std::vector<DeviceReconcile>>(
        [&](auto done) { service->device_control().reconcile("", std::move(done)); }));
    settle();
    EXPECT_EQ(writes(*nic), std::vector<std::string>{});

    const auto enabled = enable("mlx5_0/1");
    ASSERT_TRUE(enabled);
    EXPECT_GT(enabled->at(0).operations, 0U);
    EXPECT_EQ(status().state, DeviceState::Ready) << status().reason;
    const auto info = *service->sessions().with_queue_pairs(reply->session);
    EXPECT_TRUE(info.grant.enforced) << info.grant.reason;
    ASSERT_EQ(info.queue_pairs.size(), 1U);
    EXPECT_EQ(info.queue_pairs[0].leaf, "/rpc/pid:4711");
}

TEST_F(ServiceDevices, EnableGivesBackPlacesAndRates)
{
    const auto reply = register_as(PeerId{1}, process(4711), asking_for("bulk", "mlx5_0", {10}));
    ASSERT_TRUE(reply);
    attach(*reply, 11, QueuePairType::RawPacket);
    const auto before = service->sessions().with_queue_pairs(reply->session)->queue_pairs;
    ASSERT_TRUE(disable("mlx5_0"));
    ASSERT_TRUE(enable(""));
    const auto after = service->sessions().with_queue_pairs(reply->session)->queue_pairs;
    ASSERT_EQ(after.size(), before.size());
    for (std::size_t i = 0; i < after.size(); ++i) {
        EXPECT_TRUE(after[i].enforced) << after[i].reason;
        EXPECT_EQ(after[i].leaf, before[i].leaf);
        EXPECT_EQ(after[i].rate, before[i].rate);
    }
    EXPECT_EQ(after.back().rate->rate, Bandwidth::from_gbps(5));
    nic->clear_log();
    ASSERT_TRUE(enable("mlx5_0"));
    EXPECT_EQ(writes(*nic), std::vector<std::string>{}) << "it was enabled already";
}

TEST_F(ServiceDevices, LastsOverReplugAndRestartByNodeGuid)
{
    ASSERT_TRUE(disable("mlx5_0"));
    service->device_control().remove("mlx5_0/1");
    devices = 0;    // the same node GUID, another name
    auto& back = add_device("mlx5_7");
    EXPECT_EQ(service->devices().status("mlx5_7/1")->state, DeviceState::Disabled);
    EXPECT_TRUE(back.firmware().elements().empty());
    EXPECT_EQ(service->devices().status(add_device("mlx5_8").info().key())->state, DeviceState::Ready);

    service.reset();
    start();
    devices = 0;
    auto& again = add_device("mlx5_0");
    EXPECT_EQ(status().state, DeviceState::Disabled);
    EXPECT_TRUE(again.firmware().elements().empty());
    ASSERT_TRUE(enable("mlx5_0"));
    EXPECT_FALSE(again.firmware().elements().empty());

    service.reset();
    start();
    devices = 0;
    EXPECT_FALSE(add_device("mlx5_0").firmware().elements().empty());
}

TEST_F(ServiceDevices, OneThatIsNotThereIsEnabledByTheNameItHad)
{
    ASSERT_TRUE(disable("mlx5_0"));
    service->device_control().remove("mlx5_0/1");
    const auto unknown = enable("mlx5_1");
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().code, ErrorCode::UnknownDevice);
    EXPECT_THAT(unknown.error().message, HasSubstr("mlx5_0/1 (disabled, not present)"));
    ASSERT_TRUE(enable("mlx5_0"));
    devices = 0;
    EXPECT_FALSE(add_device("mlx5_0").firmware().elements().empty());
}

TEST_F(ServiceDevices, AnUnknownNameIsAnsweredWithThoseThereAre)
{
    add_device("mlx5_1");
    for (const auto& result : {disable("mlx5_9"), enable("mlx5_9"), release("mlx5_9")}) {
        ASSERT_FALSE(result);
        EXPECT_EQ(result.error().code, ErrorCode::UnknownDevice);
        EXPECT_THAT(result.error().message, HasSubstr("mlx5_0/1, mlx5_1/1"));
    }
    EXPECT_EQ(release("").error().code, ErrorCode::InvalidArgument);
    EXPECT_FALSE(nic->firmware().elements().empty());
}

TEST_F(ServiceDevices, AQueuePairThatCannotBeTakenOutIsToldAndTriedAgain)
{
    const auto reply = register_as(PeerId{1}, process(4711), asking_for("bulk", "mlx5_0", {10}));
    ASSERT_TRUE(reply);
    nic->firmware().faults().busy(CommandKind::Attach, 100);
    const auto results = disable("mlx5_0");
    ASSERT_TRUE(results);
    ASSERT_FALSE(results->at(0).failures.empty());
    EXPECT_EQ(results->at(0).failures[0].path.text(), "/bulk/qp:10");
    EXPECT_THAT(service->sessions().with_queue_pairs(reply->session)->queue_pairs[0].reason,
                HasSubstr("not everything could be undone"));
    nic->firmware().faults().clear();
    loop.advance(std::chrono::minutes(1));
    ASSERT_TRUE(loop.run_until([&] { return status().snapshot->actual.elements.empty(); }));
    EXPECT_EQ(service->sessions().with_queue_pairs(reply->session)->queue_pairs[0].leaf, "");
}

TEST_F(ServiceDevices, DisableTakesBackWhatWasWrittenBeforeMonitorMode)
{
    settings("version: 1\nmode: monitor\n");
    ASSERT_TRUE(register_as(PeerId{1}, process(4711), asking_for("bulk", "mlx5_0", {10})));
    ASSERT_TRUE(reload().accepted);
    EXPECT_FALSE(nic->firmware().elements().empty());
    ASSERT_TRUE(disable("mlx5_0"));
    EXPECT_TRUE(nic->firmware().elements().empty());
    ASSERT_TRUE(enable("mlx5_0"));
    EXPECT_TRUE(nic->firmware().elements().empty());
    EXPECT_EQ(status().state, DeviceState::Monitor);
}

TEST_F(ServiceDevices, ReleasedItIsEmptyClosedAndLeftAlone)
{
    auto keeper = std::make_shared<Firmware>(default_capabilities());
    DeviceInfo info;
    info.name = "mlx5_5";
    info.node_guid = Guid{0x55};
    info.link_speed = Bandwidth::from_gbps(100);
    const auto plug = [&] {
        service->device_control().add(std::make_unique<ModelBackend>(info, default_capabilities(), keeper));
        settle();
    };
    plug();
    const auto reply = register_as(PeerId{1}, process(4711), asking_for("rpc", "mlx5_5", {10}));
    ASSERT_TRUE(reply);
    ASSERT_FALSE(keeper->elements().empty());
    std::vector<std::uint64_t> looked;
    service->device_control().on_wanted_again([&](Guid guid, std::uint32_t) { looked.push_back(guid.value); });

    const auto released = release("mlx5_5");
    ASSERT_TRUE(released) << to_string(released.error());
    EXPECT_TRUE(released->at(0).failures.empty());
    EXPECT_TRUE(keeper->elements().empty());
    EXPECT_EQ(keeper.use_count(), 1) << "its backend is gone when the call is answered";
    EXPECT_EQ(service->devices().status("mlx5_5/1"), std::nullopt);
    EXPECT_EQ(service->devices().released_keys(), std::vector<std::string>{"mlx5_5/1"});
    EXPECT_EQ(service->sessions().with_queue_pairs(reply->session)->state, SessionState::Detached);
    EXPECT_FALSE(service->device_control().wanted({info.node_guid, 1}));
    EXPECT_TRUE(service->device_control().wanted({info.node_guid, 2}));
    plug();
    EXPECT_EQ(service->devices().status("mlx5_5/1"), std::nullopt) << "it is not taken";
    EXPECT_THAT(disable("mlx5_5").error().message, HasSubstr("mlx5_5/1 (released)"));

    EXPECT_TRUE(looked.empty());
    std::vector<Result<Results>> enabled;
    std::optional<DeviceState> state_when_answered;
    for (int calls = 0; calls < 2; ++calls) {
        service->device_control().enable("mlx5_5", [&](Result<Results> result) {
            enabled.push_back(std::move(result));
            state_when_answered = service->devices().status("mlx5_5/1").value_or(DeviceStatus{}).state;
        });
    }
    EXPECT_EQ(looked, std::vector<std::uint64_t>{0x55}) << "once for both calls";
    EXPECT_TRUE(service->devices().released_keys().empty());
    settle();
    EXPECT_TRUE(enabled.empty()) << "it is not here yet";
    plug();
    ASSERT_TRUE(loop.run_until([&] { return enabled.size() == 2; }));
    for (const auto& result : enabled) {
        ASSERT_TRUE(result) << to_string(result.error());
        ASSERT_EQ(result->size(), 1U);
        EXPECT_EQ(result->at(0).device, "mlx5_5/1");
        EXPECT_TRUE(result->at(0).failures.empty());
        EXPECT_GE(result->at(0).operations, keeper->elements().size()) << "its tree was built";
    }
    EXPECT_EQ(state_when_answered, DeviceState::Ready);
    EXPECT_FALSE(keeper->elements().empty());

    ASSERT_TRUE(release("mlx5_5"));
    service->device_control().vanished({info.node_guid, 1});
    plug();
    EXPECT_EQ(service->devices().status("mlx5_5/1")->state, DeviceState::Ready) << "it was away and has come back";
}

TEST_F(ServiceDevices, OneThatCannotBeOpenedIsListedUntilItIsTakenOrGone)
{
    struct Heard final : ServiceObserver {
        void refused_changed() override { ++times; }
        int times = 0;
    } heard;
    service->context().add_observer(heard);
    const DeviceInfo info = new_device("mlx5_7");
    service->device_control().not_managed(info, "the device cannot be opened");
    service->device_control().not_managed(info, "the device cannot be opened");
    EXPECT_EQ(heard.times, 1) << "it is looked for every few seconds";
    ASSERT_EQ(service->devices().all_refused().size(), 1U);
    EXPECT_EQ(service->devices().all_refused().front().names.device, "mlx5_7");
    EXPECT_THAT(disable("mlx5_7").error().message, HasSubstr("mlx5_7/1 (not managed: the device cannot be opened)"));
    std::optional<Metrics> counted;
    service->metrics().collect([&](Metrics metrics) { counted = std::move(metrics); });
    ASSERT_TRUE(loop.run_until([&] { return counted.has_value(); }));
    EXPECT_EQ(counted->refused_devices, std::vector<std::string>{"mlx5_7/1"});

    service->device_control().add(std::make_unique<ModelBackend>(info, default_capabilities()));
    settle();
    EXPECT_TRUE(service->devices().all_refused().empty());
    const DeviceInfo other = new_device("mlx5_8");
    service->device_control().not_managed(other, "it has not answered yet");
    service->device_control().vanished({other.node_guid, other.port});
    EXPECT_TRUE(service->devices().all_refused().empty());
    EXPECT_EQ(heard.times, 4);
    service->context().remove_observer(heard);
}

// What a device takes along is of that device: the session has the rest, and its program can bring back what went.
TEST_F(ServiceDevices, ADeviceThatGoesTakesOnlyItsOwnQueuePairs)
{
    ModelBackend& other = add_device("mlx5_1");
    const auto reply = register_as(PeerId{1}, process(4711), asking_for("rpc", "mlx5_0", {10, 11}));
    ASSERT_TRUE(reply);
    const auto attach_to = [&](const char* device, std::uint32_t number) {
        const auto results = answer<std::vector<QueuePairResult>>([&](auto done) {
            service->session_calls().attach(PeerId{1}, reply->session, {queue_pair(device, number)}, std::move(done));
        });
        return results && !results->at(0).error;
    };
    const auto detach = [&](std::uint32_t number) {
        return answer<void>([&](auto done) {
            service->session_calls().detach(PeerId{1}, reply->session, "mlx5_0", number, std::move(done));
        });
    };
    const auto session = [&] { return *service->sessions().with_queue_pairs(reply->session); };
    ASSERT_TRUE(attach_to("mlx5_1", 20));
    ASSERT_TRUE(release("mlx5_0"));
    settle();
    EXPECT_EQ(session().state, SessionState::Active) << "it has one on the other device";
    EXPECT_TRUE(session().grant.enforced) << session().grant.reason;
    EXPECT_EQ(session().grant.detached_devices, std::vector<std::string>{"mlx5_0/1"});
    EXPECT_TRUE(session().grant.returned_devices.empty());
    EXPECT_EQ(service->sessions().counts().detached, 0U) << "nothing that it could do now";
    EXPECT_EQ(session().grant.losses, 1U);
    EXPECT_FALSE(attach_to("mlx5_0", 10));

    service->device_control().enable("mlx5_0", [](const Result<Results>&) {});
    settle();
    nic = &add_device("mlx5_0");
    settle();
    EXPECT_EQ(session().grant.returned_devices, std::vector<std::string>{"mlx5_0/1"});
    EXPECT_EQ(service->sessions().counts().detached, 1U);
    EXPECT_TRUE(attach_to("mlx5_0", 10));
    EXPECT_FALSE(session().grant.detached_devices.empty()) << "11 is still to come";
    EXPECT_TRUE(detach(11)) << "or does not come";
    EXPECT_FALSE(detach(11));
    EXPECT_TRUE(session().grant.detached_devices.empty());
    EXPECT_EQ(service->sessions().counts().detached, 0U);
    EXPECT_EQ(session().queue_pairs.size(), 2U);

    other.replug();
    service->device_control().remove("mlx5_0/1");
    service->device_control().remove("mlx5_1/1");
    EXPECT_EQ(session().state, SessionState::Detached);
    EXPECT_EQ(session().grant.losses, 3U);
}

TEST_F(ServiceDevices, ReleasedItIsLeftAloneByTheNextDaemonToo)
{
    const DeviceInfo info = nic->info();
    ASSERT_TRUE(release("mlx5_0"));
    settle();
    start();
    EXPECT_FALSE(service->device_control().wanted({info.node_guid, info.port}));
    EXPECT_EQ(service->devices().released_keys(), std::vector<std::string>{"mlx5_0/1"});
    service->device_control().enable("mlx5_0", [](const Result<Results>&) {});
    settle();
    start();
    EXPECT_TRUE(service->device_control().wanted({info.node_guid, info.port}));
}

// Which end a call of enable() for a released device comes to.
class ServiceEnable : public ServiceDevices {
protected:
    void SetUp() override
    {
        ServiceDevices::SetUp();
        ASSERT_TRUE(release("mlx5_0"));
        service->device_control().on_wanted_again([this](Guid node_guid, std::uint32_t port) {
            if (refuses) {
                service->device_control().refused({node_guid, port}, "no uverbs device");
            }
        });
    }
    std::string why_not(const Result<Results>& result)
    {
        EXPECT_TRUE(result);
        EXPECT_EQ(result->size(), 1U);
        return result->at(0).failures.empty() ? "it came" : result->at(0).failures[0].error.message;
    }

    bool refuses = false;
};

TEST_F(ServiceEnable, SaysWhyTheDeviceIsNotTaken)
{
    refuses = true;
    const auto result = enable("mlx5_0");
    EXPECT_EQ(why_not(result), "no uverbs device");
    EXPECT_EQ(result->at(0).device, "mlx5_0/1");
    devices = 0;
    add_device("mlx5_0");
    EXPECT_EQ(status().state, DeviceState::Ready) << "it is taken when it comes";
}

TEST_F(ServiceEnable, WaitsForSomeTimeOnly)
{
    std::optional<Result<Results>> got;
    service->device_control().enable("mlx5_0", [&](Result<Results> result) { got.emplace(std::move(result)); });
    loop.run_until_rest();
    EXPECT_FALSE(got);
    loop.advance(std::chrono::seconds(19));
    EXPECT_FALSE(got);
    loop.advance(std::chrono::seconds(1));
    ASSERT_TRUE(got);
    EXPECT_THAT(why_not(*got), HasSubstr("did not appear within 20 s"));
}

TEST_F(ServiceEnable, OfAllWaitsForThoseThatComeAndNotForThoseThatAreAway)
{
    add_device("mlx5_1");
    add_device("mlx5_2");
    ASSERT_TRUE(disable("mlx5_1"));
    ASSERT_TRUE(disable("mlx5_2"));
    service->device_control().remove("mlx5_2/1");
    std::optional<Result<Results>> got;
    service->device_control().enable("", [&](Result<Results> result) { got.emplace(std::move(result)); });
    settle();
    EXPECT_FALSE(got);
    devices = 0;
    add_device("mlx5_0");
    ASSERT_TRUE(loop.run_until([&] { return got.has_value(); }));
    ASSERT_TRUE(*got);
    std::vector<std::string> keys;
    for (const auto& each : **got) {
        keys.push_back(each.device);
        EXPECT_TRUE(each.failures.empty()) << each.device;
    }
    EXPECT_THAT(keys, testing::UnorderedElementsAre("mlx5_0/1", "mlx5_1/1", "mlx5_2/1"));
}

TEST_F(ServiceDevices, AReleasedDeviceIsBusyUntilItsFilesAreClosed)
{
    std::optional<Result<Results>> got;
    service->device_control().release("mlx5_0", [&](Result<Results> result) { got.emplace(std::move(result)); });
    ASSERT_TRUE(loop.run_until([&] { return !service->devices().status("mlx5_0/1"); }));
    ASSERT_FALSE(got);
    EXPECT_EQ(service->devices().find_key("mlx5_0").error().code, ErrorCode::Busy);
    ASSERT_TRUE(loop.run_until([&] { return got.has_value(); }));
    EXPECT_EQ(service->devices().find_key("mlx5_0").error().code, ErrorCode::UnknownDevice);
}

TEST_F(ServiceDevices, ReleaseWaitsForAQueuePairThatIsBusyAndNothingIsPlacedMeanwhile)
{
    const auto reply = register_as(PeerId{1}, process(4711), asking_for("rpc", "mlx5_0", {10}));
    ASSERT_TRUE(reply);
    nic->firmware().faults().busy(CommandKind::Attach, 6);
    std::optional<Result<Results>> got;
    service->device_control().release("mlx5_0", [&](Result<Results> result) { got.emplace(std::move(result)); });
    EXPECT_EQ(release("mlx5_0").error().code, ErrorCode::Busy);
    settle();
    ASSERT_FALSE(got);
    ASSERT_EQ(attach(*reply, 11).error->code, ErrorCode::Busy);
    ASSERT_TRUE(reload().accepted);
    service->session_calls().peer_gone(PeerId{1});
    settle();
    loop.advance(std::chrono::milliseconds(100));
    ASSERT_TRUE(loop.run_until([&] { return got.has_value(); }));
    ASSERT_TRUE(*got);
    EXPECT_TRUE((*got)->at(0).failures.empty());
}

}    // namespace
}    // namespace rdmaqos
