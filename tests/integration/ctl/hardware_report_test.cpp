// rdma-qosctl hardware-report of a running daemon: every device or one, and never a whole GUID unless asked.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <sys/utsname.h>

#include "tests/support/ctl.h"
#include "tests/support/daemon_fixture.h"

namespace rdmaqos::test {
namespace {

using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

TEST(CtlHardwareReport, OfARunningDaemon)
{
    const Daemon daemon({kTwoLevelPolicy, kTwoDevices, "", false, RDMAQOS_DAEMON});
    const Outcome all = run_ctl(daemon.root(), "hardware-report");
    EXPECT_EQ(all.status, 0) << all.error;
    utsname names{};
    ASSERT_EQ(uname(&names), 0);
    EXPECT_THAT(all.output, HasSubstr(names.release));
    EXPECT_THAT(all.output, Not(HasSubstr(fmt::format(" {} ", names.nodename))));
    EXPECT_THAT(all.output, HasSubstr("device mlx5_0/1\n"));
    EXPECT_THAT(all.output, HasSubstr("device mlx5_1/1\n"));
    EXPECT_THAT(all.output, HasSubstr("a simulated device"));

    const Outcome one = run_ctl(daemon.root(), "hardware-report mlx5_1");
    EXPECT_THAT(one.output, Not(HasSubstr("device mlx5_0/1")));
    EXPECT_THAT(one.output, HasSubstr("device mlx5_1/1\n"));
    const Outcome none = run_ctl(daemon.root(), "hardware-report mlx5_9");
    EXPECT_EQ(none.status, 1);
    EXPECT_THAT(none.error, HasSubstr("there is no device mlx5_9"));
}

TEST(CtlHardwareReport, MasksUnlessTold)
{
    const Daemon daemon({kTwoLevelPolicy, kTwoDevices, "", false, RDMAQOS_DAEMON});
    const Json devices = Json::parse(run_ctl(daemon.root(), "devices mlx5_0 --json").output).at("devices");
    const auto guid = devices.at(0).at("node-guid").get<std::string>();
    const Json masked = Json::parse(run_ctl(daemon.root(), "hardware-report --json").output);
    EXPECT_TRUE(masked.at("guids-masked").get<bool>());
    EXPECT_EQ(masked.at("devices").at(0).at("node-guid"), guid.substr(0, 8) + "xxxxxxxxxx");
    const Json whole = Json::parse(run_ctl(daemon.root(), "hardware-report --guids --json").output);
    EXPECT_FALSE(whole.at("guids-masked").get<bool>());
    EXPECT_EQ(whole.at("devices").at(0).at("node-guid"), guid);
}

}    // namespace
}    // namespace rdmaqos::test
