// Who hears what.
#include <algorithm>
#include <csignal>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include "lib/base/signal_process.h"
#include "tests/support/daemon_fixture.h"

namespace rdmaqos::test {
namespace {

using namespace std::chrono_literals;
namespace names = bus::names;

// On a busy machine, too.
constexpr auto kUntilItListens = 3s;

class SignalsOf : public ::testing::TestWithParam<bool> {
protected:
    void SetUp() override
    {
        if (geteuid() != 0) {
            GTEST_SKIP() << "only root may own org.rdmaqos1 and reload";
        }
        daemon = std::make_unique<Daemon>(DaemonOptions{kTwoLevelPolicy, kTwoDevices, "", GetParam(), RDMAQOS_DAEMON});
    }

    // Runs `action` in a child once the listener listens, and gives what was heard until all of this was, in any order.
    // What does not come is not waited for longer than a daemon that hangs.
    std::vector<std::string> hear(bus::Client& listener, const std::vector<std::string>& wanted,
                                  const std::function<void()>& action)
    {
        Child child([&] {
            std::this_thread::sleep_for(kUntilItListens);
            action();
            std::this_thread::sleep_for(kHung);
            signal_process(daemon->process().pid(), SIGKILL);
        });
        std::vector<std::string> heard;
        const auto done = listener.monitor([&](const bus::Signal& signal) {
            std::string line = signal.path + " " + signal.member;
            if (!signal.arguments.empty()) {
                if (const auto* text = signal.arguments.front().as<std::string>()) {
                    line += " " + *text;
                } else if (const auto* path = signal.arguments.front().as<bus::ObjectPath>()) {
                    line += " " + path->text;
                }
            }
            heard.push_back(line);
            return !std::ranges::all_of(wanted, [&](const auto& part) { return contains(heard, part); });
        });
        EXPECT_TRUE(done) << to_string(done.error());
        return heard;
    }
    static bool contains(const std::vector<std::string>& lines, const std::string& part)
    {
        return std::ranges::any_of(lines, [&](const auto& line) { return line.find(part) != std::string::npos; });
    }

    std::unique_ptr<Daemon> daemon;
};

INSTANTIATE_TEST_SUITE_P(Both, SignalsOf, ::testing::Bool(),
                         [](const auto& transport) { return transport.param ? "SystemBus" : "DirectSocket"; });

TEST_P(SignalsOf, SessionsComeAndGo)
{
    auto listener = daemon->by(GetParam());
    const std::vector<std::string> both{"/org/rdmaqos1 InterfacesAdded /org/rdmaqos1/session/1",
                                        "/org/rdmaqos1 InterfacesRemoved /org/rdmaqos1/session/1"};
    const auto heard = hear(listener, both, [&] {
        auto client = daemon->direct();
        if (register_session(client, {})) {
            std::this_thread::sleep_for(200ms);
        }
    });
    EXPECT_TRUE(contains(heard, both[0]));
    EXPECT_TRUE(contains(heard, both[1]));
}

TEST_P(SignalsOf, AReloadTellsOfThePolicyAndOfGrants)
{
    auto listener = daemon->by(GetParam());
    bus::Dict request;
    request.set("level", "rpc");
    ASSERT_TRUE(register_session(listener, request));
    std::string changed = kTwoLevelPolicy;
    changed.replace(changed.find("share: 60"), 9, "share: 50");
    daemon->dir().write("etc/rdma-qos/policy.yaml", changed);
    const std::string grant = "/org/rdmaqos1/session/1 GrantChanged";    // its own connection always hears it
    const std::string manager = "/org/rdmaqos1 PropertiesChanged org.rdmaqos1.Manager";
    const auto heard = hear(listener, {grant, manager, "PolicyChanged"}, [&] {
        auto client = daemon->direct();
        [[maybe_unused]] const auto reloaded = client.call(names::kRoot, names::kManager, "Reload", {});
    });
    EXPECT_TRUE(contains(heard, grant));
    EXPECT_TRUE(contains(heard, manager));
}

}    // namespace
}    // namespace rdmaqos::test
