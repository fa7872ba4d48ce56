// The session of a program that was adopted, on both transports: everybody sees it, and nobody may change it.
#include <algorithm>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include <gmock/gmock.h>
#include <unistd.h>

#include "daemon/bus/object_paths.h"
#include "daemon/service/device_control.h"
#include "daemon/service/session_reports.h"
#include "lib/model/profile.h"
#include "tests/support/adopted_programs.h"
#include "tests/support/daemon_fixture.h"
#include "tests/support/served.h"

namespace rdmaqos::test {
namespace {

using namespace std::chrono_literals;
namespace names = bus::names;

constexpr std::uint32_t kNumber = 17;    // of the program's queue pair

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

    // A signal of this name about this object within `patience`, perhaps one of which more is so.
    bool hears(
        const std::string& member, const std::string& path, std::chrono::milliseconds patience = kHung,
        const std::function<bool(const bus::Signal&)>& is_so = [](const bus::Signal&) { return true; })
    {
        std::unique_lock lock(mutex_);
        return more_.wait_for(lock, patience, [&] {
            return std::ranges::any_of(heard_, [&](const bus::Signal& signal) {
                const auto* argument = signal.arguments.empty() ? nullptr : signal.arguments[0].as<bus::ObjectPath>();
                return signal.member == member && (argument == nullptr ? signal.path : argument->text) == path &&
                       is_so(signal);
            });
        });
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
        root_.write("etc/rdma-qos/rdma-qosd.yaml", "version: 1\nunregistered: adopt\n");
        root_.write("etc/rdma-qos/policy.yaml", policy());
        bus_ = std::make_unique<PrivateBus>(root_.path());
        setenv("DBUS_SYSTEM_BUS_ADDRESS", bus_->address().c_str(), 1);    // NOLINT(concurrency-mt-unsafe): one thread
        ServiceOptions options{root_.path(), NameService::host(), true};
        adopt_from(options, std::make_shared<FakeProgramFiles>(programs_), watch_);
        served_ = std::make_unique<Served>(options);
        ASSERT_TRUE(eventually([&] { return watch_->begun == 1; }));
        add_device();
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
        adopt();
    }

    // The rule of its executable brings the program in.
    static std::string policy()
    {
        return std::string(kTwoLevelPolicy) + "  - {client: {executable: [/usr/bin/a]}, qos-level-name: rpc}\n";
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
    void add_device()
    {
        DeviceInfo info;
        info.name = "mlx5_0";
        info.driver = "model";
        info.node_guid = Guid{0x10};
        info.port_guid = Guid{0x11};
        info.link_speed = Bandwidth::from_gbps(100);
        auto model = std::make_unique<ModelBackend>(info, default_capabilities());
        served_->on_loop([&](Service& service) {
            service.device_control().add(std::make_unique<NicOfPrograms>(std::move(model), programs_));
        });
    }
    // A program's queue pair is ready to send. Returns when it is in its leaf.
    void adopt()
    {
        auto owner = std::make_shared<Identity>();
        owner->pid = 4711;
        owner->executable = "/usr/bin/a";
        HostNews news;
        news.ready = {make_queue_pair(*programs_, owner, kNumber)};
        served_->on_loop([&](Service&) { watch_->tell(std::move(news)); });
        ASSERT_TRUE(eventually([&] {
            served_->on_loop([&](Service& service) {
                const auto placed = service.sessions().queue_pair("mlx5_0/1", kNumber);
                adopted_ = placed && placed->enforced ? session_path(adopted_in(service)) : "";
            });
            return !adopted_.empty();
        }));
    }
    // The only one; that of nobody if there is none.
    static SessionId adopted_in(const Service& service)
    {
        for (const SessionId id : service.sessions().ids()) {
            if (service.sessions().with_queue_pairs(id)->adopted) {
                return id;
            }
        }
        return SessionId{};
    }

    TempDir root_;
    std::shared_ptr<Programs> programs_ = std::make_shared<Programs>();
    std::shared_ptr<FakeWatch> watch_ = std::make_shared<FakeWatch>();
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
    std::string changed = policy();
    changed.replace(changed.find("share: 60"), 9, "share: 50");
    root_.write("etc/rdma-qos/policy.yaml", changed);
    ASSERT_TRUE(client.call(names::kRoot, names::kManager, "Reload", {}));
    for (const auto& listener : listeners_) {
        EXPECT_TRUE(listener->hears("GrantChanged", adopted_, kHung, [](const bus::Signal& signal) {
            return text_of(*signal.arguments.at(0).as<bus::Dict>(), "share") == "50";
        }));
        EXPECT_TRUE(listener->hears("PropertiesChanged", adopted_, kHung, [](const bus::Signal& signal) {
            const auto* grant = signal.arguments.at(1).as<bus::Dict>()->find("Grant");
            return grant != nullptr && text_of(*grant->as<bus::Dict>(), "share") == "50";
        }));
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

TEST_F(AdoptedSession, GoesForAllWhoListenWithItsLastQueuePair)
{
    for (const auto& listener : listeners_) {    // of what nobody heard of, nobody hears that it is gone
        ASSERT_TRUE(listener->hears("InterfacesAdded", adopted_));
    }
    programs_->end({"mlx5_0", kNumber});
    HostNews news;
    news.gone = {{"mlx5_0", kNumber}};
    served_->on_loop([&](Service&) { watch_->tell(std::move(news)); });
    for (const auto& listener : listeners_) {
        EXPECT_TRUE(listener->hears("InterfacesRemoved", adopted_));
    }
    for (auto& client : both()) {
        EXPECT_FALSE(client.properties(adopted_, names::kSession));
    }
}

}    // namespace
}    // namespace rdmaqos::test
