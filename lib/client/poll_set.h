// The descriptors by which a handle is waited for: an epoll that a program can poll, and what is in it.
//
// They have anonymous inodes, which tell nothing apart. The epoll is known by the random number that its entries carry,
// which the kernel shows in /proc, and the others by being in it.
//
// One thread at a time; fd() and stop_fd() may be called by any.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "lib/client/failure.h"
#include "lib/client/own_file.h"

namespace rdmaqos::client {

class PollSet {
public:
    PollSet() = default;
    ~PollSet() { give_up(true); }
    PollSet(const PollSet&) = delete;
    PollSet& operator=(const PollSet&) = delete;

    // Makes all of it, or again what is not ours any more.
    [[nodiscard]] Failure open(bool with_stop);
    // Looks after it: if the program has closed a part, all is made again, and what was watched has to be watched again
    // (true). Nothing may be done with the set before this was asked.
    [[nodiscard]] bool was_renewed();
    // In a forked child: closes its copies, as far as it is certain that they are.
    void close_copies() { give_up(false); }

    // Readable when there is something to do.
    [[nodiscard]] int fd() const { return epoll_.get(); }
    // Readable when the thread is to end.
    [[nodiscard]] int stop_fd() const { return stop_.get(); }

    void watch(int fd, std::uint32_t events, bool is_new) const;
    void unwatch(int fd) const;
    // None: never.
    void wake_at(const std::optional<std::chrono::steady_clock::time_point>& when) const;
    void wake() const;
    // What was told is known.
    void clear() const;
    void stop() const;

private:
    enum class Whose : std::uint8_t { Ours, Unknown, NotOurs };
    [[nodiscard]] Whose whose() const;
    [[nodiscard]] Whose whose_epoll() const;
    [[nodiscard]] bool add(int operation, const Descriptor& part, std::uint32_t events) const;
    // Closes what is ours, and forgets it all. `also_unknown`: without /proc, too, where the identity is all there is
    // to go by.
    void give_up(bool also_unknown);

    std::uint64_t mark_ = 0;    // of all entries
    bool with_stop_ = false;
    Descriptor epoll_;
    Descriptor timer_;    // timerfd
    Descriptor news_;     // eventfd
    Descriptor stop_;     // eventfd
};

}    // namespace rdmaqos::client
