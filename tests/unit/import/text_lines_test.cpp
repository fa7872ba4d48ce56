#include "tools/rdma-qosctl/import/text_lines.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/import/import_support.h"

namespace rdmaqos::reader {
namespace {

using test::source;

std::vector<std::string> lines_of(const std::string& text)
{
    std::vector<std::string> result;
    TextLines lines(source("x", text));
    while (lines.next()) {
        result.emplace_back(lines.line());
        result.back() += lines.has_carriage_return() ? "<cr>" : "";
    }
    return result;
}

TEST(TextLines, EndWithALineFeedOrTheText)
{
    EXPECT_EQ(lines_of(""), std::vector<std::string>{});
    EXPECT_EQ(lines_of("a"), std::vector<std::string>{"a"});
    EXPECT_EQ(lines_of("a\n\nb\r\n"), (std::vector<std::string>{"a", "", "b<cr>"}));
    EXPECT_EQ(lines_of("\n"), std::vector<std::string>{""});
}

TEST(TextLines, PlacesAreOfTheText)
{
    TextLines lines(source("x", "one\n two three\n"));
    EXPECT_EQ(lines.start().to_string(), "x:1:1");
    ASSERT_TRUE(lines.next());
    ASSERT_TRUE(lines.next());
    const Location at = lines.locate(lines.line().substr(5));
    EXPECT_EQ(at.to_string(), "x:2:6");
    EXPECT_EQ(at.length, 5U);
    EXPECT_EQ(lines.locate(lines.line().substr(10)).length, 1U);
    EXPECT_EQ(TextLines(source("empty", "")).start().to_string(), "empty");
}

struct NumberCase {
    const char* text;
    std::uint64_t value;
    std::size_t length;
};

TEST(CNumbers, AreThoseOfStrtoull)
{
    for (const auto& [text, value, length] :
         {NumberCase{"10", 10, 2}, NumberCase{"010", 8, 3}, NumberCase{"0x10", 16, 4}, NumberCase{"0Xfg", 15, 3},
          NumberCase{"08", 0, 1}, NumberCase{"0", 0, 1}, NumberCase{"0x", 0, 1}, NumberCase{"0xg", 0, 1},
          NumberCase{"", 0, 0}, NumberCase{"-1", 0, 0}, NumberCase{" 1", 0, 0}, NumberCase{"7 8", 7, 1},
          NumberCase{"18446744073709551615", ~0ULL, 20}, NumberCase{"18446744073709551616", ~0ULL, 20},
          NumberCase{"0xffffffffffffffff0", ~0ULL, 19}}) {
        const CNumber number = read_c_number(text);
        EXPECT_EQ(number.value, value) << text;
        EXPECT_EQ(number.length, length) << text;
    }
}

TEST(HexDigits, HaveSixtyFourBits)
{
    EXPECT_EQ(read_hex_digits("2c9)").value, 0x2c9U);
    EXPECT_EQ(read_hex_digits("2c9)").length, 3U);
    EXPECT_EQ(read_hex_digits("00000ffffffffffffffff").value, ~0ULL);
    EXPECT_EQ(read_hex_digits("1ffffffffffffffff").length, 0U);
    EXPECT_EQ(read_hex_digits("0000").length, 4U);
    EXPECT_EQ(read_hex_digits("x").length, 0U);
}

}    // namespace
}    // namespace rdmaqos::reader
