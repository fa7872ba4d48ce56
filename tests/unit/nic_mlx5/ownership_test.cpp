#include "lib/nic_mlx5/ownership.h"

#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <rdma/rdma_netlink.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/netlink_bytes.h"

namespace rdmaqos::mlx5 {
namespace {

using test::netlink::attribute;
using test::netlink::Bytes;
using test::netlink::number;
using test::netlink::text;
using test::netlink::operator+;
constexpr std::uint32_t kSequence = 7;

Bytes message(const Bytes& attributes, std::uint32_t sequence = kSequence, std::uint16_t type = 0x1401)
{
    return test::netlink::message(attributes, sequence, type);
}

Bytes device(std::uint32_t index, const std::string& name)
{
    return message(number(RDMA_NLDEV_ATTR_DEV_INDEX, index) + text(RDMA_NLDEV_ATTR_DEV_NAME, name));
}

Bytes queue_pair(std::uint32_t qpn, std::uint32_t pid)
{
    return number(RDMA_NLDEV_ATTR_RES_LQPN, qpn) + number(RDMA_NLDEV_ATTR_RES_PID, pid);
}

TEST(Ownership, ADeviceInADump)
{
    const Bytes dump = device(0, "mlx5_0") + device(3, "mlx5_1") + device(4, "mlx5_10");
    const auto found = find_device(dump, kSequence, "mlx5_1");
    EXPECT_EQ(found.end, AnswerEnd::Found);
    EXPECT_EQ(found.index, 3U);
    EXPECT_EQ(find_device(dump, kSequence, "mlx5_2").end, AnswerEnd::More);
    EXPECT_EQ(find_device(dump, kSequence, "mlx5").end, AnswerEnd::More);
    EXPECT_EQ(find_device(dump + message(Bytes(), kSequence, NLMSG_DONE), kSequence, "mlx5_2").end, AnswerEnd::Nothing);
}

TEST(Ownership, OfAnotherQuestionIsPassedOver)
{
    const Bytes late = message(queue_pair(17, 1), kSequence - 1);
    EXPECT_EQ(find_owner(late, kSequence, 17).end, AnswerEnd::More);
    EXPECT_EQ(find_owner(late + message(queue_pair(17, 2)), kSequence, 17).owner, 2);
    EXPECT_EQ(find_owner(message({}, kSequence - 1, NLMSG_ERROR) + message(queue_pair(17, 2)), kSequence, 17).owner, 2);
}

TEST(Ownership, AnEntryOrATableOfOne)
{
    EXPECT_EQ(find_owner(message(queue_pair(17, 4711)), kSequence, 17).owner, 4711);
    const Bytes table = attribute(RDMA_NLDEV_ATTR_RES_QP | NLA_F_NESTED,
                                  attribute(RDMA_NLDEV_ATTR_RES_QP_ENTRY | NLA_F_NESTED, queue_pair(17, 4711)));
    EXPECT_EQ(find_owner(message(table), kSequence, 17).owner, 4711);
}

// Nobody is an owner of a queue pair that the answer is not about, and process 0 is nobody.
TEST(Ownership, NotTold)
{
    for (const Bytes& answer : {message(queue_pair(18, 4711)), message(number(RDMA_NLDEV_ATTR_RES_LQPN, 17)),
                                message(number(RDMA_NLDEV_ATTR_RES_PID, 4711)), message(queue_pair(17, 0)), message({}),
                                message({}, kSequence, NLMSG_ERROR), Bytes(), Bytes(8), Bytes(64, 0xff)}) {
        EXPECT_EQ(find_owner(answer, kSequence, 17).owner, std::nullopt);
    }
}

TEST(Ownership, CutShortAnywhere)
{
    const Bytes whole = message(queue_pair(17, 4711));
    for (std::size_t length = 0; length < whole.size(); ++length) {
        EXPECT_EQ(
            find_owner(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)), kSequence, 17).owner,
            std::nullopt);
    }
}

TEST(Ownership, WhatAQueuePairIsIn)
{
    const Bytes domain = number(RDMA_NLDEV_ATTR_RES_PDN, 5);
    const Bytes context = number(RDMA_NLDEV_ATTR_RES_CTXN, 9);
    const Bytes pid = number(RDMA_NLDEV_ATTR_RES_PID, 4711);
    EXPECT_EQ(find_owner(message(queue_pair(17, 4711) + domain), kSequence, 17).protection_domain, 5U);
    EXPECT_EQ(find_owner(message(queue_pair(17, 4711)), kSequence, 17).protection_domain, std::nullopt);

    const auto found = find_surrounding(message(domain + context + pid), kSequence, Surrounding::ProtectionDomain, 5);
    EXPECT_EQ(found.end, AnswerEnd::Found);
    EXPECT_EQ(found.maker, 4711);
    EXPECT_EQ(found.context, 9U);
    const auto orphaned = find_surrounding(message(domain + context), kSequence, Surrounding::ProtectionDomain, 5);
    EXPECT_EQ(orphaned.end, AnswerEnd::Found);
    EXPECT_EQ(orphaned.maker, std::nullopt);
    EXPECT_EQ(orphaned.context, 9U);
    EXPECT_EQ(find_surrounding(message(context + pid), kSequence, Surrounding::OpenFile, 9).maker, 4711);

    for (const Bytes& answer : {message(context + pid), message(number(RDMA_NLDEV_ATTR_RES_PDN, 6) + pid), message({}),
                                message({}, kSequence, NLMSG_ERROR), Bytes(64, 0xff)}) {
        EXPECT_EQ(find_surrounding(answer, kSequence, Surrounding::ProtectionDomain, 5).maker, std::nullopt);
    }
    EXPECT_EQ(find_surrounding(message(domain + pid, kSequence - 1), kSequence, Surrounding::ProtectionDomain, 5).end,
              AnswerEnd::More);
}

// The kernel remembers which task made a queue pair. In a program with threads that is seldom the first one.
TEST(Ownership, ThreadsOfAProcess)
{
    EXPECT_TRUE(is_thread_of(getpid(), getpid()));
    std::thread([] {
        EXPECT_NE(gettid(), getpid());
        EXPECT_TRUE(is_thread_of(gettid(), getpid()));
        EXPECT_FALSE(is_thread_of(gettid(), getppid()));
    }).join();
    const pid_t child = fork();
    if (child == 0) {
        _exit(is_thread_of(getpid(), getppid()) ? 1 : 0);    // a child's are not its parent's
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_FALSE(is_thread_of(child, getpid()));
}

}    // namespace
}    // namespace rdmaqos::mlx5
