#include "lib/bus/client.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/toy_server.h"

namespace rdmaqos::bus {
namespace {

using test::ToyServer;

Client connect(const ToyServer& server)
{
    auto client = Client::connect_direct(server.path());
    if (!client) {
        throw std::runtime_error(to_string(client.error()));
    }
    return std::move(*client);
}

TEST(Client, CallsAndGetsTypedResults)
{
    const ToyServer server;
    auto client = connect(server);
    Dict dict;
    dict.set("level", "rpc");
    dict.set("port", std::uint32_t{1});
    dict.set("list", std::vector<std::string>{"a", "b"});
    const auto reply = client.call(names::kRoot, names::kManager, "Echo", {Value(dict)});
    ASSERT_TRUE(reply) << to_string(reply.error());
    ASSERT_EQ(reply->size(), 1U);
    EXPECT_EQ(reply->front(), Value(dict));
    EXPECT_EQ(server.last_pid, getpid());
}

// A daemon that cannot start would keep who asks waiting until the bus gives up.
TEST(Client, CallsDoNotStartTheDaemon)
{
    ToyServer server;
    auto client = connect(server);
    server.may_start_us = true;
    ASSERT_TRUE(client.call(names::kRoot, names::kManager, "Echo", {Value(Dict())}));
    EXPECT_FALSE(server.may_start_us);
}

TEST(Client, CallsManyObjectsAtATime)
{
    const ToyServer server;
    auto client = connect(server);
    std::vector<std::string> paths(100, names::kRoot);
    paths[3] = "/nowhere";
    const auto answers = client.call_each(paths, names::kManager, "Subscribe");
    ASSERT_EQ(answers.size(), 100U);
    for (std::size_t index = 0; index < answers.size(); ++index) {
        EXPECT_EQ(answers[index].has_value(), index != 3) << index;
    }
    EXPECT_EQ(answers[3].error().code, ErrorCode::InvalidArgument);

    const auto late = client.call_each({names::kRoot}, names::kManager, "Silence", std::chrono::milliseconds(50));
    EXPECT_EQ(late.front().error().code, ErrorCode::Timeout);
}

TEST(Client, CallsThatWereUnderWayWhenTheConnectionEndedFail)
{
    // It ends before, between and after the calls that are sent: in many rounds, each of them at least once.
    ToyServer server;
    for (int round = 0; round < 200; ++round) {
        auto client = connect(server);
        server.run([&server] {
            for (const auto& [id, connection] : server.connections()) {
                connection->close();
            }
        });
        const std::vector<std::string> paths(30, names::kRoot);
        for (const auto& lost : client.call_each(paths, names::kManager, "Silence")) {
            ASSERT_FALSE(lost);
            ASSERT_EQ(lost.error().code, ErrorCode::NoDaemon) << to_string(lost.error());
        }
    }
}

TEST(Client, TurnsErrorNamesIntoCodes)
{
    const ToyServer server;
    auto client = connect(server);
    const auto refused = client.call(names::kRoot, names::kManager, "Fail", {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error(), (Error{ErrorCode::LevelNotAllowed, 0, "not you"}));

    const auto unknown = client.call(names::kRoot, names::kManager, "NoSuchMethod", {});
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().code, ErrorCode::InvalidArgument);

    const auto wrong = client.call(names::kRoot, names::kManager, "Echo", {Value("text")});
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().code, ErrorCode::InvalidArgument);

    const auto late = client.call(names::kRoot, names::kManager, "Silence", {}, std::chrono::milliseconds(50));
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, ErrorCode::Timeout);
}

TEST(Client, ALostConnectionIsNoDaemon)
{
    ToyServer server;
    auto client = connect(server);
    server.run([&server] {
        for (const auto& [id, connection] : server.connections()) {
            connection->close();
        }
    });
    const auto lost = client.call(names::kRoot, names::kManager, "Silence", {});
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().code, ErrorCode::NoDaemon);
    const auto again = client.call(names::kRoot, names::kManager, "Echo", {Value(Dict())});
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code, ErrorCode::NoDaemon);
}

TEST(Client, MonitorsOurSignalsOnly)
{
    const ToyServer server;
    auto client = connect(server);
    std::vector<Value> seen;
    const auto done = client.monitor([&](const Signal& signal) {
        EXPECT_EQ(signal.member, "PolicyChanged");
        EXPECT_EQ(signal.interface, names::kManager);
        seen.insert(seen.end(), signal.arguments.begin(), signal.arguments.end());
        return seen.size() < 2;
    });
    ASSERT_TRUE(done) << to_string(done.error());
    EXPECT_EQ(seen, (std::vector<Value>{"r1", "r2"}));
}

TEST(Client, WaitsForADescriptorOrTheEndOfTheDaemon)
{
    ToyServer server;
    auto client = connect(server);
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const UniqueFd reader(ends[0]);
    const UniqueFd writer(ends[1]);
    ASSERT_EQ(write(writer.get(), "x", 1), 1);
    EXPECT_TRUE(client.wait_for(reader.get()));
    char byte = 0;
    ASSERT_EQ(read(reader.get(), &byte, 1), 1);
    server.run([&server] {
        for (const auto& [id, connection] : server.connections()) {
            connection->close();
        }
    });
    const auto lost = client.wait_for(reader.get());
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().code, ErrorCode::NoDaemon);
}

TEST(Client, SaysWhereItLooked)
{
    const test::TempDir dir;
    const auto client = Client::connect(dir.path());
    ASSERT_FALSE(client);
    EXPECT_EQ(client.error().code, ErrorCode::NoDaemon);
    EXPECT_NE(client.error().message.find((dir.path() / "run/rdma-qos/bus").string()), std::string::npos);
    EXPECT_NE(client.error().message.find("systemctl start rdma-qosd"), std::string::npos);
}

}    // namespace
}    // namespace rdmaqos::bus
