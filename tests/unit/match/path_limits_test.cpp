#include "policy/path/path_limits.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "tests/unit/match/policy_dsl.h"

namespace rdmaqos {
namespace {

using namespace test;

// This host has two ports; 0x77 and 0x78 are elsewhere and known, 0x99 is not known.
struct Host {
    std::vector<Gid> gids{gid("fe80::11"), gid("fd00::1"), gid("10.1.0.1")};
    std::vector<Gid> other_gids{gid("fd00::2")};
    std::vector<std::uint16_t> pkeys{0xFFFF, 0x9234};
    std::vector<std::uint16_t> other_pkeys{0x7FFF};
    std::vector<PathPort> ports{
        {"mlx5_0", 1, Guid{0x11}, gids, pkeys, Bandwidth::from_gbps(100), 4096},
        {"mlx5_1", 1, Guid{0x21}, other_gids, other_pkeys, Bandwidth::from_gbps(25), 1024},
    };
    Fabric fabric;

    Host()
    {
        fabric.ports = {ca_port(0x77, "far"), ca_port(0x78, "further"), ca_port(0x79, "untold")};
        fabric.ports[0].pkeys = {0xFFFF};
        fabric.ports[1].pkeys = {0x8001, 0xFFFF};
        fabric.ports[2].pkeys = {};
        // Known twice: a port of this host, and in the fabric file.
        fabric.ports.push_back(ca_port(0x11, "here"));
        fabric.ports.push_back(ca_port(0x21, "here"));
        fabric.ports[1].lids = LidRange{{14}, 1};
        fabric.ports[3].lids = LidRange{{10}, 0};
        fabric.ports[4].lids = LidRange{{12}, 0};
    }
};

struct LimitCase {
    const char* name;
    const char* source;    // "": none
    const char* destination;
    const char* device;
    const char* expected;
};

class PathLimitsTable : public testing::TestWithParam<LimitCase> {};

std::string text(const PathLimits& limits)
{
    return fmt::format("{:x} to {:x}{}{}, rate {}{}, mtu {}{}", fmt::join(limits.source_pkeys, " "),
                       fmt::join(limits.destination_pkeys, " "), limits.pkeys_known ? "" : " (not known)",
                       limits.loopback ? ", loopback" : "", number(limits.rate),
                       limits.rate_is_assumed ? " (assumed)" : "", bytes(limits.mtu),
                       limits.mtu_is_assumed ? " (assumed)" : "");
}

std::optional<Endpoint> end(const char* text)
{
    return *text == '\0' ? std::nullopt : parse_endpoint(text);
}

TEST_P(PathLimitsTable, Path)
{
    const Host host;
    Request request;
    request.source = end(GetParam().source);
    request.destination = end(GetParam().destination);
    if (*GetParam().device != '\0') {
        request.device = DeviceNames{GetParam().device, 1, "", ""};
    }
    EXPECT_EQ(text(path_limits(request, host.ports, find_in(host.fabric))), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    Table, PathLimitsTable,
    testing::Values(
        LimitCase{"Nothing", "", "", "", "ffff 9234 to  (not known), rate 16, mtu 4096"},
        LimitCase{"Device", "", "", "mlx5_1", "7fff to  (not known), rate 15, mtu 1024"},
        LimitCase{"ToAKnownPort", "", "0x77", "", "ffff 9234 to ffff, rate 16, mtu 4096"},
        LimitCase{"ToAnUnknownPort", "0x11", "0x99", "", "ffff 9234 to  (not known), rate 16, mtu 4096"},
        LimitCase{"ToAPortWithoutPKeys", "0x11", "0x79", "", "ffff 9234 to  (not known), rate 16, mtu 4096"},
        LimitCase{"ByTheOtherPort", "0x21", "0x77", "", "7fff to ffff, rate 15, mtu 1024"},
        LimitCase{"BetweenTheTwo", "0x11", "0x21", "", "ffff 9234 to 7fff, rate 15, mtu 1024"},
        LimitCase{"ToItself", "0x11", "0x11", "", "ffff 9234 to ffff 9234, loopback, rate 16, mtu 4096"},
        LimitCase{"ToItselfByDevice", "", "fd00::2", "mlx5_1", "7fff to 7fff, loopback, rate 15, mtu 1024"},
        LimitCase{"ToTheOtherByDevice", "", "fd00::1", "mlx5_1", "7fff to ffff 9234, rate 15, mtu 1024"},
        LimitCase{"ToItselfByTwoOfItsGids", "fd00::1", "10.1.0.1", "",
                  "ffff 9234 to ffff 9234, loopback, rate 16, mtu 4096"},
        LimitCase{"ToItselfByGidAndGuid", "0x11", "fe80::11", "",
                  "ffff 9234 to ffff 9234, loopback, rate 16, mtu 4096"},
        LimitCase{"FromAfar", "0x77", "0x11", "", "ffff to ffff 9234, rate 16, mtu 4096"},
        LimitCase{"FromAfarToTheOther", "0x77", "0x21", "", "ffff to 7fff, rate 15, mtu 1024"},
        LimitCase{"FromAfarByGid", "fe80::78", "fd00::1", "", "8001 ffff to ffff 9234, rate 16, mtu 4096"},
        LimitCase{"FromAnUnknownPort", "0x99", "0x11", "", " to ffff 9234 (not known), rate 16, mtu 4096"},
        LimitCase{"FromAnUnknownAddress", "10.1.0.9", "10.1.0.1", "", " to ffff 9234 (not known), rate 16, mtu 4096"},
        LimitCase{"ToItselfByLid", "", "lid:10", "", "ffff 9234 to ffff 9234, loopback, rate 16, mtu 4096"},
        LimitCase{"ToTheOtherByLid", "", "lid:12", "", "ffff 9234 to 7fff, rate 15, mtu 1024"},
        LimitCase{"AfarByLids", "lid:14", "lid:15", "",
                  "8001 ffff to 8001 ffff, loopback, rate 16 (assumed), mtu 4096 (assumed)"},
        LimitCase{"ToAnUnknownLid", "", "lid:13", "", "ffff 9234 to  (not known), rate 16, mtu 4096"},
        LimitCase{"FarAway", "0x77", "0x78", "", "ffff to 8001 ffff, rate 16 (assumed), mtu 4096 (assumed)"},
        LimitCase{"FarAwayWithADevice", "0x77", "0x78", "mlx5_1",
                  "ffff to 8001 ffff, rate 16 (assumed), mtu 4096 (assumed)"},
        LimitCase{"FarAwayToItself", "0x77", "0x77", "",
                  "ffff to ffff, loopback, rate 16 (assumed), mtu 4096 (assumed)"},
        LimitCase{"FarAwayToItselfByGid", "fe80::77", "0x77", "",
                  "ffff to ffff, loopback, rate 16 (assumed), mtu 4096 (assumed)"},
        LimitCase{"UnknownToItself", "10.1.0.9", "10.1.0.9", "",
                  " to  (not known), loopback, rate 16 (assumed), mtu 4096 (assumed)"},
        LimitCase{"TwoUnknown", "10.1.0.9", "10.1.0.8", "", " to  (not known), rate 16 (assumed), mtu 4096 (assumed)"}),
    [](const auto& one) { return std::string(one.param.name); });

TEST(PathLimits, OfNoPortAtAllAreTheUsual)
{
    EXPECT_EQ(text(path_limits({}, {}, find_in(Fabric{}))), " to  (not known), rate 16 (assumed), mtu 4096 (assumed)");
}

// A topology with links of 4xDDR and 4xQDR: a path between the two, and from here to one of them.
TEST(PathLimits, OfOtherPortsAreThoseOfTheirLinks)
{
    Host host;
    host.fabric.ports[0].rate = IbRate{6};
    host.fabric.ports[1].rate = IbRate{7};
    host.fabric.ports[1].mtu = IbMtu::Mtu2048;
    Request request;
    request.source = Guid{0x77};
    request.destination = Guid{0x78};
    EXPECT_EQ(text(path_limits(request, host.ports, host.fabric)), "ffff to 8001 ffff, rate 6, mtu 2048");
    request.source.reset();
    EXPECT_EQ(text(path_limits(request, host.ports, host.fabric)), "ffff 9234 to 8001 ffff, rate 7, mtu 2048");
    request.destination = Guid{0x77};
    EXPECT_EQ(text(path_limits(request, host.ports, host.fabric)), "ffff 9234 to ffff, rate 6, mtu 4096");
    // 30 Gbit/s is below 25 in OpenSM's order.
    host.fabric.ports[0].rate = IbRate{4};
    request.device = DeviceNames{"mlx5_1", 1, "", ""};
    EXPECT_EQ(number(path_limits(request, host.ports, host.fabric).rate), 4);
}

TEST(PathLimits, SlsOfVl15AreThoseOfTheFabric)
{
    Host host;
    host.fabric.valid_sl_mask = 0xFFF7;
    EXPECT_EQ(path_limits({}, host.ports, host.fabric).valid_sl_mask, 0xFFF7);
    QosLevel level;
    level.name = "three";
    level.sl = 3;
    EXPECT_FALSE(apply_level(level, {}, path_limits({}, host.ports, host.fabric)));
}

// A device that does not say its GUID has 0: that is nobody's.
TEST(PathLimits, NoGuidIsNoPort)
{
    std::vector<PathPort> ports{{"mlx5_0", 1, Guid{}, {}, {}, Bandwidth::from_gbps(100), 4096}};
    Request request;
    request.source = Guid{0x77};
    request.destination = Guid{};
    EXPECT_FALSE(path_limits(request, ports, find_in(Fabric{})).loopback);
    request.source = gid("fe80::");
    request.destination = gid("fd00::1");
    EXPECT_FALSE(path_limits(request, ports, find_in(Fabric{})).loopback);
}

}    // namespace
}    // namespace rdmaqos
