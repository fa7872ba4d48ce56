// The processes behind the senders of the system bus, by the word of the bus: with their pidfds, taken by a helper
// process (process_helper.h).
//
//     main loop ── unique name ─────────▶ helper ── GetConnectionCredentials ──▶ bus
//               ◀── pidfd, uid, groups ──        ◀── ProcessFD and others ──────
//
// A bus that gives pidfds may be asked for credentials only by who takes descriptors: dbus-broker ends the connection
// of others.
//
// The helper is started when it is first needed, and ends when it has been idle for a while or something came to it
// unasked. Thread: the loop's.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "lib/base/file.h"
#include "lib/base/helper_process.h"
#include "lib/bus/event.h"
#include "lib/bus/peer.h"

namespace rdmaqos::bus {

struct SenderProcessOptions {
    // The helper's program and arguments; the number of its socket is added. Empty: nobody is asked.
    std::vector<std::string> command;
    std::chrono::milliseconds patience{5'000};
    std::chrono::milliseconds idle{30'000};
    std::size_t processes = 8;    // at once, with those that were replaced and have not ended
};

class SenderProcesses {
public:
    // With a pidfd; nothing: ask the bus on a connection that takes no descriptors, since it gives no pidfds, or is not
    // known to and the helper cannot be asked. An error: the bus gives pidfds, but the process is gone, or the helper
    // cannot be asked now.
    using Done = std::function<void(Result<std::optional<PeerProcess>>)>;

    SenderProcesses(EventLoop& loop, SenderProcessOptions options);
    ~SenderProcesses();
    SenderProcesses(const SenderProcesses&) = delete;
    SenderProcesses& operator=(const SenderProcesses&) = delete;

    // `done` is called now or later from the loop, in the order of the calls.
    void look_up(const std::string& unique_name, Done done);
    // The connection to the bus has ended, and the next may be another bus: nobody who waits is answered any more. Not
    // from within a `done`.
    void forget();

    [[nodiscard]] std::size_t running() const { return processes_.size(); }

private:
    struct Waiting {
        std::string name;
        Done done;
        int asked = 0;    // how many helpers
    };

    [[nodiscard]] Result<void> start();
    [[nodiscard]] Result<void> watch(const HelperProcess& started);
    // Asks for the first, and for the next where that is answered at once.
    void go_on();
    void ask_first();
    void ready();
    void answer_first(Result<std::optional<PeerProcess>> answer);
    // The helper has ended, or is to end.
    void leave_helper();
    void helper_failed(const std::string& why);

    EventLoop& loop_;
    SenderProcessOptions options_;
    std::optional<bool> bus_gives_;    // empty: not known
    std::deque<Waiting> queue_;
    bool asking_ = false;    // for the first
    pid_t pid_ = 0;
    UniqueFd socket_;
    std::unique_ptr<IoSource> io_;
    std::unique_ptr<Timer> timer_;    // of the answer, or of being idle
    struct Process {
        UniqueFd pidfd;
        std::unique_ptr<EventSource> end;
    };
    std::map<pid_t, Process> processes_;    // that were started and have not ended
};

}    // namespace rdmaqos::bus
