// The number of a process that ended is given to another: who has the connection of the first is not taken for the
// second.
#include <csignal>
#include <cstring>
#include <future>
#include <optional>
#include <thread>

#include <gtest/gtest.h>
#include <linux/sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/descriptor_message.h"
#include "lib/base/signal_process.h"
#include "lib/bus/framing.h"
#include "lib/bus/peer.h"
#include "tests/support/bus_with_descriptors.h"
#include "tests/support/daemon_fixture.h"
#include "tests/support/old_kernel.h"

namespace rdmaqos::test {
namespace {

using namespace std::string_literals;

void put(std::string& bytes, std::uint32_t value)
{
    bytes.resize((bytes.size() + 3) / 4 * 4);
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void field(std::string& fields, char code, char type, const std::string& value)
{
    fields.resize((fields.size() + 7) / 8 * 8);
    fields += {code, '\1', type, '\0'};
    put(fields, static_cast<std::uint32_t>(value.size()));
    fields += value + '\0';
}

// A call with an empty a{sv}, or without arguments; without a destination where there is no bus.
std::string call(std::uint32_t serial, const std::string& destination, const std::string& path,
                 const std::string& interface, const std::string& member, bool with_dict)
{
    std::string fields;
    field(fields, 1, 'o', path);
    field(fields, 2, 's', interface);
    field(fields, 3, 's', member);
    if (!destination.empty()) {
        field(fields, 6, 's', destination);
    }
    if (with_dict) {
        fields.resize((fields.size() + 7) / 8 * 8);
        fields += "\10\1g\0\5a{sv}\0"s;
    }
    std::string bytes = "l\1\0\1"s;
    put(bytes, with_dict ? 8 : 0);    // the body: a length of 0 and padding
    put(bytes, serial);
    put(bytes, static_cast<std::uint32_t>(fields.size()));
    bytes += fields;
    bytes.resize((bytes.size() + 7) / 8 * 8);
    return with_dict ? bytes + std::string(8, '\0') : bytes;
}

// Until the answer to a call has come: all that came.
std::string receive_until(int socket, const std::string& text)
{
    std::string all;
    std::string buffer(65536, '\0');
    while (all.find(text) == std::string::npos) {
        const ssize_t got = recv(socket, buffer.data(), buffer.size(), 0);
        if (got <= 0) {
            break;
        }
        all.append(buffer, 0, static_cast<std::size_t>(got));
    }
    return all;
}

// A message of one byte, with room for a descriptor.
struct OneByte {
    OneByte()
    {
        message.msg_iov = &part;
        message.msg_iovlen = 1;
    }

    char byte = 0;
    iovec part{&byte, 1};
    DescriptorRoom room;
    msghdr message{};
};

// A socket to `path` on which a process that is dead now has said `text`; its number in `pid`. It waited for `answer`.
UniqueFd connection_of_a_dead_process(const std::string& path, const std::string& text, const std::string& answer,
                                      pid_t& pid)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        throw std::runtime_error("socketpair");
    }
    const UniqueFd ours(ends[0]);
    UniqueFd theirs(ends[1]);
    pid = fork();
    if (pid == 0) {
        sockaddr_un bus{};
        bus.sun_family = AF_UNIX;
        std::strncpy(bus.sun_path, path.c_str(), sizeof(bus.sun_path) - 1);
        const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
        const timeval patience{kHung.count(), 0};
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
        if (connect(socket, reinterpret_cast<const sockaddr*>(&bus), sizeof(bus)) != 0) {
            _exit(1);
        }
        if (send(socket, text.data(), text.size(), MSG_NOSIGNAL) < 0 ||
            (!answer.empty() && receive_until(socket, answer).empty())) {
            _exit(1);
        }
        OneByte passed;
        passed.room.put(passed.message, std::span(&socket, 1));
        _exit(sendmsg(theirs.get(), &passed.message, 0) == 1 ? 0 : 1);
    }
    theirs.reset();
    OneByte passed;
    passed.room.offer(passed.message);
    const bool received = recvmsg(ours.get(), &passed.message, MSG_CMSG_CLOEXEC) == 1;
    auto descriptors = take_descriptors(passed.message);
    waitpid(pid, nullptr, 0);
    if (!received || descriptors.size() != 1) {
        throw std::runtime_error("no connection");
    }
    return std::move(descriptors.front());
}

// A process that waits to be killed, with a number of our choice; 0: the kernel does not let us choose.
pid_t process_with_number(pid_t wanted)
{
    clone_args arguments{};
    arguments.exit_signal = SIGCHLD;
    arguments.set_tid = reinterpret_cast<std::uint64_t>(&wanted);
    arguments.set_tid_size = 1;
    const auto pid = static_cast<pid_t>(syscall(SYS_clone3, &arguments, sizeof(arguments)));
    if (pid == 0) {
        while (true) {
            pause();
        }
    }
    return pid < 0 ? 0 : pid;
}

// Such a process, while this lives.
class NumberTaken {
public:
    explicit NumberTaken(pid_t number) : pid_(process_with_number(number)) {}
    ~NumberTaken()
    {
        if (pid_ != 0) {
            signal_process(pid_, SIGKILL);
            waitpid(pid_, nullptr, 0);
        }
    }
    NumberTaken(const NumberTaken&) = delete;
    NumberTaken& operator=(const NumberTaken&) = delete;

    explicit operator bool() const { return pid_ != 0; }

private:
    pid_t pid_;
};

const std::string kAuthentication = "\0AUTH EXTERNAL\r\nDATA\r\nBEGIN\r\n"s;

// A daemon whose kernel is older than Linux 6.5.
class OldKernelDaemon {
public:
    explicit OldKernelDaemon(bool system_bus = false)
    {
        std::promise<void> ready;
        // The daemon ends with the thread that started it.
        thread_ = std::thread([this, system_bus, &ready] {
            try {
                play_old_kernel();
                DaemonOptions options{kTwoLevelPolicy, kTwoDevices, "", system_bus, RDMAQOS_DAEMON};
                daemon_.emplace(std::move(options));
                ready.set_value();
            } catch (...) {
                ready.set_exception(std::current_exception());
            }
            ended_.get_future().wait();
        });
        try {
            ready.get_future().get();
        } catch (...) {
            end();
            throw;
        }
    }
    ~OldKernelDaemon() { end(); }
    OldKernelDaemon(const OldKernelDaemon&) = delete;
    OldKernelDaemon& operator=(const OldKernelDaemon&) = delete;

    Daemon* operator->() { return &*daemon_; }

private:
    void end()
    {
        daemon_.reset();
        ended_.set_value();
        thread_.join();
    }

    std::promise<void> ended_;
    std::optional<Daemon> daemon_;
    std::thread thread_;
};

// It has sent its call already when it ends, and all of that waits for the daemon.
TEST(ReusedPid, TheConnectionOfADeadProcessIsNobodysOnTheDirectSocketOfAnOldKernel)
{
    OldKernelDaemon daemon;
    pid_t dead = 0;
    daemon->process().signal(SIGSTOP);
    const UniqueFd socket = connection_of_a_dead_process(
        daemon->socket(), kAuthentication + call(2, "", bus::names::kRoot, bus::names::kManager, "Register", true), "",
        dead);
    const NumberTaken other(dead);
    const int error = errno;
    daemon->process().signal(SIGCONT);
    if (!other) {
        GTEST_SKIP() << "the number of a new process cannot be chosen here: " << std::strerror(error);
    }
    const std::string answer = receive_until(socket.get(), "first call");
    EXPECT_NE(answer.find("org.freedesktop.DBus.Error.IOError"), std::string::npos) << answer;
    EXPECT_NE(answer.find("it cannot be told whether process " + std::to_string(dead)), std::string::npos) << answer;
    EXPECT_EQ(daemon->sessions(), 0U);
}

// Connections wait to be accepted all the time, and every program is younger than the first of them.
TEST(ReusedPid, AProgramThatStartsDuringAFloodIsServed)
{
    using namespace std::chrono_literals;
    if (geteuid() != 0) {
        GTEST_SKIP() << "needs a second user, whose connections are not those of the programs";
    }
    OldKernelDaemon daemon;
    std::vector<std::unique_ptr<Child>> flood;
    for (int count = 0; count < 4; ++count) {
        flood.push_back(std::make_unique<Child>([path = daemon->socket().string()] {
            sockaddr_un address{};
            address.sun_family = AF_UNIX;
            std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
            if (setuid(65534) != 0) {
                _exit(1);
            }
            while (true) {
                const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
                static_cast<void>(connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)));
            }
        }));
    }
    std::this_thread::sleep_for(1500ms);
    for (int count = 0; count < 10; ++count) {
        Child program([&] {
            try {
                auto client = daemon->direct();
                const auto registered = register_session(client, {});
                if (!registered) {
                    throw std::runtime_error(to_string(registered.error()));
                }
            } catch (const std::exception& error) {
                fprintf(stderr, "refused: %s\n", error.what());
                _exit(1);
            }
        });
        const auto status = program.wait();
        ASSERT_TRUE(status.has_value());
        EXPECT_EQ(*status, 0);
    }
}

// The kernel gives the pidfd of the process that connected: nothing has to be proved.
TEST(ReusedPid, TheConnectionOfADeadProcessIsNobodysOnTheDirectSocket)
{
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    const UniqueFd one(ends[0]);
    const UniqueFd two(ends[1]);
    const auto peer = bus::peer_of_socket(one.get());
    ASSERT_TRUE(peer);
    if (peer->unproven_bytes) {
        GTEST_SKIP() << "this kernel gives no pidfd of who connected (before Linux 6.5)";
    }
    Daemon daemon;
    pid_t dead = 0;
    daemon.process().signal(SIGSTOP);
    const UniqueFd socket = connection_of_a_dead_process(
        daemon.socket(), kAuthentication + call(2, "", bus::names::kRoot, bus::names::kManager, "Register", true), "",
        dead);
    const NumberTaken other(dead);
    const int error = errno;
    daemon.process().signal(SIGCONT);
    if (!other) {
        GTEST_SKIP() << "the number of a new process cannot be chosen here: " << std::strerror(error);
    }
    EXPECT_EQ(receive_until(socket.get(), "first call"), "") << "the connection is closed";
    EXPECT_TRUE(eventually([&] { return daemon.log().find("a connection of user") != std::string::npos; }));
    EXPECT_EQ(daemon.sessions(), 0U);
}

std::string bus_call(std::uint32_t serial, const std::string& member)
{
    return call(serial, bus::names::kBus, bus::names::kBusPath, bus::names::kBus, member, false);
}

std::string register_call()
{
    return call(2, bus::names::kService, bus::names::kRoot, bus::names::kManager, "Register", true);
}

std::filesystem::path socket_of(const std::string& address)
{
    std::string path = address.substr(address.find("path=") + 5);
    path.resize(std::min(path.find(','), path.size()));
    return path;
}

void expect_nobody(Daemon& daemon, const UniqueFd& socket, const std::string& words)
{
    ASSERT_EQ(send(socket.get(), words.data(), words.size(), MSG_NOSIGNAL), static_cast<ssize_t>(words.size()));
    const std::string answer = receive_until(socket.get(), "has ended");
    EXPECT_NE(answer.find("org.freedesktop.DBus.Error.IOError"), std::string::npos) << answer;
    EXPECT_NE(answer.find("has ended"), std::string::npos) << answer;
    EXPECT_EQ(daemon.sessions(), 0U);
}

// It has joined the bus before its number is given to another.
void leave_a_connection_on_the_bus(Daemon& daemon)
{
    pid_t dead = 0;
    const UniqueFd socket = connection_of_a_dead_process(socket_of(daemon.bus_address()),
                                                         kAuthentication + bus_call(1, "Hello"), "NameAcquired", dead);
    usleep(50'000);    // start times are told in hundredths of a second
    const NumberTaken other(dead);
    if (!other) {
        GTEST_SKIP() << "the number of a new process cannot be chosen here: " << std::strerror(errno);
    }
    expect_nobody(daemon, socket, register_call());
}

TEST(ReusedPid, TheConnectionOfADeadProcessIsNobodysOnTheSystemBus)
{
    Daemon daemon;
    leave_a_connection_on_the_bus(daemon);
}

// Neither the kernel nor, therefore, the bus knows more than the number.
TEST(ReusedPid, TheConnectionOfADeadProcessIsNobodysOnTheSystemBusOfAnOldKernel)
{
    OldKernelDaemon daemon(true);
    EXPECT_FALSE(gives_pidfds(daemon->bus_address()));
    leave_a_connection_on_the_bus(*daemon.operator->());
}

// By number and start time alone it would be the other's.
TEST(ReusedPid, ANumberIsGivenToAnotherBeforeTheConnectionJoinsTheSystemBus)
{
    Daemon daemon;
    if (!gives_pidfds(daemon.bus_address())) {
        GTEST_SKIP() << "this bus gives no pidfds (dbus before 1.16 or Linux before 6.5): it is not noticed there";
    }
    pid_t dead = 0;
    const UniqueFd socket = connection_of_a_dead_process(socket_of(daemon.bus_address()),
                                                         "\0AUTH EXTERNAL\r\nDATA\r\n"s, "OK ", dead);
    const NumberTaken other(dead);
    if (!other) {
        GTEST_SKIP() << "the number of a new process cannot be chosen here: " << std::strerror(errno);
    }
    usleep(50'000);
    expect_nobody(daemon, socket, "BEGIN\r\n" + bus_call(1, "Hello") + register_call());
}

}    // namespace
}    // namespace rdmaqos::test
