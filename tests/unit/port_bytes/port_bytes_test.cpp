// Bytes by priority: the drivers' names, differences, and what must have gone past the levels.
#include "lib/port_bytes/port_bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rdmaqos::port_bytes {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kMega = 1'000'000;

TEST(PortBytes, HaveTheNamesOfEachDriver)
{
    struct Case {
        const char* driver;
        const char* sent;
        const char* received;
    };
    for (const Case& each :
         {Case{"mlx5", "tx_prio3_bytes", "rx_prio3_bytes"}, Case{"mlx4", "tx_prio_3_bytes", "rx_prio_3_bytes"},
          Case{"bnxt", "tx_bytes_pri3", "rx_bytes_pri3"}}) {
        SCOPED_TRACE(each.driver);
        const std::vector<Counter> counters{{each.sent, 7}, {each.received, 9}};
        const auto bytes = bytes_in(counters);
        ASSERT_TRUE(bytes);
        EXPECT_EQ(bytes->sent, (OfPriority{0, 0, 0, 7}));
        EXPECT_EQ(bytes->received, (OfPriority{0, 0, 0, 9}));
        EXPECT_FALSE(bytes->rdma_sent);
    }
}

TEST(PortBytes, OfRdmaAreThoseOfAllItsPackets)
{
    const std::vector<Counter> counters{{"tx_prio0_bytes", 50},
                                        {"tx_vport_rdma_unicast_bytes", 25},
                                        {"tx_vport_rdma_multicast_bytes", 2},
                                        {"rx_vport_rdma_unicast_bytes", 4}};
    const auto bytes = bytes_in(counters);
    ASSERT_TRUE(bytes);
    EXPECT_EQ(bytes->rdma_sent, 27U);
    EXPECT_EQ(bytes->rdma_received, 4U);
}

TEST(PortBytes, AreNotTakenFromOtherCounters)
{
    for (const char* name : {"tx_prio3_packets", "tx_prio8_bytes", "tx_prio_bytes", "tx_prio33_bytes", "prio3_bytes",
                             "tx_prio3_buf_discard", "tx_bytes_pri", "tx_bytes_pri12", "tx", "", "rx_prio-_bytes",
                             "tx_vport_rdma_unicast_bytes"}) {
        EXPECT_FALSE(bytes_in(std::vector<Counter>{{name, 1}})) << name;
    }
}

TEST(PortBytes, MovedAreDifferencesUntilCountersStartAgain)
{
    PortBytes before;
    before.sent = {1, 2};
    before.rdma_sent = 3;
    PortBytes now;
    now.sent = {11, 2, 7};
    now.received = {5};
    now.rdma_sent = 13;
    now.rdma_received = 4;
    const auto moved = moved_between(before, now);
    ASSERT_TRUE(moved);
    EXPECT_EQ(moved->sent, (OfPriority{10, 0, 7}));
    EXPECT_EQ(moved->received, (OfPriority{5}));
    EXPECT_EQ(moved->rdma_sent, 10U);
    EXPECT_FALSE(moved->rdma_received) << "it was not known before";
    EXPECT_FALSE(moved_between(now, before));
    before.sent = {};
    now.rdma_sent = 0;
    EXPECT_FALSE(moved_between(before, now)->rdma_sent);
}

struct CheckCase {
    const char* name;
    OfPriority sent;
    std::uint64_t rdma;
    std::uint64_t at_least;
    std::uint64_t at_most;
    bool is_said;
};

// Levels have the priorities 3 and 5.
TEST(ByteCheck, SaysOnlyWhatIsCertain)
{
    const MeantPriority levels[] = {{"rpc", 3}, {"bulk", 5}, {"batch", 5}};
    const CheckCase cases[] = {
        {"all with the levels'", {0, 0, 0, 60 * kMega, 0, 40 * kMega}, 100 * kMega, 0, 0, false},
        {"all with none", {100 * kMega}, 100 * kMega, 100 * kMega, 100 * kMega, true},
        {"TCP beside it", {70 * kMega, 0, 0, 100 * kMega}, 100 * kMega, 0, 70 * kMega, false},
        {"some of both", {80 * kMega, 0, 0, 60 * kMega}, 100 * kMega, 40 * kMega, 80 * kMega, true},
        {"a rest that headers explain", {0, 0, 0, 98 * kMega}, 100 * kMega, 2 * kMega, 2 * kMega, false},
        {"too little to say so", {900'000}, 900'000, 900'000, 900'000, false},
        {"none", {}, 0, 0, 0, false},
    };
    for (const CheckCase& each : cases) {
        SCOPED_TRACE(each.name);
        PortBytes moved;
        moved.sent = each.sent;
        moved.rdma_sent = each.rdma;
        const auto check = check_bytes(moved, levels);
        ASSERT_TRUE(check);
        EXPECT_EQ(check->rdma, each.rdma);
        EXPECT_EQ(check->outside_at_least, each.at_least);
        EXPECT_EQ(check->outside_at_most, each.at_most);
        EXPECT_EQ(is_outside(*check), each.is_said);
        EXPECT_EQ(outside_in_words(*check).empty(), !each.is_said);
    }
}

TEST(ByteCheck, NamesPrioritiesWithTheirLevels)
{
    const MeantPriority levels[] = {{"rpc", 3}, {"bulk", 5}, {"batch", 5}};
    PortBytes moved;
    moved.sent = {80 * kMega, 20 * kMega, 0, 60 * kMega, 0, kMega};
    moved.rdma_sent = 100 * kMega;
    const auto check = check_bytes(moved, levels);
    ASSERT_TRUE(check);
    EXPECT_EQ(check->with,
              (std::vector<SentWith>{
                  {0, 80 * kMega, {}}, {1, 20 * kMega, {}}, {3, 60 * kMega, {"rpc"}}, {5, kMega, {"bulk", "batch"}}}));
    EXPECT_EQ(outside_in_words(*check), "at least 39 % of the 100.0 MB that RDMA sent had priorities of no level: "
                                        "priority 0 (80.0 MB), priority 1 (20.0 MB)");
    moved.rdma_sent.reset();
    EXPECT_FALSE(check_bytes(moved, levels)) << "how much of it was RDMA is not known";
}

TEST(Counters, AreAskedOfTheKernel)
{
    EXPECT_THAT(read_counters("no-such-interface-name-at-all"), IsEmpty());
    EXPECT_THAT(read_counters("rdmaqos-none"), IsEmpty());
    for (const Counter& counter : read_counters("lo")) {
        EXPECT_FALSE(counter.name.empty());
    }
}

}    // namespace
}    // namespace rdmaqos::port_bytes
