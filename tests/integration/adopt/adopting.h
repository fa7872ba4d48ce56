// A daemon that adopts, programs that know nothing of it, and what the device and rdma-qosctl say of them.
#pragma once

#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/nic_mlx5/program.h"
#include "tests/support/ctl.h"
#include "tests/support/running.h"
#include "tests/support/tracked.h"

namespace rdmaqos::test {

// Levels that can be told apart by their place in the device. Nothing leads to one of them but the rules of a test.
constexpr const char* kLevelsToAdopt = R"(version: 1
port-groups:
  - {name: targets, gid: ["fd00:99::1", "fd00:98::1"]}
qos-levels:
  - {name: DEFAULT, schedule: {share: 10}}
  - {name: rpc, schedule: {share: 60, max-rate: 40Gbps}}
  - {name: storage, schedule: {share: 7, max-rate: 25Gbps}}
  - {name: marked, sl: 5}
  - {name: apart, adopt: no, schedule: {share: 8}}
qos-match-rules:
)";
constexpr const char* kInRpc = "rate 40000 share 60 < root";
constexpr const char* kInStorage = "rate 25000 share 7 < root";
constexpr const char* kNowhere = "";

// `rules`: a line each.
inline DaemonOptions adopting(const std::string& rules, const std::string& setting = "adopt")
{
    return on_emulator(kLevelsToAdopt + rules, "version: 1\nunregistered: " + setting + "\n");
}

// Where a packaged program is; "": nowhere.
inline std::string packaged(const std::string& name)
{
    for (const char* folder : {"/usr/bin/", "/bin/"}) {
        if (access((folder + name).c_str(), X_OK) == 0) {
            return folder + name;
        }
    }
    return {};
}

// Who a program is, and where: done in its process before it begins.
using Prepare = std::function<bool()>;

inline std::unique_ptr<Child> start(const Words& command, const Prepare& prepare)
{
    return std::make_unique<Child>([&] {
        std::vector<char*> arguments;
        for (const auto& each : command) {
            arguments.push_back(const_cast<char*>(each.c_str()));    // NOLINT(*-const-cast): execv's signature
        }
        arguments.push_back(nullptr);
        if (prepare()) {
            execv(arguments.front(), arguments.data());
        }
        perror("a program cannot be started");
        _exit(1);
    });
}

// Server and client of a packaged program that connect to each other by TCP and then wait for data, which never comes.
class ServerAndClient {
public:
    explicit ServerAndClient(Words command)
    {
        const std::uint16_t port = free_port();
        command.insert(command.end(), {"-p", std::to_string(port)});
        server_ = std::make_unique<Running>(command);
        if (!eventually([&] { return listens(port); })) {
            throw std::runtime_error("the server does not listen: " + server_->output());
        }
        command.emplace_back("127.0.0.1");
        client_ = std::make_unique<Running>(command);
    }

    [[nodiscard]] std::vector<pid_t> pids() const { return {server_->child().pid(), client_->child().pid()}; }
    [[nodiscard]] std::string output() const { return server_->output() + client_->output(); }

private:
    static std::uint16_t free_port()
    {
        const UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_in address{};
        address.sin_family = AF_INET;
        socklen_t size = sizeof(address);
        auto* raw = reinterpret_cast<sockaddr*>(&address);
        if (bind(fd.get(), raw, size) != 0 || getsockname(fd.get(), raw, &size) != 0) {
            throw std::runtime_error("no port");
        }
        return ntohs(address.sin_port);
    }
    // Without connecting: they serve one client.
    static bool listens(std::uint16_t port)
    {
        const std::string at = fmt::format(":{:04X} ", port);
        for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
            std::ifstream file(table);
            for (std::string line; std::getline(file, line);) {
                std::istringstream words(line);
                std::string word;
                std::string local;
                std::string remote;
                std::string state;
                words >> word >> local >> remote >> state;
                if ((local + " ").ends_with(at) && state == "0A") {
                    return true;
                }
            }
        }
        return false;
    }

    std::unique_ptr<Running> server_;
    std::unique_ptr<Running> client_;
};

// Numbers of a process's queue pairs, once there are so many that may send.
inline std::vector<std::uint32_t> ready_of(pid_t process, std::size_t count)
{
    Tracker tracker;
    std::vector<std::uint32_t> numbers;
    EXPECT_TRUE(eventually([&] { return (numbers = tracker.ready_of(process)).size() == count; }))
        << "process " << process << " has " << numbers.size();
    return numbers;
}

// The only process with queue pairs that may send: in a process namespace of its own it has another pid than it knows.
inline pid_t only_process()
{
    Tracker tracker;
    pid_t process = 0;
    EXPECT_TRUE(eventually([&] {
        for (const auto& each : tracker.all()) {
            process = each.state == QueuePairState::Rts ? each.thread.value_or(0) : process;
        }
        return process != 0;
    }));
    return process;
}

// ---- rdma-qosctl ----

inline std::string said(const Daemon& daemon, const std::string& words)
{
    const Outcome outcome = run_ctl(daemon.root(), words);
    EXPECT_EQ(outcome.status, 0) << words << ": " << outcome.error;
    return outcome.output;
}

// A queue pair of mlx5_0 as `qps` has it; null.
inline nlohmann::json listed(const Daemon& daemon, std::uint32_t number)
{
    const auto all = nlohmann::json::parse(said(daemon, "qps --json"), nullptr, false);
    for (const auto& each : all.is_discarded() ? nlohmann::json::array() : all.at("queue-pairs")) {
        if (each.at("number") == number && each.at("device").get<std::string>().starts_with("mlx5_0")) {
            return each;
        }
    }
    return nullptr;
}
// Its level, or else why it is in none, once that is `expected`.
inline std::string standing(const Daemon& daemon, std::uint32_t number, const std::string& expected)
{
    nlohmann::json found;
    const auto has = [&](const char* key) { return found.is_object() && found.value(key, "") == expected; };
    static_cast<void>(eventually([&] {
        found = listed(daemon, number);
        return has("level") || has("outside");
    }));
    return !found.is_object() ? "not listed" : found.value("level", found.value("outside", "neither"));
}

// All queue pairs of a process that may send are in this place of the device, and every command says so.
inline void expect_adopted(const Daemon& daemon, pid_t process, std::size_t count, const std::string& place,
                           const std::string& level)
{
    SCOPED_TRACE(fmt::format("process {}", process));
    for (const std::uint32_t number : ready_of(process, count)) {
        EXPECT_TRUE(eventually([&] { return place_of(number) == place; })) << place_of(number) << "\n" << daemon.log();
        EXPECT_EQ(standing(daemon, number, level), level);
    }
    const std::string sessions = said(daemon, "sessions");
    EXPECT_THAT(sessions, ::testing::HasSubstr(std::to_string(process)));
    EXPECT_THAT(sessions, ::testing::HasSubstr(level));
    EXPECT_THAT(said(daemon, fmt::format("why {}", process)), ::testing::HasSubstr(level));
    EXPECT_THAT(said(daemon, "status"), ::testing::HasSubstr("sessions"));
}

}    // namespace rdmaqos::test
