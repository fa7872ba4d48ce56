#include "lib/base/units.h"

#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "lib/base/text.h"

namespace rdmaqos {
namespace {

using enum UnitError;

struct QuantityCase {
    std::string_view text;
    std::optional<std::uint64_t> value;
    UnitError error = NotANumber;
};

template <typename T, typename Number>
void check(const std::vector<QuantityCase>& cases, Parsed<T> (*parse)(std::string_view), Number number)
{
    for (const auto& c : cases) {
        const auto parsed = parse(c.text);
        ASSERT_EQ(parsed.value.has_value(), c.value.has_value()) << c.text;
        if (parsed.value) {
            EXPECT_EQ(number(*parsed.value), *c.value) << c.text;
        } else {
            EXPECT_EQ(parsed.error, c.error) << c.text;
        }
    }
}

TEST(Bandwidth, Parse)
{
    check<Bandwidth>(
        {
            {"25Gbps", 25'000'000},
            {"2.5Gbps", 2'500'000},
            {"400 Mbps", 400'000},
            {"64kbps", 64},
            {"64KBPS", 64},
            {"1Tbps", 1'000'000'000},
            {"25 Gbit/s", 25'000'000},
            {"25Gbit/s", 25'000'000},
            {"2.5 gbit/S", 2'500'000},
            {"1 Tbit/s", 1'000'000'000},
            {"400 Mbit/s", 400'000},
            {"64 kbit/s", 64},
            {"8000 bit/s", 8},
            {"25 Gbit", {}, UnknownUnit},
            {"25 G bit/s", {}, UnknownUnit},
            {"25 Gbits/s", {}, UnknownUnit},
            {"999 bit/s", {}, TooFine},
            {"0.001Mbps", 1},
            {"8000bps", 8},
            {"010Mbps", 10'000},
            {"0Gbps", 0},
            {"1.500000000Gbps", 1'500'000},
            {"", {}, NotANumber},
            {"Gbps", {}, NotANumber},
            {"-1Gbps", {}, NotANumber},
            {"+1Gbps", {}, NotANumber},
            {".5Gbps", {}, NotANumber},
            {"1.Gbps", {}, NotANumber},
            {" 1Gbps", {}, NotANumber},
            {"unlimited", {}, NotANumber},
            {"25", {}, MissingUnit},
            {"25 ", {}, MissingUnit},
            {"0x10Gbps", {}, UnknownUnit},
            {"25Gb", {}, UnknownUnit},
            {"25GBps/s", {}, UnknownUnit},
            {"25Gbps ", {}, UnknownUnit},
            {"1,5Gbps", {}, UnknownUnit},
            {"1e3Mbps", {}, UnknownUnit},
            {"0.0001Mbps", {}, TooFine},
            {"999bps", {}, TooFine},
            {"1.0000000001Gbps", {}, TooFine},
            {"99999999999Tbps", {}, Overflow},
            {"99999999999999999999Gbps", {}, Overflow},    // no 64-bit number
            {"18446744073709551615Tbps", {}, Overflow},
            {"18446744073709551615.123456789Tbps", {}, Overflow},    // nor a 128-bit product
        },
        parse_bandwidth, [](Bandwidth bandwidth) { return bandwidth.kbps(); });
}

TEST(Bandwidth, OverflowIsNeverAcceptedAsSomethingElse)
{
    EXPECT_TRUE(rc::check("whole.fraction Tbps", [](std::uint64_t whole) {
        const auto digits = *rc::gen::inRange<std::uint32_t>(0, 1'000'000'000);
        const auto parsed = parse_bandwidth(std::to_string(whole) + "." +
                                            std::to_string(1'000'000'000U + digits).substr(1) + "Tbps");
        if (parsed.value) {
            RC_ASSERT(parsed.value->kbps() / 1'000'000'000 == whole);
            RC_ASSERT(parsed.value->kbps() % 1'000'000'000 == digits);
        } else {
            RC_ASSERT(parsed.error == Overflow);
            RC_ASSERT(whole > 1'000'000);
        }
    }));
}

TEST(Bandwidth, Text)
{
    EXPECT_EQ(to_string(Bandwidth::from_gbps(40)), "40 Gbit/s");
    EXPECT_EQ(to_string(Bandwidth::from_mbps(2500)), "2.5 Gbit/s");
    EXPECT_EQ(to_string(Bandwidth::from_mbps(4096)), "4.096 Gbit/s");
    EXPECT_EQ(to_string(Bandwidth::from_mbps(400)), "400 Mbit/s");
    EXPECT_EQ(to_string(Bandwidth::from_kbps(1500)), "1.5 Mbit/s");
    EXPECT_EQ(to_string(Bandwidth::from_kbps(64)), "64 kbit/s");
    EXPECT_EQ(to_string(Bandwidth::from_kbps(1'000'001)), "1000.001 Mbit/s");
    EXPECT_EQ(to_string(Bandwidth()), "0 kbit/s");
    EXPECT_EQ(to_string(Bandwidth::from_gbps(1000)), "1000 Gbit/s");
}

TEST(Bandwidth, TextIsExact)
{
    EXPECT_TRUE(rc::check("to_string, read back", [] {
        const auto kbps = *rc::gen::inRange<std::uint64_t>(0, 2'000'000'000);
        std::string text = to_string(Bandwidth::from_kbps(kbps));
        RC_ASSERT(parse_bandwidth(text).value == Bandwidth::from_kbps(kbps));
        text.erase(text.find(' '), 1);
        RC_ASSERT(parse_bandwidth(text).value == Bandwidth::from_kbps(kbps));
    }));
}

TEST(Bandwidth, WholeMegabitsAreRoundedDown)
{
    EXPECT_EQ(Bandwidth::from_kbps(1999).mbps(), 1U);
    EXPECT_EQ(Bandwidth::from_kbps(999).mbps(), 0U);
    EXPECT_LT(Bandwidth::from_mbps(999), Bandwidth::from_gbps(1));
    EXPECT_TRUE(Bandwidth().is_zero());
}

TEST(Bytes, Parse)
{
    check<std::uint64_t>(
        {
            {"64KiB", 65536},
            {"1MiB", 1048576},
            {"1500B", 1500},
            {"64KB", 64000},
            {"1500", 1500},
            {"64 KiB", 65536},
            {"1500 B", 1500},
            {"4096 bytes", 4096},
            {"4096bytes", 4096},
            {"1.5KiB", 1536},
            {"2gib", 2'147'483'648},
            {"1.5", {}, TooFine},
            {"0.3KiB", {}, TooFine},
            {"64Kb/s", {}, UnknownUnit},
            {"0x40", {}, UnknownUnit},
            {"many", {}, NotANumber},
            {"99999999999GiB", {}, Overflow},
        },
        parse_bytes, [](std::uint64_t bytes) { return bytes; });
}

TEST(Bytes, Text)
{
    EXPECT_EQ(bytes_to_string(65536), "64 KiB");
    EXPECT_EQ(bytes_to_string(1500), "1500 B");
    EXPECT_EQ(bytes_to_string(3U << 20U), "3 MiB");
    EXPECT_EQ(bytes_to_string(0), "0 B");
}

TEST(Bytes, TextIsReadBack)
{
    EXPECT_TRUE(rc::check("bytes_to_string, read back", [] {
        const auto bytes = *rc::gen::inRange<std::uint64_t>(0, 1U << 20U) << *rc::gen::inRange(0, 21);
        RC_ASSERT(parse_bytes(bytes_to_string(bytes)).value == bytes);
    }));
}

TEST(Milliseconds, Parse)
{
    check<std::uint64_t>(
        {
            {"500ms", 500},
            {"10s", 10'000},
            {"60 s", 60'000},
            {"250 ms", 250},
            {"5min", 300'000},
            {"1h", 3'600'000},
            {"0.5s", 500},
            {"0.5ms", {}, TooFine},
            {"90", 90'000},
            {"0.5", 500},
            {"5m", 300'000},
            {"30M", 1'800'000},
            {"1d", 86'400'000},
            {"1h30min", 5'400'000},
            {"1 h 30 m 5s 250ms", 5'405'250},
            {"1.5h30min", 7'200'000},
            {"", {}, NotANumber},
            {"m", {}, NotANumber},
            {"-1m", {}, NotANumber},
            {"1..5s", {}, NotANumber},
            {"1h30", {}, MissingUnit},
            {"1h m", {}, NotANumber},
            {"10 sec", {}, UnknownUnit},
            {"3 weeks", {}, UnknownUnit},
            {"30mm", {}, UnknownUnit},
            {"1h\n", {}, UnknownUnit},
            {"9999999999999999h", {}, Overflow},
            {"200000000000d200000000000d", {}, Overflow},
        },
        parse_milliseconds, [](std::uint64_t time) { return time; });
}

TEST(Number, DecimalOrHexadecimalOnly)
{
    const std::vector<std::pair<std::string_view, std::optional<std::uint64_t>>> cases{
        {"0", 0},
        {"42", 42},
        {"010", 10},
        {"0x1F", 31},
        {"0X1f", 31},
        {"18446744073709551615", 18446744073709551615U},
        {"0xffffffffffffffff", 18446744073709551615U},
        {"18446744073709551616", {}},
        {"0x10000000000000000", {}},
        {"", {}},
        {"0x", {}},
        {"-1", {}},
        {"+1", {}},
        {"0x-1", {}},
        {" 1", {}},
        {"1 ", {}},
        {"1_000", {}},
        {"0b1", {}},
        {"1e3", {}},
        {"0x0x1", {}},
    };
    for (const auto& [text, expected] : cases) {
        EXPECT_EQ(parse_number(text), expected) << text;
    }
}

TEST(BandwidthSum, EndsAtTheLargest)
{
    constexpr auto kLargest = Bandwidth::from_kbps(std::numeric_limits<std::uint64_t>::max());
    EXPECT_EQ(Bandwidth::from_mbps(2) + Bandwidth::from_kbps(5), Bandwidth::from_kbps(2005));
    EXPECT_EQ(kLargest + Bandwidth::from_kbps(1), kLargest);
}

TEST(ComputedBandwidth, IsAlwaysANumber)
{
    constexpr double kInfinite = std::numeric_limits<double>::infinity();
    constexpr auto kLargest = Bandwidth::from_kbps(std::numeric_limits<std::uint64_t>::max());
    EXPECT_EQ(Bandwidth::from_computed(41.9), Bandwidth::from_kbps(41));
    EXPECT_EQ(Bandwidth::from_computed(41.9999), Bandwidth::from_kbps(42));
    EXPECT_EQ(Bandwidth::from_computed(-1e-9), Bandwidth());
    EXPECT_EQ(Bandwidth::from_computed(-kInfinite), Bandwidth());
    EXPECT_EQ(Bandwidth::from_computed(std::numeric_limits<double>::quiet_NaN()), Bandwidth());
    EXPECT_EQ(Bandwidth::from_computed(kInfinite), kLargest);
    EXPECT_EQ(Bandwidth::from_computed(2e19), kLargest);
}

}    // namespace
}    // namespace rdmaqos
