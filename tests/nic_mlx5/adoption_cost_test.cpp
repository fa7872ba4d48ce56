// How long it takes until a program that never registers is in its leaf, and what looking for such programs costs: of
// the processor, and of the programs.
#include <array>
#include <chrono>
#include <deque>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "tests/nic_mlx5/figures.h"
#include "tests/nic_mlx5/stranger.h"

namespace rdmaqos::test {
namespace {

using namespace std::chrono_literals;

class AdoptionCost : public AdoptionTest {};

// From the program's own ibv_modify_qp() to RTS, until the firmware has answered the daemon's command; in seconds, by
// number.
std::map<std::uint32_t, double> delays(Trace& trace, const std::map<std::uint32_t, double>& ready)
{
    std::map<std::uint32_t, double> found;
    for (const auto& call : trace.calls()) {
        const auto& fields = call.at("fields");
        const auto of = ready.find(fields.value("qpn", 0U));
        if (of != ready.end() && fields.value("requester", 0U) != 0) {
            found.try_emplace(of->first, call.at("monotonic").get<double>() - of->second);
        }
    }
    return found;
}

// `count` queue pairs, of which no more than `together` are there at the same time: whoever looks for one in RTS has to
// look at all.
Figures from_ready_to_leaf(Stranger& stranger, std::size_t count, std::size_t together)
{
    Trace trace;
    std::map<std::uint32_t, double> ready;
    std::vector<std::uint32_t> numbers;
    Figures figures;
    const auto end_all = [&] {
        EXPECT_TRUE(eventually([&] { return elsewhere(numbers, kNowhere).size() == numbers.size(); }));
        for (const auto& [number, delay] : delays(trace, ready)) {
            figures.add(delay);
        }
        for (const auto number : numbers) {
            EXPECT_EQ(stranger.destroy(number), 0);
        }
        numbers.clear();
        ready.clear();
        trace.clear();
    };
    std::minstd_rand random(1);
    for (std::size_t i = 0; i < count; ++i) {
        const auto made = stranger.make_one(i % 2 == 0 ? IBV_QPT_RC : IBV_QPT_UD, Towards::Bulk);
        ready[made.number] = made.ready_at;
        numbers.push_back(made.number);
        std::this_thread::sleep_for(std::chrono::milliseconds(random() % 40));
        if (numbers.size() == together) {
            end_all();
        }
    }
    end_all();
    EXPECT_EQ(figures.size(), count);
    return figures;
}

TEST_F(AdoptionCost, FromReadyToSendToTheLeaf)
{
    constexpr double kBound = 0.05;
    const Daemon daemon(adopting());
    Stranger stranger({"stranger-rpc"});
    // Others may use the processors too: a few times more, until it is quiet enough to tell.
    double best = 1;
    bool was_quiet = false;
    for (int round = 0; round < 5 && best >= kBound; ++round) {
        Lateness lateness;
        // The machine of tests/kernel has a slow processor, and a process plays the firmware on it.
        const Figures figures = on_kernel() ? from_ready_to_leaf(stranger, 64, 8)
                                            : from_ready_to_leaf(stranger, 200, 200);
        const Figures& late = lateness.end();
        tell("from_ready_to_send_to_leaf", figures.in_milliseconds());
        tell("woken_late", late.in_milliseconds());
        was_quiet = was_quiet || late.quantile(0.95) < 0.002;
        best = figures.quantile(0.95);
    }
    if (best >= kBound && !was_quiet) {
        GTEST_SKIP() << "others use the processors, so that times say nothing";
    }
    EXPECT_LT(best, kBound);
}

// For some seconds nothing has happened, and no device file is opened that would tell.
TEST_F(AdoptionCost, AfterALongSilence)
{
    if (firmware_isolates()) {
        GTEST_SKIP() << "looking costs the same on any firmware";
    }
    const Daemon daemon(adopting());
    Stranger stranger({"stranger-rpc"});
    Trace trace;
    Figures figures;
    for (int round = 0; round < 3; ++round) {
        std::this_thread::sleep_for(3300ms);
        const auto made = stranger.make_one(IBV_QPT_UD, Towards::Nowhere);
        EXPECT_TRUE(comes_to(made.number, kInRpc));
        for (const auto& [number, delay] : delays(trace, {{made.number, made.ready_at}})) {
            figures.add(delay);
        }
    }
    ASSERT_EQ(figures.size(), 3U);
    tell("after_silence", figures.in_milliseconds());
    EXPECT_LT(figures.quantile(0), 0.05);
}

// The daemon's share of a processor over some seconds in which the programs do nothing.
double share_at_rest(Daemon& daemon)
{
    constexpr auto kTime = 4s;
    std::this_thread::sleep_for(3500ms);    // what has just happened keeps it awake
    const double before = processor_time(daemon.process().pid());
    const double started = seconds_now();
    std::this_thread::sleep_for(kTime);
    return (processor_time(daemon.process().pid()) - before) / (seconds_now() - started);
}

TEST_F(AdoptionCost, AtRest)
{
    if (firmware_isolates()) {
        GTEST_SKIP() << "looking costs the same on any firmware";
    }
    Daemon daemon(adopting());
    Stranger adopted({"stranger-rpc"});
    Stranger other({"other"});
    const auto measure = [&](const std::string& what, double bound) {
        const double share = share_at_rest(daemon);
        tell("at_rest_" + what, fmt::format("{:.2f} % of a processor", share * 100));
        EXPECT_LT(share, bound);
    };
    measure("none", 0.03);
    // In INIT until somebody connects, and for ever in RTR, as those that only receive.
    for (int i = 0; i < 100; ++i) {
        adopted.make_one(IBV_QPT_UD, Towards::Nowhere, i % 2 == 0 ? IBV_QPS_INIT : IBV_QPS_RTR);
    }
    measure("100_not_ready", 0.05);
    const auto few = adopted.make(IBV_QPT_UD, Towards::Nowhere, 100);
    EXPECT_TRUE(eventually([&] { return elsewhere(few, kInRpc).empty(); }));
    measure("100_adopted", 0.03);
    const std::uint32_t many = on_kernel() ? 400 : 4000;
    other.make(IBV_QPT_UD, Towards::Nowhere, many);
    measure(fmt::format("{}_more", many), 0.05);
}

// ---- the programs' own calls ----

struct Busy {
    std::uint32_t calls = 0;
    std::uint32_t busy = 0;
};

// What a program does for a while with queue pairs that are adopted: modify, and after a while destroy and make
// another.
Busy own_calls(Verbs& verbs, std::chrono::milliseconds time, std::uint32_t together, bool at_once)
{
    Busy met;
    const auto counted = [&](int error) {
        ++met.calls;
        met.busy += error == EBUSY ? 1U : 0U;
        return error;
    };
    std::deque<std::pair<std::chrono::steady_clock::time_point, ibv_qp*>> all;
    ibv_qp_attr attributes{};
    attributes.min_rnr_timer = 12;
    const auto until = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < until) {
        while (all.size() < together) {
            ibv_qp* const made = verbs.try_make(IBV_QPT_RC, all.size() % 2 == 0 ? Towards::Bulk : Towards::Storage);
            if (made == nullptr) {
                throw std::runtime_error("no queue pair");
            }
            all.emplace_back(std::chrono::steady_clock::now(), made);
        }
        const auto age = std::chrono::steady_clock::now() - all.front().first;
        if (at_once || age > 500ms) {
            while (counted(ibv_destroy_qp(all.front().second)) == EBUSY) {
            }
            all.pop_front();
        }
        for (const auto& [since, each] : all) {
            if (!at_once && std::chrono::steady_clock::now() - since > 300ms) {
                static_cast<void>(counted(ibv_modify_qp(each, &attributes, IBV_QP_MIN_RNR_TIMER)));
            }
        }
    }
    for (const auto& [since, each] : all) {
        while (counted(ibv_destroy_qp(each)) == EBUSY) {
        }
    }
    return met;
}

// Runs them in a program while the policy is reloaded all the time.
Busy calls_during_reloads(Daemon& daemon, const std::array<std::string, 2>& policies, std::uint32_t together,
                          bool at_once)
{
    const auto time = on_kernel() ? 2000ms : 4000ms;
    const Stranger stranger({"stranger"}, [&](Verbs& verbs, const Line& line) {
        line.say(own_calls(verbs, time, together, at_once));
        line.hear();
    });
    auto client = daemon.direct();
    int reloads = 0;
    while (!stranger.line().has_something()) {
        daemon.dir().write("etc/rdma-qos/policy.yaml", policies[static_cast<std::size_t>(++reloads % 2)]);
        const auto reply = client.call(bus::names::kRoot, bus::names::kManager, "Reload", {});
        EXPECT_TRUE(reply.has_value());
    }
    const auto met = stranger.line().hear<Busy>();
    fprintf(stderr, "%d reloads\n", reloads);
    return met;
}

TEST_F(AdoptionCost, OwnCallsThatMeetTheDaemons)
{
    const std::string one = kAdoptingPolicy;
    std::string other = one;    // shares change, nobody moves
    other.replace(other.find("share: 20"), 9, "share: 21");
    std::string moving = one;    // bulk gets a leaf for each process
    moving.replace(moving.find("share: 20"), 9, "share: 20, fair-by: process");
    {
        Daemon daemon(adopting());
        const auto say = [](const char* name, const Busy& met) {
            tell(name, fmt::format("{} of {} calls met EBUSY", met.busy, met.calls));
        };
        const Busy still = calls_during_reloads(daemon, {one, other}, 64, false);
        say("busy_without_moves", still);
        EXPECT_LE(still.busy, still.calls / 100'000);
        say("busy_with_moves", calls_during_reloads(daemon, {one, moving}, 64, false));
        const Busy hasty = calls_during_reloads(daemon, {one, other}, 1, true);
        say("busy_when_destroyed_at_once", hasty);
        EXPECT_LE(hasty.busy, hasty.calls / 100);
        EXPECT_TRUE(eventually([] { return emulated_device().at("files") == 1; }));
        EXPECT_TRUE(emulated_device().at("queue-pairs").empty());
        EXPECT_TRUE(eventually([&] { return daemon.sessions() == 0; }));
    }
    EXPECT_EQ(emulated_device().at("elements"), 0);
    EXPECT_EQ(emulated_device().at("leaked"), 0);
}

}    // namespace
}    // namespace rdmaqos::test
