// rdma-qosd on a real kernel: what the kernel decides, and what the emulator plays less of. Owners and containers; a
// daemon, drivers and devices that come and go. What is expected is read from the firmware, never from the daemon.
#include <csignal>
#include <fstream>

#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "tests/kernel/firmware.h"
#include "tests/nic_mlx5/program.h"
#include "tests/support/ctl.h"

namespace rdmaqos::test {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kPciAddress = "1f00:00:00.0";
constexpr auto kPatience = 60s;    // until a driver has recovered
constexpr gid_t kNobody = 65534;

constexpr const char* kNoError = "absent";

// ---- whose a queue pair is ----

TEST(KernelOwner, IsVerified)
{
    const Daemon daemon(on_emulator());
    Program program(daemon);
    for (const auto type : {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_RAW_PACKET}) {
        SCOPED_TRACE(name_of(type));
        const auto result = program.attach(program.make(type));
        EXPECT_EQ(error_of(result), kNoError);
        EXPECT_EQ(text_of(result, "owner"), "absent") << "the kernel knows who made it: there is nothing to say";
    }
}

// Whoever can get at a process's descriptor is not its owner.
TEST(KernelOwner, AQueuePairOfAnotherProcessIsRefused)
{
    const Daemon daemon(on_emulator());
    Processes processes;
    const Child& owner = processes.start([](const Processes::Say& say) {
        world here{};
        if (!open_world(&here)) {
            throw std::runtime_error("no world");
        }
        const ibv_qp* made = qp_in_state(&here, IBV_QPT_RC, IBV_QPS_INIT);
        say(static_cast<std::uint32_t>(here.context->cmd_fd));
        say(made->qp_num);
        say(made->handle);
    });
    const auto said = processes.hear(3);
    ASSERT_EQ(said.size(), 3U);
    const UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, owner.pid(), 0)));
    const int taken = static_cast<int>(syscall(SYS_pidfd_getfd, process.get(), said[0], 0));
    ASSERT_GE(taken, 0);
    bus::Dict request;
    request.set("device", "mlx5_0");
    request.set("type", "rc");
    request.set("number", said[1]);
    request.set("handle", said[2]);
    request.set("uverbs", bus::FileDescriptor{std::make_shared<UniqueFd>(taken)});
    Program thief(daemon);
    EXPECT_EQ(error_of(thief.attach(request)), "org.rdmaqos1.Error.NotOwner");
    EXPECT_EQ(place_of(said[1]), "");
}

// ---- who the owner is ----

// Runs `enter` in a process of its own, then a program there; says the number of its queue pair, and whether its owner
// is verified.
void start_in(Processes& processes, const Daemon& daemon, const std::function<bool()>& enter)
{
    processes.start([&daemon, enter](const Processes::Say& say) {
        if (!enter()) {
            throw std::runtime_error(std::string("cannot enter: ") + strerrordesc_np(errno));
        }
        auto* program = new Program(daemon, "storage");
        ibv_qp* made = program->make(IBV_QPT_UD);
        const auto result = program->attach(made);
        if (error_of(result) != kNoError) {
            throw std::runtime_error(error_of(result) + ": " + text_of(result, "reason"));
        }
        say(made->qp_num);
        say(text_of(result, "owner") == "absent" ? 1 : 0);
    });
}

bool become_nobody()
{
    return setgroups(0, nullptr) == 0 && setresgid(kNobody, kNobody, kNobody) == 0 &&
           setresuid(kNobody, kNobody, kNobody) == 0;
}

// As a container: the first process of new namespaces. It ends with the one that was started.
bool enter_namespaces(int which)
{
    if (unshare(which) != 0) {
        return false;
    }
    const pid_t first = fork();
    if (first > 0) {
        while (true) {
            pause();
        }
    }
    return first == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0;
}

constexpr int kContainer = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS;

void expect_served(Processes& processes)
{
    const auto said = processes.hear(2);
    ASSERT_EQ(said.size(), 2U);
    EXPECT_EQ(place_of(said[0]), kPlaceOf[2]);
    EXPECT_EQ(said[1], 1U) << "its owner is not verified";
    processes.kill_all();
    EXPECT_TRUE(eventually([&] { return place_of(said[0]) == "absent"; }));
}

TEST(KernelClient, NobodyWithoutCapabilities)
{
    const Daemon daemon(on_emulator());
    Processes processes;
    start_in(processes, daemon, become_nobody);
    expect_served(processes);
}

TEST(KernelClient, InAContainer)
{
    const Daemon daemon(on_emulator());
    Processes processes;
    start_in(processes, daemon, [] { return enter_namespaces(kContainer | CLONE_NEWNET); });
    expect_served(processes);
}

// Exclusive, a device is in one network namespace.
TEST(KernelClient, WhereDevicesAreInOneNetworkNamespace)
{
    const auto set = [](const char* mode) {
        return eventually([&] { return system(fmt::format("rdma system set netns {}", mode).c_str()) == 0; });
    };
    ASSERT_TRUE(set("exclusive")) << "network namespaces of earlier tests are still there";
    {
        const Daemon daemon(on_emulator());
        Processes inside;
        start_in(inside, daemon, [] { return enter_namespaces(kContainer); });
        expect_served(inside);
        EXPECT_THAT(run_ctl(daemon.root(), "status").output, HasSubstr("netns exclusive"));
        Processes outside;
        outside.start([](const Processes::Say& say) {
            world here{};
            say(enter_namespaces(kContainer | CLONE_NEWNET) && !open_world(&here) ? 1 : 0);
        });
        EXPECT_EQ(outside.hear(1), std::vector<std::uint32_t>{1}) << "the kernel shows it no device";
    }
    EXPECT_TRUE(set("shared"));
}

// ---- what else shapes a port ----

class KernelShapers : public ::testing::Test {
protected:
    void SetUp() override
    {
        const std::filesystem::path interfaces = std::filesystem::path("/sys/bus/pci/devices") / kPciAddress / "net";
        if (!std::filesystem::exists(interfaces)) {
            GTEST_SKIP() << "InfiniBand without IPoIB has no network interface";
        }
        netdev = std::filesystem::directory_iterator(interfaces)->path().filename();
    }
    void set(const std::string& command) const
    {
        ASSERT_EQ(system(fmt::format(fmt::runtime(command), netdev).c_str()), 0);
    }
    [[nodiscard]] std::string status() const { return run_ctl(daemon.root(), "status").output; }

    std::string netdev;
    const Daemon daemon{on_emulator()};
};

TEST_F(KernelShapers, StatusNamesADisciplineThatIsOffloaded)
{
    EXPECT_THAT(status(), Not(HasSubstr("queueing discipline")));
    set("tc qdisc add dev {} root mqprio num_tc 2 map 0 1 hw 1");
    EXPECT_THAT(status(),
                HasSubstr(fmt::format("the queueing discipline mqprio of {} is offloaded to the NIC", netdev)));
    set("tc qdisc del dev {} root");
    set("tc qdisc add dev {} root mqprio num_tc 2 map 0 1 queues 1@0 1@1 hw 0");
    EXPECT_THAT(status(), Not(HasSubstr("queueing discipline"))) << "RDMA traffic does not pass it";
    set("tc qdisc del dev {} root");
}

TEST_F(KernelShapers, StatusNamesSharesAndRatesOfTrafficClasses)
{
    EXPECT_THAT(status(), AllOf(Not(HasSubstr("ETS divides")), Not(HasSubstr("DCB limits"))));
    set("dcb ets set dev {} tc-tsa all:strict 0:ets 3:ets tc-bw all:0 0:60 3:40");
    // iproute2 6.1 writes bytes per second where the kernel counts, and mlx5 reads, kilobits: this is 10 Gbit/s.
    set("dcb maxrate set dev {} tc-maxrate 3:80Mbit");
    const std::string said = status();
    EXPECT_THAT(said,
                HasSubstr(fmt::format("ETS divides {}: traffic class 0 gets 60 %, traffic class 3 gets 40 %", netdev)));
    EXPECT_THAT(said, HasSubstr(fmt::format("DCB limits {}: traffic class 3 sends 10 Gbit/s at most", netdev)));
    set("dcb ets set dev {} tc-tsa all:strict tc-bw all:0");
    set("dcb maxrate set dev {} tc-maxrate all:0");
    EXPECT_THAT(status(), AllOf(Not(HasSubstr("ETS divides")), Not(HasSubstr("DCB limits"))));
}

// ---- a daemon that ends ----

TEST(KernelDaemon, StopLeavesNothingInTheFirmware)
{
    Daemon daemon(on_emulator());
    Program program(daemon, "rpc");
    const auto number = program.join(IBV_QPT_RC);
    ASSERT_TRUE(daemon.stop().has_value());
    EXPECT_EQ(emulated_device().at("elements"), 0);
    EXPECT_EQ(place_of(number), "") << "the queue pair lives on";
}

// Its file is closed, and with it the leaves go that queue pairs of others are in. The kernel cannot destroy these.
TEST(KernelDaemon, AfterAKillTheNextOneServes)
{
    const KnownComplaints known("the daemon is killed while queue pairs of others are in its leaves");
    Daemon first(on_emulator());
    Program survivor(first, "bulk");
    const auto number = survivor.join(IBV_QPT_RC);
    first.kill();
    EXPECT_EQ(place_of(number), kPlaceOf[1]) << "still in its leaf";
    const Daemon second(on_emulator());
    Program again(second, "bulk");
    const auto other = again.join(IBV_QPT_RC);
    EXPECT_EQ(place_of(other), kPlaceOf[1]);
}

// ---- devices that come and go ----

// Programs are served again, as soon as the daemon has the device.
void expect_to_attach_again(const Daemon& daemon)
{
    ASSERT_TRUE(wait_for_nic(true));
    ASSERT_TRUE(eventually([&] { return device_property(daemon, "State") == "ready"; }, kPatience));
    Program program(daemon);
    EXPECT_EQ(place_of(program.join(IBV_QPT_RC)), kPlaceOf[1]);
}

// What all ways of losing a device have in common: its sessions are told, and programs come back with it.
void expect_loss_and_return(const std::function<void()>& lose, const std::function<void()>& bring_back)
{
    const Daemon daemon(on_emulator());
    auto program = std::make_unique<Program>(daemon);
    program->join(IBV_QPT_RC);
    lose();
    EXPECT_TRUE(eventually([&] { return program->state() == "detached"; }, kPatience));
    bring_back();
    expect_to_attach_again(daemon);
}

// When the driver goes, the kernel destroys what is in each file, one file after the other. A leaf of the daemon's
// file is then still in use by the queue pairs of the others: the kernel warns and leaves it and its ancestors to the
// firmware.
constexpr const char* kLeafInUse = "the driver goes while queue pairs are in leaves of another file";

void write_driver(const char* file)
{
    std::ofstream(std::string("/sys/bus/pci/drivers/mlx5_core/") + file) << kPciAddress << std::flush;
}

TEST(KernelLoss, AFatalErrorAndRecovery)
{
    expect_loss_and_return([] { emulator("reset mlx5_0"); }, [] {});
}

TEST(KernelLoss, TheDriverIsUnboundAndBound)
{
    const KnownComplaints known(kLeafInUse);
    expect_loss_and_return([] { write_driver("unbind"); }, [] { write_driver("bind"); });
}

TEST(KernelLoss, TheFunctionIsUnpluggedAndPlugged)
{
    const KnownComplaints known(kLeafInUse);
    expect_loss_and_return([] { emulator("unplug mlx5_0"); }, [] { emulator("plug mlx5_0"); });
}

TEST(KernelLoss, AFunctionThatIsPluggedLaterIsServed)
{
    emulator("unplug mlx5_0");
    ASSERT_TRUE(wait_for_nic(false));
    const Daemon daemon(on_emulator());
    EXPECT_EQ(device_property(daemon, "Name"), "no device");
    emulator("plug mlx5_0");
    expect_to_attach_again(daemon);
}

// As for an update of the driver: no file holds it. The last test, because the two devices may change their names.
TEST(KernelLoss, TheModuleIsLoadedAgain)
{
    const Daemon daemon(on_emulator());
    auto client = daemon.direct();
    for (const char* device : {"mlx5_0", "mlx5_1"}) {
        ASSERT_TRUE(manage(client, "Release", device).has_value());
    }
    unload_module("mlx5_ib");
    EXPECT_TRUE(eventually([&] { return device_property(daemon, "Name") == "no device"; }));
    load_module("mlx5_ib");
    ASSERT_TRUE(wait_for_nic(true));
    ASSERT_TRUE(eventually([&] { return device_property(daemon, "State") == "ready"; }, kPatience));
    Program program(daemon);
    const auto number = program.join(IBV_QPT_RC);
    const std::string place = place_of(number) != "absent" ? place_of(number) : place_of(number, "mlx5_1");
    EXPECT_EQ(place, kPlaceOf[1]);
}

}    // namespace
}    // namespace rdmaqos::test
