// A session that no client made, on both transports: everybody sees it, and nobody may change it.
#include <condition_variable>
#include <mutex>
#include <thread>

#include <gmock/gmock.h>
#include <unistd.h>

#include "daemon/bus/object_paths.h"
#include "tests/support/daemon_fixture.h"
#include "tests/support/served.h"

namespace rdmaqos::test {
namespace {

using namespace std::chrono_literals;
namespace names = bus::names;

constexpr PeerId kNobody{};

bus::Client connected(Result<bus::Client> client)
{
    return client ? std::move(*client) : throw std::runtime_error(to_string(client.error()));
}

// Keeps what it hears, on a thread of its own, until the daemon goes.
class Listener {
public:
    explicit Listener(bus::Client client)
        : client_(std::move(client)), thread_([this] {
              static_cast<void>(client_.monitor([this](const bus::Signal& signal) {
                  const std::lock_guard lock(mutex_);
                  heard_.push_back(signal);
                  more_.notify_all();
                  return true;
              }));
          })
    {
    }

    // The first signal of this name about this object, within `patience`.
    std::optional<bus::Signal> hears(const std::string& member, const std::string& path,
                                     std::chrono::milliseconds patience = 5s)
    {
        std::unique_lock lock(mutex_);
        std::optional<bus::Signal> found;
        more_.wait_for(lock, patience, [&] {
            for (const auto& signal : heard_) {
                const auto* argument = signal.arguments.empty() ? nullptr : signal.arguments[0].as<bus::ObjectPath>();
                if (signal.member == member && (argument == nullptr ? signal.path : argument->text) == path) {
                    found = signal;
                }
            }
            return found.has_value();
        });
        return found;
    }

private:
    bus::Client client_;
    std::mutex mutex_;
    std::condition_variable more_;
    std::vector<bus::Signal> heard_;
    std::jthread thread_;    // last: uses the others
};

class AdoptedSession : public ::testing::Test {
protected:
    void SetUp() override
    {
        if (geteuid() != 0) {
            GTEST_SKIP() << "only root may own org.rdmaqos1";
        }
        root_.write("etc/rdma-qos/policy.yaml", kTwoLevelPolicy);
        bus_ = std::make_unique<PrivateBus>(root_.path());
        setenv("DBUS_SYSTEM_BUS_ADDRESS", bus_->address().c_str(), 1);    // NOLINT(concurrency-mt-unsafe): one thread
        served_ = std::make_unique<Served>(root_.path());
        for (auto& client : both()) {
            listeners_.push_back(std::make_unique<Listener>(std::move(client)));
        }
        auto client = direct();
        for (const auto& listener : listeners_) {    // which have subscribed when they hear of one
            ASSERT_TRUE(eventually([&] {
                const auto made = register_session(client, {});
                return made && listener->hears("InterfacesAdded", made->path, 50ms);
            }));
        }
        adopted_ = adopt();
    }

    [[nodiscard]] bus::Client direct() const
    {
        return connected(bus::Client::connect_direct(below_root(root_.path(), names::kSocket)));
    }
    [[nodiscard]] std::vector<bus::Client> both() const
    {
        std::vector<bus::Client> clients;
        clients.push_back(direct());
        clients.push_back(connected(bus::Client::connect_system_bus()));
        return clients;
    }
    // A session of nobody, as adoption makes them; its object path.
    std::string adopt()
    {
        auto owner = std::make_shared<Identity>();
        owner->pid = 4711;
        owner->executable = "/usr/bin/a";
        RegisterRequest request;
        request.request.level = "rpc";
        SessionId id{};
        served_->on_loop([&](Service& service) {
            service.register_session(kNobody, owner, request, [&](const Result<RegisterReply>& reply) {
                ASSERT_TRUE(reply) << to_string(reply.error());
                id = reply->session;
            });
        });
        return session_path(id);
    }

    TempDir root_;
    std::unique_ptr<PrivateBus> bus_;
    std::vector<std::unique_ptr<Listener>> listeners_;
    std::unique_ptr<Served> served_;    // goes before those who listen until it goes
    std::string adopted_;
};

TEST_F(AdoptedSession, IsMarked)
{
    for (auto& client : both()) {
        const auto properties = client.properties(adopted_, names::kSession);
        ASSERT_TRUE(properties) << to_string(properties.error());
        EXPECT_TRUE(*properties->find("Adopted")->as<bool>());
        EXPECT_EQ(text_of(*properties, "Level"), "rpc");
        const auto other = register_session(client, {});
        ASSERT_TRUE(other);
        EXPECT_FALSE(*client.properties(other->path, names::kSession)->find("Adopted")->as<bool>());
    }
}

TEST_F(AdoptedSession, ComesAndChangesForAllWhoListen)
{
    for (const auto& listener : listeners_) {
        EXPECT_TRUE(listener->hears("InterfacesAdded", adopted_));
    }
    auto client = direct();
    std::string changed = kTwoLevelPolicy;
    changed.replace(changed.find("share: 60"), 9, "share: 50");
    root_.write("etc/rdma-qos/policy.yaml", changed);
    ASSERT_TRUE(client.call(names::kRoot, names::kManager, "Reload", {}));
    for (const auto& listener : listeners_) {
        EXPECT_TRUE(listener->hears("GrantChanged", adopted_));
        EXPECT_TRUE(listener->hears("PropertiesChanged", adopted_));
    }
}

TEST_F(AdoptedSession, IsNobodysToChange)
{
    for (auto& client : both()) {
        const auto refused = [&](const char* method, const std::vector<bus::Value>& arguments) {
            const auto reply = client.call(adopted_, names::kSession, method, arguments);
            ASSERT_FALSE(reply) << method;
            EXPECT_EQ(reply.error().code, ErrorCode::NotOwner) << method;
            EXPECT_THAT(reply.error().message, testing::HasSubstr("is the daemon's own")) << method;
        };
        refused("Attach", {std::vector<bus::Dict>{queue_pair("mlx5_0", 11)}});
        refused("Detach", {"mlx5_0", std::uint32_t{11}});
        bus::Dict rate;
        rate.set("rate", std::uint64_t{1'000'000});
        refused("SetRate", {"mlx5_0", std::uint32_t{11}, rate});
        refused("Release", {});
        EXPECT_TRUE(client.call(adopted_, names::kSession, "ListQueuePairs", {}));
    }
}

TEST_F(AdoptedSession, OutlivesEveryConnection)
{
    for (auto& client : both()) {
        const auto own = register_session(client, {});
        ASSERT_TRUE(own);
        for (const auto& listener : listeners_) {
            ASSERT_TRUE(listener->hears("InterfacesAdded", own->path));
        }
        {
            auto left = std::move(client);
        }
        for (const auto& listener : listeners_) {
            ASSERT_TRUE(listener->hears("InterfacesRemoved", own->path));
        }
    }
    EXPECT_TRUE(direct().properties(adopted_, names::kSession));
}

}    // namespace
}    // namespace rdmaqos::test
