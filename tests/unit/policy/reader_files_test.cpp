// Settings, fabric and simulated devices.
#include <filesystem>

#include <gmock/gmock.h>

#include "policy/yaml/fabric_reader.h"
#include "policy/yaml/settings_reader.h"
#include "policy/yaml/simulation_reader.h"
#include "tests/unit/policy/reader_support.h"

namespace rdmaqos::test {
namespace {

template <typename T>
T value_of(const ReadResult<T>& result)
{
    EXPECT_TRUE(result.value) << shown(result);
    EXPECT_EQ(result.diagnostics.warning_count(), 0U) << shown(result);
    return result.value ? *result.value : T{};
}

TEST(ReadSettings, TakesEveryKey)
{
    const Settings settings = value_of(read_settings(with_version(R"(
mode: monitor
on-unsupported: degrade
attach-mode: per-process
cap-mode: divide
unregistered: adopt
port-classes: off
cnp-dscp: 63
queue-pair-counters: bind
drift-interval: 5min
leaf-reserve: 0
socket-group: 4242
limits:
  sessions-per-uid: 1
  queue-pairs-per-uid: 2
  queue-pairs-per-session: 3
  connections-per-uid: 4
  requests-per-second-per-uid: 5
  device-queue: 6
)")));
    Settings expected;
    expected.mode = Mode::Monitor;
    expected.on_unsupported = OnUnsupported::Degrade;
    expected.attach_mode = AttachMode::PerProcess;
    expected.cap_mode = CapMode::Divide;
    expected.unregistered = Unregistered::Adopt;
    expected.port_classes = PortClassesSetting::Off;
    expected.cnp_dscp = 63;
    expected.queue_pair_counters = QueuePairCountersSetting::Bind;
    expected.drift_interval = std::chrono::minutes(5);
    expected.leaf_reserve = 0;
    expected.socket_group = "4242";
    expected.socket_gid = 4242;
    expected.limits = {1, 2, 3, 4, 5, 6};
    EXPECT_EQ(settings, expected);
}

TEST(ReadSettings, AbsentKeysAndFilesGiveTheDefault)
{
    EXPECT_EQ(value_of(read_settings(with_version(""))), Settings{});
    EXPECT_EQ(value_of(read_settings(std::filesystem::path("/nonexistent/rdma-qosd.yaml"))), Settings{});
    EXPECT_EQ(read_settings(std::filesystem::path("/dev")).value, nullptr);
    expect_only_error(read_settings(source("empty.yaml", "")), "`version: 1` is missing");
}

TEST(ReadFabric, TakesEveryKey)
{
    const Fabric fabric = value_of(read_fabric(with_version(R"(
ports:
  - {guid: 0x10, port: 2, node-guid: 0x11, type: router, description: "r 1", pkeys: [0xffff, 0x8001], sm: true, lid: 8, lmc: 2}
  - {guid: 0x20, lid: 0xbfff}
  - {guid: 0x30, type: SWITCH, port: 1, lid: 12}
  - {guid: 0x30, type: SWITCH, port: 2, lid: 12}
partitions:
  - {name: Default, pkey: 0xffff, ipoib: {sl: 3, mtu: 4, rate: 100Gbps, packet-life: 18}}
  - {name: Part1, pkey: 1}
)")));
    ASSERT_EQ(fabric.ports.size(), 4U);
    const FabricPort& port = fabric.ports[0];
    EXPECT_EQ(fabric.find_port(Guid{0x10}), &port);
    EXPECT_EQ(fabric.find_port(Guid{0x99}), nullptr);
    EXPECT_EQ(port.port, 2U);
    EXPECT_EQ(port.node_guid, Guid{0x11});
    EXPECT_EQ(port.type, NodeType::Router);
    EXPECT_EQ(port.description, "r 1");
    EXPECT_EQ(port.pkeys, (std::vector<std::uint16_t>{0xFFFF, 0x8001}));
    EXPECT_TRUE(port.subnet_manager);
    EXPECT_EQ(port.lids, (LidRange{{8}, 2}));
    EXPECT_EQ(fabric.ports[1].lids, (LidRange{{0xBFFF}, 0}));
    EXPECT_EQ(fabric.find_lid(Lid{7}), nullptr);
    EXPECT_EQ(fabric.find_lid(Lid{8}), &port);
    EXPECT_EQ(fabric.find_lid(Lid{11}), &port);
    EXPECT_EQ(fabric.find_lid(Lid{12}), &fabric.ports[2]);
    EXPECT_EQ(fabric.ports[1].type, NodeType::Ca);
    EXPECT_EQ(fabric.ports[1].port, 1U);
    ASSERT_EQ(fabric.partitions.size(), 2U);
    EXPECT_EQ(fabric.partitions[0].pkey, 0x7FFF);
    ASSERT_TRUE(fabric.partitions[0].ipoib);
    EXPECT_EQ(fabric.partitions[0].ipoib->sl, 3);
    EXPECT_EQ(fabric.partitions[0].ipoib->mtu, IbMtu::Mtu2048);
    EXPECT_EQ(fabric.partitions[0].ipoib->rate, ib_rate_from_number(16));
    EXPECT_EQ(fabric.partitions[0].ipoib->packet_life, 18);
    EXPECT_FALSE(fabric.partitions[1].ipoib);
    EXPECT_EQ(to_string(NodeType::Switch), "SWITCH");
}

TEST(ReadFabric, AMissingFileIsAnEmptyFabric)
{
    EXPECT_TRUE(value_of(read_fabric(std::filesystem::path("/nonexistent/fabric.yaml"))).ports.empty());
    EXPECT_TRUE(value_of(read_fabric(with_version("ports:\npartitions: []\n"))).ports.empty());
}

Capabilities profile()
{
    Capabilities capabilities;
    capabilities.scheduling = capabilities.shares = capabilities.rate_caps = true;
    capabilities.max_depth = 4;
    capabilities.max_leaves = 256;
    capabilities.pacing.table_size = 127;
    return capabilities;
}

TEST(ReadSettings, AMetricsFileIsOffUntilItIsNamed)
{
    EXPECT_EQ(value_of(read_settings(with_version("metrics: {interval: 1min}"))).metrics,
              (MetricsSettings{"", std::chrono::minutes(1)}));
    EXPECT_EQ(value_of(read_settings(with_version("metrics: {textfile: /a/b.prom}"))).metrics,
              (MetricsSettings{"/a/b.prom", std::chrono::seconds(15)}));
}

TEST(ReadSettings, TheGroupOfTheSocketIsLookedUp)
{
    const Settings found = value_of(read_settings(with_version("socket-group: hpc"), fake_names()));
    EXPECT_EQ(found.socket_group, "hpc");
    EXPECT_EQ(found.socket_gid, 2000U);
    const auto unknown = read_settings(with_version("socket-group: nobody-has-this"), fake_names());
    ASSERT_TRUE(unknown.value);
    EXPECT_EQ(unknown.value->socket_gid, std::nullopt) << "nobody is in it";
    EXPECT_THAT(shown(unknown), testing::HasSubstr("there is no group `nobody-has-this` on this host"));
    expect_only_error(read_settings(with_version("socket-group: 4294967295")), "group 4294967295 is out of range");
}

TEST(ReadSimulation, TakesEveryKey)
{
    const auto devices = value_of(read_simulation(with_version(R"(
devices:
  - name: mlx5_3
    port: 2
    node-guid: 0x10
    port-guid: 0x12
    netdev: eth0
    bond: bond0
    pci: "0000:3b:00.0"
    virtual-function: true
    link-layer: infiniband
    link-speed: 200Gbps
    mtu: 2048
    gids: ["fe80::1", 10.0.0.1]
    pkeys: [0xffff, 1]
    description: node HCA-1
    traffic: {transmit: 60Gbps, receive: 1kbps}
    port-counters: false
    capabilities:
      scheduling: true
      shares: false
      rate-caps: false
      max-depth: 3
      max-leaves: 8
      max-elements: 16
      max-share: 10
      responder-leaf: true
      attachable: [rc, raw-packet]
      pacing: {types: [ud], min-rate: 1kbps, max-rate: 10Gbps, table-size: 4, burst: true, typical-packet: true}
)"),
                                                  profile()));
    ASSERT_EQ(devices.size(), 1U);
    const SimulatedDevice& device = devices[0];
    EXPECT_EQ(device.name, "mlx5_3");
    EXPECT_EQ(device.port, 2U);
    EXPECT_EQ(device.node_guid, Guid{0x10});
    EXPECT_EQ(device.port_guid, Guid{0x12});
    EXPECT_EQ(device.netdev, "eth0");
    EXPECT_EQ(device.bond, "bond0");
    EXPECT_EQ(device.pci_address, "0000:3b:00.0");
    EXPECT_TRUE(device.virtual_function);
    EXPECT_TRUE(device.infiniband);
    EXPECT_EQ(device.link_speed, Bandwidth::from_gbps(200));
    EXPECT_EQ(device.mtu, 2048U);
    EXPECT_EQ(device.gids.size(), 2U);
    EXPECT_EQ(device.pkeys, (std::vector<std::uint16_t>{0xFFFF, 1}));
    EXPECT_EQ(device.node_description, "node HCA-1");
    EXPECT_EQ(device.transmit_traffic, Bandwidth::from_gbps(60));
    EXPECT_EQ(device.receive_traffic, Bandwidth::from_kbps(1));
    EXPECT_FALSE(device.port_counters);
    Capabilities expected;
    expected.scheduling = true;
    expected.max_depth = 3;
    expected.max_leaves = 8;
    expected.max_elements = 16;
    expected.max_share = 10;
    expected.responder_leaf = true;
    expected.attachable = {QueuePairType::Rc, QueuePairType::RawPacket};
    expected.pacing = {{QueuePairType::Ud}, Bandwidth::from_kbps(1), Bandwidth::from_gbps(10), 4, true, true};
    EXPECT_EQ(device.capabilities, expected);
}

TEST(ReadSimulation, WhatIsAbsentIsTheProfileAndAStableGuid)
{
    const auto read = [](const std::string& text) { return value_of(read_simulation(with_version(text), profile())); };
    const auto devices = read(
        "devices: [{name: a}, {name: a, port: 2}, {name: b, capabilities: {max-depth: 2, attachable: []}}]");
    ASSERT_EQ(devices.size(), 3U);
    EXPECT_EQ(devices[0].capabilities, profile());
    EXPECT_EQ(devices[2].capabilities.max_depth, 2U);
    EXPECT_EQ(devices[2].capabilities.max_leaves, 256U);
    EXPECT_EQ(devices[0].link_speed, Bandwidth::from_gbps(100));
    EXPECT_EQ(devices[0].pkeys, std::vector<std::uint16_t>{0xFFFF});
    EXPECT_EQ(devices[0].node_guid, devices[1].node_guid);
    EXPECT_NE(devices[0].port_guid, devices[1].port_guid);
    EXPECT_NE(devices[0].node_guid, devices[2].node_guid);
    EXPECT_EQ(read("devices: [{name: a}]")[0].port_guid, devices[0].port_guid);
    EXPECT_TRUE(devices[0].transmit_traffic.is_zero());
    EXPECT_TRUE(devices[0].port_counters);
    EXPECT_FALSE(devices[0].virtual_function);
    EXPECT_EQ(devices[0].bond, "");
    const auto sends = read("devices: [{name: a, traffic: 40Gbps}]")[0];
    EXPECT_EQ(sends.transmit_traffic, Bandwidth::from_gbps(40));
    EXPECT_TRUE(sends.receive_traffic.is_zero());
    EXPECT_TRUE(read("devices:").empty());
    EXPECT_EQ(read("devices: [{name: a, port: 4294967295}]")[0].port, 4'294'967'295U) << "as in verbs";
}

TEST(ReadSimulation, AMissingFileIsAnError)
{
    const auto result = read_simulation(std::filesystem::path("/nonexistent/devices.yaml"), profile());
    expect_only_error(result, "cannot be opened (No such file or directory)");
}

}    // namespace
}    // namespace rdmaqos::test
