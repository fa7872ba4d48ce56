// Totals of counters that come, go and are used again.
#include <gtest/gtest.h>

#include "daemon/service/traffic_totals.h"

namespace rdmaqos::traffic_totals_test {
namespace {

ProgramCounter counter(std::uint32_t number, std::uint64_t session, std::uint64_t sent, std::string level = "rpc")
{
    ProgramCounter counter;
    counter.counter.number = number;
    counter.counter.sent_bytes = sent;
    counter.counter.received_bytes = sent / 10;
    counter.session = SessionId{session};
    counter.level = std::move(level);
    return counter;
}

class LevelTotals : public ::testing::Test {
protected:
    void look(std::vector<ProgramCounter> counters)
    {
        CountersOfPort port;
        port.key = "mlx5_0/1";
        port.is_read = true;
        port.counters = std::move(counters);
        totals.add({port});
    }
    void look_in_vain()
    {
        CountersOfPort port;
        port.key = "mlx5_0/1";
        totals.add({port});
    }
    [[nodiscard]] LevelTraffic of(const std::string& level) const
    {
        const auto* port = totals.of("mlx5_0/1");
        const auto found = port->find(level);
        return found == port->end() ? LevelTraffic() : found->second;
    }

    TrafficTotals totals;
};

TEST_F(LevelTotals, BeginWithTheFirstLook)
{
    EXPECT_EQ(totals.of("mlx5_0/1"), nullptr);
    look({counter(1, 7, 1000)});
    EXPECT_EQ(of("rpc"), LevelTraffic());
    look({counter(1, 7, 1500), counter(2, 8, 300)});
    EXPECT_EQ(of("rpc"), (LevelTraffic{800, 80})) << "all of a counter that was bound since";
}

TEST_F(LevelTotals, BeginWithTheFirstLookThatTheKernelAnswers)
{
    look_in_vain();
    EXPECT_EQ(totals.of("mlx5_0/1"), nullptr);
    look({counter(1, 7, 1000)});
    EXPECT_EQ(of("rpc").sent, 0U) << "sent before";
}

TEST_F(LevelTotals, MissNothingWhileCountersCannotBeRead)
{
    look({counter(1, 7, 1000)});
    look_in_vain();
    look({counter(1, 7, 1800)});
    EXPECT_EQ(of("rpc").sent, 800U);
}

TEST_F(LevelTotals, DoNotFallWhenCountersEnd)
{
    look({});
    look({counter(1, 7, 1000), counter(2, 8, 500, "bulk")});
    look({counter(2, 8, 700, "bulk")});
    EXPECT_EQ(of("rpc").sent, 1000U);
    EXPECT_EQ(of("bulk").sent, 700U);
    look({});
    EXPECT_EQ(of("bulk").sent, 700U);
}

TEST_F(LevelTotals, TellACounterFromTheNextOneOfItsNumber)
{
    look({});
    look({counter(1, 7, 1000)});
    look({counter(1, 8, 1200)});
    EXPECT_EQ(of("rpc").sent, 2200U) << "of another session";
    look({counter(1, 8, 10)});
    EXPECT_EQ(of("rpc").sent, 2210U) << "its value fell, so it was bound again";
}

TEST_F(LevelTotals, AreOfTheLevelInWhichItWasSeen)
{
    look({});
    look({counter(1, 7, 1000)});
    look({counter(1, 7, 1600, "bulk")});
    look({counter(1, 7, 1700, "")});
    look({counter(1, 7, 1800)});
    EXPECT_EQ(of("rpc").sent, 1100U);
    EXPECT_EQ(of("bulk").sent, 600U);
    EXPECT_FALSE(totals.of("mlx5_0/1")->contains("")) << "of queue pairs in several levels, or of nobody here";
}

TEST_F(LevelTotals, SayNothingOfCountersWithoutBytes)
{
    look({});
    ProgramCounter packets = counter(1, 7, 0);
    packets.counter.sent_bytes.reset();
    packets.counter.received_bytes.reset();
    look({packets});
    EXPECT_TRUE(totals.of("mlx5_0/1")->empty());
}

}    // namespace
}    // namespace rdmaqos::traffic_totals_test
