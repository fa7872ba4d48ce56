// Stops processes at the system calls of watched_calls.h, and decides what becomes of each.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <sys/types.h>

#include "lib/base/file.h"
#include "tests/faults/watched_calls.h"
#include "tests/support/temp_dir.h"

namespace rdmaqos::test {

// A call that is about to be made.
struct StoppedCall {
    const WatchedCall* call = nullptr;
    pid_t process = 0;                        // that was started with the launcher
    bool by_main_thread = false;              // of that process
    bool by_helper = false;                   // a process that it has started
    bool changes = false;                     // as `call`; of files that are opened, only to be written
    bool lengthens = false;                   // a write behind the end of a file
    std::vector<std::uint8_t> beginning{};    // of what sendto sends: 16 bytes at most
    std::string file;    // what the kernel calls it: "/etc/passwd", "socket:[4711]", "/memfd:record (deleted)"; or none

    [[nodiscard]] std::string text() const;
};

struct Verdict {
    int error = 0;                         // the call fails; 0: it is made
    std::chrono::milliseconds after{0};    // until then its thread waits, and no other
};

class CallWatch {
public:
    // On the thread of the watch; of calls by what was started with the launcher, and while that is there.
    using Judge = std::function<Verdict(const StoppedCall&)>;

    CallWatch();
    ~CallWatch();
    CallWatch(const CallWatch&) = delete;
    CallWatch& operator=(const CallWatch&) = delete;

    // What a command begins with, so that it is watched.
    [[nodiscard]] std::vector<std::string> launcher() const;
    // Null: every call is made.
    void set_judge(Judge judge);

private:
    struct Held {
        int listener = -1;
        std::uint64_t id = 0;
        int error = 0;
        std::chrono::steady_clock::time_point until;
    };

    void serve();
    void take_listener();
    void take_call(int listener);
    void answer(const Held& call) const;
    [[nodiscard]] int answer_held();

    TempDir dir_;
    UniqueFd socket_;
    UniqueFd end_;
    std::mutex mutex_;
    Judge judge_;
    std::vector<UniqueFd> listeners_;
    std::vector<Held> held_;
    std::thread thread_;
};

}    // namespace rdmaqos::test
