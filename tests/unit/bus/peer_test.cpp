#include "lib/bus/peer.h"

#include <csignal>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rdmaqos::bus {
namespace {

TEST(Peer, IsWhoTheKernelSays)
{
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    const UniqueFd a(ends[0]);
    const UniqueFd b(ends[1]);
    const auto peer = peer_of_socket(a.get(), ticks_since_boot());
    ASSERT_TRUE(peer) << to_string(peer.error());
    EXPECT_EQ(peer->pid, getpid());
    EXPECT_EQ(peer->uid, getuid());
    ASSERT_FALSE(peer->gids.empty());
    EXPECT_EQ(peer->gids.front(), getgid());
    EXPECT_TRUE(is_running(peer->pidfd));
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
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    EXPECT_FALSE(is_running(*pidfd));
    EXPECT_FALSE(open_pidfd(child));
    EXPECT_FALSE(is_running(UniqueFd()));
}

TEST(Peer, FailsOnWhatIsNoSocket)
{
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const UniqueFd a(ends[0]);
    const UniqueFd b(ends[1]);
    const auto peer = peer_of_socket(a.get(), ticks_since_boot());
    ASSERT_FALSE(peer);
    EXPECT_EQ(peer.error().code, ErrorCode::Io);
}

}    // namespace
}    // namespace rdmaqos::bus
