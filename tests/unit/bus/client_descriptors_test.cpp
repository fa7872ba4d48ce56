// Descriptors that clients send: which message they belong to, and that none is received where it must not be.
#include <filesystem>
#include <functional>
#include <future>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/bus/client.h"
#include "lib/bus/descriptor_helper.h"
#include "tests/support/lingering.h"
#include "tests/support/raw_client.h"
#include "tests/support/toy_server.h"

namespace rdmaqos::bus {
namespace {

using namespace std::string_literals;
using test::ping;
using test::RawClient;

constexpr char kMethodReturn = 2;
const std::string kAuthenticationButBegin = "\0AUTH EXTERNAL\r\nDATA\r\nNEGOTIATE_UNIX_FD\r\n"s;

class ClientDescriptors : public testing::Test {
protected:
    // While the server does nothing.
    void in_one_go(const std::function<void()>& function)
    {
        std::packaged_task<void()> task(function);
        auto done = task.get_future();
        server_.run([&task] { task(); });
        done.get();
    }
    [[nodiscard]] int file() const { return file_.get(); }
    void expect_others_are_served() const
    {
        auto other = Client::connect_direct(server_.path());
        EXPECT_TRUE(other && other->call(names::kRoot, names::kManager, "Echo", {Value(Dict())}));
    }

    test::ToyServer server_{{}, {RDMAQOS_TEST_HELPER, kDescriptorHelperCommand}};

private:
    const UniqueFd file_{memfd_create("text", MFD_CLOEXEC)};
};

TEST_F(ClientDescriptors, ACallWithADescriptorMayComeAtOnceBehindTheAuthentication)
{
    const RawClient raw(server_.path());
    in_one_go([&] {
        raw.say(kAuthenticationButBegin);
        raw.say("BEGIN\r\n");
        raw.say(ping(1), file());
    });
    EXPECT_FALSE(raw.receive_messages(1, kMethodReturn).empty());
}

TEST_F(ClientDescriptors, TheAuthenticationMayComeByteByByteBeforeACallWithADescriptor)
{
    const RawClient raw(server_.path());
    in_one_go([&] {
        for (const char byte : kAuthenticationButBegin + "BEGIN\r\n") {
            raw.say(std::string(1, byte));
        }
        raw.say(ping(1), file());
    });
    EXPECT_FALSE(raw.receive_messages(1, kMethodReturn).empty());
}

TEST_F(ClientDescriptors, ManyCallsWithAndWithoutThemMayComeAtOnce)
{
    const RawClient raw(server_.path());
    raw.authenticate();
    constexpr std::size_t kRounds = 20;
    in_one_go([&] {
        for (std::size_t round = 0; round < kRounds; ++round) {
            raw.say(ping(1), file());
            raw.say(ping() + ping());
            raw.say_with(ping(2), std::vector<int>(2, file()));
        }
    });
    EXPECT_FALSE(raw.receive_messages(4 * kRounds, kMethodReturn).empty());
}

TEST_F(ClientDescriptors, ACallWithADescriptorMayFollowOneThatIsTooLarge)
{
    ServerLimits limits;
    limits.client.message = 16384;
    const test::ToyServer server(limits, {RDMAQOS_TEST_HELPER, kDescriptorHelperCommand});
    const RawClient raw(server.path());
    raw.authenticate();
    std::string large = ping();
    const std::uint32_t body = 32768;
    large.replace(4, sizeof(body), reinterpret_cast<const char*>(&body), sizeof(body));
    large.append(body, 'x');
    for (int round = 0; round < 20; ++round) {
        raw.say(large);
        raw.say(ping(1), file());
        ASSERT_FALSE(raw.receive_messages(1, kMethodReturn).empty()) << round;
    }
}

// ---- malformed messages ----

std::ptrdiff_t count_descriptors()
{
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

// Nobody answers for the descriptors that come with such a message: they are closed all the same.
TEST_F(ClientDescriptors, AMalformedMessageIsAnsweredAndEndsTheConnection)
{
    std::string no_path = ping(20);
    no_path[24] = 'x';    // in place of the '/'
    std::string no_serial = ping(20);
    no_serial[8] = '\0';
    struct Case {
        const char* what;
        std::string bytes;
        std::size_t descriptors;
        bool answered;
    };
    const std::vector<Case> cases{
        {"says 20, 253 came", ping(20), 253, true},
        {"says 20, 19 came", ping(20), 19, true},
        {"says nothing of them", ping(), 20, true},
        {"says 2, none came", ping(2), 0, true},
        {"path", no_path, 20, true},
        {"serial", no_serial, 20, false},
    };
    expect_others_are_served();    // what is made once is there
    {
        const RawClient raw(server_.path());
        raw.authenticate();
        raw.say_with(ping(253), std::vector<int>(253, file()));
        ASSERT_FALSE(raw.receive_messages(1, kMethodReturn).empty());
    }
    const auto before = count_descriptors();
    for (const Case& each : cases) {
        SCOPED_TRACE(each.what);
        for (int round = 0; round < 5; ++round) {
            const RawClient raw(server_.path());
            raw.authenticate();
            raw.say_with(each.bytes, std::vector<int>(each.descriptors, file()));
            std::string all;
            for (std::string more = raw.receive(); !more.empty(); more = raw.receive()) {
                all += more;
            }
            EXPECT_TRUE(raw.is_closed());
            EXPECT_EQ(all.find("the message ") != std::string::npos, each.answered) << all;
        }
    }
    for (int round = 0; round < 1000 && count_descriptors() > before; ++round) {
        usleep(10'000);    // what ended is closed a moment later
    }
    EXPECT_LE(count_descriptors(), before);
}

// ---- bytes out of band ----

// The kernel closes what came with a byte of MSG_OOB in the middle of a read, where this does not know of it.
class OutOfBand : public ClientDescriptors {
protected:
    // Says all of it while the server does nothing, with the byte in the middle: the server has the last reference.
    void say_around(const RawClient& raw, const std::string& before, const std::string& after)
    {
        in_one_go([&] {
            test::Lingering lingering;
            raw.say(before);
            const int descriptor = lingering.socket.get();
            raw.say_with(std::string(1, '\0'), std::span(&descriptor, 1), MSG_OOB);
            raw.say(after);
            peers_.push_back(std::move(lingering.peer));
        });
    }

private:
    std::vector<UniqueFd> peers_;
};

TEST_F(OutOfBand, BeforeTheAuthentication)
{
    const RawClient raw(server_.path());
    say_around(raw, "", kAuthenticationButBegin);
    expect_others_are_served();
}

TEST_F(OutOfBand, InTheAuthentication)
{
    const RawClient raw(server_.path());
    say_around(raw, kAuthenticationButBegin.substr(0, 10), kAuthenticationButBegin.substr(10));
    expect_others_are_served();
}

TEST_F(OutOfBand, BetweenMessages)
{
    const RawClient raw(server_.path());
    raw.authenticate();
    say_around(raw, ping(), ping());
    expect_others_are_served();
}

TEST_F(OutOfBand, InAMessage)
{
    const RawClient raw(server_.path());
    raw.authenticate();
    say_around(raw, ping().substr(0, 20), ping().substr(20));
    expect_others_are_served();
}

TEST_F(OutOfBand, ItIsAByteLikeAnyOther)
{
    const RawClient raw(server_.path());
    raw.authenticate();
    const std::string bytes = ping();
    in_one_go([&] {
        raw.say(bytes.substr(0, 30));
        raw.say_with(bytes.substr(30, 1), {}, MSG_OOB);
        raw.say(bytes.substr(31));
    });
    EXPECT_FALSE(raw.receive_messages(1, kMethodReturn).empty());
}

}    // namespace
}    // namespace rdmaqos::bus
