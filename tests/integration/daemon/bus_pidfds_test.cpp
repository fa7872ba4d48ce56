// The helper that takes pidfds from the system bus, on which everybody may send to it.
#include <sstream>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "lib/bus/process_helper.h"
#include "tests/support/bus_with_descriptors.h"
#include "tests/support/daemon_fixture.h"
#include "tests/support/golden.h"

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

// The process of the daemon's helper that is connected to the bus; 0: there is none.
pid_t helper_of(const Child& daemon)
{
    std::istringstream children(read_text(fmt::format("/proc/{}/task/{}/children", daemon.pid(), daemon.pid())));
    for (pid_t child = 0; children >> child;) {
        if (read_text(fmt::format("/proc/{}/cmdline", child)).find(bus::kProcessHelperCommand) != std::string::npos) {
            return child;
        }
    }
    return 0;
}

TEST(PidfdsOfTheBus, WhatComesToTheHelperUnaskedHoldsNobodyUp)
{
    Daemon daemon;
    if (!gives_pidfds(daemon.bus_address())) {
        GTEST_SKIP() << "this bus gives no pidfds (dbus before 1.16 or Linux before 6.5): there is no helper";
    }
    const BusWithDescriptors attacker(daemon.bus_address());
    // Somebody who is not known yet, so that the helper is asked.
    const auto is_served = [&daemon] {
        auto client = daemon.by_bus();
        const auto registered = register_session(client, {});
        EXPECT_TRUE(registered) << to_string(registered.error());
    };
    std::vector<std::unique_ptr<SlowToClose>> slow;
    for (int round = 0; round < 3; ++round) {
        is_served();
        const pid_t helper = helper_of(daemon.process());
        ASSERT_NE(helper, 0);
        const auto name = attacker.name_of(helper);
        ASSERT_FALSE(name.empty()) << "the helper is not on the bus";
        // Its last owner is the helper.
        attacker.send_signal(name, slow.emplace_back(std::make_unique<SlowToClose>())->take());
        is_served();
        EXPECT_TRUE(eventually([&] { return helper_of(daemon.process()) != helper; }))
            << "something came, and it stays";
    }
    EXPECT_EQ(daemon.log().find("cannot be asked for the pidfd"), std::string::npos) << daemon.log();
}

}    // namespace
}    // namespace rdmaqos::test
