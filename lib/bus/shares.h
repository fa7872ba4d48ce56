// What each user takes of the direct socket: connections, descriptors, bytes, and the loop's time. Users are
// distinguished by their account; what one of them takes beyond its part is taken from itself, not from the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "lib/base/account.h"
#include "lib/base/clock.h"
#include "lib/bus/descriptor_budget.h"

namespace rdmaqos::bus {

class Shares {
public:
    struct User {
        std::uint32_t connections = 0;
        std::size_t unfinished = 0;    // bytes of messages that have not arrived whole
        std::size_t unread = 0;        // bytes of answers and signals that have not been read
        Duration owed{};               // time of the loop, less what a user is given of it
        TimePoint since{};             // when `owed` was true
    };

    [[nodiscard]] User& of(Account account) { return users_[account]; }
    // Forgets a user who has nothing any more.
    void settle(Account account, TimePoint now);

    // What the calling thread has computed so far: a machine that is busy with something else costs nobody his part.
    [[nodiscard]] static Duration working_time();
    // The loop worked for this user for so long.
    void spent(Account account, Duration time, TimePoint now);
    [[nodiscard]] Duration owed(Account account, TimePoint now);
    // Has had more than its part lately: it is served when nobody else waits.
    [[nodiscard]] bool is_last(Account account, TimePoint now);

    [[nodiscard]] std::size_t unfinished() const { return unfinished_; }
    [[nodiscard]] std::size_t unread() const { return unread_; }
    void add_unfinished(User& user, std::size_t bytes);
    void remove_unfinished(User& user, std::size_t bytes);
    void add_unread(User& user, std::size_t bytes);
    void remove_unread(User& user, std::size_t bytes);

    [[nodiscard]] DescriptorBudget& descriptors() { return descriptors_; }

private:
    static void pay(User& user, TimePoint now);

    std::unordered_map<Account, User> users_;    // references stay valid
    std::size_t unfinished_ = 0;
    std::size_t unread_ = 0;
    DescriptorBudget descriptors_;
};

}    // namespace rdmaqos::bus
