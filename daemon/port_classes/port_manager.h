// The traffic classes of the managed ports: read and reported (port_reader.h), and with `port-classes: manage` kept
// equal to what the policy asks (port_keeper.h, which decides all of it).
//
//     wish, reading ──▶ PortKeeper::next() ──▶ worker thread: the record onto the disk, the writes ──▶ status()
//                            ▲                                                                 │
//                            └─────────────────────────────────────────────────────────────────┘
//
// Thread: the main loop.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/model/port_status.h"
#include "daemon/port_classes/port_keeper.h"
#include "daemon/port_classes/port_reader.h"
#include "lib/base/clock.h"
#include "lib/base/loop_callback.h"
#include "lib/port_classes/record.h"
#include "policy/model/settings.h"

namespace rdmaqos {

// Of each port that has one, by what it is known by over restarts.
using PortRecords = std::map<std::string, port_classes::Record>;

// What a port is.
struct PortIdentity {
    std::string id;        // over restarts: "0x0010000000000001/1"
    std::string netdev;    // empty: none that could have traffic classes
    std::string reason;    // why it has no netdev: a sentence

    friend bool operator==(const PortIdentity&, const PortIdentity&) = default;
};

class PortManager {
public:
    // `save`: onto the disk before it returns; on the thread of the ports, one call at a time. `saved`: what became of
    // it. `loop` and `clock` must outlive this.
    PortManager(Executor& loop, const Clock& clock, PortClassesOptions options,
                std::function<Result<void>(const PortRecords&)> save, std::function<void(const Result<void>&)> saved,
                PortReader::ForKey changed);
    ~PortManager();
    PortManager(const PortManager&) = delete;
    PortManager& operator=(const PortManager&) = delete;

    // Of an earlier run. Before any port comes.
    void set_records(PortRecords records) { records_ = std::move(records); }
    // What the settings say now. Ports are read for as long as something of ours is on one of them.
    void set(PortClassesSetting setting, std::chrono::milliseconds interval);
    // A port came, or may have another network interface.
    void follow(const std::string& key, const PortIdentity& identity);
    // It went away: nothing is written. Its record stays.
    void forget(const std::string& key);

    // As PortKeeper; nothing of a port that is not followed.
    void take_wish(const std::string& key, std::optional<PortWish> wish);
    void hold(const std::string& key);
    void resume(const std::string& key);
    // Reads it, and does what is to be done then, if anything is asked of it: notices of changes may be lost.
    void look_again(const std::string& key);
    void was_reset(const std::string& key);

    // When nothing is to be done to it just now: everything is done, or cannot be, or it is not there (any longer).
    // Perhaps before this returns.
    void when_at_rest(const std::string& key, LoopCallback<void()> done);

    // Of a port that is not followed: Off.
    [[nodiscard]] PortStatus status(const std::string& key) const;
    [[nodiscard]] std::optional<PortPlan> plan_of(const std::string& key, const std::optional<PortWish>& wish) const;
    // Reads it, and compares it with what it should be; nothing is repaired by that. At once, with nothing, of a port
    // of which nothing is asked.
    void compare(const std::string& key, LoopCallback<void(Result<std::vector<port_classes::Difference>>)> done);

private:
    struct Port {
        PortIdentity identity;
        PortKeeper keeper;
        PortCare care;            // as it was said last
        bool is_unread = true;    // since what is wished changed
        std::optional<PortChange> last_change;
        std::unique_ptr<Timer> retry;
        std::vector<LoopCallback<void()>> waiting;    // when_at_rest
    };

    void was_read(const std::string& key);
    void act(const std::string& key);
    void do_job(const std::string& key, PortJob job);
    void save(const std::string& key, bool is_last);
    void rest(const std::string& key, Port& port);
    // Reads it, and does what there is to do.
    void look(const std::string& key, Port& port);
    void log_events(const std::string& key, Port& port);
    // Is there something of ours on any of them?
    [[nodiscard]] bool has_records() const;
    void set_reader();
    [[nodiscard]] bool is_at_rest(const std::string& key, const Port& port) const;

    Executor& loop_;
    const Clock& clock_;
    const std::function<WallTime()> wall_clock_;
    const std::function<Result<void>(const PortRecords&)> save_;
    const std::function<void(const Result<void>&)> saved_;
    const PortReader::ForKey changed_;
    PortClassesSetting setting_ = PortClassesSetting::Off;
    std::chrono::milliseconds interval_{};
    PortRecords records_;
    std::map<std::string, Port> ports_;    // by key
    PortReader reader_;
};

}    // namespace rdmaqos
