#include "policy/model/ib.h"

#include <gtest/gtest.h>

#include "tests/unit/match/policy_dsl.h"

namespace rdmaqos {
namespace {

using namespace test;

// ordered_rates[] of OpenSM, ascending.
constexpr std::uint8_t kOrder[] = {2, 5, 3, 11, 6, 4, 15, 19, 7, 8, 20, 12, 9, 10, 16, 13, 14, 17, 18, 21, 22, 23, 24};

TEST(IbRate, OrderOfOpenSm)
{
    for (std::size_t i = 0; i < std::size(kOrder); ++i) {
        for (std::size_t j = 0; j < std::size(kOrder); ++j) {
            EXPECT_EQ(compare_rates(rate(kOrder[i]), rate(kOrder[j])), i <=> j);
        }
        EXPECT_EQ(previous_rate(rate(kOrder[i])), i == 0 ? std::nullopt : std::optional(rate(kOrder[i - 1])));
    }
}

TEST(IbRate, NumbersAndNominalRates)
{
    EXPECT_FALSE(ib_rate_from_number(0));
    EXPECT_FALSE(ib_rate_from_number(1));
    EXPECT_FALSE(ib_rate_from_number(25));
    EXPECT_FALSE(ib_rate_from_number(256 + 3));
    for (std::uint8_t number = kLowestIbRate; number <= kHighestIbRate; ++number) {
        const auto value = ib_rate_from_number(number);
        ASSERT_TRUE(value);
        EXPECT_EQ(ib_rate_from_bandwidth(nominal(*value)), value);
    }
    EXPECT_EQ(nominal(rate(2)), Bandwidth::from_kbps(2'500'000));
    EXPECT_EQ(nominal(rate(24)), Bandwidth::from_gbps(1200));
    EXPECT_FALSE(ib_rate_from_bandwidth(Bandwidth::from_gbps(41)));
}

TEST(IbRate, AtMost)
{
    EXPECT_FALSE(ib_rate_at_most(Bandwidth::from_gbps(2)));
    EXPECT_EQ(ib_rate_at_most(Bandwidth::from_kbps(2'500'000)), rate(2));
    EXPECT_EQ(ib_rate_at_most(Bandwidth::from_gbps(99)), rate(9));
    EXPECT_EQ(ib_rate_at_most(Bandwidth::from_gbps(100)), rate(16));
    EXPECT_EQ(ib_rate_at_most(Bandwidth::from_gbps(5000)), rate(24));
}

TEST(IbMtu, Bytes)
{
    EXPECT_EQ(bytes(IbMtu::Mtu256), 256U);
    EXPECT_EQ(bytes(IbMtu::Mtu4096), 4096U);
    EXPECT_EQ(ib_mtu_from_bytes(2048), IbMtu::Mtu2048);
    EXPECT_FALSE(ib_mtu_from_bytes(1500));
    EXPECT_FALSE(ib_mtu_from_bytes(0));
}

TEST(InWords, Texts)
{
    EXPECT_EQ(in_words(rate(3)), "3 = 10 Gbit/s");
    EXPECT_EQ(in_words(rate(2)), "2 = 2.5 Gbit/s");
    EXPECT_EQ(in_words(IbMtu::Mtu4096), "5 = 4096 bytes");
    EXPECT_EQ(packet_life_in_words(0), "0 = 4.1 us");
    EXPECT_EQ(packet_life_in_words(16), "16 = 268 ms");
    EXPECT_EQ(packet_life_in_words(18), "18 = 1.07 s");
    EXPECT_EQ(packet_life_in_words(31), "31 = 2.44 h");
}

struct Masked {
    Interval range;
    Interval expected;
    PKeyMasking masking;
};

TEST(MaskedPKeys, AreWhatOpensmReadsAndSaidWhereTheyMeanSomethingElse)
{
    using enum PKeyMasking;
    for (const auto& [range, expected, masking] : std::vector<Masked>{
             {{0x1, 0x1}, {0x1, 0x1}, Kept},
             {{0x8001, 0x8001}, {0x1, 0x1}, Kept},
             {{0x8001, 0x8005}, {0x1, 0x5}, Kept},
             {{0, 0x7FFF}, {0, 0x7FFF}, Kept},
             {{0, 0xFFFF}, {0, 0x7FFF}, Kept},
             {{1, 0x8000}, {0, 1}, InsideOut},
             {{1, 0xFFFF}, {1, 0x7FFF}, InsideOut},
             {{0x7FF0, 0x8010}, {0x10, 0x7FF0}, InsideOut},
             {{0x7FFF, 0x8000}, {0, 0x7FFF}, InsideOut},
             {{0x18001, 0x18001}, {0x1, 0x1}, TooWide},
             {{0x18001, 0x18005}, {0x1, 0x5}, TooWide},
             {{0, 0x1FFFF}, {0, 0x7FFF}, TooWide},
             {{0xFFFF, 0x10000}, {0, 0x7FFF}, InsideOut},
         }) {
        const auto masked = mask_pkeys(range);
        EXPECT_EQ(masked.interval, expected) << range.first << "-" << range.last;
        EXPECT_EQ(masked.masking, masking) << range.first << "-" << range.last;
    }
}

}    // namespace
}    // namespace rdmaqos
