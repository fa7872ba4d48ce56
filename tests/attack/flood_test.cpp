// Users who come in great numbers, and who ask as often as they can.
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "lib/bus/names.h"
#include "tests/attack/battle.h"
#include "tests/attack/crowd.h"
#include "tests/attack/requests.h"

namespace rdmaqos::attack {
namespace {

std::string many(const std::string& text)
{
    std::string result;
    for (int count = 0; count < 100; ++count) {
        result += text;
    }
    return result;
}

TEST(Flood, FourUsersTakeAllConnections)
{
    if (!has_many_users()) {
        GTEST_SKIP() << "it takes several users, and we are not root";
    }
    Squad squad = crowd_of({.connections = 2040, .first = after_handshake(call(methods::kPing))}, 4);
    squad.each_its_own_user = true;
    fight({.name = "four users, 2,040 connections each", .squads = {squad}});
}

TEST(Flood, Pings)
{
    fight({.name = "Pings, 50 connections",
           .squads = {crowd_of({.connections = 50, .first = after_handshake(), .again = many(call(methods::kPing))})}});
}

TEST(Flood, PropertiesAndIntrospection)
{
    Bytes body;
    body.text(bus::names::kManager).text("PolicySources");
    const Method get{bus::names::kRoot, "org.freedesktop.DBus.Properties", "Get"};
    fight({.name = "properties and Introspect, 50 connections",
           .squads = {crowd_of({.connections = 50,
                                .first = after_handshake(),
                                .again = many(call(get, {"ss", body.str()}) + call(methods::kIntrospect))})}});
}

TEST(Flood, Registers)
{
    fight({.name = "Registers, 50 connections",
           .squads = {crowd_of({.connections = 50,
                                .first = after_handshake(),
                                .again = many(call(methods::kRegister, request_for("rpc")))})}});
}

TEST(Flood, ComeAndGo)
{
    fight({.name = "connect and close, 4 processes",
           .squads = {crowd_of({.connections = 8, .first = std::string(1, '\0'), .leaves = true}, 2),
                      crowd_of({.connections = 8,
                                .first = after_handshake(call(methods::kRegister, request_for("rpc"))),
                                .leaves = true},
                               2)}});
}

}    // namespace
}    // namespace rdmaqos::attack
