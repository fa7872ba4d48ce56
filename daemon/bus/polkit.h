// Asks polkit, by the system bus, what a client may do.
//
// About a client of the system bus it is asked by the sender's name, about one of the direct socket by the process at
// its other end, as the kernel named it: with its start time and its user, so that neither a later process of the same
// pid nor a setuid program is taken for it.
//
// Thread: the main loop.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include "lib/base/result.h"
#include "lib/bus/connection.h"
#include "policy/model/identity.h"

namespace rdmaqos {

struct PolkitQuestion {
    const char* action;    // "org.rdmaqos1.reload"
    std::shared_ptr<const Identity> client;
    std::string sender;          // its name on the system bus; empty: it is on the direct socket
    bool interactive = false;    // polkit may ask the user for a password
};

class Polkit {
public:
    // Success, or AuthorizationRequired, InteractiveAuthorizationRequired (a password would do), LimitReached.
    using Answered = std::function<void(const Result<void>&)>;

    Polkit() = default;
    ~Polkit() { leave(); }
    Polkit(const Polkit&) = delete;
    Polkit& operator=(const Polkit&) = delete;

    void use(std::shared_ptr<bus::Connection> system_bus) { system_bus_ = std::move(system_bus); }
    // The system bus is gone: what waits is refused.
    void leave();

    // `answered` is called once, perhaps before this returns.
    void ask(const PolkitQuestion& question, Answered answered);
    // Nobody waits for the answers to its questions any longer: polkit need not ask for a password, and others of its
    // user may be asked about.
    void left(const Identity& client);

private:
    struct Asked {
        Polkit& polkit;
        const char* action;
        std::shared_ptr<const Identity> client;
        std::string id;    // by which it is cancelled
        Answered answered;
        bus::SlotPtr slot{};    // last: nothing is heard once it is gone
    };

    static int on_answer(sd_bus_message* reply, void* userdata, sd_bus_error* error) noexcept;
    void cancel(const Asked& asked) const;
    [[nodiscard]] Result<void> send(const PolkitQuestion& question, Asked& asked) const;
    // Removes it, then tells.
    void end(const Asked& asked, const Result<void>& verdict);

    std::shared_ptr<bus::Connection> system_bus_;    // null: it is not to be had now
    std::list<Asked> asked_;
    std::uint64_t last_id_ = 0;
};

}    // namespace rdmaqos
