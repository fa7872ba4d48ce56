#include "lib/base/helper_process.h"

#include <algorithm>
#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>

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
