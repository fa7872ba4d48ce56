// What the parent and the members of a crowd have in common: memory in which members count, and notes over a socket.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "tests/bytes/clients/crowd_message.h"
#include "tests/support/patience.h"

namespace crowd {

constexpr unsigned kLanes = 4;    // queue pairs of a member
constexpr unsigned kMostMembers = 1000;
// Between two living ends something happens in this time, also on a busy machine.
constexpr double kPatience = std::chrono::duration<double>(rdmaqos::test::kHung).count();

struct Totals {
    std::array<std::atomic<std::uint64_t>, kKinds> messages;    // looked at
    std::atomic<std::uint64_t> bytes;
    std::atomic<std::uint64_t> links;
    std::atomic<std::uint64_t> noticed;    // ends of a partner
    std::atomic<std::uint64_t> broken;     // links, by a member itself
    std::atomic<std::uint64_t> flushed;
    std::atomic<std::uint64_t> events;
    std::atomic<std::uint64_t> forks;
};

struct LaneBoard {
    std::atomic<std::uint64_t> link;    // 0: it need not get ahead
    std::atomic<double> last;           // seconds of the monotonic clock
    std::atomic<double> longest;        // without progress
};

// Zero when it is made; the members of a place follow each other.
struct Board {
    Totals totals;
    std::array<std::array<LaneBoard, kLanes>, kMostMembers> lanes;
};

// Where the other end of a link is.
struct Address {
    std::array<std::uint8_t, 16> gid{};
    std::uint32_t queue_pair = 0;
    std::uint32_t window_key = 0;
    std::uint32_t source_key = 0;
    std::uint32_t words_key = 0;
    std::uint64_t window = 0;
    std::uint64_t source = 0;
    std::uint64_t words = 0;
};

struct Note {
    enum class What : std::uint32_t {
        // A member's.
        Ready,        // this lane has a new queue pair, at `address`
        Connected,    // it can send and receive over the link
        Drained,      // all that it sent was looked at, after Drain
        // The parent's.
        Connect,    // to `address`
        Go,         // both ends are connected
        Cancel,     // the other end is gone before Go
        Drain,      // begin nothing new
        Quit,
    };
    What what = What::Ready;
    std::uint32_t lane = 0;
    std::uint32_t side = 0;
    std::uint64_t link = 0;
    Address address;
};

[[nodiscard]] double now();

// For printf.
constexpr unsigned long long shown(std::uint64_t number)
{
    return number;
}

// A mistake that was found: says it, and ends the process with status 1.
[[noreturn]] void wrong(const char* format, ...) __attribute__((format(printf, 1, 2)));
// What `wrong` says first.
void introduce(unsigned place);

// All of it: they are short. False: the other side has ended.
[[nodiscard]] bool send_note(int socket, const Note& note);
// False: there is none; `ended` says whether the other side has ended.
[[nodiscard]] bool receive_note(int socket, Note& note, bool& ended);

}    // namespace crowd
