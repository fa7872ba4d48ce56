// Start, reload by signal, end; without devices, policy or bus.
#include <array>
#include <csignal>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/file.h"
#include "tests/support/ctl.h"
#include "tests/support/daemon_fixture.h"
#include "tests/support/golden.h"
#include "tests/support/threads.h"

namespace rdmaqos::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;
namespace names = bus::names;

std::string property_of(const Daemon& daemon, const std::string& name)
{
    auto client = daemon.direct();
    const auto properties = client.properties(names::kRoot, names::kManager);
    return properties ? text_of(*properties, name) : to_string(properties.error());
}

bool last_reload_accepted(const Daemon& daemon)
{
    auto client = daemon.direct();
    const auto properties = client.properties(names::kRoot, names::kManager);
    return properties && text_of(*properties->find("LastReload")->as<bus::Dict>(), "accepted") == "true";
}

TEST(Lifecycle, TerminationDrainsAndEndsWell)
{
    Daemon daemon(direct_only());
    auto client = daemon.direct();
    bus::Dict request;
    request.set("level", "rpc");
    request.set("queue-pairs", std::vector<bus::Dict>{queue_pair("mlx5_0", 21)});
    ASSERT_TRUE(register_session(client, request));
    const auto status = daemon.stop();
    ASSERT_TRUE(status);
    EXPECT_TRUE(WIFEXITED(*status) && WEXITSTATUS(*status) == 0) << daemon.log();
    EXPECT_FALSE(std::filesystem::exists(daemon.socket()));
    const auto lost = register_session(client, {});
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().code, ErrorCode::NoDaemon);
}

TEST(Lifecycle, HangupReloads)
{
    Daemon daemon(direct_only());
    const auto before = property_of(daemon, "PolicyRevision");
    daemon.dir().write("etc/rdma-qos/policy.yaml", "version: 1\nqos-levels: [{name: DEFAULT, sl: 5}]\n");
    daemon.process().signal(SIGHUP);
    EXPECT_TRUE(eventually([&] { return property_of(daemon, "PolicyRevision") != before; }));
    EXPECT_NE(daemon.log().find(fmt::format("a reload is asked for by SIGHUP of uid {}, pid {}", getuid(), getpid())),
              std::string::npos)
        << daemon.log();

    daemon.dir().write("etc/rdma-qos/policy.yaml", "version: 1\nqos-levels: [{name: DEFAULT, sl: 99}]\n");
    daemon.process().signal(SIGHUP);
    EXPECT_TRUE(eventually([&] { return !last_reload_accepted(daemon); }));
    EXPECT_NE(daemon.log().find("sl: 99"), std::string::npos) << "the journal shows the diagnostics";
}

// ExecReload= of the unit: what it prints goes into the journal, where the daemon has written the diagnostics.
TEST(Lifecycle, ABriefReloadLeavesTheDiagnosticsToTheLog)
{
    const Daemon daemon(direct_only());
    daemon.dir().write("etc/rdma-qos/policy.yaml", "version: 1\nqos-levels: [{name: DEFAULT, sl: 99}]\n");
    const auto refused = run_ctl(daemon.root(), "reload --brief");
    EXPECT_EQ(refused.status, 2) << refused.error;
    EXPECT_THAT(refused.error, HasSubstr("the new files are refused, what runs stays; the log of rdma-qosd says why"));
    EXPECT_THAT(refused.output + refused.error, Not(HasSubstr("policy.yaml:2:34")));
    const std::string log = daemon.log();
    const auto first = log.find("policy.yaml:2:34: error: ");
    ASSERT_NE(first, std::string::npos) << log;
    EXPECT_EQ(log.find("policy.yaml:2:34: error: ", first + 1), std::string::npos) << log;

    daemon.dir().write("etc/rdma-qos/policy.yaml", kTwoLevelPolicy);
    const auto taken = run_ctl(daemon.root(), "reload --brief");
    EXPECT_EQ(taken.status, 0) << taken.error;
    EXPECT_EQ(taken.output + taken.error, "");
}

// What systemd is told (sd_notify(3)), as one text.
class NotifySocket {
public:
    explicit NotifySocket(const std::filesystem::path& path)
        : fd_(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0))
    {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path.string().copy(address.sun_path, sizeof(address.sun_path) - 1);
        if (bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
            throw std::runtime_error("cannot bind " + path.string());
        }
    }
    const std::string& told()
    {
        std::array<char, 4096> part{};
        for (ssize_t length = 0; (length = recv(fd_.get(), part.data(), part.size(), 0)) > 0;) {
            told_.append(part.data(), static_cast<std::size_t>(length));
            told_ += '\n';
        }
        return told_;
    }

private:
    UniqueFd fd_;
    std::string told_;
};

// Also of reloads that were not asked for by a signal: the unit's ExecReload= is a client's call.
TEST(Lifecycle, TheServiceManagerIsToldOfEachPolicy)
{
    const TempDir dir;
    dir.write("devices.yaml", kTwoDevices);
    dir.write("etc/rdma-qos/policy.yaml", kTwoLevelPolicy);
    NotifySocket manager(dir.path() / "notify");
    const Child child(
        {RDMAQOS_DAEMON, "--root", dir.path().string(), "--simulate", (dir.path() / "devices.yaml").string()},
        {"NOTIFY_SOCKET=" + (dir.path() / "notify").string()}, dir.path() / "log");
    const auto is_told = [&](const std::string& what) {
        return eventually([&] { return manager.told().find(what) != std::string::npos; });
    };
    ASSERT_TRUE(is_told("READY=1\nSTATUS=policy ")) << manager.told();
    ASSERT_TRUE(is_told(", 2 device ports\n")) << manager.told();

    const auto reload = [&](const std::string& levels) {
        dir.write("etc/rdma-qos/policy.yaml", "version: 1\nqos-levels: [" + levels + "]\n");
        auto client = bus::Client::connect_direct(dir.path() / "run/rdma-qos/bus");
        EXPECT_TRUE(client);
        const auto reply = client->call(names::kRoot, names::kManager, "Reload", {});
        const auto properties = client->properties(names::kRoot, names::kManager);
        return text_of(*properties, "PolicyRevision");
    };
    const std::string revision = reload("{name: DEFAULT, sl: 5}");
    EXPECT_TRUE(is_told("STATUS=policy " + revision + ", 2 device ports\n")) << manager.told();
    EXPECT_EQ(reload("{name: DEFAULT, sl: 99}"), revision);
    EXPECT_TRUE(is_told("STATUS=policy " + revision +
                        ", 2 device ports; the newest policy is refused: /etc/rdma-qos/policy.yaml:2:34: `sl` "))
        << manager.told();
}

// As with WatchdogSec= of the unit, and not without.
TEST(Lifecycle, TheWatchdogIsFedWhileTheLoopTurns)
{
    const TempDir dir;
    dir.write("devices.yaml", kTwoDevices);
    dir.write("etc/rdma-qos/policy.yaml", kTwoLevelPolicy);
    NotifySocket manager(dir.path() / "notify");
    const auto meals = [&manager] {
        const std::string& told = manager.told();
        std::size_t count = 0;
        for (std::size_t at = 0; (at = told.find("WATCHDOG=1\n", at)) != std::string::npos; ++at) {
            ++count;
        }
        return count;
    };
    std::vector<std::string> environment{"NOTIFY_SOCKET=" + (dir.path() / "notify").string()};
    const std::vector<std::string> command{RDMAQOS_DAEMON, "--root", dir.path().string(), "--simulate",
                                           (dir.path() / "devices.yaml").string()};
    {
        const Child child(command, environment, dir.path() / "log");
        ASSERT_TRUE(eventually([&] { return manager.told().find("READY=1") != std::string::npos; }));
        std::this_thread::sleep_for(100ms);
        EXPECT_EQ(meals(), 0U);
    }
    environment.emplace_back("WATCHDOG_USEC=30000");
    const Child child(command, environment, dir.path() / "log");
    ASSERT_TRUE(eventually([&] { return meals() >= 3; }));
    child.signal(SIGSTOP);
    ASSERT_TRUE(eventually([&] { return state_in_proc(fmt::format("/proc/{}", child.pid())) == 'T'; }));
    const auto before = meals();
    std::this_thread::sleep_for(kMoment);
    EXPECT_EQ(meals(), before);
    child.signal(SIGCONT);
    EXPECT_TRUE(eventually([&] { return meals() > before; }));
}

TEST(Lifecycle, RunsWithoutDevices)
{
    auto options = direct_only();
    options.devices.clear();
    const Daemon daemon(options);
    auto client = daemon.direct();
    const auto session = register_session(client, {});
    EXPECT_TRUE(session) << to_string(session.error());
    EXPECT_NE(daemon.log().find("waiting for a device"), std::string::npos);
}

TEST(Lifecycle, RunsWithoutAValidPolicyAndSaysSo)
{
    auto options = direct_only();
    options.policy = "version: 1\nqos-levels: [{name: DEFAULT, sl: 99}]\n";
    const Daemon daemon(options);
    auto client = daemon.direct();
    const auto session = register_session(client, {});
    ASSERT_FALSE(session);
    EXPECT_EQ(session.error().code, ErrorCode::InvalidPolicy);
    EXPECT_EQ(property_of(daemon, "PolicyRevision"), "");
    EXPECT_FALSE(last_reload_accepted(daemon));
}

// Whatever became of what it keeps: it starts, and says which file, what is wrong and what to do.
TEST(Lifecycle, StartsWithStateFilesThatCannotBeRead)
{
    const TempDir dir;
    dir.write("devices.yaml", kTwoDevices);
    dir.write("etc/rdma-qos/policy.yaml", "version: 1\nqos-levels: [{name: DEFAULT, sl: 99}]\n");
    const auto folder = dir.path() / "var/lib/rdma-qos";
    std::filesystem::create_directories(folder);
    for (const char* name : {"disabled-devices.json", "last-good-policy.json"}) {
        std::filesystem::create_symlink(name, folder / name);
    }
    const auto log_of = [&](const std::string& name) {
        const Child child(
            {RDMAQOS_DAEMON, "--root", dir.path().string(), "--simulate", (dir.path() / "devices.yaml").string()}, {},
            dir.path() / name);
        std::string text;
        EXPECT_TRUE(eventually([&] {
            text = read_text(dir.path() / name);
            return text.find("ready: ") != std::string::npos;
        })) << text;
        return text;
    };
    const std::string first = log_of("first.log");
    EXPECT_THAT(first,
                HasSubstr("there is no last good policy either: " + (folder / "last-good-policy.json").string() +
                          ": is a link to last-good-policy.json, which cannot be opened (Too many levels of symbolic "
                          "links); the next policy"));
    EXPECT_THAT(first,
                HasSubstr("no device is disabled: " + (folder / "disabled-devices.json").string() +
                          ": is a link to disabled-devices.json, which cannot be opened (Too many levels of symbolic "
                          "links); disable those"));

    std::filesystem::remove(folder / "disabled-devices.json");
    dir.write("var/lib/rdma-qos/disabled-devices.json",
              "{\"schema\": 1, \"devices\": [{\"node-guid\": \"0x10\", \"port\": 99999999999999}]}");
    EXPECT_THAT(log_of("second.log"),
                HasSubstr("disabled-devices.json: entry 1 of `devices`: `port` must be a number from 1 to 4294967295, "
                          "not 99999999999999; disable those"));

    std::filesystem::remove_all(folder);
    std::filesystem::create_symlink("rdma-qos", folder);
    EXPECT_THAT(log_of("third.log"), HasSubstr("no device is disabled"));
}

TEST(Lifecycle, RefusesABrokenSimulationFile)
{
    const TempDir dir;
    dir.write("devices.yaml", "version: 1\ndevices: [{nam: x}]\n");
    dir.write("etc/rdma-qos/policy.yaml", kTwoLevelPolicy);
    Child child({RDMAQOS_DAEMON, "--root", dir.path().string(), "--simulate", (dir.path() / "devices.yaml").string()},
                {}, dir.path() / "log");
    const auto status = child.wait();
    ASSERT_TRUE(status);
    EXPECT_TRUE(WIFEXITED(*status) && WEXITSTATUS(*status) == 1);
}

TEST(Lifecycle, ASecondDaemonLeavesTheFirstAlone)
{
    const Daemon daemon(direct_only());
    Child second({RDMAQOS_DAEMON, "--root", daemon.root().string()}, {}, daemon.root() / "second.log");
    const auto status = second.wait();
    ASSERT_TRUE(status);
    EXPECT_TRUE(WIFEXITED(*status) && WEXITSTATUS(*status) == 1);
    auto client = daemon.direct();
    EXPECT_TRUE(register_session(client, {}));
}

TEST(Lifecycle, ServesTheSocketWhenTheBusGoesAway)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root may own org.rdmaqos1 on a bus with our policy";
    }
    Daemon daemon;
    {
        auto client = daemon.by_bus();
        ASSERT_TRUE(register_session(client, {}));
        ASSERT_EQ(daemon.sessions(), 1U);
        daemon.bus()->stop();
        EXPECT_TRUE(eventually([&] { return daemon.sessions() == 0; })) << "its clients are gone with it";
    }
    EXPECT_NE(daemon.log().find("not on the system bus"), std::string::npos);
    auto client = daemon.direct();
    EXPECT_TRUE(register_session(client, {}));
}

}    // namespace
}    // namespace rdmaqos::test
