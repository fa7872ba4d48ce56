// Many connections, sessions and queue pairs; limits of one user.
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/support/daemon_fixture.h"

namespace rdmaqos::test {
namespace {

namespace names = bus::names;

DaemonOptions direct_only(const std::string& settings = {})
{
    return {kTwoLevelPolicy, kTwoDevices, settings, false, RDMAQOS_DAEMON};
}

void raise_descriptors()
{
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

std::uint64_t device_operations(bus::Client& client, const std::string& device)
{
    const auto properties = client.properties(device, names::kDevice);
    if (!properties) {
        return 0;
    }
    for (const auto& [name, count] : *properties->find("Statistics")->as<bus::Counts>()) {
        if (name == "operations") {
            return count;
        }
    }
    return 0;
}

TEST(Scale, SixHundredConnectionsOfOneUser)
{
    raise_descriptors();
    const Daemon daemon(direct_only());
    std::vector<bus::Client> clients;
    for (int count = 0; count < 600; ++count) {
        auto client = bus::Client::connect_direct(daemon.socket());
        ASSERT_TRUE(client) << count << ": " << to_string(client.error());
        clients.push_back(std::move(*client));
    }
    for (auto& client : clients) {
        ASSERT_TRUE(register_session(client, {}));
    }
    EXPECT_EQ(daemon.sessions(), 600U);
    clients.clear();
    EXPECT_TRUE(eventually([&] { return daemon.sessions() == 0; }));
}

// A thousand on emulated devices, where each is a queue pair with a kernel object, and takes its time.
TEST(Scale, TenThousandQueuePairsAndAReloadOfOneShare)
{
    raise_descriptors();
    Daemon daemon(direct_only());
    const std::uint32_t connections = EmulatedNics::wanted() ? 20 : 200;
    constexpr std::uint32_t kEach = 50;
    std::vector<bus::Client> clients;
    for (std::uint32_t connection = 0; connection < connections; ++connection) {
        clients.push_back(daemon.direct());
        std::vector<bus::Dict> queue_pairs;
        for (std::uint32_t number = 0; number < kEach; ++number) {
            queue_pairs.push_back(queue_pair("mlx5_0", connection * kEach + number + 0x100));
        }
        bus::Dict request;
        request.set("level", "bulk");
        request.set("queue-pairs", queue_pairs);
        const auto session = register_session(clients.back(), request);
        ASSERT_TRUE(session) << to_string(session.error());
    }
    const auto objects = clients.front().managed_objects();
    ASSERT_TRUE(objects) << to_string(objects.error());
    std::size_t queue_pairs = 0;
    for (const auto& [path, interfaces] : *objects) {
        if (const auto session = interfaces.find(names::kSession); session != interfaces.end()) {
            queue_pairs += queue_pairs_of(clients.front(), path).size();
        }
    }
    EXPECT_EQ(queue_pairs, connections * kEach);
    if (geteuid() != 0) {
        return;    // only root may reload by the direct socket
    }
    const std::string device = "/org/rdmaqos1/device/mlx5_5f0_2f1";
    const auto before = device_operations(clients.front(), device);
    std::string changed = kTwoLevelPolicy;
    changed.replace(changed.find("share: 40"), 9, "share: 41");
    daemon.dir().write("etc/rdma-qos/policy.yaml", changed);
    ASSERT_TRUE(clients.front().call(names::kRoot, names::kManager, "Reload", {}));
    EXPECT_EQ(device_operations(clients.front(), device) - before, 1U);
}

TEST(Scale, LimitsOfOneUser)
{
    const Daemon daemon(direct_only("version: 1\nlimits: {sessions-per-uid: 2, queue-pairs-per-session: 3, "
                                    "connections-per-uid: 6}\n"));
    auto client = daemon.direct();
    const auto session = register_session(client, {});
    ASSERT_TRUE(session) << to_string(session.error());
    ASSERT_TRUE(register_session(client, {}));
    const auto third = register_session(client, {});
    ASSERT_FALSE(third);
    EXPECT_EQ(third.error().code, ErrorCode::LimitReached);

    std::vector<bus::Dict> queue_pairs;
    for (std::uint32_t number = 21; number <= 24; ++number) {
        queue_pairs.push_back(queue_pair("mlx5_0", number));
    }
    const auto results = attach(client, session->path, queue_pairs);
    const bool refused = !results || text_of(results->back(), "error") == "org.freedesktop.DBus.Error.LimitsExceeded";
    EXPECT_TRUE(refused);
    if (!results) {
        EXPECT_EQ(results.error().code, ErrorCode::LimitReached);
    }

    std::vector<bus::Client> more;
    while (more.size() < 10) {
        auto next = bus::Client::connect_direct(daemon.socket());
        if (!next) {
            break;
        }
        more.push_back(std::move(*next));
    }
    EXPECT_EQ(more.size(), 5U);
}

TEST(Scale, TooManyRequestsAreRefusedNotServed)
{
    const Daemon daemon(direct_only("version: 1\nlimits: {requests-per-second-per-uid: 5}\n"));
    auto client = daemon.direct();
    // Many at a time: one after the other, a busy machine makes fewer.
    std::size_t refused = 0;
    for (const auto& answer :
         client.call_each(std::vector<std::string>(200, names::kRoot), names::kManager, "ListLevels")) {
        if (!answer) {
            EXPECT_EQ(answer.error().code, ErrorCode::LimitReached);
            ++refused;
        }
    }
    EXPECT_GT(refused, 0U);
}

}    // namespace
}    // namespace rdmaqos::test
