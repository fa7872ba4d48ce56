// Users who make the daemon keep things: halves of messages, and answers that nobody fetches.
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/attack/battle.h"
#include "tests/attack/crowd.h"
#include "tests/attack/requests.h"

namespace rdmaqos::attack {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kPromised = 126U << 20U;     // with its header below what sd-bus takes
constexpr std::size_t kDescriptorsOfAWrite = 253;    // the most that go with a write

std::string promise(std::uint32_t descriptors = 0)
{
    return head(methods::kRegister, {"a{sv}", "", descriptors}, kPromised);
}

// ---- half-written messages ----

TEST(Half, BytesWithoutEnd)
{
    fight({.name = "half a message: bytes without end, 20 connections",
           .squads = {crowd_of(
               {.connections = 20, .first = after_handshake(promise()), .again = std::string(1U << 20U, 'x')})}});
}

TEST(Half, DescriptorsAndSilence)
{
    // The descriptors go with the first bytes; the second part of the message never comes.
    const auto keep = [](Attacker& me) {
        crowd(me, {.connections = 100,
                   .again = promise(kDescriptorsOfAWrite),
                   .byte_every = 20ms,
                   .descriptors_each = kDescriptorsOfAWrite});
    };
    fight({.name = "half a message: 253 descriptors, 100 connections", .squads = {{.deed = keep}}});
}

TEST(Half, BytesDribbled)
{
    fight({.name = "half a message: dribbled, 1,000 connections",
           .squads = {crowd_of({.connections = 1000,
                                .first = after_handshake(promise()),
                                .again = std::string(4096, 'x'),
                                .byte_every = 100ms})}});
}

TEST(Half, RootOfAContainer)
{
    constexpr std::uint32_t kMost = (1U << 20U) - 4096;
    Squad squad = crowd_of({.connections = 600,
                            .first = after_handshake(head(methods::kRegister, {"a{sv}", "", 0}, kMost)),
                            .again = std::string(kMost - 4096, 'x')});
    squad.user = users::kContainedRoot;
    fight({.name = "half a message: root of a container, 600 connections", .squads = {squad}});
}

TEST(Half, HandshakeDribbled)
{
    fight({.name = "half a handshake: dribbled, 2,000 connections",
           .squads = {crowd_of({.connections = 2000,
                                .first = std::string("\0AUTH EXTERNAL ", 15),
                                .again = std::string(1U << 20U, '3'),
                                .byte_every = 100ms})}});
}

TEST(Half, HandshakeWithoutEnd)
{
    fight({.name = "half a handshake: bytes without end, 20 connections",
           .squads = {crowd_of({.connections = 20,
                                .first = std::string("\0AUTH EXTERNAL ", 15),
                                .again = std::string(1U << 20U, '3')})}});
}

// ---- answers that nobody reads ----

Squad deaf(std::string calls, std::size_t connections)
{
    return crowd_of(
        {.connections = connections, .first = after_handshake(), .again = std::move(calls), .reads = false});
}

TEST(Unread, Introspection)
{
    fight({.name = "answers never read: Introspect, GetAll, 50 connections",
           .squads = {
               deaf(call(methods::kIntrospect) + call(methods::kGetAll, interface_name("org.rdmaqos1.Manager")), 50)}});
}

TEST(Unread, Metrics)
{
    fight({.name = "answers never read: Metrics, 50 connections", .squads = {deaf(call(methods::kMetrics), 50)}});
}

// Answers of megabytes: of two thousand sessions, one of them with many queue pairs.
TEST(Unread, Lists)
{
    constexpr int kSessions = 2000;
    constexpr std::uint32_t kQueuePairs = 16'384;
    constexpr std::uint32_t kEach = 256;
    const auto list = [](Attacker& me) {
        Wire wire(me.socket);
        const auto session = wire.authenticate() ? wire.ask(methods::kRegister, request_for("bulk")) : std::nullopt;
        const std::string path = session ? session->text() : "/";
        for (std::uint32_t first = 1; wire.is_open() && first < kQueuePairs; first += kEach) {
            static_cast<void>(wire.ask(methods::of_session(path, "Attach"), queue_pairs(first, kEach)));
        }
        for (int count = 0; wire.is_open() && count < kSessions; ++count) {
            static_cast<void>(wire.ask(methods::kRegister, request_for("rpc")));
        }
        const Method properties{path, methods::kGetAll.interface, methods::kGetAll.member};
        crowd(me, {.connections = 20,
                   .first = after_handshake(),
                   .again = call(methods::kManagedObjects) + call(properties, interface_name("org.rdmaqos1.Session")),
                   .reads = false});
    };
    fight({.name = "answers never read: lists of 2,000 sessions, 20 connections",
           .squads = {{.deed = list}},
           .duration = 8s});
}

TEST(Unread, Signals)
{
    fight({.name = "signals never read, 1,000 subscribers",
           .squads = {
               crowd_of({.connections = 1000, .first = after_handshake(call(methods::kSubscribe)), .reads = false}),
               {.deed = register_many}}});
}

}    // namespace
}    // namespace rdmaqos::attack
