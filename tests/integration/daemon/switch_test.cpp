// disable, enable and release, by D-Bus and by the command.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "tests/support/ctl.h"
#include "tests/support/daemon_fixture.h"

namespace rdmaqos::test {
namespace {

using bus::Dict;
using bus::Value;
using testing::HasSubstr;
namespace names = bus::names;
using Json = nlohmann::json;

class Switch : public ::testing::Test {
protected:
    void SetUp() override
    {
        if (geteuid() != 0) {
            GTEST_SKIP() << "only root may manage by the direct socket";
        }
        Dict request;
        request.set("level", "rpc");
        request.set("queue-pairs", std::vector<Dict>{queue_pair("mlx5_0", 21), queue_pair("mlx5_1", 22)});
        auto registered = register_session(client, request);
        ASSERT_TRUE(registered);
        session = registered->path;
    }
    Result<std::vector<Dict>> call(const std::string& method, const std::string& device)
    {
        return manage(client, method, device);
    }
    std::string device(const std::string& path, const std::string& key)
    {
        const auto properties = client.properties("/org/rdmaqos1/device/" + path, names::kDevice);
        return properties ? text_of(*properties, key) : to_string(properties.error());
    }
    Dict grant()
    {
        const auto properties = client.properties(session, names::kSession);
        return properties ? *properties->find("Grant")->as<Dict>() : Dict();
    }

    Daemon daemon{{kTwoLevelPolicy, kTwoDevices, "", false, RDMAQOS_DAEMON}};
    bus::Client client = daemon.direct();
    std::string session;
};

TEST_F(Switch, ByDBus)
{
    const auto disabled = call("Disable", "ens1");
    ASSERT_TRUE(disabled) << to_string(disabled.error());
    ASSERT_EQ(disabled->size(), 1U);
    EXPECT_EQ(text_of(disabled->front(), "device"), "mlx5_0/1");
    EXPECT_EQ(device("mlx5_5f0_2f1", "State"), "disabled");
    EXPECT_EQ(device("mlx5_5f0_2f1", "QueuePairsInside"), "0");
    EXPECT_EQ(device("mlx5_5f0_2f1", "ElementsUsed"), "0");
    EXPECT_EQ(device("mlx5_5f1_2f1", "State"), "ready");
    EXPECT_EQ(device("mlx5_5f1_2f1", "QueuePairsInside"), "1");
    EXPECT_THAT(text_of(grant(), "reason"), HasSubstr("1 of 2 queue pairs not enforced: mlx5_0/1 is disabled"));
    const auto attached = attach(client, session, {queue_pair("mlx5_0", 23)});
    ASSERT_TRUE(attached);
    EXPECT_EQ(text_of(attached->front(), "error"), "absent");
    EXPECT_THAT(text_of(attached->front(), "reason"), HasSubstr("rdma-qosctl disable"));

    ASSERT_TRUE(call("Enable", ""));
    EXPECT_EQ(device("mlx5_5f0_2f1", "State"), "ready");
    EXPECT_EQ(device("mlx5_5f0_2f1", "QueuePairsInside"), "2");

    ASSERT_TRUE(call("Release", "mlx5_1"));
    const auto manager = client.properties(names::kRoot, names::kManager);
    ASSERT_TRUE(manager);
    EXPECT_EQ(*manager->find("ReleasedDevices")->as<std::vector<std::string>>(), std::vector<std::string>{"mlx5_1/1"});
    for (const auto* method : {"Disable", "Release"}) {
        const auto unknown = call(method, "mlx5_1");
        ASSERT_FALSE(unknown) << method;
        EXPECT_EQ(unknown.error().code, ErrorCode::UnknownDevice);
        EXPECT_THAT(unknown.error().message, HasSubstr("mlx5_0/1, mlx5_1/1 (released)"));
    }
    EXPECT_TRUE(call("Enable", "mlx5_1"));
}

// Of whatever changes something, and of nothing else.
TEST_F(Switch, TheLogSaysWhoAskedForIt)
{
    ASSERT_TRUE(call("Verify", "mlx5_0"));
    ASSERT_TRUE(call("Disable", "mlx5_0"));
    ASSERT_TRUE(call("Enable", ""));
    ASSERT_TRUE(call("Release", "mlx5_1"));
    ASSERT_TRUE(client.call(names::kRoot, names::kManager, "EnableDevice", {Value("mlx5_1")}));
    ASSERT_TRUE(client.call(names::kRoot, names::kManager, "Reload", {}));
    const std::string by = fmt::format(" is asked for by uid 0, pid {} (", getpid());
    for (const auto* what :
         {"Disable of mlx5_0/1", "EnableAll", "Release of mlx5_1/1", "EnableDevice of mlx5_1", "Reload"}) {
        EXPECT_THAT(daemon.log(), HasSubstr(what + by));
    }
    EXPECT_THAT(daemon.log(), testing::Not(HasSubstr("Verify")));
    EXPECT_EQ(run_ctl(daemon.root(), "override bulk --max-rate 1Gbps --for 1h").status, 0);
    EXPECT_THAT(daemon.log(), testing::ContainsRegex("Refresh is asked for by uid 0, pid [0-9]+ \\(rdma-qosctl\\)"));
    EXPECT_THAT(daemon.log(), HasSubstr("is in force (changed: /run/rdma-qos/policy.d/90-override-bulk.yaml)"));
}

TEST_F(Switch, ByCommandAndOverARestart)
{
    const Outcome disabled = run_ctl(daemon.root(), "disable mlx5_0");
    EXPECT_EQ(disabled.status, 0) << disabled.error;
    EXPECT_THAT(disabled.output, testing::StartsWith("mlx5_0/1: disabled, "));
    const Outcome status = run_ctl(daemon.root(), "status --check");
    EXPECT_EQ(status.status, 0) << "it is meant: " << status.output;
    EXPECT_THAT(status.output, HasSubstr("note: mlx5_0/1 is disabled"));
    EXPECT_THAT(status.output, HasSubstr("`rdma-qosctl enable mlx5_0/1` ends it"));
    EXPECT_THAT(run_ctl(daemon.root(), "why qp:21").output, HasSubstr("`rdma-qosctl enable mlx5_0/1` places it again"));
    EXPECT_THAT(run_ctl(daemon.root(), "metrics").output, HasSubstr("rdmaqos_device_disabled{device=\"mlx5_0/1\"} 1"));
    const Outcome mistaken = run_ctl(daemon.root(), "disable mlx5_9");
    EXPECT_EQ(mistaken.status, 1);
    EXPECT_THAT(mistaken.error, HasSubstr("there is no device `mlx5_9`; there are mlx5_0/1, mlx5_1/1"));

    ASSERT_TRUE(daemon.stop());
    const Child second(
        {RDMAQOS_DAEMON, "--root", daemon.root().string(), "--simulate", (daemon.root() / "devices.yaml").string()}, {},
        daemon.root() / "second.log");
    Json devices;
    ASSERT_TRUE(eventually([&] {
        const Outcome shown = run_ctl(daemon.root(), "devices --json");
        devices = Json::parse(shown.output, nullptr, false);
        return shown.status == 0 && devices.at("devices").size() == 2;
    }));
    EXPECT_EQ(devices.at("devices").at(0).at("state"), "disabled");
    EXPECT_EQ(devices.at("devices").at(1).at("state"), "ready");
    EXPECT_EQ(run_ctl(daemon.root(), "enable").status, 0);
    const Outcome released = run_ctl(daemon.root(), "release mlx5_0 --json");
    EXPECT_EQ(released.status, 0) << released.error;
    EXPECT_EQ(Json::parse(released.output).at("devices").at(0).at("device"), "mlx5_0/1");
    const Outcome after = run_ctl(daemon.root(), "status");
    EXPECT_THAT(after.output, HasSubstr("mlx5_0/1 is released: the daemon does not manage it"));
}

}    // namespace
}    // namespace rdmaqos::test
