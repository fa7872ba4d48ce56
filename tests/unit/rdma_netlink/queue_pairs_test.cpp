#include "lib/rdma_netlink/queue_pairs.h"

#include <cerrno>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rdma/rdma_netlink.h>

#include "tests/support/netlink_bytes.h"

namespace rdmaqos::rdma_netlink {
namespace {

using namespace test::netlink;
using testing::ElementsAre;
using testing::IsEmpty;

using Message = test::netlink::Bytes;
constexpr std::uint32_t kSequence = 7;

Message entry(const Message& attributes)
{
    return attribute(RDMA_NLDEV_ATTR_RES_QP_ENTRY, attributes);
}

Message table(const Message& entries, std::uint32_t sequence = kSequence)
{
    return message(number(RDMA_NLDEV_ATTR_DEV_INDEX, 3) + attribute(RDMA_NLDEV_ATTR_RES_QP, entries), sequence);
}

Message connected(std::uint32_t number_of)
{
    return number(RDMA_NLDEV_ATTR_PORT_INDEX, 1) + number(RDMA_NLDEV_ATTR_RES_LQPN, number_of) +
           number(RDMA_NLDEV_ATTR_RES_RQPN, 500) + attribute(RDMA_NLDEV_ATTR_RES_TYPE, {2}) +
           attribute(RDMA_NLDEV_ATTR_RES_STATE, {3}) + number(RDMA_NLDEV_ATTR_RES_PDN, 9) +
           number(RDMA_NLDEV_ATTR_RES_PID, 4711);
}

struct Dump {
    AnswerEnd end;
    std::vector<TrackedQueuePair> found;
    int failed = -1;
};

Dump read(const Message& datagram)
{
    Dump dump{};
    dump.failed = -1;
    dump.end = read_queue_pairs(datagram, kSequence, dump.found, dump.failed);
    return dump;
}

TEST(TrackedQueuePairs, ThoseOfProgramsAndOfTheKernel)
{
    const Message general = number(RDMA_NLDEV_ATTR_RES_LQPN, 1) + attribute(RDMA_NLDEV_ATTR_RES_TYPE, {1}) +
                            text(RDMA_NLDEV_ATTR_RES_KERN_NAME, "ib_core");
    const Message orphan = number(RDMA_NLDEV_ATTR_RES_LQPN, 18) + attribute(RDMA_NLDEV_ATTR_RES_TYPE, {4}) +
                           number(RDMA_NLDEV_ATTR_RES_RQPN, 0) + number(RDMA_NLDEV_ATTR_RES_PID, 0) +
                           attribute(RDMA_NLDEV_ATTR_RES_STATE, {77});
    const auto dump = read(table(entry(connected(17)) + entry(general)) + table(entry(orphan)));
    EXPECT_EQ(dump.end, AnswerEnd::More);
    ASSERT_EQ(dump.found.size(), 3U);
    EXPECT_EQ(dump.found[0], (TrackedQueuePair{17, 1, 2, QueuePairState::Rts, 500, 9, 4711, ""}));
    EXPECT_EQ(dump.found[1], (TrackedQueuePair{1, 0, 1, {}, {}, {}, {}, "ib_core"}));
    EXPECT_EQ(dump.found[2], (TrackedQueuePair{18, 0, 4, {}, {}, {}, {}, ""}))
        << "without a peer, a thread and a state that there is";
}

TEST(TrackedQueuePairs, ADumpEndsWithWhatTheKernelSays)
{
    const auto whole = read(table(entry(connected(17))) + end_of_dump(kSequence));
    EXPECT_EQ(whole.end, AnswerEnd::Nothing);
    EXPECT_EQ(whole.failed, 0);
    EXPECT_EQ(whole.found.size(), 1U);
    EXPECT_EQ(read(end_of_dump(kSequence, -ENODEV)).failed, ENODEV) << "the device went meanwhile";
    Message refusal(sizeof(std::int32_t));
    const std::int32_t error = -EINVAL;
    std::memcpy(refusal.data(), &error, sizeof(error));
    EXPECT_EQ(read(message(refusal, kSequence, NLMSG_ERROR)).failed, EINVAL);
    EXPECT_EQ(read(message({}, kSequence, NLMSG_DONE)).failed, -1) << "it is cut off: not known to have ended";
    EXPECT_EQ(read(end_of_dump(kSequence, 77)).failed, 0) << "no errno";
}

TEST(TrackedQueuePairs, OtherAnswersAndBrokenOnesArePassedOver)
{
    EXPECT_THAT(read(table(entry(connected(17)), kSequence - 1)).found, IsEmpty());
    EXPECT_THAT(read(table(entry(number(RDMA_NLDEV_ATTR_RES_PID, 1)))).found, IsEmpty()) << "no number";
    const Message whole = table(entry(connected(17)));
    for (std::size_t length = 0; length < whole.size(); ++length) {
        const auto cut = read(Message(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)));
        EXPECT_THAT(cut.found, IsEmpty()) << length;
    }
}

TEST(TrackedQueuePairs, OneAlone)
{
    const auto read_one = [](const Message& datagram, AnswerEnd end) {
        std::optional<TrackedQueuePair> found;
        EXPECT_EQ(read_datagram(datagram, kSequence,
                                [&](Bytes content) {
                                    found = read_sole_queue_pair(content);
                                    return AnswerEnd::Found;
                                }),
                  end);
        return found;
    };
    const TrackedQueuePair expected{17, 1, 2, QueuePairState::Rts, 500, 9, 4711, ""};
    const Message device = number(RDMA_NLDEV_ATTR_DEV_INDEX, 3);
    EXPECT_EQ(read_one(message(device + connected(17), kSequence), AnswerEnd::Found), expected) << "as the kernel does";
    EXPECT_EQ(read_one(table(entry(connected(17)) + entry(connected(18))), AnswerEnd::Found), expected);
    EXPECT_EQ(read_one(message(device, kSequence), AnswerEnd::Found), std::nullopt);
    EXPECT_EQ(read_one(table(Message(8, 0xff)), AnswerEnd::Found), std::nullopt);
    EXPECT_EQ(read_one(message(connected(17), kSequence - 1), AnswerEnd::More), std::nullopt) << "an earlier answer";
    EXPECT_EQ(read_one(message(Message(4, 0xfe), kSequence, NLMSG_ERROR), AnswerEnd::Nothing), std::nullopt);
    EXPECT_EQ(read_one({}, AnswerEnd::More), std::nullopt);
}

Message summary_entry(const char* name, const Message& count)
{
    return attribute(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY, text(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME, name) + count);
}

Message count_of(std::uint64_t count)
{
    Message content(sizeof(count));
    std::memcpy(content.data(), &count, sizeof(count));
    return attribute(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR, content);
}

TEST(ResourceCount, OfQueuePairsAndFiles)
{
    const auto counts = [](const Message& entries) {
        return read_counts(number(RDMA_NLDEV_ATTR_DEV_INDEX, 3) + attribute(RDMA_NLDEV_ATTR_RES_SUMMARY, entries));
    };
    const Message others = summary_entry("pd", count_of(5)) + summary_entry("cq", count_of(6));
    EXPECT_EQ(counts(others + summary_entry("qp", count_of(17)) + summary_entry("ctx", count_of(3))),
              (ResourceCounts{17, 3}));
    EXPECT_EQ(counts(summary_entry("qp", count_of(1ULL << 40))), (ResourceCounts{1ULL << 40, 0}))
        << "an older kernel does not count files";
    EXPECT_EQ(counts(others + summary_entry("ctx", count_of(3))), std::nullopt);
    EXPECT_EQ(counts({}), std::nullopt);
    EXPECT_EQ(read_counts({}), std::nullopt);
    EXPECT_EQ(counts(summary_entry("qp", number(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR, 17))), std::nullopt)
        << "not 64 bits";
    EXPECT_EQ(counts(summary_entry("qp", {}) + summary_entry("qp", count_of(2))), (ResourceCounts{2, 0}));
    Message cut = attribute(RDMA_NLDEV_ATTR_RES_SUMMARY, summary_entry("qp", count_of(17)));
    cut.resize(cut.size() - 4);
    EXPECT_EQ(read_counts(cut), std::nullopt);
}

TEST(NetworkNamespaces, AreExclusiveOrShared)
{
    EXPECT_EQ(read_exclusive(attribute(RDMA_NLDEV_SYS_ATTR_NETNS_MODE, {0})), true);
    EXPECT_EQ(read_exclusive(attribute(RDMA_NLDEV_SYS_ATTR_NETNS_MODE, {1})), false);
    EXPECT_EQ(read_exclusive({}), std::nullopt) << "an older kernel does not say";
    EXPECT_EQ(read_exclusive(number(RDMA_NLDEV_SYS_ATTR_NETNS_MODE, 0)), std::nullopt) << "not a byte";
}

TEST(Attributes, OfSixtyFourBits)
{
    const Message wide = attribute(7, {1, 2, 3, 4, 5, 6, 7, 8});
    EXPECT_EQ(wide_number_in(wide, 7), 0x0807060504030201ULL);
    EXPECT_EQ(wide_number_in(wide, 8), std::nullopt);
    EXPECT_EQ(number_in(wide, 7), std::nullopt);
    EXPECT_EQ(wide_number_in(number(7, 5), 7), std::nullopt);
    EXPECT_EQ(wide_number_in(attribute(7, {1, 2, 3, 4, 5, 6, 7, 8, 9}), 7), std::nullopt);
}

TEST(TrackedQueuePairs, DevicesAndHolders)
{
    std::vector<TrackedDevice> devices;
    int failed = -1;
    const auto device = [](std::uint32_t index, const char* name) {
        return message(number(RDMA_NLDEV_ATTR_DEV_INDEX, index) + text(RDMA_NLDEV_ATTR_DEV_NAME, name), kSequence);
    };
    EXPECT_EQ(read_devices(device(3, "mlx5_0") + device(4, "") + device(5, "rxe0") + end_of_dump(kSequence), kSequence,
                           devices, failed),
              AnswerEnd::Nothing);
    EXPECT_THAT(devices, ElementsAre(TrackedDevice{3, "mlx5_0"}, TrackedDevice{5, "rxe0"}));

    const Message domains = attribute(
        RDMA_NLDEV_ATTR_RES_PD, attribute(RDMA_NLDEV_ATTR_RES_PD_ENTRY,
                                          number(RDMA_NLDEV_ATTR_RES_PDN, 9) + number(RDMA_NLDEV_ATTR_RES_CTXN, 2)) +
                                    attribute(RDMA_NLDEV_ATTR_RES_PD_ENTRY, number(RDMA_NLDEV_ATTR_RES_PDN, 10) +
                                                                                number(RDMA_NLDEV_ATTR_RES_PID, 4711)));
    std::vector<Holder> holders;
    read_holders(message(domains, kSequence), kSequence, HolderKind::Domain, holders, failed);
    EXPECT_THAT(holders, ElementsAre(Holder{9, 2, {}}, Holder{10, {}, 4711}));
    const Message contexts = attribute(
        RDMA_NLDEV_ATTR_RES_CTX, attribute(RDMA_NLDEV_ATTR_RES_CTX_ENTRY, number(RDMA_NLDEV_ATTR_RES_CTXN, 2) +
                                                                              number(RDMA_NLDEV_ATTR_RES_PID, 4711)));
    holders.clear();
    read_holders(message(contexts, kSequence), kSequence, HolderKind::Context, holders, failed);
    EXPECT_THAT(holders, ElementsAre(Holder{2, {}, 4711}));
}

TEST(TrackedQueuePairs, TypesHaveTheirNames)
{
    EXPECT_EQ(name_of_type(2), "rc");
    EXPECT_EQ(name_of_type(8), "raw-packet");
    EXPECT_EQ(name_of_type(0xff), "driver");
    EXPECT_EQ(name_of_type(77), "type 77");
    EXPECT_EQ(attachable_type(3), QueuePairType::Uc);
    EXPECT_EQ(attachable_type(9), std::nullopt) << "XRC initiators cannot be in a leaf";
    EXPECT_EQ(attachable_type(0xff), std::nullopt);
}

}    // namespace
}    // namespace rdmaqos::rdma_netlink
