#include "lib/bus/value.h"

#include <gtest/gtest.h>

namespace rdmaqos::bus {
namespace {

TEST(Value, NamesItsSignature)
{
    const std::vector<std::pair<Value, std::string>> cases{
        {Value(true), "b"},
        {Value(std::uint8_t{1}), "y"},
        {Value(std::uint16_t{1}), "q"},
        {Value(std::uint32_t{1}), "u"},
        {Value(std::uint64_t{1}), "t"},
        {Value(std::int32_t{1}), "i"},
        {Value(std::int64_t{1}), "x"},
        {Value(1.5), "d"},
        {Value("text"), "s"},
        {Value(ObjectPath{"/a"}), "o"},
        {Value(FileDescriptor{}), "h"},
        {Value(std::vector<std::string>{"a"}), "as"},
        {Value(Dict{}), "a{sv}"},
        {Value(std::vector<Dict>{}), "aa{sv}"},
        {Value(Counts{}), "a{st}"},
        {Value(Triples{}), "a(sss)"},
        {Value(Unsupported{"(ii)"}), "(ii)"},
    };
    for (const auto& [value, expected] : cases) {
        EXPECT_EQ(signature(value), expected);
    }
}

TEST(Value, GivesUnsignedNumbersOnly)
{
    EXPECT_EQ(Value(std::uint8_t{200}).as_unsigned(), 200U);
    EXPECT_EQ(Value(std::int64_t{5}).as_unsigned(), 5U);
    EXPECT_EQ(Value(std::uint64_t{UINT64_MAX}).as_unsigned(), UINT64_MAX);
    EXPECT_EQ(Value(std::int32_t{-1}).as_unsigned(), std::nullopt);
    EXPECT_EQ(Value(true).as_unsigned(), std::nullopt);
    EXPECT_EQ(Value("5").as_unsigned(), std::nullopt);
}

TEST(Dict, KeepsOrderAndReplaces)
{
    Dict dict;
    dict.set("b", 1);
    dict.set("a", "x");
    dict.set("b", 2);
    ASSERT_EQ(dict.entries().size(), 2U);
    EXPECT_EQ(dict.entries().front().first, "b");
    EXPECT_EQ(*dict.find("b"), Value(2));
    EXPECT_EQ(dict.find("c"), nullptr);
    EXPECT_TRUE(dict.contains("a"));
}

}    // namespace
}    // namespace rdmaqos::bus
