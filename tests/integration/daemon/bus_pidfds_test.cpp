// The helper that takes pidfds from the system bus, on which everybody may send to it.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "tests/support/bus_with_descriptors.h"
#include "tests/support/daemon_fixture.h"

namespace rdmaqos::test {
namespace {

// One end of a connection over TCP, with data that nobody reads: closing it takes a minute.
class SlowToClose {
public:
    SlowToClose() : listening_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))
    {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof(address);
        auto* const any = reinterpret_cast<sockaddr*>(&address);
        if (bind(listening_.get(), any, size) != 0 || listen(listening_.get(), 1) != 0 ||
            getsockname(listening_.get(), any, &size) != 0) {
            throw std::runtime_error("no socket");
        }
        end_ = UniqueFd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        const linger patience{1, 60};
        if (connect(end_.get(), any, size) != 0 ||
            setsockopt(end_.get(), SOL_SOCKET, SO_LINGER, &patience, sizeof(patience)) != 0) {
            throw std::runtime_error("no connection");
        }
        unread_ = UniqueFd(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        const std::string data(1U << 20U, 'x');
        while (send(end_.get(), data.data(), data.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
        }
    }

    // While this process has it too, whoever else closes it does not wait.
    UniqueFd take() { return std::move(end_); }

private:
    UniqueFd listening_;
    UniqueFd unread_;
    UniqueFd end_;
};

TEST(PidfdsOfTheBus, WhatComesToTheHelperUnaskedHoldsNobodyUp)
{
    using namespace std::chrono_literals;
    Daemon daemon;
    if (!gives_pidfds(daemon.bus_address())) {
        GTEST_SKIP() << "this bus gives no pidfds (dbus before 1.16 or Linux before 6.5): nobody may send descriptors";
    }
    const BusWithDescriptors attacker(daemon.bus_address());
    std::vector<std::unique_ptr<SlowToClose>> slow;
    for (int round = 0; round < 4; ++round) {
        auto client = daemon.by_bus();    // who is not known yet, so that the helper is asked
        const auto registered = register_session(client, {});
        ASSERT_TRUE(registered) << to_string(registered.error());
        const auto names = attacker.unique_names();
        EXPECT_GE(names.size(), 4U) << "the daemon, its helper, the client, the attacker";
        for (const auto& name : names) {
            auto& each = slow.emplace_back(std::make_unique<SlowToClose>());
            const UniqueFd end = each->take();
            attacker.send_signal(name, end.get());
        }
    }
    EXPECT_EQ(daemon.log().find("cannot be asked for the pidfd"), std::string::npos) << daemon.log();
    EXPECT_EQ(daemon.sessions(), 0U) << "each ended with its client";
}

}    // namespace
}    // namespace rdmaqos::test
