// rdma-qosd is killed and started again, with what it left in the service manager's store. What is expected is read
// from the emulator: its elements, where queue pairs are, and what was written.
#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "tests/nic_mlx5/restarted_daemon.h"
#include "tests/support/threads.h"

namespace rdmaqos::test {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr const char* kPlain = R"(version: 1
qos-levels:
  - {name: DEFAULT, sl: 0}
  - {name: rpc, schedule: {share: 60, max-rate: 40Gbps}}
  - {name: bulk, schedule: {share: 20}}
  - {name: storage, schedule: {share: 7, max-rate: 25Gbps}}
)";
// Elements come and go, and both levels are elsewhere.
constexpr const char* kOther = R"(version: 1
scheduling-nodes:
  - {name: apps, share: 5, max-rate: 60Gbps}
  - {name: jobs, share: 6}
qos-levels:
  - {name: DEFAULT, sl: 0}
  - {name: rpc, schedule: {parent: apps, share: 61, max-rate: 30Gbps}}
  - {name: bulk, schedule: {parent: jobs, share: 21}}
  - {name: archive, schedule: {parent: jobs, share: 3}}
)";

constexpr const char* kInRpc = "rate 40000 share 60 < root";
constexpr const char* kInBulk = "rate 0 share 20 < root";

class Mlx5Restart : public ::testing::Test {
protected:
    void TearDown() override { make_as_it_was(); }
    // The descriptors that are kept of so many devices: a record, and the file that shared elements are in.
    static std::size_t kept_of(std::size_t devices) { return devices * (firmware_isolates() ? 1 : 2); }
};

TEST_F(Mlx5Restart, AnUnchangedPolicyWritesNothing)
{
    RestartedDaemon daemon(kPlain);
    EXPECT_THAT(daemon.manager.kept(), SizeIs(kept_of(2)));
    Program program(daemon.direct(), "rpc");
    const auto number = program.join(IBV_QPT_RC);
    const auto before = emulated_device();
    Trace trace;
    daemon.kill();
    EXPECT_EQ(tree_of(emulated_device()), tree_of(before)) << "while nobody is there";
    EXPECT_EQ(place_of(number), kInRpc);
    daemon.start();
    EXPECT_THAT(trace.writes(), IsEmpty());
    EXPECT_EQ(tree_of(emulated_device()), tree_of(before));
    EXPECT_EQ(places(emulated_device()), places(before));
    EXPECT_THAT(daemon.said(),
                HasSubstr("mlx5_0/1: goes on with 4 elements and 1 queue pair that an earlier rdma-qosd left"));
    printf("ready after %lld ms\n",
           static_cast<long long>(std::chrono::duration_cast<std::chrono::milliseconds>(daemon.ready_after).count()));
}

// Three times, with programs that register again each time, as those of the C library do.
TEST_F(Mlx5Restart, FiftyProgramsNoticeNothing)
{
    constexpr std::size_t kPrograms = 50;
    RestartedDaemon daemon(kPlain);
    std::vector<std::unique_ptr<Program>> programs;
    std::map<std::uint32_t, std::string> expected;
    for (std::size_t i = 0; i < kPrograms; ++i) {
        programs.push_back(std::make_unique<Program>(daemon.direct(), i % 2 == 0 ? "rpc" : "bulk"));
        expected[programs.back()->join(IBV_QPT_RC)] = i % 2 == 0 ? kInRpc : kInBulk;
    }
    const auto before = emulated_device();
    ASSERT_EQ(places(before), expected);
    Trace trace;
    for (int round = 0; round < 3; ++round) {
        trace.clear();
        daemon.restart();
        ASSERT_THAT(trace.writes(), IsEmpty()) << "round " << round;
        trace.clear();
        for (auto& program : programs) {
            ASSERT_EQ(error_of(program->register_again(daemon.direct())), "absent");
        }
        ASSERT_THAT(trace.writes(), SizeIs(kPrograms)) << "one for each, round " << round;
        const auto now = emulated_device();
        ASSERT_EQ(tree_of(now), tree_of(before)) << "round " << round;
        ASSERT_EQ(places(now), expected) << "round " << round;
    }
}

TEST_F(Mlx5Restart, AnotherPolicyIsReachedFromWhatWasLeft)
{
    RestartedDaemon daemon(kPlain);
    Program program(daemon.direct(), "rpc");
    const auto number = program.join(IBV_QPT_RC);
    const std::size_t before = emulated_device().at("tree").size();
    daemon.kill();
    daemon.set_policy(kOther);
    daemon.start();
    EXPECT_EQ(place_of(number), kInRpc) << "it stays where it was";
    if (!firmware_isolates()) {    // else each program's is made when it registers
        EXPECT_THAT(ways(emulated_device()), Contains("rate 30000 share 61 < rate 60000 share 5 < root"));
    }
    ASSERT_EQ(error_of(program.register_again(daemon.direct())), "absent");
    EXPECT_EQ(place_of(number), "rate 30000 share 61 < rate 60000 share 5 < root");
    EXPECT_TRUE(eventually([&] {
        return emulated_device().at("tree").size() == before + (firmware_isolates() ? 1 : 2);
    })) << "the leaf that was left goes: "
        << tree_of(emulated_device());
}

// A leaf of a process stays while that process runs, although it does not register again.
TEST_F(Mlx5Restart, AProcessThatDoesNotComeBackKeepsItsLeafUntilItEnds)
{
    RestartedDaemon daemon(kThreeClasses);
    Processes processes;
    Child& victim = processes.start([&](const Processes::Say& say) {
        auto* program = new Program(daemon.direct(), "rpc");
        say(program->join(IBV_QPT_RC));
    });
    const auto number = processes.hear(1).at(0);
    const auto before = emulated_device();
    for (int round = 0; round < 2; ++round) {
        daemon.restart();
        EXPECT_EQ(tree_of(emulated_device()), tree_of(before)) << round;
        EXPECT_EQ(place_of(number), kPlaceOf[0]);
    }
    victim.signal(SIGKILL);
    EXPECT_TRUE(eventually([&] { return emulated_device().at("tree").size() < before.at("tree").size(); }));
    EXPECT_EQ(leaked_elements(), 0U);
}

// Elements are in the programs' files, and every program has its own.
TEST_F(Mlx5Restart, AFileThatSomebodyElseHasIsNotTakenForTheOneThatWasLeft)
{
    RestartedDaemon daemon(kPlain);
    Processes processes;
    Child& first = processes.start([&](const Processes::Say& say) {
        auto* program = new Program(daemon.direct(), "rpc");
        say(program->join(IBV_QPT_RC));
    });
    const auto of_first = processes.hear(1).at(0);
    daemon.restart();
    Program second(daemon.direct(), "rpc");
    const auto of_second = second.join(IBV_QPT_RC);
    EXPECT_EQ(place_of(of_first), kInRpc);
    EXPECT_EQ(place_of(of_second), kInRpc);
    first.signal(SIGKILL);
    EXPECT_TRUE(eventually([&] { return place_of(of_first) == "absent"; }));
    EXPECT_EQ(place_of(of_second), kInRpc);
    EXPECT_TRUE(second.detach(of_second));
    if (firmware_isolates()) {
        EXPECT_TRUE(eventually([] { return emulated_device().at("tree").empty(); })) << tree_of(emulated_device());
    }
}

// A device without a class is left alone; how queue pairs are attached is found out with the first one.
TEST_F(Mlx5Restart, WhatWasTestedWithTheFirstClassIsKeptAsWell)
{
    RestartedDaemon daemon("version: 1\nqos-levels:\n  - {name: DEFAULT, sl: 0}\n");
    daemon.set_policy(kPlain);
    ASSERT_TRUE(daemon.reload());
    Program program(daemon.direct(), "rpc");
    const auto number = program.join(IBV_QPT_RC);
    EXPECT_THAT(daemon.manager.kept(), SizeIs(kept_of(2)));
    const auto before = tree_of(emulated_device());
    Trace trace;
    daemon.restart();
    EXPECT_THAT(trace.writes(), IsEmpty());
    ASSERT_EQ(error_of(program.register_again(daemon.direct())), "absent");
    EXPECT_THAT(trace.writes(), SizeIs(1));
    EXPECT_EQ(tree_of(emulated_device()), before);
    EXPECT_EQ(place_of(number), kInRpc);
}

// Each program has its part of a cap, also while some have not registered again.
TEST_F(Mlx5Restart, PartsOfACapStayAsTheyAre)
{
    RestartedDaemon daemon(kPlain, "version: 1\ncap-mode: divide\n");
    Program first(daemon.direct(), "rpc");
    static_cast<void>(first.join(IBV_QPT_RC));
    auto second = std::make_unique<Program>(daemon.direct(), "rpc");
    static_cast<void>(second->join(IBV_QPT_RC));
    const auto before = tree_of(emulated_device());
    daemon.kill();
    Trace trace;
    daemon.start();
    for (Program* program : {&first, second.get()}) {
        ASSERT_EQ(error_of(program->register_again(daemon.direct())), "absent");
        EXPECT_EQ(tree_of(emulated_device()), before);
    }
    EXPECT_THAT(trace.writes(), SizeIs(2)) << "of the two queue pairs";
}

// Between every two commands of a large reload. Each takes so long that the kill comes in the middle of one.
TEST_F(Mlx5Restart, KilledBetweenAnyTwoCommandsOfAReload)
{
    RestartedDaemon daemon(kPlain);
    Program program(daemon.direct(), "rpc");
    const auto number = program.join(IBV_QPT_RC);
    // A copy in a program's file of which the daemon was killed before it knew goes with the program.
    const auto has = [](const std::vector<std::string>& wanted) {
        const auto there = ways(emulated_device());
        return leaves_are_in_programs() ? std::ranges::includes(there, wanted) : there == wanted;
    };
    const auto plain = ways(emulated_device());
    daemon.set_policy(kOther);
    ASSERT_TRUE(daemon.reload());
    const auto other = ways(emulated_device());
    std::size_t kills = 0;
    for (std::size_t at = 0; at < 200; ++at) {
        daemon.set_policy(kPlain);
        daemon.restart();
        ASSERT_EQ(error_of(program.register_again(daemon.direct())), "absent");
        ASSERT_TRUE(eventually([&] { return has(plain); })) << at << ": " << tree_of(emulated_device());
        for (const auto* kind : {"create", "modify", "destroy", "attach"}) {
            emulator(std::string("delay ") + kind + " 200");
        }
        Trace trace;
        daemon.set_policy(kOther);
        std::atomic<bool> done = false;
        auto client = daemon.direct();    // who connects when it is killed hears of no reload
        std::thread reload(
            [&] { done = client.call(bus::names::kRoot, bus::names::kManager, "Reload", {}).has_value(); });
        const bool came = eventually([&] { return done || trace.writes().size() >= at; });
        daemon.kill();
        reload.join();
        if (!on_kernel()) {
            // A kernel lets a process end when its command has; the emulator carries it out later.
            std::this_thread::sleep_for(600ms);
            EXPECT_TRUE(eventually([] { return rests(getppid()); }));
        }
        emulator("clear");
        ASSERT_TRUE(came);
        kills += done ? 0 : 1;
        daemon.start();
        ASSERT_EQ(error_of(program.register_again(daemon.direct())), "absent");
        ASSERT_TRUE(eventually([&] { return has(other); })) << at << ": " << tree_of(emulated_device());
        EXPECT_EQ(place_of(number), "rate 30000 share 61 < rate 60000 share 5 < root");
        EXPECT_EQ(leaked_elements(), 0U);
        if (done) {
            break;
        }
    }
    printf("killed %zu times in the middle of a reload\n", kills);
    EXPECT_GT(kills, firmware_isolates() ? 1U : 4U) << "fewer commands than the reload has";
}

TEST_F(Mlx5Restart, IsReadyWhenItsTreeIsMade)
{
    if (firmware_isolates()) {
        GTEST_SKIP() << "each program's tree is made when it registers";
    }
    emulator("delay create 300");
    const RestartedDaemon daemon(kPlain);
    EXPECT_THAT(ways(emulated_device()), UnorderedElementsAre("root", kInRpc, kInBulk, "rate 25000 share 7 < root"));
}

// The device that was left is not the one that is there.
TEST_F(Mlx5Restart, ADeviceThatHasComeBackMeanwhileIsManagedAnew)
{
    RestartedDaemon daemon(kPlain);
    if (firmware_isolates()) {
        GTEST_SKIP() << "what was left is in files of programs, which are dead then";
    }
    const auto tree = ways(emulated_device());
    daemon.kill();
    // A kernel does so soon after.
    const auto is_there = [] { return access("/sys/class/infiniband/mlx5_0/ports/1/state", F_OK) == 0; };
    emulator("unplug mlx5_0");
    ASSERT_TRUE(!on_kernel() || eventually([&] { return !is_there(); }));
    emulator("plug mlx5_0");
    ASSERT_TRUE(!on_kernel() || eventually(is_there));
    daemon.start();
    EXPECT_TRUE(eventually([&] { return ways(emulated_device()) == tree; })) << daemon.said();
    EXPECT_THAT(daemon.said(), HasSubstr("mlx5_0/1 is not the device that an earlier rdma-qosd left"));
    daemon.restart();
    EXPECT_EQ(ways(emulated_device()), tree);
}

TEST_F(Mlx5Restart, ADeviceThatIsGoneIsForgotten)
{
    RestartedDaemon daemon(kPlain);
    daemon.kill();
    emulator("unplug mlx5_1");
    daemon.start();
    EXPECT_THAT(daemon.manager.kept(), SizeIs(kept_of(1)));
    EXPECT_THAT(daemon.said(), HasSubstr("that an earlier rdma-qosd managed is not there any longer"));
    emulator("plug mlx5_1");
    EXPECT_TRUE(eventually([&] { return daemon.manager.kept().size() == kept_of(2); }));
}

TEST_F(Mlx5Restart, ARecordThatIsDamagedCostsATreeAndNothingElse)
{
    RestartedDaemon daemon(kPlain);
    Program program(daemon.direct(), "rpc");
    const auto number = program.join(IBV_QPT_RC);
    const auto tree = ways(emulated_device());
    daemon.kill();
    for (const auto& name : daemon.manager.kept()) {
        if (name.ends_with(" record")) {
            daemon.manager.replace(name, UniqueFd(memfd_create("damaged", MFD_CLOEXEC)));
        }
    }
    daemon.start();
    EXPECT_THAT(daemon.said(), HasSubstr("the record that an earlier rdma-qosd left cannot be used: it is no log"));
    EXPECT_EQ(place_of(number), kInRpc);
    if (firmware_isolates()) {
        // In its own file nobody finds the elements any longer.
        EXPECT_THAT(text_of(program.register_again(daemon.direct()), "reason"),
                    HasSubstr("keep the places and rates of then until the program is started again"));
        return;
    }
    ASSERT_EQ(error_of(program.register_again(daemon.direct())), "absent");
    EXPECT_EQ(place_of(number), kInRpc);
    if (leaves_are_in_programs()) {
        GTEST_SKIP() << "nobody finds the leaf in the program's file, and the nodes above it stay as long";
    }
    daemon.restart();
    ASSERT_EQ(error_of(program.register_again(daemon.direct())), "absent");
    EXPECT_TRUE(eventually([&] { return ways(emulated_device()) == tree; }))
        << "the first tree went with the second daemon";
    EXPECT_EQ(leaked_elements(), 0U);
}

// What has no class stays untouched, and a daemon that is stopped leaves nothing.
TEST_F(Mlx5Restart, AStopEmptiesTheDevices)
{
    RestartedDaemon daemon(kPlain);
    Program program(daemon.direct(), "rpc");
    const auto number = program.join(IBV_QPT_RC);
    daemon.restart();
    ASSERT_EQ(error_of(program.register_again(daemon.direct())), "absent");
    EXPECT_EQ(daemon.stop(), 0);
    EXPECT_THAT(emulated_device().at("tree"), IsEmpty());
    EXPECT_EQ(place_of(number), "");
    daemon.manager.empty_store();
    daemon.start();
    ASSERT_EQ(error_of(program.register_again(daemon.direct())), "absent");
    EXPECT_EQ(place_of(number), kInRpc);
}

TEST_F(Mlx5Restart, AReleasedDeviceIsClosedByEverybody)
{
    RestartedDaemon daemon(kPlain);
    daemon.restart();
    ASSERT_EQ(daemon.ctl("release mlx5_0").status, 0);
    EXPECT_THAT(daemon.manager.kept(), SizeIs(kept_of(1)));
    EXPECT_EQ(emulated_device().at("files"), 0) << "the driver can be unloaded";
    EXPECT_THAT(emulated_device().at("tree"), IsEmpty());
    ASSERT_EQ(daemon.ctl("enable mlx5_0").status, 0);
    EXPECT_TRUE(eventually([&] { return daemon.manager.kept().size() == kept_of(2); }));
}

TEST_F(Mlx5Restart, ADisabledDeviceStaysEmpty)
{
    RestartedDaemon daemon(kPlain);
    Program program(daemon.direct(), "rpc");
    const auto number = program.join(IBV_QPT_RC);
    ASSERT_EQ(daemon.ctl("disable mlx5_0").status, 0);
    ASSERT_THAT(emulated_device().at("tree"), IsEmpty());
    Trace trace;
    daemon.restart();
    EXPECT_THAT(trace.writes(), IsEmpty());
    ASSERT_EQ(error_of(program.register_again(daemon.direct())), "absent");
    EXPECT_EQ(place_of(number), "");
    ASSERT_EQ(daemon.ctl("enable mlx5_0").status, 0);
    EXPECT_EQ(place_of(number), kInRpc);
}

// A file of an administrator's drop-in that changes the mode between two starts.
TEST_F(Mlx5Restart, InMonitorModeWhatWasLeftIsNotTouched)
{
    RestartedDaemon daemon(kPlain);
    Program program(daemon.direct(), "rpc");
    static_cast<void>(program.join(IBV_QPT_RC));
    const auto before = tree_of(emulated_device());
    daemon.kill();
    daemon.set_settings("version: 1\nmode: monitor\n");
    Trace trace;
    daemon.start();
    EXPECT_THAT(trace.writes(), IsEmpty());
    EXPECT_EQ(tree_of(emulated_device()), before);
    daemon.kill();
    daemon.set_settings("version: 1\nmode: enforce\n");
    daemon.start();
    EXPECT_THAT(trace.writes(), IsEmpty());
}

}    // namespace
}    // namespace rdmaqos::test
