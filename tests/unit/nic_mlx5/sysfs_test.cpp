#include "lib/nic_mlx5/sysfs.h"

#include <cerrno>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "tests/support/no_descriptors.h"
#include "tests/support/temp_dir.h"

namespace rdmaqos::mlx5 {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A /sys with devices in it, as the kernel lays it out.
class Sysfs {
public:
    [[nodiscard]] const fs::path& root() const { return dir_.path(); }
    void write(const std::string& name, const std::string& text) const { dir_.write(name, text); }
    void link(const std::string& name, const std::string& target) const
    {
        fs::create_directories((root() / name).parent_path());
        fs::create_symlink(root() / target, root() / name);
    }
    void folder(const std::string& name) const { fs::create_directories(root() / name); }
    void remove(const std::string& name) const { fs::remove_all(root() / name); }

    void device(const std::string& name, const std::string& pci) const
    {
        const std::string at = "class/infiniband/" + name + "/";
        write(at + "node_guid", "0c42:a103:0065:1234\n");
        write(at + "fw_ver", "22.31.1014\n");
        write(at + "board_id", "MT_0000000359\n");
        write(at + "node_desc", "host1 " + name + "\n");
        folder("devices/pci/" + pci);
        folder("bus/pci/drivers/mlx5_core");
        link(at + "device", "devices/pci/" + pci);
        link("devices/pci/" + pci + "/driver", "bus/pci/drivers/mlx5_core");
    }
    void port(const std::string& name, unsigned port, const std::string& layer, const std::string& netdev) const
    {
        const std::string at = "class/infiniband/" + name + "/ports/" + std::to_string(port) + "/";
        write(at + "link_layer", layer + "\n");
        write(at + "state", "4: ACTIVE\n");
        write(at + "rate", "100 Gb/sec (4X EDR)\n");
        write(at + "gids/0", "fe80:0000:0000:0000:0e42:a1ff:fe65:1234\n");
        write(at + "gids/1", "0000:0000:0000:0000:0000:0000:0000:0000\n");
        write(at + "gids/2", "0000:0000:0000:0000:0000:ffff:0a01:0007\n");
        write(at + "pkeys/0", "0xffff\n");
        write(at + "pkeys/1", "0x0000\n");
        if (!netdev.empty()) {
            write(at + "gid_attrs/ndevs/0", netdev + "\n");
        }
    }

private:
    test::TempDir dir_;
};

TEST(Sysfs, APortOfRoce)
{
    const Sysfs sys;
    sys.device("mlx5_0", "0000:3b:00.0");
    sys.port("mlx5_0", 1, "Ethernet", "ens1f0np0");
    sys.write("class/net/ens1f0np0/mtu", "4200\n");
    const auto port = read_port(sys.root(), "mlx5_0", 1).value();
    ASSERT_TRUE(port.has_value());
    DeviceInfo expected;
    expected.name = "mlx5_0";
    expected.port = 1;
    expected.node_guid = Guid{0x0c42a10300651234};
    expected.port_guid = Guid{0x0e42a1fffe651234};
    expected.netdev = "ens1f0np0";
    expected.pci_address = "0000:3b:00.0";
    expected.driver = "mlx5";
    expected.firmware = "22.31.1014";
    expected.board_id = "MT_0000000359";
    expected.link_speed = Bandwidth::from_gbps(100);
    expected.gids = {*parse_gid("fe80::e42:a1ff:fe65:1234"), *parse_gid("::ffff:10.1.0.7")};
    expected.pkeys = {0xffff};
    expected.node_description = "host1 mlx5_0";
    EXPECT_EQ(*port, expected);
}

TEST(Sysfs, TwoPortsOfOneDeviceAndAnotherDriver)
{
    const Sysfs sys;
    sys.device("mlx5_0", "0000:3b:00.0");
    sys.port("mlx5_0", 1, "InfiniBand", "");
    sys.port("mlx5_0", 2, "Ethernet", "");
    sys.device("rxe0", "none");
    sys.port("rxe0", 1, "Ethernet", "eth0");
    sys.remove("class/infiniband/rxe0/device");
    for (const char* name : {"dev1", "dev2"}) {
        sys.folder(std::string("devices/pci/0000:3b:00.0/net/") + name);
    }
    sys.write("devices/pci/0000:3b:00.0/net/dev1/dev_port", "0\n");
    sys.write("devices/pci/0000:3b:00.0/net/dev2/dev_port", "1\n");
    const auto ports = list_ports(sys.root()).value();
    ASSERT_THAT(ports, SizeIs(3));
    EXPECT_EQ(ports[0].key(), "mlx5_0/1");
    EXPECT_EQ(ports[0].link_layer, LinkLayer::InfiniBand);
    EXPECT_EQ(ports[0].netdev, "dev1");
    EXPECT_EQ(ports[1].key(), "mlx5_0/2");
    EXPECT_EQ(ports[1].link_layer, LinkLayer::Ethernet);
    EXPECT_EQ(ports[1].netdev, "dev2");
    EXPECT_EQ(ports[2].key(), "rxe0/1");
    EXPECT_EQ(ports[2].driver, "rxe0");
    EXPECT_EQ(ports[2].pci_address, "");
}

TEST(Sysfs, AVirtualFunction)
{
    const Sysfs sys;
    sys.device("mlx5_2", "0000:3b:00.2");
    sys.port("mlx5_2", 1, "Ethernet", "");
    EXPECT_FALSE(read_port(sys.root(), "mlx5_2", 1).value()->virtual_function);
    sys.folder("devices/pci/0000:3b:00.0");
    sys.link("devices/pci/0000:3b:00.2/physfn", "devices/pci/0000:3b:00.0");
    EXPECT_TRUE(read_port(sys.root(), "mlx5_2", 1).value()->virtual_function);
}

// The GID table of a bonded device names the bond; otherwise the port's own netdev has a master.
TEST(Sysfs, Bonds)
{
    const Sysfs sys;
    sys.device("mlx5_bond_0", "0000:3b:00.0");
    sys.port("mlx5_bond_0", 1, "Ethernet", "bond0");
    sys.folder("class/net/bond0/bonding");
    EXPECT_EQ(read_port(sys.root(), "mlx5_bond_0", 1).value()->bond, "bond0");
    EXPECT_EQ(read_port(sys.root(), "mlx5_bond_0", 1).value()->driver, "mlx5");

    sys.device("mlx5_1", "0000:3b:00.1");
    sys.port("mlx5_1", 1, "Ethernet", "ens1f1np1");
    sys.folder("class/net/ens1f1np1");
    EXPECT_EQ(read_port(sys.root(), "mlx5_1", 1).value()->bond, "");
    sys.link("class/net/ens1f1np1/master", "class/net/bond0");
    EXPECT_EQ(read_port(sys.root(), "mlx5_1", 1).value()->bond, "bond0");
    sys.remove("class/net/ens1f1np1/master");
    sys.folder("class/net/br0/bridge");
    sys.link("class/net/ens1f1np1/master", "class/net/br0");
    EXPECT_EQ(read_port(sys.root(), "mlx5_1", 1).value()->bond, "");
}

TEST(Sysfs, LinkDown)
{
    const Sysfs sys;
    sys.device("mlx5_0", "0000:3b:00.0");
    sys.port("mlx5_0", 1, "Ethernet", "");
    for (const auto& [state, up] : {std::pair("4: ACTIVE\n", true),
                                    {"1: DOWN\n", false},
                                    {"2: INIT\n", false},
                                    {"3: ARMED\n", false},
                                    {"", false},
                                    {"44: ACTIVE", false}}) {
        sys.write("class/infiniband/mlx5_0/ports/1/state", state);
        EXPECT_EQ(read_port(sys.root(), "mlx5_0", 1).value()->link_up, up) << state;
    }
}

// The path MTU leaves room for every header that a packet of RoCE can have: 96 bytes.
TEST(Sysfs, MtuOfRoceWithoutNetdevAndWith)
{
    const Sysfs sys;
    sys.device("mlx5_0", "0000:3b:00.0");
    sys.port("mlx5_0", 1, "Ethernet", "");
    EXPECT_EQ(read_port(sys.root(), "mlx5_0", 1).value()->mtu, 4096U);
    EXPECT_EQ(read_port(sys.root(), "mlx5_0", 1).value()->netdev, "");
    sys.port("mlx5_0", 1, "Ethernet", "eth0");
    const std::pair<const char*, std::uint32_t> kMtus[] = {
        {"9000\n", 4096}, {"4192\n", 4096}, {"4191\n", 2048}, {"4172\n", 2048}, {"2144\n", 2048}, {"2143\n", 1024},
        {"1500\n", 1024}, {"1119\n", 512},  {"607\n", 256},   {"100\n", 256},   {"0\n", 256},     {"x\n", 4096}};
    for (const auto& [text, mtu] : kMtus) {
        sys.write("class/net/eth0/mtu", text);
        EXPECT_EQ(read_port(sys.root(), "mlx5_0", 1).value()->mtu, mtu) << text;
    }
    sys.port("mlx5_0", 1, "InfiniBand", "eth0");
    EXPECT_EQ(read_port(sys.root(), "mlx5_0", 1).value()->mtu, 4096U);
}

TEST(Sysfs, NothingThere)
{
    const Sysfs sys;
    EXPECT_THAT(list_ports(sys.root()).value(), IsEmpty());
    EXPECT_THAT(list_ports(sys.root() / "absent").value(), IsEmpty());
    EXPECT_EQ(read_port(sys.root(), "mlx5_0", 1).value(), std::nullopt);
    EXPECT_EQ(device_of_number(sys.root(), makedev(231, 192)).value(), "");
    sys.device("mlx5_0", "0000:3b:00.0");
    EXPECT_THAT(list_ports(sys.root()).value(), IsEmpty());
}

// Otherwise a device that cannot be looked at would count as gone.
TEST(Sysfs, WithoutDescriptorsNothingIsSaid)
{
    const Sysfs sys;
    sys.device("mlx5_0", "0000:3b:00.0");
    sys.port("mlx5_0", 1, "Ethernet", "eth0");
    std::vector<Error> errors;
    {
        const test::NoDescriptors none;
        errors = {list_ports(sys.root()).error(), read_port(sys.root(), "mlx5_0", 1).error(),
                  device_of_number(sys.root(), makedev(231, 192)).error(), read_gid(sys.root(), "mlx5_0", 1, 0).error(),
                  read_pkey(sys.root(), "mlx5_0", 1, 0).error()};
    }
    for (const auto& error : errors) {
        EXPECT_EQ(error.code, ErrorCode::Busy) << to_string(error);
        EXPECT_EQ(error.sys_errno, EMFILE) << to_string(error);
    }
    EXPECT_THAT(list_ports(sys.root()).value(), SizeIs(1));
}

TEST(Sysfs, MissingFilesAreEmptyFields)
{
    const Sysfs sys;
    sys.folder("class/infiniband/mlx5_0/ports/1");
    const auto ports = list_ports(sys.root()).value();
    ASSERT_THAT(ports, SizeIs(1));
    DeviceInfo expected;
    expected.name = "mlx5_0";
    expected.driver = "mlx5";
    expected.link_up = false;
    EXPECT_EQ(ports[0], expected);
}

TEST(Sysfs, GarbageInEveryFile)
{
    for (const std::string& garbage :
         {std::string("\0\xff\n", 3), std::string("-1"), std::string(100000, 'A'), std::string("\n\n\n"),
          std::string("/../../.."), std::string("18446744073709551616\n")}) {
        const Sysfs sys;
        sys.device("mlx5_0", "0000:3b:00.0");
        sys.port("mlx5_0", 1, "Ethernet", "eth0");
        sys.write("class/net/eth0/mtu", "1500");
        for (const auto& entry : fs::recursive_directory_iterator(sys.root())) {
            if (entry.is_regular_file() && !entry.is_symlink()) {
                sys.write(fs::relative(entry.path(), sys.root()), garbage);
            }
        }
        const auto ports = list_ports(sys.root()).value();
        ASSERT_THAT(ports, SizeIs(1));
        EXPECT_EQ(ports[0].node_guid, Guid{});
        EXPECT_EQ(ports[0].port_guid, Guid{});
        EXPECT_FALSE(ports[0].link_up);
        EXPECT_EQ(ports[0].link_speed, Bandwidth());
        EXPECT_THAT(ports[0].gids, IsEmpty());
        EXPECT_THAT(ports[0].pkeys, IsEmpty());
        EXPECT_FALSE(read_counters(sys.root(), "mlx5_0", 1).has_value());
    }
}

// A reader must not wait where a file should be.
TEST(Sysfs, NoFileWhereOneShouldBe)
{
    const Sysfs sys;
    sys.device("mlx5_0", "0000:3b:00.0");
    sys.port("mlx5_0", 1, "Ethernet", "");
    for (const char* name : {"node_guid", "ports/1/rate", "ports/1/gids/0"}) {
        const fs::path path = sys.root() / "class/infiniband/mlx5_0" / name;
        fs::remove(path);
        ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    }
    sys.remove("class/infiniband/mlx5_0/ports/1/state");
    sys.folder("class/infiniband/mlx5_0/ports/1/state");
    const auto port = read_port(sys.root(), "mlx5_0", 1).value();
    ASSERT_TRUE(port.has_value());
    EXPECT_EQ(port->link_speed, Bandwidth());
    EXPECT_FALSE(port->link_up);
}

TEST(Sysfs, NamesOfPortsThatAreNone)
{
    const Sysfs sys;
    for (const char* name : {"0", "256", "-1", "x", "1x", "01"}) {
        sys.folder(std::string("class/infiniband/mlx5_0/ports/") + name);
    }
    EXPECT_THAT(list_ports(sys.root()).value(), IsEmpty());
    sys.folder("class/infiniband/mlx5_0/ports/1");
    EXPECT_THAT(list_ports(sys.root()).value(), SizeIs(1)) << "01 is no second one";
}

TEST(Sysfs, DeviceOfANumber)
{
    const Sysfs sys;
    sys.write("class/infiniband_verbs/abi_version", "6\n");
    sys.write("class/infiniband_verbs/uverbs0/dev", "231:192\n");
    sys.write("class/infiniband_verbs/uverbs0/ibdev", "mlx5_0\n");
    sys.write("class/infiniband_verbs/uverbs1/dev", "231:19\n");
    sys.write("class/infiniband_verbs/uverbs1/ibdev", "mlx5_1\n");
    EXPECT_EQ(device_of_number(sys.root(), makedev(231, 192)).value(), "mlx5_0");
    EXPECT_EQ(device_of_number(sys.root(), makedev(231, 19)).value(), "mlx5_1");
    EXPECT_EQ(device_of_number(sys.root(), makedev(231, 1)).value(), "");
    EXPECT_EQ(device_of_number(sys.root(), makedev(1, 3)).value(), "");
}

TEST(Sysfs, CountersAreInWords)
{
    const Sysfs sys;
    const std::string at = "class/infiniband/mlx5_0/ports/1/counters/";
    sys.write(at + "port_xmit_data", "1000\n");
    EXPECT_EQ(read_counters(sys.root(), "mlx5_0", 1).error().code, ErrorCode::Unsupported);
    sys.write(at + "port_rcv_data", "2\n");
    EXPECT_EQ(*read_counters(sys.root(), "mlx5_0", 1), (PortCounters{4000, 8}));
    sys.write(at + "port_rcv_data", "N/A (no PMA)\n");
    EXPECT_FALSE(read_counters(sys.root(), "mlx5_0", 1).has_value());
}

TEST(LinkRate, InTheKernelsWords)
{
    const std::pair<std::string_view, std::uint64_t> kRates[] = {{"100 Gb/sec (4X EDR)", 100'000'000},
                                                                 {"2.5 Gb/sec (1X SDR)", 2'500'000},
                                                                 {"14 Gb/sec (1X FDR)", 14'000'000},
                                                                 {"400 Gb/sec (4X NDR)", 400'000'000},
                                                                 {"0.5 Gb/sec", 500'000},
                                                                 {"1000000 Gb/sec", 1'000'000'000'000},
                                                                 {"0 Gb/sec", 0},
                                                                 {"-100 Gb/sec", 0},
                                                                 {"1000001 Gb/sec", 0},
                                                                 {"inf Gb/sec", 0},
                                                                 {"nan Gb/sec", 0},
                                                                 {"100 Mb/sec", 0},
                                                                 {"100", 0},
                                                                 {"", 0},
                                                                 {"Gb/sec", 0},
                                                                 {" 100 Gb/sec", 0},
                                                                 {"1e400 Gb/sec", 0},
                                                                 {"1e-300 Gb/sec", 0}};
    for (const auto& [text, kbps] : kRates) {
        EXPECT_EQ(parse_link_rate(text).kbps(), kbps) << text;
    }
}

}    // namespace
}    // namespace rdmaqos::mlx5
