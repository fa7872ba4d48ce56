// Who connected, where the kernel tells a number alone: the first message has to come from that process. And where it
// tells more.
#include <cstring>
#include <future>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/bus/client.h"
#include "tests/support/kernel_version.h"
#include "tests/support/old_kernel.h"
#include "tests/support/patience.h"
#include "tests/support/qemu_user.h"
#include "tests/support/toy_server.h"

namespace rdmaqos::bus {
namespace {

using namespace std::string_literals;
using test::ToyServer;

class FirstCall : public testing::Test {
protected:
    void on_loop(const std::function<void()>& function)
    {
        std::packaged_task<void()> task(function);
        auto done = task.get_future();
        server_.run([&task] { task(); });
        done.get();
    }
    [[nodiscard]] UniqueFd connected() const
    {
        UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::strncpy(address.sun_path, server_.path().c_str(), sizeof(address.sun_path) - 1);
        EXPECT_EQ(connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
        const timeval patience{test::kHung.count(), 0};
        setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
        return socket;
    }

    ToyServer server_;
};

class OldKernel : public FirstCall {
protected:
    void SetUp() override
    {
        RDMAQOS_NOT_BELOW_QEMU_USER(kNoSeccomp);
        on_loop([] { test::play_old_kernel(); });
    }
};

void say(const UniqueFd& socket, const std::string& bytes)
{
    EXPECT_EQ(send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
}

// All that comes until this does, or the connection ends.
std::string hear(const UniqueFd& socket, const std::string& last)
{
    std::string all;
    std::string buffer(65536, '\0');
    while (all.find(last) == std::string::npos) {
        const ssize_t got = recv(socket.get(), buffer.data(), buffer.size(), 0);
        if (got <= 0) {
            break;
        }
        all.append(buffer, 0, static_cast<std::size_t>(got));
    }
    return all;
}

const std::string kAuthentication = "\0AUTH EXTERNAL\r\nDATA\r\nBEGIN\r\n"s;

// org.freedesktop.DBus.Peer.Ping at "/".
std::string ping_call()
{
    std::string bytes = "l\1\0\1\0\0\0\0\2\0\0\0\0\0\0\0"
                        "\1\1o\0\1\0\0\0/\0\0\0\0\0\0\0"
                        "\2\1s\0\31\0\0\0org.freedesktop.DBus.Peer\0\0\0\0\0\0\0"
                        "\3\1s\0\4\0\0\0Ping\0\0\0\0"s;
    bytes[12] = static_cast<char>(bytes.size() - 16 - 3);    // without the padding at the end
    return bytes;
}

const std::string kReply = "l\2\1\1"s;
const std::string kError = "l\3\1\1"s;

// Of the kernel that runs here.
TEST_F(FirstCall, MayBeAChildsWhereTheKernelTellsWhoConnected)
{
    const auto socket = connected();
    say(socket, kAuthentication);
    hear(socket, "OK ");
    const pid_t child = fork();
    if (child == 0) {
        _exit(send(socket.get(), ping_call().data(), ping_call().size(), MSG_NOSIGNAL) > 0 ? 0 : 1);
    }
    waitpid(child, nullptr, 0);
    const std::string answer = hear(socket, test::kernel_tells_who_connected() ? kReply : "make it");
    EXPECT_EQ(answer.find(kReply) != std::string::npos, test::kernel_tells_who_connected()) << answer;
}

TEST_F(OldKernel, WhoConnectedIsServed)
{
    auto client = Client::connect_direct(server_.path());
    ASSERT_TRUE(client) << to_string(client.error());
    for (int count = 0; count < 3; ++count) {
        EXPECT_TRUE(client->call(names::kRoot, names::kManager, "Echo", {Value(Dict())}));
    }
}

TEST_F(OldKernel, AMessageMayComeInPieces)
{
    const auto socket = connected();
    say(socket, kAuthentication);
    hear(socket, "OK ");
    for (const char byte : ping_call()) {
        say(socket, std::string(1, byte));
    }
    EXPECT_NE(hear(socket, kReply).find(kReply), std::string::npos);
}

// The second call of the same connection may be another's: a child that inherited it.
TEST_F(OldKernel, AnotherMaySendWhatFollows)
{
    const auto socket = connected();
    say(socket, kAuthentication);
    hear(socket, "OK ");
    say(socket, ping_call());
    ASSERT_NE(hear(socket, kReply).find(kReply), std::string::npos);
    const pid_t child = fork();
    if (child == 0) {
        _exit(send(socket.get(), ping_call().data(), ping_call().size(), MSG_NOSIGNAL) > 0 ? 0 : 1);
    }
    waitpid(child, nullptr, 0);
    EXPECT_NE(hear(socket, kReply).find(kReply), std::string::npos);
}

TEST_F(OldKernel, AnotherProcessIsNotTakenForWhoConnected)
{
    const auto socket = connected();
    say(socket, kAuthentication);
    hear(socket, "OK ");
    const pid_t child = fork();
    if (child == 0) {
        _exit(send(socket.get(), ping_call().data(), ping_call().size(), MSG_NOSIGNAL) > 0 ? 0 : 1);
    }
    waitpid(child, nullptr, 0);
    const std::string answer = hear(socket, "make it");
    EXPECT_NE(answer.find(kError), std::string::npos) << answer;
    EXPECT_NE(answer.find(fmt::format("process {} connected, but process {} sent the first call", getpid(), child)),
              std::string::npos)
        << answer;
    // Nor is anything of this connection served later.
    say(socket, ping_call());
    EXPECT_NE(hear(socket, "make it").find(kError), std::string::npos);
}

// By an owner of the number that ended before the daemon looked, perhaps.
TEST_F(OldKernel, WhatWasSentBeforehandProvesNothing)
{
    UniqueFd socket;
    on_loop([&] {
        socket = connected();
        say(socket, kAuthentication + ping_call());
    });
    const std::string answer = hear(socket, "first call");
    EXPECT_NE(answer.find(kError), std::string::npos) << answer;
    EXPECT_NE(answer.find("wait for the answer to the authentication"), std::string::npos) << answer;
    EXPECT_EQ(answer.find(kReply), std::string::npos) << answer;
}

}    // namespace
}    // namespace rdmaqos::bus
