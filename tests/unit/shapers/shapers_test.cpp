#include "lib/shapers/shapers.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/support/shaper_messages.h"
#include "tests/support/temp_dir.h"

namespace rdmaqos::shapers {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using namespace test::netlink;
using Message = test::netlink::Bytes;

constexpr std::uint64_t kGigabitPerSecond = 1'000'000'000 / 8;    // in bytes, as devlink counts

Message wide(std::uint16_t type, std::uint64_t value)
{
    return attribute(type, bytes_of(value));
}

// ---- queueing disciplines ----

TEST(OffloadedQdisc, IsOneThatTheNicEnforces)
{
    EXPECT_EQ(read_offloaded_qdisc(mqprio(1), kInterface), "mqprio");
    EXPECT_EQ(read_offloaded_qdisc(offloaded_htb(), kInterface), "htb");
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

TEST(TrafficClassesOfAPort, WhatDividesAndLimits)
{
    dcb::PortSettings settings;
    settings.ets.emplace();
    auto& classes = settings.ets->traffic_class;
    classes[0] = {.selection = dcb::Selection::Ets, .weight = 60, .max_rate = {}};
    classes[3] = {.selection = dcb::Selection::Ets, .weight = 40, .max_rate = Bandwidth::from_gbps(10)};
    classes[5].selection = dcb::Selection::Strict;
    const auto words = traffic_classes_in_words(settings);
    EXPECT_THAT(words.shares, ElementsAre("traffic class 0 gets 60 %", "traffic class 3 gets 40 %"));
    EXPECT_THAT(words.max_rates, ElementsAre("traffic class 3 sends 10 Gbit/s at most"));
}

TEST(TrafficClassesOfAPort, AsADriverHasThemWhenNobodySetThem)
{
    dcb::PortSettings settings;
    EXPECT_THAT(traffic_classes_in_words(settings).shares, IsEmpty());
    settings.ets.emplace();
    for (dcb::TrafficClass& one : settings.ets->traffic_class) {
        one.selection = dcb::Selection::Vendor;
    }
    EXPECT_THAT(traffic_classes_in_words(settings).shares, IsEmpty());
    settings.ets->traffic_class[0] = {.selection = dcb::Selection::Ets, .weight = 100, .max_rate = {}};
    EXPECT_THAT(traffic_classes_in_words(settings).shares, IsEmpty()) << "the whole divides nothing";
    EXPECT_THAT(traffic_classes_in_words(settings).max_rates, IsEmpty());
}

// ---- functions ----

TEST(FunctionRates, OfThisCardThatLimitSomething)
{
    const std::vector<std::string> ours{"0000:3b:00.2", "0000:3b:00.0"};
    EXPECT_EQ(
        read_function_rate(
            rate(number(DEVLINK_ATTR_PORT_INDEX, 1) + wide(DEVLINK_ATTR_RATE_TX_MAX, 10 * kGigabitPerSecond)), ours),
        "pci/0000:3b:00.0/1 sends 10 Gbit/s at most");
    EXPECT_EQ(read_function_rate(rate(text(DEVLINK_ATTR_RATE_NODE_NAME, "tenants") +
                                      wide(DEVLINK_ATTR_RATE_TX_SHARE, kGigabitPerSecond) +
                                      wide(DEVLINK_ATTR_RATE_TX_MAX, 2 * kGigabitPerSecond)),
                                 ours),
              "pci/0000:3b:00.0/tenants sends 1 Gbit/s at least, 2 Gbit/s at most");
    EXPECT_EQ(read_function_rate(rate(number(DEVLINK_ATTR_PORT_INDEX, 1) + wide(DEVLINK_ATTR_RATE_TX_MAX, 0)), ours),
              "");
    EXPECT_EQ(read_function_rate(rate(wide(DEVLINK_ATTR_RATE_TX_MAX, kGigabitPerSecond)), {"0000:af:00.0"}), "");
}

TEST(GenericNetlink, TheNumberOfAFamily)
{
    EXPECT_EQ(read_family(generic(attribute(CTRL_ATTR_FAMILY_ID, bytes_of(std::uint16_t{21})))), 21);
    EXPECT_EQ(read_family(generic({})), std::nullopt);
}

// ---- send queues ----

TEST(LimitedQueues, AreCountedByTheirRate)
{
    const test::TempDir sys;
    const auto queue = [&](const char* name, const char* mbps) {
        sys.write(fmt::format("class/net/eth0/queues/{}/tx_maxrate", name), mbps);
    };
    EXPECT_EQ(find_limited_queues("eth0", sys.path()), std::nullopt) << "no such interface";
    queue("tx-0", "0\n");
    sys.write("class/net/eth0/queues/rx-0/rps_cpus", "0");
    EXPECT_EQ(find_limited_queues("eth0", sys.path()), std::nullopt);
    queue("tx-1", "1000\n");
    queue("tx-2", "2500\n");
    queue("tx-3", "1000\n");
    queue("tx-4", "no number\n");
    EXPECT_EQ(find_limited_queues("eth0", sys.path()),
              (Shaper{"tx_maxrate limits send queues of eth0: 2 queues send 1 Gbit/s at most, 1 queue sends 2.5 Gbit/s "
                      "at most",
                      "grep . /sys/class/net/eth0/queues/tx-*/tx_maxrate"}));
    EXPECT_THAT(find_shapers("eth0", "", sys.path()), SizeIs(1));
}

// ---- any of it ----

TEST(Shapers, WhatIsCutOffSaysNothing)
{
    for (const Message& whole : {mqprio(1), rate(wide(DEVLINK_ATTR_RATE_TX_MAX, kGigabitPerSecond))}) {
        // Of the last bytes some are padding.
        for (std::size_t length = 0; length + NLA_ALIGNTO <= whole.size(); ++length) {
            const rdmaqos::netlink::Bytes part(whole.data(), length);
            EXPECT_EQ(read_offloaded_qdisc(part, kInterface), "") << length;
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
