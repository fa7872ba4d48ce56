// Limits of single queue pairs on an emulated device: packet pacing for raw packet queue pairs, a leaf for the others.
#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/nic_mlx5/program.h"

namespace rdmaqos::test {
namespace {

using ::testing::HasSubstr;

constexpr const char* kLimited = R"(version: 1
qos-levels:
  - {name: DEFAULT, sl: 0}
  - name: bulk
    schedule: {share: 20}
    per-queue-pair: {max-rate: 5Gbps, max-burst: 64KiB, typical-packet: 1024}
)";

nlohmann::json queue_pair_of(std::uint32_t number)
{
    const auto device = emulated_device();
    for (const auto& each : device.at("queue-pairs")) {
        if (each.at("qpn") == number) {
            return each;
        }
    }
    return nlohmann::json::object();
}

std::uint64_t rate_of(std::uint32_t number)
{
    return queue_pair_of(number).value("rate-kbps", std::uint64_t{0});
}

bus::Dict rate(std::uint64_t kbps)
{
    bus::Dict dict;
    dict.set("rate", kbps);
    return dict;
}

TEST(Mlx5Rates, RawPacketQueuePairsArePacedOthersGetALeaf)
{
    Daemon daemon(on_emulator(kLimited));
    Program program(daemon);
    const auto raw = program.join(IBV_QPT_RAW_PACKET);
    const auto rc = program.join(IBV_QPT_RC);
    EXPECT_EQ(rate_of(raw), 5'000'000U);
    EXPECT_EQ(queue_pair_of(raw).at("max-burst"), 65536);
    EXPECT_EQ(queue_pair_of(raw).at("typical-packet"), 1024);
    EXPECT_EQ(rate_of(rc), 0U);
    EXPECT_THAT(places(emulated_device()).at(rc), HasSubstr("rate 5000 "));
}

TEST(Mlx5Rates, AChangeTouchesOnlyWhomItConcerns)
{
    Daemon daemon(on_emulator(kLimited));
    Program program(daemon);
    const auto first = program.join(IBV_QPT_RAW_PACKET);
    const auto second = program.join(IBV_QPT_RAW_PACKET);
    Trace trace;
    ASSERT_TRUE(program.set_rate(first, rate(1'000'000)).has_value());
    EXPECT_EQ(rate_of(first), 1'000'000U);
    EXPECT_EQ(rate_of(second), 5'000'000U);
    const auto writes = trace.writes();
    ASSERT_EQ(writes.size(), 1U) << nlohmann::json(writes).dump(2);
    EXPECT_EQ(writes[0].at("fields").at("qpn"), first);
    EXPECT_EQ(writes[0].at("fields").at("rate-kbps"), 1'000'000);
    ASSERT_TRUE(program.set_rate(first, rate(0)).has_value());
    EXPECT_EQ(rate_of(first), 5'000'000U) << "0 restores the class's value";
}

// What reaches the device is what was asked, or it is refused: nothing is rounded, raised or cut on the way.
TEST(Mlx5Rates, KbitsArriveAndWhatDoesNotFitIsRefused)
{
    Daemon daemon(on_emulator(kLimited));
    Program program(daemon);
    const auto raw = program.join(IBV_QPT_RAW_PACKET);
    ASSERT_TRUE(program.set_rate(raw, rate(500)).has_value());
    EXPECT_EQ(rate_of(raw), 500U);
    bus::Dict sizes_of_0 = rate(1500);
    sizes_of_0.set("max-burst", std::uint64_t{0});
    sizes_of_0.set("typical-packet", std::uint32_t{0});
    ASSERT_TRUE(program.set_rate(raw, sizes_of_0).has_value());
    EXPECT_EQ(rate_of(raw), 1500U);
    EXPECT_EQ(queue_pair_of(raw).at("max-burst"), 65536) << "the class's own";
    const auto refusal = [&](const bus::Dict& dict) {
        const auto set = program.set_rate(raw, dict);
        return set ? std::string("none") : std::string(dbus_name(set.error().code)) + ": " + set.error().message;
    };
    bus::Dict burst = rate(1000);
    burst.set("max-burst", std::uint64_t{5'000'000'000});
    bus::Dict packet = rate(1000);
    packet.set("typical-packet", std::uint32_t{70'000});
    for (const auto& dict : {rate(5'000'000'000), burst, packet}) {
        EXPECT_THAT(refusal(dict), HasSubstr("InvalidArgs"));
        EXPECT_THAT(refusal(dict), HasSubstr("out of range"));
    }
    EXPECT_EQ(rate_of(raw), 1500U);
}

TEST(Mlx5Rates, AttachedAgainAfterAnErrorItIsPacedAgain)
{
    Daemon daemon(on_emulator(kLimited));
    Program program(daemon);
    ibv_qp* made = program.make(IBV_QPT_RAW_PACKET);
    program.attach(made);
    EXPECT_EQ(rate_of(made->qp_num), 5'000'000U);
    for (const auto state : {IBV_QPS_ERR, IBV_QPS_RESET}) {
        ibv_qp_attr attributes{};
        attributes.qp_state = state;
        ASSERT_EQ(ibv_modify_qp(made, &attributes, IBV_QP_STATE), 0);
    }
    EXPECT_EQ(rate_of(made->qp_num), 0U);
    for (const auto state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
        ASSERT_EQ(step_qp(made, state, 0), 0);
    }
    EXPECT_EQ(text_of(program.attach(made), "error"), "absent");
    EXPECT_EQ(rate_of(made->qp_num), 5'000'000U);
    EXPECT_EQ(places(emulated_device()).at(made->qp_num).find("(nothing)"), std::string::npos);
    EXPECT_NE(places(emulated_device()).at(made->qp_num), "");
}

TEST(Mlx5Rates, ReleaseLetsGoOfTheDeviceUntilItIsWantedAgain)
{
    Daemon daemon(on_emulator(kLimited));
    auto client = daemon.direct();
    const auto call = [&](const char* method) {
        const auto reply = manage(client, method, "mlx5_0");
        EXPECT_TRUE(reply.has_value()) << to_string(reply.error());
    };
    EXPECT_EQ(emulated_device().at("files"), 1);
    call("Release");
    EXPECT_TRUE(eventually([] { return emulated_device().at("files") == 0; }));
    call("Enable");
    EXPECT_TRUE(eventually([] { return emulated_device().at("files") == 1; }));
    call("Disable");
    EXPECT_EQ(emulated_device().at("elements"), 0);
    call("Enable");
    // Where contexts are isolated, nothing is made before somebody needs it.
    EXPECT_TRUE(eventually([] { return firmware_isolates() || emulated_device().at("elements") > 0; }));
    // A driver that is loaded again brings a device that nobody released.
    call("Release");
    emulator("unplug mlx5_0");
    EXPECT_TRUE(eventually([] { return emulated_device().at("present") == false; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    emulator("plug mlx5_0");
    EXPECT_TRUE(eventually([] { return emulated_device().at("files") == 1; }));
}

}    // namespace
}    // namespace rdmaqos::test
