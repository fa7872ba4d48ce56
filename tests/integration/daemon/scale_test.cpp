// Many connections, sessions and queue pairs; limits of one user.
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/support/daemon_fixture.h"

namespace rdmaqos::test {
namespace {

namespace names = bus::names;

std::string slurp(const std::filesystem::path& path)
{
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
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

// Many at a time: one after the other, a busy machine makes fewer.
std::size_t refused_of_many(bus::Client& client)
{
    std::size_t refused = 0;
    for (const auto& answer :
         client.call_each(std::vector<std::string>(200, names::kRoot), names::kManager, "ListLevels")) {
        refused += !answer && answer.error().code == ErrorCode::LimitReached ? 1 : 0;
    }
    return refused;
}

// A child that is this user from its beginning; with another uid than 0, root must run this.
template <typename Do>
std::unique_ptr<Child> start_as(uid_t user, Do what)
{
    return std::make_unique<Child>([&] {
        const bool became = geteuid() != 0 || (setgid(user) == 0 && setuid(user) == 0);
        _exit(became && what() ? 0 : 1);
    });
}

TEST(Scale, TooManyRequestsAreRefusedNotServed)
{
    constexpr uid_t kUser = 65533;
    const Daemon daemon(direct_only("version: 1\nlimits: {requests-per-second-per-uid: 5}\n"));
    EXPECT_EQ(start_as(kUser,
                       [&] {
                           auto client = daemon.direct();
                           return refused_of_many(client) > 0;
                       })
                  ->wait(),
              0);
    if (geteuid() == 0) {
        auto root = daemon.direct();
        EXPECT_EQ(refused_of_many(root), 0U) << "root is always answered";
    }
}

// A status must not grow with what others have, nor be charged to who asks.
TEST(Scale, SessionsOfOthersTakeNobodysAnswersAway)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root can be several users";
    }
    constexpr uid_t kMany = 65533;
    constexpr uid_t kOther = 65532;
    constexpr std::uint64_t kSessions = 1500;    // more than rdma-qosctl lists for a status
    const Daemon daemon(direct_only("version: 1\nlimits: {requests-per-second-per-uid: 1000}\n"));
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    const UniqueFd reader(ends[0]);
    UniqueFd writer(ends[1]);
    const auto crowd = start_as(kMany, [&] {
        auto client = daemon.direct();
        for (std::uint64_t count = 0; count < kSessions;) {
            count += register_session(client, {}) ? 1 : 0;    // else it was too fast
        }
        return write(writer.get(), "x", 1) == 1 && pause() == 0;
    });
    writer.reset();
    char byte = 0;
    ASSERT_EQ(read(reader.get(), &byte, 1), 1);

    const auto is_answered = [&] {
        auto client = daemon.direct();
        for (int round = 0; round < 5; ++round) {
            const auto devices = client.managed_objects(names::kDevices);
            const auto all = client.managed_objects();
            const auto counts = client.call(names::kRoot, names::kManager, "CountSessions", {});
            if (!devices || devices->size() != 2 || !all || all->size() != kSessions + 2 || !counts) {
                return false;
            }
            bool found = false;
            for (const auto& count : *counts->front().as<std::vector<bus::Dict>>()) {
                found = found || (text_of(count, "uid") == std::to_string(kMany) &&
                                  text_of(count, "sessions") == std::to_string(kSessions));
            }
            if (!found) {
                return false;
            }
        }
        return true;
    };
    EXPECT_EQ(start_as(kOther, is_answered)->wait(), 0);
    EXPECT_TRUE(is_answered());
    for (int round = 0; round < 5; ++round) {
        const auto out = daemon.dir().path() / "status.txt";
        Child status({RDMAQOS_CTL, "--root", daemon.root().string(), "status"}, {}, out);
        EXPECT_EQ(status.wait(), 0) << slurp(out);
        EXPECT_NE(slurp(out).find("1500 of 1 user"), std::string::npos) << slurp(out);
    }
}

}    // namespace
}    // namespace rdmaqos::test
