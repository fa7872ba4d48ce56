// Who the senders of a message bus are: asks the bus for credentials and tells when a sender has left it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "lib/bus/connection.h"
#include "lib/bus/peer.h"

namespace rdmaqos::bus {

class Senders {
public:
    using Found = std::function<void(Result<PeerProcess>)>;
    using Vanished = std::function<void(const std::string& unique_name)>;

    // Adds one match for all names. `vanished` is called for every unique name that leaves the bus.
    [[nodiscard]] static Result<std::unique_ptr<Senders>> create(Connection& connection, Vanished vanished);
    ~Senders();
    Senders(const Senders&) = delete;
    Senders& operator=(const Senders&) = delete;

    // One call to the bus; `found` is called later, from the loop, in the order of the look-ups.
    void look_up(const std::string& unique_name, Found found);

private:
    struct LookUp;
    Senders(Connection& connection, Vanished vanished);

    static int on_owner_changed(sd_bus_message* message, void* userdata, sd_bus_error* error) noexcept;
    static int on_credentials(sd_bus_message* reply, void* userdata, sd_bus_error* error) noexcept;

    Connection& connection_;
    Vanished vanished_;
    SlotPtr match_;
    std::unordered_map<LookUp*, std::unique_ptr<LookUp>> running_;
};

// What GetConnectionCredentials answered.
[[nodiscard]] Result<PeerProcess> read_credentials(sd_bus_message* reply);

}    // namespace rdmaqos::bus
