// Service, `cap-mode: adaptive`: from counters of queue pairs to caps of processes' leaves.
#include <chrono>
#include <map>
#include <mutex>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/tree/max_min.h"
#include "tests/support/service_fixture.h"

namespace rdmaqos::service_adaptive_caps_test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

// A 100 Gbit/s port that serves its processes equally, each up to its cap; all that they want is more.
class SharedPort {
public:
    // `most`: the cap that the policy gives its leaf, or the link, in kbit/s.
    void add(std::uint32_t queue_pair, const ClientFile* file, double most)
    {
        const std::lock_guard lock(mutex_);
        senders_[queue_pair] = {file, most};
    }
    void set_sending(std::uint32_t queue_pair, bool sends)
    {
        const std::lock_guard lock(mutex_);
        senders_.at(queue_pair).sends = sends;
    }
    void set_hindrance(std::optional<WhyNotCounted> hindrance)
    {
        const std::lock_guard lock(mutex_);
        hindrance_ = hindrance;
    }
    void pass(Duration time, const ModelBackend& nic)
    {
        const auto caps = nic.copy_caps();
        const std::lock_guard lock(mutex_);
        std::vector<Claim> claims;
        std::vector<Sender*> sending;
        for (auto& [queue_pair, sender] : senders_) {
            const auto cap = caps.find(sender.file);
            const bool is_capped = cap != caps.end() && cap->second;
            if (sender.sends) {
                claims.push_back({is_capped ? static_cast<double>(cap->second->kbps()) : sender.most, 1});
                sending.push_back(&sender);
            }
        }
        const auto parts = divide_max_min(1e8, claims);
        for (std::size_t i = 0; i < sending.size(); ++i) {
            sending[i]->bytes += parts[i] * 1000 / 8 * std::chrono::duration<double>(time).count();
            sending[i]->kbps = parts[i];
        }
    }
    [[nodiscard]] double gbps(std::uint32_t queue_pair) const
    {
        const std::lock_guard lock(mutex_);
        return senders_.at(queue_pair).kbps / 1e6;
    }
    // On another thread.
    [[nodiscard]] CountedTraffic count(const std::vector<PortToCount>& ports, TimePoint now) const
    {
        const std::lock_guard lock(mutex_);
        CountedTraffic traffic;
        for (const auto& port : ports) {
            CountedPort& counted = traffic.ports.emplace_back(CountedPort{port.key, true, {}, now, hindrance_});
            for (const auto& each : port.queue_pairs) {
                if (!hindrance_) {
                    counted.counters.push_back({each.number,
                                                port.port,
                                                {each.number},
                                                static_cast<std::uint64_t>(senders_.at(each.number).bytes)});
                }
            }
        }
        return traffic;
    }

private:
    struct Sender {
        const ClientFile* file = nullptr;
        double most = 0;
        bool sends = true;
        double bytes = 0;
        double kbps = 0;
    };
    mutable std::mutex mutex_;
    std::map<std::uint32_t, Sender> senders_;
    std::optional<WhyNotCounted> hindrance_;
};

class ServiceAdaptiveCaps : public test::ServiceFixture {
protected:
    void begin()
    {
        policy(R"(version: 1
qos-levels:
  - {name: DEFAULT, sl: 0}
  - {name: rpc, schedule: {share: 70}}
  - {name: bulk, schedule: {share: 30, max-rate: 80Gbps}}
)");
        more_options = [this](ServiceOptions& options) {
            options.count_traffic = [this](const std::vector<PortToCount>& ports) {
                ++looks;
                return port.count(ports, loop.clock.now());
            };
        };
        start();
        ASSERT_TRUE(started.accepted) << started.to_text();
        auto made = std::make_unique<ModelBackend>(new_device("mlx5_0"), default_capabilities(), nullptr,
                                                   AttachMode::PerProcess, CapMode::Adaptive);
        nic = made.get();
        nic->withhold_counters();
        service->device_control().add(std::move(made));
        settle();
    }
    SessionId join(const std::string& level, std::uint32_t number)
    {
        const auto file = std::make_shared<ClientFile>(UniqueFd(), nullptr);
        files.push_back(file);
        port.add(number, file.get(), level == "bulk" ? 8e7 : 1e8);
        RegisterRequest request = asking_for(level, "mlx5_0", {number});
        request.queue_pairs.front().ref.file = file;
        const auto reply = register_as(PeerId{number}, process(static_cast<pid_t>(number)), std::move(request));
        EXPECT_TRUE(reply);
        return reply ? reply->session : SessionId{};
    }
    void pass(Duration time)
    {
        for (Duration passed{}; passed < time; passed += 50ms) {
            port.pass(50ms, *nic);
            loop.advance(50ms);
            loop.run_until_rest();
        }
    }
    [[nodiscard]] DeviceStatus status() const { return *service->devices().status("mlx5_0/1"); }
    Grant grant(SessionId id) { return service->sessions().with_queue_pairs(id)->grant; }

    SharedPort port;
    std::atomic<std::uint64_t> looks = 0;
    ModelBackend* nic = nullptr;
    std::vector<std::shared_ptr<ClientFile>> files;
};

TEST_F(ServiceAdaptiveCaps, FollowWhatIsMeasured)
{
    begin();
    const SessionId rpc = join("rpc", 10);
    join("bulk", 20);
    pass(100ms);
    EXPECT_NEAR(port.gbps(20), 50, 1) << "what the port does by itself";
    pass(300ms);
    EXPECT_NEAR(port.gbps(10), 70, 1);
    EXPECT_NEAR(port.gbps(20), 30, 1);
    EXPECT_EQ(status().attach.caps_now(), CapMode::Adaptive);
    EXPECT_TRUE(grant(rpc).enforced);
    EXPECT_THAT(grant(rpc).reason, HasSubstr("by caps that follow what is measured")) << "and says how";
    port.set_sending(10, false);
    pass(300ms);
    EXPECT_NEAR(port.gbps(20), 80, 1) << "its own cap";
}

TEST_F(ServiceAdaptiveCaps, AreNotMeasuredWhereNobodyCompetes)
{
    begin();
    const SessionId rpc = join("rpc", 10);
    pass(2s);
    EXPECT_EQ(looks, 0U);
    join("bulk", 20);
    pass(500ms);
    EXPECT_GE(looks, 5U);
    EXPECT_NEAR(port.gbps(10), 70, 1);
    ASSERT_TRUE(answer<void>([&](auto done) { service->session_calls().release(PeerId{10}, rpc, std::move(done)); }));
    pass(200ms);
    const std::uint64_t before = looks;
    pass(2s);
    EXPECT_EQ(looks, before);
    EXPECT_EQ(nic->copy_caps().at(files[1].get()), std::nullopt) << "that which the policy gives it";
}

TEST_F(ServiceAdaptiveCaps, AreDividedWhereNothingCanBeMeasured)
{
    begin();
    const SessionId first = join("bulk", 20);
    join("bulk", 21);
    pass(500ms);
    EXPECT_EQ(status().attach.caps_now(), CapMode::Adaptive);
    port.set_hindrance(WhyNotCounted::NotPermitted);
    pass(200ms);
    EXPECT_EQ(status().attach.caps_now(), CapMode::Divide);
    EXPECT_THAT(status().attach.not_adaptive, HasSubstr("needs CAP_NET_ADMIN"));
    for (const auto& file : files) {
        EXPECT_EQ(nic->copy_caps().at(file.get()), Bandwidth::from_gbps(40));
    }
    EXPECT_THAT(grant(first).reason, HasSubstr("split 2 ways: 40 Gbit/s each"));
    port.set_hindrance(std::nullopt);
    port.set_sending(21, false);
    pass(2s);
    EXPECT_EQ(status().attach.caps_now(), CapMode::Adaptive) << status().attach.not_adaptive;
    EXPECT_NEAR(port.gbps(20), 80, 1) << "which the other one does not use";
}

TEST_F(ServiceAdaptiveCaps, EndWithTheDevice)
{
    begin();
    join("rpc", 10);
    join("bulk", 20);
    pass(200ms);
    loop.advance(50ms);    // a look has begun
    service->device_control().remove("mlx5_0/1");
    loop.run_until_rest();
    const std::uint64_t before = looks;
    loop.advance(1s);
    loop.run_until_rest();
    EXPECT_LE(looks, before + 1);
}

}    // namespace
}    // namespace rdmaqos::service_adaptive_caps_test
