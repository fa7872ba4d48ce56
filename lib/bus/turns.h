// Whose turn it is. Each user has a poll of its own, which the loop sees as one descriptor however many of its
// connections are ready, and a queue of work. A turn is about half a millisecond of both, and is charged to the user.
// Who has had more than its part of the loop's time (shares.h) has its turn when nothing else waits, and before those
// who have had more.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>

#include "lib/bus/event.h"
#include "lib/bus/shares.h"

namespace rdmaqos::bus {

class Turns {
public:
    // The loop must outlive the turns, and these every source.
    explicit Turns(EventLoop& loop);
    ~Turns();
    Turns(const Turns&) = delete;
    Turns& operator=(const Turns&) = delete;

    // Listens to a descriptor (which must outlive the source) on this user's account; `function` gets the epoll events
    // that are there.
    [[nodiscard]] Result<std::unique_ptr<IoSource>> on_io(Account account, int fd, std::uint32_t events,
                                                          std::function<void(std::uint32_t)> function);
    // Runs `work` on the loop soon, in the order queued for this user.
    void queue(Account account, std::function<void()> work);
    // To be called between parts of work that does not end: who waits until nothing else is to be done has a turn all
    // the same, now and then.
    void give_way();

    [[nodiscard]] Shares& shares() { return shares_; }

private:
    class Source;
    struct User;

    [[nodiscard]] Result<std::shared_ptr<User>> user(Account account);
    void ready(const std::shared_ptr<User>& user);
    void schedule(const std::shared_ptr<User>& user);
    void take_turn(const std::shared_ptr<User>& user);
    void wait_for_the_last();
    void serve_the_last();
    void forget_idle(const User& user);

    EventLoop& loop_;
    Shares shares_;
    std::unordered_map<Account, std::shared_ptr<User>> users_;
    std::map<Account, std::shared_ptr<User>> last_;    // who wait until nothing else is to be done
    bool posted_ = false;                              // a look at them, for when nothing else is to be done
    TimePoint last_served_{};                          // one of these, or there was none
    std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}    // namespace rdmaqos::bus
