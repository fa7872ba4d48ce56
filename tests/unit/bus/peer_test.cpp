#include "lib/base/signal_process.h"
#include "lib/bus/peer.h"

#include <array>
#include <csignal>
#include <thread>

#include <gtest/gtest.h>
#include <linux/sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/descriptor_message.h"
#include "tests/support/kernel_version.h"
#include "tests/support/old_kernel.h"
#include "tests/support/qemu_user.h"
#include "tests/support/temp_dir.h"

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
    EXPECT_EQ(peer->unproven_bytes.has_value(), !test::kernel_tells_who_connected());
}

// A process that connects twice, sends five bytes each time, and waits to be killed.
pid_t connect_twice(const sockaddr_un& address)
{
    const pid_t pid = fork();
    if (pid == 0) {
        for (int count = 0; count < 2; ++count) {
            const int end = socket(AF_UNIX, SOCK_STREAM, 0);
            if (connect(end, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
                send(end, "five!", 5, 0) != 5) {
                _exit(1);
            }
        }
        pause();
        _exit(0);
    }
    return pid;
}

// A process that waits to be killed, with a number of our choice; -1: the kernel does not let us choose.
pid_t process_with_number(pid_t wanted)
{
    clone_args arguments{};
    arguments.exit_signal = SIGCHLD;
    arguments.set_tid = reinterpret_cast<std::uint64_t>(&wanted);
    arguments.set_tid_size = 1;
    const auto pid = static_cast<pid_t>(syscall(SYS_clone3, &arguments, sizeof(arguments)));
    if (pid == 0) {
        pause();
        _exit(0);
    }
    return pid;
}

void end_process(pid_t pid)
{
    signal_process(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
}

// Neither where the socket gives the process itself (Linux 6.5), nor where it gives the number alone.
TEST(Peer, ThatHasEndedIsNotTakenForWhoHasItsNumberNow)
{
    const test::TempDir folder;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    (folder.path() / "socket").string().copy(address.sun_path, sizeof(address.sun_path) - 1);
    const UniqueFd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    ASSERT_EQ(listen(listener.get(), 2), 0);
    const pid_t dead = connect_twice(address);
    const UniqueFd first(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const UniqueFd second(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    std::array<char, 5> sent{};    // it may connect long before it sends
    ASSERT_EQ(recv(second.get(), sent.data(), sent.size(), MSG_PEEK | MSG_WAITALL), 5);
    const auto before = peer_of_socket(first.get());
    ASSERT_TRUE(before) << to_string(before.error());
    EXPECT_EQ(before->pid, dead);
    EXPECT_TRUE(is_running(before->pidfd));
    end_process(dead);
    const pid_t other = process_with_number(dead);
    if (other < 0) {
        GTEST_SKIP() << "the number of a new process cannot be chosen here: " << strerrordesc_np(errno);
    }
    ASSERT_EQ(other, dead);
    EXPECT_FALSE(is_running(before->pidfd)) << "it was looked at when it ran";
    const auto after = peer_of_socket(second.get());
    if (test::kernel_tells_who_connected()) {
        EXPECT_FALSE(after && is_running(after->pidfd));
    } else {
        ASSERT_TRUE(after) << to_string(after.error());
        EXPECT_EQ(after->unproven_bytes, 5U) << "what it sent proves nothing";
    }
    end_process(other);
}

// What was sent before the pidfd was there proves nothing.
TEST(Peer, IsUnprovenWhereTheKernelTellsTheNumberAlone)
{
    RDMAQOS_NOT_BELOW_QEMU_USER(kNoSeccomp);
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
    const auto got = receive(a.get(), bytes);
    EXPECT_EQ(got.length, 4);
    EXPECT_EQ(got.sender, getpid());
    EXPECT_TRUE(got.descriptors.empty());
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
    signal_process(child, SIGKILL);
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
