// librdmaqos with a fake daemon that goes and comes back, and in processes that fork.
#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "lib/base/signal_process.h"
#include "tests/support/process.h"
#include "tests/unit/client/library.h"

namespace rdmaqos::test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

TEST_F(ClientLibrary, AfterARestartEachQueuePairIsAttachedOnce)
{
    daemon_.start();
    const Handle handle = open_at(socket());
    Heard heard(handle);
    const auto own = for_level("bulk");
    std::multiset<std::uint32_t> expected;
    for (std::uint32_t number = 1; number <= 200; ++number) {
        ASSERT_EQ(attach(handle, number, number % 2 == 0 ? &own : nullptr), 0);
        expected.insert(number);
    }
    rdmaqos_rate rate;
    rdmaqos_rate_init(&rate);
    rate.rate = 1000;
    ASSERT_EQ(rdmaqos_set_rate_number(handle.get(), "mlx5_0", 7, &rate), 0);
    ASSERT_EQ(rdmaqos_set_rate_number(handle.get(), "mlx5_0", 8, &rate), 0);
    ASSERT_EQ(rdmaqos_detach_number(handle.get(), "mlx5_0", 100), 0);
    ASSERT_EQ(rdmaqos_detach_number(handle.get(), "mlx5_0", 8), 0);
    expected.erase(100);
    expected.erase(8);
    like_.forget();
    daemon_.forget_calls();
    daemon_.stop();
    EXPECT_TRUE(heard.wait_for("gone"));
    EXPECT_EQ(attach(handle, 500), -ENOTCONN);
    daemon_.start();
    EXPECT_TRUE(heard.wait_for("back"));
    EXPECT_EQ(like_.attached(), expected);
    EXPECT_THAT(heard.all(), ElementsAre("gone", "back"));
    EXPECT_EQ(daemon_.calls("Register"), 1);
    EXPECT_EQ(daemon_.calls("SetRate"), 1);
}

TEST_F(ClientLibrary, WhoDoesNotDispatchComesBackWithTheNextCall)
{
    daemon_.start();
    const Handle handle = open_at(socket());
    ASSERT_EQ(attach(handle, 1), 0);
    like_.forget();
    daemon_.stop();
    daemon_.start();
    EXPECT_EQ(attach(handle, 2), -ENOTCONN);
    EXPECT_STREQ(rdmaqos_last_error(), "the connection to rdma-qosd has ended") << "it is there";
    EXPECT_TRUE(eventually([&] { return attach(handle, 2) == 0; }));
    EXPECT_THAT(like_.attached(), ElementsAre(1, 2));
}

TEST_F(ClientLibrary, AThreadOfTheLibraryDispatches)
{
    daemon_.start();
    const Handle handle = open_at(socket(), RDMAQOS_OPEN_DIRECT | RDMAQOS_OPEN_THREAD);
    const Heard heard(handle);
    ASSERT_EQ(attach(handle, 1), 0);
    daemon_.stop();
    EXPECT_TRUE(eventually([&] { return heard.has("gone"); }));
    daemon_.start();
    EXPECT_TRUE(eventually([&] { return heard.has("back"); }));
}

// Also itself, and another handler; and whoever sets one elsewhere does not wait for long.
TEST_F(ClientLibrary, AHandlerMayCall)
{
    daemon_.start();
    const Handle handle = open_at(socket(), RDMAQOS_OPEN_DIRECT | RDMAQOS_OPEN_THREAD);
    static std::atomic<int> calls = 0;
    static std::atomic<int> result = -1;
    calls = 0;
    rdmaqos_set_handler(
        handle.get(),
        [](rdmaqos_handle* self, const rdmaqos_event* event, void*) {
            if (event->type != RDMAQOS_EVENT_DAEMON_BACK) {
                return;
            }
            ++calls;
            std::this_thread::sleep_for(50ms);    // the test sets another one meanwhile
            const auto queue_pair = numbered(2);
            result = rdmaqos_attach_number(self, &queue_pair, nullptr, nullptr);
            rdmaqos_dispatch(self);
            rdmaqos_set_handler(self, nullptr, nullptr);
        },
        nullptr);
    ASSERT_EQ(attach(handle, 1), 0);
    daemon_.stop();
    daemon_.start();
    EXPECT_TRUE(eventually([] { return calls == 1; }));
    EXPECT_EQ(rdmaqos_set_handler(handle.get(), nullptr, nullptr), 0);
    EXPECT_EQ(result, 0) << "it has ended";
}

TEST_F(ClientLibrary, OnceIsOnce)
{
    daemon_.start();
    const Handle handle = open_at(socket(), RDMAQOS_OPEN_DIRECT | RDMAQOS_OPEN_ONCE);
    Heard heard(handle);
    ASSERT_EQ(attach(handle, 1), 0);
    daemon_.stop();
    EXPECT_TRUE(heard.wait_for("gone"));
    daemon_.start();
    std::this_thread::sleep_for(kMoment);
    EXPECT_EQ(attach(handle, 1), -ENOTCONN);
    EXPECT_EQ(daemon_.calls("Register"), 1);
}

TEST_F(ClientLibrary, WhatIsRefusedAfterwardsIsTold)
{
    daemon_.start();
    const Handle handle = open_at(socket());
    Heard heard(handle);
    const int file = open("/dev/null", O_RDWR | O_CLOEXEC);
    auto real = numbered(3);
    real.fd = file;
    ASSERT_EQ(attach(handle, 1), 0);
    ASSERT_EQ(rdmaqos_attach_number(handle.get(), &real, nullptr, nullptr), 0);
    daemon_.stop();
    close(file);    // as a program that closes its device
    int tries = 0;
    daemon_.on("Attach", [&](sd_bus_message* call) {
        sd_bus_message* reply = reply_to(call);
        append_results(reply, read_attaches(call), ++tries < 3 ? "org.rdmaqos1.Error.BadState" : "");
        return send_reply(reply);
    });
    daemon_.on("Register", [](sd_bus_message* call) {
        sd_bus_message* reply = reply_to(call);
        sd_bus_message_append(reply, "o", "/org/rdmaqos1/session/1");
        sd_bus_message_append(reply, "a{sv}", 0);    // no results: those are asked for again
        return send_reply(reply);
    });
    daemon_.start();
    EXPECT_TRUE(heard.wait_for("lost mlx5_0 3"));
    EXPECT_TRUE(eventually([&] {
        rdmaqos_dispatch(handle.get());
        return daemon_.calls("Attach") >= 5;    // 2 before, and a third that is taken
    }));
    EXPECT_FALSE(heard.has("lost mlx5_0 1")) << "it may have been between INIT and RTS";
    EXPECT_EQ(rdmaqos_detach_number(handle.get(), "mlx5_0", 1), 0);

    ASSERT_EQ(attach(handle, 1), 0);
    daemon_.stop();
    daemon_.on("Register", [](sd_bus_message* call) {
        return sd_bus_reply_method_errorf(call, "org.rdmaqos1.Error.UnknownLevel", "no such level");
    });
    daemon_.start();
    EXPECT_TRUE(heard.wait_for("refused"));
    EXPECT_EQ(rdmaqos_get_grant(handle.get(), nullptr), -ENOENT);
}

TEST_F(ClientLibrary, APolicyThatIsBrokenAfterARestartIsWaitedFor)
{
    daemon_.start();
    const Handle handle = open_at(socket());
    Heard heard(handle);
    ASSERT_EQ(attach(handle, 1), 0);
    daemon_.stop();
    int tries = 0;
    daemon_.on("Register", [&](sd_bus_message* call) {
        if (++tries < 3) {
            return sd_bus_reply_method_errorf(call, "org.rdmaqos1.Error.InvalidPolicy", "the policy is broken");
        }
        return sd_bus_reply_method_return(call, "oa{sv}", "/org/rdmaqos1/session/1", 0);
    });
    like_.forget();
    daemon_.start();
    EXPECT_TRUE(heard.wait_for("back"));
    EXPECT_TRUE(eventually([&] {
        rdmaqos_dispatch(handle.get());
        return like_.attached() == std::multiset<std::uint32_t>{1};
    }));
}

TEST_F(ClientLibrary, ADeviceThatGoesAwayIsToldAndOneRegistersAgain)
{
    daemon_.start();
    const Handle handle = open_at(socket());
    Heard heard(handle);
    ASSERT_EQ(rdmaqos_register(handle.get(), nullptr, nullptr), 0);
    EXPECT_EQ(rdmaqos_register(handle.get(), nullptr, nullptr), -EALREADY);
    daemon_.each([](sd_bus* bus) {
        for (int i = 0; i < 2; ++i) {
            sd_bus_emit_signal(bus, "/org/rdmaqos1/session/1", "org.rdmaqos1.Session", "GrantChanged", "a{sv}", 1,
                               "cause", "s", "detached");
        }
    });
    EXPECT_TRUE(heard.wait_for("detached"));
    EXPECT_EQ(rdmaqos_register(handle.get(), nullptr, nullptr), 0);
    EXPECT_EQ(daemon_.calls("Release"), 1);
    EXPECT_THAT(heard.all(), ElementsAre("detached"));
}

// The other device is not concerned, and nothing is forgotten: neither now nor when the daemon comes back.
TEST_F(ClientLibrary, ADeviceTakesItsOwnQueuePairsAlongAndTheyComeBackWithIt)
{
    daemon_.start();
    const Handle handle = open_at(socket());
    Heard heard(handle);
    const auto named = for_level("named");
    ASSERT_EQ(rdmaqos_register(handle.get(), &named, nullptr), 0);
    for (std::uint32_t number = 1; number <= 4; ++number) {
        const auto queue_pair = numbered(number, number % 2 == 0 ? "mlx5_0" : "mlx5_1");
        ASSERT_EQ(rdmaqos_attach_number(handle.get(), &queue_pair, nullptr, nullptr), 0);
    }
    like_.forget();
    tell_losses(daemon_, 1, {"mlx5_0/1"}, {});
    EXPECT_TRUE(heard.wait_for("detached"));
    EXPECT_THAT(like_.attached(), ElementsAre()) << "it is not there";
    tell_losses(daemon_, 1, {"mlx5_0/1"}, {"mlx5_0/1"});
    EXPECT_TRUE(heard.wait_for("attached mlx5_0 2") && heard.wait_for("attached mlx5_0 4"));
    EXPECT_THAT(like_.attached(), ElementsAre(2, 4));
    like_.forget();
    // It goes again, and the daemon, too.
    tell_losses(daemon_, 2, {"mlx5_0/1"}, {}, "detached");
    EXPECT_TRUE(eventually([&] { return rdmaqos_dispatch(handle.get()) >= 0 && heard.all().back() == "detached"; }));
    daemon_.stop();
    EXPECT_TRUE(heard.wait_for("gone"));
    daemon_.start();
    EXPECT_TRUE(heard.wait_for("back"));
    EXPECT_THAT(like_.attached(), ElementsAre(1, 2, 3, 4));
    EXPECT_THAT(like_.levels(), ElementsAre("named", "named"));
    EXPECT_FALSE(heard.has("lost mlx5_0 2"));
}

// A daemon that does not manage the device yet, or no longer.
TEST_F(ClientLibrary, AQueuePairWaitsForItsDevice)
{
    daemon_.start();
    const Handle handle = open_at(socket());
    Heard heard(handle);
    ASSERT_EQ(attach(handle, 1), 0);
    daemon_.stop();
    std::atomic<bool> is_there = false;
    std::atomic<int> taken = 0;
    daemon_.on("Register", [](sd_bus_message* call) {
        return sd_bus_reply_method_return(call, "oa{sv}", "/org/rdmaqos1/session/1", 0);
    });
    daemon_.on("Attach", [&](sd_bus_message* call) {
        sd_bus_message* reply = reply_to(call);
        append_results(reply, read_attaches(call), is_there ? "" : "org.rdmaqos1.Error.UnknownDevice");
        taken += is_there ? 1 : 0;
        return send_reply(reply);
    });
    daemon_.start();
    EXPECT_TRUE(heard.wait_for("back"));
    const int before = daemon_.calls("Attach");
    std::this_thread::sleep_for(kMoment);
    rdmaqos_dispatch(handle.get());
    EXPECT_LE(daemon_.calls("Attach"), before + 1) << "it is not there sooner for being asked for often";
    is_there = true;
    EXPECT_TRUE(eventually([&] {
        rdmaqos_dispatch(handle.get());
        return taken == 1;
    }));
    EXPECT_FALSE(heard.has("lost mlx5_0 1"));
    EXPECT_EQ(rdmaqos_detach_number(handle.get(), "mlx5_0", 1), 0);
}

// What is asked for afterwards is what was asked for before, and not what anybody gets.
TEST_F(ClientLibrary, AfterARefusalTheSameSessionIsAskedFor)
{
    daemon_.start();
    const Handle handle = open_at(socket());
    Heard heard(handle);
    const auto named = for_level("named");
    ASSERT_EQ(rdmaqos_register(handle.get(), &named, nullptr), 0);
    daemon_.stop();
    std::mutex mutex;
    std::vector<std::string> asked;
    daemon_.on("Register", [&](sd_bus_message* call) {
        const std::lock_guard lock(mutex);
        read_register(call, &asked.emplace_back());
        return sd_bus_reply_method_errorf(call, "org.rdmaqos1.Error.UnknownLevel", "no such level");
    });
    daemon_.start();
    EXPECT_TRUE(heard.wait_for("refused"));
    EXPECT_EQ(attach(handle, 1), -ENOENT);
    const std::lock_guard lock(mutex);
    EXPECT_THAT(asked, ElementsAre("named", "named"));
}

TEST_F(ClientLibrary, WhoPersistsGetsWhatWasRefused)
{
    std::atomic<bool> is_granted = false;
    std::atomic<int> asked = 0;
    daemon_.on("Register", [&](sd_bus_message* call) {
        ++asked;
        return is_granted ? sd_bus_reply_method_return(call, "oa{sv}", "/org/rdmaqos1/session/1", 0)
                          : sd_bus_reply_method_errorf(call, "org.rdmaqos1.Error.UnknownLevel", "no such level");
    });
    daemon_.start();
    const Handle handle = open_at(socket(), RDMAQOS_OPEN_DIRECT | RDMAQOS_OPEN_PERSIST);
    Heard heard(handle);
    const auto named = for_level("named");
    EXPECT_EQ(rdmaqos_register(handle.get(), &named, nullptr), -ENOENT);
    for (std::uint32_t number = 1; number <= 10; ++number) {
        EXPECT_EQ(attach(handle, number), -ENOENT);
        EXPECT_STREQ(rdmaqos_last_error(), "no such level");
    }
    EXPECT_LE(asked, 2) << "once for all of them";
    EXPECT_EQ(rdmaqos_get_grant(handle.get(), nullptr), -ENOENT);
    is_granted = true;
    EXPECT_EQ(rdmaqos_detach_number(handle.get(), "mlx5_0", 10), 0);
    EXPECT_TRUE(heard.wait_for("back"));
    EXPECT_TRUE(heard.wait_for("attached mlx5_0 9"));
    EXPECT_EQ(like_.attached().size(), 9U);
}

// ---- processes ----

TEST_F(ClientLibrary, AChildDoesNotDisturbItsParent)
{
    daemon_.start();
    const Handle handle = open_at(socket(), RDMAQOS_OPEN_DIRECT | RDMAQOS_OPEN_THREAD);
    const Heard heard(handle);
    ASSERT_EQ(attach(handle, 1), 0);
    const pid_t child = fork();
    if (child == 0) {
        int failures = attach(handle, 2) == -ECHILD ? 0 : 1;
        failures += rdmaqos_dispatch(handle.get()) == -ECHILD ? 0 : 2;
        failures += rdmaqos_get_fd(handle.get()) == -ECHILD ? 0 : 4;
        rdmaqos_close(handle.get());
        const std::string path = socket();
        rdmaqos_open_attr attr;
        rdmaqos_open_attr_init(&attr);
        attr.socket = path.c_str();
        rdmaqos_handle* own = nullptr;
        failures += rdmaqos_open(&own, &attr) == 0 ? 0 : 8;
        failures += rdmaqos_register(own, nullptr, nullptr) == 0 ? 0 : 16;
        rdmaqos_close(own);
        _exit(failures);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_EQ(attach(handle, 2), 0);
    EXPECT_THAT(heard.all(), ElementsAre());
}

// A child that keeps the socket open does not keep the session.
TEST_F(ClientLibrary, ClosingEndsTheConnectionAlsoForChildren)
{
    std::atomic<int> released = 0;
    daemon_.on("Release", [&](sd_bus_message* call) {
        ++released;
        return sd_bus_reply_method_return(call, "");
    });
    daemon_.start();
    Handle handle = open_at(socket());
    ASSERT_EQ(attach(handle, 1), 0);
    const pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    EXPECT_EQ(daemon_.connections(), 1U);
    handle.reset();
    EXPECT_EQ(released, 1);
    EXPECT_TRUE(eventually([&] { return daemon_.connections() == 0; }));
    signal_process(child, SIGKILL);
    waitpid(child, nullptr, 0);
}

}    // namespace
}    // namespace rdmaqos::test
