// Who the senders of a message bus are: asks the bus for credentials and for their processes, and tells when a sender
// has left it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "lib/bus/connection.h"
#include "lib/bus/peer.h"
#include "lib/bus/sender_processes.h"

namespace rdmaqos::bus {

class Senders {
public:
    using Found = std::function<void(Result<PeerProcess>)>;
    using Vanished = std::function<void(const std::string& unique_name)>;

    // Adds one match for all names: a bus that gives no pidfds tells the number of a sender's process, and only from
    // when it came can be asked whether that is still the process that came (PeerProcess::started_by). `vanished` is
    // called for every unique name that leaves the bus. `processes`, which must outlive this, is this connection's
    // alone.
    [[nodiscard]] static Result<std::unique_ptr<Senders>> create(Connection& connection, SenderProcesses& processes,
                                                                 Vanished vanished);
    ~Senders();
    Senders(const Senders&) = delete;
    Senders& operator=(const Senders&) = delete;

    // Since when a sender has been on the bus, at the latest: ticks since boot.
    [[nodiscard]] std::uint64_t on_bus_by(const std::string& unique_name) const;
    // A question to the helper of `processes`, and to the bus itself where that gives no pidfds. `found` is called from
    // the loop, or at once with an error.
    void look_up(const std::string& unique_name, Found found);

private:
    struct LookUp;
    Senders(Connection& connection, SenderProcesses& processes, Vanished vanished);

    void ask(LookUp& look_up);
    void take_credentials(LookUp& look_up, sd_bus_message* reply);
    void finish(LookUp& look_up, Result<PeerProcess> process);

    static int on_listening(sd_bus_message* reply, void* userdata, sd_bus_error* error) noexcept;
    static int on_owner_changed(sd_bus_message* message, void* userdata, sd_bus_error* error) noexcept;
    static int on_credentials(sd_bus_message* reply, void* userdata, sd_bus_error* error) noexcept;

    Connection& connection_;
    SenderProcesses& processes_;
    Vanished vanished_;
    SlotPtr match_;
    std::unordered_map<LookUp*, std::unique_ptr<LookUp>> running_;
    // When each name came, for those that came while we listened. The rest was there before.
    std::unordered_map<std::string, std::uint64_t> came_at_;
    std::uint64_t listening_since_ = 0;
};

}    // namespace rdmaqos::bus
