// What it costs to bring a queue pair into the tree of an emulated mlx5 device through rdma-qosd, compared with the
// bare ioctls that do it, issued in a loop, and with round trips on the direct socket, in the same run.
//
// The bare loop asks the device for the queue pair's state and modifies it. rdma-qosd asks the kernel instead, which
// names the owner too, and whether the device is still the one that its leaves are on. A kernel answers both by itself,
// in less than the device takes for a command; below the emulator each is a conversation with it, as a command is. So
// the two questions are measured, shown and taken off, and what is left must stay below the limit.
//
// Rounds alternate and the median counts. Everything but the throughput runs on one processor, as in bus_bench.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include <sched.h>

#include "lib/nic_mlx5/commands.h"
#include "lib/nic_mlx5/ownership.h"
#include "lib/nic_mlx5/uverbs.h"
#include "tests/nic_mlx5/program.h"

namespace rdmaqos::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRounds = 15;
constexpr int kQueuePairs = 40;    // a round
constexpr double kGoal = 1.0;      // of (Register + Attach) / (2 round trips + 1.3 times the ioctls)
constexpr double kLimit = 2.0;     // without the questions; above it something has become slower

template <typename Function>
double microseconds(const Function& function)
{
    const auto started = Clock::now();
    function();
    return std::chrono::duration<double, std::micro>(Clock::now() - started).count();
}

double median(std::vector<double> values)
{
    std::ranges::sort(values);
    return values[values.size() / 2];
}

void must(bool good, const char* what)
{
    if (!good) {
        throw std::runtime_error(what);
    }
}

// A leaf of the bench's own, as the daemon makes them.
struct Leaf {
    explicit Leaf(int fd)
    {
        const auto root = mlx5::devx_create(fd, mlx5::create_element(ElementKind::Node, mlx5::kNoObject, {}));
        must(root.has_value(), "root");
        const auto leaf = mlx5::devx_create(fd,
                                            mlx5::create_element(ElementKind::Leaf, mlx5::ObjectId{root->id}, {1, {}}));
        must(leaf.has_value(), "leaf");
        id = mlx5::ObjectId{leaf->id};
    }
    mlx5::ObjectId id;
};

// Query and modify: what attaching is when nobody is asked.
void bare(int fd, const ibv_qp* queue_pair, mlx5::ObjectId leaf)
{
    must(mlx5::devx_query(fd, queue_pair->handle, mlx5::query_queue_pair(queue_pair->qp_num), mlx5::prm::kQueryQpBytes)
             .has_value(),
         "query");
    must(mlx5::devx_modify(fd, queue_pair->handle,
                           mlx5::place_queue_pair(QueuePairState::Rts, queue_pair->qp_num, leaf, leaf))
             .has_value(),
         "modify");
}

std::string enter(bus::Client& client)
{
    bus::Dict request;
    request.set("level", "bulk");
    request.set("device", "mlx5_0");
    auto registered = register_session(client, request);
    must(registered.has_value(), "Register");
    return registered->path;
}

double measure_one(const Daemon& daemon)
{
    Program program(daemon, "bulk");
    const int fd = program.here().context->cmd_fd;
    const Leaf leaf(fd);
    ibv_qp* queue_pair = program.make(IBV_QPT_RC);
    const bus::Dict request = request_for(program.here(), queue_pair);
    auto client = daemon.direct();
    const auto ping = [&] {
        must(client.call(bus::names::kRoot, "org.freedesktop.DBus.Peer", "Ping", {}).has_value(), "Ping");
    };
    mlx5::QueuePairOwners owners("mlx5_0");
    std::vector<double> pings;
    std::vector<double> owner_questions;
    std::vector<double> device_questions;
    std::vector<double> ioctls;
    std::vector<double> both;
    for (int round = 0; round < kRounds; ++round) {
        double ping_time = 0;
        double ioctl_time = 0;
        double owner_time = 0;
        double device_time = 0;
        double both_time = 0;
        for (int i = 0; i < kQueuePairs; ++i) {
            ping_time += microseconds(ping);
            ioctl_time += microseconds([&] { bare(fd, queue_pair, leaf.id); });
            owner_time += microseconds([&] { must(owners.find(1, queue_pair->qp_num).owner.has_value(), "owner"); });
            device_time += microseconds([&] { must(mlx5::is_attached(fd), "device"); });
            must(mlx5::devx_modify(
                     fd, queue_pair->handle,
                     mlx5::place_queue_pair(QueuePairState::Rts, queue_pair->qp_num, mlx5::kNoObject, mlx5::kNoObject))
                     .has_value(),
                 "detach");
            std::string session;
            both_time += microseconds([&] {
                session = enter(client);
                const auto results = attach(client, session, {request});
                must(results.has_value() && text_of(results->at(0), "enforced") != "false", "Attach");
            });
            must(client.call(session, bus::names::kSession, "Release", {}).has_value(), "Release");
        }
        pings.push_back(ping_time / kQueuePairs);
        owner_questions.push_back(owner_time / kQueuePairs);
        device_questions.push_back(device_time / kQueuePairs);
        ioctls.push_back(ioctl_time / kQueuePairs);
        both.push_back(both_time / kQueuePairs);
    }
    const double allowed = 2 * median(pings) + 1.3 * median(ioctls);
    printf("  round trip on the direct socket   %8.1f us\n", median(pings));
    printf("  bare ioctls (query, modify)       %8.1f us\n", median(ioctls));
    const double without = median(both) - median(owner_questions) - median(device_questions);
    printf("  whose it is, by netlink           %8.1f us\n", median(owner_questions));
    printf("  whether the device is the same    %8.1f us\n", median(device_questions));
    printf("  Register + Attach                 %8.1f us = %.2f x (2 round trips + 1.3 x ioctls)\n", median(both),
           median(both) / allowed);
    printf("    without the two questions       %8.1f us = %.2f x; goal: %.1f x, limit: %.1f x\n", without,
           without / allowed, kGoal, kLimit);
    return without / allowed;
}

void measure_throughput(const Daemon& daemon)
{
    fflush(stdout);    // what is in it would be every child's too
    constexpr std::size_t kClients = 64;
    constexpr std::uint32_t kEach = 50;
    Processes processes;
    const TempDir gate;
    const auto go = gate.path() / "go";
    for (std::size_t i = 0; i < kClients; ++i) {
        processes.start([&](const Processes::Say& say) {
            auto* program = new Program(daemon, "rpc");
            ibv_qp* queue_pair = program->make(IBV_QPT_RC);
            say(0);
            while (!std::filesystem::exists(go)) {
                usleep(1000);
            }
            for (std::uint32_t n = 0; n < kEach; ++n) {
                program->attach(queue_pair);
                must(program->detach(queue_pair->qp_num).has_value(), "Detach");
            }
            say(1);
        });
    }
    must(processes.hear(kClients).size() == kClients, "clients");
    const double time = microseconds([&] {
        gate.write("go", "");
        must(processes.hear(kClients).size() == kClients, "clients");
    });
    const double pairs = static_cast<double>(kClients) * kEach;
    printf("  64 clients, attach and detach     %8.0f pairs a second (%.0f us each)\n", pairs / time * 1e6,
           time / pairs);
}

void use_one_processor(bool one)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (std::size_t cpu = 0; cpu < (one ? 1U : 64U); ++cpu) {
        CPU_SET(cpu, &set);
    }
    sched_setaffinity(0, sizeof(set), &set);
    // The emulator, which is this program's parent, too.
    sched_setaffinity(getppid(), sizeof(set), &set);
}

int run()
{
    double ratio = 0;
    {
        use_one_processor(true);
        const Daemon daemon(on_emulator());
        ratio = measure_one(daemon);
    }
    use_one_processor(false);
    const Daemon daemon(on_emulator());
    measure_throughput(daemon);
    return ratio <= kLimit ? 0 : 1;
}

}    // namespace
}    // namespace rdmaqos::test

int main()
{
    try {
        return rdmaqos::test::run();
    } catch (const std::exception& error) {
        fprintf(stderr, "attach_cost: %s\n", error.what());
        return 1;
    }
}
