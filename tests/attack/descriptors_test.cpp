// Descriptors that come where they should not be: with a byte out of band, which a look at a socket may pass over and a
// read takes.
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/descriptor_message.h"
#include "tests/attack/battle.h"
#include "tests/attack/hanging.h"

namespace rdmaqos::attack {
namespace {

enum class Moment { Handshake, InAMessage, BetweenMessages };

bool send_out_of_band(const Wire& wire, int descriptor)
{
    char byte = '\0';
    iovec part{&byte, 1};
    DescriptorRoom room;
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    room.put(message, std::span(&descriptor, 1));
    return sendmsg(wire.fd(), &message, MSG_NOSIGNAL | MSG_OOB) == 1;
}

// The last reference of each goes with its byte. What comes behind makes the daemon read.
void pass_out_of_band(Attacker& me, Moment moment)
{
    std::vector<Wire> wires;
    for (const int descriptor : me.brought) {
        Wire& wire = wires.emplace_back(me.socket);
        const bool greets = moment == Moment::Handshake;
        if (!greets && !wire.authenticate()) {
            continue;
        }
        const std::string text = greets ? std::string(kHandshake) : call(methods::kPing);
        const std::size_t before = moment == Moment::InAMessage ? text.size() / 2 : 0;
        wire.send(std::string_view(text).substr(0, before));
        send_out_of_band(wire, descriptor);
        close(descriptor);
        wire.send(std::string_view(text).substr(before));
    }
    me.ready();
    while (true) {
        pause();
    }
}

void fight_out_of_band(const std::string& name, Moment moment)
{
    fight({.name = name,
           .squads = {{.deed = [moment](Attacker& me) { pass_out_of_band(me, moment); },
                       .bring = [] { return lingering_sockets(4); },
                       .nice = 0}},
           .hangs = true});
}

TEST(Descriptors, OutOfBandInTheHandshake)
{
    fight_out_of_band("out of band: handshake", Moment::Handshake);
}

TEST(Descriptors, OutOfBandInAMessage)
{
    fight_out_of_band("out of band: in a message", Moment::InAMessage);
}

TEST(Descriptors, OutOfBandBetweenMessages)
{
    fight_out_of_band("out of band: between messages", Moment::BetweenMessages);
}

}    // namespace
}    // namespace rdmaqos::attack
