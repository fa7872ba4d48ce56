// Calls whose answers are made on more than one thread: a message of sd-bus that is touched off the loop ends the
// daemon.
#include <array>

#include <gtest/gtest.h>
#include <unistd.h>

#include "lib/bus/names.h"
#include "tests/attack/battle.h"
#include "tests/attack/requests.h"

namespace rdmaqos::attack {
namespace {

using namespace std::chrono_literals;
namespace names = bus::names;

constexpr const char* kPolicy = R"(version: 1
qos-levels:
  - {name: DEFAULT, sl: 0}
  - {name: rpc, schedule: {share: 60, max-rate: 40Gbps, fair-by: process}}
)";

// All of it, reading what comes back: who does not read is dropped.
void write_and_read(Wire& wire, std::string_view bytes, std::span<const int> descriptors = {})
{
    while (wire.is_open() && !bytes.empty()) {
        if (const std::size_t sent = wire.send_some(bytes, descriptors); sent > 0) {
            bytes.remove_prefix(sent);
            descriptors = {};
        } else {
            usleep(500);
        }
        wire.discard();
    }
}

// Rounds of Plan({}) and Check(h) without waiting for answers, on a new connection each time.
[[noreturn]] void plan_and_check(Attacker& me, bool system_bus)
{
    constexpr std::uint32_t kRounds = 200;
    const char* destination = system_bus ? names::kService : "";
    const std::array policy{memory_file(kPolicy)};
    me.ready();
    while (true) {
        Wire wire(system_bus ? me.bus : me.socket);
        if (!wire.authenticate() || (system_bus && !wire.hello())) {
            usleep(50'000);
        }
        // The bus refuses a serial that waits for its answer.
        for (std::uint32_t serial = 10; serial < 10 + 2 * kRounds && wire.is_open(); serial += 2) {
            write_and_read(wire, call(methods::kPlan, empty_dict(), serial, destination));
            write_and_read(wire, call(methods::kCheck, policy_descriptor(), serial + 1, destination), policy);
        }
        // The last answers.
        for (int count = 0; count < 100 && wire.is_open(); ++count) {
            usleep(1000);
            wire.discard();
        }
    }
}

TEST(Crash, PlanAndCheckPipelined)
{
    fight({.name = "200 rounds of Plan and Check",
           .squads = {{.deed = [](Attacker& me) { plan_and_check(me, false); }, .processes = 2}},
           .duration = 7s});
}

TEST(Crash, PlanAndCheckPipelinedByTheSystemBus)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root may own the name on the bus";
    }
    fight({.name = "200 rounds of Plan and Check, system bus",
           .squads = {{.deed = [](Attacker& me) { plan_and_check(me, true); }, .processes = 8, .user = users::kNobody}},
           .duration = 7s,
           .target = {.system_bus = true, .settings = ""}});
}

}    // namespace
}    // namespace rdmaqos::attack
