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

TEST(CtlWhy, CappedAndCrowded)
{
    const Daemon daemon({kTwoLevelPolicy, kTwoDevices, "", false, RDMAQOS_DAEMON});
    auto client = daemon.direct();
    bus::Dict request;
    request.set("level", "rpc");
    request.set("qps", std::vector<bus::Dict>{queue_pair("mlx5_0", 17)});
    ASSERT_TRUE(register_session(client, request));
    request.set("level", "bulk");
    request.set("qps", std::vector<bus::Dict>{queue_pair("mlx5_0", 18)});
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

    const Json json = Json::parse(run_ctl(daemon.root(), fmt::format("why {} --json", getpid())).output);
    ASSERT_EQ(json.at("sessions").size(), 2U);
}

TEST(CtlWhy, NobodyRegistered)
{
    const Daemon daemon({kTwoLevelPolicy, kTwoDevices, "", false, RDMAQOS_DAEMON});
    const Outcome runs = run_ctl(daemon.root(), fmt::format("why {}", getpid()));
    EXPECT_EQ(runs.status, 0) << runs.error;
    EXPECT_THAT(runs.output, HasSubstr("has not registered"));
    const Outcome nobody = run_ctl(daemon.root(), "why job-7.scope");
    EXPECT_EQ(nobody.status, 1);
    EXPECT_THAT(nobody.error, HasSubstr("no registered process is meant by `job-7.scope`"));
}

}    // namespace
}    // namespace rdmaqos::test
