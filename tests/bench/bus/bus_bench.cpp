// What a call to the real rdma-qosd costs, compared with org.freedesktop.DBus.Peer.Ping to the same daemon by the same
// transport in the same run; absolute times say more about the machine than about us.
//
// Starts its own daemon with two simulated devices and a private system bus (the latter needs root, for the name).
// Rounds of the calls to compare alternate, and the median round counts, so that a busy machine disturbs both alike.
// Everything runs on one processor: waking another one costs several times what is measured, and hides it.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include "lib/bus/message.h"
#include "tests/support/daemon_fixture.h"

namespace rdmaqos::test {
namespace {

namespace names = bus::names;
using Microseconds = std::chrono::duration<double, std::micro>;

constexpr int kRounds = 15;
constexpr int kCalls = 400;
constexpr int kConnections = 40;

// Sends and receives as a lean client does: without turning answers into values.
class Connection {
public:
    Connection(const Daemon& daemon, bool system_bus) : destination_(system_bus ? names::kService : nullptr)
    {
        sd_bus* raw = nullptr;
        int result = sd_bus_new(&raw);
        bus_.reset(raw);
        const std::string address = system_bus ? std::getenv("DBUS_SYSTEM_BUS_ADDRESS")
                                               : "unix:path=" + daemon.socket().string();
        if (result >= 0) {
            result = sd_bus_set_address(raw, address.c_str());
        }
        if (result >= 0) {
            result = sd_bus_set_bus_client(raw, system_bus ? 1 : 0);
        }
        if (result >= 0) {
            result = sd_bus_start(raw);
        }
        if (result < 0) {
            throw std::runtime_error("no connection");
        }
    }

    // Waits until the connection can be used; by the bus, the daemon has not heard of it then.
    void greet()
    {
        const char* name = nullptr;
        if (destination_ == nullptr) {
            ping();
        } else if (sd_bus_get_unique_name(bus_.get(), &name) < 0) {
            throw std::runtime_error("no connection");
        }
    }
    void ping() { call(names::kRoot, "org.freedesktop.DBus.Peer", "Ping", false); }
    [[nodiscard]] std::string enter()
    {
        const auto reply = call(names::kRoot, names::kManager, "Register", true);
        const char* path = nullptr;
        if (sd_bus_message_read_basic(reply.get(), 'o', &path) <= 0) {
            throw std::runtime_error("Register answered something else");
        }
        return path;
    }
    void leave(const std::string& session) { call(session.c_str(), names::kSession, "Release", false); }

private:
    bus::MessageRef call(const char* path, const char* interface, const char* method, bool with_request)
    {
        sd_bus_message* raw = nullptr;
        if (sd_bus_message_new_method_call(bus_.get(), &raw, destination_, path, interface, method) < 0) {
            throw std::runtime_error(method);
        }
        const auto message = bus::MessageRef::adopt(raw);
        if (with_request && sd_bus_message_append(raw, "a{sv}", 1, "level", "s", "rpc") < 0) {
            throw std::runtime_error(method);
        }
        bus::BusError error;
        sd_bus_message* reply = nullptr;
        if (sd_bus_call(bus_.get(), raw, 0, error.get(), &reply) < 0) {
            throw std::runtime_error(fmt::format("{}: {}", method, error.message()));
        }
        return bus::MessageRef::adopt(reply);
    }

    const char* destination_;
    bus::BusPtr bus_;
};

template <typename Function>
double timed(const Function& function)
{
    const auto begin = std::chrono::steady_clock::now();
    function();
    return Microseconds(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> values)
{
    std::ranges::sort(values);
    return values[values.size() / 2];
}

struct Times {
    double ping = 0;
    double enter = 0;
    double leave = 0;
    double new_ping = 0;    // the first call of a new connection
    double new_enter = 0;
    double connect_ping = 0;    // connecting and the first call
    double connect_enter = 0;
};

Times measure(const Daemon& daemon, bool system_bus)
{
    Connection known(daemon, system_bus);
    known.ping();
    known.leave(known.enter());
    std::vector<std::vector<double>> rounds(7);
    for (int round = 0; round < kRounds; ++round) {
        double ping = 0;
        double enter = 0;
        double leave = 0;
        for (int count = 0; count < kCalls; ++count) {
            ping += timed([&] { known.ping(); });
            std::string session;
            enter += timed([&] { session = known.enter(); });
            leave += timed([&] { known.leave(session); });
        }
        std::vector<double> fresh(4);
        for (int count = 0; count < kConnections; ++count) {
            for (const bool registers : {false, true}) {
                std::unique_ptr<Connection> connection;
                const double connecting = timed([&] {
                    connection = std::make_unique<Connection>(daemon, system_bus);
                    connection->greet();
                });
                const double first = timed([&] {
                    if (registers) {
                        [[maybe_unused]] const auto session = connection->enter();
                    } else {
                        connection->ping();
                    }
                });
                fresh[registers ? 1 : 0] += first;
                fresh[registers ? 3 : 2] += connecting + first;
            }
        }
        const std::vector<double> all{ping / kCalls,           enter / kCalls,          leave / kCalls,
                                      fresh[0] / kConnections, fresh[1] / kConnections, fresh[2] / kConnections,
                                      fresh[3] / kConnections};
        for (std::size_t i = 0; i < all.size(); ++i) {
            rounds[i].push_back(all[i]);
        }
    }
    return {median(rounds[0]), median(rounds[1]), median(rounds[2]), median(rounds[3]),
            median(rounds[4]), median(rounds[5]), median(rounds[6])};
}

void line(const char* what, double time, double ping, double goal)
{
    fmt::print("  {:<44} {:>9.1f} us {:>7.2f}x{}\n", what, time, time / ping,
               goal > 0 ? fmt::format("  (goal: at most {:.0f}x: {})", goal, time / ping <= goal ? "met" : "MISSED")
                        : std::string());
}

void print(const char* transport, const Times& times)
{
    fmt::print("{}\n", transport);
    line("Ping, known sender", times.ping, times.ping, 0);
    line("Register, known sender", times.enter, times.ping, 2);
    line("Release, known sender", times.leave, times.ping, 0);
    line("new connection: Ping", times.new_ping, times.ping, 0);
    line("new connection: Register", times.new_enter, times.ping, 4);
    line("connecting + Ping", times.connect_ping, times.ping, 0);
    line("connecting + Register", times.connect_enter, times.ping, 0);
    fmt::print("  {:<44} {:>13.2f}x\n", "connecting + Register against connecting + Ping",
               times.connect_enter / times.connect_ping);
}

// "Pss:" of /proc/PID/smaps_rollup, in KiB.
std::uint64_t memory_of(pid_t pid)
{
    std::ifstream in(fmt::format("/proc/{}/smaps_rollup", pid));
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with("Pss:")) {
            return std::strtoull(line.c_str() + 4, nullptr, 10);
        }
    }
    return 0;
}

void expect(const auto& result)
{
    if (!result) {
        throw std::runtime_error(to_string(result.error()));
    }
}

void print_scale(Daemon& daemon)
{
    constexpr std::uint32_t kClients = 200;
    constexpr std::uint32_t kEach = 50;
    constexpr double kGoal = 64;
    const double before = static_cast<double>(memory_of(daemon.process().pid())) / 1024;
    std::vector<bus::Client> clients;
    const double building = timed([&] {
        for (std::uint32_t client = 0; client < kClients; ++client) {
            std::vector<bus::Dict> queue_pairs;
            for (std::uint32_t number = 0; number < kEach; ++number) {
                queue_pairs.push_back(queue_pair("mlx5_0", client * kEach + number + 1));
            }
            bus::Dict request;
            request.set("level", "bulk");
            request.set("queue-pairs", queue_pairs);
            clients.push_back(daemon.direct());
            expect(register_session(clients.back(), request));
        }
    });
    const double listing = timed([&] { expect(clients.front().managed_objects()); });
    const double after = static_cast<double>(memory_of(daemon.process().pid())) / 1024;
    fmt::print("{} queue pairs in sessions over {} connections\n", kClients * kEach, kClients);
    fmt::print("  {:<44} {:>9.1f} ms\n", "registering and attaching all", building / 1000);
    fmt::print("  {:<44} {:>9.1f} ms\n", "GetManagedObjects with all of them", listing / 1000);
    fmt::print("  {:<44} {:>9.1f} MiB  (goal: at most {:.0f}: {}; {:.1f} before)\n", "PSS of rdma-qosd", after, kGoal,
               after <= kGoal ? "met" : "MISSED", before);
}

void use_one_processor()
{
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0) {
        return;
    }
    for (int cpu = CPU_SETSIZE - 1; cpu >= 0; --cpu) {
        if (CPU_ISSET(cpu, &allowed)) {
            CPU_ZERO(&allowed);
            CPU_SET(cpu, &allowed);
            sched_setaffinity(0, sizeof(allowed), &allowed);
            return;
        }
    }
}

int run()
{
    use_one_processor();
    const bool system_bus = geteuid() == 0;
    DaemonOptions options{kTwoLevelPolicy, kTwoDevices, "", system_bus, RDMAQOS_DAEMON};
    options.settings = "version: 1\nlimits: {requests-per-second-per-uid: 10000000}\n";
    Daemon daemon(options);
    fmt::print("median of {} rounds of {} calls and {} connections\n", kRounds, kCalls, kConnections);
    print("direct socket", measure(daemon, false));
    if (system_bus) {
        setenv("DBUS_SYSTEM_BUS_ADDRESS", daemon.bus_address().c_str(), 1);
        print("system bus", measure(daemon, true));
    } else {
        fmt::print("system bus: left out, only root may own org.rdmaqos1\n");
    }
    print_scale(daemon);
    return 0;
}

}    // namespace
}    // namespace rdmaqos::test

int main()
{
    try {
        return rdmaqos::test::run();
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 1;
    }
}
