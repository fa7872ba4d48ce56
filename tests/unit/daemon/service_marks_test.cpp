// Service: how many queue pairs of each level carry its DSCP.
#include <chrono>

#include <gtest/gtest.h>

#include "daemon/service/marks.h"
#include "tests/support/service_fixture.h"

namespace rdmaqos {
namespace {

using namespace std::chrono_literals;

class ServiceMarks : public test::ServiceFixture {
protected:
    void SetUp() override
    {
        policy(R"(version: 1
qos-levels:
  - {name: DEFAULT, sl: 0}
  - {name: rpc, traffic-class: 104, schedule: {share: 60}}
  - {name: bulk, schedule: {share: 40}}
)");
        start();
        ASSERT_TRUE(started.accepted) << started.to_text();
        nic = &add_device("mlx5_0");
    }

    HostMarks marks()
    {
        std::optional<HostMarks> got;
        service->marks().read(3s, [&got](const HostMarks& all) { got = all; });
        EXPECT_FALSE(got) << "answered before the call has returned";
        EXPECT_TRUE(loop.run_until([&got] { return got.has_value(); }));
        return got.value_or(HostMarks());
    }
    LevelMarks of_rpc() { return marks()["mlx5_0/1"]["rpc"]; }
    static QueuePairRequest of_type(std::uint32_t number, QueuePairType type)
    {
        QueuePairRequest request = queue_pair("mlx5_0", number);
        request.ref.type = type;
        return request;
    }
    void attach(std::uint32_t number, const std::string& level = "rpc")
    {
        ASSERT_TRUE(
            register_as(PeerId{number}, process(static_cast<pid_t>(number)), asking_for(level, "mlx5_0", {number})));
    }

    ModelBackend* nic = nullptr;
};

TEST_F(ServiceMarks, AreCountedByWhatPacketsCarry)
{
    nic->set_mark(10, QueuePairMark{26, 3});
    nic->set_mark(11, QueuePairMark{0, 0});
    nic->set_mark(12, QueuePairMark{26, 0});
    nic->set_mark(13, std::nullopt);
    for (const std::uint32_t number : {10U, 11U, 12U, 13U}) {
        attach(number);
    }
    attach(14, "bulk");
    EXPECT_EQ(marks(), (HostMarks{{"mlx5_0/1", {{"rpc", LevelMarks{26, {{0, 1}, {26, 2}}, {{kMarkNotSetYet, 1}}}}}}}))
        << "bulk has no DSCP";
    EXPECT_EQ(of_rpc().right(), 2U);
    EXPECT_EQ(of_rpc().wrong(), 1U);
    EXPECT_EQ(of_rpc().not_seen(), 1U);
}

TEST_F(ServiceMarks, ThatCannotBeSeenSayWhy)
{
    RegisterRequest request = asking_for("rpc");
    request.queue_pairs = {of_type(20, QueuePairType::Ud), of_type(21, QueuePairType::RawPacket),
                           of_type(22, QueuePairType::Devx), of_type(23, QueuePairType::Rc)};
    ASSERT_TRUE(register_as(PeerId{1}, process(1), std::move(request)));
    EXPECT_EQ(of_rpc().unseen, (std::map<std::string_view, std::uint64_t>{
                                   {kMarkOfEachMessage, 1}, {kMarkOfProgram, 1}, {kMarkNotTold, 2}}))
        << "a simulated device does not tell";
    nic->set_mark(23, QueuePairMark{26, 3});
    loop.advance(kMissingMarkStays);
    EXPECT_EQ(of_rpc(), (LevelMarks{26, {{26, 1}}, {{kMarkOfEachMessage, 1}, {kMarkOfProgram, 1}, {kMarkOfDevx, 1}}}));
}

TEST_F(ServiceMarks, AreAskedForSeldom)
{
    nic->set_mark(10, QueuePairMark{26, 3});
    nic->set_mark(11, std::nullopt);
    attach(10);
    attach(11);
    EXPECT_EQ(of_rpc().right(), 1U);
    nic->set_mark(10, QueuePairMark{0, 0});
    nic->set_mark(11, QueuePairMark{26, 3});
    EXPECT_EQ(of_rpc().right(), 1U) << "what was asked a moment ago";
    loop.advance(kMissingMarkStays);
    EXPECT_EQ(of_rpc().right(), 2U) << "one has its mark by now, the other is not asked again";
    loop.advance(kMarkStays);
    EXPECT_EQ(of_rpc().right(), 1U);
    EXPECT_EQ(of_rpc().wrong(), 1U);
}

TEST_F(ServiceMarks, AreAskedForAnewWhenTheOwnerNamesTheQueuePairAgain)
{
    nic->set_mark(10, QueuePairMark{0, 0});
    attach(10);
    EXPECT_EQ(of_rpc().wrong(), 1U);
    nic->set_mark(10, QueuePairMark{26, 3});
    const auto again = answer<std::vector<QueuePairResult>>([&](auto done) {
        service->session_calls().attach(PeerId{10}, SessionId{1}, {queue_pair("mlx5_0", 10)}, std::move(done));
    });
    ASSERT_TRUE(again) << to_string(again.error());
    EXPECT_EQ(of_rpc().right(), 1U);
}

TEST_F(ServiceMarks, OfMoreThanAreAskedForAtOnce)
{
    RegisterRequest request = asking_for("rpc");
    for (std::uint32_t number = 100; number < 500; ++number) {
        nic->set_mark(number, QueuePairMark{static_cast<std::uint8_t>(number % 2 == 0 ? 26 : 0), 0});
        request.queue_pairs.push_back(queue_pair("mlx5_0", number));
    }
    ASSERT_TRUE(register_as(PeerId{1}, process(1), std::move(request)));
    EXPECT_EQ(of_rpc(), (LevelMarks{26, {{0, 200}, {26, 200}}, {}}));
}

TEST_F(ServiceMarks, AreNoneOnInfiniBand)
{
    DeviceInfo info = nic->info();
    info.link_layer = LinkLayer::InfiniBand;
    nic->set_info(info);
    settle();
    nic->set_mark(10, QueuePairMark{0, 0});
    attach(10);
    EXPECT_EQ(marks(), HostMarks());
}

TEST_F(ServiceMarks, AreInTheMetrics)
{
    nic->set_mark(10, QueuePairMark{0, 0});
    attach(10);
    std::optional<Metrics> got;
    service->metrics().collect([&got](Metrics all) { got = std::move(all); });
    ASSERT_TRUE(loop.run_until([&got] { return got.has_value(); }));
    const auto& levels = got->devices.at(0).levels;
    EXPECT_EQ(levels.at("rpc").marks, (LevelMarks{26, {{0, 1}}, {}}));
    EXPECT_FALSE(levels.at("bulk").marks);
}

}    // namespace
}    // namespace rdmaqos
