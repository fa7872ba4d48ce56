#include "lib/reconcile/worker.h"

#include <atomic>
#include <csignal>
#include <future>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <pthread.h>

#include "lib/base/log.h"

namespace rdmaqos {
namespace {

// Holds the worker in a task until told to go on.
class Gate {
public:
    std::function<void()> task()
    {
        return [this] {
            entered_.set_value();
            opened_.get_future().wait();
        };
    }
    void wait_until_entered() { entered_.get_future().wait(); }
    void open() { opened_.set_value(); }

private:
    std::promise<void> entered_;
    std::promise<void> opened_;
};

TEST(Worker, RunsTasksInOrderOnItsOwnThread)
{
    std::vector<int> order;
    std::thread::id thread;
    {
        Worker worker("qosd-test", 100);
        for (int i = 0; i < 50; ++i) {
            ASSERT_TRUE(worker.submit([&order, &thread, i] {
                order.push_back(i);
                thread = std::this_thread::get_id();
            }));
        }
    }
    ASSERT_EQ(order.size(), 50U);
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
    EXPECT_NE(thread, std::this_thread::get_id());
}

TEST(Worker, QueueIsBounded)
{
    Gate gate;
    std::atomic<int> ran = 0;
    {
        Worker worker("qosd-test", 2);
        ASSERT_TRUE(worker.submit(gate.task()));
        gate.wait_until_entered();
        EXPECT_EQ(worker.queued(), 0U);    // the one that runs does not wait
        EXPECT_TRUE(worker.submit([&] { ++ran; }));
        EXPECT_TRUE(worker.submit([&] { ++ran; }));
        EXPECT_FALSE(worker.submit([&] { ran += 100; }));
        worker.submit_always([&] { ++ran; });
        EXPECT_EQ(worker.queued(), 3U);
        EXPECT_FALSE(worker.submit([&] { ran += 100; }));
        gate.open();
    }
    EXPECT_EQ(ran, 3);
}

TEST(Worker, DestructorRunsWhatIsQueuedAlsoByTasksThemselves)
{
    std::atomic<int> ran = 0;
    {
        Gate gate;
        Worker worker("qosd-test", 10);
        ASSERT_TRUE(worker.submit(gate.task()));
        gate.wait_until_entered();
        ASSERT_TRUE(worker.submit([&] {
            ++ran;
            worker.submit_always([&] { ++ran; });
        }));
        gate.open();
    }
    EXPECT_EQ(ran, 2);
}

TEST(Worker, ItsPulseTellsATaskFromTheWorkBehindIt)
{
    Gate gate;
    Worker worker("qosd-test", 10);
    EXPECT_EQ(worker.pulse(), (WorkerPulse{0, 0, false}));
    ASSERT_TRUE(worker.submit(gate.task()));
    gate.wait_until_entered();
    ASSERT_TRUE(worker.submit([] {}));
    const auto before = worker.pulse();
    EXPECT_EQ(before, (WorkerPulse{1, 1, true}));
    EXPECT_FALSE(takes_no_work(before, worker.pulse())) << "it may be waiting for a device";
    gate.open();
    std::promise<void> last;
    ASSERT_TRUE(worker.submit([&last] { last.set_value(); }));
    last.get_future().wait();
    while (worker.pulse().busy) {
        std::this_thread::yield();
    }
    EXPECT_EQ(worker.pulse(), (WorkerPulse{3, 0, false}));
}

TEST(Worker, ThreadHasItsName)
{
    std::array<char, 16> name{};
    {
        Worker worker("qosd-a-very-long-name", 1);
        ASSERT_TRUE(worker.submit([&] { pthread_getname_np(pthread_self(), name.data(), name.size()); }));
    }
    EXPECT_STREQ(name.data(), "qosd-a-very-lon");
}

TEST(Worker, SignalsAreLeftToTheMainLoop)
{
    sigset_t before;
    pthread_sigmask(SIG_SETMASK, nullptr, &before);
    sigset_t inside;
    sigemptyset(&inside);
    {
        Worker worker("qosd-test", 1);
        ASSERT_TRUE(worker.submit([&] { pthread_sigmask(SIG_SETMASK, nullptr, &inside); }));
    }
    EXPECT_EQ(sigismember(&inside, SIGTERM), 1);
    EXPECT_EQ(sigismember(&inside, SIGHUP), 1);
    sigset_t after;
    pthread_sigmask(SIG_SETMASK, nullptr, &after);
    EXPECT_EQ(sigismember(&before, SIGTERM), sigismember(&after, SIGTERM));
}

class RecordingSink final : public LogSink {
public:
    explicit RecordingSink(std::vector<std::string>& lines) : lines_(lines) {}
    void write(const LogRecord& record) noexcept override
    {
        const std::lock_guard lock(mutex_);
        lines_.emplace_back(record.message);
        EXPECT_EQ(record.level, LogLevel::Error);
        EXPECT_EQ(record.fields.begin()->key, "THREAD");
    }

private:
    std::mutex mutex_;
    std::vector<std::string>& lines_;
};

TEST(Worker, ExceptionsAreLoggedAndEndNothing)
{
    std::vector<std::string> lines;
    set_log_sink(std::make_unique<RecordingSink>(lines));
    bool went_on = false;
    {
        Worker worker("qosd-test", 10);
        ASSERT_TRUE(worker.submit([] { throw std::runtime_error("no luck"); }));
        ASSERT_TRUE(worker.submit([] { throw 7; }));    // NOLINT: third-party code may throw anything
        ASSERT_TRUE(worker.submit([&] { went_on = true; }));
    }
    set_log_sink(nullptr);
    EXPECT_TRUE(went_on);
    EXPECT_EQ(lines, (std::vector<std::string>{"qosd-test: a task failed: no luck",
                                               "qosd-test: a task failed with an unknown exception"}));
}

TEST(Worker, ManyThreadsMaySubmit)
{
    constexpr int kThreads = 4;
    constexpr int kTasks = 2000;
    std::atomic<int> accepted = 0;
    int ran = 0;    // written by the worker's thread only
    {
        Worker worker("qosd-test", 16);
        std::vector<std::thread> threads;
        for (int i = 0; i < kThreads; ++i) {
            threads.emplace_back([&, always = i == 0] {
                for (int task = 0; task < kTasks; ++task) {
                    if (always) {
                        worker.submit_always([&ran] { ++ran; });
                        ++accepted;
                    } else if (worker.submit([&ran] { ++ran; })) {
                        ++accepted;
                    }
                    (void)worker.queued();
                }
            });
        }
        for (auto& thread : threads) {
            thread.join();
        }
    }
    EXPECT_EQ(ran, accepted);
    EXPECT_GE(ran, kTasks);
}

}    // namespace
}    // namespace rdmaqos
