// The direct transport: a unix socket that speaks D-Bus without a bus daemon. Accepts, limits and drops connections;
// what is served on them is its handler's business.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <unordered_map>

#include "lib/base/clock.h"
#include "lib/bus/client_connection.h"
#include "lib/bus/descriptor_budget.h"
#include "lib/bus/descriptors.h"
#include "lib/bus/peer.h"
#include "lib/bus/shares.h"

namespace rdmaqos::bus {

struct ServerLimits {
    std::uint32_t connections_per_uid = 2048;
    std::chrono::milliseconds authentication_time{10'000};    // who has not said who they are by then is dropped
    ClientLimits client;
};

struct ServerOptions {
    std::filesystem::path path;
    ServerLimits limits;
    DescriptorOptions descriptors;
    // Closes what may wait in closing; returns at once.
    std::function<void(Account account, UniqueFd fd)> close;
};

class ServerHandler {
public:
    virtual ~ServerHandler() = default;
    // Before anything is read: the place to install objects. An error refuses the connection.
    [[nodiscard]] virtual Result<void> connected(std::uint64_t id, const PeerProcess& process,
                                                 const std::shared_ptr<Connection>& connection) = 0;
    // Called for every connection that was accepted by connected(), when it has ended or its process has.
    virtual void closed(std::uint64_t id) = 0;
};

class Server {
public:
    // Listens at the options' path, mode 0666, making its folder where it is missing and replacing what a daemon that
    // died left behind. Errors: Busy when somebody listens there. Loop, turns and handler must outlive the server.
    [[nodiscard]] static Result<std::unique_ptr<Server>> listen(EventLoop& loop, Turns& turns, ServerOptions options,
                                                                ServerHandler& handler);
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    void set_limits(ServerLimits limits) { limits_ = limits; }
    [[nodiscard]] std::size_t connections() const { return connections_.size(); }

private:
    struct Client {
        std::shared_ptr<ClientConnection> connection;
        DescriptorBudget::Held held;
        UniqueFd process;
        std::unique_ptr<EventSource> exit;    // a connection outlives its process when a child has inherited it
    };
    struct Coming {
        UniqueFd socket;
        Account account;
        DescriptorBudget::Held held;
    };
    struct Waiting {
        TimePoint until;
        std::uint64_t id;
    };

    Server(EventLoop& loop, Turns& turns, ServerOptions options, UniqueFd socket, ServerHandler& handler);

    [[nodiscard]] Result<void> start();
    void accept_all();
    // As little as possible: whose it is, and whether there is room. The rest is done when it is that user's turn.
    void take(UniqueFd socket);
    [[nodiscard]] Result<void> set_up(std::uint64_t id, Coming coming);
    // For one more connection of this user, if that leaves room for the others.
    [[nodiscard]] Result<DescriptorBudget::Held> make_room(Account account);
    void refuse(Account account, const Error& why);
    void release(Account account);
    // Ends a connection, and tells the handler.
    void close(std::uint64_t id);
    void forget(std::uint64_t id);
    void drop_unauthenticated();
    void give_back_memory(TimePoint now);
    // Now and then: drops who began a message and does not end it.
    void tend();

    EventLoop& loop_;
    std::filesystem::path path_;
    UniqueFd socket_;
    ServerLimits limits_;
    ServerHandler& handler_;
    std::uint64_t inode_ = 0;    // of our socket file: another daemon's is not removed
    std::uint64_t next_id_ = 1;
    DescriptorHelpers helpers_;
    ClientSurroundings around_;
    std::unordered_map<std::uint64_t, Client> connections_;
    std::unordered_map<std::uint64_t, Coming> coming_;    // accepted, and not set up yet
    std::deque<Waiting> unauthenticated_;
    std::unique_ptr<IoSource> io_;
    std::unique_ptr<Timer> authentication_timer_;
    std::unique_ptr<Timer> pause_timer_;
    std::unique_ptr<Timer> tend_timer_;
    std::optional<TimePoint> kept_since_;    // there is memory to give back
    TimePoint tended_{};
    Duration worked_{};    // until then
    std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

// Raises the number of descriptors to what the kernel allows this process; returns it.
std::size_t raise_descriptor_limit();

}    // namespace rdmaqos::bus
