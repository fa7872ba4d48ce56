#include "lib/base/helper_process.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <deque>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "lib/base/descriptor_message.h"
#include "lib/base/signal_process.h"
#include "tests/support/lingering.h"

namespace rdmaqos {
namespace {

// What a shell that runs these words says on its socket.
std::string said_by(const std::string& script)
{
    auto helper = start_helper({"/bin/sh", "-c", script, "sh"}, "the helper");
    if (!helper) {
        return to_string(helper.error());
    }
    std::string text(256, '\0');
    const ssize_t length = recv(helper->socket.get(), text.data(), text.size(), 0);
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
    waitpid(helper->pid, nullptr, 0);
    return text;
}

TEST(HelperProcess, KnowsTheNumberOfItsSocket)
{
    EXPECT_EQ(said_by("printf %s \"$1\" >&3"), "3");
}

TEST(HelperProcess, HasNoOtherDescriptorOfOurs)
{
    constexpr int kLowest = 20;
    const UniqueFd inherited(fcntl(STDIN_FILENO, F_DUPFD, kLowest));    // would stay open in a program
    ASSERT_TRUE(inherited);
    EXPECT_EQ(
        said_by("test -e /proc/$$/fd/" + std::to_string(inherited.get()) + " && echo open >&3 || echo closed >&3"),
        "closed\n");
}

// In the queue of a socket that nobody reads, and nowhere else: closing that closes it.
UniqueFd sent(UniqueFd descriptor)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return {};
    }
    const UniqueFd sender(ends[0]);
    char byte = 0;
    iovec part{&byte, 1};
    DescriptorRoom room;
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    const int fd = descriptor.get();
    room.put(message, std::span(&fd, 1));
    sendmsg(sender.get(), &message, MSG_NOSIGNAL);
    return UniqueFd(ends[1]);
}

// Between fork and exec the helper has copies of all our descriptors. If we close one meanwhile, the copy's close is
// the last one, and whoever starts the helper must not wait for that.
TEST(HelperProcess, ADescriptorThatHangsWhenClosedHoldsNobodyUp)
{
    using namespace std::chrono_literals;
    std::vector<UniqueFd> many;    // closing these takes the helper a while
    for (int count = 0; count < 500; ++count) {
        many.emplace_back(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
    }
    std::deque<test::Lingering> lingering;
    std::vector<std::jthread> closers;    // one for each: closing may hang here
    std::atomic<bool> begins{false};
    for (std::size_t each = 0; each < 40; ++each) {
        closers.emplace_back([&begins, each, carrier = sent(std::move(lingering.emplace_back().socket))]() mutable {
            while (!begins) {
                std::this_thread::yield();
            }
            std::this_thread::sleep_for(each * 25us);
            carrier.reset();
        });
    }
    begins = true;
    auto helper = start_helper({"/bin/true"}, "the helper");    // does not wait for them
    lingering.clear();                                          // none hangs any longer
    ASSERT_TRUE(helper);
    signal_process(helper->pid, SIGKILL);    // it closes one after the other
    waitpid(helper->pid, nullptr, 0);
}

TEST(HelperProcess, CanBeEndedByASignalThatWeBlock)
{
    sigset_t blocked;
    sigset_t before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    auto helper = start_helper({"/bin/sh", "-c", "kill -TERM $$; exit 3", "sh"}, "the helper");
    sigprocmask(SIG_SETMASK, &before, nullptr);
    ASSERT_TRUE(helper);
    int status = 0;
    ASSERT_EQ(waitpid(helper->pid, &status, 0), helper->pid);
    EXPECT_TRUE(WIFSIGNALED(status)) << status;
}

TEST(HelperProcess, ItsEndIsTheEndOfTheConversation)
{
    EXPECT_EQ(said_by("exit 0"), "");
}

TEST(HelperProcess, WhatCannotBeStartedHasAnErrno)
{
    const auto missing = start_helper({"/no/such/program"}, "the helper");
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().sys_errno, ENOENT);
    EXPECT_EQ(missing.error().message, "the helper cannot be started");
    EXPECT_EQ(start_helper({}, "the helper").error().sys_errno, ENOENT);
}

}    // namespace
}    // namespace rdmaqos
