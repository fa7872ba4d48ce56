#include "tools/emulator/netlink.h"

#include <cstring>
#include <thread>

#include <gtest/gtest.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <unistd.h>

#include "tests/support/process.h"
#include "tests/support/uverbs_client.h"

namespace rdmaqos::test {
namespace {

using namespace emulator;
using namespace mlx5;

Mailbox attribute(std::uint16_t type, std::uint32_t value)
{
    Mailbox bytes(8);
    const nlattr header{8, type};
    std::memcpy(bytes.data(), &header, sizeof(header));
    std::memcpy(bytes.data() + 4, &value, 4);
    return bytes;
}

Mailbox request(std::uint16_t command, std::uint16_t flags, std::optional<std::uint32_t> device = std::nullopt,
                std::optional<std::uint32_t> queue_pair = std::nullopt,
                std::optional<std::uint32_t> port = std::nullopt)
{
    Mailbox bytes(NLMSG_HDRLEN);
    const auto add = [&](std::uint16_t type, std::optional<std::uint32_t> value) {
        if (value) {
            const Mailbox more = attribute(type, *value);
            bytes.insert(bytes.end(), more.begin(), more.end());
        }
    };
    add(RDMA_NLDEV_ATTR_DEV_INDEX, device);
    add(RDMA_NLDEV_ATTR_RES_LQPN, queue_pair);
    add(RDMA_NLDEV_ATTR_PORT_INDEX, port);
    nlmsghdr header{};
    header.nlmsg_len = static_cast<std::uint32_t>(bytes.size());
    header.nlmsg_type = static_cast<std::uint16_t>(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command));
    header.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
    header.nlmsg_seq = 7;
    std::memcpy(bytes.data(), &header, sizeof(header));
    return bytes;
}

bool has(const Mailbox& answer, std::uint16_t type, std::uint32_t value)
{
    const Mailbox wanted = attribute(type, value);
    return std::search(answer.begin(), answer.end(), wanted.begin(), wanted.end()) != answer.end();
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
    const auto answers = netlink_answer(request(RDMA_NLDEV_CMD_RES_QP_GET, NLM_F_DUMP, 0), emulator.server().devices());
    ASSERT_EQ(answers.size(), 2U);
    EXPECT_EQ(header_of(answers[0]).nlmsg_seq, 7U);
    EXPECT_EQ(header_of(answers[0]).nlmsg_len, answers[0].size());
    EXPECT_EQ(header_of(answers[1]).nlmsg_type, NLMSG_DONE);
    EXPECT_TRUE(has(answers[0], RDMA_NLDEV_ATTR_RES_LQPN, queue_pair.number));
    EXPECT_TRUE(has(answers[0], RDMA_NLDEV_ATTR_RES_PID, static_cast<std::uint32_t>(getpid())));
    EXPECT_FALSE(has(answers[0], RDMA_NLDEV_ATTR_RES_LQPN, queue_pair.number + 1));
}

// The attributes of one level: type and bytes.
std::map<std::uint16_t, Mailbox> attributes_of(const Mailbox& answer)
{
    std::map<std::uint16_t, Mailbox> all;
    for (std::size_t at = NLMSG_HDRLEN; at + sizeof(nlattr) <= answer.size();) {
        nlattr header{};
        std::memcpy(&header, answer.data() + at, sizeof(header));
        all[header.nla_type] = Mailbox(answer.begin() + static_cast<std::ptrdiff_t>(at + sizeof(header)),
                                       answer.begin() + static_cast<std::ptrdiff_t>(at + header.nla_len));
        at += NLA_ALIGN(header.nla_len);
    }
    return all;
}

TEST(EmulatorNetlink, SaysWhoseOneQueuePairIs)
{
    EmulatorInProcess emulator;
    UverbsClient client(emulator.path());
    const auto first = client.make_qp();
    const auto second = client.make_qp(IB_UVERBS_QPT_UD);
    const auto& devices = emulator.server().devices();
    const auto refusal = [&](std::optional<std::uint32_t> device, std::optional<std::uint32_t> number,
                             std::optional<std::uint32_t> port) {
        return error_of(netlink_answer(request(RDMA_NLDEV_CMD_RES_QP_GET, 0, device, number, port), devices).at(0));
    };
    EXPECT_EQ(refusal(0, second.number, 1), EAGAIN) << "it has no port yet";
    ASSERT_EQ(client.qp_to_init(second.handle, 1, true), 0);
    const auto answers = netlink_answer(request(RDMA_NLDEV_CMD_RES_QP_GET, 0, 0, second.number, 1), devices);
    ASSERT_EQ(answers.size(), 1U) << "no NLMSG_DONE";
    EXPECT_EQ(header_of(answers[0]).nlmsg_type, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_RES_QP_GET));
    EXPECT_EQ(header_of(answers[0]).nlmsg_flags & NLM_F_MULTI, 0);
    EXPECT_EQ(header_of(answers[0]).nlmsg_seq, 7U);
    auto attributes = attributes_of(answers[0]);
    EXPECT_EQ(attributes.count(RDMA_NLDEV_ATTR_RES_QP), 0U) << "nothing is nested";
    EXPECT_EQ(attributes.at(RDMA_NLDEV_ATTR_RES_TYPE), Mailbox{IB_UVERBS_QPT_UD});
    EXPECT_EQ(attributes.at(RDMA_NLDEV_ATTR_RES_STATE), Mailbox{IBV_QPS_INIT});
    EXPECT_TRUE(has(answers[0], RDMA_NLDEV_ATTR_RES_LQPN, second.number));
    EXPECT_TRUE(has(answers[0], RDMA_NLDEV_ATTR_RES_PID, static_cast<std::uint32_t>(getpid())));
    EXPECT_FALSE(has(answers[0], RDMA_NLDEV_ATTR_RES_LQPN, first.number));
    EXPECT_EQ(refusal(0, second.number + 1, 1), ENOENT);
    EXPECT_EQ(refusal(1, second.number, 1), ENOENT) << "of another device";
    EXPECT_EQ(refusal(0, std::nullopt, 1), EINVAL);
    EXPECT_EQ(refusal(std::nullopt, second.number, 1), EINVAL);
    EXPECT_EQ(refusal(9, second.number, 1), EINVAL);
    EXPECT_EQ(refusal(0, second.number, std::nullopt), EINVAL) << "no kernel answers without its port";
    EXPECT_EQ(refusal(0, second.number, 2), EINVAL) << "no port of the device";
    client.destroy_qp(second.handle);
    EXPECT_EQ(refusal(0, second.number, 1), ENOENT);
}

TEST(EmulatorNetlink, NamesTheThreadUntilItEnds)
{
    EmulatorInProcess emulator;
    UverbsClient client(emulator.path());
    const auto answer = [&] {
        return netlink_answer(request(RDMA_NLDEV_CMD_RES_QP_GET, NLM_F_DUMP, 0), emulator.server().devices()).at(0);
    };
    pid_t maker = 0;
    std::thread([&] {
        maker = gettid();
        static_cast<void>(client.make_qp());
        EXPECT_TRUE(has(answer(), RDMA_NLDEV_ATTR_RES_PID, static_cast<std::uint32_t>(maker)));
    }).join();
    EXPECT_NE(maker, getpid());
    EXPECT_TRUE(eventually([&] { return !has(answer(), RDMA_NLDEV_ATTR_RES_PID, static_cast<std::uint32_t>(maker)); }));
    EXPECT_FALSE(has(answer(), RDMA_NLDEV_ATTR_RES_PID, static_cast<std::uint32_t>(getpid())));
}

TEST(EmulatorNetlink, ManyQueuePairsComeInSeveralDatagrams)
{
    EmulatorInProcess emulator;
    UverbsClient client(emulator.path());
    for (int each = 0; each < 500; ++each) {
        (void)client.make_qp();
    }
    const auto answers = netlink_answer(request(RDMA_NLDEV_CMD_RES_QP_GET, NLM_F_DUMP, 0), emulator.server().devices());
    EXPECT_GT(answers.size(), 2U);
    for (const auto& answer : answers) {
        EXPECT_LT(answer.size(), 10000U);
    }
    EXPECT_EQ(header_of(answers.back()).nlmsg_type, NLMSG_DONE);
}

// The counts of a message of RDMA_NLDEV_CMD_RES_GET: "pd 1 cq 1 qp 2 ..."
std::string counts_in(const Mailbox& answer)
{
    std::string text;
    for (const char* name : {"pd", "cq", "qp", "cm_id", "mr", "ctx", "srq"}) {
        Mailbox entry(4 + NLA_ALIGN(std::strlen(name) + 1));
        const nlattr header{static_cast<std::uint16_t>(4 + std::strlen(name) + 1),
                            RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME};
        std::memcpy(entry.data(), &header, sizeof(header));
        std::memcpy(entry.data() + 4, name, std::strlen(name));
        const auto found = std::search(answer.begin(), answer.end(), entry.begin(), entry.end());
        if (answer.end() - found < static_cast<std::ptrdiff_t>(entry.size()) + 12) {
            return text + "and no " + name;
        }
        std::uint64_t count = 0;
        std::memcpy(&count, &*found + entry.size() + 4, sizeof(count));
        text += std::string(name) + " " + std::to_string(count) + " ";
    }
    return text;
}

TEST(EmulatorNetlink, CountsWhatADeviceHas)
{
    EmulatorInProcess emulator;
    const auto& devices = emulator.server().devices();
    const auto counts = [&] { return counts_in(netlink_answer(request(RDMA_NLDEV_CMD_RES_GET, 0, 0), devices).at(0)); };
    EXPECT_EQ(counts(), "pd 0 cq 0 qp 0 cm_id 0 mr 0 ctx 0 srq 0 ");
    UverbsClient client(emulator.path());
    (void)client.make_qp();
    EXPECT_EQ(counts(), "pd 1 cq 1 qp 1 cm_id 0 mr 0 ctx 1 srq 0 ");
    const auto all = netlink_answer(request(RDMA_NLDEV_CMD_RES_GET, NLM_F_DUMP), devices);
    ASSERT_EQ(all.size(), 3U) << "two devices, done";
    EXPECT_EQ(counts_in(all[0]), counts());
    EXPECT_EQ(counts_in(all[1]), "pd 0 cq 0 qp 0 cm_id 0 mr 0 ctx 0 srq 0 ");
    EXPECT_EQ(error_of(netlink_answer(request(RDMA_NLDEV_CMD_RES_GET, 0, 9), devices).at(0)), EINVAL);
}

TEST(EmulatorNetlink, TellsTheSystemsSettings)
{
    EmulatorInProcess emulator;
    const auto& devices = emulator.server().devices();
    const Mailbox answer = netlink_answer(request(RDMA_NLDEV_CMD_SYS_GET, 0), devices).at(0);
    const Mailbox shared{5, 0, RDMA_NLDEV_SYS_ATTR_NETNS_MODE, 0, 1, 0, 0, 0};
    EXPECT_NE(std::search(answer.begin(), answer.end(), shared.begin(), shared.end()), answer.end());
    EXPECT_EQ(error_of(netlink_answer(request(RDMA_NLDEV_CMD_SYS_GET, NLM_F_DUMP), devices).at(0)), EINVAL);
}

TEST(EmulatorNetlink, RefusesWhatItDoesNotPlayAndWhatIsBroken)
{
    EmulatorInProcess emulator;
    const auto& devices = emulator.server().devices();
    EXPECT_EQ(netlink_answer(request(RDMA_NLDEV_CMD_GET, NLM_F_DUMP), devices).size(), 3U) << "two devices, done";
    EXPECT_EQ(error_of(netlink_answer(request(RDMA_NLDEV_CMD_RES_MR_GET, NLM_F_DUMP, 0), devices).at(0)), EOPNOTSUPP);
    EXPECT_EQ(error_of(netlink_answer(request(RDMA_NLDEV_CMD_RES_QP_GET, NLM_F_DUMP), devices).at(0)), EINVAL);
    EXPECT_EQ(error_of(netlink_answer(request(RDMA_NLDEV_CMD_RES_QP_GET, NLM_F_DUMP, 9), devices).at(0)), EINVAL);
    EXPECT_TRUE(netlink_answer(Mailbox(5), devices).empty());
    Mailbox lies = request(RDMA_NLDEV_CMD_GET, NLM_F_DUMP);
    lies[0] = 200;
    EXPECT_EQ(error_of(netlink_answer(lies, devices).at(0)), EINVAL);
    Mailbox too_long = request(RDMA_NLDEV_CMD_RES_QP_GET, NLM_F_DUMP, 0);
    too_long[NLMSG_HDRLEN] = 100;
    EXPECT_EQ(error_of(netlink_answer(too_long, devices).at(0)), EINVAL);
}

// What a queue pair is in outlives the thread that made it, and has makers of its own.
TEST(EmulatorNetlink, SaysWhoMadeWhatAQueuePairIsIn)
{
    EmulatorInProcess emulator;
    UverbsClient client(emulator.path());
    const auto& devices = emulator.server().devices();
    const auto pair = client.make_qp();
    const auto asked = [&](std::uint16_t command, std::uint16_t key, std::uint32_t number) {
        Mailbox bytes = request(command, 0, 0);
        const Mailbox more = attribute(key, number);
        bytes.insert(bytes.end(), more.begin(), more.end());
        const auto length = static_cast<std::uint32_t>(bytes.size());
        std::memcpy(bytes.data(), &length, sizeof(length));
        return netlink_answer(bytes, devices).at(0);
    };
    const auto number_in = [](const Mailbox& answer, std::uint16_t type) {
        std::uint32_t value = 0;
        std::memcpy(&value, attributes_of(answer).at(type).data(), sizeof(value));
        return value;
    };
    const auto owners = owners_of(*devices.front());
    ASSERT_EQ(owners.size(), 1U);
    EXPECT_EQ(owners[0].number, pair.number);
    ASSERT_NE(owners[0].domain, 0U);
    const auto domain = asked(RDMA_NLDEV_CMD_RES_PD_GET, RDMA_NLDEV_ATTR_RES_PDN, owners[0].domain);
    EXPECT_EQ(number_in(domain, RDMA_NLDEV_ATTR_RES_PDN), owners[0].domain);
    EXPECT_EQ(number_in(domain, RDMA_NLDEV_ATTR_RES_PID), static_cast<std::uint32_t>(getpid()));
    const auto context = asked(RDMA_NLDEV_CMD_RES_CTX_GET, RDMA_NLDEV_ATTR_RES_CTXN,
                               number_in(domain, RDMA_NLDEV_ATTR_RES_CTXN));
    EXPECT_EQ(number_in(context, RDMA_NLDEV_ATTR_RES_PID), static_cast<std::uint32_t>(getpid()));
    EXPECT_EQ(error_of(asked(RDMA_NLDEV_CMD_RES_PD_GET, RDMA_NLDEV_ATTR_RES_PDN, 0xabcdef)), ENOENT);
    EXPECT_EQ(error_of(asked(RDMA_NLDEV_CMD_RES_CTX_GET, RDMA_NLDEV_ATTR_RES_PDN, 1)), EINVAL);
}

}    // namespace
}    // namespace rdmaqos::test
