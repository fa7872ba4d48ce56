#include "tools/emulator/sysfs.h"

#include <chrono>

#include <gtest/gtest.h>

#include "tests/support/golden.h"
#include "tests/support/uverbs_client.h"
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

TEST(EmulatorSysfs, CountersAdvanceByTheTrafficOfAPortThatIsUp)
{
    EmulatorInProcess emulator;
    SimulatedDevice port = emulator.device().ports().front();
    port.name = "busy_0";
    port.transmit_traffic = Bandwidth::from_gbps(8);
    Device device({port}, {}, 7);
    const auto sys = emulator.path() / "sys";
    const auto words = [&] {
        return std::stoull(read_text(sys / "devices/pci0000:00/0000:e0:07.0/infiniband/busy_0/ports/1/counters/port_xmit_data"));
    };
    write_counters(sys, device, std::chrono::seconds(2));
    EXPECT_EQ(words(), 2'000'000'000U / 4) << "8 Gbit/s are 1 GB a second, in words of 4 bytes";
    device.set_port(1, false);
    write_counters(sys, device, std::chrono::seconds(3));
    EXPECT_EQ(words(), 2'000'000'000U / 4);
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
    EXPECT_EQ(words(1), "10 Gb/sec (4X SDR)");
}

}    // namespace
}    // namespace rdmaqos::test
