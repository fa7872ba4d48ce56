// rdma-qosctl plan against a daemon: of files that are not the host's.
#include <filesystem>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "tests/support/ctl.h"
#include "tests/support/daemon_fixture.h"

namespace rdmaqos::test {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

constexpr const char* kDropIn = R"(version: 1
qos-levels:
  - {name: extra, schedule: {share: 10, max-rate: 5Gbps}}
qos-match-rules:
  - {service-id: [0x10064], qos-level-name: extra}
)";

TEST(CtlPlan, ADropInWithTheHostsFilesIsWhatAReloadThenDoes)
{
    const Daemon daemon({kTwoLevelPolicy, kTwoDevices, "", false, RDMAQOS_DAEMON});
    daemon.dir().write("new.yaml", kDropIn);
    const Outcome planned = run_ctl(daemon.root(), "plan --as policy.d/60-new.yaml new.yaml --json");
    ASSERT_EQ(planned.status, 0) << planned.error;
    const Json plan = Json::parse(planned.output);
    EXPECT_THAT(plan.at("note").get<std::string>(), HasSubstr("the host's files and new.yaml as policy.d/60-new.yaml"));
    EXPECT_THAT(planned.output, HasSubstr("/extra"));

    const Outcome merged = run_ctl(daemon.root(), "plan etc/rdma-qos/policy.yaml new.yaml --json");
    ASSERT_EQ(merged.status, 0) << merged.error;
    EXPECT_EQ(Json::parse(merged.output).at("plans"), plan.at("plans"));

    std::filesystem::create_directories(daemon.root() / "etc/rdma-qos/policy.d");
    std::filesystem::rename(daemon.root() / "new.yaml", daemon.root() / "etc/rdma-qos/policy.d/60-new.yaml");
    const Outcome in_place = run_ctl(daemon.root(), "plan --json");
    ASSERT_EQ(in_place.status, 0) << in_place.error;
    EXPECT_EQ(Json::parse(in_place.output).at("plans"), plan.at("plans"));
    EXPECT_EQ(Json::parse(in_place.output).at("revision"), plan.at("revision"));
    EXPECT_EQ(Json::parse(run_ctl(daemon.root(), "reload --json").output).at("revision"), plan.at("revision"));
}

// More than the ports have.
constexpr const char* kTooMuch = R"(version: 1
qos-levels:
  - {name: DEFAULT}
  - {name: rpc, schedule: {min-rate: 80Gbps}, allow: {user: [root]}}
  - {name: bulk, schedule: {min-rate: 60Gbps}, allow: {user: [root]}}
)";

TEST(CtlPlan, ARefusedPolicyEndsAsTheReloadDoes)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root may reload by the direct socket";
    }
    const Daemon daemon({kTwoLevelPolicy, kTwoDevices, "", false, RDMAQOS_DAEMON});
    daemon.dir().write("etc/rdma-qos/policy.yaml", kTooMuch);
    const Outcome planned = run_ctl(daemon.root(), "plan");
    const Outcome reloaded = run_ctl(daemon.root(), "reload");
    EXPECT_EQ(planned.status, 2) << planned.error;
    EXPECT_EQ(reloaded.status, 2) << reloaded.error;
    constexpr const char* kWhy =
        "mlx5_1/1: error: /rpc: requested min-rate 80 Gbit/s, achievable 57.142 Gbit/s: the port has 100 Gbit/s for 2 "
        "elements when all are busy\n";
    EXPECT_THAT(planned.output,
                HasSubstr("\nrefused: the new policy would be refused, and the running one would stay:\n"));
    EXPECT_THAT(planned.output, HasSubstr(kWhy));
    EXPECT_THAT(reloaded.error, HasSubstr(kWhy));
    EXPECT_FALSE(Json::parse(run_ctl(daemon.root(), "plan --json").output).at("accepted").get<bool>());

    daemon.dir().write("new.yaml", kTooMuch);
    const Outcome offline = run_ctl(daemon.root(), "plan --devices devices.yaml new.yaml");
    EXPECT_EQ(offline.status, 2) << offline.error;
    EXPECT_THAT(offline.output, HasSubstr("\nrefused: the new policy would be refused:\n"));
    EXPECT_THAT(offline.output, HasSubstr(kWhy));
    EXPECT_EQ(run_ctl(daemon.root(), "check --devices devices.yaml new.yaml").status, 2);
}

TEST(CtlPlan, ADisabledDeviceIsListedByPlanReloadAndCheck)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root may manage by the direct socket";
    }
    const Daemon daemon({kTwoLevelPolicy, kTwoDevices, "", false, RDMAQOS_DAEMON});
    ASSERT_EQ(run_ctl(daemon.root(), "disable mlx5_1").status, 0);
    for (const auto* command : {"plan", "check", "reload"}) {
        const Outcome outcome = run_ctl(daemon.root(), command);
        EXPECT_EQ(outcome.status, 0) << outcome.error;
        EXPECT_THAT(outcome.output, HasSubstr("mlx5_1/1: note: takes no part, because it is disabled\n")) << command;
        EXPECT_EQ(outcome.output.find("mlx5_1/1: 3 elements"), std::string::npos) << command;
    }
    for (const auto* command : {"plan --json", "check --json", "reload --json"}) {
        const Json json = Json::parse(run_ctl(daemon.root(), command).output);
        EXPECT_EQ(json.at("left-out").dump(), R"([{"device":"mlx5_1/1","why":"disabled"}])") << command;
    }
}

TEST(CtlPlan, AStartWithARefusedPolicyRunsTheLastGoodOneAndSaysSo)
{
    const TempDir dir;
    dir.write("devices.yaml", kTwoDevices);
    dir.write("etc/rdma-qos/policy.yaml", kTwoLevelPolicy);
    const auto status_after_start = [&](const std::string& log) {
        const Child child(
            {RDMAQOS_DAEMON, "--root", dir.path().string(), "--simulate", (dir.path() / "devices.yaml").string()}, {},
            dir.path() / log);
        EXPECT_TRUE(eventually([&] { return read_text(dir.path() / log).find("ready: ") != std::string::npos; }));
        return Json::parse(run_ctl(dir.path(), "status --json").output).at("policy");
    };
    const auto good = status_after_start("first.log");
    EXPECT_TRUE(good.at("last-reload").at("accepted").get<bool>());
    dir.write("etc/rdma-qos/policy.yaml", kTooMuch);
    const auto refused = status_after_start("second.log");
    EXPECT_FALSE(refused.at("last-reload").at("accepted").get<bool>());
    EXPECT_EQ(refused.at("revision"), good.at("revision"));
    const std::string log = read_text(dir.path() / "second.log");
    EXPECT_THAT(log, HasSubstr("the policy cannot be used; the last good one (revision "));
    EXPECT_THAT(log, HasSubstr("the policy was refused:"));
    EXPECT_THAT(log, HasSubstr("mlx5_0/1: error: /rpc: requested min-rate 80 Gbit/s"));
}

}    // namespace
}    // namespace rdmaqos::test
