// Who dies, who waits, who collides: closing slowly, owners' own calls, forked children.
#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/base/signal_process.h"
#include "lib/client/retry.h"
#include "tests/nic_mlx5/figures.h"
#include "tests/nic_mlx5/program.h"

namespace rdmaqos::test {
namespace {

using namespace std::chrono_literals;

class Mlx5Lifetime : public ::testing::Test {
protected:
    void TearDown() override { make_as_it_was(); }
};

bool is_soak()
{
    return getenv("RDMAQOS_SOAK_SECONDS") != nullptr;    // NOLINT(concurrency-mt-unsafe): nobody sets it
}

// Of a call that only the main loop answers; in seconds, without those in which the two had no processor.
double ping(bus::Client& client, const ReadyButWaiting& waiting)
{
    const TimeOfOurs time(waiting);
    const auto reply = client.call(bus::names::kRoot, "org.freedesktop.DBus.Peer", "Ping", {});
    EXPECT_TRUE(reply.has_value());
    return time.seconds();
}

TEST_F(Mlx5Lifetime, AKilledClientIsLetGoOfAtOnceThoughTheCloseTakesLong)
{
    Daemon daemon(on_emulator());
    Processes processes;
    Child& victim = processes.start([&](const Processes::Say& say) {
        auto* program = new Program(daemon, "rpc");
        say(program->join(IBV_QPT_RC));
    });
    const auto number = processes.hear(1).at(0);
    Program witness(daemon, "bulk");
    auto client = daemon.direct();
    ReadyButWaiting pinging;
    pinging.add_main_thread(daemon.process().pid());
    pinging.add_own_thread();
    ping(client, pinging);
    Trace trace;
    // Longer than all that follows. A kernel's driver does not wait for an hour.
    emulator(on_kernel() ? "set close-ms 10000" : "set close-ms 3600000");
    victim.signal(SIGKILL);
    Figures pings;
    for (int i = 0; i < (is_soak() ? 4000 : 400); ++i) {
        pings.add(ping(client, pinging));
        std::this_thread::sleep_for(2ms);
    }
    // Others get what they ask for meanwhile.
    const auto other = witness.join(IBV_QPT_UD);
    EXPECT_EQ(places(emulated_device()).at(other), kPlaceOf[1]);
    const auto is_detached = [&] {
        return std::ranges::any_of(trace.calls(), [&](const nlohmann::json& call) {
            const auto& fields = call.at("fields");
            return fields.value("qpn", 0U) == number && fields.value("requester", 1U) == 0;
        });
    };
    EXPECT_TRUE(eventually(is_detached));
    // The daemon's copy is the last: it is being closed now, and takes its time.
    EXPECT_EQ(emulated_device().at("files"), 3) << "the daemon's, the witness's, and this";
    tell("pings", pings.in_milliseconds());
    EXPECT_LT(pings.quantile(0.99), 0.01);
    emulator("set close-ms 0");
}

// The daemon's call and the owner's own meet on one queue pair; EBUSY goes to whoever comes second.
TEST_F(Mlx5Lifetime, OwnersThatRetryDoNotSeeBusy)
{
    for (const char* lock : {"shared", "exclusive"}) {
        if (on_kernel() && lock == std::string("exclusive")) {
            continue;    // this kernel is newer
        }
        SCOPED_TRACE(lock);
        emulator(std::string("set modify-lock ") + lock);
        emulator("set call-us 50");
        const int moves = is_soak() ? 5000 : on_kernel() ? 40 : 200;    // of both kinds: 10,000
        Daemon daemon(on_emulator());
        Program program(daemon, "bulk");
        ibv_qp* kept = program.make(IBV_QPT_RC);
        program.attach(kept);
        std::atomic<bool> ending = false;
        std::thread mover([&] {
            auto client = daemon.direct();
            std::string policies[] = {kThreeClasses, kThreeClasses};
            auto& other = policies[1];
            // bulk becomes fair by process: its queue pairs move to a leaf of their process, and back.
            other.replace(other.find("share: 20"), 9, "share: 20, fair-by: process");
            for (int move = 0; move < moves && !ending; ++move) {
                daemon.dir().write("etc/rdma-qos/policy.yaml", policies[(move + 1) % 2]);
                const auto reply = client.call(bus::names::kRoot, bus::names::kManager, "Reload", {});
                if (!reply) {
                    ADD_FAILURE() << to_string(reply.error());
                    break;
                }
            }
            ending = true;
        });
        int plain = 0;
        int calls = 0;
        ibv_qp_attr attributes{};
        attributes.min_rnr_timer = 12;
        const auto counted = [&](int error) {
            ++calls;
            plain += error == EBUSY ? 1 : 0;
            return error;
        };
        while (!ending) {
            // What a program does to a queue pair in RTS ...
            for (int i = 0; i < 20; ++i) {
                EXPECT_EQ(
                    client::retry_busy([&] { return counted(ibv_modify_qp(kept, &attributes, IBV_QP_MIN_RNR_TIMER)); }),
                    0);
            }
            // ... and queue pairs that come and go, without a word.
            ibv_qp* brief = program.make(IBV_QPT_UD, IBV_QPS_RESET);
            for (const auto state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
                EXPECT_EQ(client::retry_busy([&] { return counted(step_qp(brief, state, 0)); }), 0);
            }
            program.attach(brief);
            EXPECT_EQ(client::retry_busy([&] { return counted(ibv_destroy_qp(brief)); }), 0);
            program.forget(brief);
        }
        mover.join();
        printf("modify-lock %s: %d reload moves, %d calls of the owner, %d of them met EBUSY\n", lock, moves, calls,
               plain);
        // The answer to a reload does not wait for the moves.
        EXPECT_TRUE(eventually([&] { return places(emulated_device()).at(kept->qp_num) == kPlaceOf[1]; }))
            << emulated_device().dump(2);
    }
    EXPECT_TRUE(eventually([] { return emulated_device().at("queue-pairs").empty(); })) << emulated_device().dump(2);
}

// A child that inherited everything keeps file and connection alive; what counts is who registered.
TEST_F(Mlx5Lifetime, AForkedChildDoesNotKeepItsParentsQueuePairsInTheTree)
{
    Daemon daemon(on_emulator());
    Processes processes;
    Child& parent = processes.start([&](const Processes::Say& say) {
        auto* program = new Program(daemon, "storage");
        const auto number = program->join(IBV_QPT_RC);
        const pid_t child = fork();
        if (child == 0) {
            pause();
            _exit(0);
        }
        say(number);
        say(static_cast<std::uint32_t>(child));
    });
    const auto said = processes.hear(2);
    ASSERT_EQ(said.size(), 2U);
    EXPECT_EQ(places(emulated_device()).at(said[0]), kPlaceOf[2]);
    parent.signal(SIGKILL);
    EXPECT_TRUE(eventually([&] { return places(emulated_device()).at(said[0]).empty(); }));
    EXPECT_EQ(emulated_device().at("files"), 2) << "the child holds it; the daemon does not";
    signal_process(static_cast<pid_t>(said[1]), SIGKILL);
    EXPECT_TRUE(eventually([] { return emulated_device().at("files") == 1; }));
}

TEST_F(Mlx5Lifetime, ABusyCallOfTheOwnerIsTriedAgain)
{
    Daemon daemon(on_emulator());
    Program program(daemon, "storage");
    ibv_qp* made = program.make(IBV_QPT_RC);
    emulator("busy attach 3");
    EXPECT_EQ(text_of(program.attach(made), "error"), "absent");
    EXPECT_TRUE(eventually([&] { return places(emulated_device()).at(made->qp_num) == kPlaceOf[2]; }));
}

TEST_F(Mlx5Lifetime, DriftIsRepaired)
{
    const KnownComplaints lost(kLostElement);
    Daemon daemon(on_emulator(kThreeClasses, "version: 1\ndrift-interval: 1s\n"));
    Program program(daemon, "storage");
    const auto number = program.join(IBV_QPT_RC);
    const auto device = emulated_device();
    std::uint32_t leaf = 0;
    for (const auto& each : device.at("queue-pairs")) {
        leaf = each.at("qpn") == number ? each.at("requester").get<std::uint32_t>() : leaf;
    }
    emulator(fmt::format("drift mlx5_0 {} 99 1", leaf));
    EXPECT_TRUE(eventually([&] { return daemon.log().find("found share 99") != std::string::npos; }));
    EXPECT_TRUE(eventually([&] { return places(emulated_device()).at(number) == kPlaceOf[2]; }));
    // At once, when it is asked for.
    emulator(fmt::format("drift mlx5_0 {} 98 2", leaf));
    auto client = daemon.direct();
    ASSERT_TRUE(manage(client, "Reconcile", "mlx5_0").has_value());
    EXPECT_EQ(places(emulated_device()).at(number), kPlaceOf[2]);
    // Lost altogether: made anew, with the queue pair in it.
    emulator(fmt::format("lose mlx5_0 {}", leaf));
    EXPECT_TRUE(eventually([&] { return places(emulated_device()).at(number) == kPlaceOf[2]; }))
        << emulated_device().dump(2);
}

}    // namespace
}    // namespace rdmaqos::test
