#include "lib/model/pacing.h"

#include <gtest/gtest.h>

namespace rdmaqos {
namespace {

PacingTable table_of(std::uint32_t size)
{
    PacingCapabilities capabilities;
    capabilities.supported_types = {QueuePairType::RawPacket, QueuePairType::Ud};
    capabilities.table_size = size;
    capabilities.burst = true;
    capabilities.typical_packet = true;
    return PacingTable(capabilities);
}

RateLimit mbps(std::uint64_t value)
{
    return {Bandwidth::from_mbps(value), {}, {}};
}

TEST(PacingTable, EqualLimitsOfOneContextShareAnEntry)
{
    PacingTable table = table_of(2);
    EXPECT_TRUE(table.acquire(1, mbps(10)));
    EXPECT_TRUE(table.acquire(1, mbps(10)));
    EXPECT_EQ(table.entries_used(), 1U);
    EXPECT_TRUE(table.acquire(2, mbps(10)));    // another context: another entry
    EXPECT_EQ(table.entries_used(), 2U);
    EXPECT_FALSE(table.acquire(1, mbps(20)));
}

TEST(PacingTable, EntryLivesUntilItsLastUser)
{
    PacingTable table = table_of(1);
    ASSERT_TRUE(table.acquire(1, mbps(10)));
    ASSERT_TRUE(table.acquire(1, mbps(10)));
    table.release(1, mbps(10));
    EXPECT_FALSE(table.acquire(1, mbps(20)));
    table.release(1, mbps(10));
    EXPECT_TRUE(table.acquire(1, mbps(20)));
    table.release(1, mbps(99));    // never acquired
    EXPECT_EQ(table.entries_used(), 1U);
}

TEST(PacingTable, AllThreeFieldsTellEntriesApart)
{
    PacingTable table = table_of(0);
    const Bandwidth rate = Bandwidth::from_mbps(10);
    for (const RateLimit& limit : {RateLimit{rate, {}, {}}, RateLimit{rate, 65536, {}}, RateLimit{rate, 65536, 1024},
                                   RateLimit{rate, {}, 1024}, RateLimit{Bandwidth::from_kbps(10'001), {}, {}}}) {
        ASSERT_TRUE(table.acquire(0, limit));
    }
    EXPECT_EQ(table.entries_used(), 5U);
}

TEST(PacingTable, UnknownSizeIsNoLimit)
{
    PacingTable table = table_of(0);
    for (std::uint64_t rate = 1; rate <= 1000; ++rate) {
        ASSERT_TRUE(table.acquire(0, mbps(rate)));
    }
    EXPECT_EQ(table.entries_used(), 1000U);
}

TEST(PacingTable, NamesTheTypesItPaces)
{
    const auto refusal = table_of(1).check(QueuePairType::Rc, mbps(1));
    ASSERT_TRUE(refusal);
    EXPECT_EQ(refusal->message, "the device paces queue pairs of type ud, raw-packet only, not rc; cap the queue pair "
                                "by a leaf of its own");
    EXPECT_FALSE(table_of(1).check(QueuePairType::Ud, mbps(1)));
}

}    // namespace
}    // namespace rdmaqos
