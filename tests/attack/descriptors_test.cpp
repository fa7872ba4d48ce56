// Descriptors that come where they should not be: with a byte out of band, which a look at a socket may pass over and a
// read takes; and with messages that cannot be read, which nobody answers for.
#include <array>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/descriptor_message.h"
#include "tests/attack/battle.h"
#include "tests/attack/hanging.h"
#include "tests/attack/requests.h"

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

// ---- messages that cannot be read ----

void send_malformed(Attacker& me)
{
    constexpr std::uint32_t kMany = 253;
    constexpr std::uint32_t kClaimed = 20;
    const std::vector<int> files(kMany, open("/dev/null", O_RDONLY | O_CLOEXEC));
    const Body body{"", "", kClaimed};
    const Method& ping = methods::kPing;
    const std::array<std::string, 5> messages{
        call(ping),
        call(ping, body),
        call({"no path", ping.interface, ping.member}, body),
        call({ping.path, ping.interface, "no member"}, body),
        call(ping, {"(", "", kClaimed}),
    };
    me.ready();
    for (std::size_t count = 0;; ++count) {
        Wire wire(me.socket);
        if (!wire.is_open() || !wire.authenticate()) {
            usleep(1000);
            continue;
        }
        // The first two say less than come, the others what comes.
        const std::size_t which = count % messages.size();
        wire.send(messages[which], std::span(files).first(which < 2 ? kMany : kClaimed));
        static_cast<void>(wire.answer_to(kSomeSerial, std::chrono::seconds(1)));
    }
}

TEST(Descriptors, MalformedMessages)
{
    fight({.name = "malformed messages with descriptors, 4 processes",
           .squads = {{.deed = send_malformed, .processes = 4}}});
}

}    // namespace
}    // namespace rdmaqos::attack
