// Rates of queue pairs: the device's range and table, and that a change touches only whom it concerns.
#include <gmock/gmock.h>

#include "tests/support/service_fixture.h"

namespace rdmaqos {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr const char* kPacingPolicy = R"(version: 1
qos-levels:
  - {name: DEFAULT, sl: 0}
  - {name: bulk, schedule: {share: 30}, per-queue-pair: {max-rate: 5Gbps}}
  - {name: slow, schedule: {share: 10}, per-queue-pair: {max-rate: 1Gbps, max-burst: 64KiB, typical-packet: 1024}}
)";

Capabilities pacing_all(std::uint32_t table_size)
{
    Capabilities capabilities = default_capabilities();
    capabilities.pacing.supported_types = capabilities.attachable;
    capabilities.pacing.table_size = table_size;
    return capabilities;
}

class ServicePacing : public test::ServiceFixture {
protected:
    void begin(const Capabilities& capabilities)
    {
        policy(kPacingPolicy);
        start();
        ASSERT_TRUE(started.accepted) << started.to_text();
        nic = &add_device("mlx5_0", capabilities);
    }
    SessionId session(const std::string& level, const std::vector<std::uint32_t>& numbers, std::uint64_t peer = 1)
    {
        const auto reply = register_as(PeerId{peer}, process(static_cast<pid_t>(peer)),
                                       asking_for(level, "mlx5_0", numbers));
        EXPECT_TRUE(reply);
        return reply ? reply->session : SessionId{};
    }
    Result<void> set_rate(SessionId id, std::uint32_t number, std::optional<RateLimit> rate, std::uint64_t peer = 1)
    {
        return answer<void>([&](auto done) {
            service->session_calls().set_rate(PeerId{peer}, id, "mlx5_0", number, rate, std::move(done));
        });
    }
    static RateLimit mbps(std::uint64_t rate) { return {Bandwidth::from_mbps(rate), {}, {}}; }
    QueuePairResult result(SessionId id, std::uint32_t number)
    {
        const SessionInfo info = *service->sessions().with_queue_pairs(id);
        for (const auto& one : info.queue_pairs) {
            if (one.number == number) {
                return one;
            }
        }
        ADD_FAILURE() << "no queue pair " << number;
        return {};
    }

    ModelBackend* nic = nullptr;
};

TEST_F(ServicePacing, SetRateTouchesThatQueuePairOnly)
{
    begin(pacing_all(127));
    const auto id = session("bulk", {10, 11, 12});
    nic->clear_log();
    ASSERT_TRUE(set_rate(id, 11, RateLimit{Bandwidth::from_kbps(1'999'999), {}, {}}));
    EXPECT_THAT(writes(*nic), ElementsAre("set-rate queue pair 11: 1999.999 Mbit/s")) << "to the kbit/s";
    EXPECT_EQ(result(id, 11).rate->rate, Bandwidth::from_kbps(1'999'999));
    EXPECT_TRUE(result(id, 11).enforced);
    nic->clear_log();
    ASSERT_TRUE(set_rate(id, 11, std::nullopt));
    EXPECT_THAT(writes(*nic), ElementsAre("set-rate queue pair 11: 5 Gbit/s"));
}

TEST_F(ServicePacing, APolicyChangeTouchesQueuePairsOfItsLevelOnly)
{
    begin(pacing_all(127));
    session("bulk", {10, 11});
    session("slow", {20}, 2);
    nic->clear_log();
    std::string text = kPacingPolicy;
    text.replace(text.find("5Gbps"), 5, "4Gbps");
    policy(text);
    ASSERT_TRUE(reload().accepted);
    EXPECT_THAT(writes(*nic),
                UnorderedElementsAre("set-rate queue pair 10: 4 Gbit/s", "set-rate queue pair 11: 4 Gbit/s"));
    nic->clear_log();
    ASSERT_TRUE(reload().accepted);
    EXPECT_THAT(writes(*nic), IsEmpty());
}

TEST_F(ServicePacing, SetRateNeverLiftsWhatItIsGiven)
{
    begin(pacing_all(127));
    const auto id = session("bulk", {10});
    ASSERT_TRUE(set_rate(id, 10, RateLimit{Bandwidth::from_kbps(500), 0, 0}));
    EXPECT_EQ(result(id, 10).rate, (RateLimit{Bandwidth::from_kbps(500), {}, {}})) << "sizes of 0 are the device's own";
    const auto slow = session("slow", {20}, 2);
    ASSERT_TRUE(set_rate(slow, 20, RateLimit{Bandwidth::from_gbps(9), 1 << 20, 256}, 2));
    EXPECT_EQ(result(slow, 20).rate, (RateLimit{Bandwidth::from_gbps(1), 65536, 256}))
        << "nor rate nor burst of a class";
    ASSERT_TRUE(set_rate(slow, 20, RateLimit{Bandwidth::from_mbps(9), 4096, 0}, 2));
    EXPECT_EQ(result(slow, 20).rate, (RateLimit{Bandwidth::from_mbps(9), 4096, 1024}));
}

TEST_F(ServicePacing, WhereALeafHoldsTheRateItIsWholeMbits)
{
    begin(default_capabilities());    // rc is not paced
    const auto id = session("bulk", {10});
    ASSERT_TRUE(set_rate(id, 10, RateLimit{Bandwidth::from_kbps(1500), {}, 9000}));
    EXPECT_EQ(nic->firmware().elements().back().max_rate_mbps, 1U);
    EXPECT_TRUE(result(id, 10).enforced);
    for (const char* part : {"1 Mbit/s is held, 1.5 Mbit/s was asked", "`typical-packet` has no effect"}) {
        EXPECT_THAT(result(id, 10).reason, HasSubstr(part));
        EXPECT_THAT(service->sessions().with_queue_pairs(id)->grant.reason, HasSubstr(part))
            << "the grant says the same";
    }
    const auto too_low = set_rate(id, 10, RateLimit{Bandwidth::from_kbps(500), {}, {}});
    EXPECT_EQ(too_low.error().code, ErrorCode::Unsupported);
    EXPECT_THAT(too_low.error().message, HasSubstr("the least that a leaf can be capped at is 1 Mbit/s"));
    const auto bursty = set_rate(id, 10, RateLimit{Bandwidth::from_mbps(2), 4096, {}});
    EXPECT_EQ(bursty.error().code, ErrorCode::Unsupported);
    EXPECT_THAT(bursty.error().message, HasSubstr("leave `max-burst` out"));
    EXPECT_EQ(nic->firmware().elements().back().max_rate_mbps, 1U) << "it stays as it was";
}

TEST_F(ServicePacing, WhatHasNoLimitHasNoneToRestore)
{
    begin(default_capabilities());
    const auto id = session("DEFAULT", {10});
    EXPECT_TRUE(set_rate(id, 10, std::nullopt));
    const auto refused = set_rate(id, 10, mbps(5));
    EXPECT_EQ(refused.error().code, ErrorCode::Unsupported);
    EXPECT_THAT(refused.error().message, HasSubstr("the device paces raw-packet queue pairs only"));
}

TEST_F(ServicePacing, ARefusedRateLeavesWhatWasAndIsTriedWhenItIsAskedForAgain)
{
    begin(pacing_all(127));
    const auto id = session("bulk", {10});
    nic->firmware().set_queue_pair_state(10, QueuePairState::Init);
    const auto too_early = set_rate(id, 10, mbps(5));
    ASSERT_FALSE(too_early);
    EXPECT_EQ(too_early.error().code, ErrorCode::BadState);
    EXPECT_EQ(result(id, 10).rate, mbps(5000)) << "as before";
    EXPECT_TRUE(result(id, 10).enforced) << result(id, 10).reason;

    nic->firmware().set_queue_pair_state(10, QueuePairState::Rts);
    nic->clear_log();
    loop.advance(std::chrono::minutes(1));
    settle();
    EXPECT_THAT(writes(*nic), IsEmpty()) << "what was refused does not come later";
    EXPECT_TRUE(set_rate(id, 10, mbps(5)));
    EXPECT_THAT(writes(*nic), ElementsAre("set-rate queue pair 10: 5 Mbit/s"));

    nic->firmware().faults().fail(CommandKind::SetRate, 1, {}, 2);
    EXPECT_FALSE(set_rate(id, 10, mbps(7)));
    EXPECT_EQ(result(id, 10).rate, mbps(5));
    nic->firmware().faults().clear();
    EXPECT_TRUE(set_rate(id, 10, mbps(7))) << "one failure is not repeated";
    EXPECT_EQ(result(id, 10).rate, mbps(7));
}

TEST_F(ServicePacing, ARefusalDoesNotSayThatSomethingIsHeld)
{
    Capabilities capabilities = pacing_all(127);
    capabilities.pacing.burst = false;
    begin(capabilities);
    const auto id = session("DEFAULT", {10});
    const auto refused = set_rate(id, 10, RateLimit{Bandwidth::from_mbps(10), 65536, {}});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message,
              "the limit of 10 Mbit/s with bursts of 64 KiB is not set: the device takes no burst "
              "size with a rate; leave `max-burst` out");
    EXPECT_EQ(result(id, 10).rate, std::nullopt);
}

// Attached in INIT, as documented: the place at once, the rate when the queue pair can be paced.
TEST_F(ServicePacing, ToAQueuePairInInitTheRateComesLater)
{
    begin(pacing_all(127));
    ASSERT_TRUE(nic->firmware().create_queue_pair(10, QueuePairType::Rc, QueuePairState::Init));
    const auto reply = register_as(PeerId{1}, process(1), asking_for("bulk", "mlx5_0", {10}));
    ASSERT_TRUE(reply);
    const QueuePairResult& at_first = reply->queue_pairs.at(0);
    EXPECT_FALSE(at_first.error) << at_first.error->message;
    EXPECT_EQ(at_first.leaf, "/bulk");
    EXPECT_EQ(at_first.rate, std::nullopt);
    EXPECT_FALSE(at_first.enforced);
    EXPECT_EQ(at_first.cause, "error");
    EXPECT_THAT(at_first.reason, HasSubstr("only in RTS"));

    nic->firmware().set_queue_pair_state(10, QueuePairState::Rts);
    loop.advance(std::chrono::seconds(31));
    settle();
    EXPECT_EQ(result(reply->session, 10).rate, mbps(5000));
    EXPECT_TRUE(result(reply->session, 10).enforced) << result(reply->session, 10).reason;
}

TEST_F(ServicePacing, BeyondTheTableLimitsWaitForAFreeEntry)
{
    begin(pacing_all(2));
    const auto id = session("bulk", {10, 11, 12});
    const auto other = session("slow", {20}, 2);
    EXPECT_TRUE(result(other, 20).enforced) << result(other, 20).reason;
    nic->clear_log();
    const auto refused = set_rate(id, 11, mbps(100));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::NoSpace);
    for (const char* part :
         {"all 2 entries of the device's pacing table", "use fewer different rates", "when one is free"}) {
        EXPECT_THAT(refused.error().message, HasSubstr(part));
    }
    EXPECT_THAT(writes(*nic), ElementsAre("set-rate queue pair 11: unlimited")) << "nothing the device would refuse";
    EXPECT_FALSE(result(id, 11).enforced);
    EXPECT_THAT(result(id, 11).reason, HasSubstr("the limit of 100 Mbit/s per queue pair is not enforced"));
    EXPECT_TRUE(set_rate(id, 12, mbps(5000))) << "the class's own limit has an entry already";

    nic->clear_log();
    service->session_calls().peer_gone(PeerId{2});
    settle();
    EXPECT_TRUE(result(id, 11).enforced) << result(id, 11).reason;
    EXPECT_EQ(result(id, 11).rate, mbps(100));

    // Who waits keeps waiting over a reload, and who has an entry keeps it.
    EXPECT_FALSE(set_rate(id, 10, mbps(200)));
    nic->clear_log();
    ASSERT_TRUE(reload().accepted);
    EXPECT_THAT(writes(*nic), IsEmpty());
    EXPECT_TRUE(result(id, 11).enforced);
    EXPECT_FALSE(result(id, 10).enforced);
}

TEST_F(ServicePacing, WithinTheRange)
{
    Capabilities capabilities = pacing_all(127);
    capabilities.pacing.min_rate = Bandwidth::from_gbps(2);
    capabilities.pacing.max_rate = Bandwidth::from_gbps(4);
    begin(capabilities);
    const auto fast = session("bulk", {10});
    EXPECT_TRUE(result(fast, 10).enforced);
    EXPECT_EQ(result(fast, 10).rate->rate, Bandwidth::from_gbps(4));
    EXPECT_EQ(result(fast, 10).reason, "4 Gbit/s is the most the device can pace; 5 Gbit/s was asked");
    const auto slow = session("slow", {20}, 2);
    EXPECT_FALSE(result(slow, 20).enforced);
    EXPECT_EQ(result(slow, 20).rate, std::nullopt);
    EXPECT_THAT(result(slow, 20).reason, HasSubstr("the least the device can pace is 2 Gbit/s"));
    EXPECT_EQ(set_rate(fast, 10, mbps(100)).error().code, ErrorCode::Unsupported);
    EXPECT_EQ(result(fast, 10).rate->rate, Bandwidth::from_gbps(4)) << "it stays as it was";
}

TEST_F(ServicePacing, ARangeOfZeroIsUnknown)
{
    Capabilities capabilities = pacing_all(127);
    capabilities.pacing.burst = capabilities.pacing.typical_packet = false;
    capabilities.pacing.min_rate = capabilities.pacing.max_rate = std::nullopt;
    begin(capabilities);
    EXPECT_TRUE(result(session("bulk", {10}), 10).enforced);
    const auto slow = session("slow", {20}, 2);
    EXPECT_FALSE(result(slow, 20).enforced);
    EXPECT_EQ(result(slow, 20).rate, mbps(1000)) << "the rate itself is held";
    EXPECT_THAT(result(slow, 20).reason, HasSubstr("takes no burst size"));
    const auto refused = set_rate(slow, 20, RateLimit{Bandwidth::from_mbps(10), 4096, {}}, 2);
    EXPECT_EQ(refused.error().code, ErrorCode::Unsupported);
    EXPECT_THAT(refused.error().message, HasSubstr("leave `max-burst` out"));
}

}    // namespace
}    // namespace rdmaqos
