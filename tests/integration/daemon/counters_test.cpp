// Device.Counters: two readings give the rate that the simulation file describes.
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/daemon_fixture.h"

namespace rdmaqos::test {
namespace {

using namespace std::chrono_literals;
using bus::Dict;

constexpr const char* kDevices = R"(version: 1
devices:
  - {name: mlx5_0, link-speed: 100Gbps, gids: ["fd00:20::1"], traffic: {transmit: 60Gbps, receive: 8Gbps}}
  - {name: mlx5_1, gids: ["fd00:21::1"], port-counters: false}
)";

class PortCountersTest : public ::testing::TestWithParam<bool> {
protected:
    void SetUp() override
    {
        if (GetParam() && geteuid() != 0) {
            GTEST_SKIP() << "only root may own org.rdmaqos1 on a bus with our policy";
        }
        client.emplace(daemon.by(GetParam()));
    }
    Result<Dict> counters(const std::string& device)
    {
        auto reply = client->call("/org/rdmaqos1/device/" + device, bus::names::kDevice, "Counters", {});
        if (!reply) {
            return fail(std::move(reply).error());
        }
        return *reply->front().as<Dict>();
    }
    static double number(const Dict& dict, std::string_view key)
    {
        const auto* value = dict.find(key);
        return value == nullptr ? -1.0 : static_cast<double>(value->as_unsigned().value_or(0));
    }

    Daemon daemon{{kTwoLevelPolicy, kDevices, "", true, RDMAQOS_DAEMON}};
    std::optional<bus::Client> client;
};

TEST_P(PortCountersTest, TwoReadingsGiveTheRate)
{
    if (EmulatedNics::wanted()) {
        GTEST_SKIP() << "the counters of an emulated port advance in steps of 200 ms";
    }
    const auto before = counters("mlx5_5f0_2f1");
    ASSERT_TRUE(before) << to_string(before.error());
    Result<Dict> after = before;
    ASSERT_TRUE(eventually([&] {
        after = counters("mlx5_5f0_2f1");
        return after && number(*after, "taken-at") - number(*before, "taken-at") > 50'000;
    }));
    const double microseconds = number(*after, "taken-at") - number(*before, "taken-at");
    const double sent = number(*after, "transmit-bytes") - number(*before, "transmit-bytes");
    const double received = number(*after, "receive-bytes") - number(*before, "receive-bytes");
    // The time is taken behind the counters; what is between them is noise of a loaded machine.
    EXPECT_NEAR(sent / microseconds, 7500.0, 750.0);
    EXPECT_NEAR(received / sent, 8.0 / 60.0, 0.001);
}

TEST_P(PortCountersTest, APortThatDoesNotCountSaysSo)
{
    const auto refused = counters("mlx5_5f1_2f1");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::Unsupported);
    EXPECT_NE(refused.error().message.find("has no port counters"), std::string::npos) << refused.error().message;
}

INSTANTIATE_TEST_SUITE_P(Transports, PortCountersTest, ::testing::Bool(),
                         [](const auto& test) { return test.param ? "SystemBus" : "Direct"; });

}    // namespace
}    // namespace rdmaqos::test
