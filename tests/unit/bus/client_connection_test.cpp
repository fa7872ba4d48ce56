// What a client may send, and what happens to one that sends something else.
#include <cstring>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/descriptor_message.h"
#include "lib/bus/client.h"
#include "tests/support/patience.h"
#include "tests/support/toy_server.h"

namespace rdmaqos::bus {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using test::ToyServer;

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

// A client that speaks D-Bus byte by byte.
class Raw {
public:
    explicit Raw(const std::filesystem::path& path) : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0))
    {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
        EXPECT_EQ(connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
        const timeval patience{test::kHung.count(), 0};
        setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    }

    void say(const std::string& bytes, int descriptor = -1) const
    {
        iovec part{const_cast<char*>(bytes.data()), bytes.size()};
        DescriptorRoom room;
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        room.put(message, std::span(&descriptor, descriptor >= 0 ? 1 : 0));
        EXPECT_EQ(sendmsg(socket_.get(), &message, MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
    }
    void authenticate() const
    {
        say("\0AUTH EXTERNAL\r\nDATA\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\n"s);
        std::string answer;
        while (answer.find("AGREE_UNIX_FD\r\n") == std::string::npos) {
            char byte = 0;
            ASSERT_EQ(recv(socket_.get(), &byte, 1, 0), 1) << answer;
            answer.push_back(byte);
        }
    }
    // What comes, to the end; empty if it does not come to an end.
    [[nodiscard]] bool is_closed() const
    {
        std::string buffer(65536, '\0');
        ssize_t got = 0;
        do {
            got = recv(socket_.get(), buffer.data(), buffer.size(), 0);
        } while (got > 0);
        return got == 0 || errno == ECONNRESET;
    }
    [[nodiscard]] std::string receive() const
    {
        std::string buffer(65536, '\0');
        const ssize_t got = recv(socket_.get(), buffer.data(), buffer.size(), 0);
        buffer.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
        return buffer;
    }

private:
    UniqueFd socket_;
};

// org.freedesktop.DBus.Peer.Ping at "/", serial 2.
const std::string kPing = "l\1\0\1\0\0\0\0\2\0\0\0\x55\0\0\0"
                          "\1\1o\0\1\0\0\0/\0\0\0\0\0\0\0"
                          "\2\1s\0\31\0\0\0org.freedesktop.DBus.Peer\0\0\0\0\0\0\0"
                          "\3\1s\0\4\0\0\0Ping\0\0\0\0"s;

std::string ping()
{
    std::string bytes = kPing;
    bytes[12] = static_cast<char>(bytes.size() - 16 - 3);    // without the padding at the end
    return bytes;
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
