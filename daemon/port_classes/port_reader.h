// The traffic classes of the managed ports, as the kernel says: read when a port comes, when the kernel notifies of a
// change, and every `drift-interval`; and written when it is told what (port_manager.h).
//
//     notice, port, interval ──▶ due ── settle ──▶ worker thread: PortKernel::read ──▶ status(), `changed`
//                                 ▲                                                        │
//                                 └─────────────── what came meanwhile ────────────────────┘
//
// Of a port, one reading or writing is under way at most, and one more reading is due, however many notices come. All
// of them share a thread, since the kernel answers them one by one (rtnl_lock). A port that is not answered for some
// seconds says so until it is.
//
// Thread: the main loop.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/loop/loop_calls.h"
#include "daemon/model/port_status.h"
#include "daemon/port_classes/port_kernel.h"
#include "lib/base/executor.h"
#include "lib/reconcile/worker.h"
#include "policy/model/settings.h"

namespace rdmaqos {

struct PortClassesOptions {
    std::shared_ptr<PortKernel> kernel{};    // null: no port has traffic classes
    WatchPorts watch{};                      // empty: there are no notices
    std::function<WallTime()> wall_clock = std::chrono::system_clock::now;
};

class PortReader {
public:
    // Several notices that come at a time lead to one reading.
    static constexpr auto kSettle = std::chrono::milliseconds(100);
    // A port that is not answered for so long says so.
    static constexpr auto kPatience = std::chrono::seconds(5);

    // A write can take the link down, and read the port after each of its steps.
    static constexpr auto kPatienceWithWrites = std::chrono::seconds(60);

    using ForKey = std::function<void(const std::string& key)>;
    // `changed` gets the key of a port whose status is another one; `was_read` that of each that was read or written,
    // or could not be. `loop` must outlive this.
    PortReader(Executor& loop, PortClassesOptions options, ForKey changed, ForKey was_read = {});
    ~PortReader();
    PortReader(const PortReader&) = delete;
    PortReader& operator=(const PortReader&) = delete;

    // What the settings say now.
    void set(PortClassesSetting setting, std::chrono::milliseconds interval);
    // A port came, or may have another network interface. `netdev`: empty: none that could have traffic classes, for
    // this reason, a sentence.
    void follow(const std::string& key, const std::string& netdev, const std::string& reason);
    void forget(const std::string& key);
    // A port that is followed is read now, or once more if it is being read.
    void read_now(const std::string& key);
    // Is the kernel, or work(), being waited for, or is a reading due?
    [[nodiscard]] bool is_busy(const std::string& key) const;

    // Of a port that is followed: reads it for somebody who looks, without taking notice of what it says.
    void look_aside(const std::string& key, LoopCallback<void(const Result<PortAnswer>&)> done);
    // Of a port that is followed and not busy. `done` is not called if it is forgotten, or has another interface,
    // before that; `was_read` is not called for it.
    void write(const std::string& key, std::vector<dcb::Write> writes,
               LoopCallback<void(const Result<dcb::WriteReport>&)> done);
    // On the same thread, and before what comes after: a file, say.
    void work(const std::string& key, std::function<Result<void>()> work, LoopCallback<void(const Result<void>&)> done);

    // Of a port that is not followed: Off.
    [[nodiscard]] PortStatus status(const std::string& key) const;

private:
    struct Port {
        std::string netdev;
        std::string reason;    // why it has no netdev
        PortStatus status;
        std::uint64_t number = 0;           // of the reading or writing under way; 0: none
        bool due_again = false;             // something happened while the kernel was asked
        std::unique_ptr<Timer> settling;    // it is read when this ends
        std::unique_ptr<Timer> patience;    // it is said to be silent when this ends
    };

    void begin(const std::string& key, Port& port);
    void take(const PortNotice& notice);
    void read_soon(const std::string& key, Port& port, Duration delay);
    void read(const std::string& key);
    // Of one that has answered by its number: the port, which is free again; null: nobody waits for it.
    Port* finished(const std::string& key, std::uint64_t number);
    void occupy(const std::string& key, Port& port, std::chrono::seconds patience);
    void take_written(const std::string& key, Port& port, const Result<dcb::WriteReport>& report);
    void take_answer(const std::string& key, std::uint64_t number, const Result<PortAnswer>& answer);
    void set_status(const std::string& key, Port& port, PortStatus status);
    void arm_round();

    Executor& loop_;
    const PortClassesOptions options_;
    const ForKey changed_;
    const ForKey was_read_;
    PortClassesSetting setting_ = PortClassesSetting::Off;
    std::chrono::milliseconds interval_{};
    std::map<std::string, Port> ports_;    // by key
    std::uint64_t last_number_ = 0;
    std::shared_ptr<void> watch_;
    std::unique_ptr<Timer> next_round_;
    Worker worker_{"port-classes", 4};
    LoopCalls calls_;    // goes first: what the thread says then is not heard
};

}    // namespace rdmaqos
