#include "lib/base/percentage.h"

#include <gtest/gtest.h>

namespace rdmaqos {
namespace {

TEST(Percentage, IsReadAsPeopleWriteIt)
{
    for (const auto& [text, hundredths] : {std::pair{"25%", 2500U},
                                           {"25 %", 2500U},
                                           {"12.5%", 1250U},
                                           {"0.01 %", 1U},
                                           {"100%", 10000U},
                                           {"100.00%", 10000U},
                                           {"7.25%", 725U},
                                           {"007%", 700U}}) {
        const auto read = parse_percentage(text);
        ASSERT_TRUE(read) << text;
        EXPECT_EQ(read->hundredths(), hundredths) << text;
    }
    for (const auto* text : {"", "%", "25", "0%", "0.00%", "100.01%", "101%", "-1%", "+1%", "1.%", ".5%", "1.234%",
                             "1e1%", "25%%", " 25%", "0025%", "a%", "1..2%"}) {
        EXPECT_FALSE(parse_percentage(text)) << text;
    }
}

TEST(Percentage, Words)
{
    for (const auto* text : {"25 %", "12.5 %", "0.01 %", "100 %", "7.25 %", "0.1 %"}) {
        EXPECT_EQ(to_string(parse_percentage(text).value()), text);
    }
    EXPECT_TRUE(is_percentage("120%"));
    EXPECT_FALSE(is_percentage("25Gbps"));
}

TEST(Percentage, OfARate)
{
    EXPECT_EQ(parse_percentage("25%")->of(Bandwidth::from_gbps(400)), Bandwidth::from_gbps(100));
    EXPECT_EQ(parse_percentage("0.01%")->of(Bandwidth::from_kbps(10'000)), Bandwidth::from_kbps(1));
    EXPECT_EQ(parse_percentage("33.33%")->of(Bandwidth::from_kbps(100)), Bandwidth::from_kbps(33)) << "rounded down";
    constexpr auto kLargest = Bandwidth::from_kbps(UINT64_MAX);
    EXPECT_EQ(parse_percentage("100%")->of(kLargest), kLargest);
    EXPECT_EQ(parse_percentage("50%")->of(kLargest), Bandwidth::from_kbps(UINT64_MAX / 2));
}

}    // namespace
}    // namespace rdmaqos
