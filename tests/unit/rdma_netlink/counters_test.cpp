#include "lib/rdma_netlink/counters.h"

#include <cerrno>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rdma/rdma_netlink.h>

#include "tests/support/netlink_bytes.h"

namespace rdmaqos::rdma_netlink::counters_test {
namespace {

using namespace test::netlink;
using testing::ElementsAre;
using testing::IsEmpty;

using Message = test::netlink::Bytes;
constexpr std::uint32_t kSequence = 7;

Message value(const std::string& name, std::uint64_t count)
{
    return attribute(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY,
                     text(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, name) +
                         attribute(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE, bytes_of(count)));
}

Message queue_pair(std::uint32_t of_number)
{
    return attribute(RDMA_NLDEV_ATTR_RES_QP_ENTRY, number(RDMA_NLDEV_ATTR_RES_LQPN, of_number));
}

Message counter(std::uint32_t of_number, const Message& queue_pairs, const Message& values)
{
    return attribute(RDMA_NLDEV_ATTR_STAT_COUNTER_ENTRY,
                     number(RDMA_NLDEV_ATTR_PORT_INDEX, 1) + number(RDMA_NLDEV_ATTR_STAT_COUNTER_ID, of_number) +
                         attribute(RDMA_NLDEV_ATTR_RES_QP, queue_pairs) +
                         attribute(RDMA_NLDEV_ATTR_STAT_HWCOUNTERS | NLA_F_NESTED, values));
}

std::vector<QueuePairCounter> read(const Message& counters)
{
    std::vector<QueuePairCounter> found;
    int failed = -1;
    EXPECT_EQ(
        read_counters(message(number(RDMA_NLDEV_ATTR_DEV_INDEX, 3) + attribute(RDMA_NLDEV_ATTR_STAT_COUNTER, counters),
                              kSequence),
                      kSequence, found, failed),
        AnswerEnd::More);
    return found;
}

TEST(QueuePairCounters, OfBytesAndPackets)
{
    const auto found = read(counter(2, queue_pair(17) + queue_pair(18),
                                    value("rx_write_requests", 5) + value("rdma_tx_bytes", 1U << 20) +
                                        value("rdma_tx_packets", 256) + value("rdma_rx_bytes", 64) +
                                        value("rdma_rx_packets", 1)) +
                            counter(3, {}, value("out_of_sequence", 1)));
    EXPECT_THAT(found, ElementsAre(QueuePairCounter{2, 1, {17, 18}, 1U << 20, 256, 64, 1}, QueuePairCounter{3, 1}))
        << "what mlx5 counted before Linux 6.16 is not what was sent";
}

TEST(QueuePairCounters, BrokenOnesArePassedOver)
{
    EXPECT_THAT(read(attribute(RDMA_NLDEV_ATTR_STAT_COUNTER_ENTRY, number(RDMA_NLDEV_ATTR_PORT_INDEX, 1))), IsEmpty());
    const auto found = read(counter(2, attribute(RDMA_NLDEV_ATTR_RES_QP_ENTRY, {1, 2, 3, 4}),
                                    attribute(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY,
                                              text(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, "rdma_tx_bytes"))));
    EXPECT_THAT(found, ElementsAre(QueuePairCounter{2, 1})) << "a value that is cut off is not zero";
}

Message optional_counter(const std::string& name, std::uint32_t index, const Message& on)
{
    return attribute(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY, text(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, name) +
                                                               number(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_INDEX, index) +
                                                               on);
}

TEST(OptionalCounters, AreThoseThatCanBeSwitched)
{
    const auto on = [](std::uint8_t is_on) { return attribute(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_DYNAMIC, {is_on}); };
    const auto table = [](const Message& entries) { return attribute(RDMA_NLDEV_ATTR_STAT_HWCOUNTERS, entries); };
    EXPECT_EQ(read_optional_counters(table(optional_counter("out_of_buffer", 0, {}) +
                                           optional_counter("cc_rx_ce_pkts", 1, on(1)) +
                                           optional_counter("rdma_tx_bytes", 2, on(0)))),
              (std::vector<OptionalCounter>{{"cc_rx_ce_pkts", 1, true}, {"rdma_tx_bytes", 2, false}}));
    EXPECT_EQ(read_optional_counters(table(optional_counter("out_of_buffer", 0, {}))),
              (std::vector<OptionalCounter>{}));
    EXPECT_EQ(read_optional_counters(number(RDMA_NLDEV_ATTR_DEV_INDEX, 3)), std::nullopt);
}

TEST(CounterModes, AsTheKernelNumbersThem)
{
    const auto mode = [](std::uint32_t of_kernel) {
        return read_counter_mode(number(RDMA_NLDEV_ATTR_STAT_MODE, of_kernel));
    };
    EXPECT_EQ(mode(RDMA_COUNTER_MODE_NONE), CounterMode::None);
    EXPECT_EQ(mode(RDMA_COUNTER_MODE_AUTO), CounterMode::Automatic);
    EXPECT_EQ(mode(RDMA_COUNTER_MODE_MANUAL), CounterMode::Manual);
    EXPECT_EQ(mode(77), std::nullopt);
    EXPECT_EQ(read_counter_mode({}), std::nullopt);
}

}    // namespace
}    // namespace rdmaqos::rdma_netlink::counters_test
