#include "lib/bus/server.h"

#include <cstring>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/bus/client.h"
#include "tests/support/patience.h"
#include "tests/support/toy_server.h"

namespace rdmaqos::bus {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::ToyServer;

UniqueFd raw_connection(const std::filesystem::path& path)
{
    UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) < 0) {
        return UniqueFd();
    }
    return socket;
}

// Waits until the other side has closed.
bool is_closed(const UniqueFd& socket)
{
    const timeval timeout{test::kHung.count(), 0};
    setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
    char byte = 0;
    ssize_t got = 0;
    do {
        got = recv(socket.get(), &byte, 1, 0);
    } while (got > 0);
    return got == 0 || errno == ECONNRESET;
}

TEST(Server, EverybodyMayConnect)
{
    const ToyServer server;
    struct stat status {};
    ASSERT_EQ(lstat(server.path().c_str(), &status), 0);
    EXPECT_TRUE(S_ISSOCK(status.st_mode));
    EXPECT_EQ(status.st_mode & 0777U, 0666U);
}

TEST(Server, TellsOfOpenedAndEndedConnections)
{
    const ToyServer server;
    {
        const auto client = Client::connect_direct(server.path());
        ASSERT_TRUE(client);
        EXPECT_EQ(server.opened, 1);
        EXPECT_EQ(server.ended, 0);
    }
    EXPECT_TRUE(eventually([&] { return server.ended == 1; }));
}

TEST(Server, LimitsConnectionsPerUser)
{
    ServerLimits limits;
    limits.connections_per_uid = 3;
    const ToyServer server(limits);
    std::vector<Client> clients;
    for (int count = 0; count < 3; ++count) {
        auto client = Client::connect_direct(server.path());
        ASSERT_TRUE(client);
        clients.push_back(std::move(*client));
    }
    EXPECT_FALSE(Client::connect_direct(server.path()));
    clients.pop_back();
    EXPECT_TRUE(eventually([&] { return server.ended == 1; }));
    EXPECT_TRUE(Client::connect_direct(server.path()));
}

// Device files that clients have handed over count with their connections: neither may take what the other leaves.
TEST(Server, DescriptorsThatAreKeptLeaveRoomForFewerConnections)
{
    ToyServer server;
    constexpr std::size_t kRoom = 60;
    auto& descriptors = server.shares().descriptors();
    descriptors.set_room(kRoom);
    const auto connect_all = [&server] {
        std::vector<Client> clients;
        while (clients.size() < kRoom) {
            auto client = Client::connect_direct(server.path());
            if (!client || !client->call(names::kRoot, names::kManager, "Echo", {Value(Dict())})) {
                break;
            }
            clients.push_back(std::move(*client));
        }
        return clients.size();
    };
    const std::size_t alone = connect_all();
    EXPECT_GE(alone, 4U);
    EXPECT_TRUE(test::eventually([&] { return descriptors.in_all() == 0; })) << descriptors.in_all();
    auto held = descriptors.take(4711, 24);
    ASSERT_TRUE(held);
    EXPECT_LT(connect_all(), alone);
    held.reset();
    EXPECT_TRUE(test::eventually([&] { return descriptors.in_all() == 0; })) << descriptors.in_all();
    EXPECT_EQ(connect_all(), alone);
}

TEST(Server, DropsWhoDoesNotAuthenticate)
{
    ServerLimits limits;
    limits.authentication_time = 2s;    // enough for those who do
    const ToyServer server(limits);
    auto honest = Client::connect_direct(server.path());
    ASSERT_TRUE(honest);
    const auto silent = raw_connection(server.path());
    ASSERT_TRUE(silent);
    EXPECT_TRUE(is_closed(silent));
    EXPECT_TRUE(eventually([&] { return server.ended == 1; }));
    EXPECT_TRUE(honest->call(names::kRoot, names::kManager, "Echo", {Value(Dict())})) << "others are unaffected";
}

TEST(Server, DropsWhoSendsGarbage)
{
    const ToyServer server;
    const auto noisy = raw_connection(server.path());
    ASSERT_TRUE(noisy);
    const std::string garbage = std::string(1, '\0') + "GET / HTTP/1.1\r\n\r\n" + std::string(100'000, 'x');
    ASSERT_GT(send(noisy.get(), garbage.data(), garbage.size(), MSG_NOSIGNAL), 0);
    EXPECT_TRUE(is_closed(noisy));
    EXPECT_TRUE(Client::connect_direct(server.path()));
}

TEST(Server, DropsWhoDoesNotRead)
{
    ServerLimits limits;
    limits.client.unread = 5'000'000;
    ToyServer server(limits);
    auto lazy = Client::connect_direct(server.path());
    ASSERT_TRUE(lazy);
    // More than both socket buffers hold.
    server.run([&server] {
        const auto connection = server.connections().begin()->second;
        const std::string large(50'000, 'x');
        for (int count = 0; count < 1000 && connection->is_open(); ++count) {
            sd_bus_message* raw = nullptr;
            ASSERT_GE(sd_bus_message_new_signal(connection->bus(), &raw, names::kRoot, names::kManager, "Large"), 0);
            const auto message = MessageRef::adopt(raw);
            Writer(raw).put(large);
            connection->send(raw);
        }
    });
    EXPECT_TRUE(eventually([&] { return server.ended == 1; }));
}

TEST(Server, ARefusedConnectionIsClosed)
{
    ToyServer server;
    server.refuse_all = true;
    EXPECT_FALSE(Client::connect_direct(server.path()));
    server.refuse_all = false;
    EXPECT_TRUE(Client::connect_direct(server.path()));
}

ServerOptions at(const std::filesystem::path& path)
{
    return {path, {}, {}, [](Account, UniqueFd) {}};
}

TEST(Server, ReplacesTheSocketOfADaemonThatDied)
{
    const test::TempDir dir;
    const auto path = dir.path() / "bus";
    {
        const UniqueFd left(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
        ASSERT_EQ(bind(left.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    }
    struct Nobody final : ServerHandler {
        Result<void> connected(std::uint64_t, const PeerProcess&, const std::shared_ptr<Connection>&) override
        {
            return {};
        }
        void closed(std::uint64_t) override {}
    } nobody;
    EventLoop loop;
    Turns turns(loop);
    {
        const auto server = Server::listen(loop, turns, at(path), nobody);
        ASSERT_TRUE(server) << to_string(server.error());
        const auto second = Server::listen(loop, turns, at(path), nobody);
        ASSERT_FALSE(second);
        EXPECT_EQ(second.error().code, ErrorCode::Busy);
        EXPECT_TRUE(raw_connection(path)) << "the first still listens";
    }
    EXPECT_FALSE(std::filesystem::exists(path)) << "removed with the server";
}

TEST(Server, ExplainsAPathThatIsTooLong)
{
    const test::TempDir dir;
    struct Nobody final : ServerHandler {
        Result<void> connected(std::uint64_t, const PeerProcess&, const std::shared_ptr<Connection>&) override
        {
            return {};
        }
        void closed(std::uint64_t) override {}
    } nobody;
    EventLoop loop;
    Turns turns(loop);
    const auto server = Server::listen(loop, turns, at(dir.path() / std::string(150, 'x')), nobody);
    ASSERT_FALSE(server);
    EXPECT_NE(server.error().message.find("at most 107 bytes"), std::string::npos) << server.error().message;
}

}    // namespace
}    // namespace rdmaqos::bus
