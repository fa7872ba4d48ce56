// Adoption (`unregistered: adopt`) of programs that use stock libibverbs and never speak to the daemon: below the
// emulator, and on a real kernel (tests/kernel); on firmware that isolates user contexts, and that does not. What is
// expected is read from the firmware, never from the daemon.
#include <chrono>
#include <random>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/sysmacros.h>

#include "lib/base/signal_process.h"
#include "tests/nic_mlx5/figures.h"
#include "tests/nic_mlx5/restarted_daemon.h"
#include "tests/nic_mlx5/stranger.h"
#include "tests/support/namespaces.h"

namespace rdmaqos::test {
namespace {

using namespace std::chrono_literals;
using ::testing::IsEmpty;

class Adoption : public AdoptionTest {};

// Of queue pairs that must be left alone: as long as it takes to adopt another one, and some more.
void give_it_time()
{
    Stranger witness({"stranger-rpc"});
    EXPECT_TRUE(comes_to(witness.make(IBV_QPT_UD), kInRpc));
    std::this_thread::sleep_for(100ms);
}

// Nothing but the daemon's own is left, and no element but those it needs.
void expect_nothing_left(const Daemon& daemon)
{
    EXPECT_TRUE(eventually([] { return emulated_device().at("files") == 1; })) << emulated_device().at("files");
    EXPECT_TRUE(emulated_device().at("queue-pairs").empty());
    const std::size_t elements = firmware_isolates() ? 0
                                                     : 5;    // without a principal in rpc: root, three levels, DEFAULT
    EXPECT_TRUE(eventually([&] { return emulated_device().at("elements") == elements; })) << emulated_device().dump(2);
    EXPECT_EQ(emulated_device().at("leaked"), 0);
    EXPECT_TRUE(eventually([&] { return daemon.sessions() == 0; }));
}

// ---- whom it takes in ----

TEST_F(Adoption, ByIdentityAndByDestination)
{
    const Daemon daemon(adopting());
    {
        Stranger stranger({"stranger-rpc"});
        std::map<std::uint32_t, std::string> expected;
        for (const auto type : {IBV_QPT_RC, IBV_QPT_UC}) {
            expected[stranger.make(type, Towards::Bulk)] = kInBulk;
            expected[stranger.make(type, Towards::Storage)] = kInStorage;
            expected[stranger.make(type, Towards::Nowhere)] = kInRpc;
        }
        expected[stranger.make(IBV_QPT_UD)] = kInRpc;
        EXPECT_TRUE(eventually([&] { return places(emulated_device()) == expected; })) << emulated_device().dump(2);
    }
    expect_nothing_left(daemon);
}

TEST_F(Adoption, LeavesOthersAlone)
{
    const Daemon daemon(adopting());
    Stranger unnamed({"other"});
    Stranger without_destination({"stranger"});
    const std::vector<std::uint32_t> alone{unnamed.make(IBV_QPT_RC, Towards::Bulk), unnamed.make(IBV_QPT_UD),
                                           without_destination.make(IBV_QPT_RC, Towards::Nowhere),
                                           without_destination.make(IBV_QPT_UD)};
    give_it_time();
    EXPECT_THAT(elsewhere(alone, kNowhere), IsEmpty());
}

TEST_F(Adoption, ThoseWhoRanBefore)
{
    Stranger stranger({"stranger-rpc"});
    Stranger other({"stranger"});
    const auto first = stranger.make(IBV_QPT_RC, Towards::Storage);
    const auto second = stranger.make(IBV_QPT_UD);
    const auto third = other.make(IBV_QPT_UC, Towards::Bulk);
    const Daemon daemon(adopting());
    EXPECT_TRUE(comes_to(first, kInStorage));
    EXPECT_TRUE(comes_to(second, kInRpc));
    EXPECT_TRUE(comes_to(third, kInBulk));
}

TEST_F(Adoption, ByUserAndExecutable)
{
    std::string policy = kAdoptingPolicy;
    policy += R"(  - {client: {user: ["65534"]}, qos-level-name: storage}
  - {client: {executable: ["*_adoption_test"]}, qos-level-name: bulk}
)";
    const Daemon daemon(adopting(policy));
    Stranger nobody({"other", "mlx5_0", become_nobody});
    Stranger root({"other"});
    EXPECT_TRUE(comes_to(nobody.make(IBV_QPT_RC), kInStorage));
    EXPECT_TRUE(comes_to(root.make(IBV_QPT_RC), kInBulk));
}

TEST_F(Adoption, OfAnotherUserWhoIsNotDumpable)
{
    const Daemon daemon(adopting());
    Stranger stranger({"stranger-rpc", "mlx5_0", become_nobody, false});
    EXPECT_TRUE(comes_to(stranger.make(IBV_QPT_RC, Towards::Bulk), kInBulk));
    EXPECT_TRUE(comes_to(stranger.make(IBV_QPT_UD), kInRpc));
}

TEST_F(Adoption, InAContainer)
{
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "a thread of the thread sanitizer keeps a process out of user namespaces";
#endif
    if (const auto why = why_no_namespaces(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS); !why.empty()) {
        GTEST_SKIP() << "no namespaces can be made here: " << why;
    }
    const Daemon daemon(adopting());
    for (const bool as_root : {true, false}) {
        SCOPED_TRACE(as_root ? "of root" : "of another user");
        Stranger stranger({"stranger-rpc", "mlx5_0", [as_root] {
                               if (!as_root) {
                                   become_nobody();
                               }
                               enter_container(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS);
                           }});
        EXPECT_TRUE(comes_to(stranger.make(IBV_QPT_RC, Towards::Bulk), kInBulk));
        EXPECT_TRUE(comes_to(stranger.make(IBV_QPT_UD), kInRpc));
    }
}

// The opening of its node is not seen, and the node has a name of its own.
TEST_F(Adoption, InAContainerWithItsOwnDeviceNode)
{
    if (!on_kernel()) {
        GTEST_SKIP() << "the emulator's devices have no nodes";
    }
    const Daemon daemon(adopting());
    Stranger stranger({"stranger-rpc", "mlx5_0", [] {
                           struct stat node {};
                           must(stat("/dev/infiniband/uverbs0", &node) == 0, "stat");
                           enter_container(CLONE_NEWPID | CLONE_NEWNS);
                           must(mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0, "private");
                           must(mount("none", "/dev/infiniband", "tmpfs", 0, nullptr) == 0, "tmpfs");
                           must(mknod("/dev/infiniband/uverbs0", S_IFCHR, node.st_rdev) == 0, "mknod");
                           must(chmod("/dev/infiniband/uverbs0", 0666) == 0, "chmod");
                           become_nobody();
                       }});
    EXPECT_TRUE(comes_to(stranger.make(IBV_QPT_RC, Towards::Bulk), kInBulk));
    EXPECT_TRUE(comes_to(stranger.make(IBV_QPT_UD), kInRpc));
}

TEST_F(Adoption, TwoDevicesInOneProcess)
{
    const Daemon daemon(adopting());
    const Stranger stranger({"stranger-rpc"}, [](Verbs& first, const Line& line) {
        Verbs second("mlx5_1");
        line.say(first.make(IBV_QPT_RC, Towards::Bulk)->qp_num);
        line.say(second.make(IBV_QPT_RC, Towards::Storage)->qp_num);
        line.say(second.make(IBV_QPT_UD)->qp_num);
        pause();
    });
    const auto on_first = stranger.line().hear();
    const auto on_second = stranger.line().hear();
    const auto datagrams = stranger.line().hear();
    EXPECT_TRUE(comes_to(on_first, kInBulk));
    EXPECT_TRUE(comes_to(on_second, kInStorage, "mlx5_1"));
    EXPECT_TRUE(comes_to(datagrams, kInRpc, "mlx5_1"));
}

// Two files of one device: numbers are told apart by the file they are in.
TEST_F(Adoption, TwoFilesOfOneDeviceInOneProcess)
{
    const Daemon daemon(adopting());
    const Stranger stranger({"stranger-rpc"}, [](Verbs& first, const Line& line) {
        Verbs second;
        for (int i = 0; i < 4; ++i) {
            line.say(first.make(IBV_QPT_RC, Towards::Bulk)->qp_num);
            line.say(second.make(IBV_QPT_RC, Towards::Storage)->qp_num);
        }
        pause();
    });
    for (int i = 0; i < 4; ++i) {
        EXPECT_TRUE(comes_to(stranger.line().hear(), kInBulk));
        EXPECT_TRUE(comes_to(stranger.line().hear(), kInStorage));
    }
}

// A queue pair is of the process that made it, whoever else has the file.
TEST_F(Adoption, AChildThatSharesTheFile)
{
    const Daemon daemon(adopting());
    {
        Stranger parent({"stranger-rpc"}, [](Verbs& verbs, const Line& line) {
            line.say(verbs.make(IBV_QPT_RC, Towards::Bulk)->qp_num);
            const pid_t child = fork();
            if (child == 0) {
                prctl(PR_SET_NAME, "stranger-child");
                line.say(verbs.make(IBV_QPT_RC, Towards::Storage)->qp_num);
                while (true) {
                    pause();
                }
            }
            line.say(static_cast<std::uint32_t>(child));
            while (true) {
                pause();
            }
        });
        const auto of_parent = parent.line().hear();
        const std::uint32_t said[] = {parent.line().hear(), parent.line().hear()};
        // The queue pair may be named before the process.
        const bool number_first = places(emulated_device()).contains(said[0]);
        const auto of_child = said[number_first ? 0 : 1];
        const auto child = static_cast<pid_t>(said[number_first ? 1 : 0]);
        EXPECT_TRUE(comes_to(of_parent, kInBulk));
        EXPECT_TRUE(comes_to(of_child, kInStorage)) << told(daemon);
        parent.kill();
        std::this_thread::sleep_for(200ms);
        EXPECT_EQ(place_of(of_child), kInStorage);
        EXPECT_EQ(emulated_device().at("files"), 2) << "the child's, and the daemon's own";
        signal_process(child, SIGKILL);
    }
    expect_nothing_left(daemon);
}

// ---- how it ends ----

// While the daemon holds a file, what is in it outlives its program: it may not, whenever the program ends.
TEST_F(Adoption, NothingOutlivesAKilledProgram)
{
    Daemon daemon(adopting());
    Figures figures;
    // Who sees to it that it goes; without the time in which they had no processor.
    ReadyButWaiting watching;
    watching.add(daemon.process().pid());
    watching.add_own_thread();
    if (!on_kernel()) {
        watching.add(getppid());    // the emulator
    }
    std::minstd_rand random(1);
    for (int round = 0; round < (on_kernel() ? 10 : 25); ++round) {
        Stranger stranger({"stranger-rpc"});
        stranger.make(IBV_QPT_RC, Towards::Bulk, 8);
        stranger.make(IBV_QPT_UD, Towards::Nowhere, 8);
        std::this_thread::sleep_for(
            std::chrono::milliseconds(random() % 60));    // before, while and after it is adopted
        const TimeOfOurs time(watching);
        stranger.kill();
        double last_there = 0;
        EXPECT_TRUE(eventually([&] {
            const double now = time.seconds();
            const auto device = emulated_device();
            const bool is_gone = device.at("files") == 1 && device.at("queue-pairs").empty();
            last_there = is_gone ? last_there : now;
            return is_gone;
        }));
        figures.add(last_there);
    }
    tell("seen_after_the_kill", figures.in_milliseconds());
    EXPECT_LT(figures.quantile(1), 0.1);
    expect_nothing_left(daemon);
}

TEST_F(Adoption, WhatItsProgramDestroysIsForgotten)
{
    const Daemon daemon(adopting());
    {
        Stranger stranger({"stranger-rpc"});
        const auto kept = stranger.make(IBV_QPT_UD);
        const auto made = stranger.make(IBV_QPT_RC, Towards::Bulk, 20);
        EXPECT_TRUE(eventually([&] { return elsewhere(made, kInBulk).empty(); }));
        for (const auto number : made) {
            EXPECT_EQ(stranger.destroy(number), 0);
        }
        // In leaves of the process's own, that of bulk has gone: root, rpc, and the process's leaf in it remain.
        EXPECT_TRUE(eventually([] { return !firmware_isolates() || emulated_device().at("elements") == 3; }));
        EXPECT_EQ(place_of(kept), kInRpc);
    }
    expect_nothing_left(daemon);
}

// ---- what changes it ----

class Reloading {
public:
    explicit Reloading(Daemon& daemon) : daemon_(daemon) {}
    void with_policy(const std::string& policy) const { change("policy.yaml", policy); }
    void with_settings(const std::string& settings) const { change("rdma-qosd.yaml", settings); }

private:
    void change(const char* file, const std::string& text) const
    {
        daemon_.dir().write(std::string("etc/rdma-qos/") + file, text);
        daemon_.process().signal(SIGHUP);
    }

    Daemon& daemon_;
};

std::string replaced(std::string text, const std::string& what, const std::string& with)
{
    const auto at = text.find(what);
    return at == std::string::npos ? throw std::logic_error(what) : text.replace(at, what.size(), with);
}

TEST_F(Adoption, ReloadsMoveWhatIsAdopted)
{
    Daemon daemon(adopting());
    const Reloading reload(daemon);
    {
        Stranger stranger({"stranger"});
        const auto bulk = stranger.make(IBV_QPT_RC, Towards::Bulk);
        const auto storage = stranger.make(IBV_QPT_UC, Towards::Storage);
        const auto datagrams = stranger.make(IBV_QPT_UD);
        EXPECT_TRUE(comes_to(bulk, kInBulk));
        EXPECT_TRUE(comes_to(storage, kInStorage));
        // The other way round, and a rule for the third.
        std::string other = replaced(kAdoptingPolicy, "[bulk-side], qos-level-name: bulk",
                                     "[bulk-side], qos-level-name: storage");
        other = replaced(other, "[storage-side], qos-level-name: storage", "[storage-side], qos-level-name: bulk");
        other = replaced(other, "[stranger-rpc]", "[stranger]");
        reload.with_policy(other);
        EXPECT_TRUE(comes_to(bulk, kInStorage));
        EXPECT_TRUE(comes_to(storage, kInBulk));
        EXPECT_TRUE(comes_to(datagrams, kInRpc));
        // A level that changes; no rule for the third again: it is let go.
        reload.with_policy(replaced(kAdoptingPolicy, "share: 20", "share: 21"));
        EXPECT_TRUE(comes_to(bulk, "rate 0 share 21 < root"));
        EXPECT_TRUE(comes_to(storage, kInStorage));
        EXPECT_TRUE(comes_to(datagrams, kNowhere));
    }
    expect_nothing_left(daemon);
}

// A daemon that was restarted finds them where they are, and asks for each once.
TEST_F(Adoption, ARestartPlacesNothingAgain)
{
    RestartedDaemon daemon(kAdoptingPolicy, kAdopting);
    Stranger stranger({"stranger-rpc"});
    std::map<std::uint32_t, std::string> expected;
    for (const auto number : stranger.make(IBV_QPT_RC, Towards::Bulk, 300)) {
        expected[number] = kInBulk;
    }
    for (const auto number : stranger.make(IBV_QPT_UC, Towards::Storage, 5)) {
        expected[number] = kInStorage;
    }
    for (const auto number : stranger.make(IBV_QPT_UD, Towards::Nowhere, 5)) {
        expected[number] = kInRpc;
    }
    const auto adopts_all = [&] {
        const auto status = nlohmann::json::parse(daemon.ctl("status --json").output, nullptr, false);
        return status.is_object() && status.at("queue-pairs").at("inside") == expected.size() &&
               places(emulated_device()) == expected;
    };
    ASSERT_TRUE(eventually(adopts_all)) << daemon.ctl("status").output;
    const std::string before = tree_of(emulated_device());
    Trace trace;
    daemon.restart();
    ASSERT_TRUE(eventually(adopts_all)) << daemon.ctl("status").output;
    EXPECT_THAT(trace.writes(), IsEmpty());
    EXPECT_EQ(tree_of(emulated_device()), before);
    std::map<std::string, std::size_t> calls;
    std::size_t all = 0;
    for (const auto& call : trace.calls()) {
        const auto& fields = call.at("fields");
        // The kernel's own queries for RDMA netlink have no handle; of a pair that is none no command is sent.
        if (call.at("device") == "mlx5_0" && fields.contains("handle") && call.at("result") == "ok") {
            ++calls[Trace::command_of(call)];
            ++all;
        }
    }
    EXPECT_LE(all, expected.size() * 6 / 5) << ::testing::PrintToString(calls);
    // What then goes elsewhere is placed.
    daemon.set_policy(
        replaced(kAdoptingPolicy, "[bulk-side], qos-level-name: bulk", "[bulk-side], qos-level-name: storage"));
    ASSERT_TRUE(daemon.reload());
    for (auto& [number, place] : expected) {
        place = place == kInBulk ? kInStorage : place;
    }
    EXPECT_TRUE(eventually(adopts_all)) << daemon.ctl("status").output;
}

TEST_F(Adoption, IsLetGoWhenItIsSwitchedOff)
{
    Daemon daemon(adopting());
    const Reloading reload(daemon);
    Stranger stranger({"stranger-rpc"});
    Stranger other({"stranger-rpc"});
    auto numbers = stranger.make(IBV_QPT_RC, Towards::Bulk, 100);
    EXPECT_TRUE(eventually([&] { return elsewhere(numbers, kInBulk).empty(); }));
    const auto datagrams = other.make(IBV_QPT_UD);
    EXPECT_TRUE(comes_to(datagrams, kInRpc));
    numbers.push_back(datagrams);
    const auto expect_free = [&] {
        EXPECT_TRUE(eventually([&] { return elsewhere(numbers, kNowhere).empty(); }));
        // In the programs' own files too.
        EXPECT_TRUE(eventually([] { return emulated_device().at("elements") == (firmware_isolates() ? 0 : 5); }))
            << emulated_device().dump(2);
        EXPECT_EQ(daemon.sessions(), 0U);
        EXPECT_EQ(emulated_device().at("files"), 3) << "the programs run on";
    };
    const auto expect_in = [&] {
        EXPECT_TRUE(comes_to(datagrams, kInRpc));
        EXPECT_TRUE(eventually([&] { return elsewhere(numbers, kInBulk).size() == 1; })) << "the datagrams'";
    };
    for (const char* word : {"count", "ignore"}) {
        SCOPED_TRACE(word);
        reload.with_settings(fmt::format("version: 1\nunregistered: {}\n", word));
        expect_free();
        const auto late = other.make(IBV_QPT_UD);
        std::this_thread::sleep_for(300ms);
        EXPECT_EQ(place_of(late), kNowhere);
        EXPECT_EQ(other.destroy(late), 0);
        reload.with_settings(kAdopting);
        expect_in();
    }
    // By the level, or by the rule.
    const std::string policy = kAdoptingPolicy;
    for (const char* key : {"name: bulk, schedule", "destination: [bulk-side]"}) {
        SCOPED_TRACE(key);
        std::string without = replaced(policy, key, std::string("adopt: no, ") + key);
        reload.with_policy(without);
        EXPECT_TRUE(eventually([&] { return elsewhere(numbers, kNowhere).size() == 1; }));
        EXPECT_EQ(place_of(datagrams), kInRpc);
        reload.with_policy(policy);
        expect_in();
    }
    EXPECT_EQ(emulated_device().at("leaked"), 0);
}

TEST_F(Adoption, AProgramThatRegistersLaterTakesItselfOver)
{
    const Daemon daemon(adopting());
    {
        const Stranger stranger({"stranger-rpc"}, [&](Verbs& verbs, const Line& line) {
            ibv_qp* made[] = {verbs.make(IBV_QPT_RC, Towards::Bulk), verbs.make(IBV_QPT_UD)};
            line.say(made[0]->qp_num);
            line.say(made[1]->qp_num);
            line.hear();    // they are adopted
            auto client = daemon.direct();
            bus::Dict request;
            request.set("level", "storage");
            request.set("device", "mlx5_0");
            const auto session = register_session(client, request).value().path;
            for (const auto* each : made) {
                auto results = test::attach(client, session, {request_for(verbs.here(), const_cast<ibv_qp*>(each))});
                line.say(error_of(results.value().at(0)) == "absent" ? 1U : 0U);
                line.hear();
            }
            const auto late = verbs.make(IBV_QPT_RC, Towards::Bulk);
            line.say(late->qp_num);
            pause();
        });
        const auto first = stranger.line().hear();
        const auto second = stranger.line().hear();
        EXPECT_TRUE(comes_to(first, kInBulk));
        EXPECT_TRUE(comes_to(second, kInRpc));
        stranger.line().say(1U);
        EXPECT_EQ(stranger.line().hear(), 1U);
        EXPECT_EQ(place_of(first), kInStorage);
        EXPECT_EQ(place_of(second), kInRpc) << "it has not asked for that yet";
        EXPECT_EQ(daemon.sessions(), 2U);
        stranger.line().say(1U);
        EXPECT_EQ(stranger.line().hear(), 1U);
        EXPECT_EQ(place_of(second), kInStorage);
        EXPECT_EQ(daemon.sessions(), 1U) << "of the daemon's own nothing is left";
        stranger.line().say(1U);
        const auto late = stranger.line().hear();
        std::this_thread::sleep_for(200ms);
        EXPECT_EQ(place_of(late), kNowhere) << "whoever has registered sees to his queue pairs himself";
    }
    expect_nothing_left(daemon);
}

}    // namespace
}    // namespace rdmaqos::test
