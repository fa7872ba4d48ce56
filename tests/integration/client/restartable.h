// The real rdma-qosd below a root that outlives it, so that it can be killed and started again under its clients.
#pragma once

#include <chrono>
#include <csignal>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "lib/bus/client.h"
#include "lib/bus/names.h"
#include "tests/support/process.h"
#include "tests/support/temp_dir.h"

namespace rdmaqos::test {

class RestartableDaemon {
public:
    // Simulated `devices`; empty: those of the emulator that the test runs below.
    RestartableDaemon(const std::string& policy, const std::string& devices) : is_simulated_(!devices.empty())
    {
        set_policy(policy);
        dir_.write("devices.yaml", devices);
        start();
    }

    void set_policy(const std::string& policy) const { dir_.write("etc/rdma-qos/policy.yaml", policy); }
    // Returns when it is ready; throws if that does not come.
    void start()
    {
        std::vector<std::string> command{RDMAQOS_DAEMON, "--root", dir_.path().string()};
        if (is_simulated_) {
            command.insert(command.end(), {"--simulate", (dir_.path() / "devices.yaml").string()});
        } else {
            command.emplace_back("--host-devices");
        }
        std::vector<std::string> environment;
        if (bus_) {
            environment.push_back("DBUS_SYSTEM_BUS_ADDRESS=" + bus_->address());
            command.emplace_back("--system-bus");
        }
        const auto log = dir_.path() / ("log." + std::to_string(++starts_));
        process_ = std::make_unique<Child>(command, environment, log);
        const auto says_ready = [&] {
            std::ifstream file(log);
            std::ostringstream text;
            text << file.rdbuf();
            return text.str().find("ready: ") != std::string::npos;
        };
        if (!eventually(says_ready)) {
            throw std::runtime_error("rdma-qosd does not become ready");
        }
    }
    [[nodiscard]] std::filesystem::path root() const { return dir_.path(); }
    // With SIGKILL, as a crash.
    void kill() { process_.reset(); }
    // From the next start on.
    void use_system_bus() { bus_ = std::make_unique<PrivateBus>(dir_.path()); }
    [[nodiscard]] const std::string& bus_address() const { return bus_->address(); }
    [[nodiscard]] std::filesystem::path socket() const { return dir_.path() / "run/rdma-qos/bus"; }
    [[nodiscard]] bus::Client direct() const
    {
        auto client = bus::Client::connect_direct(socket());
        if (!client) {
            throw std::runtime_error(to_string(client.error()));
        }
        return std::move(*client);
    }

private:
    TempDir dir_;
    const bool is_simulated_;
    int starts_ = 0;
    std::unique_ptr<PrivateBus> bus_;
    std::unique_ptr<Child> process_;
};

// All queue pairs that a daemon has attached, as its sessions list them: "level number", each as often as it is there.
inline std::multiset<std::string> attached_queue_pairs(const RestartableDaemon& daemon)
{
    auto client = daemon.direct();
    const auto objects = client.managed_objects();
    if (!objects) {
        throw std::runtime_error(to_string(objects.error()));
    }
    std::vector<std::string> sessions;
    for (const auto& [path, interfaces] : *objects) {
        if (interfaces.contains(bus::names::kSession)) {
            sessions.push_back(path);
        }
    }
    std::multiset<std::string> all;
    for (const auto& reply : client.call_each(sessions, bus::names::kSession, "ListQueuePairs")) {
        const auto* dicts = reply && reply->size() == 1 ? reply->front().as<std::vector<bus::Dict>>() : nullptr;
        for (const auto& dict : dicts == nullptr ? std::vector<bus::Dict>() : *dicts) {
            const auto* level = dict.find("level");
            const auto* number = dict.find("number");
            const auto* text = level == nullptr ? nullptr : level->as<std::string>();
            all.insert((text == nullptr ? "none" : *text) + " " + std::to_string(number->as_unsigned().value_or(0)));
        }
    }
    return all;
}

}    // namespace rdmaqos::test
