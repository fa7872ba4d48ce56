#include "tools/emulator/dcb.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>

#include <gtest/gtest.h>
#include <linux/dcbnl.h>
#include <linux/rtnetlink.h>

#include "lib/model/profile.h"
#include "tools/emulator/device.h"
#include "tools/emulator/netlink.h"

namespace rdmaqos::test {
namespace {

using namespace emulator;

template <typename T>
std::span<const std::uint8_t> raw(const T& value)
{
    return {reinterpret_cast<const std::uint8_t*>(&value), sizeof(value)};
}

// Two classes by weight, one strict, one that is given the rest.
ieee_ets some_ets()
{
    ieee_ets ets{};
    ets.tc_tsa[1] = ets.tc_tsa[2] = ets.tc_tsa[0] = IEEE_8021QAZ_TSA_ETS;
    ets.tc_tx_bw[1] = 70;
    ets.tc_tx_bw[2] = 30;
    std::iota(std::begin(ets.prio_tc), std::end(ets.prio_tc), std::uint8_t{0});
    return ets;
}

dcb_app app(std::uint8_t selector, std::uint16_t protocol, std::uint8_t priority)
{
    dcb_app entry{};
    entry.selector = selector;
    entry.protocol = protocol;
    entry.priority = priority;
    return entry;
}

TEST(EmulatorDcb, IsAtFirstAsTheDriverLeavesIt)
{
    const DcbPort port = first_dcb_port();
    EXPECT_EQ(port.class_of_priority.at(0), 1);
    EXPECT_EQ(port.class_of_priority.at(1), 0);
    EXPECT_EQ(port.class_of_priority.at(7), 7);
    EXPECT_EQ(port.selection.at(3), IEEE_8021QAZ_TSA_VENDOR);
    EXPECT_FALSE(port.trusts_dscp);
    EXPECT_EQ(dcb_port_of({}), port);
}

TEST(EmulatorDcb, IsWhatThePortSchedulesBy)
{
    DcbPort port = first_dcb_port();
    ASSERT_EQ(set_ets(port, raw(some_ets())), 0);
    ASSERT_EQ(set_app(port, raw(app(IEEE_8021QAZ_APP_SEL_DSCP, 26, 1))), 0);
    const PortClasses classes = classes_of(port);
    EXPECT_EQ(words_of(classes), (std::vector<std::string>{"tc1=70", "tc2=30", "tc3=strict", "tc4=strict", "tc5=strict",
                                                           "tc6=strict", "tc7=strict", "dscp26=1"}));
    EXPECT_EQ(classes_of(dcb_port_of(classes)), classes);
    EXPECT_EQ(classes_of(first_dcb_port()), PortClasses());
}

TEST(EmulatorDcb, RefusesWeightsAsTheDriver)
{
    struct Case {
        const char* what;
        void (*change)(ieee_ets&);
        int error;
    };
    for (const Case& each : {Case{"as it is", [](ieee_ets&) {}, 0},
                             Case{"a sum below 100", [](ieee_ets& ets) { ets.tc_tx_bw[1] = 60; }, EINVAL},
                             Case{"a sum above 100", [](ieee_ets& ets) { ets.tc_tx_bw[0] = 1; }, EINVAL},
                             Case{"weights of 0", [](ieee_ets& ets) { ets.tc_tx_bw[1] = ets.tc_tx_bw[2] = 0; }, EINVAL},
                             Case{"weights of strict ones", [](ieee_ets& ets) { ets.tc_tx_bw[7] = 9; }, 0},
                             Case{"a class of the 9th", [](ieee_ets& ets) { ets.prio_tc[0] = 8; }, EINVAL}}) {
        DcbPort port = first_dcb_port();
        ieee_ets ets = some_ets();
        each.change(ets);
        EXPECT_EQ(set_ets(port, raw(ets)), each.error) << each.what;
        EXPECT_EQ(port == first_dcb_port(), each.error != 0) << each.what;
    }
}

TEST(EmulatorDcb, RefusesACreditBasedShaperAsAWhole)
{
    DcbPort port = first_dcb_port();
    ieee_ets ets = some_ets();
    ets.tc_tsa[5] = IEEE_8021QAZ_TSA_CB_SHAPER;
    EXPECT_EQ(set_ets(port, raw(ets)), EOPNOTSUPP);
    EXPECT_EQ(port, first_dcb_port());
}

TEST(EmulatorDcb, RoundsRatesAsTheDriver)
{
    ieee_maxrate rates{};
    rates.tc_maxrate[0] = 50'000;
    rates.tc_maxrate[1] = 12'345'678;
    rates.tc_maxrate[2] = 25'500'000;
    rates.tc_maxrate[3] = 100'900'000;
    rates.tc_maxrate[4] = 300'000'000;
    DcbPort port = first_dcb_port();
    ASSERT_EQ(set_max_rates(port, raw(rates)), 0);
    EXPECT_EQ(port.max_kbps, (std::array<std::uint64_t, 8>{100'000, 12'300'000, 25'500'000, 100'000'000, 44'000'000}))
        << "the driver's value has 8 bits";
}

TEST(EmulatorDcb, HasOneEntryForADscp)
{
    DcbPort port = first_dcb_port();
    EXPECT_EQ(set_app(port, raw(app(IEEE_8021QAZ_APP_SEL_DGRAM, 4791, 3))), EINVAL);
    EXPECT_EQ(set_app(port, raw(app(IEEE_8021QAZ_APP_SEL_DSCP, 64, 3))), EINVAL);
    EXPECT_EQ(delete_app(port, raw(app(IEEE_8021QAZ_APP_SEL_DSCP, 26, 0))), ENOENT);
    ASSERT_EQ(set_app(port, raw(app(IEEE_8021QAZ_APP_SEL_DSCP, 26, 3))), 0);
    ASSERT_EQ(set_app(port, raw(app(IEEE_8021QAZ_APP_SEL_DSCP, 26, 4))), 0);
    EXPECT_TRUE(port.trusts_dscp);
    EXPECT_EQ(delete_app(port, raw(app(IEEE_8021QAZ_APP_SEL_DSCP, 26, 3))), ENOENT) << "replaced";
    EXPECT_EQ(delete_app(port, raw(app(IEEE_8021QAZ_APP_SEL_DSCP, 26, 4))), 0);
    EXPECT_EQ(port, first_dcb_port()) << "trust included";
}

// ---- messages ----

struct EmulatorDcbMessages : testing::Test {
    EmulatorDcbMessages()
    {
        SimulatedDevice port;
        port.name = "mlx5_0";
        port.netdev = "ens1";
        port.link_speed = Bandwidth::from_gbps(100);
        port.capabilities = default_capabilities();
        devices.push_back(std::make_shared<Device>(std::vector{port}, FirmwareOptions{}, 0));
    }

    NetlinkDatagram ask(std::uint16_t type, std::uint8_t command, const std::string& interface,
                        const std::function<void(Writer&)>& add = {})
    {
        Request header{};
        header.nlmsg_seq = 7;
        header.nlmsg_pid = 4711;
        Writer writer(type, NLM_F_REQUEST, header);
        dcbmsg message{};
        message.cmd = command;
        writer.append(&message, sizeof(message));
        if (!interface.empty()) {
            writer.put(DCB_ATTR_IFNAME, interface);
        }
        if (add) {
            add(writer);
        }
        const auto answers = netlink_answer(writer.finish(), devices, 0,
                                            [this](const auto& notice) { told.push_back(notice); });
        return answers.size() == 1 ? answers.front() : NetlinkDatagram();
    }
    static int error_of(const NetlinkDatagram& answer)
    {
        nlmsghdr header{};
        std::int32_t error = 0;    // what an nlmsgerr begins with
        std::memcpy(&header, answer.data(), sizeof(header));
        std::memcpy(&error, answer.data() + NLMSG_HDRLEN, sizeof(error));
        return header.nlmsg_type == NLMSG_ERROR ? -error : 0;
    }
    // The byte behind dcbmsg and the header of the one attribute.
    static int byte_of(const NetlinkDatagram& answer)
    {
        return answer.at(NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(dcbmsg)) + sizeof(nlattr));
    }
    static std::function<void(Writer&)> parts(const ieee_ets& ets, std::vector<dcb_app> apps)
    {
        return [ets, apps = std::move(apps)](Writer& writer) {
            const auto all = writer.begin_nested(DCB_ATTR_IEEE);
            writer.put(DCB_ATTR_IEEE_ETS, &ets, sizeof(ets));
            const auto table = writer.begin_nested(DCB_ATTR_IEEE_APP_TABLE);
            for (const auto& entry : apps) {
                writer.put(DCB_ATTR_IEEE_APP, &entry, sizeof(entry));
            }
            writer.end_nested(table);
            writer.end_nested(all);
        };
    }
    static bool has(const NetlinkDatagram& answer, std::span<const std::uint8_t> bytes)
    {
        return !std::ranges::search(answer, bytes).empty();
    }

    // Of a set with these weights: the driver's errno; -1: there is no answer.
    int errno_of_set()
    {
        const NetlinkDatagram answer = ask(RTM_SETDCB, DCB_CMD_IEEE_SET, "ens1", parts(some_ets(), {}));
        return answer.empty() ? -1 : -static_cast<std::int8_t>(byte_of(answer));
    }

    std::vector<std::shared_ptr<Device>> devices;
    std::vector<NetlinkDatagram> told;
};

TEST_F(EmulatorDcbMessages, SetAndGet)
{
    const auto entry = app(IEEE_8021QAZ_APP_SEL_DSCP, 26, 1);
    EXPECT_EQ(byte_of(ask(RTM_SETDCB, DCB_CMD_IEEE_SET, "ens1", parts(some_ets(), {entry}))), 0);
    EXPECT_EQ(devices.front()->port_classes().class_of_dscp(26), 1);
    const NetlinkDatagram answer = ask(RTM_GETDCB, DCB_CMD_IEEE_GET, "ens1");
    EXPECT_TRUE(has(answer, raw(entry)));
    EXPECT_TRUE(has(answer, raw(some_ets().prio_tc)));
    EXPECT_EQ(byte_of(ask(RTM_GETDCB, DCB_CMD_GDCBX, "ens1")),
              DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_CEE | DCB_CAP_DCBX_VER_IEEE);
}

TEST_F(EmulatorDcbMessages, TheFirmwareMayNegotiate)
{
    const auto set_mode = [this](std::uint8_t mode) {
        return byte_of(
            ask(RTM_SETDCB, DCB_CMD_SDCBX, "ens1", [mode](Writer& writer) { writer.put_byte(DCB_ATTR_DCBX, mode); }));
    };
    EXPECT_EQ(set_mode(DCB_CAP_DCBX_LLD_MANAGED | DCB_CAP_DCBX_VER_IEEE), 1) << "refused";
    EXPECT_EQ(set_mode(DCB_CAP_DCBX_VER_IEEE), 1) << "not by the host";
    EXPECT_EQ(devices.front()->dcb_port(), first_dcb_port());
    EXPECT_EQ(set_mode(0), 0);
    EXPECT_EQ(devices.front()->dcb_port().mode, DCB_CAP_DCBX_VER_CEE | DCB_CAP_DCBX_VER_IEEE);
    EXPECT_EQ(set_mode(DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_IEEE), 0);
    EXPECT_EQ(devices.front()->dcb_port().mode, DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_IEEE);
    EXPECT_TRUE(told.empty()) << "the kernel does not tell of modes";
}

TEST_F(EmulatorDcbMessages, WhatIsRefusedMayBeHalfSet)
{
    const auto wrong = app(IEEE_8021QAZ_APP_SEL_DGRAM, 4791, 3);
    const NetlinkDatagram answer = ask(RTM_SETDCB, DCB_CMD_IEEE_SET, "ens1", parts(some_ets(), {wrong}));
    EXPECT_EQ(error_of(answer), 0) << "the kernel has done what it could";
    EXPECT_EQ(static_cast<std::int8_t>(byte_of(answer)), -EINVAL) << "the driver's errno";
    EXPECT_EQ(devices.front()->port_classes().classes.at(1).weight, 70U) << "the weights are set";
}

TEST_F(EmulatorDcbMessages, TheHostSetsThemAsWell)
{
    devices.front()->set_port_classes(parse_port_classes({"tc1=70", "tc2=30", "dscp26=1"}).value());
    EXPECT_TRUE(has(ask(RTM_GETDCB, DCB_CMD_IEEE_GET, "ens1"), raw(app(IEEE_8021QAZ_APP_SEL_DSCP, 26, 1))));
}

// ---- what is told ----

TEST_F(EmulatorDcbMessages, EachSetIsToldWithItsNumberAndNoPortAlsoOneThatIsRefused)
{
    const auto entry = app(IEEE_8021QAZ_APP_SEL_DSCP, 26, 1);
    EXPECT_EQ(errno_of_set(), 0);
    EXPECT_EQ(errno_of_set(), 0) << "the same again changes nothing";
    ieee_ets wrong = some_ets();
    wrong.tc_tx_bw[1] = 71;
    (void)ask(RTM_SETDCB, DCB_CMD_IEEE_SET, "ens1", parts(wrong, {}));
    (void)ask(RTM_SETDCB, DCB_CMD_IEEE_DEL, "ens1", parts(some_ets(), {entry}));
    ASSERT_EQ(told.size(), 4U);
    for (const auto& notice : told) {
        nlmsghdr header{};
        std::memcpy(&header, notice.data(), sizeof(header));
        EXPECT_EQ(header.nlmsg_type, RTM_SETDCB);
        EXPECT_EQ(header.nlmsg_seq, 7U);
        EXPECT_EQ(header.nlmsg_pid, 0U);
        EXPECT_EQ(header.nlmsg_len, notice.size());
        EXPECT_EQ(notice.at(NLMSG_HDRLEN + 1), &notice == &told.back() ? DCB_CMD_IEEE_DEL : DCB_CMD_IEEE_SET);
        EXPECT_TRUE(has(notice, raw(some_ets().prio_tc))) << "what is there now";
    }
    // What is not a set of the driver's, or did not reach it.
    told.clear();
    (void)ask(RTM_GETDCB, DCB_CMD_IEEE_GET, "ens1");
    (void)ask(RTM_SETDCB, DCB_CMD_IEEE_SET, "ens1");
    (void)ask(RTM_SETDCB, DCB_CMD_IEEE_SET, "ens2", parts(some_ets(), {}));
    EXPECT_TRUE(told.empty());
    EXPECT_EQ(devices.front()->dcb_writes(), 4U);
}

TEST_F(EmulatorDcbMessages, WhatTheHostSetsIsTold)
{
    set_by_host(*devices.front(), parse_port_classes({"tc1=70", "tc2=30"}).value(),
                [this](const auto& notice) { told.push_back(notice); });
    ASSERT_EQ(told.size(), 1U);
    EXPECT_TRUE(has(told.front(), std::vector<std::uint8_t>{0, 70, 30}));
    EXPECT_EQ(devices.front()->dcb_writes(), 0U) << "no request";
}

// ---- what goes wrong ----

TEST_F(EmulatorDcbMessages, ASetIsRefusedAsOrdered)
{
    Device& device = *devices.front();
    device.order_dcb_fault(2, 2, {DcbFaultKind::Refuse, ENOSPC});
    EXPECT_EQ(errno_of_set(), 0);
    device.lose_port_classes();
    EXPECT_EQ(errno_of_set(), ENOSPC);
    EXPECT_EQ(errno_of_set(), ENOSPC);
    EXPECT_EQ(device.dcb_port(), first_dcb_port());
    EXPECT_EQ(told.size(), 3U);
    EXPECT_EQ(errno_of_set(), 0);
    device.order_dcb_fault(1, 1, {DcbFaultKind::Refuse, EIO});
    device.clear_dcb_faults();
    EXPECT_EQ(errno_of_set(), 0);
}

TEST_F(EmulatorDcbMessages, AnEtsIsHalfSetAsOrdered)
{
    Device& device = *devices.front();
    device.order_dcb_fault(1, 1, {DcbFaultKind::Half, EIO});
    EXPECT_EQ(errno_of_set(), EIO);
    DcbPort half = first_dcb_port();
    half.class_of_priority = {0, 1, 2, 3, 4, 5, 6, 7};
    EXPECT_EQ(device.dcb_port(), half);
    device.order_dcb_fault(1, 1, {DcbFaultKind::Half, EIO});
    (void)ask(RTM_SETDCB, DCB_CMD_IEEE_DEL, "ens1", parts(some_ets(), {app(IEEE_8021QAZ_APP_SEL_DSCP, 26, 1)}));
    EXPECT_EQ(device.dcb_port(), half) << "what is deleted has no ETS";
}

// Nobody is killed here: the process that asks is not known.
TEST_F(EmulatorDcbMessages, ASetIsDoneAndNotAnsweredAsOrdered)
{
    Device& device = *devices.front();
    device.order_dcb_fault(1, 1, {DcbFaultKind::KillBefore});
    device.order_dcb_fault(2, 1, {DcbFaultKind::KillAfter});
    EXPECT_EQ(errno_of_set(), -1);
    EXPECT_EQ(device.dcb_port(), first_dcb_port());
    EXPECT_TRUE(told.empty());
    EXPECT_EQ(errno_of_set(), -1);
    EXPECT_EQ(device.port_classes().classes.at(1).weight, 70U);
    EXPECT_EQ(told.size(), 1U);
    device.lose_port_classes();
    device.order_dcb_fault(1, 1, {DcbFaultKind::Silent});
    EXPECT_EQ(errno_of_set(), -1);
    EXPECT_EQ(device.port_classes().classes.at(1).weight, 70U);
}

TEST_F(EmulatorDcbMessages, Refusals)
{
    EXPECT_EQ(error_of(ask(RTM_GETDCB, DCB_CMD_IEEE_GET, "ens2")), ENODEV);
    EXPECT_EQ(error_of(ask(RTM_GETDCB, DCB_CMD_IEEE_GET, "")), EINVAL);
    EXPECT_EQ(error_of(ask(RTM_GETDCB, DCB_CMD_IEEE_SET, "ens1", parts(some_ets(), {}))), EPERM);
    EXPECT_EQ(error_of(ask(RTM_SETDCB, DCB_CMD_IEEE_SET, "ens1")), EINVAL);
    EXPECT_EQ(error_of(ask(RTM_GETDCB, DCB_CMD_CEE_GET, "ens1")), EOPNOTSUPP);
    EXPECT_EQ(devices.front()->port_classes(), PortClasses());
}

}    // namespace
}    // namespace rdmaqos::test
