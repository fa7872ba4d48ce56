// Whatever anybody sends: a named error, and nobody else notices.
#include <array>
#include <random>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/bus/message.h"
#include "tests/support/daemon_fixture.h"

namespace rdmaqos::test {
namespace {

namespace names = bus::names;

// Sends messages that bus::Client cannot make.
class RawClient {
public:
    explicit RawClient(const Daemon& daemon)
    {
        sd_bus* raw = nullptr;
        if (sd_bus_new(&raw) < 0) {
            throw std::runtime_error("sd_bus_new");
        }
        bus_.reset(raw);
        if (sd_bus_set_address(raw, ("unix:path=" + daemon.socket().string()).c_str()) < 0 ||
            sd_bus_negotiate_fds(raw, 1) < 0 || sd_bus_start(raw) < 0) {
            throw std::runtime_error("sd_bus_start");
        }
    }

    // The error's name; "" for an answer.
    std::string call(const std::string& path, const std::string& interface, const std::string& method,
                     const std::function<int(sd_bus_message*)>& fill)
    {
        sd_bus_message* raw = nullptr;
        if (sd_bus_message_new_method_call(bus_.get(), &raw, nullptr, path.c_str(), interface.c_str(), method.c_str()) <
            0) {
            return "not sent";
        }
        const auto message = bus::MessageRef::adopt(raw);
        if (fill(raw) < 0) {
            return "not sent";
        }
        bus::BusError error;
        sd_bus_message* reply = nullptr;
        constexpr std::uint64_t kTimeout = 20'000'000;
        const int result = sd_bus_call(bus_.get(), raw, kTimeout, error.get(), &reply);
        const auto answer = bus::MessageRef::adopt(reply);
        return result < 0 ? std::string(error.name().empty() ? "lost" : error.name()) : std::string();
    }

private:
    bus::BusPtr bus_;
};

struct Method {
    const char* path;
    const char* interface;
    const char* name;
};

const std::array kMethods{
    Method{names::kRoot, names::kManager, "Register"},
    Method{names::kRoot, names::kManager, "QueryPath"},
    Method{names::kRoot, names::kManager, "Explain"},
    Method{names::kRoot, names::kManager, "Check"},
    Method{names::kRoot, names::kManager, "Plan"},
    Method{names::kRoot, names::kManager, "Try"},
    Method{names::kRoot, names::kManager, "Confirm"},
    Method{names::kRoot, names::kManager, "GetDevice"},
    Method{names::kRoot, names::kManager, "EnableDevice"},
    Method{names::kRoot, names::kManager, "VerifyAll"},
    Method{names::kRoot, names::kManager, "NoSuch"},
    Method{"/org/rdmaqos1/session/1", names::kSession, "Attach"},
    Method{"/org/rdmaqos1/session/1", names::kSession, "Detach"},
    Method{"/org/rdmaqos1/session/1", names::kSession, "SetRate"},
    Method{"/org/rdmaqos1/session/99999", names::kSession, "Release"},
    Method{"/org/rdmaqos1/session/18446744073709551616", names::kSession, "Release"},
    Method{"/org/rdmaqos1/session/_", names::kSession, "Release"},
    Method{"/org/rdmaqos1/device/nothing", names::kDevice, "NoSuch"},
    Method{"/org/rdmaqos1/device", "org.freedesktop.DBus.Introspectable", "Introspect"},
    Method{"/elsewhere", names::kManager, "Register"},
    Method{"/org/rdmaqos1/session/1", "org.freedesktop.DBus.Properties", "Get"},
    Method{names::kRoot, "org.freedesktop.DBus.Properties", "Set"},
};

bool is_named(const std::string& error)
{
    return error.empty() || error.starts_with("org.rdmaqos1.Error.") ||
           error.starts_with("org.freedesktop.DBus.Error.");
}

using Random = std::mt19937;

std::uint32_t below(Random& random, std::uint32_t limit)
{
    return std::uniform_int_distribution<std::uint32_t>(0, limit - 1)(random);
}

std::string some_word(Random& random)
{
    static const std::array<const char*, 30> kWords{"level",
                                                    "qos-class",
                                                    "service-id",
                                                    "port-space",
                                                    "destination-port",
                                                    "pkey",
                                                    "source",
                                                    "destination",
                                                    "device",
                                                    "port",
                                                    "sl",
                                                    "mtu",
                                                    "rate",
                                                    "queue-pairs",
                                                    "format",
                                                    "number",
                                                    "type",
                                                    "handle",
                                                    "uverbs",
                                                    "mtu-selector",
                                                    "exactly",
                                                    "policy",
                                                    "rpc",
                                                    "mlx5_0",
                                                    "fd00::1",
                                                    "0x11",
                                                    "tcp",
                                                    "",
                                                    "x-any",
                                                    "\xc3\xa9\x01\x7f"};
    return kWords[below(random, kWords.size())];
}

// One basic or container value of a random type, always well-formed.
int append_some(sd_bus_message* message, Random& random, int depth);

int append_dict(sd_bus_message* message, Random& random, int depth)
{
    int result = sd_bus_message_open_container(message, 'a', "{sv}");
    for (std::uint32_t count = below(random, 5); count > 0 && result >= 0; --count) {
        sd_bus_message_open_container(message, 'e', "sv");
        sd_bus_message_append(message, "s", some_word(random).c_str());
        switch (below(random, depth > 0 ? 9 : 7)) {
        case 0:
            result = sd_bus_message_append(message, "v", "s", some_word(random).c_str());
            break;
        case 1:
            result = sd_bus_message_append(message, "v", "u", static_cast<std::uint32_t>(random()));
            break;
        case 2:
            result = sd_bus_message_append(message, "v", "t", (std::uint64_t{random()} << 32U) | random());
            break;
        case 3:
            result = sd_bus_message_append(message, "v", "q", static_cast<int>(below(random, 65536)));
            break;
        case 4:
            result = sd_bus_message_append(message, "v", "y", static_cast<int>(below(random, 256)));
            break;
        case 5:
            result = sd_bus_message_append(message, "v", "as", 2, some_word(random).c_str(), some_word(random).c_str());
            break;
        case 6:
            result = sd_bus_message_append(message, "v", "h", STDERR_FILENO);
            break;
        case 7:
            sd_bus_message_open_container(message, 'v', "a{sv}");
            result = append_dict(message, random, depth - 1);
            sd_bus_message_close_container(message);
            break;
        default:
            sd_bus_message_open_container(message, 'v', "aa{sv}");
            sd_bus_message_open_container(message, 'a', "a{sv}");
            result = append_dict(message, random, depth - 1);
            sd_bus_message_close_container(message);
            sd_bus_message_close_container(message);
            break;
        }
        sd_bus_message_close_container(message);
    }
    return result < 0 ? result : sd_bus_message_close_container(message);
}

int append_some(sd_bus_message* message, Random& random, int depth)
{
    switch (below(random, 9)) {
    case 0:
    case 1:
    case 2:
        return append_dict(message, random, depth);
    case 3: {
        int result = sd_bus_message_open_container(message, 'a', "a{sv}");
        for (std::uint32_t count = below(random, 4); count > 0 && result >= 0; --count) {
            result = append_dict(message, random, depth);
        }
        return result < 0 ? result : sd_bus_message_close_container(message);
    }
    case 4:
        return sd_bus_message_append(message, "s", some_word(random).c_str());
    case 5:
        return sd_bus_message_append(message, "su", some_word(random).c_str(), static_cast<std::uint32_t>(random()));
    case 6:
        return sd_bus_message_append(message, "sua{sv}", some_word(random).c_str(), 17U, 1, "rate", "t",
                                     std::uint64_t{random()});
    case 7:
        return sd_bus_message_append(message, "h", STDERR_FILENO);
    default:
        return sd_bus_message_append(message, "(ii)d", 1, 2, 0.5);
    }
}

class Malformed : public ::testing::Test {
protected:
    [[nodiscard]] bool connect_to(int socket) const
    {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        daemon.socket().string().copy(address.sun_path, sizeof(address.sun_path) - 1);
        return ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
    }

    Daemon daemon{{kTwoLevelPolicy, kTwoDevices, "", false, RDMAQOS_DAEMON}};
};

TEST_F(Malformed, RandomMessagesGetNamedErrorsAndHarmNobody)
{
    auto bystander = daemon.direct();
    const auto session = register_session(bystander, {});
    ASSERT_TRUE(session);
    ASSERT_EQ(session->path, "/org/rdmaqos1/session/1");
    RawClient client(daemon);
    Random random(20240229);
    for (int round = 0; round < 3000; ++round) {
        const auto& method = kMethods[below(random, kMethods.size())];
        const auto error = client.call(method.path, method.interface, method.name, [&](sd_bus_message* message) {
            int result = 0;
            for (std::uint32_t count = below(random, 3); count > 0 && result >= 0; --count) {
                result = append_some(message, random, 3);
            }
            return result;
        });
        ASSERT_TRUE(is_named(error)) << method.path << " " << method.name << ": " << error << " in round " << round;
    }
    const auto properties = bystander.properties(session->path, names::kSession);
    ASSERT_TRUE(properties) << to_string(properties.error());
    EXPECT_EQ(text_of(*properties, "State"), "active");
    EXPECT_TRUE(queue_pairs_of(bystander, session->path).empty());
}

TEST_F(Malformed, StandardMistakesHaveStandardNames)
{
    RawClient client(daemon);
    const auto nothing = [](sd_bus_message*) { return 0; };
    EXPECT_EQ(client.call(names::kRoot, names::kManager, "NoSuch", nothing),
              "org.freedesktop.DBus.Error.UnknownMethod");
    EXPECT_EQ(client.call(names::kRoot, names::kManager, "Register", nothing),
              "org.freedesktop.DBus.Error.InvalidArgs");
    EXPECT_EQ(client.call("/org/rdmaqos1/session/99", names::kSession, "Release", nothing),
              "org.rdmaqos1.Error.UnknownSession");
    EXPECT_EQ(client.call("/org/rdmaqos1/session/099", names::kSession, "Release", nothing),
              "org.freedesktop.DBus.Error.UnknownObject");
}

TEST_F(Malformed, RandomBytesEndOnlyTheirOwnConnection)
{
    auto bystander = daemon.direct();
    Random random(7);
    for (int round = 0; round < 100; ++round) {
        const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        ASSERT_TRUE(connect_to(socket.get()));
        std::string bytes(1, '\0');
        if (round % 2 == 0) {
            bytes += "AUTH EXTERNAL\r\nDATA\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\n";
        }
        if (round % 4 == 0) {
            // The head of a message that promises much.
            bytes += std::string("l\x01\x00\x01\xff\xff\xff\x07", 8);
        }
        for (std::uint32_t count = below(random, 500); count > 0; --count) {
            bytes += static_cast<char>(random());
        }
        [[maybe_unused]] const auto sent = send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    }
    EXPECT_TRUE(register_session(bystander, {}));
}

}    // namespace
}    // namespace rdmaqos::test
