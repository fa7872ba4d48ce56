// Without a daemon, with one that hangs, refuses or comes back: the program runs on.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/run/launched.h"
#include "tests/unit/client/library.h"

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

// As it is without the patience of tests.
const Words kOneSecond{"RDMA_QOS_RUN_PATIENCE_MS=1000"};

TEST(RunTrouble, WithoutADaemonTheProgramRunsOn)
{
    const TempDir root;
    JournalSocket journal(root.path());
    Launched launched(root.path(), {}, {program("linked"), "linked", "-n", "20", "-s", "1", "-c", "8", "-x", "6"});
    EXPECT_EQ(launched.ended(), 6);
    EXPECT_EQ(launched.queue_pairs().size(), 20U);
    EXPECT_EQ(launched.queue_pairs().front().marks, "sl 1 traffic-class 8");
    EXPECT_EQ(launched.count("rdma-qos-run: "), 1U) << launched.output();
    EXPECT_THAT(launched.output(), HasSubstr("it runs without a class: rdma-qosd does not answer at "));
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
        Launched launched(root.path(), {}, {program("linked"), "linked", "-n", "30", "-t", "4"}, kOneSecond);
        EXPECT_EQ(launched.ended(), 0);
        EXPECT_EQ(launched.queue_pairs().size(), 120U);
        EXPECT_EQ(launched.count("rdma-qos-run: "), 1U) << launched.output();
        EXPECT_THAT(launched.output(), HasSubstr("rdma-qosd does not answer"));
    });
    EXPECT_GT(taken, 0.9);
    EXPECT_LT(taken, 60) << "a second for each queue pair";
}

// A daemon that answers, but takes its time for each answer: that adds up, and is not waited for either.
TEST(RunTrouble, ADaemonThatIsSlowIsWaitedForASecondInAll)
{
    const TempDir root;
    std::filesystem::create_directories(root.path() / "run/rdma-qos");
    FakeDaemon slow(root.path() / "run/rdma-qos/bus");
    const LikeTheDaemon like(slow);
    slow.on("QueryPath", [](sd_bus_message* call) {
        std::this_thread::sleep_for(300ms);
        sd_bus_message* reply = nullptr;
        sd_bus_message_new_method_return(call, &reply);
        sd_bus_message_append(reply, "aa{sv}", 1, 1, "level", "s", "rpc");
        return send_reply(reply);
    });
    slow.start();
    const double taken = seconds_of([&] {
        const TempDir folder;
        Launched launched(root.path(), {}, test::held(folder, {program("linked"), "linked", "-n", "250"}), kOneSecond);
        EXPECT_TRUE(launched.ready());
        EXPECT_EQ(launched.queue_pairs().size(), 250U);
        EXPECT_TRUE(eventually([&] {
            const auto attached = like.attached();
            return std::set(attached.begin(), attached.end()).size() == 250;
        })) << "what there was no time for is done later";
        let_go(folder);
        EXPECT_EQ(launched.ended(), 0);
    });
    EXPECT_LT(taken, 60) << "0.3 seconds for each queue pair";
}

// The daemon is stopped when it is already known.
TEST(RunTrouble, ADaemonThatStopsAnsweringIsWaitedForOnce)
{
    Daemon daemon(with_levels());
    const TempDir folder;
    daemon.process().signal(SIGSTOP);
    const double taken = seconds_of([&] {
        Launched launched(daemon.root(), {}, {program("linked"), "linked", "-n", "120"}, kOneSecond);
        EXPECT_EQ(launched.ended(), 0);
        EXPECT_EQ(launched.queue_pairs().size(), 120U);
        EXPECT_EQ(launched.count("rdma-qos-run: "), 1U) << launched.output();
    });
    daemon.process().signal(SIGCONT);
    EXPECT_LT(taken, 60) << "a second for each queue pair";
}

// A worker that closes what it does not know, as daemons do, and opens files of its own; and a program that does so
// itself.
TEST(RunTrouble, WhoClosesAllDescriptorsKeepsItsOwn)
{
    const Daemon daemon(with_levels());
    for (const Words& how : {Words{"-C", "-f"}, Words{"-C"}}) {
        const TempDir folder;
        Words command{program("linked"), "linked", "-n", "2", "-g", kTarget};
        command.insert(command.end(), how.begin(), how.end());
        Launched launched(daemon.root(), {}, test::held(folder, command));
        EXPECT_TRUE(launched.ready(how.size())) << launched.output();
        EXPECT_TRUE(eventually([&] {
            return std::ranges::all_of(launched.queue_pairs(),
                                       [](const Described& each) { return place_of(each.number) == kInStorage; });
        })) << launched.output();
        let_go(folder);
        EXPECT_EQ(launched.ended(), 0) << launched.output();
    }
}

// What has the number of stderr need not be one.
TEST(RunTrouble, NoComplaintGoesIntoAFileOfTheProgram)
{
    const TempDir root;
    const auto data = root.path() / "data";
    JournalSocket journal(root.path());
    Launched launched(root.path(), {}, {program("linked"), "linked", "-o", data});
    EXPECT_EQ(launched.ended(), 0);
    EXPECT_THAT(journal.take(), HasSubstr("it runs without a class"));
    EXPECT_EQ(std::filesystem::file_size(data), 0U);
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

// A daemon that has enough connections is not one that is not there.
TEST(RunTrouble, ADaemonThatWantsNoConnectionIsNamedSo)
{
    const TempDir root;
    std::filesystem::create_directories(root.path() / "run/rdma-qos");
    const UniqueFd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    (root.path() / "run/rdma-qos/bus").string().copy(address.sun_path, sizeof(address.sun_path) - 1);
    ASSERT_EQ(bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);    // NOLINT
    ASSERT_EQ(listen(listener.get(), 100), 0);
    std::thread closing([&] {
        for (int fd = -1; (fd = accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
            close(fd);
        }
    });
    Launched required(root.path(), {"--required"}, {"/bin/echo", "it ran"});
    EXPECT_EQ(required.ended(), 125);
    EXPECT_THAT(required.output(), HasSubstr("rdma-qosd closes each connection at "));
    Launched launched(root.path(), {}, {program("linked"), "linked"});
    EXPECT_EQ(launched.ended(), 0);
    EXPECT_THAT(launched.output(), HasSubstr("it runs without a class: rdma-qosd closes each connection at "));
    shutdown(listener.get(), SHUT_RDWR);
    closing.join();
}

// gcc's sanitizer insists on being the first library, and ends the program otherwise: this one, or those that it
// starts.
TEST(RunTrouble, AProgramWithASanitizerIsInItsClass)
{
    if (!std::filesystem::exists(program("sanitized"))) {
        GTEST_SKIP() << "the compiler has no address sanitizer";
    }
    const Daemon daemon(with_levels());
    const TempDir folder;
    // The launcher may be built with it, too: the emulator's library is preloaded by the shell, behind ours, and what
    // the options of the test say of the order is left out.
    const char* emulated = getenv("LD_PRELOAD");    // NOLINT(concurrency-mt-unsafe): nobody sets it
    Launched launched(daemon.root(), {},
                      test::held(folder, {"/bin/sh", "-c", R"(LD_PRELOAD="$LD_PRELOAD:$EMULATED" "$0" "$@"; exit $?)",
                                          program("sanitized"), "sanitized", "-g", kTarget}),
                      {"ASAN_OPTIONS=detect_leaks=0",
                       "LD_PRELOAD=", fmt::format("EMULATED={}", emulated == nullptr ? "" : emulated)});
    ASSERT_TRUE(launched.ready()) << launched.output();
    EXPECT_EQ(place_of(launched.queue_pairs().at(0).number), kInStorage);
    let_go(folder);
    EXPECT_EQ(launched.ended(), 0) << launched.output();
}

// The dynamic linker would leave out the library, and nobody would hear of it.
TEST(RunTrouble, ABlankInThePathOfTheLibraryIsTold)
{
    const TempDir nothing;
    for (const char* name : {"with blank", "with:colon"}) {
        const auto folder = nothing.path() / name;
        std::filesystem::create_directories(folder);
        std::filesystem::copy_file(RDMAQOS_RUN, folder / "rdma-qos-run");
        std::filesystem::copy_file(RDMAQOS_RUN_PRELOAD, folder / "librdma-qos-run.so");
        const auto output_of = [&](const Words& options) {
            Words words{folder / "rdma-qos-run", "--root", nothing.path()};
            words.insert(words.end(), options.begin(), options.end());
            words.insert(words.end(), {"--", "/bin/echo", "it ran"});
            Running running(words);
            running.ended();
            return running.output();
        };
        EXPECT_THAT(output_of({}),
                    ::testing::AllOf(HasSubstr("a blank or a colon is in its path"), HasSubstr("it ran")));
        EXPECT_THAT(output_of({"--required"}), ::testing::AllOf(HasSubstr("a blank or a colon is in its path"),
                                                                ::testing::Not(HasSubstr("it ran"))));
    }
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
    Launched launched(
        daemon.root(), {},
        test::held(folder, {program("linked"), "linked", "-n", "4", "-g", std::string(kElsewhere) + "," + kTarget}));
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

// The places of the queue pairs of a program that has made half of them on each of two devices.
std::vector<std::string> places_on_two(const Launched& launched)
{
    std::vector<std::string> all;
    const auto queue_pairs = launched.queue_pairs();
    for (std::size_t i = 0; i < queue_pairs.size(); ++i) {
        all.push_back(place_of(queue_pairs[i].number, i < queue_pairs.size() / 2 ? "mlx5_0" : "mlx5_1"));
    }
    return all;
}

// It takes along what is on it, and brings it back. What is on the other device stays, also over a restart.
TEST(RunTrouble, ADeviceThatIsReleasedBringsItsQueuePairsBack)
{
    Daemon daemon(with_levels());
    const TempDir folder;
    Launched launched(daemon.root(), {"--level", "rpc"},
                      test::held(folder, {program("linked"), "linked", "-n", "2", "-d", "mlx5_0,mlx5_1"}));
    ASSERT_TRUE(launched.ready()) << launched.output();
    const auto are = [&](const std::string& on_first, const std::string& on_second) {
        return eventually([&] {
            return ::testing::Value(places_on_two(launched),
                                    ::testing::ElementsAre(on_first, on_first, on_second, on_second));
        });
    };
    EXPECT_TRUE(are(kInRpc, kInRpc)) << ::testing::PrintToString(places_on_two(launched));
    {
        auto client = daemon.direct();
        ASSERT_TRUE(manage(client, "Release", "mlx5_0"));
        EXPECT_TRUE(are("", kInRpc)) << ::testing::PrintToString(places_on_two(launched));
        ASSERT_TRUE(manage(client, "Enable", "mlx5_0"));
        EXPECT_TRUE(are(kInRpc, kInRpc)) << ::testing::PrintToString(places_on_two(launched));
        ASSERT_TRUE(manage(client, "Release", "mlx5_0"));
        ASSERT_TRUE(manage(client, "Enable", "mlx5_0"));
    }
    emulator("set busy-leaf released");    // else leaves with queue pairs in them are leaked, as in the kernel
    daemon.kill();
    make_as_it_was();
    const Child again({RDMAQOS_DAEMON, "--root", daemon.root(), "--host-devices"}, {}, folder.path() / "again.log");
    EXPECT_TRUE(are(kInRpc, kInRpc)) << ::testing::PrintToString(places_on_two(launched));
    let_go(folder);
    EXPECT_EQ(launched.ended(), 0);
    EXPECT_EQ(launched.count("rdma-qos-run"), 0U) << launched.output();
}

// What was refused with the session, too.
TEST(RunTrouble, ALevelThatComesLaterTakesTheQueuePairsThatThereAre)
{
    const Daemon daemon(with_levels());
    const TempDir folder;
    Launched launched(daemon.root(), {"--level", "later"},
                      test::held(folder, {program("linked"), "linked", "-n", "2"}));
    ASSERT_TRUE(launched.ready()) << launched.output();
    EXPECT_EQ(launched.count("rdma-qos-run: "), 1U) << launched.output();
    std::string policy = kLevelsByDestination;
    policy.replace(policy.find("name: storage"), 13, "name: later");
    for (std::size_t at = 0; (at = policy.find("qos-level-name: storage")) != std::string::npos;) {
        policy.replace(at, 23, "qos-level-name: later");
    }
    daemon.dir().write("etc/rdma-qos/policy.yaml", policy);
    auto client = daemon.direct();
    ASSERT_TRUE(client.call(bus::names::kRoot, bus::names::kManager, "Reload", {}));
    EXPECT_TRUE(eventually([&] {
        return std::ranges::all_of(launched.queue_pairs(),
                                   [](const Described& each) { return place_of(each.number) == kInStorage; });
    }));
    let_go(folder);
    EXPECT_EQ(launched.ended(), 0);
}

// What was made before there was a daemon.
TEST(RunTrouble, QueuePairsWaitForADaemon)
{
    const TempDir root;
    const TempDir folder;
    root.write("etc/rdma-qos/policy.yaml", kLevelsByDestination);
    std::filesystem::create_directories(root.path() / "run");
    Launched launched(root.path(), {}, test::held(folder, {program("linked"), "linked", "-n", "2", "-g", kTarget}));
    ASSERT_TRUE(launched.ready()) << launched.output();
    emulator("set busy-leaf released");    // the daemon ends before the program
    const Child daemon({RDMAQOS_DAEMON, "--root", root.path(), "--host-devices"}, {}, folder.path() / "log");
    EXPECT_TRUE(eventually([&] {
        return std::ranges::all_of(launched.queue_pairs(),
                                   [](const Described& each) { return place_of(each.number) == kInStorage; });
    })) << launched.output();
    EXPECT_EQ(launched.queue_pairs().front().marks, "sl 0 traffic-class 0") << "it was too late for marks";
}

// On a kernel that refuses calls on a queue pair while the daemon moves it: the program, which would not expect that,
// does not see it.
TEST(RunTrouble, ReloadsThatMoveQueuePairsAreNotSeen)
{
    if (on_kernel()) {
        GTEST_SKIP() << "this kernel refuses nothing while a queue pair is moved";
    }
    const Daemon daemon(with_levels());
    emulator("set modify-lock exclusive");
    emulator("delay attach 5");
    std::string other = kLevelsByDestination;
    other.replace(other.find("qos-level-name: storage"), 23, "qos-level-name: rpc");
    auto client = daemon.direct();
    Launched launched(daemon.root(), {},
                      {program("linked"), "linked", "-t", "2", "-n", "4", "-k", "20", "-g", kTarget, "-x", "3"});
    int reloads = 0;
    while (launched.ended(30ms) == -1) {
        daemon.dir().write("etc/rdma-qos/policy.yaml", reloads++ % 2 == 0 ? other : kLevelsByDestination);
        ASSERT_TRUE(client.call(bus::names::kRoot, bus::names::kManager, "Reload", {}));
        ASSERT_LT(reloads, 10'000);
    }
    make_as_it_was();
    EXPECT_EQ(launched.ended(), 3) << launched.output();
    EXPECT_EQ(launched.queue_pairs().size(), 8U);
    EXPECT_EQ(launched.count("rdma-qos-run"), 0U) << launched.output();
    printf("168 queue pairs made, 160 destroyed, during %d reloads\n", reloads);
}

// The thread that listens to the daemon must not keep a process alive whose own threads have ended.
TEST(RunTrouble, AProgramEndsWithTheLastThreadOfItsOwn)
{
    const Daemon daemon(with_levels());
    Launched launched(daemon.root(), {}, {program("linked"), "linked", "-e"});
    EXPECT_EQ(launched.ended(), 0) << launched.output();
}

// What a program with many queue pairs says of modify_qp(), in µs: how long it takes, and how much of that the program
// itself computes.
struct Cost {
    double time = 1e9;
    double computing = 1e9;

    void lower_to(const Cost& other)
    {
        time = std::min(time, other.time);
        computing = std::min(computing, other.computing);
    }
};

Cost cost_in(const std::string& output)
{
    Cost cost;
    const auto at = output.find("modify_qp ");
    const bool is_there = at != std::string::npos &&
                          sscanf(output.c_str() + at, "modify_qp %lf us, %lf us", &cost.time, &cost.computing) == 2;
    EXPECT_TRUE(is_there) << output;
    return cost;
}

Cost cost_below(const std::filesystem::path& root)
{
    Launched launched(root, {}, {program("linked"), "linked", "-n", "200", "-m"});
    EXPECT_EQ(launched.ended(), 0) << launched.output();
    return cost_in(launched.output());
}

Cost cost_alone()
{
    const TempDir folder;
    Child child({program("linked"), "linked", "-n", "200", "-m"}, {}, folder.path() / "output");
    EXPECT_TRUE(child.wait().has_value());
    std::ifstream file(folder.path() / "output");
    return cost_in({std::istreambuf_iterator<char>(file), {}});
}

// What modify_qp() costs more, as a multiple of what it costs without the launcher: the lowest of some rounds, in turn,
// so that they meet the same machine. How long it takes depends on who else uses the processors, and is only printed.
TEST(RunTrouble, CostOfModify)
{
    const TempDir nothing;
    const Daemon daemon(with_levels());
    Cost alone;
    Cost without;
    Cost with;
    for (int round = 0; round < 3; ++round) {
        alone.lower_to(cost_alone());
        without.lower_to(cost_below(nothing.path()));
        with.lower_to(cost_below(daemon.root()));
    }
    for (const auto& [what, cost] : {std::pair{"takes", &Cost::time}, {"computes", &Cost::computing}}) {
        printf("ibv_modify_qp, on average of the three steps, %s %.1f us as it is, %.2f times that below rdma-qos-run "
               "without a daemon, %.2f times with one\n",
               what, alone.*cost, without.*cost / alone.*cost, with.*cost / alone.*cost);
    }
    EXPECT_GT(alone.computing, 0);
    EXPECT_LT(without.computing / alone.computing, 10);
    EXPECT_LT(with.computing / alone.computing, 25);
}

}    // namespace
}    // namespace rdmaqos::test
