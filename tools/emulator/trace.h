// Who watches the calls, and what they are shown.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/file.h"
#include "tools/emulator/call.h"

namespace rdmaqos::emulator {

// A call; or, as method "last-close", the end of a file, whose caller is its opener.
struct CallRecord {
    std::string device;    // "": of none, a mark
    std::uint64_t file = 0;
    Caller caller;    // thread 0: not known
    std::string method;
    Notes notes;
    int error = 0;
    // When it ended, by the calendar and by CLOCK_MONOTONIC, and how long it took.
    std::chrono::system_clock::time_point time{};
    std::chrono::steady_clock::time_point monotonic{};
    double microseconds = 0;

    // Sets all three.
    void ends(std::chrono::steady_clock::time_point started);
};

// "2026-05-04T10:20:30.123456Z mlx5_0 file 3 pid 4711/4712 devx-object.modify command=rts2rts-qp qpn=257 requester=3 ->
// EREMOTEIO, 41 us"
[[nodiscard]] std::string to_text(const CallRecord& record);
[[nodiscard]] std::string to_json(const CallRecord& record);    // one line

class Trace {
public:
    [[nodiscard]] bool is_watched() const { return watchers_ > 0; }
    // A watcher that does not read loses lines, and is gone when its descriptor is closed.
    void watch(UniqueFd fd, bool json);
    void show(const CallRecord& record);

private:
    struct Watcher {
        UniqueFd fd;
        bool json = false;
    };
    std::mutex mutex_;
    std::atomic<int> watchers_{0};
    std::vector<Watcher> list_;
};

}    // namespace rdmaqos::emulator
