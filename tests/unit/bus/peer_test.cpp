#include "lib/bus/peer.h"

#include <array>
#include <csignal>
#include <thread>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/descriptor_message.h"
#include "tests/support/old_kernel.h"

namespace rdmaqos::bus {
namespace {

TEST(Peer, IsWhoTheKernelSays)
{
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    const UniqueFd a(ends[0]);
    const UniqueFd b(ends[1]);
    const auto peer = peer_of_socket(a.get());
    ASSERT_TRUE(peer) << to_string(peer.error());
    EXPECT_EQ(peer->pid, getpid());
    EXPECT_EQ(peer->uid, getuid());
    ASSERT_FALSE(peer->gids.empty());
    EXPECT_EQ(peer->gids.front(), getgid());
    EXPECT_TRUE(is_running(peer->pidfd));
}

// What was sent before the pidfd was there proves nothing.
TEST(Peer, IsUnprovenWhereTheKernelTellsTheNumberAlone)
{
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    const UniqueFd a(ends[0]);
    const UniqueFd b(ends[1]);
    ASSERT_EQ(send(b.get(), "five!", 5, 0), 5);
    std::thread([&] {
        test::play_old_kernel();
        const auto peer = peer_of_socket(a.get());
        ASSERT_TRUE(peer) << to_string(peer.error());
        EXPECT_EQ(peer->pid, getpid());
        EXPECT_TRUE(is_running(peer->pidfd));
        EXPECT_EQ(peer->unproven_bytes, 5U);
    }).join();
    std::array<char, 16> bytes{};
    EXPECT_EQ(peek_with_sender(a.get(), bytes).length, 5) << "those without a sender end here";
    ASSERT_EQ(recv(a.get(), bytes.data(), 5, 0), 5);
    ASSERT_EQ(send(b.get(), "more", 4, 0), 4);
    const auto seen = peek_with_sender(a.get(), bytes);
    EXPECT_EQ(seen.length, 4);
    EXPECT_EQ(seen.sender, getpid());
    EXPECT_FALSE(seen.descriptors);
}

TEST(Peer, WhoSentTheFirstMessage)
{
    bool runs = true;
    const ExpectedSender expected{17, 5, [&runs] { return runs; }};
    EXPECT_EQ(expected.why_not(5, 17), "");
    EXPECT_NE(expected.why_not(4, 17).find("cannot be told whether process 17"), std::string::npos);
    EXPECT_NE(expected.why_not(5, 18).find("process 17 connected, but process 18 sent"), std::string::npos);
    EXPECT_NE(expected.why_not(5, 0).find("but another sent"), std::string::npos);
    runs = false;
    EXPECT_EQ(expected.why_not(5, 17), "process 17, which connected, has ended");
}

TEST(Peer, NoticesThatAProcessEnded)
{
    const pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    const auto pidfd = open_pidfd(child);
    ASSERT_TRUE(pidfd);
    EXPECT_TRUE(is_running(*pidfd));
    const auto number = number_of(*pidfd);
    ASSERT_TRUE(number) << to_string(number.error());
    EXPECT_EQ(*number, child);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    EXPECT_FALSE(is_running(*pidfd));
    const auto ended = number_of(*pidfd);
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().message, "the process of a client has ended");
    EXPECT_FALSE(open_pidfd(child));
    EXPECT_FALSE(is_running(UniqueFd()));
    EXPECT_FALSE(number_of(UniqueFd(memfd_create("no process", MFD_CLOEXEC))));
}

TEST(Peer, FailsOnWhatIsNoSocket)
{
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const UniqueFd a(ends[0]);
    const UniqueFd b(ends[1]);
    const auto peer = peer_of_socket(a.get());
    ASSERT_FALSE(peer);
    EXPECT_EQ(peer.error().code, ErrorCode::Io);
}

}    // namespace
}    // namespace rdmaqos::bus
