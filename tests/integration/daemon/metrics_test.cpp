// The metrics of the running daemon: over D-Bus, by rdma-qosctl, and as a file for node_exporter.
#include <atomic>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/daemon_fixture.h"

namespace rdmaqos::test {
namespace {

using namespace std::chrono_literals;
using bus::Dict;
using bus::Value;
namespace names = bus::names;

constexpr const char* kMeteredDevices = R"(version: 1
devices:
  - {name: mlx5_0, gids: ["fd00:20::1"], traffic: 60Gbps}
  - {name: mlx5_1, gids: ["fd00:21::1"], port-counters: false}
)";
constexpr const char* kSettings = "version: 1\nmetrics: {textfile: /out/rdma-qos.prom, interval: 1s}\n";

// The value of a sample, named as it stands in the text; -1: it is not there.
double value_in(const std::string& text, const std::string& sample)
{
    const auto at = text.find("\n" + sample + " ");
    return at == std::string::npos ? -1.0 : std::stod(text.substr(at + sample.size() + 2));
}

std::string metrics(bus::Client& client)
{
    const auto reply = client.call(names::kRoot, names::kManager, "Metrics", {});
    if (!reply) {
        ADD_FAILURE() << to_string(reply.error());
        return {};
    }
    return *reply->front().as<std::string>();
}

class MetricsTest : public ::testing::TestWithParam<bool> {
protected:
    void SetUp() override
    {
        if (GetParam() && geteuid() != 0) {
            GTEST_SKIP() << "only root may own org.rdmaqos1 on a bus with our policy";
        }
        client.emplace(daemon.by(GetParam()));
    }
    double value(const std::string& sample) { return value_in(metrics(*client), sample); }
    Result<std::vector<Value>> call(const std::string& method, const std::vector<Value>& arguments)
    {
        return client->call(names::kRoot, names::kManager, method, arguments);
    }

    Daemon daemon{{kTwoLevelPolicy, kMeteredDevices, "", true, RDMAQOS_DAEMON}};
    std::optional<bus::Client> client;
};

TEST_P(MetricsTest, MoveWithWhatHappens)
{
    if (GetParam() && EmulatedNics::wanted()) {
        GTEST_SKIP() << "the system bus passes no descriptors to rdma-qosd (docs/adr/0010)";
    }
    const std::string before = metrics(*client);
    EXPECT_EQ(value_in(before, "rdmaqos_sessions{level=\"rpc\"}"), 0.0);
    EXPECT_EQ(value_in(before, "rdmaqos_level_queue_pairs{device=\"mlx5_0/1\",level=\"rpc\"}"), 0.0);
    EXPECT_GT(value_in(before, "rdmaqos_start_time_seconds"), 1.6e9);
    EXPECT_GT(value_in(before, "rdmaqos_match_index_bytes"), 0.0);
    EXPECT_EQ(value_in(before, "rdmaqos_connections"), 1.0);

    Dict request;
    request.set("level", std::string("rpc"));
    const auto session = register_session(*client, request);
    ASSERT_TRUE(session);
    const auto results = attach(*client, session->path, {queue_pair("mlx5_0", 17), queue_pair("mlx7_7", 18)});
    ASSERT_TRUE(results);
    const std::string after = metrics(*client);
    EXPECT_EQ(value_in(after, "rdmaqos_sessions{level=\"rpc\"}"), 1.0);
    EXPECT_EQ(value_in(after, "rdmaqos_level_sessions{device=\"mlx5_0/1\",level=\"rpc\"}"), 1.0);
    EXPECT_EQ(value_in(after, "rdmaqos_level_queue_pairs{device=\"mlx5_0/1\",level=\"rpc\"}"), 1.0);
    EXPECT_EQ(value_in(after, "rdmaqos_queue_pairs_enforced{device=\"mlx5_0/1\"}"), 1.0);
    EXPECT_EQ(value_in(after, "rdmaqos_queue_pair_refusals_total{error=\"UnknownDevice\"}"), 1.0);
    EXPECT_EQ(value_in(after, "rdmaqos_register_duration_seconds_count"), 1.0);
    EXPECT_EQ(value_in(after, "rdmaqos_attach_duration_seconds_count"), 1.0);
    EXPECT_EQ(value_in(after, "rdmaqos_operations_total{device=\"mlx5_0/1\",operation=\"place\"}"), 1.0);
    EXPECT_GT(value_in(after, "rdmaqos_operation_duration_seconds_sum{device=\"mlx5_0/1\",operation=\"place\"}"), 0.0);
    EXPECT_GT(value_in(after, "rdmaqos_calls_total"), value_in(before, "rdmaqos_calls_total"));
}

TEST_P(MetricsTest, RefusalsAreCountedByTheirName)
{
    Dict request;
    request.set("level", std::string("rcp"));
    EXPECT_FALSE(register_session(*client, request));
    request.set("level", std::string("nobody"));
    EXPECT_FALSE(register_session(*client, request));
    EXPECT_FALSE(client->call("/org/rdmaqos1/session/77", names::kSession, "Release", {}));
    EXPECT_EQ(value("rdmaqos_refusals_total{error=\"UnknownLevel\"}"), 1.0);
    EXPECT_EQ(value("rdmaqos_refusals_total{error=\"LevelNotAllowed\"}"), 1.0);
    EXPECT_EQ(value("rdmaqos_refusals_total{error=\"UnknownSession\"}"), 1.0);
    EXPECT_EQ(value("rdmaqos_refusals_total{error=\"Failed\"}"), 0.0);
}

TEST_P(MetricsTest, ReloadsAreCountedByTheirResult)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root may reload without polkit";
    }
    const std::string before = metrics(*client);
    daemon.dir().write("etc/rdma-qos/policy.yaml", "version: 1\nqos-levels: [{name: DEFAULT, sl: 99}]\n");
    EXPECT_FALSE(call("Reload", {}));
    EXPECT_EQ(value("rdmaqos_last_reload_successful"), 0.0);
    daemon.dir().write("etc/rdma-qos/policy.yaml", std::string(kTwoLevelPolicy) + "# another text\n");
    EXPECT_TRUE(call("Reload", {}));
    const std::string after = metrics(*client);
    EXPECT_EQ(value_in(after, "rdmaqos_reloads_total{result=\"accepted\"}"), 1.0);
    EXPECT_EQ(value_in(after, "rdmaqos_reloads_total{result=\"refused\"}"), 1.0);
    EXPECT_EQ(value_in(after, "rdmaqos_last_reload_successful"), 1.0);
    EXPECT_EQ(value_in(after, "rdmaqos_reload_duration_seconds_count"), 2.0);
    EXPECT_GT(value_in(after, "rdmaqos_last_reload_success_timestamp_seconds"),
              value_in(before, "rdmaqos_last_reload_success_timestamp_seconds"));
    const auto revision = after.find("rdmaqos_policy_info{");
    ASSERT_NE(revision, std::string::npos);
    EXPECT_EQ(before.find(after.substr(revision, after.find('\n', revision) - revision)), std::string::npos);
}

TEST_P(MetricsTest, PortBytesGrowWhereThePortCounts)
{
    const std::string sample = "rdmaqos_port_transmit_bytes_total{device=\"mlx5_0/1\"}";
    const double before = value(sample);
    EXPECT_GE(before, 0.0);
    if (EmulatedNics::wanted()) {
        EXPECT_EQ(value(sample), 0.0) << "an emulated port counts what programs send, and none does";
    } else {
        EXPECT_TRUE(eventually([&] { return value(sample) > before; }));
    }
    EXPECT_EQ(value("rdmaqos_port_transmit_bytes_total{device=\"mlx5_1/1\"}"), -1.0);
    EXPECT_EQ(value("rdmaqos_port_speed_bytes_per_second{device=\"mlx5_1/1\"}"), 12.5e9);
}

TEST_P(MetricsTest, ConnectionsComeAndGo)
{
    const double before = value("rdmaqos_connections");
    {
        auto other = daemon.by(GetParam());
        ASSERT_FALSE(metrics(other).empty());
        EXPECT_EQ(value("rdmaqos_connections"), before + 1);
    }
    EXPECT_TRUE(eventually([&] { return value("rdmaqos_connections") == before; }));
}

// As the manual says: everybody may read them.
TEST_P(MetricsTest, NeedNoRights)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root can become somebody else";
    }
    const auto file = daemon.root() / "got";
    const auto address = daemon.bus_address();
    Child other([&] {
        constexpr uid_t kNobody = 65534;
        const int out = open(file.c_str(), O_WRONLY | O_CREAT, 0644);
        if (out < 0 || setuid(kNobody) != 0) {
            _exit(1);
        }
        auto mine = daemon.by(GetParam());
        const auto text = metrics(mine);
        if (write(out, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
            _exit(1);
        }
    });
    ASSERT_TRUE(other.wait());
    std::ifstream in(file);
    std::ostringstream text;
    text << in.rdbuf();
    EXPECT_EQ(value_in(text.str(), "rdmaqos_enforcing"), 1.0);
}

INSTANTIATE_TEST_SUITE_P(Transports, MetricsTest, ::testing::Bool(),
                         [](const auto& test) { return test.param ? "SystemBus" : "Direct"; });

// ---- the file ----

class TextfileTest : public ::testing::Test {
protected:
    TextfileTest() : daemon({kTwoLevelPolicy, kMeteredDevices, kSettings, false, RDMAQOS_DAEMON}) {}
    void make_folder() const { std::filesystem::create_directories(daemon.root() / "out"); }
    [[nodiscard]] std::filesystem::path path() const { return daemon.root() / "out/rdma-qos.prom"; }
    [[nodiscard]] std::string text() const
    {
        std::ifstream in(path());
        std::ostringstream content;
        content << in.rdbuf();
        return content.str();
    }

    Daemon daemon;
};

TEST_F(TextfileTest, AppearsIsReplacedAndDisappears)
{
    // The folder is missing at the start: said once, and later that it is well again.
    const std::string complaint = "cannot be written (`metrics: textfile`)";
    ASSERT_TRUE(eventually([&] { return daemon.log().find(complaint) != std::string::npos; })) << daemon.log();
    make_folder();
    ASSERT_TRUE(eventually([&] { return std::filesystem::exists(path()); })) << daemon.log();
    EXPECT_TRUE(eventually([&] { return daemon.log().find("rdma-qos.prom again") != std::string::npos; }));
    struct stat first {};
    ASSERT_EQ(stat(path().c_str(), &first), 0);
    EXPECT_EQ(first.st_mode & 0777U, 0644U);
    // Whoever reads sees a whole file, whenever that is.
    std::atomic<bool> end = false;
    std::atomic<int> torn = 0;
    std::thread reader([&] {
        while (!end) {
            const std::string seen = text();
            torn += seen.empty() || !seen.starts_with("# HELP ") || seen.back() != '\n' ? 1 : 0;
        }
    });
    auto client = daemon.direct();
    ASSERT_TRUE(register_session(client, {}));
    EXPECT_TRUE(eventually([&] { return value_in(text(), "rdmaqos_sessions_registered_total") == 1.0; }));
    end = true;
    reader.join();
    EXPECT_EQ(torn, 0);
    struct stat second {};
    ASSERT_EQ(stat(path().c_str(), &second), 0);
    EXPECT_NE(first.st_ino, second.st_ino) << "replaced, not written over";

    const auto status = daemon.stop();
    ASSERT_TRUE(status);
    EXPECT_TRUE(WIFEXITED(*status) && WEXITSTATUS(*status) == 0);
    EXPECT_TRUE(std::filesystem::is_empty(daemon.root() / "out"));
}

TEST_F(TextfileTest, AReloadTurnsItOff)
{
    make_folder();
    ASSERT_TRUE(eventually([&] { return std::filesystem::exists(path()); })) << daemon.log();
    daemon.dir().write("etc/rdma-qos/rdma-qosd.yaml", "version: 1\n");
    daemon.process().signal(SIGHUP);
    EXPECT_TRUE(eventually([&] { return !std::filesystem::exists(path()); }));
}

// ---- rdma-qosctl ----

TEST(MetricsCommand, PrintsTextAndJson)
{
    const Daemon daemon({kTwoLevelPolicy, kMeteredDevices, "", false, RDMAQOS_DAEMON});
    const auto run = [&](const std::string& options) {
        const auto output = daemon.root() / "ctl.out";
        std::filesystem::remove(output);
        Child ctl({RDMAQOS_CTL, "--root", daemon.root().string(), "metrics", options}, {}, output);
        const auto status = ctl.wait();
        EXPECT_TRUE(status && WIFEXITED(*status) && WEXITSTATUS(*status) == 0);
        std::ifstream in(output);
        std::ostringstream text;
        text << in.rdbuf();
        return text.str();
    };
    EXPECT_EQ(value_in(run("--colour=never"), "rdmaqos_enforcing"), 1.0);
    const std::string json = run("--json");
    EXPECT_NE(json.find("\"name\": \"rdmaqos_enforcing\""), std::string::npos) << json.substr(0, 2000);
    EXPECT_EQ(json.front(), '{');
}

}    // namespace
}    // namespace rdmaqos::test
