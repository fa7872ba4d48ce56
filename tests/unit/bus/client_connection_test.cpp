// What a client may send, and what happens to one that sends something else.
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/bus/client.h"
#include "tests/support/contained.h"
#include "tests/support/patience.h"
#include "tests/support/process.h"
#include "tests/support/raw_client.h"
#include "tests/support/toy_server.h"

namespace rdmaqos::bus {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using test::ToyServer;
using Raw = test::RawClient;
using test::ping;

Dict text_of_size(std::size_t size)
{
    Dict dict;
    dict.set("text", std::string(size, 'x'));
    return dict;
}

Result<std::vector<Value>> echo(Client& client, const Dict& dict)
{
    return client.call(names::kRoot, names::kManager, "Echo", {Value(dict)});
}

TEST(ClientConnection, LargeMessagesGoInPieces)
{
    const ToyServer server;
    auto client = Client::connect_direct(server.path());
    ASSERT_TRUE(client);
    for (const std::size_t size : {1U, 4000U, 4096U, 65536U, 500'000U, 1'000'000U}) {
        const auto answer = echo(*client, text_of_size(size));
        ASSERT_TRUE(answer) << size << ": " << to_string(answer.error());
        EXPECT_EQ(*answer->front().as<Dict>(), text_of_size(size)) << size;
    }
}

TEST(ClientConnection, ATooLargeMessageIsAnsweredAndTheNextIsServed)
{
    const ToyServer server;
    auto client = Client::connect_direct(server.path());
    ASSERT_TRUE(client);
    const auto refused = echo(*client, text_of_size(3'000'000));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::LimitReached);
    EXPECT_NE(refused.error().message.find("at most 1048576 bytes"), std::string::npos) << refused.error().message;
    EXPECT_TRUE(echo(*client, text_of_size(10)));
}

TEST(ClientConnection, ALongHeaderIsAnsweredAndTheNextIsServed)
{
    const ToyServer server;
    auto client = Client::connect_direct(server.path());
    ASSERT_TRUE(client);
    std::string path;
    for (int count = 0; count < 2000; ++count) {
        path += "/a";
    }
    const auto refused = client->call(path, names::kManager, "Echo", {Value(Dict())});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::LimitReached);
    EXPECT_NE(refused.error().message.find("header"), std::string::npos) << refused.error().message;
    EXPECT_TRUE(echo(*client, text_of_size(10)));
}

TEST(ClientConnection, AMessageMayComeByteByByte)
{
    const ToyServer server;
    const Raw raw(server.path());
    raw.authenticate();
    const std::string bytes = ping();
    for (const char byte : bytes) {
        raw.say(std::string(1, byte));
    }
    const auto answer = raw.receive();
    ASSERT_GE(answer.size(), 16U);
    EXPECT_EQ(answer[1], 2) << "a reply";
}

TEST(ClientConnection, SeveralMessagesMayComeAtOnceAndWithTheAuthentication)
{
    const ToyServer server;
    const Raw raw(server.path());
    raw.say("\0AUTH EXTERNAL\r\nDATA\r\nBEGIN\r\n"s + ping() + ping());
    std::string answers;
    for (int round = 0; round < 10 && answers.find("OK ") == std::string::npos; ++round) {
        answers += raw.receive();
    }
    std::size_t replies = 0;
    while (replies < 2) {
        const auto more = answers.find("l\2\1\1"s);
        if (more == std::string::npos) {
            const auto next = raw.receive();
            ASSERT_FALSE(next.empty()) << replies << " replies";
            answers += next;
            continue;
        }
        answers.erase(0, more + 4);
        ++replies;
    }
}

TEST(ClientConnection, AMessageThatDoesNotEndEndsTheConnection)
{
    ServerLimits limits;
    limits.client.message_time = 2s;    // enough for whole ones
    const ToyServer server(limits);
    auto honest = Client::connect_direct(server.path());
    ASSERT_TRUE(honest);
    const Raw raw(server.path());
    raw.authenticate();
    raw.say(ping().substr(0, 30));
    EXPECT_TRUE(raw.is_closed());
    EXPECT_TRUE(echo(*honest, text_of_size(10)));
}

// Half a message of 256 KiB where a user may have 64 KiB of them.
bool may_have_much_unfinished(const std::filesystem::path& path)
{
    const Raw raw(path);
    raw.authenticate();
    std::string bytes = ping().substr(0, 16);
    constexpr std::uint32_t kBody = 256U << 10U;
    std::memcpy(bytes.data() + 4, &kBody, sizeof(kBody));
    bytes = bytes + ping().substr(16) + std::string(128U << 10U, 'x');
    for (std::size_t at = 0; at < bytes.size(); at += 4096) {
        const std::string part = bytes.substr(at, 4096);
        if (send(raw.fd(), part.data(), part.size(), MSG_NOSIGNAL) < 0) {
            return false;
        }
    }
    int unread = 1;
    return test::eventually([&] { return ioctl(raw.fd(), SIOCOUTQ, &unread) == 0 && unread == 0; }) &&
           recv(raw.fd(), bytes.data(), 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

TEST(ClientConnection, OnlyTheHostsRootMayHaveMuchUnfinished)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root can become the root of a container";
    }
    ServerLimits limits;
    limits.client.unfinished_of_user = 64U << 10U;
    const ToyServer server(limits);
    const auto tried_as = [&](bool contained) {
        test::Child child([&] {
            const bool is_it = !contained || test::become_contained_root();
            _exit(!is_it ? 2 : may_have_much_unfinished(server.path()) ? 0 : 1);
        });
        const auto status = child.wait();
        return status && WIFEXITED(*status) ? WEXITSTATUS(*status) : -1;
    };
    EXPECT_EQ(tried_as(false), 0);
    EXPECT_EQ(tried_as(true), 1);
}

TEST(ClientConnection, AMessageThatNobodyCanWantEndsTheConnection)
{
    const ToyServer server;
    const Raw raw(server.path());
    raw.authenticate();
    std::string bytes = ping().substr(0, 16);
    bytes.replace(4, 4, "\xff\xff\xff\x7f");
    raw.say(bytes);
    EXPECT_TRUE(raw.is_closed());
}

TEST(ClientConnection, DescriptorsWithoutAHelperEndTheConnection)
{
    const ToyServer server;
    auto honest = Client::connect_direct(server.path());
    ASSERT_TRUE(honest);
    const Raw raw(server.path());
    raw.authenticate();
    raw.say(ping(), STDIN_FILENO);
    EXPECT_TRUE(raw.is_closed());
    EXPECT_TRUE(echo(*honest, text_of_size(10)));
}

TEST(ClientConnection, DescriptorsDuringAuthenticationEndTheConnection)
{
    const ToyServer server;
    const Raw raw(server.path());
    raw.say("\0AUTH EXTERNAL\r\n"s, STDIN_FILENO);
    EXPECT_TRUE(raw.is_closed());
}

TEST(ClientConnection, WhoDoesNotReadIsNotReadFrom)
{
    ServerLimits limits;
    limits.client.unread = 3'000'000;
    const ToyServer server(limits);
    auto honest = Client::connect_direct(server.path());
    ASSERT_TRUE(honest);
    const Raw lazy(server.path());
    lazy.authenticate();
    // More replies than the limit allows: they are not made while none is read.
    std::string pings;
    for (int count = 0; count < 1000; ++count) {
        pings += ping();
    }
    std::thread sender([&] {
        for (int count = 0; count < 200; ++count) {
            lazy.say(pings);
        }
    });
    std::this_thread::sleep_for(200ms);
    EXPECT_TRUE(echo(*honest, text_of_size(10)));
    std::size_t received = 0;
    constexpr std::size_t kReply = 24;    // at least
    while (received < 200U * 1000 * kReply) {
        const auto bytes = lazy.receive();
        ASSERT_FALSE(bytes.empty()) << "the connection stays: " << received;
        received += bytes.size();
    }
    sender.join();
}

}    // namespace
}    // namespace rdmaqos::bus
