// Who takes part, each a process of its own: victims, whose every call is timed, and attackers, who are stopped when
// the attack is over.
//
// As root each has a user of its own. Otherwise all are ourselves; then a victim competes with its own attacker, and
// how long it waits shows nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include "tests/attack/wire.h"
#include "tests/support/process.h"
#include "tests/support/processor_time.h"

namespace rdmaqos::attack {

namespace users {
constexpr uid_t kRoot = 0;
constexpr uid_t kContainedRoot = 60030;    // uid 0 without anything else of root, as in a container
constexpr uid_t kAttacker = 60001;         // up to 60004
constexpr uid_t kBystander = 60010;
constexpr uid_t kVictim = 60020;
constexpr uid_t kNobody = 65534;    // dbus-daemon wants a user with a name
}    // namespace users

[[nodiscard]] bool has_many_users();
// This process is that user from here on, without any rights (but for kRoot), and ends with its parent.
void become(uid_t user);

// ---- shared memory between processes, of zeros ----

void* map_shared(std::size_t size);
void unmap_shared(void* memory, std::size_t size) noexcept;

template <typename T>
class Shared {
public:
    Shared() : value_(static_cast<T*>(map_shared(sizeof(T)))) {}
    ~Shared() { unmap_shared(value_, sizeof(T)); }
    Shared(const Shared&) = delete;
    Shared& operator=(const Shared&) = delete;
    T* operator->() const { return value_; }
    T& operator*() const { return *value_; }

private:
    T* value_;
};

// ---- victims ----

// Of calls that began in a span of time, in milliseconds.
struct Latency {
    std::size_t calls = 0;
    std::size_t failures = 0;    // refused, or the connection was lost
    double p50 = 0;
    double p99 = 0;
    double max = 0;
};

// Does the same thing again and again, at a pace.
//
// The time in which those who do it were ready to and had no processor does not count: so the pace and how long calls
// take are the same on a machine that others keep busy, and what keeps a victim waiting is the daemon.
//
// What a call takes counts from when it was due, if the one before it ended only after that: a daemon that answers
// nobody for a second costs a caller of every 5 ms two hundred late calls, not one. What stands for many programs, each
// of which comes once, counts from its own beginning: none of them waits for another.
class Victim {
public:
    enum class Counts : std::uint8_t { WhenDue, WhenBegun };

    // One call, made in the victim's process; false: it failed.
    using Once = std::function<bool(test::ReadyButWaiting& waiting)>;
    // Adds whoever has a part in it, in the victim's process; empty: all time counts.
    using Parts = std::function<void(test::ReadyButWaiting& waiting)>;

    Victim(uid_t user, milliseconds pace, const Once& once, const Parts& parts, Counts counts = Counts::WhenDue);
    ~Victim();

    // A call that is still going on counts with the time it has taken so far.
    [[nodiscard]] Latency between(Clock::time_point from, Clock::time_point until) const;
    // Whether it has an answer to all that it asked before `then`.
    [[nodiscard]] bool has_answers_until(Clock::time_point then) const;
    // So far.
    [[nodiscard]] std::size_t calls() const { return ledger_->count; }

private:
    struct Sample {
        std::int64_t begin;    // ns of Clock
        std::int64_t took;     // less what does not count
        bool failed;
    };
    struct Ledger {
        std::atomic<std::int64_t> pending;    // since when; 0: nothing
        std::atomic<std::size_t> count;
        Sample samples[1U << 20U];
    };
    [[noreturn]] static void live(Ledger& ledger, milliseconds pace, const Once& once, const Parts& parts,
                                  Counts counts);

    Shared<Ledger> ledger_;
    std::unique_ptr<test::Child> process_;
};

// Ping, or Register and Release (timed as one), on a connection that stays.
[[nodiscard]] Victim::Once pinging(const std::filesystem::path& socket);
[[nodiscard]] Victim::Once registering(const std::filesystem::path& socket);
// Comes, says who it is, has one Ping answered, goes.
[[nodiscard]] Victim::Once visiting(const std::filesystem::path& socket);
// `rdma-qosctl status`.
[[nodiscard]] Victim::Once asking_for_status(const std::filesystem::path& root);
// A byte to another process and back: what the machine itself costs, with no daemon in between.
[[nodiscard]] Victim::Once echoing();

// ---- attackers ----

// What an attacker knows.
class Attacker {
public:
    struct Start {
        std::atomic<unsigned> ready;
    };
    Attacker(std::filesystem::path direct, std::filesystem::path system_bus, std::vector<int> descriptors, Start& start)
        : socket(std::move(direct)), bus(std::move(system_bus)), brought(std::move(descriptors)), start_(start)
    {
    }
    const std::filesystem::path socket;
    const std::filesystem::path bus;    // of the system bus
    const std::vector<int> brought;     // see Squad
    // Says that what it needed is in place, and that the attack is on.
    void ready() const { ++start_.ready; }

private:
    Start& start_;
};

// Runs until it is killed; one that returns waits for that.
using Deed = std::function<void(Attacker&)>;

struct Squad {
    Deed deed;
    unsigned processes = 1;
    bool each_its_own_user = false;    // kAttacker, kAttacker + 1, …
    uid_t user = users::kAttacker;
    // Descriptors that take more rights to get, as by a program that hands them to users.
    std::function<std::vector<int>()> bring = nullptr;
    int nice = 10;
};

// The processes of all squads. Those that are busy have a low priority, so that the daemon has the processors that it
// wants; not the lowest, with which they would not come to attack where others keep the machine busy.
class Mob {
public:
    Mob(const std::vector<Squad>& squads, const std::filesystem::path& socket, const std::filesystem::path& bus);
    ~Mob();
    Mob(const Mob&) = delete;
    Mob& operator=(const Mob&) = delete;

    // Waits until everybody is ready.
    [[nodiscard]] bool is_complete(milliseconds patience) const;

private:
    Shared<Attacker::Start> start_;
    std::vector<std::unique_ptr<test::Child>> processes_;
};

}    // namespace rdmaqos::attack
