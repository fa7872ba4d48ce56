// The fabric file and the ports of the host change while the daemon runs; nobody reloads.
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "tests/support/ctl.h"
#include "tests/support/daemon_fixture.h"

namespace rdmaqos::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;
namespace names = bus::names;

constexpr const char* kNamedNodes = R"(version: 1
port-groups:
  - {name: storage, port-name: ["target HCA-1/P1"]}
  - {name: tenant, pkey: [0x12]}
qos-levels:
  - {name: DEFAULT, sl: 0}
  - {name: rpc, sl: 3, schedule: {share: 60}}
  - {name: bulk, sl: 1, schedule: {share: 30}}
qos-match-rules:
  - {destination: [storage], qos-level-name: rpc}
  - {source: [tenant], qos-level-name: bulk}
)";
constexpr const char* kTarget = "version: 1\nports: [{guid: 0x77, description: target HCA-1}]\n";
constexpr const char* kBroken = "version: 1\nports: [{guid: 0x77, descripton: target HCA-1}]\n";

class FabricFileTest : public ::testing::Test {
protected:
    // A session whose path has this end, with a queue pair.
    void register_with(const std::string& end, const std::string& value)
    {
        bus::Dict request;
        request.set(end, value);
        request.set("queue-pairs", std::vector<bus::Dict>{queue_pair("mlx5_0", 21)});
        const auto registered = register_session(client, request);
        ASSERT_TRUE(registered) << to_string(registered.error());
        session = registered->path;
    }
    std::string of_grant(const std::string& key)
    {
        const auto properties = client.properties(session, names::kSession);
        return properties ? text_of(*properties->find("Grant")->as<bus::Dict>(), key) : to_string(properties.error());
    }
    std::vector<bus::Dict> fabric_diagnostics()
    {
        const auto properties = client.properties(names::kRoot, names::kManager);
        return *properties.value().find("FabricDiagnostics")->as<std::vector<bus::Dict>>();
    }
    void replace(const std::string& text) const
    {
        daemon.dir().write("etc/rdma-qos/.fabric.yaml.new", text);
        std::filesystem::rename(daemon.root() / "etc/rdma-qos/.fabric.yaml.new", file);
    }
    bool gets(const std::string& level)
    {
        return eventually([&] { return of_grant("level") == level; });
    }

    Daemon daemon{{kNamedNodes, kTwoDevices, "", false, RDMAQOS_DAEMON}};
    bus::Client client = daemon.direct();
    const std::filesystem::path file = daemon.root() / "etc/rdma-qos/fabric.yaml";
    std::string session;
};

TEST_F(FabricFileTest, ComesIsReplacedByRenameAndGoes)
{
    register_with("destination", "0x77");
    ASSERT_EQ(of_grant("level"), "DEFAULT");
    replace(kTarget);
    EXPECT_TRUE(gets("rpc")) << daemon.log();
    EXPECT_EQ(of_grant("enforced"), "true") << of_grant("reason");
    EXPECT_EQ(of_grant("leaf"), "/rpc");
    replace("version: 1\n");
    EXPECT_TRUE(gets("DEFAULT"));
    daemon.dir().write("etc/rdma-qos/fabric.yaml", kTarget);
    EXPECT_TRUE(gets("rpc")) << "written in place";
    std::filesystem::remove(file);
    EXPECT_TRUE(gets("DEFAULT"));
    EXPECT_THAT(daemon.log(), HasSubstr("the fabric file is gone"));
    EXPECT_THAT(daemon.log(), HasSubstr("the fabric changed: 1 of 2 port groups with other members, 1 session with"));
}

TEST_F(FabricFileTest, ABrokenOneChangesNothingAndShowsInStatus)
{
    replace(kTarget);
    register_with("destination", "0x77");
    ASSERT_TRUE(gets("rpc"));
    replace(kBroken);
    ASSERT_TRUE(eventually([&] { return !fabric_diagnostics().empty(); }));
    EXPECT_EQ(of_grant("level"), "rpc");
    EXPECT_THAT(daemon.log(), HasSubstr("fabric.yaml:2:22: error: unknown key `descripton`"));
    const Outcome status = run_ctl(daemon.root(), "status --check");
    EXPECT_EQ(status.status, 3);
    EXPECT_THAT(status.output, HasSubstr("problem: the fabric file cannot be used:"));
    EXPECT_THAT(status.output, HasSubstr("unknown key `descripton`"));
    EXPECT_THAT(run_ctl(daemon.root(), "status --json").output, HasSubstr("\"fabric-diagnostics\": [\n    {"));
    replace(kTarget);
    EXPECT_TRUE(eventually([&] { return fabric_diagnostics().empty(); }));
    EXPECT_EQ(run_ctl(daemon.root(), "status --check").status, 0);
}

TEST_F(FabricFileTest, ItsOwnerHearsOfTheNewGrant)
{
    register_with("destination", "0x77");
    Child writer([this] {
        std::this_thread::sleep_for(300ms);
        replace(kTarget);
    });
    std::string level;
    const auto heard = client.monitor([&](const bus::Signal& signal) {
        if (signal.member == "GrantChanged") {
            level = text_of(*signal.arguments.front().as<bus::Dict>(), "level");
        }
        return level != "rpc";    // before, there may be one of its queue pair
    });
    ASSERT_TRUE(heard) << to_string(heard.error());
    EXPECT_EQ(level, "rpc");
}

TEST_F(FabricFileTest, IsFoundWhenItsDirectoryWasAway)
{
    register_with("destination", "0x77");
    const auto folder = file.parent_path();
    std::filesystem::rename(folder, daemon.root() / "etc/away");
    std::this_thread::sleep_for(300ms);
    std::filesystem::rename(daemon.root() / "etc/away", folder);
    replace(kTarget);
    EXPECT_TRUE(eventually([&] { return of_grant("level") == "rpc"; })) << daemon.log();
}

TEST_F(FabricFileTest, AP_KeyThatAPortGainsCounts)
{
    if (!EmulatedNics::wanted()) {
        GTEST_SKIP() << "nobody gives simulated devices P_Keys";
    }
    register_with("source", "fd00:20::1");
    ASSERT_EQ(of_grant("level"), "DEFAULT");
    ASSERT_TRUE(order({"pkeys", "mlx5_0", "1", "0xffff", "0x8012"}));
    EXPECT_TRUE(gets("bulk")) << daemon.log();
    EXPECT_EQ(of_grant("leaf"), "/bulk");
    EXPECT_THAT(daemon.log(), HasSubstr("ports of this host changed: 1 of 2 port groups with other members"));
    ASSERT_TRUE(order({"pkeys", "mlx5_0", "1", "0xffff"}));
    EXPECT_TRUE(gets("DEFAULT"));
    EXPECT_FALSE(order({"pkeys", "mlx5_0", "7", "0xffff"}));
    EXPECT_FALSE(order({"pkeys", "mlx5_0", "1", "0x18012"}));
}

}    // namespace
}    // namespace rdmaqos::test
