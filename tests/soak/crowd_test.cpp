// A thousand RDMA programs with eight queue pairs each on an emulated device, by the direct socket and with the
// settings as shipped: they register, attach, are killed and come again while the policy is reloaded, for
// RDMAQOS_SOAK_SECONDS (20). Afterwards every living queue pair is in its leaf, and nothing is left of the dead. On a
// real kernel (tests/kernel): 200 of them, killed at a slower pace, because its processor is emulated.
#include <chrono>
#include <climits>
#include <random>
#include <thread>

#include <gtest/gtest.h>
#include <poll.h>

#include "tests/soak/crowd.h"

namespace rdmaqos::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

struct Said {
    std::uint32_t program = 0;
    std::uint32_t level = 0;
    std::uint32_t numbers[kQueuePairs] = {};
};
static_assert(sizeof(Said) < PIPE_BUF);

class Crowd {
public:
    explicit Crowd(const Daemon& daemon) : daemon_(daemon)
    {
        if (pipe2(ends_, O_CLOEXEC) != 0) {
            throw std::runtime_error("pipe");
        }
    }

    void start(std::uint32_t index)
    {
        children_[index] = std::make_unique<Child>([this, index] {
            try {
                live(index);
            } catch (const std::exception& error) {
                fprintf(stderr, "program %u: %s\n", index, error.what());
                _exit(1);
            }
        });
        alive_.erase(index);
    }
    void kill(std::uint32_t index)
    {
        children_.erase(index);    // SIGKILL, and waits for its end
        alive_.erase(index);
    }
    // Until all that were started have said what they have.
    bool settle(std::chrono::seconds patience)
    {
        const auto until = Clock::now() + patience;
        while (alive_.size() < children_.size() && Clock::now() < until) {
            hear(1s);
        }
        return alive_.size() == children_.size();
    }
    void hear(std::chrono::milliseconds patience)
    {
        pollfd ready{ends_[0], POLLIN, 0};
        while (poll(&ready, 1, static_cast<int>(patience.count())) > 0) {
            Said said;
            if (read(ends_[0], &said, sizeof(said)) != sizeof(said)) {
                throw std::runtime_error("pipe");
            }
            alive_[said.program] = said;
            patience = 0ms;
        }
    }
    [[nodiscard]] std::size_t size() const { return children_.size(); }
    [[nodiscard]] const std::map<std::uint32_t, Said>& alive() const { return alive_; }

private:
    void live(std::uint32_t index)
    {
        Said said{index, index % 3, {}};
        auto* program = new Program(daemon_, kLevels[said.level]);
        for (auto& number : said.numbers) {
            number = program->join(index % 2 == 0 ? IBV_QPT_RC : IBV_QPT_UD);
        }
        if (write(ends_[1], &said, sizeof(said)) != sizeof(said)) {
            _exit(1);
        }
        while (true) {
            pause();
        }
    }

    const Daemon& daemon_;
    int ends_[2] = {-1, -1};
    std::map<std::uint32_t, std::unique_ptr<Child>> children_;
    std::map<std::uint32_t, Said> alive_;
};

std::size_t misplaced(const Crowd& crowd)
{
    const auto where = places(emulated_device());
    std::size_t wrong = 0;
    for (const auto& [index, said] : crowd.alive()) {
        for (const std::uint32_t number : said.numbers) {
            const auto found = where.find(number);
            if (found == where.end() || found->second != kPlaceOf[said.level]) {
                ++wrong;
            }
        }
    }
    return wrong;
}

TEST(Crowd, IsServedAndLeavesNothing)
{
    const auto processes = static_cast<std::uint32_t>(
        from_environment("RDMAQOS_SOAK_PROCESSES", on_kernel() ? 200 : 1000));
    const auto time = std::chrono::seconds(from_environment("RDMAQOS_SOAK_SECONDS", 20));
    Daemon daemon(on_emulator());
    const pid_t pid = daemon.process().pid();
    auto client = daemon.direct();
    // What is opened with the first queue pair and kept.
    Program(daemon, "bulk").join(IBV_QPT_RC);
    EXPECT_TRUE(eventually([] { return emulated_device().at("files") == 1; }));
    const std::size_t descriptors = descriptors_of(pid);
    const auto elements = emulated_device().at("elements").get<std::size_t>();
    std::size_t kills = 0;
    int reloads = 0;
    {
        Crowd crowd(daemon);
        const auto started = Clock::now();
        for (std::uint32_t index = 0; index < processes; ++index) {
            crowd.start(index);
            crowd.hear(0ms);
        }
        ASSERT_TRUE(crowd.settle(kManyHung)) << crowd.alive().size() << " of " << crowd.size() << " came up";
        const auto up = std::chrono::duration<double>(Clock::now() - started).count();
        printf("%u programs with %zu queue pairs up in %.1f s\n", processes, processes * kQueuePairs, up);
        fflush(stdout);    // what is in it would be every child's too
        std::minstd_rand random(1);
        const auto until = Clock::now() + time;
        auto next_reload = Clock::now();
        while (Clock::now() < until) {
            const auto index = static_cast<std::uint32_t>(random() % processes);
            if (crowd.alive().contains(index) && crowd.size() - crowd.alive().size() < kComingUp) {
                crowd.kill(index);
                crowd.start(index);
                ++kills;
            }
            crowd.hear(1ms);
            std::this_thread::sleep_for(on_kernel() ? 100ms : 20ms);
            if (Clock::now() > next_reload) {
                daemon.dir().write("etc/rdma-qos/policy.yaml", alternate(kThreeClasses, ++reloads));
                const auto reply = client.call(bus::names::kRoot, bus::names::kManager, "Reload", {});
                ASSERT_TRUE(reply.has_value()) << to_string(reply.error());
                next_reload = Clock::now() + 2s;
            }
        }
        daemon.dir().write("etc/rdma-qos/policy.yaml", alternate(kThreeClasses, 0));
        ASSERT_TRUE(client.call(bus::names::kRoot, bus::names::kManager, "Reload", {}).has_value());
        ASSERT_TRUE(crowd.settle(kManyHung)) << crowd.alive().size() << " of " << crowd.size() << " came up";
        EXPECT_TRUE(eventually([&] { return misplaced(crowd) == 0; }, kManyHung))
            << misplaced(crowd) << " in the wrong place";
        printf("%zu killed and replaced, %d reloads; %zu queue pairs in their leaves; daemon %zu KiB\n", kills, reloads,
               processes * kQueuePairs, kib_of(pid));
        fflush(stdout);
        EXPECT_EQ(daemon.sessions(), processes);
    }
    EXPECT_TRUE(eventually([] { return emulated_device().at("files") == 1; }, kManyHung))
        << emulated_device().at("files");
    EXPECT_TRUE(eventually([&] { return emulated_device().at("elements") == elements; }, kManyHung))
        << emulated_device().at("elements");
    EXPECT_EQ(emulated_device().at("leaked"), 0);
    EXPECT_TRUE(emulated_device().at("queue-pairs").empty());
    EXPECT_TRUE(eventually([&] { return descriptors_of(pid) <= descriptors; }))
        << descriptors_of(pid) << " descriptors, " << descriptors << " at the start";
    EXPECT_EQ(daemon.sessions(), 0U);
    printf("afterwards: daemon %zu KiB, %zu descriptors\n", kib_of(pid), descriptors_of(pid));
}

}    // namespace
}    // namespace rdmaqos::test
