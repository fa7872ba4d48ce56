#include "tools/emulator/sysfs.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/golden.h"
#include "tests/support/uverbs_client.h"
#include "tools/emulator/control.h"
#include "tools/emulator/link.h"

namespace rdmaqos::test {
namespace {

using namespace emulator;

TEST(EmulatorSysfs, IsWhatLibrariesRead)
{
    EmulatorInProcess emulator;
    const auto sys = emulator.path() / "sys";
    const auto text = [&](const std::string& name) { return read_text(sys / name); };
    EXPECT_EQ(text("class/infiniband_verbs/abi_version"), "6\n");
    EXPECT_EQ(text("class/infiniband_verbs/uverbs1/ibdev"), "mlx5_1\n");
    EXPECT_EQ(text("class/infiniband_verbs/uverbs1/dev"), "231:193\n");
    EXPECT_EQ(text("class/infiniband/mlx5_0/node_guid"), "0200:0000:0000:0001\n");
    EXPECT_EQ(text("class/infiniband/mlx5_0/ports/1/state"), "4: ACTIVE\n");
    EXPECT_EQ(text("class/infiniband/mlx5_0/ports/1/rate"), "100 Gb/sec (4X EDR)\n");
    EXPECT_EQ(text("class/infiniband/mlx5_0/device/modalias").substr(0, 22), "pci:v000015B3d0000101D");
    EXPECT_EQ(text("class/infiniband/mlx5_0/device/infiniband_verbs/uverbs0/ibdev"), "mlx5_0\n");
    emulator.server().set_port(emulator.device(), 1, false);
    EXPECT_EQ(text("class/infiniband/mlx5_0/ports/1/state"), "1: DOWN\n");
}

TEST(EmulatorSysfs, CountersTellWhatTheDataPathMoves)
{
    EmulatorInProcess emulator;
    SimulatedDevice port = emulator.device().ports().front();
    port.name = "busy_0";
    port.transmit_traffic = Bandwidth::from_gbps(8);    // only rdma-qosd's own models move it
    Device device({port}, {}, 7);
    const auto sys = emulator.path() / "sys";
    PortTraffic moved{{{4096, 3}, {800, 2}}};
    write_counters(sys, device, {&moved, 1});
    const auto counters = sys / "devices/pci0000:00/0000:e0:07.0/infiniband/busy_0/ports/1/counters";
    EXPECT_EQ(read_text(counters / "port_xmit_data"), "1024\n");
    EXPECT_EQ(read_text(counters / "port_rcv_data"), "200\n");
    EXPECT_EQ(read_text(counters / "port_xmit_packets"), "3\n");
    EXPECT_EQ(read_text(counters / "port_rcv_packets"), "2\n");
    device.set_port(1, false);
    moved.sent.bytes = 8192;
    write_counters(sys, device, {&moved, 1});
    EXPECT_EQ(read_text(counters / "port_xmit_data"), "1024\n") << "a port that is down counts nothing";
}

// The counters are written now and then, whatever happens to the device meanwhile.
TEST(EmulatorSysfs, ResetsDoNotMeetTheCounters)
{
    const TempDir dir;
    SimulatedDevice port;
    port.name = "busy_0";
    port.capabilities = default_capabilities();
    Server server({dir.path(), {port}, Isolation::None, true});
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    while (std::chrono::steady_clock::now() < end) {
        server.reset(*server.devices().front());
    }
    EXPECT_TRUE(std::filesystem::exists(dir.path() / "sys/class/infiniband/busy_0"));
}

// The directory is full, or somebody removed it: what is said there is for people, and programs go on.
TEST(EmulatorSysfs, WhatCannotBeWrittenEndsNothing)
{
    EmulatorInProcess emulator;
    const auto sys = emulator.path() / "sys";
    for (int i = 0; i < 5; ++i) {
        emulator.server().reset(emulator.device());    // its counters are written again
        std::filesystem::rename(sys, emulator.path() / "elsewhere");
        std::ofstream(sys) << "not a folder";
        const auto refused = control(emulator.server(), {"event", "mlx5_0", "port-error"});
        EXPECT_TRUE(!refused && refused.error().message.starts_with("event: "));
        std::this_thread::sleep_for(std::chrono::milliseconds(250));
        std::filesystem::remove(sys);
        std::filesystem::rename(emulator.path() / "elsewhere", sys);
    }
    EXPECT_TRUE(control(emulator.server(), {"event", "mlx5_0", "port-active"}));
    EXPECT_EQ(read_text(sys / "class/infiniband/mlx5_0/ports/1/state"), "4: ACTIVE\n");
}

TEST(EmulatorSysfs, ShowsVirtualFunctionsAndBonds)
{
    namespace fs = std::filesystem;
    const TempDir dir;
    const fs::path sys = dir.path() / "sys";
    begin_sysfs(sys);
    const auto make = [](const std::string& name, const std::string& pci, bool is_virtual, const std::string& netdev) {
        SimulatedDevice port;
        port.name = name;
        port.pci_address = pci;
        port.virtual_function = is_virtual;
        port.netdev = netdev;
        port.bond = netdev.empty() ? "" : "bond0";
        return port;
    };
    const Device first({make("mlx5_0", "0000:08:00.0", false, "eth0")}, {}, 0);
    const Device second({make("mlx5_1", "0000:08:00.1", false, "eth1")}, {}, 1);
    const Device function({make("mlx5_2", "0000:08:01.2", true, "")}, {}, 2);
    const Device stray({make("mlx5_3", "", true, "")}, {}, 3);
    for (const auto* device : {&first, &second, &function, &stray}) {
        write_sysfs(sys, *device);
    }
    const auto device_of = [&](const std::string& name) {
        return fs::canonical(sys / "class/infiniband" / name / "device");
    };
    EXPECT_EQ(fs::canonical(device_of("mlx5_2") / "physfn"), device_of("mlx5_0"));
    EXPECT_EQ(read_text(device_of("mlx5_2") / "device"), "0x101e\n");
    EXPECT_FALSE(fs::exists(device_of("mlx5_0") / "physfn"));
    EXPECT_EQ(fs::canonical(device_of("mlx5_3") / "physfn").filename(), "0000:e0:00.0");
    EXPECT_EQ(read_text(device_of("mlx5_3") / "physfn/device"), "0x101d\n") << "one that is no device";

    const auto net = sys / "class/net";
    EXPECT_EQ(fs::canonical(net / "eth0/master"), fs::canonical(net / "bond0"));
    EXPECT_EQ(read_text(net / "eth1/master/bonding/slaves"), "eth0 eth1\n");
    remove_sysfs(sys, first);
    EXPECT_EQ(read_text(net / "bond0/bonding/slaves"), "eth1\n");
    remove_sysfs(sys, second);
    EXPECT_FALSE(fs::exists(net / "bond0"));
    EXPECT_FALSE(fs::exists(sys / "devices/virtual/net/bond0"));
    write_sysfs(sys, first);
    EXPECT_EQ(read_text(net / "bond0/bonding/slaves"), "eth0\n");
}

TEST(EmulatorLink, InTheWordsOfInfiniBand)
{
    const auto words = [](std::uint64_t gbps) { return encode_link(Bandwidth::from_gbps(gbps)).text; };
    EXPECT_EQ(words(10), "10 Gb/sec (4X SDR)");
    EXPECT_EQ(words(25), "25 Gb/sec (1X EDR)");
    EXPECT_EQ(words(40), "40 Gb/sec (4X QDR)");
    EXPECT_EQ(words(50), "50 Gb/sec (1X HDR)");
    EXPECT_EQ(words(56), "56 Gb/sec (4X FDR)");
    EXPECT_EQ(words(100), "100 Gb/sec (4X EDR)");
    EXPECT_EQ(words(200), "200 Gb/sec (4X HDR)");
    EXPECT_EQ(words(400), "400 Gb/sec (4X NDR)");
    EXPECT_EQ(words(77), "56 Gb/sec (4X FDR)");
    EXPECT_EQ(words(12), "10 Gb/sec (4X SDR)");
    EXPECT_EQ(words(1), "1 Gb/sec (1X SDR)");
    EXPECT_EQ(encode_link(Bandwidth::from_mbps(400)).text, "0.4 Gb/sec (1X SDR)");
}

}    // namespace
}    // namespace rdmaqos::test
