#include "tools/emulator/address_path.h"

#include <cerrno>

#include <gtest/gtest.h>
#include <infiniband/verbs.h>

namespace rdmaqos::test {
namespace {

using namespace emulator;
using namespace mlx5;
using namespace mlx5::prm;

constexpr bool kInfiniband = true;
constexpr bool kEthernet = false;

ib_uverbs_qp_dest everything()
{
    ib_uverbs_qp_dest address{};
    address.dgid[15] = 7;
    address.flow_label = 0xfff12345;
    address.dlid = 0x123;
    address.sgid_index = 2;
    address.hop_limit = 9;
    address.traffic_class = 0x6a;
    address.sl = 21;
    address.src_path_bits = 200;
    address.static_rate = IBV_RATE_25_GBPS;
    address.is_global = 1;
    address.port_num = 1;
    return address;
}

TEST(EmulatorAddressPath, InfiniBandTellsWhatFits)
{
    ib_uverbs_qp_dest address = everything();
    ASSERT_EQ(fit_address(address, kInfiniband), 0);
    const auto told = reported_address(address, 1, kInfiniband);
    EXPECT_EQ(told.dlid, 0x123);
    EXPECT_EQ(told.sl, 5);
    EXPECT_EQ(told.src_path_bits, 72);
    EXPECT_EQ(told.static_rate, IBV_RATE_25_GBPS);
    EXPECT_EQ(told.flow_label, 0x12345U);
    EXPECT_EQ(told.hop_limit, 9);
    EXPECT_EQ(told.traffic_class, 0x6a);
    EXPECT_EQ(told.sgid_index, 2);
    EXPECT_EQ(told.dgid[15], 7);
    EXPECT_EQ(told.is_global, 1);
}

TEST(EmulatorAddressPath, WithoutAGlobalRouteThereIsNoGid)
{
    ib_uverbs_qp_dest address = everything();
    address.is_global = 0;
    ASSERT_EQ(fit_address(address, kInfiniband), 0);
    const auto told = reported_address(address, 1, kInfiniband);
    EXPECT_EQ(told.dlid, 0x123);
    EXPECT_EQ(told.is_global, 0);
    EXPECT_EQ(told.dgid[15], 0);
    EXPECT_EQ(told.traffic_class, 0);
    EXPECT_EQ(told.hop_limit, 0);
}

// The service level is the priority of the packets, which only the device tells.
TEST(EmulatorAddressPath, EthernetTellsNoServiceLevel)
{
    QueuePairData data;
    data.attributes.port_num = 1;
    data.attributes.dest = everything();
    ASSERT_EQ(fit_address(data.attributes.dest, kEthernet), 0);
    const auto told = reported_address(data.attributes.dest, 1, kEthernet);
    EXPECT_EQ(told.sl, 0);
    EXPECT_EQ(told.dlid, 0);
    EXPECT_EQ(told.src_path_bits, 0);
    EXPECT_EQ(told.traffic_class, 0x6a);
    EXPECT_EQ(told.hop_limit, 64);
    EXPECT_EQ(told.dgid[15], 7);

    Mailbox answer(kQueryQpBytes);
    put_attributes(answer, data, kEthernet);
    EXPECT_EQ(get(answer, at(kQpc, qpc::kEthPriority)), 5U);
    EXPECT_EQ(get(answer, at(kQpc, qpc::kDscp)), 26U);
    EXPECT_EQ(get(answer, at(kQpc, qpc::kSl)), 0U);
}

TEST(EmulatorAddressPath, BeforeOneIsSet)
{
    EXPECT_EQ(reported_address({}, 0, kEthernet).is_global, 0);
    EXPECT_EQ(reported_address({}, 1, kEthernet).is_global, 1);
    EXPECT_EQ(reported_address({}, 1, kInfiniband).is_global, 0);
    EXPECT_EQ(reported_address({}, 1, kInfiniband).port_num, 1);
}

TEST(EmulatorAddressPath, AStaticRateLimitsWhatIsSent)
{
    EXPECT_EQ(static_rate(IBV_RATE_MAX), std::nullopt);
    EXPECT_EQ(static_rate(1), std::nullopt) << "there is none";
    EXPECT_EQ(static_rate(IBV_RATE_2_5_GBPS), Bandwidth::from_mbps(2500));
    // Each has one, and about the one that its name says.
    for (std::uint8_t rate = IBV_RATE_2_5_GBPS; rate <= IBV_RATE_600_GBPS; ++rate) {
        ib_uverbs_qp_dest address = everything();
        address.static_rate = rate;
        ASSERT_EQ(fit_address(address, kInfiniband), 0) << int{rate};
        ASSERT_TRUE(static_rate(rate)) << int{rate};
    }
    EXPECT_NEAR(static_cast<double>(static_rate(IBV_RATE_100_GBPS)->mbps()), 100'000, 5'000);
    EXPECT_NEAR(static_cast<double>(static_rate(IBV_RATE_600_GBPS)->mbps()), 600'000, 40'000);
}

TEST(EmulatorAddressPath, ARateThatDoesNotExist)
{
    for (const std::uint8_t rate : {std::uint8_t{1}, std::uint8_t{200}}) {
        ib_uverbs_qp_dest address = everything();
        address.static_rate = rate;
        EXPECT_EQ(fit_address(address, kInfiniband), EINVAL) << int{rate};
    }
}

}    // namespace
}    // namespace rdmaqos::test
