// Counters of queue pairs, as the emulator's kernel has them; read by what the daemon reads them with.
#include <cerrno>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>

#include "lib/rdma_netlink/counters.h"
#include "tests/support/netlink_bytes.h"
#include "tests/support/process.h"
#include "tests/support/uverbs_client.h"
#include "tools/emulator/netlink.h"
#include "tools/emulator/queue_pair_counters.h"

namespace rdmaqos::test::counters_test {
namespace {

using namespace emulator;
using namespace netlink;
using rdma_netlink::AnswerEnd;
using rdma_netlink::QueuePairCounter;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr std::uint32_t kSequence = 7;

SentAndReceived moved(std::uint64_t sent, std::uint64_t received)
{
    return {{sent, sent / 10}, {received, received / 10}};
}

TEST(KernelCounters, CountFromTheBindingOn)
{
    QueuePairCounters counters;
    counters.switch_on(1, {CountedValue::SentBytes, CountedValue::ReceivedPackets});
    std::uint32_t number = 0;
    ASSERT_EQ(counters.bind(1, 17, {}, moved(100, 0), number), 0);
    ASSERT_EQ(counters.bind(1, 18, number, moved(1000, 50), number), 0);
    const auto now = [](std::uint32_t queue_pair) { return queue_pair == 17 ? moved(150, 70) : moved(1500, 80); };
    auto readings = counters.read(now);
    ASSERT_EQ(readings.size(), 1U);
    EXPECT_THAT(readings[0].queue_pairs, ElementsAre(17, 18));
    EXPECT_EQ(readings[0].values, (std::map<CountedValue, std::uint64_t>{{CountedValue::SentBytes, 50 + 500},
                                                                         {CountedValue::ReceivedPackets, 7 + 3}}));
    counters.remove(17, moved(200, 70));
    readings = counters.read(now);
    EXPECT_THAT(readings[0].queue_pairs, ElementsAre(18));
    EXPECT_EQ(readings[0].values.at(CountedValue::SentBytes), 100U + 500U) << "what one that has gone sent stays";
    counters.remove(18, moved(1500, 80));
    EXPECT_THAT(counters.read(now), IsEmpty()) << "it goes with the last of them";
}

TEST(KernelCounters, WhatIsSwitchedOnLaterIsNotCounted)
{
    QueuePairCounters counters;
    std::uint32_t number = 0;
    ASSERT_EQ(counters.bind(1, 17, {}, {}, number), 0);
    counters.switch_on(1, {CountedValue::SentBytes});
    EXPECT_THAT(counters.read([](std::uint32_t) { return moved(5, 5); })[0].values, IsEmpty());
}

TEST(KernelCounters, WhatCannotBeBound)
{
    QueuePairCounters counters;
    std::uint32_t number = 0;
    std::uint32_t other = 0;
    ASSERT_EQ(counters.bind(1, 17, {}, {}, number), 0);
    EXPECT_EQ(counters.bind(1, 17, {}, {}, other), ENOMEM) << "it is bound";
    EXPECT_EQ(counters.bind(1, 17, number, {}, other), EINVAL);
    EXPECT_EQ(counters.bind(1, 18, number + 1, {}, other), ENOENT);
    EXPECT_EQ(counters.bind(2, 18, number, {}, other), EINVAL) << "of another port";
    EXPECT_EQ(counters.unbind(1, 18, number, {}), EINVAL);
    EXPECT_EQ(counters.unbind(1, 17, number, {}), 0);
}

// ---- by netlink ----

std::vector<NetlinkDatagram> ask(EmulatorInProcess& emulator, std::uint16_t command, std::uint16_t flags,
                                 const Bytes& attributes, KernelCounters counters = KernelCounters::Bytes)
{
    Bytes request = message(number(RDMA_NLDEV_ATTR_DEV_INDEX, 0) + attributes, kSequence,
                            static_cast<std::uint16_t>(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command)));
    nlmsghdr header{};
    std::memcpy(&header, request.data(), sizeof(header));
    header.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
    std::memcpy(request.data(), &header, sizeof(header));
    return netlink_answer(
        request, emulator.server().devices(), 0, [](const NetlinkDatagram&) {}, counters);
}

int error_of(const std::vector<NetlinkDatagram>& answers)
{
    nlmsghdr header{};
    std::memcpy(&header, answers.at(0).data(), sizeof(header));
    int error = 0;
    std::memcpy(&error, answers.at(0).data() + NLMSG_HDRLEN, sizeof(error));
    return header.nlmsg_type == NLMSG_ERROR ? -error : 0;
}

rdma_netlink::Bytes content_of(const std::vector<NetlinkDatagram>& answers)
{
    return rdma_netlink::Bytes(answers.at(0)).subspan(NLMSG_HDRLEN);
}

const Bytes kPort = number(RDMA_NLDEV_ATTR_PORT_INDEX, 1);
const Bytes kQueuePairs = number(RDMA_NLDEV_ATTR_STAT_RES, RDMA_NLDEV_ATTR_RES_QP);

Bytes switching_on(std::uint32_t index)
{
    return kPort + attribute(RDMA_NLDEV_ATTR_STAT_HWCOUNTERS | NLA_F_NESTED,
                             number(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_INDEX, index));
}

std::vector<QueuePairCounter> list(EmulatorInProcess& emulator)
{
    std::vector<QueuePairCounter> found;
    int failed = -1;
    for (const auto& datagram : ask(emulator, RDMA_NLDEV_CMD_STAT_GET, NLM_F_DUMP, kQueuePairs)) {
        rdma_netlink::read_counters(datagram, kSequence, found, failed);
    }
    EXPECT_EQ(failed, 0);
    return found;
}

TEST(KernelCounters, AreBoundAndListedByNetlink)
{
    EmulatorInProcess emulator;
    UverbsClient client(emulator.path());
    const auto queue_pair = client.make_qp(IB_UVERBS_QPT_UD);
    ASSERT_EQ(client.qp_to_init(queue_pair.handle, 1, true), 0);
    EXPECT_THAT(list(emulator), IsEmpty());

    const auto optional = [&](KernelCounters counters) {
        return rdma_netlink::read_optional_counters(
            content_of(ask(emulator, RDMA_NLDEV_CMD_STAT_GET_STATUS, 0, kPort, counters)));
    };
    EXPECT_THAT(optional(KernelCounters::Requests).value(), IsEmpty()) << "before Linux 6.16";
    const auto counters = optional(KernelCounters::Bytes).value();
    ASSERT_FALSE(counters.empty());
    EXPECT_EQ(counters[0].name, "rdma_tx_bytes");
    EXPECT_FALSE(counters[0].is_on);
    EXPECT_EQ(error_of(ask(emulator, RDMA_NLDEV_CMD_STAT_SET, 0, switching_on(counters[0].index))), 0);
    EXPECT_EQ(error_of(ask(emulator, RDMA_NLDEV_CMD_STAT_SET, 0, switching_on(0))), EINVAL) << "it is always on";
    EXPECT_TRUE(optional(KernelCounters::Bytes).value()[0].is_on);

    const Bytes binding = kPort + kQueuePairs + number(RDMA_NLDEV_ATTR_STAT_MODE, RDMA_COUNTER_MODE_MANUAL);
    const Bytes of_it = binding + number(RDMA_NLDEV_ATTR_RES_LQPN, queue_pair.number);
    EXPECT_EQ(error_of(ask(emulator, RDMA_NLDEV_CMD_STAT_SET, 0, of_it)), 0);
    EXPECT_EQ(error_of(ask(emulator, RDMA_NLDEV_CMD_STAT_SET, 0, of_it)), ENOMEM);
    EXPECT_EQ(error_of(ask(emulator, RDMA_NLDEV_CMD_STAT_SET, 0, binding + number(RDMA_NLDEV_ATTR_RES_LQPN, 77))),
              ENOENT);
    EXPECT_EQ(error_of(ask(emulator, RDMA_NLDEV_CMD_STAT_SET, 0, binding)), EINVAL);
    const auto found = list(emulator);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_THAT(found[0].queue_pairs, ElementsAre(queue_pair.number));
    EXPECT_EQ(found[0].port, 1U);
    EXPECT_EQ(found[0].sent_bytes, 0U);
    EXPECT_EQ(found[0].sent_packets, std::nullopt) << "it was not switched on";
    const auto mode = ask(emulator, RDMA_NLDEV_CMD_STAT_GET, 0,
                          kPort + kQueuePairs + number(RDMA_NLDEV_ATTR_STAT_MODE, 0));
    EXPECT_EQ(rdma_netlink::read_counter_mode(content_of(mode)), rdma_netlink::CounterMode::Manual);

    EXPECT_EQ(error_of(ask(emulator, RDMA_NLDEV_CMD_STAT_DEL, 0,
                           kPort + kQueuePairs + number(RDMA_NLDEV_ATTR_RES_LQPN, queue_pair.number) +
                               number(RDMA_NLDEV_ATTR_STAT_COUNTER_ID, found[0].number))),
              0);
    EXPECT_THAT(list(emulator), IsEmpty());
}

}    // namespace
}    // namespace rdmaqos::test::counters_test
