// A page that a program writes to when it has posted work or waits for an event: memory that both map.
//
// Nobody says that it was written to, so somebody has to look. While nothing happens the page is guarded instead: the
// program's first store waits in the kernel until the page is released, and `watcher()` is readable meanwhile
// (userfaultfd(2), which the preload library makes for its mapping; without one a page cannot be guarded, as on arm64
// before Linux 6.10).
//
// Not thread-safe, but for fd().
#pragma once

#include <cstdint>

#include "lib/base/file.h"

namespace rdmaqos::emulator {

class DoorbellPage {
public:
    // Throws std::system_error.
    DoorbellPage();
    ~DoorbellPage();
    DoorbellPage(const DoorbellPage&) = delete;
    DoorbellPage& operator=(const DoorbellPage&) = delete;

    [[nodiscard]] int fd() const { return fd_.get(); }
    // The program has mapped it there.
    void watch(UniqueFd userfault, std::uint64_t address);

    struct Rung {
        bool send = false;    // there is work in a send queue
        bool arm = false;     // a completion queue is to tell of the next completion
    };
    // What was written to since it was looked at last.
    [[nodiscard]] Rung take();
    [[nodiscard]] bool is_rung() const;
    // False: it cannot be, so it must be looked at.
    bool guard();
    void release();
    [[nodiscard]] bool is_guarded() const { return guarded_; }
    // Of a guarded page: readable when somebody stores into it. Negative: it cannot be guarded.
    [[nodiscard]] int watcher() const { return userfault_.get(); }

private:
    bool protect(bool on);

    UniqueFd fd_;
    std::uint8_t* memory_ = nullptr;
    UniqueFd userfault_;
    std::uint64_t address_ = 0;    // in the program
    bool guarded_ = false;
};

}    // namespace rdmaqos::emulator
