// One attack from beginning to end: a daemon of its own, victims before, during and after it, what the daemon holds,
// and the goals as assertions of the running test. Every battle is a line of a table, printed when all are over, and
// written as Markdown to the file that RDMAQOS_ATTACK_MARKDOWN names.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/attack/people.h"
#include "tests/attack/target.h"

namespace rdmaqos::attack {

// The same for every attack.
namespace goals {
// Times are those of the victim and the daemon: less what they waited for a processor.
constexpr double kP99 = 20;                           // ms, of a victim's Ping and Register
constexpr double kMax = 100;                          // ms
constexpr double kVisit = 1000;                       // ms, of somebody who connects
constexpr double kStatus = 5000;                      // ms, of root's `rdma-qosctl status`
constexpr std::size_t kMemoryDuring = 256U << 10U;    // KiB more than before
constexpr std::size_t kMemoryAfter = 32U << 10U;
constexpr std::size_t kDescriptorsAfter = 32;    // more than before, the connections of whoever still hangs included
constexpr std::size_t kThreads = 64;             // more than before, at any time
constexpr std::chrono::seconds kStop{10};
}    // namespace goals

struct Attack {
    std::string name;
    std::vector<Squad> squads;
    // How long it goes on when all attackers are ready.
    milliseconds duration{4000};
    // How long they may take until then.
    std::chrono::seconds set_up = test::kManyHung;
    // The attackers stay, with all that they keep hanging, until the daemon has ended.
    bool hangs = false;
    // Without them nothing hangs: ended before anybody who may wait for them.
    std::vector<std::shared_ptr<test::Child>> servers{};
    TargetOptions target{};
    // What a victim's Ping and Register may take, where the goals are known to be missed.
    double p99 = goals::kP99;
    double max = goals::kMax;
};

// Asserts every goal. A battle that misses only goals of time is fought again, twice at most: what does not come back
// was not the daemon.
void fight(const std::function<Attack()>& make);
inline void fight(const Attack& attack)
{
    fight([&] { return attack; });
}

}    // namespace rdmaqos::attack
