#include "lib/shapers/shapers.h"

#include <gmock/gmock.h>
#include <linux/dcbnl.h>
#include <linux/devlink.h>
#include <linux/genetlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#include "tests/support/netlink_bytes.h"

namespace rdmaqos::shapers {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using test::netlink::attribute;
using test::netlink::bytes_of;
using test::netlink::number;
using test::netlink::text;
using Message = test::netlink::Bytes;
using test::netlink::operator+;

constexpr int kInterface = 7;
constexpr std::uint64_t kGigabitPerSecond = 1'000'000'000 / 8;    // in bytes, as devlink counts

Message wide(std::uint16_t type, std::uint64_t value)
{
    return attribute(type, bytes_of(value));
}

// ---- queueing disciplines ----

Message qdisc(const char* kind, const Message& more, int interface = kInterface)
{
    tcmsg header{};
    header.tcm_ifindex = interface;
    return bytes_of(header) + text(TCA_KIND, kind) + more;
}

Message mqprio(std::uint8_t hardware)
{
    tc_mqprio_qopt options{};
    options.hw = hardware;
    return qdisc("mqprio", attribute(TCA_OPTIONS, bytes_of(options)));
}

TEST(OffloadedQdisc, IsOneThatTheNicEnforces)
{
    EXPECT_EQ(read_offloaded_qdisc(mqprio(1), kInterface), "mqprio");
    EXPECT_EQ(read_offloaded_qdisc(qdisc("htb", attribute(TCA_OPTIONS, attribute(TCA_HTB_OFFLOAD, {}))), kInterface),
              "htb");
    EXPECT_EQ(read_offloaded_qdisc(qdisc("tbf", attribute(TCA_HW_OFFLOAD, {1})), kInterface), "tbf");
}

TEST(OffloadedQdisc, OneOfTheHostAloneIsNone)
{
    EXPECT_EQ(read_offloaded_qdisc(mqprio(0), kInterface), "");
    EXPECT_EQ(read_offloaded_qdisc(qdisc("htb", attribute(TCA_OPTIONS, number(TCA_HTB_INIT, 0))), kInterface), "");
    EXPECT_EQ(read_offloaded_qdisc(qdisc("fq_codel", attribute(TCA_HW_OFFLOAD, {0})), kInterface), "");
    EXPECT_EQ(read_offloaded_qdisc(qdisc("tbf", attribute(TCA_HW_OFFLOAD, {1}), kInterface + 1), kInterface), "")
        << "of another interface";
}

// ---- traffic classes ----

Message dcb(const Message& ieee)
{
    dcbmsg header{};
    header.cmd = DCB_CMD_IEEE_GET;
    return bytes_of(header) + text(DCB_ATTR_IFNAME, "ens1") + attribute(DCB_ATTR_IEEE, ieee);
}

TEST(TrafficClassesOfAPort, WhatDividesAndLimits)
{
    ieee_ets ets{};
    ets.tc_tsa[0] = IEEE_8021QAZ_TSA_ETS;
    ets.tc_tx_bw[0] = 60;
    ets.tc_tsa[3] = IEEE_8021QAZ_TSA_ETS;
    ets.tc_tx_bw[3] = 40;
    ets.tc_tsa[5] = IEEE_8021QAZ_TSA_STRICT;
    ieee_maxrate rates{};
    rates.tc_maxrate[3] = 10'000'000;
    const auto read =
        read_traffic_classes(dcb(attribute(DCB_ATTR_IEEE_ETS, bytes_of(ets)) + attribute(DCB_ATTR_IEEE_MAXRATE, bytes_of(rates))));
    EXPECT_THAT(read.shares, ElementsAre("traffic class 0 gets 60 %", "traffic class 3 gets 40 %"));
    EXPECT_THAT(read.max_rates, ElementsAre("traffic class 3 sends 10 Gbit/s at most"));
}

TEST(TrafficClassesOfAPort, AsADriverHasThemWhenNobodySetThem)
{
    ieee_ets ets{};
    for (std::size_t i = 0; i < IEEE_8021QAZ_MAX_TCS; ++i) {
        ets.tc_tsa[i] = IEEE_8021QAZ_TSA_VENDOR;
        ets.tc_tx_bw[i] = 100;
    }
    const auto read = read_traffic_classes(dcb(attribute(DCB_ATTR_IEEE_ETS, bytes_of(ets)) +
                                               attribute(DCB_ATTR_IEEE_MAXRATE, bytes_of(ieee_maxrate{}))));
    EXPECT_THAT(read.shares, IsEmpty());
    EXPECT_THAT(read.max_rates, IsEmpty());
    EXPECT_THAT(read_traffic_classes(dcb({})).shares, IsEmpty());
}

// ---- functions ----

Message generic(const Message& attributes)
{
    return bytes_of(genlmsghdr{1, 1, 0}) + attributes;
}

Message rate(const Message& more)
{
    return generic(text(DEVLINK_ATTR_BUS_NAME, "pci") + text(DEVLINK_ATTR_DEV_NAME, "0000:3b:00.0") + more);
}

TEST(FunctionRates, OfThisCardThatLimitSomething)
{
    const std::vector<std::string> ours{"0000:3b:00.2", "0000:3b:00.0"};
    EXPECT_EQ(read_function_rate(rate(number(DEVLINK_ATTR_PORT_INDEX, 1) +
                                      wide(DEVLINK_ATTR_RATE_TX_MAX, 10 * kGigabitPerSecond)),
                                 ours),
              "pci/0000:3b:00.0/1 sends 10 Gbit/s at most");
    EXPECT_EQ(read_function_rate(rate(text(DEVLINK_ATTR_RATE_NODE_NAME, "tenants") +
                                      wide(DEVLINK_ATTR_RATE_TX_SHARE, kGigabitPerSecond) +
                                      wide(DEVLINK_ATTR_RATE_TX_MAX, 2 * kGigabitPerSecond)),
                                 ours),
              "pci/0000:3b:00.0/tenants sends 1 Gbit/s at least, 2 Gbit/s at most");
    EXPECT_EQ(read_function_rate(rate(number(DEVLINK_ATTR_PORT_INDEX, 1) + wide(DEVLINK_ATTR_RATE_TX_MAX, 0)), ours), "");
    EXPECT_EQ(read_function_rate(rate(wide(DEVLINK_ATTR_RATE_TX_MAX, kGigabitPerSecond)), {"0000:af:00.0"}), "");
}

TEST(GenericNetlink, TheNumberOfAFamily)
{
    EXPECT_EQ(read_family(generic(attribute(CTRL_ATTR_FAMILY_ID, bytes_of(std::uint16_t{21})))), 21);
    EXPECT_EQ(read_family(generic({})), std::nullopt);
}

// ---- any of it ----

TEST(Shapers, WhatIsCutOffSaysNothing)
{
    for (const Message& whole : {mqprio(1), dcb(attribute(DCB_ATTR_IEEE_ETS, bytes_of(ieee_ets{}))),
                                 rate(wide(DEVLINK_ATTR_RATE_TX_MAX, kGigabitPerSecond))}) {
        // Of the last bytes some are padding.
        for (std::size_t length = 0; length + NLA_ALIGNTO <= whole.size(); ++length) {
            const netlink::Bytes part(whole.data(), length);
            EXPECT_EQ(read_offloaded_qdisc(part, kInterface), "") << length;
            EXPECT_THAT(read_traffic_classes(part).shares, IsEmpty()) << length;
            EXPECT_EQ(read_function_rate(part, {"0000:3b:00.0"}), "") << length;
            EXPECT_EQ(read_family(part), std::nullopt) << length;
        }
    }
}

TEST(Shapers, OfAnInterfaceAndAFunctionThatAreNotThereNothing)
{
    EXPECT_THAT(find_shapers("rdma-qos-none", "ffff:ff:1f.7", "/sys"), IsEmpty());
    EXPECT_THAT(find_shapers("lo", "", "/sys"), IsEmpty());
}

}    // namespace
}    // namespace rdmaqos::shapers
