// The bytes that ports have moved with each priority, by the counters of their network interfaces, read at intervals.
//
// A reading costs an mlx5 device some tens of commands (as `ethtool -S` does), so they are seldom. It waits for the
// kernel's rtnl_lock, on a thread of its own; a port that has not answered is not asked again.
//
// Thread: the main loop.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/loop/loop_calls.h"
#include "daemon/model/port_traffic.h"
#include "lib/base/executor.h"
#include "lib/port_bytes/counters.h"
#include "lib/reconcile/worker.h"

namespace rdmaqos {

// Of a network interface; waits for the kernel. Empty: there are no counters.
using ReadInterface = std::function<std::vector<port_bytes::Counter>(const std::string& netdev)>;

class ByteReader {
public:
    static constexpr auto kInterval = std::chrono::seconds(30);

    // `loop` and `clock` must outlive it. `read` may be empty: no interface has counters.
    ByteReader(Executor& loop, const Clock& clock, std::function<WallTime()> wall_clock, ReadInterface read);

    void set(bool is_on);
    // Empty: it has no network interface.
    void follow(const std::string& key, const std::string& netdev);
    void forget(const std::string& key) { ports_.erase(key); }

    // Empty: it was not read yet, or does not count by priority.
    [[nodiscard]] std::optional<PortTrafficStatus> status(const std::string& key) const;

private:
    struct Port {
        std::string netdev;
        std::uint64_t number = 0;    // of the reading under way; 0: none
        std::optional<PortTrafficStatus> status;
        TimePoint read_at{};
    };

    void round();
    void read(const std::string& key, Port& port);
    void take(const std::string& key, std::uint64_t number, const Result<std::vector<port_bytes::Counter>>& counters);

    Executor& loop_;
    const Clock& clock_;
    const std::function<WallTime()> wall_clock_;
    const ReadInterface read_;
    bool is_on_ = false;
    std::map<std::string, Port> ports_;    // by key
    std::uint64_t last_number_ = 0;
    std::unique_ptr<Timer> next_round_;
    Worker worker_{"port-bytes", 64};
    LoopCalls calls_;    // goes first: what the thread says then is not heard
};

}    // namespace rdmaqos
