// Service: the traffic classes of ports, which are read and reported.
#include <chrono>

#include <gmock/gmock.h>

#include "daemon/service/managed_ports.h"
#include "tests/support/fake_ports.h"
#include "tests/support/service_fixture.h"

namespace rdmaqos {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class ServicePorts : public test::ServiceFixture, public ServiceObserver {
protected:
    void SetUp() override
    {
        policy("version: 1\nqos-levels: [{name: DEFAULT, sl: 0}]\n");
        more_options = [this](ServiceOptions& options) {
            options.port_kernel = ports;
            options.watch_ports = ports->watch();
            options.wall_clock = [this] { return WallTime(std::chrono::seconds(now)); };
        };
        ports->set("eth0", test::three_classes());
    }
    void TearDown() override
    {
        gate.open();
        if (service) {
            service->context().remove_observer(*this);
        }
        service.reset();
    }

    void begin() { start().context().add_observer(*this); }
    void device_changed(const std::string& /*key*/) override { ++changes; }

    ModelBackend& add(const std::string& name, const std::string& netdev, LinkLayer layer = LinkLayer::Ethernet)
    {
        DeviceInfo info = new_device(name);
        info.netdev = netdev;
        info.link_layer = layer;
        auto backend = std::make_unique<ModelBackend>(info, default_capabilities());
        ModelBackend& kept = *backend;
        service->device_control().add(std::move(backend));
        settle();
        return kept;
    }

    [[nodiscard]] PortStatus status(const std::string& key = "mlx5_0/1") const { return service->ports().status(key); }
    // Runs the timers that are due, and waits for this many readings of the interface, answers included.
    void read(int times, const std::string& netdev = "eth0")
    {
        loop.advance(PortReader::kSettle);
        EXPECT_TRUE(loop.run_until([&] { return ports->reads(netdev) >= times; }));
        loop.run_until_rest();
    }

    std::shared_ptr<test::FakePorts> ports = std::make_shared<test::FakePorts>();
    test::Gate gate;
    int now = 1000;
    int changes = 0;
};

TEST_F(ServicePorts, AreReadWhenADeviceComes)
{
    begin();
    add("mlx5_0", "eth0");
    EXPECT_EQ(status().reading, PortReading::Pending);
    read(1);
    EXPECT_EQ(status(), (PortStatus{.reading = PortReading::Read,
                                    .netdev = "eth0",
                                    .driver = "mlx5_core",
                                    .settings = test::three_classes(),
                                    .read_at = WallTime(1000s)}));
    EXPECT_EQ(ports->reads("eth0"), 1);
    EXPECT_EQ(status("mlx5_9/1").reading, PortReading::Off) << "there is no such device";
}

TEST_F(ServicePorts, ThatHaveNoneSaySo)
{
    begin();
    add("mlx5_0", "");
    add("mlx5_1", "ib0", LinkLayer::InfiniBand);
    add("mlx5_2", "eth2");
    read(1, "eth2");
    EXPECT_EQ(status("mlx5_0/1").reading, PortReading::None);
    EXPECT_THAT(status("mlx5_0/1").reason, HasSubstr("no network interface"));
    EXPECT_EQ(status("mlx5_1/1").reading, PortReading::None);
    EXPECT_THAT(status("mlx5_1/1").reason, HasSubstr("InfiniBand"));
    EXPECT_EQ(status("mlx5_2/1").reading, PortReading::None);
    EXPECT_THAT(status("mlx5_2/1").reason, HasSubstr("has no DCB"));
    EXPECT_EQ(ports->reads("ib0"), 0);
}

TEST_F(ServicePorts, AreLeftAloneWhenTheSettingsSaySo)
{
    settings("version: 1\nport-classes: off\n");
    begin();
    EXPECT_FALSE(ports->is_watched());
    add("mlx5_0", "eth0");
    loop.advance(1h);
    loop.run_until_rest();
    EXPECT_EQ(status(), PortStatus());
    EXPECT_EQ(ports->reads("eth0"), 0);

    settings("version: 1\n");
    EXPECT_TRUE(reload().accepted);
    EXPECT_TRUE(ports->is_watched());
    read(1);
    EXPECT_EQ(status().reading, PortReading::Read);

    settings("version: 1\nport-classes: off\n");
    EXPECT_TRUE(reload().accepted);
    EXPECT_FALSE(ports->is_watched());
    EXPECT_EQ(status(), PortStatus()) << "what is not read any longer is not shown";
}

TEST_F(ServicePorts, ADeviceThatComesBackHasANewInterface)
{
    begin();
    add("mlx5_0", "eth0");
    read(1);
    service->device_control().remove("mlx5_0/1");
    EXPECT_EQ(status().reading, PortReading::Off);
    ports->set("eth0", {});
    ports->set("eth1", {});
    devices = 0;
    add("mlx5_0", "eth0");
    EXPECT_EQ(status().reading, PortReading::Pending) << "what was read is of the interface before";
    read(2);
    EXPECT_EQ(status().settings, dcb::PortSettings());
}

TEST_F(ServicePorts, AreInTheMetrics)
{
    begin();
    add("mlx5_0", "eth0");
    read(1);
    std::optional<Metrics> metrics;
    service->metrics().collect([&](Metrics all) { metrics = std::move(all); });
    loop.advance(1s);
    ASSERT_TRUE(loop.run_until([&] { return metrics.has_value(); }));
    EXPECT_EQ(metrics->devices.at(0).port_settings, test::three_classes());
}

}    // namespace
}    // namespace rdmaqos
