// A uverbs file is its last descriptor, wherever it travelled; what it holds goes with it.
#include <atomic>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "lib/base/signal_process.h"
#include "tests/support/process.h"
#include "tests/support/uverbs_client.h"

namespace rdmaqos::test {
namespace {

using namespace std::chrono_literals;
using namespace emulator;

struct EmulatorLifetime : testing::Test {
    [[nodiscard]] bool is_empty()
    {
        const auto usage = emulator.firmware().usage();
        return emulator.device().files().empty() && usage.elements == 0 && emulator.firmware().queue_pairs().empty();
    }

    // From now on, and those that are under way.
    void closes_take(std::chrono::milliseconds time)
    {
        emulator.server().behaviour().close_milliseconds = static_cast<std::uint32_t>(time.count());
    }

    EmulatorInProcess emulator;
};

// What returns while closes take so long does not wait for them.
constexpr auto kAnHour = 1h;

TEST_F(EmulatorLifetime, EverythingGoesWithTheLastDescriptor)
{
    UverbsClient client(emulator.path());
    const auto root = client.make_element(false, 0);
    ASSERT_EQ(root.error, 0);
    const auto leaf = client.make_element(true, root.id());
    const auto queue_pair = client.make_qp();
    emulator.firmware().set_queue_pair_state(queue_pair.number, QueuePairState::Rts);
    ASSERT_EQ(client.attach(queue_pair, leaf.id()).error, 0);

    UverbsClient second = client.again();
    client.close();
    std::this_thread::sleep_for(50ms);
    EXPECT_EQ(emulator.firmware().usage().elements, 2U);
    EXPECT_EQ(second.devx_destroy(root.handle), EBUSY) << "it still has its leaf";
    second.close();
    EXPECT_TRUE(eventually([&] { return is_empty(); }));
    EXPECT_EQ(emulator.device().leaked(), 0U);
}

TEST_F(EmulatorLifetime, ADescriptorInAnotherProcessKeepsIt)
{
    UverbsClient client(emulator.path());
    ASSERT_EQ(client.make_element(false, 0).error, 0);
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    const pid_t child = fork();    // inherits the descriptor
    if (child == 0) {
        char byte = 0;
        (void)!read(ends[0], &byte, 1);
        _exit(0);
    }
    client.close();
    std::this_thread::sleep_for(50ms);
    EXPECT_EQ(emulator.firmware().usage().elements, 1U);
    signal_process(child, SIGKILL);
    waitpid(child, nullptr, 0);
    EXPECT_TRUE(eventually([&] { return is_empty(); }));
    ::close(ends[0]);
    ::close(ends[1]);
}

TEST_F(EmulatorLifetime, AnElementWithQueuePairsOfOthersIsLeakedAndCounted)
{
    UverbsClient owner(emulator.path());
    UverbsClient guest(emulator.path());
    const auto root = owner.make_element(false, 0);
    const auto leaf = owner.make_element(true, root.id());
    const auto queue_pair = guest.make_qp();
    emulator.firmware().set_queue_pair_state(queue_pair.number, QueuePairState::Rts);
    ASSERT_EQ(guest.attach(queue_pair, leaf.id()).error, 0);
    owner.close();
    EXPECT_TRUE(eventually([&] { return emulator.device().leaked() == 2; })) << "the leaf, and the root above it";
}

TEST_F(EmulatorLifetime, HandlesAreOfTheFileAndTheLowestFreeOneIsNext)
{
    UverbsClient client(emulator.path());
    UverbsClient other(emulator.path());
    EXPECT_EQ(client.make_pd(), 0U);
    EXPECT_EQ(client.make_pd(), 1U);
    EXPECT_EQ(other.make_pd(), 0U);
    EXPECT_EQ(
        Ioctl(UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY).handle(UVERBS_ATTR_DESTROY_PD_HANDLE, 0).run(client.fd()), 0);
    EXPECT_EQ(client.make_cq(), 0U);
    EXPECT_EQ(client.make_pd(), 2U);
}

TEST_F(EmulatorLifetime, TheLastCloseTakesItsTimeAndNobodyWaits)
{
    closes_take(kAnHour);
    UverbsClient client(emulator.path());
    ASSERT_EQ(client.make_element(false, 0).error, 0);
    client.close();
    UverbsClient next(emulator.path());
    EXPECT_EQ(next.make_pd(), 0U);
    EXPECT_EQ(emulator.firmware().usage().elements, 1U);
    closes_take(0ms);
    EXPECT_TRUE(eventually([&] { return emulator.firmware().usage().elements == 0; }));
}

std::chrono::steady_clock::duration time_of(const std::function<void()>& action)
{
    const auto started = std::chrono::steady_clock::now();
    action();
    return std::chrono::steady_clock::now() - started;
}

TEST_F(EmulatorLifetime, WhoClosesTheLastDescriptorWaitsForTheEnd)
{
    closes_take(kAnHour);
    UverbsClient client(emulator.path());
    UverbsClient copy = client.again();
    ASSERT_EQ(client.make_element(false, 0).error, 0);
    client.close_and_wait();    // it is not the last, and returns
    EXPECT_EQ(copy.make_pd(), 1U);
    closes_take(300ms);
    EXPECT_GE(time_of([&] { copy.close_and_wait(); }), 300ms);
    EXPECT_TRUE(is_empty());
}

TEST_F(EmulatorLifetime, AClosersDescriptorInAnotherProcessIsNotTheLast)
{
    closes_take(kAnHour);
    UverbsClient client(emulator.path());
    ASSERT_EQ(client.make_element(false, 0).error, 0);
    const pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    client.close_and_wait();
    EXPECT_EQ(emulator.firmware().usage().elements, 1U);
    closes_take(0ms);
    signal_process(child, SIGKILL);
    waitpid(child, nullptr, 0);
    EXPECT_TRUE(eventually([&] { return is_empty(); }));
}

TEST_F(EmulatorLifetime, OneOfTwoClosersWaits)
{
    for (int round = 0; round < 3; ++round) {
        closes_take(kAnHour);
        UverbsClient client(emulator.path());
        UverbsClient copy = client.again();
        std::atomic<int> returned = 0;
        std::thread closers[] = {std::thread([&] { client.close_and_wait(), ++returned; }),
                                 std::thread([&] { copy.close_and_wait(), ++returned; })};
        EXPECT_TRUE(eventually([&] { return returned == 1; }));
        std::this_thread::sleep_for(kMoment);
        EXPECT_EQ(returned, 1) << "the last one waits";
        closes_take(0ms);
        for (auto& closer : closers) {
            closer.join();
        }
        EXPECT_TRUE(is_empty());
    }
}

TEST(EmulatorClose, AnEmulatorThatIsGoneKeepsNobody)
{
    auto emulator = std::make_unique<EmulatorInProcess>();
    emulator->server().behaviour().close_milliseconds = kAnHour / 1ms;
    UverbsClient waits(emulator->path());
    UverbsClient late(emulator->path());
    std::thread closer([&] { waits.close_and_wait(); });
    std::this_thread::sleep_for(kMoment);
    // Each returns.
    emulator.reset();
    closer.join();
    late.close_and_wait();
}

TEST_F(EmulatorLifetime, AResetKillsOpenFilesForEverAndANewDeviceAppears)
{
    UverbsClient client(emulator.path());
    const UniqueFd events = client.open_events();
    ASSERT_EQ(client.make_element(false, 0).error, 0);
    emulator.server().reset(emulator.device());
    ib_uverbs_async_event_desc event{};
    ASSERT_EQ(read(events.get(), &event, sizeof(event)), static_cast<ssize_t>(sizeof(event)));
    EXPECT_EQ(event.event_type, static_cast<std::uint32_t>(AsyncEvent::DeviceFatal));
    EXPECT_EQ(read(events.get(), &event, sizeof(event)), 0) << "nothing more comes";
    EXPECT_EQ(client.make_element(false, 0).error, EIO);
    EXPECT_EQ(client.get_context(), EIO);
    EXPECT_EQ(emulator.device().index(), 0U) << "the lowest number that is free";
    EXPECT_EQ(emulator.device().appearance(), 2U);
    UverbsClient again(emulator.path(), 0);
    EXPECT_EQ(again.make_element(false, 0).error, 0);
    EXPECT_EQ(client.get_context(), EIO);
}

TEST_F(EmulatorLifetime, ACallThatIsUnderWayWhenTheDeviceIsResetFailsAndLeavesNothing)
{
    UverbsClient client(emulator.path());
    mlx5::Mailbox command(272);
    set(command, mlx5::prm::kOpcode, mlx5::prm::CreateQp);
    emulator.server().behaviour().call_microseconds = 1'000'000;
    std::thread maker([&] { EXPECT_EQ(client.devx_create(command).error, EIO); });
    std::this_thread::sleep_for(100ms);
    emulator.server().reset(emulator.device());
    maker.join();
    EXPECT_TRUE(emulator.firmware().queue_pairs().empty());
}

TEST(EmulatorDirectory, WhatAKilledEmulatorLeftIsTakenOverAndALiveOneIsNot)
{
    const TempDir dir;
    {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        (dir.path() / "control.sock").string().copy(address.sun_path, sizeof(address.sun_path) - 1);
        const UniqueFd left(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        ASSERT_EQ(bind(left.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    }
    const ServerOptions options{dir.path(), EmulatorInProcess().device().ports(), Isolation::None, true};
    {
        const Server server(options);
        EXPECT_THROW(const Server second(options), std::runtime_error);
        UverbsClient client(dir.path());
        EXPECT_EQ(client.make_pd(), 0U) << "the second one took nothing from it";
    }
    EXPECT_FALSE(std::filesystem::exists(dir.path() / "control.sock"));
}

TEST_F(EmulatorLifetime, PulledOutAndPutBack)
{
    UverbsClient client(emulator.path());
    emulator.server().unplug(emulator.device());
    EXPECT_EQ(client.get_context(), EIO);
    EXPECT_FALSE(std::filesystem::exists(emulator.path() / "sys/class/infiniband/mlx5_0"));
    EXPECT_TRUE(std::filesystem::exists(emulator.path() / "sys/class/infiniband/mlx5_1"));
    emulator.server().plug(emulator.device());
    EXPECT_TRUE(std::filesystem::exists(emulator.path() / "sys/class/infiniband_verbs/uverbs0"));
    UverbsClient again(emulator.path(), 0);
    EXPECT_EQ(again.make_pd(), 0U);
}

}    // namespace
}    // namespace rdmaqos::test
