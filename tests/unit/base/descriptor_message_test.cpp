#include "lib/base/descriptor_message.h"

#include <array>
#include <string>
#include <tuple>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rdmaqos {
namespace {

class Pair : public testing::Test {
protected:
    Pair()
    {
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0) {
            near_ = UniqueFd(ends[0]);
            far_ = UniqueFd(ends[1]);
        }
    }
    void send(std::string text, std::size_t descriptors = 0)
    {
        const std::vector<int> passed(descriptors, STDIN_FILENO);
        iovec part{text.data(), text.size()};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        DescriptorRoom room;
        room.put(message, passed);
        ASSERT_EQ(sendmsg(far_.get(), &message, 0), static_cast<ssize_t>(text.size()));
    }

    UniqueFd near_;
    UniqueFd far_;
};

TEST_F(Pair, NothingUnreadHoldsNoDescriptors)
{
    EXPECT_FALSE(may_hold_descriptors(near_.get()));
    far_.reset();
    EXPECT_FALSE(may_hold_descriptors(near_.get()));
}

TEST_F(Pair, PlainBytesHoldNoDescriptors)
{
    send("abc");
    send("def");
    EXPECT_FALSE(may_hold_descriptors(near_.get()));
    std::array<char, 16> read{};
    EXPECT_EQ(recv(near_.get(), read.data(), read.size(), 0), 6) << "they are still there";
}

TEST_F(Pair, DescriptorsAreFoundWhereverTheyCome)
{
    send("first", 1);
    EXPECT_TRUE(may_hold_descriptors(near_.get()));
    std::array<char, 16> read{};
    ASSERT_EQ(recv(near_.get(), read.data(), read.size(), 0), 5);
    EXPECT_FALSE(may_hold_descriptors(near_.get()));
    send("plain");
    send("x", kMostDescriptors);
    send("plain");
    EXPECT_TRUE(may_hold_descriptors(near_.get()));
}

TEST_F(Pair, WhatIsTooMuchToLookAtMayHoldThem)
{
    send(std::string(4096, 'x'));
    EXPECT_FALSE(may_hold_descriptors(near_.get()));
    send("x");
    EXPECT_TRUE(may_hold_descriptors(near_.get()));
}

TEST_F(Pair, SaysWhoSent)
{
    const int on = 1;
    ASSERT_EQ(setsockopt(near_.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)), 0);
    send("mine");
    const pid_t child = fork();
    if (child == 0) {
        _exit(::send(far_.get(), "a child's", 9, 0) == 9 ? 0 : 1);
    }
    waitpid(child, nullptr, 0);
    send("with one", 1);
    std::array<char, 64> buffer{};
    for (const auto& [sender, length, descriptors] :
         {std::tuple(getpid(), 4, false), {child, 9, false}, {getpid(), 8, true}}) {
        const auto seen = peek_with_sender(near_.get(), buffer);
        EXPECT_EQ(seen.length, length) << "they end where another sender's begin";
        EXPECT_EQ(seen.descriptors, descriptors);
        const auto got = receive(near_.get(), buffer);
        EXPECT_EQ(got.length, length);
        EXPECT_EQ(got.sender, sender);
        EXPECT_EQ(got.descriptors.size(), descriptors ? 1U : 0U);
        EXPECT_FALSE(got.incomplete);
    }
    const auto nothing = receive(near_.get(), buffer);
    EXPECT_EQ(nothing.length, -1);
    EXPECT_EQ(nothing.sender, 0);
}

TEST_F(Pair, WhatIsNoSocketMayHoldThem)
{
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const UniqueFd read(ends[0]);
    const UniqueFd write(ends[1]);
    ASSERT_EQ(::write(write.get(), "x", 1), 1);
    EXPECT_TRUE(may_hold_descriptors(read.get()));
}

}    // namespace
}    // namespace rdmaqos
