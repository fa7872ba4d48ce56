// An RDMA program of a test: a context of libibverbs, queue pairs, a session of rdma-qosd.
#pragma once

#include <algorithm>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "tests/support/daemon_fixture.h"
#include "tests/support/emulated.h"

namespace rdmaqos::test {

// Three classes that can be told apart by what the device knows of them.
constexpr const char* kThreeClasses = R"(version: 1
qos-levels:
  - {name: DEFAULT, sl: 0}
  - {name: rpc, schedule: {share: 60, max-rate: 40Gbps, fair-by: process}}
  - {name: bulk, schedule: {share: 20}}
  - {name: storage, schedule: {share: 7, max-rate: 25Gbps}}
)";
constexpr const char* kLevels[] = {"rpc", "bulk", "storage"};
constexpr const char* kPlaceOf[] = {"rate 0 share 1 < rate 40000 share 60 < root", "rate 0 share 20 < root",
                                    "rate 25000 share 7 < root"};

inline DaemonOptions on_emulator(const std::string& policy = kThreeClasses, const std::string& settings = "")
{
    DaemonOptions options;
    options.policy = policy;
    options.settings = settings;
    options.devices.clear();
    options.system_bus = false;
    options.host_devices = true;
    return options;
}

// The name of an attach's error; "absent".
inline std::string error_of(const bus::Dict& result)
{
    return text_of(result, "error");
}

// A property of mlx5_0 on D-Bus, as text.
// Of mlx5_0; empty: it is not there.
inline bus::Dict device_properties(const Daemon& daemon)
{
    auto client = daemon.direct();
    const auto objects = client.managed_objects();
    for (const auto& [path, interfaces] : *objects) {
        const auto device = interfaces.find(bus::names::kDevice);
        if (device != interfaces.end() && text_of(device->second, "Name") == "mlx5_0") {
            return device->second;
        }
    }
    return {};
}

inline std::string device_property(const Daemon& daemon, const char* name)
{
    const auto properties = device_properties(daemon);
    return properties.empty() ? "no device" : text_of(properties, name);
}

class Program {
public:
    explicit Program(const Daemon& daemon, const char* level = "bulk", const char* device = "mlx5_0")
        : Program(daemon.direct(), level, device)
    {
    }
    explicit Program(bus::Client client, const char* level = "bulk", const char* device = "mlx5_0")
        : client_(std::move(client)), level_(level), device_(device)
    {
        bus::Dict request;
        request.set("level", level);
        request.set("device", device_);
        auto registered = register_session(client_, request);
        if (!registered) {
            throw std::runtime_error(to_string(registered.error()));
        }
        session_ = registered->path;
        if (!open_world_of(&world_, device)) {
            close();
            throw std::runtime_error("no world");
        }
    }
    ~Program() { close(); }
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    ibv_qp* make(ibv_qp_type type, ibv_qp_state state = IBV_QPS_RTS)
    {
        ibv_qp* made = qp_in_state(&world_, type, state);
        if (made == nullptr) {
            throw std::runtime_error("no queue pair");
        }
        queue_pairs_.push_back(made);
        return made;
    }
    // Somebody else destroyed it.
    void forget(ibv_qp* queue_pair) { std::erase(queue_pairs_, queue_pair); }
    void destroy(ibv_qp* queue_pair)
    {
        forget(queue_pair);
        ASSERT_EQ(ibv_destroy_qp(queue_pair), 0);
    }
    bus::Dict attach(const bus::Dict& request)
    {
        auto results = test::attach(client_, session_, {request});
        if (!results) {
            throw std::runtime_error(to_string(results.error()));
        }
        return results->at(0);
    }
    bus::Dict attach(ibv_qp* queue_pair) { return attach(request_for(world_, queue_pair, device_)); }
    // Makes and attaches, again if the device has too much to do just now; throws if that is refused.
    std::uint32_t join(ibv_qp_type type, ibv_qp_state state = IBV_QPS_RTS)
    {
        ibv_qp* made = make(type, state);
        bus::Dict result = attach(made);
        for (int tries = 0; tries < 24'000 && text_of(result, "error") == "org.rdmaqos1.Error.Busy"; ++tries) {
            usleep(50'000);
            result = attach(made);
        }
        if (text_of(result, "error") != "absent") {
            throw std::runtime_error(text_of(result, "reason"));
        }
        return made->qp_num;
    }
    Result<void> detach(std::uint32_t number)
    {
        auto reply = client_.call(session_, bus::names::kSession, "Detach", {bus::Value(device_), bus::Value(number)});
        return reply ? Result<void>() : fail(reply.error());
    }
    Result<void> set_rate(std::uint32_t number, const bus::Dict& rate)
    {
        auto reply = client_.call(session_, bus::names::kSession, "SetRate",
                                  {bus::Value(device_), bus::Value(number), bus::Value(rate)});
        return reply ? Result<void>() : fail(reply.error());
    }

    // With another daemon, its only queue pair; the result of the attach.
    bus::Dict register_again(bus::Client client)
    {
        client_ = std::move(client);
        bus::Dict request;
        request.set("level", level_);
        request.set("device", device_);
        auto registered = register_session(client_, request);
        if (!registered) {
            throw std::runtime_error(to_string(registered.error()));
        }
        session_ = registered->path;
        return attach(queue_pairs_.at(0));
    }

    // Of its session, as D-Bus has it: "detached".
    [[nodiscard]] std::string state()
    {
        const auto properties = client_.properties(session_, bus::names::kSession);
        return properties ? text_of(*properties, "State") : "no session";
    }

    [[nodiscard]] world& here() { return world_; }
    [[nodiscard]] bus::Client& client() { return client_; }
    [[nodiscard]] const std::string& session() const { return session_; }

private:
    // As far as it is there; of a device that is gone some of it fails.
    void close()
    {
        for (auto* queue_pair : queue_pairs_) {
            ibv_destroy_qp(queue_pair);
        }
        if (world_.cq != nullptr) {
            ibv_destroy_cq(world_.cq);
        }
        if (world_.pd != nullptr) {
            ibv_dealloc_pd(world_.pd);
        }
        if (world_.context != nullptr) {
            ibv_close_device(world_.context);
        }
    }

    bus::Client client_;
    const std::string level_;
    const std::string device_;
    world world_{};
    std::string session_;
    std::vector<ibv_qp*> queue_pairs_;
};

// Processes, each a forked copy of the test that makes programs, says numbers, and waits to be killed.
class Processes {
public:
    using Say = std::function<void(std::uint32_t)>;

    Processes()
    {
        if (pipe2(ends_, O_CLOEXEC) != 0) {
            throw std::runtime_error("pipe");
        }
    }
    ~Processes() { close(ends_[0]); }
    Processes(const Processes&) = delete;
    Processes& operator=(const Processes&) = delete;

    Child& start(const std::function<void(const Say&)>& body)
    {
        children_.push_back(std::make_unique<Child>([&] {
            try {
                body([this](std::uint32_t number) {
                    if (write(ends_[1], &number, sizeof(number)) != sizeof(number)) {
                        _exit(1);
                    }
                });
            } catch (const std::exception& error) {
                fprintf(stderr, "a program failed: %s\n", error.what());
                _exit(1);
            }
            while (true) {
                pause();
            }
        }));
        return *children_.back();
    }
    // What was said, this many numbers; fewer if all have ended, or nobody says anything for long.
    std::vector<std::uint32_t> hear(std::size_t count)
    {
        if (ends_[1] >= 0) {
            close(ends_[1]);
            ends_[1] = -1;
        }
        std::vector<std::uint32_t> numbers(count);
        std::size_t got = 0;
        pollfd ready{ends_[0], POLLIN, 0};
        while (got < count && poll(&ready, 1, kHungMs) == 1 &&
               read(ends_[0], &numbers[got], sizeof(numbers[got])) == sizeof(numbers[got])) {
            ++got;
        }
        numbers.resize(got);
        return numbers;
    }
    void kill_all() { children_.clear(); }

private:
    int ends_[2] = {-1, -1};
    std::vector<std::unique_ptr<Child>> children_;
};

// The calls that the emulator sees from now on, in the order they end; on a kernel that is not played, the firmware's
// commands.
class Trace {
public:
    Trace() : child_({RDMAQOS_EMULATOR, "trace", "--json"}, {}, dir_.path() / "trace")
    {
        if (!eventually([this] {
                mark();
                return !lines().empty();
            })) {
            throw std::runtime_error("no trace");
        }
        start_ = settled();
    }

    // All since the construction or the last clear().
    std::vector<nlohmann::json> calls()
    {
        const std::size_t end = settled();
        auto all = lines();
        all.erase(all.begin() + static_cast<std::ptrdiff_t>(end), all.end());
        all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(start_));
        std::erase_if(all, [](const nlohmann::json& call) { return call.at("method") == "mark"; });
        return all;
    }
    // Those that change elements of mlx5_0, or the place or rate of its queue pairs.
    std::vector<nlohmann::json> writes()
    {
        auto all = calls();
        std::erase_if(all, [](const nlohmann::json& call) {
            const std::string command = command_of(call);
            const auto& fields = call.at("fields");
            return call.at("device") != "mlx5_0" || command.starts_with("query-") ||
                   !(command.ends_with("-general-object") || fields.contains("requester") ||
                     fields.contains("rate-kbps"));
        });
        return all;
    }
    void clear() { start_ = settled(); }

    // "modify-general-object": the command of a DEVX call; else the name of the call.
    [[nodiscard]] static std::string command_of(const nlohmann::json& call)
    {
        const auto command = call.at("fields").find("command");
        return command != call.at("fields").end() && command->is_string() ? command->get<std::string>()
                                                                          : call.at("method").get<std::string>();
    }

private:
    // Its text.
    std::string mark()
    {
        std::string text = std::to_string(++marks_);
        emulator("mark " + text);
        return text;
    }
    // How many lines there are up to now.
    std::size_t settled()
    {
        const std::string text = mark();
        std::size_t count = 0;
        const auto is_here = [&] {
            const auto all = lines();
            count = all.size();
            return std::ranges::any_of(all, [&](const nlohmann::json& call) {
                return call.at("method") == "mark" && call.at("fields").at("text") == text;
            });
        };
        if (!eventually(is_here)) {
            throw std::runtime_error("the trace has stopped");
        }
        return count;
    }
    [[nodiscard]] std::vector<nlohmann::json> lines() const
    {
        std::ifstream file(dir_.path() / "trace");
        std::vector<nlohmann::json> all;
        for (std::string line; std::getline(file, line);) {
            auto json = nlohmann::json::parse(line, nullptr, false);
            if (!json.is_discarded() && json.contains("method")) {
                all.push_back(std::move(json));
            }
        }
        return all;
    }

    TempDir dir_;
    Child child_;
    int marks_ = 0;
    std::size_t start_ = 0;
};

}    // namespace rdmaqos::test
