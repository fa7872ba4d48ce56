#include "lib/base/process_state.h"

#include <csignal>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/signal_process.h"
#include "tests/support/temp_dir.h"

namespace rdmaqos {
namespace {

TEST(ProcessState, AKilledProcessHasDiedUntilItIsForgotten)
{
    const pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    EXPECT_FALSE(has_died("/proc", child));
    signal_process(child, SIGKILL);
    siginfo_t info{};
    waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
    EXPECT_TRUE(has_died("/proc", child));
    waitpid(child, nullptr, 0);
    EXPECT_FALSE(has_died("/proc", child)) << "nobody has this number now";
}

TEST(ProcessState, TheStateFollowsTheNameWhateverThatIs)
{
    const test::TempDir proc;
    proc.write("7/stat", "7 (a) Z b) S 1 7 7\n");
    proc.write("8/stat", "8 (a) S b) Z 1 8 8\n");
    proc.write("9/stat", "9 (cut off) ");
    EXPECT_FALSE(has_died(proc.path(), 7));
    EXPECT_TRUE(has_died(proc.path(), 8));
    EXPECT_FALSE(has_died(proc.path(), 9));
}

TEST(ProcessState, TheRealUidIsNotTheEffectiveOne)
{
    const test::TempDir proc;
    proc.write("7/status", "Name:\tUid: 3\nTgid:\t7\nUid:\t1000\t0\t0\t0\nGid:\t5\t6\t7\t8\n");
    proc.write("8/status", "Name:\tx\nUid:\tnobody\n");
    EXPECT_EQ(real_uid_of(proc.path(), 7), 1000U);
    EXPECT_EQ(real_uid_of(proc.path(), 8), std::nullopt);
    EXPECT_EQ(real_uid_of(proc.path(), 9), std::nullopt);
    EXPECT_EQ(real_uid_of("/proc", getpid()), getuid());
}

TEST(ProcessState, WhatAThreadHasComputedAndWaited)
{
    const test::TempDir proc;
    proc.write("whole", "5005 170 3\n");
    proc.write("cut", "5005");
    proc.write("words", "five 170 3\n");
    EXPECT_EQ(task_processor_times(proc.path() / "whole"),
              (ProcessorTimes{std::chrono::nanoseconds(5005), std::chrono::nanoseconds(170)}));
    for (const char* const name : {"cut", "words", "none"}) {
        EXPECT_EQ(task_processor_times(proc.path() / name), std::nullopt) << name;
    }
}

}    // namespace
}    // namespace rdmaqos
