#include "lib/base/signal_process.h"
#include "lib/bus/event.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/file.h"
#include "tests/support/patience.h"
#include "tests/support/temp_dir.h"

namespace rdmaqos::bus {
namespace {

using namespace std::chrono_literals;

template <typename Done>
bool run_until(EventLoop& loop, Done done)
{
    return test::eventually([&] {
        loop.run_once(10ms);
        return done();
    });
}

TEST(EventLoop, RunsPostsOfManyThreadsEachInOrder)
{
    EventLoop loop;
    constexpr int kThreads = 4;
    constexpr int kPosts = 500;
    std::vector<std::vector<int>> got(kThreads);
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
        threads.emplace_back([&, thread] {
            for (int number = 0; number < kPosts; ++number) {
                loop.post([&got, thread, number] { got[static_cast<std::size_t>(thread)].push_back(number); });
            }
        });
    }
    const auto all_there = [&] {
        for (const auto& list : got) {
            if (list.size() != kPosts) {
                return false;
            }
        }
        return true;
    };
    EXPECT_TRUE(run_until(loop, all_there));
    for (auto& thread : threads) {
        thread.join();
    }
    for (const auto& list : got) {
        EXPECT_TRUE(std::is_sorted(list.begin(), list.end()));
    }
}

TEST(EventLoop, TellsWhatHappensInADirectory)
{
    const test::TempDir dir;
    std::filesystem::create_directory(dir.path() / "watched");
    EventLoop loop;
    std::vector<std::string> names;
    const auto source = loop.on_directory(dir.path() / "watched",
                                          [&](std::string_view name) { names.emplace_back(name); });
    ASSERT_TRUE(source) << to_string(source.error());
    const auto hears = [&](const std::string& name) {
        const bool heard = run_until(loop, [&] { return std::ranges::find(names, name) != names.end(); });
        names.clear();
        return heard;
    };
    dir.write("watched/written", "1");
    EXPECT_TRUE(hears("written"));
    dir.write("new", "1");
    std::filesystem::rename(dir.path() / "new", dir.path() / "watched/renamed");
    EXPECT_TRUE(hears("renamed"));
    std::filesystem::remove(dir.path() / "watched/renamed");
    EXPECT_TRUE(hears("renamed"));
    std::filesystem::create_symlink("nowhere", dir.path() / "watched/link");
    EXPECT_TRUE(hears("link"));
    std::filesystem::remove_all(dir.path() / "watched");
    EXPECT_TRUE(hears("")) << "the directory itself has gone";
    EXPECT_FALSE(loop.on_directory(dir.path() / "watched", [](std::string_view) {}));
    EXPECT_FALSE(loop.on_directory(dir.path() / "new", [](std::string_view) {}));
}

TEST(EventLoop, AWatchOfADirectoryMayEndItself)
{
    const test::TempDir dir;
    EventLoop loop;
    int calls = 0;
    std::unique_ptr<EventSource> source;
    auto made = loop.on_directory(dir.path(), [&](std::string_view) {
        ++calls;
        source.reset();
    });
    ASSERT_TRUE(made);
    source = std::move(*made);
    dir.write("a", "1");
    dir.write("b", "1");
    EXPECT_TRUE(run_until(loop, [&] { return calls > 0; }));
    loop.run_once(50ms);
    EXPECT_EQ(calls, 1);
}

TEST(EventLoop, APosterOutlivesTheLoop)
{
    bool destroyed = false;
    struct Guard {
        bool& flag;
        ~Guard() { flag = true; }
    };
    std::function<void(std::function<void()>)> post;
    {
        EventLoop loop;
        post = loop.poster();
        post([guard = std::make_shared<Guard>(destroyed)] { FAIL() << "the loop never ran"; });
    }
    EXPECT_TRUE(destroyed);
    post([] { FAIL() << "there is no loop"; });
}

TEST(EventLoop, TimersFireInOrderAndCanBeCancelled)
{
    EventLoop loop;
    std::vector<int> fired;
    const auto late = loop.after(1s, [&] { fired.push_back(2); });
    const auto early = loop.after(1ms, [&] { fired.push_back(1); });
    auto cancelled = loop.after(2ms, [&] { fired.push_back(3); });
    cancelled.reset();
    EXPECT_TRUE(run_until(loop, [&] { return fired.size() == 2; }));
    EXPECT_EQ(fired, (std::vector<int>{1, 2}));
}

// What is destroyed after the loop has ended may still ask for a timer.
TEST(EventLoop, ATimerSetAfterTheEndNeverFires)
{
    EventLoop loop;
    loop.post([&] { loop.exit(0); });
    EXPECT_EQ(loop.run(), 0);
    const auto timer = loop.after(1ms, [] { FAIL() << "the loop has ended"; });
    EXPECT_NE(timer, nullptr);
}

TEST(EventLoop, ACallbackMayDestroyItsOwnTimer)
{
    EventLoop loop;
    std::unique_ptr<Timer> timer;
    std::string text = "kept until the callback has ended";
    bool done = false;
    timer = loop.after(1ms, [&, text] {
        timer.reset();
        done = text.size() > 10;
    });
    EXPECT_TRUE(run_until(loop, [&] { return done; }));
}

TEST(EventLoop, AnExceptionDoesNotEndIt)
{
    EventLoop loop;
    bool after = false;
    loop.post([] { throw std::runtime_error("on purpose"); });
    loop.post([] { throw 5; });
    const auto timer = loop.after(1ms, [] { throw std::runtime_error("on purpose"); });
    const auto later = loop.after(5ms, [&] { after = true; });
    EXPECT_TRUE(run_until(loop, [&] { return after; }));
}

TEST(EventLoop, WatchesADescriptorWithChangingEvents)
{
    EventLoop loop;
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    const UniqueFd reader(ends[0]);
    const UniqueFd writer(ends[1]);
    int seen = 0;
    auto source = loop.on_io(reader.get(), EPOLLIN, [&](std::uint32_t events) { seen += (events & EPOLLIN) != 0; });
    ASSERT_TRUE(source);
    ASSERT_EQ(write(writer.get(), "x", 1), 1);
    EXPECT_TRUE(run_until(loop, [&] { return seen > 0; }));
    (*source)->set_events(0);
    const int before = seen;
    for (int round = 0; round < 5; ++round) {
        loop.run_once(1ms);
    }
    EXPECT_EQ(seen, before);
}

TEST(EventLoop, HearsSignals)
{
    block_signals({SIGUSR1});
    EventLoop loop;
    int heard = 0;
    auto source = loop.on_signal(SIGUSR1, [&](SignalSender sender) {
        ++heard;
        EXPECT_EQ(sender.pid, static_cast<std::uint32_t>(getpid()));
        EXPECT_EQ(sender.uid, getuid());
    });
    ASSERT_TRUE(source);
    ASSERT_TRUE(signal_process(getpid(), SIGUSR1));
    EXPECT_TRUE(run_until(loop, [&] { return heard == 1; }));
}

TEST(EventLoop, LearnsThatAProcessEnded)
{
    EventLoop loop;
    const pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    const UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
    ASSERT_TRUE(pidfd);
    int ended = 0;
    auto source = loop.on_exit_of(pidfd.get(), [&] { ++ended; });
    ASSERT_TRUE(source);
    loop.run_once(5ms);
    EXPECT_EQ(ended, 0);
    signal_process(child, SIGKILL);
    EXPECT_TRUE(run_until(loop, [&] { return ended > 0; }));
    loop.run_once(5ms);
    EXPECT_EQ(ended, 1) << "told once";
    waitpid(child, nullptr, 0);
}

TEST(EventLoop, RunReturnsTheStatusOfExit)
{
    EventLoop loop;
    loop.post([&] { loop.exit(7); });
    EXPECT_EQ(loop.run(), 7);
}

}    // namespace
}    // namespace rdmaqos::bus
