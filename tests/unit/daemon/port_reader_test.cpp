// The traffic classes of ports: when they are read, and what is said of them.
#include "daemon/port_classes/port_reader.h"

#include <chrono>
#include <optional>

#include <gmock/gmock.h>

#include "tests/support/fake_ports.h"
#include "tests/support/gate.h"
#include "tests/support/manual_loop.h"

namespace rdmaqos {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr auto kInterval = 60s;

class ReadPorts : public ::testing::Test {
protected:
    void SetUp() override { kernel->set("eth0", test::three_classes()); }
    void TearDown() override
    {
        gate.open();
        ports.reset();    // waits for its thread, which waits for the gate
    }

    void begin(PortClassesSetting setting = PortClassesSetting::Report)
    {
        ports.emplace(
            loop, PortClassesOptions{kernel, kernel->watch(), [this] { return WallTime(std::chrono::seconds(now)); }},
            [this](const std::string&) { ++changes; });
        ports->set(setting, kInterval);
    }
    void begin_with_eth0()
    {
        begin();
        ports->follow("mlx5_0/1", "eth0", "");
        read(1);
    }

    [[nodiscard]] PortStatus status() const { return ports->status("mlx5_0/1"); }
    // Runs the timers that are due, and waits for this many readings of the interface, their answers included.
    void read(int times, const std::string& netdev = "eth0")
    {
        loop.advance(PortReader::kSettle);
        EXPECT_TRUE(loop.run_until([&] { return kernel->reads(netdev) >= times; }));
        loop.run_until_rest();
    }

    test::ManualLoop loop;
    std::shared_ptr<test::FakePorts> kernel = std::make_shared<test::FakePorts>();
    test::Gate gate;
    int now = 1000;
    int changes = 0;
    std::optional<PortReader> ports;
};

TEST_F(ReadPorts, WhenAPortComes)
{
    begin();
    ports->follow("mlx5_0/1", "eth0", "");
    EXPECT_EQ(status().reading, PortReading::Pending);
    read(1);
    EXPECT_EQ(status(), (PortStatus{.reading = PortReading::Read,
                                    .netdev = "eth0",
                                    .driver = "mlx5_core",
                                    .settings = test::three_classes(),
                                    .read_at = WallTime(1000s)}));
    ports->follow("mlx5_0/1", "eth0", "");
    loop.advance(PortReader::kSettle);
    loop.run_until_rest();
    EXPECT_EQ(kernel->reads("eth0"), 1) << "it is the same";
    EXPECT_EQ(ports->status("mlx5_9/1"), PortStatus()) << "there is no such device";
}

TEST_F(ReadPorts, AgainWhenTheKernelNotifies)
{
    begin_with_eth0();
    auto other = test::three_classes();
    other.ets->traffic_class[1].weight = 50;
    other.ets->traffic_class[2].weight = 40;
    kernel->set("eth0", other);
    now = 2000;
    changes = 0;
    for (int i = 0; i < 1000; ++i) {
        kernel->notify({"eth0", "the tool dcb"});
        kernel->notify({"eth7", "somebody"});
    }
    EXPECT_EQ(status().last_change, (PortChange{WallTime(2000s), "the tool dcb"}));
    read(2);
    EXPECT_EQ(status().settings, other);
    EXPECT_EQ(status().last_change, (PortChange{WallTime(2000s), "the tool dcb"}));
    EXPECT_EQ(changes, 2) << "that somebody has written, and what is there now";
    loop.advance(PortReader::kSettle);
    loop.run_until_rest();
    EXPECT_EQ(kernel->reads("eth0"), 2) << "a thousand notices are one reading";
}

TEST_F(ReadPorts, OnceMoreForWhatComesDuringAReading)
{
    begin();
    kernel->set_before_answer(gate.waiter());
    ports->follow("mlx5_0/1", "eth0", "");
    loop.advance(0s);
    gate.wait_until_it_holds();
    for (int i = 0; i < 1000; ++i) {
        kernel->notify({"", ""});
    }
    EXPECT_FALSE(status().last_change) << "nobody knows of whom they were";
    loop.advance(PortReader::kSettle);
    gate.open();
    EXPECT_TRUE(loop.run_until([&] { return status().reading == PortReading::Read; }));
    read(2);
    loop.advance(PortReader::kSettle);
    loop.run_until_rest();
    EXPECT_EQ(kernel->reads("eth0"), 2);
}

TEST_F(ReadPorts, AgainEveryInterval)
{
    begin_with_eth0();
    changes = 0;
    for (int i = 2; i <= 3; ++i) {
        now = 1000 * i;
        loop.advance(kInterval);
        read(i);
        EXPECT_EQ(status().read_at, WallTime(std::chrono::seconds(now)));
    }
    EXPECT_EQ(changes, 0) << "nothing has changed";
    kernel->set("eth0", {});
    loop.advance(kInterval);
    read(4);
    EXPECT_EQ(status().settings, dcb::PortSettings());
    EXPECT_EQ(changes, 1);

    ports->set(PortClassesSetting::Report, 1s);
    loop.advance(1s);
    read(5);
    EXPECT_EQ(kernel->reads("eth0"), 5);
}

TEST_F(ReadPorts, AndSayWhyTheyCannot)
{
    begin();
    kernel->set_error(Error{ErrorCode::DeviceGone, 0, "there is no interface eth0"});
    ports->follow("mlx5_0/1", "eth0", "");
    read(1);
    EXPECT_EQ(status().reading, PortReading::Failed);
    EXPECT_THAT(status().reason, HasSubstr("there is no interface eth0"));
    kernel->set_error({});
    kernel->notify({"eth0", "the tool dcb"});
    read(2);
    EXPECT_EQ(status().reading, PortReading::Read);
    EXPECT_EQ(status().reason, "");
    kernel->set_error(Error{ErrorCode::Timeout, 0, "no answer"});
    kernel->notify({"eth0", "the tool dcb"});
    read(3);
    EXPECT_EQ(status().reading, PortReading::Failed);
    EXPECT_EQ(status().settings, dcb::PortSettings()) << "what was so is not known any longer";
}

TEST_F(ReadPorts, AndSayThatTheKernelIsSilent)
{
    begin();
    kernel->set_before_answer(gate.waiter());
    ports->follow("mlx5_0/1", "eth0", "");
    loop.advance(0s);
    gate.wait_until_it_holds();
    EXPECT_EQ(status().reading, PortReading::Pending);
    loop.advance(PortReader::kPatience);
    EXPECT_EQ(status().reading, PortReading::Failed);
    EXPECT_THAT(status().reason, HasSubstr("has not answered for 5 s"));
    gate.open();
    EXPECT_TRUE(loop.run_until([&] { return status().reading == PortReading::Read; }));
    EXPECT_EQ(status().reason, "");
}

TEST_F(ReadPorts, NotWhereThereIsNone)
{
    begin();
    ports->follow("mlx5_0/1", "", "it has no network interface");
    EXPECT_EQ(status(), (PortStatus{.reading = PortReading::None, .reason = "it has no network interface"}));
    ports->follow("mlx5_0/1", "eth2", "");
    read(1, "eth2");
    EXPECT_EQ(status().reading, PortReading::None);
    EXPECT_THAT(status().reason, HasSubstr("has no DCB"));
    loop.advance(kInterval);
    read(2, "eth2");
    EXPECT_EQ(kernel->reads(""), 0);

    PortReader simulated(loop, {}, [](const std::string&) {});
    simulated.set(PortClassesSetting::Report, kInterval);
    simulated.follow("mlx5_0/1", "eth0", "");
    EXPECT_EQ(simulated.status("mlx5_0/1").reading, PortReading::None);
}

TEST_F(ReadPorts, NotWhenTheSettingsSaySo)
{
    begin(PortClassesSetting::Off);
    EXPECT_FALSE(kernel->is_watched());
    ports->follow("mlx5_0/1", "eth0", "");
    loop.advance(1h);
    loop.run_until_rest();
    EXPECT_EQ(status(), PortStatus());
    EXPECT_EQ(kernel->reads("eth0"), 0);

    ports->set(PortClassesSetting::Report, kInterval);
    EXPECT_TRUE(kernel->is_watched());
    read(1);
    EXPECT_EQ(status().reading, PortReading::Read);

    ports->set(PortClassesSetting::Off, kInterval);
    EXPECT_FALSE(kernel->is_watched());
    EXPECT_EQ(status(), PortStatus()) << "what is not read any longer is not shown";
    loop.advance(1h);
    loop.run_until_rest();
    EXPECT_EQ(kernel->reads("eth0"), 1);
}

TEST_F(ReadPorts, OfTheInterfaceThatTheDeviceHasNow)
{
    begin();
    kernel->set_before_answer(gate.waiter());
    ports->follow("mlx5_0/1", "eth0", "");
    loop.advance(0s);
    gate.wait_until_it_holds();
    kernel->set("eth1", {});
    ports->follow("mlx5_0/1", "eth1", "");
    gate.open();
    read(1, "eth1");
    EXPECT_EQ(status().netdev, "eth1");
    EXPECT_EQ(status().settings, dcb::PortSettings()) << "the answer for eth0 came later and is not taken";
}

TEST_F(ReadPorts, AgainWhenTheDeviceComesBack)
{
    begin_with_eth0();
    ports->forget("mlx5_0/1");
    EXPECT_EQ(status(), PortStatus());
    kernel->set("eth0", {});
    ports->follow("mlx5_0/1", "eth0", "");
    EXPECT_EQ(status().reading, PortReading::Pending) << "what was read is of the interface before";
    read(2);
    EXPECT_EQ(status().settings, dcb::PortSettings());
}

TEST_F(ReadPorts, NotOfADeviceThatHasGone)
{
    begin();
    kernel->set_before_answer(gate.waiter());
    ports->follow("mlx5_0/1", "eth0", "");
    loop.advance(0s);
    gate.wait_until_it_holds();
    ports->forget("mlx5_0/1");
    changes = 0;
    gate.open();
    read(1);
    EXPECT_EQ(status(), PortStatus());
    loop.advance(PortReader::kPatience);
    EXPECT_EQ(changes, 0);
}

}    // namespace
}    // namespace rdmaqos
