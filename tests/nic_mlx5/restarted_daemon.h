// rdma-qosd below a service manager of the test's own, which gives each daemon what the one before has left.
#pragma once

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/nic_mlx5/program.h"
#include "tests/support/ctl.h"
#include "tests/support/service_manager.h"

namespace rdmaqos::test {

class RestartedDaemon {
public:
    // `launcher`: what its command begins with.
    explicit RestartedDaemon(const std::string& policy, const std::string& settings = "",
                             std::vector<std::string> launcher = {})
        : launcher_(std::move(launcher))
    {
        set_policy(policy);
        if (!settings.empty()) {
            set_settings(settings);
        }
        start();
    }
    void set_settings(const std::string& settings) const { dir_.write("etc/rdma-qos/rdma-qosd.yaml", settings); }
    void set_policy(const std::string& policy) const { dir_.write("etc/rdma-qos/policy.yaml", policy); }
    void start()
    {
        const auto begun = std::chrono::steady_clock::now();
        begin();
        if (!eventually([this] { return manager.is_ready(); })) {
            throw std::runtime_error("rdma-qosd does not become ready: " + said());
        }
        ready_after = std::chrono::steady_clock::now() - begun;
    }
    // start() without waiting.
    void begin()
    {
        auto command = launcher_;
        command.insert(command.end(), {RDMAQOS_DAEMON, "--root", dir_.path().string(), "--host-devices"});
        process_ = manager.start(command, {}, log());
    }
    [[nodiscard]] bool has_ended() const { return process_ == nullptr || process_->has_ended(); }
    [[nodiscard]] pid_t pid() const { return process_->pid(); }
    void kill() { process_.reset(); }    // with SIGKILL
    void restart()
    {
        kill();
        start();
    }
    // As systemd does, without a job to restart it.
    std::optional<int> stop()
    {
        process_->signal(SIGTERM);
        return process_->wait();
    }
    [[nodiscard]] bus::Client direct() const
    {
        auto client = bus::Client::connect_direct(dir_.path() / "run/rdma-qos/bus");
        if (!client) {
            throw std::runtime_error(to_string(client.error()));
        }
        return std::move(*client);
    }
    [[nodiscard]] Result<std::vector<bus::Value>> reload() const
    {
        return direct().call(bus::names::kRoot, bus::names::kManager, "Reload", {});
    }
    [[nodiscard]] Outcome ctl(const std::string& words) const { return run_ctl(dir_.path(), words); }
    // All that it has logged, every process of it.
    [[nodiscard]] std::string said() const
    {
        std::ifstream file(log());
        return {std::istreambuf_iterator<char>(file), {}};
    }

    [[nodiscard]] std::filesystem::path root() const { return dir_.path(); }

    ServiceManager manager;
    std::chrono::steady_clock::duration ready_after{};

private:
    [[nodiscard]] std::filesystem::path log() const { return dir_.path() / "log"; }

    const std::vector<std::string> launcher_;
    TempDir dir_;
    std::unique_ptr<Child> process_;
};

// The ids and all else of the elements of a device, as text.
inline std::string tree_of(const nlohmann::json& device)
{
    return device.at("tree").dump();
}

// The elements that a policy makes on a device that had none, without what only the firmware knows.
inline std::vector<std::string> ways(const nlohmann::json& device)
{
    std::vector<std::string> all;
    for (const auto& element : device.at("tree")) {
        all.push_back(way_up(device, element.at("id").get<std::uint32_t>()));
    }
    std::sort(all.begin(), all.end());
    return all;
}

}    // namespace rdmaqos::test
