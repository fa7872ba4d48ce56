// PropertiesChanged names what changed, and nothing else.
#include <algorithm>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <unistd.h>

#include "tests/support/daemon_fixture.h"

namespace rdmaqos::test {
namespace {

using namespace std::chrono_literals;
namespace names = bus::names;
using testing::ElementsAre;
using testing::IsSupersetOf;
using testing::UnorderedElementsAre;

constexpr const char* kDevicePath = "/org/rdmaqos1/device/mlx5_5f0_2f1";

class PropertiesChanged : public ::testing::TestWithParam<bool> {
protected:
    void SetUp() override
    {
        if (geteuid() != 0) {
            GTEST_SKIP() << "only root may own org.rdmaqos1 and manage devices";
        }
        daemon = std::make_unique<Daemon>(DaemonOptions{kTwoLevelPolicy, kTwoDevices, "", GetParam(), RDMAQOS_DAEMON});
        listener = std::make_unique<bus::Client>(daemon->by(GetParam()));
    }

    // What was named of the object since the last time, changed or invalidated, until a moment without signals.
    std::set<std::string> named(const std::string& path, const std::function<void()>& action)
    {
        Child child([&] {
            std::this_thread::sleep_for(200ms);
            action();
            std::this_thread::sleep_for(300ms);
            // An end that can be heard.
            auto client = daemon->direct();
            static_cast<void>(register_session(client, {}));
            std::this_thread::sleep_for(200ms);
        });
        std::set<std::string> result;
        const auto done = listener->monitor([&](const bus::Signal& signal) {
            if (signal.path == path && signal.member == "PropertiesChanged") {
                for (const auto& [name, value] : signal.arguments.at(1).as<bus::Dict>()->entries()) {
                    result.insert(name);
                }
                for (const auto& name : *signal.arguments.at(2).as<std::vector<std::string>>()) {
                    result.insert(name);
                }
            }
            return signal.member != "InterfacesRemoved";
        });
        EXPECT_TRUE(done) << to_string(done.error());
        return result;
    }
    void manage_first(const std::string& method)
    {
        auto client = daemon->direct();
        static_cast<void>(manage(client, method, "mlx5_0"));
    }
    // Told once, so that it is known what was told.
    void begin()
    {
        static_cast<void>(named(kDevicePath, [&] { manage_first("Disable"); }));
        static_cast<void>(named(kDevicePath, [&] { manage_first("Enable"); }));
    }

    std::unique_ptr<Daemon> daemon;
    std::unique_ptr<bus::Client> listener;
};

INSTANTIATE_TEST_SUITE_P(Both, PropertiesChanged, ::testing::Bool(),
                         [](const auto& transport) { return transport.param ? "SystemBus" : "DirectSocket"; });

TEST_P(PropertiesChanged, OfADeviceThatIsDisabled)
{
    begin();
    EXPECT_THAT(
        named(kDevicePath, [&] { manage_first("Disable"); }),
        UnorderedElementsAre("State", "Reason", "ElementsUsed", "ElementsFree", "LeavesUsed", "LeavesFree", "Tree"));
}

// A pass makes a new snapshot of the tree, so that is named with it.
TEST_P(PropertiesChanged, OfADeviceWhoseQueuePairsComeAndGo)
{
    begin();
    const auto attach_to = [&](const char* level, std::uint32_t number) {
        // The session lasts as long as the process of the action: its end is not of interest.
        auto* client = new bus::Client(daemon->direct());
        bus::Dict request;
        request.set("level", level);
        static_cast<void>(attach(*client, register_session(*client, request)->path, {queue_pair("mlx5_0", number)}));
    };
    EXPECT_THAT(named(kDevicePath, [&] { attach_to("DEFAULT", 11); }),
                UnorderedElementsAre("QueuePairsOutside", "Tree"));
    static_cast<void>(named(kDevicePath, [] {}));    // until the first session has ended
    EXPECT_THAT(named(kDevicePath, [&] { attach_to("bulk", 12); }), UnorderedElementsAre("QueuePairsInside", "Tree"));
}

TEST_P(PropertiesChanged, OfTheManager)
{
    const auto reload = [&] {
        auto client = daemon->direct();
        static_cast<void>(client.call(names::kRoot, names::kManager, "Reload", {}));
    };
    static_cast<void>(named(names::kRoot, reload));
    EXPECT_THAT(named(names::kRoot,
                      [&] {
                          daemon->dir().write("etc/rdma-qos/rdma-qosd.yaml", "version: 1\nmode: monitor\n");
                          reload();
                      }),
                ElementsAre("Mode"));
    EXPECT_THAT(named(names::kRoot, [&] { daemon->dir().write("etc/rdma-qos/fabric.yaml", "version: 7\n"); }),
                ElementsAre("FabricDiagnostics"));
    EXPECT_THAT(named(names::kRoot, [&] { manage_first("Release"); }), ElementsAre("ReleasedDevices"));
}

TEST_P(PropertiesChanged, OfTheManagerAfterAReload)
{
    const auto reload = [&] {
        auto client = daemon->direct();
        static_cast<void>(client.call(names::kRoot, names::kManager, "Reload", {}));
    };
    static_cast<void>(named(names::kRoot, reload));
    std::string changed = kTwoLevelPolicy;
    changed.replace(changed.find("share: 60"), 9, "share: 50");
    daemon->dir().write("etc/rdma-qos/policy.yaml", changed);
    EXPECT_THAT(named(names::kRoot, reload), ElementsAre("PolicyRevision"));
    daemon->dir().write("etc/rdma-qos/policy.yaml", "version: 1\nqos-levels: 1\n");
    EXPECT_THAT(named(names::kRoot, reload), ElementsAre("LastReload"));
}

}    // namespace
}    // namespace rdmaqos::test
