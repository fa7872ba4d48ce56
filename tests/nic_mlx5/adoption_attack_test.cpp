// Programs that never register and do what they can to be mistaken for others, to hang the daemon or to keep it busy:
// it must be harmed as little as other programs, whose queue pairs are adopted all the same, and none may come into a
// wrong leaf.
#include <atomic>
#include <chrono>
#include <filesystem>
#include <random>
#include <set>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

#include "tests/nic_mlx5/figures.h"
#include "tests/nic_mlx5/stranger.h"

namespace rdmaqos::test {
namespace {

using namespace std::chrono_literals;
using ::testing::IsEmpty;

class AdoptionAttack : public AdoptionTest {};

// Someone who has nothing to do with it, while an attack goes on.
class Bystander {
public:
    explicit Bystander(Daemon& daemon) : client_(daemon.direct()), before_(stranger_.make(IBV_QPT_UD))
    {
        pinging_.add_main_thread(daemon.process().pid());
        pinging_.add_own_thread();
        EXPECT_TRUE(comes_to(before_, kInRpc));
    }

    // For so long he makes queue pairs, some in any case, each of which has to come where it belongs.
    void live(std::chrono::milliseconds time)
    {
        constexpr int kSome = 5;
        const double until = seconds_now() + std::chrono::duration<double>(time).count();
        for (int round = 0; round < kSome || seconds_now() < until; ++round) {
            const auto made = stranger_.make_one(IBV_QPT_RC, Towards::Storage);
            EXPECT_TRUE(comes_to(made.number, kInStorage));
            adopted_.add(seconds_now() - made.ready_at);
            for (int i = 0; i < 10; ++i) {
                pings_.add(ping());
            }
            EXPECT_EQ(stranger_.destroy(made.number), 0);
        }
    }
    void expect_unharmed(const std::string& name)
    {
        EXPECT_EQ(place_of(before_), kInRpc);
        tell(name + "_bystander", adopted_.in_milliseconds());
        tell(name + "_ping", pings_.in_milliseconds());
        EXPECT_LT(pings_.quantile(0.95), on_kernel() ? 0.1 : 0.05);
    }

private:
    // Of a call that only the main loop answers; in seconds, without those in which the two had no processor.
    double ping()
    {
        const TimeOfOurs time(pinging_);
        const auto reply = client_.call(bus::names::kRoot, "org.freedesktop.DBus.Peer", "Ping", {});
        EXPECT_TRUE(reply.has_value());
        return time.seconds();
    }

    bus::Client client_;
    Stranger stranger_{{"stranger-rpc"}};
    std::uint32_t before_;
    ReadyButWaiting pinging_;
    Figures adopted_;
    Figures pings_;
};

void expect_all_is_gone(const Daemon& daemon)
{
    EXPECT_TRUE(eventually([] { return emulated_device().at("files") == 1; })) << emulated_device().at("files");
    EXPECT_TRUE(emulated_device().at("queue-pairs").empty());
    EXPECT_EQ(leaked_elements(), 0U);
    EXPECT_TRUE(eventually([&] { return daemon.sessions() == 0; })) << told(daemon);
}

// mlx5_0's are for bulk, mlx5_1's for storage; its own name for neither.
constexpr const char* kByDevice = R"(  - {client: {command: [swapper]}, device: ["mlx5_0"], qos-level-name: bulk}
  - {client: {command: [swapper]}, device: ["mlx5_1"], qos-level-name: storage}
)";

// The descriptor that is found first is one thing when it is looked at, and another one when it is taken.
TEST_F(AdoptionAttack, ADescriptorThatIsSwapped)
{
    Daemon daemon(adopting(std::string(kAdoptingPolicy) + kByDevice));
    {
        Bystander bystander(daemon);
        Stranger swapper({"swapper"}, [](Verbs& first, const Line& line) {
            Verbs second("mlx5_1");
            // Both go on under numbers that are found last; the first one's is swapped.
            const int low = first.context().cmd_fd;
            first.context().cmd_fd = fcntl(low, F_DUPFD_CLOEXEC, 200);
            second.context().cmd_fd = fcntl(second.context().cmd_fd, F_DUPFD_CLOEXEC, 300);
            int pair[2] = {-1, -1};
            must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "socketpair");
            const int others[] = {second.context().cmd_fd,     pair[0],
                                  first.context().cmd_fd,      eventfd(0, 0),
                                  open("/dev/null", O_RDONLY), open("/proc/self/maps", O_RDONLY)};
            std::atomic<bool> ending = false;
            std::thread swap([&] {
                for (std::size_t i = 0; !ending; ++i) {
                    dup2(others[i % std::size(others)], low);
                }
            });
            std::minstd_rand random(1);
            while (!line.has_something()) {
                for (auto* verbs : {&first, &second}) {
                    if (verbs->all().size() > 20) {
                        verbs->destroy(verbs->all().front()->qp_num);
                    }
                    verbs->make(random() % 2 == 0 ? IBV_QPT_RC : IBV_QPT_UD);
                }
                usleep(static_cast<useconds_t>(random() % 5000));
            }
            ending = true;
            swap.join();
            line.say(static_cast<std::uint32_t>(first.make(IBV_QPT_UD)->qp_num));
            pause();
        });
        bystander.live(on_kernel() ? 1500ms : 3000ms);
        swapper.line().say(1U);
        const auto last = swapper.line().hear();
        for (const char* device : {"mlx5_0", "mlx5_1"}) {
            const std::string own = device == std::string("mlx5_0") ? kInBulk : kInStorage;
            for (const auto& [number, place] : places(emulated_device(device))) {
                EXPECT_TRUE(place == own || place == kNowhere || place == kInRpc)
                    << device << " " << number << " " << place;
            }
        }
        EXPECT_TRUE(comes_to(last, kInBulk)) << "when it has stopped it is adopted like anybody else\n" << told(daemon);
        bystander.expect_unharmed("swapped");
    }
    expect_all_is_gone(daemon);
}

// As one that makes room below a number. In attach mode per-process, what the daemon made in it is still there.
TEST_F(AdoptionAttack, AFileThatMovesToAnotherDescriptor)
{
    Daemon daemon(adopting());
    {
        Stranger mover({"stranger"}, [](Verbs& verbs, const Line& line) {
            while (true) {
                line.say(static_cast<std::uint32_t>(verbs.make(IBV_QPT_RC, Towards::Bulk)->qp_num));
                if (line.hear() == 0) {
                    while (!verbs.all().empty()) {
                        verbs.destroy(verbs.all().front()->qp_num);
                    }
                }
                const int before = verbs.context().cmd_fd;
                verbs.context().cmd_fd = fcntl(before, F_DUPFD_CLOEXEC, before + 100);
                must(dup2(open("/dev/null", O_RDONLY), before) == before, "dup2");
            }
        });
        // Its queue pairs of before are kept, or destroyed, when it moves.
        for (const std::uint32_t keep : {1U, 1U, 0U, 0U, 1U}) {
            EXPECT_TRUE(comes_to(mover.line().hear(), kInBulk)) << told(daemon);
            mover.line().say(keep);
        }
        EXPECT_TRUE(comes_to(mover.line().hear(), kInBulk)) << told(daemon);
    }
    expect_all_is_gone(daemon);
}

// One program's number and handle are another one's a moment later.
TEST_F(AdoptionAttack, NumbersAreUsedAgain)
{
    constexpr std::uint32_t kNumber = 77'777;
    Daemon daemon(adopting());
    {
        Stranger first({"stranger"});
        Stranger second({"stranger"});
        // While the daemon puts one into its leaf this is refused; how seldom, the test of the cost says.
        const auto destroyed = [](Stranger& stranger) {
            int error = EBUSY;
            for (int tries = 0; tries < 10'000 && error == EBUSY; ++tries) {
                error = stranger.destroy(kNumber);
            }
            return error;
        };
        std::minstd_rand random(1);
        for (int round = 0; round < (on_kernel() ? 15 : 20) && !HasFailure(); ++round) {
            emulator(fmt::format("next-qp mlx5_0 {}", kNumber));
            EXPECT_EQ(first.make(IBV_QPT_RC, Towards::Bulk), kNumber);
            std::this_thread::sleep_for(std::chrono::milliseconds(random() % 40));
            EXPECT_EQ(destroyed(first), 0);
            emulator(fmt::format("next-qp mlx5_0 {}", kNumber));
            EXPECT_EQ(second.make(IBV_QPT_RC, Towards::Storage), kNumber);
            std::set<std::string> been;
            const bool is_there = eventually([&] { return *been.insert(place_of(kNumber)).first == kInStorage; });
            EXPECT_TRUE(is_there) << round << "\n" << told(daemon);
            EXPECT_FALSE(been.contains(kInBulk)) << "as the one that had its number";
            EXPECT_EQ(destroyed(second), 0);
        }
    }
    expect_all_is_gone(daemon);
}

// The same process makes and destroys without a pause, what it makes going now here, now there.
TEST_F(AdoptionAttack, QueuePairsThatDoNotLast)
{
    Daemon daemon(adopting());
    {
        Bystander bystander(daemon);
        Stranger hasty({"stranger"}, [](Verbs& verbs, const Line& line) {
            std::uint32_t made = 0;
            for (; !line.has_something(); ++made) {
                ibv_qp* const one = verbs.try_make(IBV_QPT_RC, made % 2 == 0 ? Towards::Bulk : Towards::Storage);
                while (one == nullptr || ibv_destroy_qp(one) == EBUSY) {
                }
            }
            line.say(made);
            line.say(verbs.make(IBV_QPT_RC, Towards::Bulk)->qp_num);
            line.say(verbs.make(IBV_QPT_RC, Towards::Storage)->qp_num);
            pause();
        });
        bystander.live(on_kernel() ? 1500ms : 3000ms);
        hasty.line().say(1U);
        tell("made_and_destroyed", std::to_string(hasty.line().hear()));
        EXPECT_TRUE(comes_to(hasty.line().hear(), kInBulk));
        EXPECT_TRUE(comes_to(hasty.line().hear(), kInStorage));
        bystander.expect_unharmed("hasty");
    }
    expect_all_is_gone(daemon);
}

// How many of a process's descriptors are of files that another one has open too.
std::size_t descriptors_shared(pid_t process, pid_t other)
{
    const auto links = [](pid_t pid) {
        std::multiset<std::string> all;
        for (const auto& each : std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", pid))) {
            std::error_code closed;
            all.insert(std::filesystem::read_symlink(each.path(), closed).string());
        }
        return all;
    };
    const auto theirs = links(other);
    return static_cast<std::size_t>(
        std::ranges::count_if(links(process), [&](const std::string& link) { return theirs.contains(link); }));
}

// Returns when each of its threads is stopped.
void stop_all_threads(Daemon& daemon)
{
    daemon.process().signal(SIGSTOP);
    siginfo_t stopped{};
    must(waitid(P_PID, static_cast<id_t>(daemon.process().pid()), &stopped, WSTOPPED) == 0, "waitid");
}

// Who had the pid before was to be adopted; the daemon hears of that only when another program has pid and number.
TEST_F(AdoptionAttack, APidThatIsUsedAgain)
{
    constexpr std::uint32_t kNumber = 88'888;
    Daemon daemon(adopting());
    for (const bool was_adopted : {false, true}) {
        SCOPED_TRACE(was_adopted ? "adopted before" : "not adopted yet");
        auto first = std::make_unique<Stranger>(StrangerOptions{"stranger-rpc"});
        const pid_t pid = first->pid();
        const std::size_t shared_before = descriptors_shared(daemon.process().pid(), pid);
        if (!was_adopted) {
            stop_all_threads(daemon);
        }
        emulator(fmt::format("next-qp mlx5_0 {}", kNumber));
        first->make(IBV_QPT_RC, Towards::Bulk);
        if (was_adopted) {
            EXPECT_TRUE(comes_to(kNumber, kInBulk));
            // While the daemon has a file of the program's open, the queue pair outlives the program.
            ASSERT_TRUE(eventually([&] {
                stop_all_threads(daemon);
                const bool rests = descriptors_shared(daemon.process().pid(), pid) == shared_before;
                if (!rests) {
                    daemon.process().signal(SIGCONT);
                }
                return rests;
            }));
        }
        first->kill();
        first.reset();
        ASSERT_TRUE(eventually([&] { return !places(emulated_device()).contains(kNumber); }));
        std::this_thread::sleep_for(50ms);    // start times are told in hundredths of a second
        {
            Stranger second({"other", "mlx5_0", [pid] { become_process(pid); }});
            emulator(fmt::format("next-qp mlx5_0 {}", kNumber));
            EXPECT_EQ(second.make(IBV_QPT_RC, Towards::Bulk), kNumber);
            EXPECT_EQ(second.pid(), pid);
            daemon.process().signal(SIGCONT);
            Stranger witness({"stranger-rpc"});
            EXPECT_TRUE(comes_to(witness.make(IBV_QPT_UD), kInRpc));
            std::this_thread::sleep_for(300ms);
            EXPECT_EQ(place_of(kNumber), kNowhere) << "no rule is for it";
        }
        expect_all_is_gone(daemon);
    }
}

// Its session ends with it. Its leaf is in use as long as the child has the file, which is nobody else's concern.
TEST_F(AdoptionAttack, QueuePairsThatAreLeftToAChild)
{
    Daemon daemon(adopting());
    {
        Bystander bystander(daemon);
        {
            Stranger parent({"stranger-rpc"}, [](Verbs& verbs, const Line& line) {
                line.say(verbs.make(IBV_QPT_UD)->qp_num);
                line.hear();
                const pid_t child = fork();
                must(child >= 0, "fork");
                while (child == 0 && !line.has_something()) {    // also its end
                    usleep(10'000);
                }
                _exit(0);
            });
            const auto left = parent.line().hear();
            EXPECT_TRUE(comes_to(left, kInRpc));
            EXPECT_EQ(daemon.sessions(), 2U);
            parent.line().say(1U);
            EXPECT_TRUE(eventually([&] { return daemon.sessions() == 1; })) << told(daemon);
            bystander.live(1000ms);
            EXPECT_TRUE(places(emulated_device()).contains(left)) << "the child has it";
            EXPECT_EQ(daemon.sessions(), 1U) << told(daemon);
        }
        bystander.expect_unharmed("left_to_a_child");
    }
    expect_all_is_gone(daemon);
}

// What a process has open cannot be seen any more when its first thread has ended.
TEST_F(AdoptionAttack, AThreadLeaderThatHasEnded)
{
    if (!on_kernel()) {
        GTEST_SKIP() << "the emulator reaches a program's memory by its first thread";
    }
    Daemon daemon(adopting());
    Bystander bystander(daemon);
    {
        Stranger leaderless({"stranger-rpc"}, [](Verbs& verbs, const Line& line) {
            std::thread([&verbs, line] {
                usleep(50'000);
                for (int i = 0; i < 5; ++i) {
                    line.say(verbs.make(IBV_QPT_RC, Towards::Bulk)->qp_num);
                }
                while (true) {
                    pause();
                }
            }).detach();
            syscall(SYS_exit, 0);
        });
        std::vector<std::uint32_t> numbers;
        for (int i = 0; i < 5; ++i) {
            numbers.push_back(leaderless.line().hear());
        }
        bystander.live(1000ms);
        const auto out = elsewhere(numbers, kInBulk);
        EXPECT_THAT(elsewhere(numbers, kNowhere).size() + out.size(), 5U) << "in no other leaf";
        tell("without_leader", fmt::format("{} of 5 adopted; {}", 5 - out.size(), told(daemon)));
        bystander.expect_unharmed("leaderless");
    }
    EXPECT_TRUE(eventually([] { return emulated_device().at("files") == 2; })) << "the bystander's, and the daemon's";
}

// It is adopted by what it has, not by what it does.
TEST_F(AdoptionAttack, ProgramsThatAreStopped)
{
    Daemon daemon(adopting());
    {
        Bystander bystander(daemon);
        std::vector<std::unique_ptr<Stranger>> stopped;
        std::minstd_rand random(1);
        for (int i = 0; i < 8; ++i) {
            stopped.push_back(
                std::make_unique<Stranger>(StrangerOptions{"stranger"}, [](Verbs& verbs, const Line& line) {
                    while (true) {
                        if (verbs.all().size() > 8) {
                            verbs.destroy(verbs.all().front()->qp_num);
                        }
                        verbs.make(IBV_QPT_RC, Towards::Bulk);
                        if (verbs.all().size() == 8) {
                            line.say(0U);
                        }
                    }
                }));
            stopped.back()->line().hear();
            std::this_thread::sleep_for(std::chrono::milliseconds(random() % 20));
            stopped.back()->signal(SIGSTOP);    // in the middle of whatever
        }
        bystander.live(1000ms);
        std::size_t adopted = 0;
        std::size_t all = 0;
        const auto device = emulated_device();
        const auto where = places(device);
        for (const auto& each : device.at("queue-pairs")) {
            const auto place = where.at(each.at("qpn"));
            const bool is_ready = each.at("state") == "RTS" && each.at("type") == "rc";
            all += is_ready ? 1U : 0U;
            adopted += is_ready && place == kInBulk ? 1U : 0U;
            EXPECT_TRUE(place == kInBulk || place == kNowhere || place == kInRpc) << place;
        }
        tell("stopped", fmt::format("{} of {} adopted", adopted, all));
        EXPECT_EQ(adopted, all);
        bystander.expect_unharmed("stopped");
        for (const auto& each : stopped) {
            each->signal(SIGCONT);
            each->kill();
        }
    }
    expect_all_is_gone(daemon);
}

TEST_F(AdoptionAttack, ThousandsOfQueuePairs)
{
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    constexpr std::uint32_t kMany = 1500;    // 5000 would take a minute or two
#else
    constexpr std::uint32_t kMany = 5000;
#endif
    Daemon daemon(adopting());
    for (const bool same_user : {true, false}) {
        const std::uint32_t count = on_kernel() ? 400 : same_user ? kMany : 1000;
        const std::string name = same_user ? "of_the_same_user" : "of_another_user";
        SCOPED_TRACE(name);
        {
            Bystander bystander(daemon);
            Stranger many({"stranger", "mlx5_0", same_user ? std::function<void()>() : become_nobody});
            const double started = seconds_now();
            const auto numbers = many.make(IBV_QPT_RC, Towards::Bulk, count);
            const double made = seconds_now();
            bystander.live(1000ms);
            // How long it takes is told.
            EXPECT_TRUE(eventually([&] { return elsewhere(numbers, kInBulk).empty(); }, kManyHung)) << told(daemon);
            tell(name + "_adopted", fmt::format("{} made in {:.1f} s, all adopted {:.1f} s later", count,
                                                made - started, seconds_now() - made));
            bystander.expect_unharmed(name);
        }
        expect_all_is_gone(daemon);
    }
}

// ---- where it cannot be done ----

TEST_F(AdoptionAttack, ADaemonWithoutThePrivilegeSaysSo)
{
    std::thread([] {
        // Of this thread, and of the daemon that it starts.
        must(prctl(PR_CAPBSET_DROP, CAP_SYS_PTRACE) == 0, "to drop CAP_SYS_PTRACE");
        Daemon daemon(adopting());
        Stranger stranger({"stranger-rpc"});
        const auto number = stranger.make(IBV_QPT_UD);
        EXPECT_TRUE(eventually([&] { return daemon.log().find("no program is adopted") != std::string::npos; }));
        EXPECT_NE(told(daemon).find("rdma-qosd lacks CAP_SYS_PTRACE"), std::string::npos) << told(daemon);
        std::this_thread::sleep_for(kMoment);
        EXPECT_EQ(place_of(number), kNowhere);
    }).join();
}

}    // namespace
}    // namespace rdmaqos::test
