// rdma-qosctl why against a daemon: registered, in a queue pair's words, and not registered at all.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "tests/support/ctl.h"
#include "tests/support/daemon_fixture.h"

namespace rdmaqos::test {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

constexpr const char* kBusyAndIdle = R"(version: 1
devices:
  - {name: mlx5_0, node-guid: 0x10, port-guid: 0x11, pci: "0000:3b:00.0", link-speed: 100Gbps, traffic: 95Gbps}
  - {name: mlx5_1, node-guid: 0x20, port-guid: 0x21, pci: "0000:5e:00.0", link-speed: 100Gbps}
)";

TEST(CtlWhy, CappedAndCrowded)
{
    const Daemon daemon({kTwoLevelPolicy, kBusyAndIdle, "", false, RDMAQOS_DAEMON});
    auto client = daemon.direct();
    bus::Dict request;
    request.set("level", "rpc");
    request.set("queue-pairs", std::vector<bus::Dict>{queue_pair("mlx5_0", 17)});
    ASSERT_TRUE(register_session(client, request));
    request.set("level", "bulk");
    request.set("queue-pairs", std::vector<bus::Dict>{queue_pair("mlx5_0", 18)});
    auto other = daemon.direct();
    ASSERT_TRUE(register_session(other, request));

    const Outcome capped = run_ctl(daemon.root(), "why qp:17");
    EXPECT_EQ(capped.status, 0) << capped.error;
    EXPECT_THAT(capped.output, HasSubstr("capped: /rpc may send 40 Gbit/s"));
    EXPECT_THAT(capped.output, HasSubstr("raise `max-rate` of level rpc"));
    const Outcome crowded = run_ctl(daemon.root(), "why mlx5_0:18");
    EXPECT_EQ(crowded.status, 0) << crowded.error;
    EXPECT_THAT(crowded.output, HasSubstr("crowded: /bulk has share 40 of 100"));
    EXPECT_THAT(crowded.output, HasSubstr("rpc (share 60)"));

    // On the other port as many have queue pairs, but nobody sends.
    request.set("queue-pairs", std::vector<bus::Dict>{queue_pair("mlx5_1", 19)});
    ASSERT_TRUE(register_session(client, request));
    request.set("level", "rpc");
    request.set("queue-pairs", std::vector<bus::Dict>{queue_pair("mlx5_1", 20)});
    ASSERT_TRUE(register_session(other, request));
    const Outcome idle = run_ctl(daemon.root(), "why mlx5_1:19");
    EXPECT_EQ(idle.status, 0) << idle.error;
    EXPECT_THAT(idle.output, HasSubstr("not crowded now: mlx5_1/1 transmits 0 kbit/s of "));
    EXPECT_THAT(idle.output, testing::Not(HasSubstr("\n  crowded")));
    const Outcome unmeasured = run_ctl(daemon.root(), "why mlx5_1:19 --interval 0");
    EXPECT_THAT(unmeasured.output, HasSubstr("crowded: /bulk has share 40 of 100")) << unmeasured.error;

    const Json json = Json::parse(run_ctl(daemon.root(), fmt::format("why {} --json", getpid())).output);
    // Of each level two, which are alike but for their ports.
    ASSERT_EQ(json.at("sessions").size(), 2U);
    for (const Json& each : json.at("sessions")) {
        EXPECT_EQ(each.at("more-sessions").size(), 1U) << each;
        EXPECT_EQ(each.at("leaves").size(), 2U) << each;
    }
}

TEST(CtlQueuePairs, OutsideForAReason)
{
    const Daemon daemon({kTwoLevelPolicy, kTwoDevices, "", false, RDMAQOS_DAEMON});
    auto client = daemon.direct();
    for (const auto& [level, number] : {std::pair("rpc", 17U), {"DEFAULT", 18U}}) {
        bus::Dict request;
        request.set("level", level);
        request.set("queue-pairs", std::vector<bus::Dict>{queue_pair("mlx5_0", number, "devx")});
        ASSERT_TRUE(register_session(client, request));
    }
    const auto numbers = [&](const std::string& options) {
        const Outcome outcome = run_ctl(daemon.root(), fmt::format("qps {} {} --json", getpid(), options));
        EXPECT_EQ(outcome.status, 0) << outcome.error;
        std::vector<int> found;
        const Json json = Json::parse(outcome.output);
        for (const auto& one : json.at("queue-pairs")) {
            found.push_back(one.at("number"));
        }
        return found;
    };
    using testing::ElementsAre;
    EXPECT_THAT(numbers(""), ElementsAre(17, 18));
    EXPECT_THAT(numbers("--outside"), ElementsAre(18));
    EXPECT_THAT(numbers("--outside=no-rule,nothing-asked"), ElementsAre(18));
    EXPECT_THAT(numbers("--outside=no-rule"), ElementsAre());
}

TEST(CtlWhy, NobodyRegistered)
{
    const Daemon daemon({kTwoLevelPolicy, kTwoDevices, "", false, RDMAQOS_DAEMON});
    const Outcome runs = run_ctl(daemon.root(), fmt::format("why {}", getpid()));
    EXPECT_EQ(runs.status, 0) << runs.error;
    EXPECT_THAT(runs.output, HasSubstr("has not registered"));
    const Outcome nobody = run_ctl(daemon.root(), "why job-7.scope");
    EXPECT_EQ(nobody.status, 1);
    EXPECT_THAT(nobody.error, HasSubstr("`job-7.scope` matches no registered process"));
}

}    // namespace
}    // namespace rdmaqos::test
