// Many connections of one process that all do the same, without ever waiting for one of them, and come again when they
// are dropped: the pressure stays on, whatever the daemon does about it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "tests/attack/people.h"

namespace rdmaqos::attack {

struct Habit {
    std::size_t connections = 1;
    std::string first{};                         // sent when connected; kHandshake, most often with more behind it
    std::string again{};                         // then this, over and over, as fast as it is taken
    bool reads = true;                           // what it is sent
    std::optional<milliseconds> byte_every{};    // `again` one byte at a time
    std::size_t descriptors_each = 0;            // sent with the first bytes of `again`, on authenticated connections
    bool leaves = false;                         // goes when `first` is sent, and comes again at once
};

// Opens all connections, says that it is ready, and goes on until it is killed.
[[noreturn]] void crowd(Attacker& attacker, const Habit& habit);
// Processes that do nothing else.
[[nodiscard]] Squad crowd_of(Habit habit, unsigned processes = 1);

// Registers 1,400 sessions without waiting for answers, ends them all by leaving, and begins again: two signals of each
// to everybody who listens.
[[noreturn]] void register_many(Attacker& attacker);

// kHandshake and what comes after it.
[[nodiscard]] std::string after_handshake(const std::string& messages = {});

}    // namespace rdmaqos::attack
