// Clients that come, attach, go and are killed, while the policy changes under them, for RDMAQOS_SOAK_SECONDS (20).
// Afterwards nothing of them may be left: no session, queue pair, leaf, descriptor or memory.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/daemon_fixture.h"

namespace rdmaqos::test {
namespace {

namespace names = bus::names;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr const char* kDevice = "/org/rdmaqos1/device/mlx5_5f0_2f1";
constexpr unsigned kClients = 16;

std::string policy(unsigned rpc_share, bool with_bulk)
{
    std::string text = fmt::format(R"(version: 1
qos-levels:
  - {{name: DEFAULT, sl: 0}}
  - {{name: rpc, schedule: {{share: {}, max-rate: 40Gbps, fair-by: process, leaf-budget: 6}}}}
)",
                                   rpc_share);
    if (with_bulk) {
        text += "  - {name: bulk, schedule: {share: 30, fair-by: queue-pair, leaf-budget: 12}}\n";
    }
    return text;
}

seconds duration()
{
    const char* given = std::getenv("RDMAQOS_SOAK_SECONDS");
    return seconds(given != nullptr ? std::atoi(given) : 20);
}

// One client process: sessions and queue pairs at random until it is killed. Refusals are part of life; a lost
// connection is not, so then it ends with an error.
[[noreturn]] void live(const std::filesystem::path& socket, unsigned index)
{
    std::minstd_rand random(index * 7919 + static_cast<unsigned>(getpid()));
    auto client = bus::Client::connect_direct(socket);
    while (client) {
        bus::Dict request;
        request.set("level", random() % 2 == 0 ? "rpc" : "bulk");
        const auto session = register_session(*client, request);
        if (!session) {
            if (session.error().code == ErrorCode::NoDaemon) {
                _exit(1);
            }
            continue;
        }
        for (auto round = random() % 4; round > 0; --round) {
            std::vector<bus::Dict> queue_pairs;
            for (auto count = random() % 5; count > 0; --count) {
                const std::uint32_t number = index * 10000 + static_cast<std::uint32_t>(random() % 9999) + 1;
                queue_pairs.push_back(queue_pair(random() % 2 == 0 ? "mlx5_0" : "mlx5_1", number));
            }
            const auto attached = attach(*client, session->path, queue_pairs);
            if (attached && !attached->empty() && !attached->front().contains("error")) {
                static_cast<void>(client->call(session->path, names::kSession, "Detach",
                                               {*attached->front().find("device")->as<std::string>(),
                                                *attached->front().find("number")->as<std::uint32_t>()}));
            }
        }
        if (random() % 3 != 0) {
            static_cast<void>(client->call(session->path, names::kSession, "Release", {}));
        }
        if (random() % 16 == 0) {
            client = bus::Client::connect_direct(socket);
        }
    }
    _exit(1);
}

std::size_t descriptors_of(pid_t pid)
{
    const std::filesystem::directory_iterator begin(fmt::format("/proc/{}/fd", pid));
    return static_cast<std::size_t>(std::distance(begin, std::filesystem::directory_iterator()));
}

std::uint64_t resident_kib(pid_t pid)
{
    std::ifstream in(fmt::format("/proc/{}/smaps_rollup", pid));
    std::string line;
    while (std::getline(in, line)) {
        if (line.starts_with("Pss:")) {
            return std::strtoull(line.c_str() + 4, nullptr, 10);
        }
    }
    return 0;
}

std::uint64_t number(bus::Client& client, const char* property)
{
    const auto properties = client.properties(kDevice, names::kDevice);
    const auto* value = properties ? properties->find(property) : nullptr;
    return value != nullptr ? value->as_unsigned().value_or(UINT64_MAX) : UINT64_MAX;
}

TEST(Soak, NothingIsLeftOfClientsThatAreGone)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root may reload by the direct socket";
    }
    // What the address sanitizer keeps of freed memory would hide a leak: little of it, in the daemon.
    setenv("ASAN_OPTIONS", "quarantine_size_mb=4:thread_local_quarantine_size_kb=64", 1);
    Daemon daemon({policy(60, true), kTwoDevices, "version: 1\ndrift-interval: 1s\n", false, RDMAQOS_DAEMON});
    const pid_t pid = daemon.process().pid();
    auto manager = daemon.direct();
    const std::size_t descriptors = descriptors_of(pid);
    const std::uint64_t elements = number(manager, "ElementsUsed");

    std::minstd_rand random(1);
    std::vector<std::unique_ptr<Child>> clients(kClients);
    const auto end = steady_clock::now() + duration();
    std::uint64_t memory_after_warm_up = 0;
    const auto warm = steady_clock::now() + duration() / 3;
    unsigned reloads = 0;
    while (steady_clock::now() < end) {
        const auto victim = static_cast<unsigned>(random() % kClients);
        if (clients[victim]) {
            ASSERT_FALSE(clients[victim]->has_ended()) << "a client ended by itself";
            clients[victim]->signal(SIGKILL);
        }
        clients[victim] = std::make_unique<Child>([socket = daemon.socket(), victim] { live(socket, victim + 1); });
        const auto choice = random() % 4;
        daemon.dir().write("etc/rdma-qos/policy.yaml",
                           choice == 0 ? "version: 1\nbroken: ["
                                       : policy(40 + static_cast<unsigned>(random() % 50), choice != 1));
        const auto reloaded = manager.call(names::kRoot, names::kManager, "Reload", {});
        ASSERT_EQ(reloaded.has_value(), choice != 0) << (reloaded ? "" : reloaded.error().message);
        ++reloads;
        if (memory_after_warm_up == 0 && steady_clock::now() > warm) {
            memory_after_warm_up = resident_kib(pid);
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    clients.clear();
    daemon.dir().write("etc/rdma-qos/policy.yaml", policy(60, true));
    ASSERT_TRUE(manager.call(names::kRoot, names::kManager, "Reload", {}));
    EXPECT_GT(reloads, 10U);

    EXPECT_TRUE(eventually([&] { return daemon.sessions() == 0; }));
    EXPECT_TRUE(eventually([&] { return number(manager, "QueuePairsInside") == 0; }));
    EXPECT_TRUE(eventually([&] { return number(manager, "ElementsUsed") == elements; }))
        << number(manager, "ElementsUsed") << " elements, " << elements << " at the start";
    EXPECT_TRUE(eventually([&] { return descriptors_of(pid) <= descriptors; }))
        << descriptors_of(pid) << " descriptors, " << descriptors << " at the start";
    const auto drift = manage(manager, "Verify", "");
    ASSERT_TRUE(drift) << to_string(drift.error());
    EXPECT_TRUE(drift->empty());
    const std::uint64_t memory = resident_kib(pid);
    EXPECT_LT(memory, memory_after_warm_up + memory_after_warm_up / 2) << "KiB";
    RecordProperty("reloads", std::to_string(reloads));
    EXPECT_EQ(daemon.stop(), 0) << daemon.log();
}

}    // namespace
}    // namespace rdmaqos::test
