// librdmaqos with a fake daemon: none, old ones, new ones, wrong ones, and those that do not answer.
#include <array>
#include <atomic>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/time.h>

#include "tests/support/process.h"
#include "tests/unit/client/library.h"

namespace rdmaqos::test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

// ---- no daemon ----

TEST_F(ClientLibrary, WithoutADaemonEverythingSaysSo)
{
    rdmaqos_open_attr attr;
    rdmaqos_open_attr_init(&attr);
    const std::string path = socket();
    attr.socket = path.c_str();
    auto* handle = reinterpret_cast<rdmaqos_handle*>(&attr);
    EXPECT_EQ(rdmaqos_open(&handle, &attr), -ENOTCONN);
    EXPECT_EQ(handle, nullptr);
    EXPECT_THAT(rdmaqos_last_error(), HasSubstr(path));
    EXPECT_STREQ(rdmaqos_last_error_name(), "");

    const auto queue_pair = numbered(1);
    rdmaqos_answer* answer = nullptr;
    rdmaqos_rate rate;
    rdmaqos_rate_init(&rate);
    EXPECT_EQ(rdmaqos_register(nullptr, nullptr, &answer), -ENOTCONN);
    EXPECT_EQ(rdmaqos_release(nullptr), -ENOTCONN);
    EXPECT_EQ(rdmaqos_get_grant(nullptr, &answer), -ENOTCONN);
    EXPECT_EQ(rdmaqos_query_path(nullptr, nullptr, &answer), -ENOTCONN);
    EXPECT_EQ(rdmaqos_attach_number(nullptr, &queue_pair, nullptr, &answer), -ENOTCONN);
    EXPECT_EQ(rdmaqos_detach_number(nullptr, "mlx5_0", 1), -ENOTCONN);
    EXPECT_EQ(rdmaqos_set_rate_number(nullptr, "mlx5_0", 1, &rate), -ENOTCONN);
    EXPECT_EQ(rdmaqos_dispatch(nullptr), -ENOTCONN);
    EXPECT_EQ(rdmaqos_get_fd(nullptr), -ENOTCONN);
    rdmaqos_close(nullptr);
    EXPECT_EQ(answer, nullptr);
}

TEST_F(ClientLibrary, ASocketThatNobodyServesTakesNoLongerThanTheTimeout)
{
    const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, socket().c_str(), sizeof(address.sun_path) - 1);
    ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    ASSERT_EQ(listen(listener, 0), 0);    // one waits to be accepted, and the next to be that one
    const std::string path = socket();
    rdmaqos_open_attr attr;
    rdmaqos_open_attr_init(&attr);
    attr.socket = path.c_str();
    attr.open_timeout_ms = 200;
    for (int i = 0; i < 3; ++i) {
        rdmaqos_handle* handle = nullptr;
        EXPECT_EQ(rdmaqos_open(&handle, &attr), -ENOTCONN);    // and returns
    }
    close(listener);
}

TEST_F(ClientLibrary, WhatIsAskedForBeforeTheDaemonIsThereIsDoneWhenItComes)
{
    const Handle handle = open_at(socket(), RDMAQOS_OPEN_DIRECT | RDMAQOS_OPEN_WITHOUT_DAEMON);
    Heard heard(handle);
    rdmaqos_answer* grant = nullptr;
    EXPECT_EQ(rdmaqos_register(handle.get(), nullptr, &grant), RDMAQOS_PENDING);
    EXPECT_EQ(grant, nullptr);
    EXPECT_EQ(attach(handle, 17), RDMAQOS_PENDING);
    EXPECT_EQ(attach(handle, 18), RDMAQOS_PENDING);
    EXPECT_EQ(rdmaqos_detach_number(handle.get(), "mlx5_0", 18), 0);
    EXPECT_EQ(rdmaqos_get_transport(handle.get()), RDMAQOS_TRANSPORT_NONE);
    daemon_.start();
    EXPECT_TRUE(heard.wait_for("attached mlx5_0 17")) << ::testing::PrintToString(heard.all());
    EXPECT_THAT(heard.all(), ElementsAre("back", "attached mlx5_0 17"));
    EXPECT_THAT(like_.attached(), ElementsAre(17));
    EXPECT_EQ(rdmaqos_get_transport(handle.get()), RDMAQOS_TRANSPORT_DIRECT);
}

// ---- descriptors of others ----

// A malformed message, so that sd-bus would forget what came with it.
TEST_F(ClientLibrary, NobodySendsDescriptorsToAProgram)
{
    daemon_.start();
    const Handle handle = open_at(socket());
    Heard heard(handle);
    std::atomic<int> refused = 0;    // with this errno; -1: they were taken
    daemon_.each([&refused](sd_bus* bus) {
        std::string signal("l\4\1\1\0\0\0\0\7\0\0\0\0\0\0\0", 16);
        iovec part{signal.data(), signal.size()};
        const int descriptor = STDERR_FILENO;
        alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(descriptor))> control{};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        cmsghdr* rights = CMSG_FIRSTHDR(&message);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof(descriptor));
        std::memcpy(CMSG_DATA(rights), &descriptor, sizeof(descriptor));
        refused = sendmsg(sd_bus_get_fd(bus), &message, MSG_NOSIGNAL) < 0 ? errno : -1;
    });
    for (int round = 0; round < 1000 && refused == 0; ++round) {
        usleep(10'000);
    }
    if (refused == -1) {
        GTEST_SKIP() << "this kernel, older than Linux 6.16, carries descriptors to everybody";
    }
    EXPECT_EQ(refused, EPERM);
    EXPECT_EQ(rdmaqos_register(handle.get(), nullptr, nullptr), 0) << rdmaqos_last_error();
}

// ---- other versions ----

TEST_F(ClientLibrary, ANewerDaemonMaySayMore)
{
    daemon_.on("Register", [](sd_bus_message* call) {
        return sd_bus_reply_method_return(call, "oa{sv}", "/org/rdmaqos1/session/1", 6, "future", "a{s(ii)}", 1, "x", 1,
                                          2, "level", "s", "rpc", "sl", "(y)", 3, "other", "ax", 2, INT64_C(1),
                                          INT64_C(2), "traffic-class", "y", 104, "enforced", "b", 1);
    });
    daemon_.on("Attach", [](sd_bus_message* call) {
        return sd_bus_reply_method_return(call, "aa{sv}", 1, 3, "future", "v", "s", "x", "leaf", "s", "/rpc", "more",
                                          "as", 0);
    });
    daemon_.start();
    const Handle handle = open_at(socket());
    Heard heard(handle);
    rdmaqos_answer* raw = nullptr;
    ASSERT_EQ(rdmaqos_register(handle.get(), nullptr, &raw), 0) << rdmaqos_last_error();
    const Answer grant(raw);
    EXPECT_STREQ(rdmaqos_answer_level(grant.get()), "rpc");
    EXPECT_EQ(rdmaqos_answer_traffic_class(grant.get()), 104);
    EXPECT_EQ(rdmaqos_answer_sl(grant.get()), -ENOENT) << "it is of another type";
    EXPECT_EQ(rdmaqos_answer_enforced(grant.get()), 1);
    const auto queue_pair = numbered(17);
    ASSERT_EQ(rdmaqos_attach_number(handle.get(), &queue_pair, nullptr, &raw), 0) << rdmaqos_last_error();
    const Answer place(raw);
    EXPECT_STREQ(rdmaqos_answer_leaf(place.get()), "/rpc");
    // Signals that it does not know, or not so.
    daemon_.each([](sd_bus* bus) {
        sd_bus_emit_signal(bus, "/org/rdmaqos1/session/1", "org.rdmaqos1.Session", "Future", "s", "x");
        sd_bus_emit_signal(bus, "/org/rdmaqos1/session/1", "org.rdmaqos1.Session", "GrantChanged", "s", "x");
        sd_bus_emit_signal(bus, "/org/rdmaqos1/session/2", "org.rdmaqos1.Session", "GrantChanged", "a{sv}", 0);
        sd_bus_emit_signal(bus, "/org/rdmaqos1/session/1", "org.rdmaqos1.Session", "GrantChanged", "a{sv}", 2, "level",
                           "s", "bulk", "future", "(s)", "x");
    });
    EXPECT_TRUE(heard.wait_for("grant bulk"));
    EXPECT_THAT(heard.all(), ElementsAre("grant bulk"));
}

TEST_F(ClientLibrary, AnOlderDaemonMayKnowLess)
{
    daemon_.on("Register", [](sd_bus_message* call) {
        return sd_bus_reply_method_return(call, "oa{sv}", "/org/rdmaqos1/session/1", 1, "level", "s", "rpc");
    });
    daemon_.start();
    const Handle handle = open_at(socket());
    rdmaqos_answer* raw = nullptr;
    ASSERT_EQ(rdmaqos_register(handle.get(), nullptr, &raw), 0);
    const Answer grant(raw);
    EXPECT_EQ(rdmaqos_answer_sl(grant.get()), -ENOENT);
    EXPECT_EQ(rdmaqos_answer_message_model(grant.get()), -ENOENT);
    EXPECT_EQ(rdmaqos_answer_sl_source(grant.get()), RDMAQOS_SL_SUBNET_MANAGER);
    EXPECT_STREQ(rdmaqos_answer_leaf(grant.get()), "");
    EXPECT_EQ(rdmaqos_query_path(handle.get(), nullptr, &raw), -EOPNOTSUPP);
    EXPECT_STREQ(rdmaqos_last_error_name(), "org.freedesktop.DBus.Error.UnknownMethod");
    ASSERT_EQ(rdmaqos_get_grant(handle.get(), &raw), 0) << "the last one it was told";
    EXPECT_STREQ(rdmaqos_answer_level(Answer(raw).get()), "rpc");
}

TEST_F(ClientLibrary, AnOlderAndANewerProgram)
{
    daemon_.start();
    rdmaqos_request request = for_level("rpc");
    request.size = offsetof(rdmaqos_request, qos_class_name);    // all that an older header had
    request.qos_class_name = reinterpret_cast<const char*>(1);
    const Handle old_one = open_at(socket());
    EXPECT_EQ(rdmaqos_register(old_one.get(), &request, nullptr), 0) << rdmaqos_last_error();

    struct Newer {
        rdmaqos_request known;
        std::uint64_t later;
    } newer{for_level("rpc"), 0};
    newer.known.size = sizeof(newer);
    const Handle new_one = open_at(socket());
    newer.later = 1;
    EXPECT_EQ(rdmaqos_register(new_one.get(), &newer.known, nullptr), -EOPNOTSUPP);
    newer.later = 0;
    newer.known.mask = UINT64_C(1) << 40U;
    EXPECT_EQ(rdmaqos_register(new_one.get(), &newer.known, nullptr), -EOPNOTSUPP);
    newer.known.mask = 0;
    EXPECT_EQ(rdmaqos_register(new_one.get(), &newer.known, nullptr), 0);
    newer.known.size = 0;
    rdmaqos_answer* path = nullptr;
    EXPECT_EQ(rdmaqos_query_path(new_one.get(), &newer.known, &path), -EINVAL);
}

// ---- what daemons refuse ----

struct ErrorCase {
    const char* name;
    int error;
};
class ClientErrors : public ClientLibrary, public ::testing::WithParamInterface<ErrorCase> {};

TEST_P(ClientErrors, AreErrnosWithTheDaemonsWords)
{
    daemon_.on("Register", [](sd_bus_message* call) {
        return sd_bus_reply_method_errorf(call, GetParam().name, "as the daemon says");
    });
    daemon_.start();
    const Handle handle = open_at(socket());
    EXPECT_EQ(rdmaqos_register(handle.get(), nullptr, nullptr), -GetParam().error);
    EXPECT_STREQ(rdmaqos_last_error(), "as the daemon says");
    EXPECT_STREQ(rdmaqos_last_error_name(), GetParam().name);
    // There is no session now, and it may be asked for again.
    EXPECT_EQ(rdmaqos_register(handle.get(), nullptr, nullptr), -GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(All, ClientErrors,
                         ::testing::Values(ErrorCase{"org.freedesktop.DBus.Error.InvalidArgs", EINVAL},
                                           ErrorCase{"org.freedesktop.DBus.Error.AccessDenied", EACCES},
                                           ErrorCase{"org.freedesktop.DBus.Error.LimitsExceeded", EDQUOT},
                                           ErrorCase{"org.freedesktop.DBus.Error.NotSupported", EOPNOTSUPP},
                                           ErrorCase{"org.rdmaqos1.Error.UnknownLevel", ENOENT},
                                           ErrorCase{"org.rdmaqos1.Error.LevelNotAllowed", EACCES},
                                           ErrorCase{"org.rdmaqos1.Error.BadState", EBADFD},
                                           ErrorCase{"org.rdmaqos1.Error.Busy", EAGAIN},
                                           ErrorCase{"org.rdmaqos1.Error.NoSpace", ENOSPC},
                                           ErrorCase{"org.rdmaqos1.Error.DeviceGone", ENODEV},
                                           ErrorCase{"org.rdmaqos1.Error.Timeout", ETIMEDOUT},
                                           ErrorCase{"org.rdmaqos1.Error.InvalidPolicy", EKEYREJECTED},
                                           ErrorCase{"org.rdmaqos1.Error.FromTheFuture", EIO}));

TEST_F(ClientLibrary, NonsenseIsAnError)
{
    daemon_.on("Register", [](sd_bus_message* call) { return sd_bus_reply_method_return(call, "s", "nonsense"); });
    daemon_.start();
    const Handle handle = open_at(socket());
    EXPECT_LT(rdmaqos_register(handle.get(), nullptr, nullptr), 0);
    EXPECT_THAT(rdmaqos_last_error(), HasSubstr("something else than documented"));
}

TEST_F(ClientLibrary, AsManyResultsAsQueuePairs)
{
    daemon_.on("Attach", [](sd_bus_message* call) { return sd_bus_reply_method_return(call, "aa{sv}", 0); });
    daemon_.start();
    const Handle handle = open_at(socket());
    EXPECT_EQ(attach(handle, 17), -EBADMSG);
    EXPECT_EQ(rdmaqos_detach_number(handle.get(), "mlx5_0", 17), -ENOENT);
}

// ---- daemons that hang ----

// What a daemon that answers needs no part of.
constexpr std::uint32_t kSoon = 2000;    // ms

TEST_F(ClientLibrary, ACallEndsInTimeAndTheQueuePairIsTakenOutAgain)
{
    daemon_.on("Attach", [](sd_bus_message*) { return 1; });
    daemon_.start();
    const Handle handle = open_at(socket(), RDMAQOS_OPEN_DIRECT, kSoon);
    ASSERT_EQ(rdmaqos_register(handle.get(), nullptr, nullptr), 0);
    EXPECT_EQ(attach(handle, 17), -ETIMEDOUT);
    EXPECT_TRUE(eventually([&] { return daemon_.calls("Detach") == 1; }));
    EXPECT_EQ(rdmaqos_detach_number(handle.get(), "mlx5_0", 17), -ENOENT) << "it is not attached";
}

// The head of a reply, and then nothing: not a reason to wait for another timeout.
TEST_F(ClientLibrary, HalfAReplyIsWaitedForNoLongerThanNone)
{
    std::atomic<bool> sends_half = false;
    daemon_.on("Attach", [&](sd_bus_message* call) {
        const std::string half("l\2\1\1\x40\0\0\0\7\0\0\0", 12);
        const int fd = sd_bus_get_fd(sd_bus_message_get_bus(call));
        return !sends_half || send(fd, half.data(), half.size(), MSG_NOSIGNAL) > 0 ? 1 : -EIO;
    });
    daemon_.start();
    const Handle handle = open_at(socket(), RDMAQOS_OPEN_DIRECT, kSoon);
    ASSERT_EQ(rdmaqos_register(handle.get(), nullptr, nullptr), 0);
    auto before = Clock::now();
    EXPECT_EQ(attach(handle, 17), -ETIMEDOUT);
    const auto without = Clock::now() - before;
    sends_half = true;
    before = Clock::now();
    EXPECT_EQ(attach(handle, 18), -ETIMEDOUT);
    const auto with_half = Clock::now() - before;
    EXPECT_LT(with_half, 3 * without) << "what the wait without any reply took, in the same run";
}

TEST_F(ClientLibrary, WhoWaitsForTheOthersWaitsNoLongerThanTheTimeout)
{
    daemon_.on("Attach", [](sd_bus_message*) { return 1; });
    daemon_.start();
    const Handle handle = open_at(socket(), RDMAQOS_OPEN_DIRECT, kSoon);
    ASSERT_EQ(rdmaqos_register(handle.get(), nullptr, nullptr), 0);
    auto before = Clock::now();
    EXPECT_EQ(attach(handle, 99), -ETIMEDOUT);
    const auto one = Clock::now() - before;
    before = Clock::now();
    std::vector<std::thread> threads;
    std::atomic<int> late = 0;
    for (std::uint32_t i = 0; i < 8; ++i) {
        threads.emplace_back([&, i] { late += attach(handle, 100 + i) == -ETIMEDOUT ? 1 : 0; });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    const auto eight = Clock::now() - before;
    EXPECT_EQ(late, 8);
    EXPECT_LT(eight, 5 * one) << "one after the other it would be eight times as long";
}

// A program with a timer, whose signals interrupt every wait.
TEST_F(ClientLibrary, SignalsDoNotDisturb)
{
    daemon_.on("Attach", [](sd_bus_message* call) {
        std::this_thread::sleep_for(20ms);
        sd_bus_message* reply = reply_to(call);
        append_results(reply, read_attaches(call));
        return send_reply(reply);
    });
    sigset_t alarms{};
    sigset_t before{};
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarms, &before);    // so that the daemon's thread is spared
    daemon_.start();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    static std::atomic<int> signals = 0;
    struct sigaction action {};
    action.sa_handler = [](int) { ++signals; };    // without SA_RESTART
    struct sigaction old_action {};
    sigaction(SIGALRM, &action, &old_action);
    const itimerval often{{0, 1000}, {0, 1000}};
    setitimer(ITIMER_REAL, &often, nullptr);
    // On a busy machine they are fewer.
    for (std::uint32_t number = 1; number <= 20 || signals <= 50; ++number) {
        const Handle handle = open_at(socket());
        EXPECT_EQ(attach(handle, number), 0) << rdmaqos_last_error();
        EXPECT_EQ(rdmaqos_detach_number(handle.get(), "mlx5_0", number), 0) << rdmaqos_last_error();
    }
    const itimerval never{};
    setitimer(ITIMER_REAL, &never, nullptr);
    sigaction(SIGALRM, &old_action, nullptr);
}

// A program may cancel its threads. What one of them has begun is ended first.
TEST_F(ClientLibrary, AThreadThatIsCancelledLeavesTheHandleInOrder)
{
    daemon_.on("Attach", [](sd_bus_message* call) {
        std::this_thread::sleep_for(1ms);    // most of them are cancelled while they wait for this
        sd_bus_message* reply = reply_to(call);
        append_results(reply, read_attaches(call));
        return send_reply(reply);
    });
    daemon_.start();
    static Handle handle;
    handle = open_at(socket(), RDMAQOS_OPEN_DIRECT | RDMAQOS_OPEN_THREAD);
    static std::atomic<int> failures;
    failures = 0;
    for (int i = 0; i < 50; ++i) {
        pthread_t thread{};
        const auto work = [](void*) -> void* {
            // The address sanitizer does not clear the stack of a thread that is cancelled.
            static const auto queue_pair = numbered(7);
            while (true) {
                failures += rdmaqos_attach_number(handle.get(), &queue_pair, nullptr, nullptr) == 0 ? 0 : 1;
                failures += rdmaqos_detach_number(handle.get(), "mlx5_0", 7) == 0 ? 0 : 1;
                pthread_testcancel();
            }
        };
        ASSERT_EQ(pthread_create(&thread, nullptr, work, nullptr), 0);
        std::this_thread::sleep_for(std::chrono::microseconds(100 * (i % 20)));
        ASSERT_EQ(pthread_cancel(thread), 0);
        void* result = nullptr;
        ASSERT_EQ(pthread_join(thread, &result), 0);
        ASSERT_EQ(result, PTHREAD_CANCELED);
    }
    EXPECT_EQ(failures, 0);
    EXPECT_EQ(attach(handle, 8), 0) << "nobody has the turn";
    handle.reset();
}

// ---- many ----

TEST_F(ClientLibrary, ManyQueuePairsInFewRoundTrips)
{
    daemon_.start();
    const Handle handle = open_at(socket());
    constexpr std::size_t kMany = 300;
    std::vector<rdmaqos_queue_pair> queue_pairs;
    std::vector<const rdmaqos_queue_pair*> pointers;
    for (std::uint32_t i = 0; i < kMany; ++i) {
        queue_pairs.push_back(numbered(1000 + i));
    }
    queue_pairs[150].device = nullptr;    // fails alone
    for (const auto& each : queue_pairs) {
        pointers.push_back(&each);
    }
    std::vector<int> results(kMany, 7);
    std::vector<rdmaqos_answer*> places(kMany);
    EXPECT_EQ(rdmaqos_attach_numbers(handle.get(), kMany, pointers.data(), nullptr, results.data(), places.data()), 1);
    for (std::uint32_t i = 0; i < kMany; ++i) {
        const Answer place(places[i]);
        EXPECT_EQ(results[i], i == 150 ? -EINVAL : 0);
        EXPECT_EQ(rdmaqos_answer_leaf(place.get()), i == 150 ? "" : "/leaf/" + std::to_string(1000 + i));
    }
    EXPECT_EQ(daemon_.calls("Attach"), 3);
    EXPECT_EQ(like_.largest(), 128U);
}

TEST_F(ClientLibrary, OneDescriptorForTheFileOfManyQueuePairs)
{
    daemon_.start();
    const Handle handle = open_at(socket());
    const int one = open("/dev/null", O_RDWR | O_CLOEXEC);
    const int other = open("/dev/zero", O_RDWR | O_CLOEXEC);
    std::vector<rdmaqos_queue_pair> all{numbered(1), numbered(2), numbered(3)};
    std::vector<const rdmaqos_queue_pair*> pointers;
    for (auto& each : all) {
        each.fd = one;
        pointers.push_back(&each);
    }
    EXPECT_EQ(rdmaqos_attach_numbers(handle.get(), 3, pointers.data(), nullptr, nullptr, nullptr), 0);
    EXPECT_EQ(like_.descriptors(), 1);
    like_.forget();
    all[1].fd = other;
    EXPECT_EQ(rdmaqos_attach_numbers(handle.get(), 3, pointers.data(), nullptr, nullptr, nullptr), 0);
    EXPECT_EQ(like_.descriptors(), 3) << "it has two files of the device: which one is meant must be said";
    close(other);
    all[1].fd = other;
    EXPECT_EQ(rdmaqos_attach_number(handle.get(), &all[1], nullptr, nullptr), -EBADF);
    close(one);
}

}    // namespace
}    // namespace rdmaqos::test
