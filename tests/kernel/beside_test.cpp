// Other tools that divide a NIC, on the driver's own network device (eth=2), while rdma-qosd serves the NIC: that
// `rdma-qosctl status` names each, what each writes to the firmware, and what it does to the daemon's tree.
// docs/beside-other-tools.md says what was seen here.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/signal_process.h"
#include "tests/kernel/firmware.h"
#include "tests/nic_mlx5/program.h"
#include "tests/support/ctl.h"

namespace rdmaqos::test {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kPciAddress = "1f00:00:00.0";

std::string interface_of_nic()
{
    std::error_code none;
    const auto interfaces = std::filesystem::path("/sys/bus/pci/devices") / kPciAddress / "net";
    for (const auto& each : std::filesystem::directory_iterator(interfaces, none)) {
        return each.path().filename();
    }
    return "";
}

// The commands since the log was cleared that end well and contain `what`, without what stands before it.
std::vector<std::string> commands_with(const std::string& what)
{
    std::vector<std::string> commands;
    std::ifstream log("/proc/fake_mlx5");
    for (std::string line; std::getline(log, line);) {
        const auto at = line.find(what);
        if (at != std::string::npos && line.find("-> 00/000000") != std::string::npos) {
            commands.push_back(line.substr(at));
        }
    }
    return commands;
}

// Registers of the port that were written, without what is only read.
std::vector<std::string> register_writes()
{
    std::vector<std::string> writes;
    for (const auto& each : commands_with("ACCESS_REG 805.0 ")) {
        writes.push_back(each.substr(each.find("register=")));
    }
    return writes;
}

// A program of the daemon has a queue pair in its leaf all the time.
class Beside : public ::testing::Test {
protected:
    void SetUp() override
    {
        interface = interface_of_nic();
        ASSERT_NE(interface, "") << "mlx5e made no network interface";
        ASSERT_TRUE(eventually([&] { return file_says("carrier", "1"); }));
        daemon = std::make_unique<Daemon>(on_emulator());
        program = std::make_unique<Program>(*daemon, "bulk");
        queue_pair = program->join(IBV_QPT_RC);
        elements = emulated_device().at("elements");
        tell_firmware("clear");
    }
    void TearDown() override
    {
        expect_undisturbed();
        for (const char* shaper : {"ETS divides ", "DCB limits ", "tx_maxrate limits send queues of "}) {
            EXPECT_THAT(status(), Not(HasSubstr(shaper + interface + ":"))) << "something is left";
        }
    }

    // In a shell; {} is the interface. Whether it exits with 0.
    [[nodiscard]] bool run(const std::string& command) const
    {
        return system(fmt::format(fmt::runtime(command), interface).c_str()) == 0;
    }
    [[nodiscard]] std::string status() const { return run_ctl(daemon->root(), "status").output; }
    [[nodiscard]] bool file_says(const std::string& name, const std::string& what) const
    {
        std::ifstream file(fmt::format("/sys/class/net/{}/{}", interface, name));
        std::string line;
        return std::getline(file, line) && line == what;
    }
    [[nodiscard]] static long kernel_elements()
    {
        return static_cast<long>(commands_with("CREATE_SCHEDULING_ELEMENT").size()) -
               static_cast<long>(commands_with("DESTROY_SCHEDULING_ELEMENT").size());
    }
    // The tree is as it was, and so is the place of the queue pair.
    void expect_undisturbed() const
    {
        EXPECT_EQ(place_of(queue_pair), kPlaceOf[1]);
        EXPECT_EQ(emulated_device().at("elements"), elements);
        EXPECT_EQ(program->state(), "active");
        const auto verified = run_ctl(daemon->root(), "verify");
        EXPECT_EQ(verified.status, 0) << verified.output << verified.error;
    }
    void put_classes_back() const
    {
        EXPECT_TRUE(run("dcb ets set dev {} tc-tsa all:strict tc-bw all:0"));
        EXPECT_TRUE(run("dcb maxrate set dev {} tc-maxrate all:0"));
        EXPECT_TRUE(run("dcb pfc set dev {} prio-pfc all:off"));
        EXPECT_TRUE(run("dcb app flush dev {}"));
    }

    std::string interface;
    std::unique_ptr<Daemon> daemon;
    std::unique_ptr<Program> program;
    std::uint32_t queue_pair = 0;
    nlohmann::json elements;
};

// ---- dcb, mlnx_qos ----

TEST_F(Beside, DcbDividesThePortAndTakesNoElement)
{
    EXPECT_THAT(status(), AllOf(Not(HasSubstr("ETS divides")), Not(HasSubstr("DCB limits"))));
    EXPECT_TRUE(run("dcb ets set dev {} tc-tsa all:strict 0:ets 3:ets tc-bw all:0 0:60 3:40"));
    // iproute2 6.1 writes bytes per second where the kernel counts kilobits: this is 10 Gbit/s. Later ones do not.
    EXPECT_TRUE(run("dcb maxrate set dev {} tc-maxrate 3:10000000bps"));
    const std::string said = status();
    EXPECT_THAT(said, HasSubstr(fmt::format("ETS divides {}: traffic class 0 gets 60 %, traffic class 3 gets 40 %",
                                            interface)));
    EXPECT_THAT(said, HasSubstr(fmt::format("DCB limits {}: traffic class 3 sends ", interface)));
    expect_undisturbed();
    EXPECT_EQ(kernel_elements(), 0);
    put_classes_back();
}

// What `mlnx_qos --tsa --tcbw --trust dscp --dscp2prio --pfc` writes, by the same netlink messages.
TEST_F(Beside, MlnxQosTakesTheLinkDownAndLeavesTheTree)
{
    EXPECT_TRUE(run("dcb ets set dev {} prio-tc 0:0 1:1 2:2 3:3 4:4 5:5 6:6 7:7 tc-tsa all:ets 6:strict 7:strict "
                    "tc-bw all:0 0:10 1:10 2:10 3:40 4:10 5:20"));
    EXPECT_TRUE(run("dcb app add dev {} dscp-prio 26:5 48:6"));
    EXPECT_TRUE(run("dcb pfc set dev {} prio-pfc 3:on"));
    EXPECT_THAT(register_writes(), Contains("register=0x4002 trust=dscp"));
    EXPECT_THAT(register_writes(), Contains("register=0x5006 admin=2")) << "the link goes down for PFC";
    ASSERT_TRUE(eventually([&] { return file_says("carrier", "1"); }));
    EXPECT_THAT(status(), HasSubstr("traffic class 3 gets 40 %"));
    expect_undisturbed();
    put_classes_back();
    ASSERT_TRUE(eventually([&] { return file_says("carrier", "1"); }));
}

// ---- lldpad ----

class BesideLldpad : public Beside {
protected:
    void SetUp() override
    {
        if (access("/bin/lldpad", X_OK) != 0) {
            GTEST_SKIP() << "lldpad could not be downloaded when the machine was made (run.sh)";
        }
        Beside::SetUp();
        std::filesystem::remove_all("/var/lib/lldpad");
        std::filesystem::create_directories("/var/lib/lldpad");
        std::filesystem::create_directories("/var/run");
        lldpad = fork();
        if (lldpad == 0) {
            execl("/bin/lldpad", "lldpad", "-p", nullptr);
            _exit(127);
        }
    }
    void TearDown() override
    {
        if (lldpad > 0) {
            signal_process(lldpad, SIGTERM);
            waitpid(lldpad, nullptr, 0);
            put_classes_back();
            Beside::TearDown();
        }
    }

    pid_t lldpad = 0;
};

// Whether a register is written so within what is long for lldpad; it sends every 30 s. Seldom asked: a machine whose
// processor waits has its time for nothing.
bool is_written(const std::string& what)
{
    for (int seconds = 0; seconds < 90; ++seconds) {
        for (const auto& each : register_writes()) {
            if (each.starts_with(what)) {
                return true;
            }
        }
        std::this_thread::sleep_for(1s);
    }
    return false;
}

TEST_F(BesideLldpad, WritesNothingUntilItIsConfiguredThenAgainAndAgain)
{
    ASSERT_TRUE(run("dcb ets set dev {} tc-tsa all:strict 0:ets 1:ets tc-bw all:0 0:60 1:40"));
    ASSERT_TRUE(eventually([&] { return run("lldptool -L -i {} adminStatus=rxtx >/dev/null 2>&1"); }));
    tell_firmware("clear");
    std::this_thread::sleep_for(3s);
    EXPECT_THAT(register_writes(), IsEmpty()) << "it has started, and sends";

    // Then the settings of its own file hold, not those of the port.
    EXPECT_TRUE(run("lldptool -T -i {} -V ETS-CFG tsa=0:ets,1:ets,2:strict,3:strict,4:strict,5:strict,6:strict,"
                    "7:strict up2tc=0:0,1:1,2:0,3:0,4:0,5:0,6:0,7:0 tcbw=30,70,0,0,0,0,0,0 >/dev/null"));
    EXPECT_TRUE(run("lldptool -T -i {} -V ETS-CFG enableTx=yes >/dev/null"));
    EXPECT_TRUE(is_written("register=0x4005 weight0=30 weight1=70 "));
    EXPECT_THAT(status(), HasSubstr("traffic class 0 gets 30 %, traffic class 1 gets 70 %"));
    expect_undisturbed();

    // What somebody else writes lasts until it sends again.
    tell_firmware("clear");
    EXPECT_TRUE(run("dcb ets set dev {} tc-tsa all:strict 0:ets 1:ets tc-bw all:0 0:10 1:90"));
    EXPECT_TRUE(is_written("register=0x4005 weight0=10 weight1=90 "));
    EXPECT_TRUE(is_written("register=0x4005 weight0=30 weight1=70 "));

    // A priority without loss takes the link down, and an entry with a DSCP turns trust.
    EXPECT_TRUE(run("lldptool -T -i {} -V APP app=4,5,10 >/dev/null"));
    EXPECT_TRUE(run("lldptool -T -i {} -V PFC enabled=3 >/dev/null"));
    EXPECT_TRUE(is_written("register=0x5006 admin=2"));
    EXPECT_TRUE(is_written("register=0x4002 trust=dscp"));
    EXPECT_TRUE(is_written("register=0x4013 dscp=10 priority=4"));
    ASSERT_TRUE(eventually([&] { return file_says("carrier", "1"); }));
    expect_undisturbed();

    // It leaves what it wrote.
    signal_process(lldpad, SIGKILL);
    EXPECT_THAT(status(), HasSubstr("traffic class 0 gets 30 %, traffic class 1 gets 70 %"));
}

// ---- tc ----

TEST_F(Beside, HtbHasElementsOfTheSameKindInATreeOfItsOwn)
{
    EXPECT_TRUE(run("tc qdisc replace dev {} root handle 1: htb offload default 10"));
    EXPECT_TRUE(run("tc class add dev {} parent 1: classid 1:1 htb rate 10gbit ceil 20gbit"));
    EXPECT_TRUE(run("tc class add dev {} parent 1:1 classid 1:10 htb rate 2gbit ceil 5gbit"));
    EXPECT_THAT(status(),
                HasSubstr(fmt::format("the queueing discipline htb of {} is offloaded to the NIC", interface)));
    EXPECT_EQ(kernel_elements(), 3) << "a root, a node and a leaf";
    EXPECT_THAT(commands_with("CREATE_SCHEDULING_ELEMENT"), Contains(HasSubstr("hierarchy=3 parent=0")))
        << "in the hierarchy of the NIC, below a root of its own";
    expect_undisturbed();

    // Without a free element the kernel refuses the class, and says why; everything else stays.
    tell_firmware("fail 782 8 abc003 1");
    EXPECT_FALSE(run("tc class add dev {} parent 1:1 classid 1:20 htb rate 1gbit ceil 1gbit"));
    EXPECT_EQ(kernel_elements(), 3);
    expect_undisturbed();

    // The daemon goes on making its own.
    {
        Program another(*daemon, "rpc");
        EXPECT_EQ(place_of(another.join(IBV_QPT_RC)), kPlaceOf[0]);
    }
    EXPECT_FALSE(run("tc qdisc add dev {} root handle 100: mqprio num_tc 8 map 0 1 2 3 4 5 6 7 hw 1"))
        << "one discipline at a time";
    EXPECT_TRUE(run("tc qdisc del dev {} root"));
    EXPECT_EQ(kernel_elements(), 0);
    ASSERT_TRUE(eventually([&] { return emulated_device().at("elements") == elements; }));
}

TEST_F(Beside, MqprioWithRatesHasARootAndALeafForEachClass)
{
    // The machine has one processor, and so the interface one channel, which is one class.
    const std::string channel = "tc qdisc add dev {} root handle 100: mqprio num_tc 1 map 0 0 0 0 0 0 0 0 0 0 0 0 0 0 "
                                "0 0 queues 1@0 hw 1 mode channel";
    EXPECT_TRUE(run(channel));
    EXPECT_THAT(status(),
                HasSubstr(fmt::format("the queueing discipline mqprio of {} is offloaded to the NIC", interface)));
    EXPECT_EQ(kernel_elements(), 0) << "without a rate";
    EXPECT_TRUE(run("tc qdisc del dev {} root"));

    EXPECT_TRUE(run(channel + " shaper bw_rlimit max_rate 1Gbit"));
    EXPECT_THAT(status(), HasSubstr("the queueing discipline mqprio"));
    EXPECT_EQ(kernel_elements(), 2);
    expect_undisturbed();
    EXPECT_TRUE(run("tc qdisc del dev {} root"));
    EXPECT_EQ(kernel_elements(), 0);

    EXPECT_FALSE(run(channel + " shaper bw_rlimit min_rate 1Gbit max_rate 3Gbit")) << "mlx5e has no minimum rates";
    EXPECT_FALSE(run(channel + " shaper bw_rlimit max_rate 500Kbit")) << "nor a rate below 1 Mbit/s";
}

TEST_F(Beside, MqprioOfPrioritiesTakesNoElement)
{
    EXPECT_FALSE(run("tc qdisc add dev {} root handle 100: mqprio num_tc 2 map 0 1 hw 1")) << "1 or 8 classes";
    EXPECT_TRUE(run("tc qdisc add dev {} root handle 100: mqprio num_tc 8 map 0 1 2 3 4 5 6 7 hw 1"));
    EXPECT_THAT(status(), HasSubstr("the queueing discipline mqprio"));
    EXPECT_EQ(kernel_elements(), 0);
    expect_undisturbed();
    EXPECT_TRUE(run("tc qdisc del dev {} root"));
}

// ---- rates of send queues ----

TEST_F(Beside, ARateOfASendQueueIsARowOfTheTableOfRates)
{
    EXPECT_TRUE(run("echo 1000 >/sys/class/net/{}/queues/tx-0/tx_maxrate"));
    EXPECT_THAT(status(), HasSubstr(fmt::format("tx_maxrate limits send queues of {}: 1 queue sends 1 Gbit/s at most",
                                                interface)));
    EXPECT_THAT(commands_with("SET_PP_RATE_LIMIT"), ::testing::SizeIs(1));
    expect_undisturbed();
    EXPECT_TRUE(run("echo 0 >/sys/class/net/{}/queues/tx-0/tx_maxrate"));
}

// ---- a device that fails ----

class BesideLoss : public Beside {
protected:
    void TearDown() override {}
};

TEST_F(BesideLoss, WhatOthersHaveSetIsLostAndProgramsComeBack)
{
    EXPECT_TRUE(run("dcb ets set dev {} tc-tsa all:strict 0:ets 3:ets tc-bw all:0 0:60 3:40"));
    EXPECT_TRUE(run("tc qdisc replace dev {} root handle 1: htb offload default 10"));
    EXPECT_TRUE(run("tc class add dev {} parent 1: classid 1:10 htb rate 2gbit ceil 5gbit"));
    ASSERT_THAT(status(), HasSubstr("the queueing discipline htb"));
    const std::string number = fmt::format("/sys/class/net/{}/ifindex", interface);
    const auto index = [&number] {
        std::ifstream file(number);
        int read = 0;
        file >> read;
        return read;
    };
    const int before = index();
    emulator("reset mlx5_0");
    ASSERT_TRUE(eventually([&] { return program->state() == "detached"; }));
    program.reset();
    ASSERT_TRUE(eventually([&] { return index() != 0 && index() != before; })) << "it is still the same interface";
    ASSERT_TRUE(eventually([&] { return device_property(*daemon, "State") == "ready"; }));
    EXPECT_THAT(status(), AllOf(Not(HasSubstr("ETS divides")), Not(HasSubstr("DCB limits"))));
    EXPECT_THAT(status(), Not(HasSubstr("queueing discipline")));
    // RoCE needs the interface, which comes back closed.
    ASSERT_TRUE(run("ip link set {0} up && ip address replace 10.2.0.1/24 dev {0}"));
    Program again(*daemon, "bulk");
    EXPECT_EQ(place_of(again.join(IBV_QPT_UD)), kPlaceOf[1]);
}

}    // namespace
}    // namespace rdmaqos::test
