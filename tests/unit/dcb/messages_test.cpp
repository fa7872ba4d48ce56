#include "lib/dcb/messages.h"

#include <cerrno>

#include <gmock/gmock.h>

#include "tests/support/shaper_messages.h"

namespace rdmaqos::dcb {
namespace {

using testing::ElementsAre;
using namespace test::netlink;
using Message = test::netlink::Bytes;

Message app(std::uint8_t selector, std::uint16_t protocol, std::uint8_t priority,
            std::uint16_t type = DCB_ATTR_IEEE_APP)
{
    dcb_app entry{};
    entry.selector = selector;
    entry.protocol = protocol;
    entry.priority = priority;
    return attribute(type, bytes_of(entry));
}

Message whole()
{
    ieee_ets ets{};
    ets.ets_cap = 8;
    ets.tc_tsa[0] = IEEE_8021QAZ_TSA_ETS;
    ets.tc_tx_bw[0] = 60;
    ets.tc_tsa[3] = IEEE_8021QAZ_TSA_ETS;
    ets.tc_tx_bw[3] = 40;
    ets.tc_tsa[6] = IEEE_8021QAZ_TSA_VENDOR;
    ets.tc_tx_bw[6] = 100;
    ets.prio_tc[3] = 3;
    ets.prio_tc[7] = 8;    // as a driver has what nobody set
    ieee_maxrate rates{};
    rates.tc_maxrate[3] = 10'000'000;
    ieee_pfc pfc{};
    pfc.pfc_cap = 4;
    pfc.pfc_en = 1U << 3;
    dcbnl_buffer buffers{};
    buffers.prio2buffer[3] = 1;
    buffers.buffer_size[1] = 200'000;
    buffers.total_size = 262'000;
    return dcb_answer(
               attribute(DCB_ATTR_IEEE_ETS, bytes_of(ets)) + attribute(DCB_ATTR_IEEE_MAXRATE, bytes_of(rates)) +
               attribute(DCB_ATTR_IEEE_PFC, bytes_of(pfc)) + attribute(DCB_ATTR_DCB_BUFFER, bytes_of(buffers)) +
               attribute(DCB_ATTR_IEEE_APP_TABLE, app(5, 48, 6) + app(5, 26, 3) + app(255, 1, 1, 2) + app(9, 1, 1))) +
           attribute(DCB_ATTR_DCBX, {DCB_CAP_DCBX_LLD_MANAGED | DCB_CAP_DCBX_VER_IEEE});
}

TEST(DcbMessages, SettingsAreRead)
{
    const auto read = read_settings(whole());
    ASSERT_TRUE(read);
    PortSettings expected;
    expected.ets.emplace();
    expected.ets->traffic_class[0] = {.selection = Selection::Ets, .weight = 60, .max_rate = {}};
    expected.ets->traffic_class[3] = {.selection = Selection::Ets, .weight = 40, .max_rate = Bandwidth::from_gbps(10)};
    expected.ets->traffic_class[6].selection = Selection::Vendor;
    expected.ets->class_of_priority[3] = 3;
    expected.has_max_rates = true;
    expected.apps = {{Selector::Dscp, 26, 3}, {Selector::Dscp, 48, 6}};
    expected.pfc = Pfc{.capacity = 4, .lossless = {false, false, false, true}};
    expected.buffers = Buffers{.buffer_of_priority = {0, 0, 0, 1}, .size = {0, 200'000}, .total = 262'000};
    expected.dcbx = Dcbx{.host = false, .firmware = true, .ieee = true, .cee = false};
    EXPECT_EQ(*read, expected);
}

TEST(DcbMessages, WhatADriverDoesNotHaveIsEmpty)
{
    EXPECT_EQ(read_settings(dcb_answer({})), PortSettings{});
    EXPECT_EQ(read_settings(Message{}), std::nullopt);
    dcbmsg other{};
    other.cmd = DCB_CMD_GFEATCFG;
    EXPECT_EQ(read_settings(bytes_of(other)), std::nullopt) << "no answer to that question";
}

TEST(DcbMessages, WhatIsCutOffSaysLess)
{
    const Message message = whole();
    for (std::size_t length = 0; length < message.size(); ++length) {
        const auto read = read_settings(netlink::Bytes(message.data(), length));
        EXPECT_EQ(read.has_value(), length >= NLMSG_ALIGN(sizeof(dcbmsg))) << length;
        if (read && length + NLA_ALIGNTO <= message.size()) {
            EXPECT_EQ(read->dcbx, std::nullopt) << length;
        }
    }
}

TEST(DcbMessages, FeaturesOfAnAgent)
{
    dcbmsg header{};
    header.cmd = DCB_CMD_GFEATCFG;
    const Message message = bytes_of(header) +
                            attribute(DCB_ATTR_FEATCFG,
                                      attribute(DCB_FEATCFG_ATTR_PG, {DCB_FEATCFG_ENABLE | DCB_FEATCFG_WILLING}) +
                                          attribute(DCB_FEATCFG_ATTR_APP, {DCB_FEATCFG_ERROR | DCB_FEATCFG_ADVERTISE}));
    const AgentFeatures expected{.classes = {.failed = false, .enabled = true, .willing = true, .advertised = false},
                                 .pfc = {},
                                 .apps = {.failed = true, .enabled = false, .willing = false, .advertised = true}};
    EXPECT_EQ(read_features(message), expected);
    EXPECT_EQ(read_features(dcb_answer({})), std::nullopt);
}

// ---- errors ----

Message answer(std::uint8_t command, std::uint16_t type, std::uint8_t byte)
{
    dcbmsg header{};
    header.cmd = command;
    return bytes_of(header) + attribute(type, {byte});
}

TEST(DcbMessages, TheErrnoOfADriverIsInAByte)
{
    const auto error = [](int number) {
        return read_write_error(answer(DCB_CMD_IEEE_SET, DCB_ATTR_IEEE, static_cast<std::uint8_t>(number)), SetEts{});
    };
    EXPECT_EQ(error(0), 0);
    EXPECT_EQ(error(-EINVAL), EINVAL);
    EXPECT_EQ(error(-EOPNOTSUPP), EOPNOTSUPP);
    EXPECT_EQ(error(-524), ENOMEM) << "ENOTSUPP, of which a byte keeps 12";
    EXPECT_EQ(error(1), 0) << "nothing had to be changed";
    EXPECT_EQ(read_write_error(answer(DCB_CMD_IEEE_DEL, DCB_ATTR_IEEE, 0xEA), DeleteApp{}), EINVAL);
    EXPECT_EQ(read_write_error(answer(DCB_CMD_SDCBX, DCB_ATTR_DCBX, 1), SetDcbx{}), EINVAL);
    EXPECT_EQ(read_write_error(answer(DCB_CMD_SDCBX, DCB_ATTR_DCBX, 0), SetDcbx{}), 0);
}

TEST(DcbMessages, AnotherAnswerIsNone)
{
    EXPECT_EQ(read_write_error(answer(DCB_CMD_IEEE_DEL, DCB_ATTR_IEEE, 0), SetEts{}), std::nullopt);
    EXPECT_EQ(read_write_error(dcb_answer({}), SetEts{}), std::nullopt);
    EXPECT_EQ(read_write_error(answer(DCB_CMD_IEEE_SET, DCB_ATTR_DCBX, 0), SetEts{}), std::nullopt);
    EXPECT_EQ(read_write_error(Message{}, SetEts{}), std::nullopt);
}

// ---- requests ----

TEST(DcbMessages, ARequestHasItsInterfaceAndAWhole)
{
    SetEts set;
    set.ets.traffic_class[1] = {.selection = Selection::Ets, .weight = 100, .max_rate = Bandwidth::from_gbps(1)};
    set.ets.traffic_class[2] = {.selection = Selection::Strict, .weight = 50, .max_rate = {}};
    set.ets.class_of_priority[1] = 1;
    const Message request = write_request("ens1", set);
    dcbmsg header{};
    std::memcpy(&header, request.data(), sizeof(header));
    EXPECT_EQ(header.cmd, DCB_CMD_IEEE_SET);
    const auto attributes = netlink::Bytes(request).subspan(NLMSG_ALIGN(sizeof(header)));
    EXPECT_EQ(netlink::text_in(attributes, DCB_ATTR_IFNAME), "ens1");
    const auto content = netlink::content_of(netlink::content_of(attributes, DCB_ATTR_IEEE), DCB_ATTR_IEEE_ETS);
    ieee_ets ets{};
    ASSERT_EQ(content.size(), sizeof(ets));
    std::memcpy(&ets, content.data(), sizeof(ets));
    EXPECT_EQ(ets.willing, 0) << "the host decides";
    EXPECT_THAT(ets.tc_tx_bw, ElementsAre(0, 100, 0, 0, 0, 0, 0, 0)) << "none of what is strict";
    EXPECT_THAT(ets.tc_tsa, ElementsAre(0, 2, 0, 0, 0, 0, 0, 0));
    EXPECT_THAT(ets.prio_tc, ElementsAre(0, 1, 0, 0, 0, 0, 0, 0));
}

}    // namespace
}    // namespace rdmaqos::dcb
