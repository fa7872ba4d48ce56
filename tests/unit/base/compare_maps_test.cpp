#include "lib/base/compare_maps.h"

#include <string>

#include <gtest/gtest.h>

namespace rdmaqos {
namespace {

std::string compared(const std::map<int, char>& before, const std::map<int, std::string>& after)
{
    std::string text;
    compare_maps(before, after, [&](int key, const char* was, const std::string* is) {
        text += std::to_string(key) + (was != nullptr ? *was : '-') + (is != nullptr ? *is : "-") + " ";
    });
    return text;
}

TEST(CompareMaps, VisitsEachKeyOnceInOrder)
{
    EXPECT_EQ(compared({}, {}), "");
    EXPECT_EQ(compared({{1, 'a'}, {2, 'b'}}, {}), "1a- 2b- ");
    EXPECT_EQ(compared({}, {{1, "x"}, {2, "y"}}), "1-x 2-y ");
    EXPECT_EQ(compared({{1, 'a'}, {3, 'c'}, {4, 'd'}}, {{2, "x"}, {3, "y"}, {5, "z"}}), "1a- 2-x 3cy 4d- 5-z ");
}

}    // namespace
}    // namespace rdmaqos
