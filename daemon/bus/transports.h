// Both transports of the daemon: the direct socket and the system bus (docs/dbus.md).
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "daemon/bus/endpoint.h"
#include "daemon/bus/signals.h"
#include "daemon/bus/system_endpoint.h"
#include "daemon/service/observer.h"
#include "lib/bus/sender_processes.h"
#include "lib/bus/server.h"

namespace rdmaqos {

struct TransportOptions {
    std::filesystem::path socket;    // of the direct socket
    bool system_bus = true;
    // The helpers of lib/bus: the program that is started with their words. Empty: descriptors are not taken from
    // clients, nor pidfds from the system bus.
    std::string helper{};
};

class BusTransports final : private bus::ServerHandler, private Listeners, private ServiceObserver {
public:
    // Both must outlive the transports.
    BusTransports(Service& service, bus::EventLoop& loop, TransportOptions options);
    ~BusTransports() override;
    BusTransports(const BusTransports&) = delete;
    BusTransports& operator=(const BusTransports&) = delete;

    // Opens the direct socket, then connects to the system bus; `ready` is called when the name is ours, or when it is
    // clear that there is no bus for now (it is tried again now and then). An error: the direct socket cannot be
    // opened.
    [[nodiscard]] Result<void> open(std::function<void()> ready);

private:
    class Direct;

    [[nodiscard]] Result<void> connected(std::uint64_t id, const bus::PeerProcess& process,
                                         const std::shared_ptr<bus::Connection>& connection) override;
    void closed(std::uint64_t id) override;
    [[nodiscard]] std::vector<BusEndpoint*> listeners() const override;
    [[nodiscard]] BusEndpoint* direct_endpoint(PeerId peer) const override;
    void policy_changed() override;

    [[nodiscard]] bus::ServerLimits server_limits() const;
    [[nodiscard]] Result<void> connect_system_bus();
    static int on_name_answer(sd_bus_message* reply, void* userdata, sd_bus_error* error) noexcept;
    void name_answered(const sd_bus_error* error);
    // Without a system bus: says so once, and tries again later.
    void without_system_bus(const std::string& why);
    void tell_ready();

    BusContext context_;
    TransportOptions options_;
    bus::SenderProcesses processes_;    // behind the senders of the system bus
    Signals signals_;
    std::function<void()> ready_;
    std::unordered_map<std::uint64_t, std::unique_ptr<Direct>> clients_;    // by connection
    std::unordered_map<std::uint64_t, Direct*> by_peer_;
    std::unique_ptr<SystemEndpoint> system_;
    bool name_owned_ = false;
    bool absence_logged_ = false;
    std::unique_ptr<Timer> retry_;
    std::unique_ptr<bus::Server> server_;
};

}    // namespace rdmaqos
