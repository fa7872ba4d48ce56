#include "tools/emulator/netlink.h"

#include <cstring>

#include <gtest/gtest.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>

#include "tests/support/uverbs_client.h"

namespace rdmaqos::test {
namespace {

using namespace emulator;
using namespace mlx5;

Mailbox request(std::uint16_t command, std::uint16_t flags, std::optional<std::uint32_t> device = std::nullopt)
{
    Mailbox bytes(NLMSG_HDRLEN + (device ? 8 : 0));
    nlmsghdr header{};
    header.nlmsg_len = static_cast<std::uint32_t>(bytes.size());
    header.nlmsg_type = static_cast<std::uint16_t>(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command));
    header.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
    header.nlmsg_seq = 7;
    std::memcpy(bytes.data(), &header, sizeof(header));
    if (device) {
        const nlattr attribute{8, RDMA_NLDEV_ATTR_DEV_INDEX};
        std::memcpy(bytes.data() + NLMSG_HDRLEN, &attribute, sizeof(attribute));
        std::memcpy(bytes.data() + NLMSG_HDRLEN + 4, &*device, 4);
    }
    return bytes;
}

nlmsghdr header_of(const Mailbox& answer)
{
    nlmsghdr header{};
    std::memcpy(&header, answer.data(), sizeof(header));
    return header;
}

int error_of(const Mailbox& answer)
{
    EXPECT_EQ(header_of(answer).nlmsg_type, NLMSG_ERROR);
    int error = 0;
    std::memcpy(&error, answer.data() + NLMSG_HDRLEN, sizeof(error));
    return -error;
}

TEST(EmulatorNetlink, SaysWhoseAQueuePairIs)
{
    EmulatorInProcess emulator;
    UverbsClient client(emulator.path());
    const auto queue_pair = client.make_qp();
    const auto answers =
        netlink_answer(request(RDMA_NLDEV_CMD_RES_QP_GET, NLM_F_DUMP, 0), emulator.server().devices());
    ASSERT_EQ(answers.size(), 2U);
    EXPECT_EQ(header_of(answers[0]).nlmsg_seq, 7U);
    EXPECT_EQ(header_of(answers[0]).nlmsg_len, answers[0].size());
    EXPECT_EQ(header_of(answers[1]).nlmsg_type, NLMSG_DONE);
    const auto has = [&](std::uint16_t type, std::uint32_t value) {
        Mailbox attribute(8);
        const nlattr header{8, type};
        std::memcpy(attribute.data(), &header, sizeof(header));
        std::memcpy(attribute.data() + 4, &value, 4);
        return std::search(answers[0].begin(), answers[0].end(), attribute.begin(), attribute.end()) !=
               answers[0].end();
    };
    EXPECT_TRUE(has(RDMA_NLDEV_ATTR_RES_LQPN, queue_pair.number));
    EXPECT_TRUE(has(RDMA_NLDEV_ATTR_RES_PID, static_cast<std::uint32_t>(getpid())));
    EXPECT_FALSE(has(RDMA_NLDEV_ATTR_RES_LQPN, queue_pair.number + 1));
}

TEST(EmulatorNetlink, ManyQueuePairsComeInSeveralDatagrams)
{
    EmulatorInProcess emulator;
    UverbsClient client(emulator.path());
    for (int each = 0; each < 500; ++each) {
        (void)client.make_qp();
    }
    const auto answers =
        netlink_answer(request(RDMA_NLDEV_CMD_RES_QP_GET, NLM_F_DUMP, 0), emulator.server().devices());
    EXPECT_GT(answers.size(), 2U);
    for (const auto& answer : answers) {
        EXPECT_LT(answer.size(), 10000U);
    }
    EXPECT_EQ(header_of(answers.back()).nlmsg_type, NLMSG_DONE);
}

TEST(EmulatorNetlink, RefusesWhatItDoesNotPlayAndWhatIsBroken)
{
    EmulatorInProcess emulator;
    const auto& devices = emulator.server().devices();
    EXPECT_EQ(netlink_answer(request(RDMA_NLDEV_CMD_GET, NLM_F_DUMP), devices).size(), 3U) << "two devices, done";
    EXPECT_EQ(error_of(netlink_answer(request(RDMA_NLDEV_CMD_SYS_GET, 0), devices).at(0)), EOPNOTSUPP);
    EXPECT_EQ(error_of(netlink_answer(request(RDMA_NLDEV_CMD_RES_QP_GET, NLM_F_DUMP), devices).at(0)), EINVAL);
    EXPECT_EQ(error_of(netlink_answer(request(RDMA_NLDEV_CMD_RES_QP_GET, NLM_F_DUMP, 9), devices).at(0)), ENODEV);
    EXPECT_TRUE(netlink_answer(Mailbox(5), devices).empty());
    Mailbox lies = request(RDMA_NLDEV_CMD_GET, NLM_F_DUMP);
    lies[0] = 200;
    EXPECT_EQ(error_of(netlink_answer(lies, devices).at(0)), EINVAL);
    Mailbox attribute = request(RDMA_NLDEV_CMD_RES_QP_GET, NLM_F_DUMP, 0);
    attribute[NLMSG_HDRLEN] = 100;
    EXPECT_EQ(error_of(netlink_answer(attribute, devices).at(0)), EINVAL);
}

}    // namespace
}    // namespace rdmaqos::test
