// What lib/shapers reads from the kernel: for any bytes it ends, with words or with none.
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <linux/dcbnl.h>
#include <linux/devlink.h>
#include <linux/genetlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#include "lib/shapers/shapers.h"
#include "tests/fuzz/support/mutator.h"
#include "tests/support/netlink_bytes.h"

namespace rdmaqos::shapers {
namespace {

using test::netlink::attribute;
using test::netlink::bytes_of;
using test::netlink::text;
using Message = test::netlink::Bytes;
using test::netlink::operator+;

constexpr int kInterface = 7;
constexpr const char* kFunction = "0000:3b:00.0";

std::string qdisc(const char* kind, const Message& more)
{
    tcmsg header{};
    header.tcm_ifindex = kInterface;
    const Message whole = bytes_of(header) + text(TCA_KIND, kind) + more;
    return {whole.begin(), whole.end()};
}

std::string traffic_classes()
{
    ieee_ets ets{};
    ets.tc_tsa[3] = IEEE_8021QAZ_TSA_ETS;
    ets.tc_tx_bw[3] = 40;
    ieee_maxrate rates{};
    rates.tc_maxrate[3] = 10'000'000;
    const Message whole =
        bytes_of(dcbmsg{}) + attribute(DCB_ATTR_IEEE, attribute(DCB_ATTR_IEEE_ETS, bytes_of(ets)) +
                                                          attribute(DCB_ATTR_IEEE_MAXRATE, bytes_of(rates)));
    return {whole.begin(), whole.end()};
}

std::string function_rate()
{
    const std::uint64_t gigabit = 125'000'000;
    const Message whole = bytes_of(genlmsghdr{1, 1, 0}) + text(DEVLINK_ATTR_BUS_NAME, "pci") +
                          text(DEVLINK_ATTR_DEV_NAME, kFunction) + text(DEVLINK_ATTR_RATE_NODE_NAME, "tenants") +
                          attribute(DEVLINK_ATTR_RATE_TX_MAX, bytes_of(gigabit)) +
                          attribute(CTRL_ATTR_FAMILY_ID, bytes_of(std::uint16_t{21}));
    return {whole.begin(), whole.end()};
}

TEST(ShapersFuzz, Netlink)
{
    tc_mqprio_qopt offloaded{};
    offloaded.hw = 1;
    const std::vector<std::string> seeds{
        qdisc("mqprio", attribute(TCA_OPTIONS, bytes_of(offloaded))),
        qdisc("htb", attribute(TCA_OPTIONS, attribute(TCA_HTB_OFFLOAD, {}))),
        qdisc("tbf", attribute(TCA_HW_OFFLOAD, {1})),
        traffic_classes(),
        function_rate(),
    };
    test::fuzz("shapers", seeds, [](const std::string& text) {
        const netlink::Bytes bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
        ASSERT_LE(read_offloaded_qdisc(bytes, kInterface).size(), text.size());
        const auto classes = read_traffic_classes(bytes);
        ASSERT_LE(classes.shares.size() + classes.max_rates.size(), 16U);
        static_cast<void>(read_family(bytes));
        const auto rate = read_function_rate(bytes, {kFunction});
        ASSERT_TRUE(rate.empty() || rate.starts_with("pci/0000:3b:00.0/")) << rate;
    });
}

}    // namespace
}    // namespace rdmaqos::shapers
