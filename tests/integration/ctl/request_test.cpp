// rdma-qosctl request against a daemon.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/ctl.h"
#include "tests/support/daemon_fixture.h"

namespace rdmaqos::test {
namespace {

using Json = nlohmann::json;

constexpr const char* kOneDevice = R"(version: 1
devices:
  - {name: mlx5_0, node-guid: 0x10, port-guid: 0x11, pci: "0000:3b:00.0", link-speed: 100Gbps}
)";

// A call takes 256 of them.
TEST(CtlRequest, HoldsMoreQueuePairsThanACallTakes)
{
    const Daemon daemon({kTwoLevelPolicy, kOneDevice, "", false, RDMAQOS_DAEMON});
    const Outcome held = run_ctl(daemon.root(), "--json request --level rpc --qps 600 --print -- true");
    EXPECT_EQ(held.status, 0) << held.error;
    const Json queue_pairs = Json::parse(held.output).at("grant").at("queue-pairs");
    ASSERT_EQ(queue_pairs.size(), 600U);
    for (const auto& queue_pair : queue_pairs) {
        EXPECT_EQ(queue_pair.at("enforced"), true) << queue_pair;
    }
}

}    // namespace
}    // namespace rdmaqos::test
