#include "tests/faults/call_watch.h"

#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/support/patience.h"
#include "tests/support/process.h"

namespace rdmaqos::test {
namespace {

// What is judged is killed: with the number of its process, never with that of whoever adopts it, or with none.
TEST(CallWatch, AsksNothingOfWhoeverIsLeftBehind)
{
    CallWatch watch;
    std::mutex mutex;
    std::set<pid_t> processes;
    std::set<std::string> files;
    watch.set_judge([&](const StoppedCall& call) {
        const std::lock_guard lock(mutex);
        processes.insert(call.process);
        files.insert(call.file);
        return Verdict{};
    });
    const TempDir dir;
    const auto there = [&](const char* name) { return (dir.path() / name).string(); };
    ASSERT_EQ(mkfifo(there("go-on").c_str(), 0600), 0);
    auto command = watch.launcher();
    command.insert(command.end(),
                   {"/bin/sh", "-c", "(: >\"$0/of-a-helper\") ; (read word <\"$0/go-on\"; : >\"$0/of-an-orphan\") & ",
                    dir.path().string()});
    Child child(command, {}, there("output"));
    ASSERT_EQ(child.wait(), 0);
    std::ofstream(there("go-on")) << "on\n";
    ASSERT_TRUE(eventually([&] { return std::filesystem::exists(there("of-an-orphan")); }));
    const std::lock_guard lock(mutex);
    EXPECT_THAT(processes, ::testing::ElementsAre(child.pid()));
    EXPECT_TRUE(files.contains(there("of-a-helper")));
    EXPECT_FALSE(files.contains(there("of-an-orphan")));
}

}    // namespace
}    // namespace rdmaqos::test
