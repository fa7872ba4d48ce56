// The descriptors by which a handle is waited for: an epoll that a program can poll, and what is in it.
//
// Most of them have anonymous inodes, which tell nothing apart. So there is a socket, too, which has an identity: a
// number is that of our epoll if this very socket is in it, and the others are ours if they are in the epoll. To ask
// that changes nothing in an epoll of the program's.
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
    ~PollSet() { give_up(); }
    PollSet(const PollSet&) = delete;
    PollSet& operator=(const PollSet&) = delete;

    [[nodiscard]] Failure open(bool with_stop);
    // Looks after it: if the program has closed a part, all is made again, and what was watched has to be watched again
    // (true). Nothing may be done with the set before this was asked.
    [[nodiscard]] bool was_renewed();
    // Closes what is ours, and forgets it all; in a forked child, its copies.
    void give_up();

    // Readable when there is something to do.
    [[nodiscard]] int fd() const { return epoll_.get(); }
    // Readable when the thread is to end.
    [[nodiscard]] int stop_fd() const { return stop_.get(); }

    void watch(int fd, std::uint32_t events, bool is_new) const;
    void unwatch(int fd) const;
    // None: never.
    void wake_at(const std::optional<std::chrono::steady_clock::time_point>& when) const;
    void wake() const;
    // What was reported is known.
    void clear() const;
    void stop() const;

private:
    [[nodiscard]] bool is_ours() const;
    [[nodiscard]] bool has_mark() const;
    [[nodiscard]] bool is_in(const Descriptor& part) const;
    [[nodiscard]] bool control(int operation, const Descriptor& part) const;

    bool with_stop_ = false;
    Descriptor epoll_;
    Descriptor mark_;     // a socket that is nobody's
    Descriptor timer_;    // timerfd
    Descriptor news_;     // eventfd
    Descriptor stop_;     // eventfd
};

}    // namespace rdmaqos::client
