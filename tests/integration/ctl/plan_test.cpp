// rdma-qosctl plan against a daemon: of files that are not the host's.
#include <filesystem>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

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

}    // namespace
}    // namespace rdmaqos::test
