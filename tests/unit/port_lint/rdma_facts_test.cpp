// What is read, in a tree that is made up.
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/port_lint/rdma_facts.h"
#include "tests/support/temp_dir.h"

namespace rdmaqos::port_lint {
namespace {

namespace fs = std::filesystem;
using rdmaqos::test::TempDir;
using ::testing::IsEmpty;

void add_port(const TempDir& root, const std::string& device, const std::string& netdev, const std::string& pci)
{
    const std::string of_device = "sys/class/infiniband/" + device;
    root.write(of_device + "/ports/1/link_layer", "Ethernet\n");
    root.write(of_device + "/ports/1/gid_attrs/ndevs/0", netdev + "\n");
    fs::create_directories(root.path() / "sys/devices" / pci / "net");
    fs::create_symlink("../../../devices/" + pci, root.path() / of_device / "device");
    root.write("sys/class/net/" + netdev + "/speed", "200000\n");
    fs::create_directories(root.path() / "sys/class/net" / netdev / "device");
    fs::create_symlink("../../../../bus/pci/drivers/mlx5_core",
                       root.path() / "sys/class/net" / netdev / "device/driver");
}

TEST(RdmaFacts, AreReadFromSysfsConfigfsAndTheDriver)
{
    const TempDir root;
    add_port(root, "mlx5_0", "eth0", "0000:3b:00.0");
    root.write("sys/class/infiniband/mlx5_0/tc/1/traffic_class", "Global tclass=106\n");
    root.write("sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_tos", "104\n");
    root.write("sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_mode", "RoCE v2\n");
    root.write("sys/class/net/eth0/ecn/roce_np/cnp_dscp", "48\n");
    root.write("sys/class/net/eth0/ecn/roce_np/cnp_802p_prio", "6\n");
    for (int priority = 0; priority < 8; ++priority) {
        root.write("sys/class/net/eth0/ecn/roce_np/enable/" + std::to_string(priority), "1\n");
        root.write("sys/class/net/eth0/ecn/roce_rp/enable/" + std::to_string(priority), priority == 3 ? "1\n" : "0\n");
    }
    const auto found = find_ports(root.path());
    ASSERT_EQ(found.size(), 1U);
    const Interface& port = found.front().interface;
    EXPECT_EQ(found.front().pci_address, "0000:3b:00.0");
    EXPECT_EQ(port.name, "eth0");
    EXPECT_EQ(port.driver, "mlx5_core");
    EXPECT_EQ(port.link_speed, Bandwidth::from_gbps(200));
    EXPECT_EQ(port.rdma.device, "mlx5_0");
    EXPECT_EQ(port.rdma.default_tos, 104);
    EXPECT_EQ(port.rdma.default_mode, "RoCE v2");
    EXPECT_EQ(port.rdma.forced_traffic_class, 106);
    EXPECT_EQ(port.rdma.notifications.dscp, 48);
    EXPECT_EQ(port.rdma.notifications.priority, 6);
    EXPECT_EQ(port.rdma.notifications.are_sent, (OfPriority<bool>{true, true, true, true, true, true, true, true}));
    EXPECT_EQ(port.rdma.notifications.are_obeyed, (OfPriority<bool>{false, false, false, true}));
}

TEST(RdmaFacts, OfAStockKernelAreInDebugfs)
{
    const TempDir root;
    add_port(root, "mlx5_0", "eth0", "0000:3b:00.0");
    root.write("sys/kernel/debug/mlx5/0000:3b:00.0/cc_params/np_cnp_dscp", "48\n");
    root.write("sys/kernel/debug/mlx5/0000:3b:00.0/cc_params/np_cnp_prio", "6\n");
    const auto found = find_ports(root.path());
    ASSERT_EQ(found.size(), 1U);
    const RdmaFacts& facts = found.front().interface.rdma;
    EXPECT_EQ(facts.notifications.dscp, 48);
    EXPECT_EQ(facts.notifications.priority, 6);
    EXPECT_FALSE(facts.notifications.are_sent);
    EXPECT_FALSE(facts.default_tos) << "nobody has set it";
    EXPECT_FALSE(facts.forced_traffic_class);
    EXPECT_FALSE(fs::exists(root.path() / "sys/kernel/config")) << "reading makes nothing";
}

TEST(RdmaFacts, SayWhyCongestionNotificationsCannotBeRead)
{
    const TempDir root;
    add_port(root, "mlx5_0", "eth0", "0000:3b:00.0");
    const auto unread = [&] { return find_ports(root.path()).front().interface.rdma.notifications.unread; };
    EXPECT_EQ(unread(), "there is no /sys/kernel/debug/mlx5/0000:3b:00.0/cc_params");
    root.write("sys/kernel/debug/mlx5/0000:3b:00.0/cc_params/np_cnp_dscp", "48\n");
    root.write("sys/kernel/debug/mlx5/0000:3b:00.0/cc_params/np_cnp_prio", "6\n");
    EXPECT_EQ(unread(), "");
    root.write("sys/kernel/debug/mlx5/0000:3b:00.0/cc_params/np_cnp_dscp", "many\n");
    EXPECT_EQ(unread(), "/sys/kernel/debug/mlx5/0000:3b:00.0/cc_params makes no sense");
}

TEST(RdmaFacts, APortWhoseInterfaceIsElsewhereIsNamed)
{
    const TempDir root;
    add_port(root, "mlx5_0", "eth0", "0000:3b:00.0");
    root.write("sys/class/infiniband/mlx5_1/ports/1/link_layer", "Ethernet\n");
    root.write("sys/class/infiniband/mlx5_2/ports/1/link_layer", "InfiniBand\n");
    EXPECT_EQ(find_ports(root.path()).size(), 1U);
    EXPECT_THAT(find_ports_without_interface(root.path()), testing::ElementsAre("mlx5_1/1"));
}

TEST(RdmaFacts, LeaveOutWhatIsNotRoceOrMakesNoSense)
{
    const TempDir root;
    EXPECT_THAT(find_ports(root.path()), IsEmpty());
    root.write("sys/class/infiniband/mlx5_1/ports/1/link_layer", "InfiniBand\n");
    root.write("sys/class/infiniband/mlx5_1/ports/1/gid_attrs/ndevs/0", "ib0\n");
    EXPECT_THAT(find_ports(root.path()), IsEmpty());
    const auto infiniband = find_infiniband_ports(root.path());
    ASSERT_EQ(infiniband.size(), 1U);
    EXPECT_EQ(infiniband.front().interface.name, "mlx5_1/1");
    EXPECT_TRUE(infiniband.front().interface.is_infiniband);
    add_port(root, "mlx5_0", "eth0", "0000:3b:00.0");
    const auto beside = find_infiniband_ports(root.path());
    ASSERT_EQ(beside.size(), 1U) << "the other is on Ethernet";
    EXPECT_TRUE(beside.front().interface.is_beside_ethernet);
    EXPECT_FALSE(infiniband.front().interface.is_beside_ethernet);
    root.write("sys/class/net/eth0/speed", "-1\n");
    root.write("sys/class/net/eth0/ecn/roce_np/cnp_dscp", "many\n");
    root.write("sys/class/infiniband/mlx5_0/tc/1/traffic_class", "Global tclass=0\n");
    const auto found = find_ports(root.path());
    ASSERT_EQ(found.size(), 1U);
    EXPECT_FALSE(found.front().interface.link_speed);
    EXPECT_FALSE(found.front().interface.rdma.notifications.dscp);
    EXPECT_FALSE(found.front().interface.rdma.forced_traffic_class);
}

TEST(SentBytesOfCounters, NeedThoseOfPrioritiesAndOfRdma)
{
    const std::vector<port_bytes::Counter> counters{{"tx_prio0_bytes", 10},
                                                    {"tx_prio3_bytes", 30},
                                                    {"tx_prio3_pause", 7},
                                                    {"rx_prio3_bytes", 99},
                                                    {"tx_vport_rdma_unicast_bytes", 25},
                                                    {"tx_vport_rdma_multicast_bytes", 2}};
    const auto sent = sent_bytes(counters);
    ASSERT_TRUE(sent);
    EXPECT_EQ(sent->of_priority, (OfPriority<std::uint64_t>{10, 0, 0, 30}));
    EXPECT_EQ(sent->of_rdma, 27U);
    EXPECT_FALSE(sent_bytes(std::span(counters).first(4))) << "without those of RDMA";
    EXPECT_FALSE(sent_bytes(std::span(counters).last(2))) << "without those of priorities";
}

}    // namespace
}    // namespace rdmaqos::port_lint
