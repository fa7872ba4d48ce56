// A device that goes, and what its sessions and the log hear of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include "tests/nic_mlx5/program.h"

namespace rdmaqos::test {
namespace {

using ::testing::HasSubstr;

// A program that ends when its device has failed, as most do.
void end_with_the_device(Program& program)
{
    ibv_async_event event{};
    while (ibv_get_async_event(program.here().context, &event) == 0) {
        ibv_ack_async_event(&event);
        if (event.event_type == IBV_EVENT_DEVICE_FATAL) {
            break;
        }
    }
    _exit(0);
}

TEST(Mlx5Loss, SessionsThatEndWithTheDeviceAreCounted)
{
    const Daemon daemon(on_emulator());
    Processes processes;
    for (int count = 0; count < 3; ++count) {
        processes.start([&](const Processes::Say& say) {
            auto* program = new Program(daemon, "rpc");
            say(program->join(IBV_QPT_RC));
            end_with_the_device(*program);
        });
    }
    ASSERT_EQ(processes.hear(3).size(), 3U);
    emulator("reset mlx5_0");
    ASSERT_TRUE(eventually([&] { return daemon.log().find("went away") != std::string::npos; }));
    EXPECT_THAT(daemon.log(), HasSubstr("went away; 3 sessions had queue pairs on it"));
}

// Firmware that has lost everything answers for a while as if its queue pairs had been destroyed one by one.
TEST(Mlx5Loss, SessionsThatLostTheirQueuePairsBeforeTheDeviceWentAreToldToo)
{
    const Daemon daemon(on_emulator());
    Program program(daemon, "rpc");
    program.join(IBV_QPT_RC);
    struct AsItWas {
        ~AsItWas() { emulator("clear"); }
    } const afterwards;
    emulator("fail attach 1 0x5 times 1000");
    emulator("fail query-queue-pair 1 0x5 times 1000");
    const auto device = emulated_device();
    for (const auto& each : device.at("tree")) {
        if (each.value("parent", 0U) == 0) {
            emulator(fmt::format("lose mlx5_0 {}", each.at("id").get<std::uint32_t>()));
        }
    }
    auto client = daemon.direct();
    static_cast<void>(manage(client, "Reconcile", "mlx5_0"));
    ASSERT_TRUE(eventually([&] { return queue_pairs_of(client, program.session()).empty(); }))
        << "the owner seems to have destroyed it";
    emulator("reset mlx5_0");
    EXPECT_TRUE(eventually([&] { return program.state() == "detached"; }));
    EXPECT_THAT(daemon.log(), HasSubstr("went away; 1 session had queue pairs on it"));
}

}    // namespace
}    // namespace rdmaqos::test
