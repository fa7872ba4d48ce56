// One handle of librdmaqos in many threads, while the process forks and the daemon dies.
#include <atomic>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "tests/integration/client/restartable.h"
#include "tests/unit/client/library.h"

namespace rdmaqos::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr const char* kPolicy = R"(version: 1
qos-levels:
  - {name: DEFAULT, sl: 0}
  - {name: rpc, schedule: {share: 60}}
)";
constexpr const char* kDevices = R"(version: 1
devices:
  - {name: mlx5_0, node-guid: 0x10, port-guid: 0x11, link-speed: 100Gbps}
)";
constexpr std::uint32_t kThreads = 8;
constexpr std::uint32_t kRounds = 1000;

struct Counts {
    std::atomic<std::uint32_t> done = 0;
    std::atomic<std::uint32_t> attached = 0;
    std::atomic<std::uint32_t> lost = 0;
    std::atomic<std::uint32_t> wrong = 0;
};

// Attaches and detaches a queue pair of its own; what fails while the daemon is away is counted.
void work(rdmaqos_handle* handle, std::uint32_t number, Counts& counts)
{
    const auto queue_pair = numbered(number);
    for (std::uint32_t round = 0; round < kRounds; ++round) {
        rdmaqos_answer* place = nullptr;
        const int attached = rdmaqos_attach_number(handle, &queue_pair, nullptr, &place);
        rdmaqos_answer_free(place);
        const int detached = attached == 0 ? rdmaqos_detach_number(handle, "mlx5_0", number) : 0;
        counts.attached += attached == 0 ? 1 : 0;
        const auto is_loss = [](int result) {
            return result == -ENOTCONN || result == -ETIMEDOUT || result == -EAGAIN;
        };
        counts.lost += is_loss(attached) || is_loss(detached) ? 1 : 0;
        if ((attached < 0 && !is_loss(attached)) || (detached < 0 && !is_loss(detached))) {
            ++counts.wrong;
            ADD_FAILURE() << attached << " " << detached << " " << rdmaqos_last_error();
        }
        if (is_loss(attached)) {
            std::this_thread::sleep_for(
                5ms);    // as a program would; or its rounds were over before the daemon is back
        }
        ++counts.done;
    }
}

TEST(ClientThreads, EightThreadsAForkAndTheDaemonsDeath)
{
    RestartableDaemon daemon(kPolicy, kDevices);
    Handle handle = open_at(daemon.socket(), RDMAQOS_OPEN_DIRECT | RDMAQOS_OPEN_THREAD);
    std::optional<Heard> heard(handle);
    const auto request = for_level("rpc");
    ASSERT_EQ(rdmaqos_register(handle.get(), &request, nullptr), 0);
    const auto stays = numbered(9999);
    ASSERT_EQ(rdmaqos_attach_number(handle.get(), &stays, nullptr, nullptr), 0);

    Counts counts;
    const auto before = Clock::now();
    std::vector<std::thread> threads;
    for (std::uint32_t i = 0; i < kThreads; ++i) {
        threads.emplace_back([&, i] { work(handle.get(), 100 + i, counts); });
    }
    const auto reached = [&](std::uint32_t part) {
        return eventually([&] { return counts.done >= kThreads * kRounds * part / 10; }, kManyHung);
    };
    EXPECT_TRUE(reached(2));
    // A child whose handle was copied in whatever state it was.
    const pid_t child = fork();
    if (child == 0) {
        const auto queue_pair = numbered(7);
        const bool is_inert = rdmaqos_attach_number(handle.get(), &queue_pair, nullptr, nullptr) == -ECHILD;
        rdmaqos_close(handle.get());
        _exit(is_inert ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(reached(4));
    daemon.kill();
    std::this_thread::sleep_for(50ms);
    daemon.start();
    for (auto& thread : threads) {
        thread.join();
    }
    RecordProperty("seconds", static_cast<int>((Clock::now() - before) / 1s));
    EXPECT_EQ(counts.done, kThreads * kRounds);
    EXPECT_EQ(counts.wrong, 0U);
    EXPECT_GT(counts.lost, 0U);
    EXPECT_GT(counts.attached, kThreads * kRounds / 2);
    EXPECT_TRUE(heard->has("back"));
    // What stayed is there once, and nothing else is.
    EXPECT_TRUE(eventually([&] { return attached_queue_pairs(daemon) == std::multiset<std::string>{"rpc 9999"}; }))
        << ::testing::PrintToString(attached_queue_pairs(daemon));
    heard.reset();
    handle.reset();
    EXPECT_TRUE(eventually([&] { return attached_queue_pairs(daemon).empty(); }));
}

}    // namespace
}    // namespace rdmaqos::test
