// The system bus as an endpoint: who its senders are is asked once and remembered until they leave.
#pragma once

#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <unordered_map>

#include "daemon/bus/endpoint.h"
#include "lib/bus/senders.h"

namespace rdmaqos {

// The rest of an identity, and the word of the kernel that it is this process's and no later one's.
[[nodiscard]] Result<std::shared_ptr<const Identity>> identify(const bus::PeerProcess& process);

class SystemEndpoint final : public BusEndpoint {
public:
    // `processes` must outlive the endpoint.
    [[nodiscard]] static Result<std::unique_ptr<SystemEndpoint>>
    create(BusContext& shared, bus::SenderProcesses& processes, std::shared_ptr<bus::Connection> connected);
    // Every client of it is gone with the connection.
    ~SystemEndpoint() override;

    [[nodiscard]] const Peer* known(sd_bus_message* message) override;
    void find_out(sd_bus_message* message, Known done) override;
    [[nodiscard]] bool is_system_bus() const override { return true; }
    [[nodiscard]] Result<void> admit(sd_bus_message* message) override;

private:
    struct Sender {
        std::optional<Peer> peer;         // empty: being asked for
        std::deque<Known> waiting;        // calls in the order they came
        std::size_t unknown_calls = 0;    // served before it was known who calls
        bus::PeerProcess process;
        std::unique_ptr<bus::EventSource> exit;
        std::unique_ptr<CountedConnection> counted;    // once it is known
    };

    SystemEndpoint(BusContext& shared, std::shared_ptr<bus::Connection> connected)
        : BusEndpoint(shared, std::move(connected))
    {
    }
    void found(const std::string& name, Result<bus::PeerProcess> process);
    void gone(const std::string& name);

    std::unique_ptr<bus::Senders> senders_;
    std::unordered_map<std::string, Sender> known_;
};

}    // namespace rdmaqos
