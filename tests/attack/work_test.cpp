// One user whose calls are much work: others are served all the same, and the memory it took is given back.
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/attack/battle.h"
#include "tests/attack/crowd.h"
#include "tests/attack/requests.h"

namespace rdmaqos::attack {
namespace {

using namespace std::chrono_literals;

std::string repeated(std::string_view text, std::size_t count)
{
    std::string result;
    result.reserve(text.size() * count);
    for (std::size_t index = 0; index < count; ++index) {
        result += text;
    }
    return result;
}

// ---- work ----

TEST(Work, UnknownObjectWithALongPath)
{
    constexpr std::size_t kMost = 65'534;
    const Method method{repeated("/a", kMost / 2), "org.example.Nothing", "Nothing"};
    fight({.name = "unknown object, path of 65 kB, 100 connections",
           .squads = {crowd_of({.connections = 100, .first = after_handshake(), .again = call(method)})}});
}

TEST(Work, QueryPathOfManyPairs)
{
    Bytes body;
    dict(body, [](Bytes& out) {
        for (const char* key : {"source", "destination"}) {
            out.entry(key, "as", [](Bytes& list) {
                list.array(4, [](Bytes& items) {
                    for (int number = 0; number < 255; ++number) {
                        items.text(fmt::format("fd00:20::{:x}", number + 1));
                    }
                });
            });
        }
    });
    fight({.name = "QueryPath, 255 x 255 pairs, 4 connections",
           .squads = {crowd_of({.connections = 4,
                                .first = after_handshake(),
                                .again = call(methods::kQueryPath, {"a{sv}", body.str()})})}});
}

TEST(Work, ListsOfManyQueuePairs)
{
    constexpr std::uint32_t kAll = 65'536;
    constexpr std::uint32_t kEach = 256;
    constexpr std::uint32_t kOfASession = 16'384;
    const auto list_them = [](Attacker& me) {
        Wire wire(me.socket);
        std::string session;
        for (std::uint32_t first = 0; first < kAll && (wire.is_open() && (first > 0 || wire.authenticate()));
             first += kEach) {
            if (first % kOfASession == 0) {
                const auto registered = wire.ask(methods::kRegister, request_for("bulk"));
                session = registered ? registered->text() : "/";
            }
            // Numbers of queue pairs have 24 bits.
            static_cast<void>(wire.ask(methods::of_session(session, "Attach"), queue_pairs(first + 1, kEach)));
        }
        crowd(me, {.connections = 60, .first = after_handshake(), .again = call(methods::kManagedObjects)});
    };
    fight({.name = "GetManagedObjects, 65,536 queue pairs, 60 connections", .squads = {{.deed = list_them}}});
}

TEST(Work, ManyQueuePairsThatLeave)
{
    constexpr std::uint32_t kOfASession = 16'384;
    constexpr std::uint32_t kEach = 256;
    const auto come_and_leave = [](Attacker& me) {
        me.ready();
        while (true) {
            Wire wire(me.socket);
            const auto session = wire.authenticate() ? wire.ask(methods::kRegister, request_for("bulk")) : std::nullopt;
            const std::string path = session ? session->text() : "/";
            for (std::uint32_t first = 0; wire.is_open() && first < kOfASession; first += kEach) {
                static_cast<void>(wire.ask(methods::of_session(path, "Attach"), queue_pairs(first + 1, kEach)));
            }
        }
    };
    // The goal of 20 ms is missed by Register, now and then: security.md says so.
    fight({.name = "16,384 queue pairs come and leave", .squads = {{.deed = come_and_leave}}, .p99 = 60});
}

TEST(Work, ManySubscribersAndSessions)
{
    fight({.name = "2,000 subscribers, 1,400 Registers",
           .squads = {crowd_of({.connections = 2000, .first = after_handshake(call(methods::kSubscribe))}),
                      {.deed = register_many}}});
}

// ---- large messages ----

TEST(Work, AttachOfManyEmptyDicts)
{
    constexpr int kDicts = 400'000;
    Bytes body;
    body.array(4, [](Bytes& list) {
        for (int count = 0; count < kDicts; ++count) {
            dict(list, [](Bytes&) {});
        }
    });
    const auto attach = [text = body.str()](Attacker& me) {
        Wire wire(me.socket);
        const auto session = wire.authenticate() ? wire.ask(methods::kRegister, request_for("rpc")) : std::nullopt;
        const Method method = methods::of_session(session ? session->text() : "/", "Attach");
        const std::string message = call(method, {"aa{sv}", text});
        me.ready();
        // On the connection that may, then on others.
        while (wire.is_open()) {
            wire.send(message, {}, 1s);
            wire.discard();
        }
        crowd(me, {.connections = 4, .first = after_handshake(), .again = message});
    };
    fight({.name = "Attach of 400,000 empty dicts", .squads = {{.deed = attach}}});
}

TEST(Work, RegisterWithManyStrings)
{
    Bytes body;
    dict(body, [](Bytes& out) {
        out.entry("x-any", "as", [](Bytes& list) {
            list.array(4, [](Bytes& items) {
                for (int count = 0; count < 380'000; ++count) {
                    items.text("a string of some seventy bytes, so that all of them make up thirty MB");
                }
            });
        });
    });
    fight({.name = "30 MB of strings in Register, 4 connections",
           .squads = {crowd_of({.connections = 4,
                                .first = after_handshake(),
                                .again = call(methods::kRegister, {"a{sv}", body.str()})})}});
}

TEST(Work, CheckOfAnEnormousPolicy)
{
    std::string policy = "version: 1\nqos-levels:\n  - {name: DEFAULT}\n";
    for (int number = 0; number < 100'000; ++number) {
        policy += fmt::format("  - {{name: level-{}}}\n", number);
    }
    const auto check = [policy](Attacker& me) {
        const int file = memory_file(policy);
        const std::string message = call(methods::kCheck, policy_descriptor());
        me.ready();
        while (true) {
            Wire wire(me.socket);
            for (int count = 0; wire.is_open() && count < 50; ++count) {
                if (count == 0 && !wire.authenticate()) {
                    break;
                }
                wire.send(message, {&file, 1});
                usleep(50'000);
                wire.discard();
            }
        }
    };
    fight({.name = "Check of 100,000 levels", .squads = {{.deed = check}}});
}

}    // namespace
}    // namespace rdmaqos::attack
