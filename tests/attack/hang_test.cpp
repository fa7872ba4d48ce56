// Descriptors that wait when they are closed or read, passed to the daemon in every way there is. Whatever hangs, it is
// not the daemon: others are served, and SIGTERM ends it with all of it still hanging.
#include <array>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/attack/battle.h"
#include "tests/attack/hanging.h"
#include "tests/attack/requests.h"

namespace rdmaqos::attack {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kDescriptors = 4;    // as many as the daemon once had threads to close them

enum class Way {
    AsPolicy,         // Check's h
    AsUverbs,         // of queue pairs
    Unnamed,          // with a message, but no key names it
    HalfMessage,      // the rest of the message never comes
    HalfAbandoned,    // and the sender is gone
    Abandoned,        // the sender is gone before the answer
    Handshake,        // before the sender has said who it is
    BehindNoise,      // unread, behind bytes that end the connection
};

// The daemon has to do until we have closed our own copies: then its own are the last.
std::string delay()
{
    std::string pings;
    for (int count = 0; count < 600; ++count) {
        pings += call(methods::kPing, {}, kSomeSerial, {}, kNoReply);
    }
    return pings;
}

// One message with them, and what comes behind it.
void pass(Wire& wire, Way way, std::span<const int> descriptors)
{
    const auto count = static_cast<std::uint32_t>(descriptors.size());
    Method method = methods::kPing;
    Body body{"", "", count};
    if (way == Way::AsPolicy) {
        method = methods::kCheck;
        body = policy_descriptor();
    } else if (way == Way::AsUverbs) {
        const auto session = wire.ask(methods::kRegister, request_for("rpc"));
        method = methods::of_session(session ? session->text() : "/", "Attach");
        body = queue_pairs(1, count, true);
    }
    wire.send(delay());
    if (way == Way::HalfMessage || way == Way::HalfAbandoned) {
        wire.send(head(methods::kRegister, {"a{sv}", "", count}, 4096), descriptors);
    } else if (way == Way::BehindNoise) {
        // More than is read before it is found to be none.
        wire.send(std::string(4096, 'x'));
        wire.send(std::string(16, 'x'), descriptors);
    } else {
        wire.send(call(method, body), descriptors.first(body.descriptors));
    }
    if (way == Way::AsUverbs) {
        // What was attached is kept open until then.
        wire.send(call({method.path, method.interface, "Release"}));
    }
}

struct Passing {
    Way way;
    bool keeps_copies;    // it is each close that hangs, not only the last
};

void pass_descriptors(Attacker& me, Passing passing)
{
    me.ready();    // what comes may hang us too
    std::vector<Wire> wires;
    for (const int& descriptor : me.brought) {
        // A Check takes one, and one at a time; a handshake is over with the first.
        const bool one_each = passing.way == Way::AsPolicy || passing.way == Way::Handshake;
        const std::size_t count = one_each ? 1 : me.brought.size();
        Wire& wire = wires.emplace_back(me.socket);
        const std::span<const int> descriptors(&descriptor, count);
        if (passing.way == Way::Handshake) {
            wire.send(kHandshake.substr(0, 8), descriptors);
        } else if (wire.authenticate()) {
            pass(wire, passing.way, descriptors);
        }
        for (std::size_t index = 0; index < count && !passing.keeps_copies; ++index) {
            close(descriptors[index]);
        }
        if (passing.way == Way::Abandoned || passing.way == Way::HalfAbandoned) {
            wire.close();
        }
        if (!one_each) {
            break;
        }
    }
    while (true) {
        pause();
    }
}

// Another user, whose queue pairs bring descriptors as every RDMA program's do: none of them may be kept waiting, nor
// pile up in the daemon.
void attach_and_release(Attacker& me)
{
    me.ready();
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    Wire wire(me.socket);
    if (!wire.authenticate()) {
        return;
    }
    for (int count = 0; count < 200 && wire.is_open(); ++count) {
        const auto session = wire.ask(methods::kRegister, request_for("rpc"));
        if (!session) {
            return;
        }
        const std::string path = session->text();
        constexpr std::uint32_t kSerial = 1U << 20U;
        wire.send(call(methods::of_session(path, "Attach"), queue_pairs(1000, 1, true), kSerial), std::array{nothing});
        if (!wire.answer_to(kSerial) || !wire.ask(methods::of_session(path, "Release"), {})) {
            return;
        }
        usleep(5000);
    }
}

// ---- a file system that does not answer ----

void fight_deaf_file_system(const std::string& name, Unanswered unanswered, Way way)
{
    const test::TempDir mount_point;
    const std::string reason = DeafFileSystem(mount_point.path(), unanswered, "").reason();
    if (!reason.empty()) {
        GTEST_SKIP() << "no FUSE file system here: " << reason;
    }
    fight([&] {
        const auto files = std::make_shared<DeafFileSystem>(mount_point.path(), unanswered,
                                                            "version: 1\nqos-levels: [{name: DEFAULT}]\n");
        const Squad attackers{.deed =
                                  [way](Attacker& me) {
                                      pass_descriptors(me, {way, true});
                                  },
                              .bring = [files] { return files->open(kDescriptors); },
                              .nice = 0};
        return Attack{.name = name,
                      .squads = {attackers, {.deed = attach_and_release, .user = users::kBystander}},
                      .hangs = true,
                      .servers = {files->server()}};
    });
}

TEST(Hang, FuseFlushOfAPolicy)
{
    fight_deaf_file_system("FUSE, FLUSH unanswered: Check", Unanswered::Flush, Way::AsPolicy);
}

TEST(Hang, FuseReadOfAPolicy)
{
    fight_deaf_file_system("FUSE, READ unanswered: Check", Unanswered::Read, Way::AsPolicy);
}

TEST(Hang, FuseFlushOfUverbs)
{
    fight_deaf_file_system("FUSE, FLUSH unanswered: uverbs", Unanswered::Flush, Way::AsUverbs);
}

TEST(Hang, FuseFlushUnnamed)
{
    fight_deaf_file_system("FUSE, FLUSH unanswered: unnamed", Unanswered::Flush, Way::Unnamed);
}

TEST(Hang, FuseFlushInTheHandshake)
{
    fight_deaf_file_system("FUSE, FLUSH unanswered: handshake", Unanswered::Flush, Way::Handshake);
}

// ---- a network peer that does not read ----

void fight_lingering(const std::string& name, Way way)
{
    const Squad attackers{.deed =
                              [way](Attacker& me) {
                                  pass_descriptors(me, {way, false});
                              },
                          .bring = [] { return lingering_sockets(kDescriptors); },
                          .nice = 0};
    fight(
        {.name = name, .squads = {attackers, {.deed = attach_and_release, .user = users::kBystander}}, .hangs = true});
}

TEST(Hang, LingerAsUverbs)
{
    fight_lingering("four sockets that linger: uverbs", Way::AsUverbs);
}

TEST(Hang, LingerUnnamed)
{
    fight_lingering("four sockets that linger: unnamed", Way::Unnamed);
}

TEST(Hang, LingerInHalfAMessage)
{
    fight_lingering("four sockets that linger: half a message", Way::HalfMessage);
}

TEST(Hang, LingerInHalfAMessageAbandoned)
{
    fight_lingering("four sockets that linger: half a message, sender gone", Way::HalfAbandoned);
}

TEST(Hang, LingerAbandoned)
{
    fight_lingering("four sockets that linger: sender gone", Way::Abandoned);
}

TEST(Hang, LingerBehindNoise)
{
    fight_lingering("four sockets that linger: unread", Way::BehindNoise);
}

}    // namespace
}    // namespace rdmaqos::attack
