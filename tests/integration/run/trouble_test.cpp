// Without a daemon, with one that hangs, refuses or comes back: the program runs on.
#include <chrono>
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/run/launched.h"

namespace rdmaqos::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

double seconds_of(const std::function<void()>& work)
{
    const auto begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

TEST(RunTrouble, WithoutADaemonTheProgramRunsOn)
{
    const TempDir root;
    JournalSocket journal(root.path());
    Launched launched(root.path(), {}, {program("linked"), "linked", "-n", "20", "-s", "1", "-c", "8", "-x", "6"});
    EXPECT_EQ(launched.ended(), 6);
    EXPECT_EQ(launched.queue_pairs().size(), 20U);
    EXPECT_EQ(launched.queue_pairs().front().marks, "sl 1 traffic-class 8");
    EXPECT_EQ(launched.count("rdma-qos-run: "), 1U) << launched.output();
    EXPECT_THAT(launched.output(), HasSubstr("it runs without a class: rdma-qosd cannot be reached at "));
    const std::string entry = journal.take();
    EXPECT_THAT(entry, HasSubstr("PRIORITY=4\nSYSLOG_IDENTIFIER=rdma-qos-run\nMESSAGE=linked["));
    EXPECT_THAT(entry, HasSubstr("it runs without a class"));
    EXPECT_EQ(journal.take(), "");
}

// Something accepts connections, and never says anything.
TEST(RunTrouble, ADaemonThatHangsIsWaitedForOnceAtMostASecond)
{
    const TempDir root;
    std::filesystem::create_directories(root.path() / "run/rdma-qos");
    const UniqueFd silent(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    (root.path() / "run/rdma-qos/bus").string().copy(address.sun_path, sizeof(address.sun_path) - 1);
    ASSERT_EQ(bind(silent.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);    // NOLINT
    ASSERT_EQ(listen(silent.get(), 100), 0);
    const double taken = seconds_of([&] {
        Launched launched(root.path(), {}, {program("linked"), "linked", "-n", "30", "-t", "4"});
        EXPECT_EQ(launched.ended(), 0);
        EXPECT_EQ(launched.queue_pairs().size(), 120U);
        EXPECT_EQ(launched.count("rdma-qos-run: "), 1U) << launched.output();
        EXPECT_THAT(launched.output(), HasSubstr("rdma-qosd does not answer"));
    });
    EXPECT_GT(taken, 0.9);
    EXPECT_LT(taken, 3.0);
}

// The daemon is stopped when it is already known.
TEST(RunTrouble, ADaemonThatStopsAnsweringIsWaitedForOnce)
{
    Daemon daemon(with_levels());
    const TempDir folder;
    daemon.process().signal(SIGSTOP);
    const double taken = seconds_of([&] {
        Launched launched(daemon.root(), {}, {program("linked"), "linked", "-n", "30"});
        EXPECT_EQ(launched.ended(), 0);
        EXPECT_EQ(launched.queue_pairs().size(), 30U);
        EXPECT_EQ(launched.count("rdma-qos-run: "), 1U) << launched.output();
    });
    daemon.process().signal(SIGCONT);
    EXPECT_LT(taken, 3.0);
}

TEST(RunTrouble, ALevelThatIsRefusedIsToldOnce)
{
    const Daemon daemon(with_levels());
    Launched launched(daemon.root(), {"--level", "private"}, {program("linked"), "linked", "-n", "9", "-x", "2"});
    EXPECT_EQ(launched.ended(), 2);
    EXPECT_EQ(launched.count("rdma-qos-run: "), 1U) << launched.output();
    EXPECT_THAT(launched.output(), HasSubstr("private"));
    EXPECT_EQ(daemon.sessions(), 0U);
}

TEST(RunTrouble, RequiredFailsBeforeTheProgram)
{
    const auto refused = [](const std::filesystem::path& root, const char* level) {
        Launched launched(root, {"--required", "--level", level}, {"/bin/echo", "it ran"});
        EXPECT_EQ(launched.ended(), 125);
        EXPECT_EQ(launched.count("it ran"), 0U);
        return launched.output();
    };
    const TempDir nothing;
    EXPECT_THAT(refused(nothing.path(), "rpc"), HasSubstr("rdma-qos-run: error: "));
    const Daemon daemon(with_levels());
    EXPECT_THAT(refused(daemon.root(), "private"), HasSubstr("private"));
    EXPECT_THAT(refused(daemon.root(), "rcp"), HasSubstr("did you mean \"rpc\"?"));
    Launched granted(daemon.root(), {"--required", "--level", "rpc"}, {"/bin/echo", "it ran"});
    EXPECT_EQ(granted.ended(), 0);
    EXPECT_EQ(granted.count("it ran"), 1U);
}

// A new daemon knows nothing of what was attached.
TEST(RunTrouble, QueuePairsComeBackAfterARestart)
{
    Daemon daemon(with_levels());
    const TempDir folder;
    Launched launched(daemon.root(), {},
                      Launched::held(folder, {program("linked"), "linked", "-n", "4", "-g",
                                              std::string(kElsewhere) + "," + kTarget}));
    ASSERT_TRUE(launched.ready()) << launched.output();
    emulator("set busy-leaf released");    // else leaves with queue pairs in them are leaked, as in the kernel
    daemon.kill();
    make_as_it_was();
    std::vector<std::string> command{RDMAQOS_DAEMON, "--root", daemon.root(), "--host-devices"};
    const Child again(command, {}, folder.path() / "again.log");
    const auto everywhere = [&] {
        std::vector<std::string> all;
        for (const auto& each : launched.queue_pairs()) {
            all.push_back(place_of(each.number));
        }
        return all;
    };
    EXPECT_TRUE(eventually([&] {
        return ::testing::Value(everywhere(), ::testing::ElementsAre(kInDefault, kInStorage, kInDefault, kInStorage));
    })) << ::testing::PrintToString(everywhere());
    let_go(folder);
    EXPECT_EQ(launched.ended(), 0);
    EXPECT_EQ(launched.count("rdma-qos-run"), 0U) << launched.output();
}

// The thread that listens to the daemon must not keep a process alive whose own threads have ended.
TEST(RunTrouble, AProgramEndsWithTheLastThreadOfItsOwn)
{
    const Daemon daemon(with_levels());
    Launched launched(daemon.root(), {}, {program("linked"), "linked", "-e"});
    EXPECT_EQ(launched.ended(20s), 0) << launched.output();
}

// What modify_qp() costs more, each as a multiple of what it costs without the launcher.
TEST(RunTrouble, CostOfModify)
{
    const auto cost = [](const std::filesystem::path& root, const Words& launcher) {
        Launched launched(root, launcher, {program("linked"), "linked", "-n", "200", "-m"});
        EXPECT_EQ(launched.ended(), 0) << launched.output();
        const std::string text = launched.output();
        const auto at = text.find("modify_qp ");
        return at == std::string::npos ? 0.0 : std::stod(text.substr(at + 10));
    };
    const auto plain = [] {
        const TempDir folder;
        Child child({program("linked"), "linked", "-n", "200", "-m"}, {}, folder.path() / "output");
        EXPECT_TRUE(child.wait(20s).has_value());
        std::ifstream file(folder.path() / "output");
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        return std::stod(text.substr(text.find("modify_qp ") + 10));
    }();
    const TempDir nothing;
    const double without = cost(nothing.path(), {});
    const Daemon daemon(with_levels());
    const double with = cost(daemon.root(), {});
    printf("ibv_modify_qp, on average of the three steps: %.1f us as it is, %.2f times that below rdma-qos-run without a "
           "daemon, %.2f times with one\n",
           plain, without / plain, with / plain);
    EXPECT_GT(plain, 0);
    // A call of the emulator is a round trip to a process, as one of the daemon is: on hardware the ratios are other ones.
    EXPECT_LT(without / plain, 5);
    EXPECT_LT(with / plain, 200);
}

}    // namespace
}    // namespace rdmaqos::test
