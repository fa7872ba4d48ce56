#include "lib/base/edit_distance.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "lib/base/text.h"

namespace rdmaqos {
namespace {

// By the table, as it is defined: the shortest sequence of changes in which no text is changed twice.
std::size_t by_table(const std::string& a, const std::string& b)
{
    std::vector<std::vector<std::size_t>> table(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
    const auto equal = [&](std::size_t i, std::size_t j) { return to_lower(a[i - 1]) == to_lower(b[j - 1]); };
    for (std::size_t i = 0; i <= a.size(); ++i) {
        for (std::size_t j = 0; j <= b.size(); ++j) {
            if (i == 0 || j == 0) {
                table[i][j] = i + j;
                continue;
            }
            table[i][j] = std::min(
                {table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + (equal(i, j) ? 0 : 1)});
            if (i > 1 && j > 1 && equal(i, j - 1) && equal(i - 1, j)) {
                table[i][j] = std::min(table[i][j], table[i - 2][j - 2] + 1);
            }
        }
    }
    return table[a.size()][b.size()];
}

std::optional<std::size_t> below(std::size_t limit, const std::string& word, const std::string& other)
{
    return EditDistance(word).below(limit, other);
}

TEST(EditDistance, OfWords)
{
    EXPECT_EQ(below(9, "share", "share"), 0U);
    EXPECT_EQ(below(9, "share", "SHARE"), 0U);
    EXPECT_EQ(below(9, "share", "hsare"), 1U) << "neighbours swapped";
    EXPECT_EQ(below(9, "share", "shares"), 1U);
    EXPECT_EQ(below(9, "share", "hare"), 1U);
    EXPECT_EQ(below(9, "share", "shore"), 1U);
    EXPECT_EQ(below(9, "share", ""), 5U);
    EXPECT_EQ(below(9, "ca", "abc"), 3U) << "no text is changed twice";
    EXPECT_EQ(below(1, "share", "shares"), std::nullopt);
    EXPECT_EQ(below(0, "share", "share"), std::nullopt);
    EXPECT_EQ(below(9, "share", std::string(65, 's')), std::nullopt);
}

TEST(EditDistance, IsThatOfTheTable)
{
    // Of few letters, so that much of them agrees; up to the longest.
    const auto words = rc::gen::resize(kLongestWordCompared,
                                       rc::gen::container<std::string>(rc::gen::element('a', 'B', 'b', '-', '\xc3')));
    EXPECT_TRUE(rc::check("below(limit) is the table's, if that is below", [&] {
        std::string word = *words;
        std::string other = *words;
        word = word.empty() ? "a" : word.substr(0, kLongestWordCompared);
        other = other.substr(0, kLongestWordCompared);
        const std::size_t limit = *rc::gen::inRange<std::size_t>(0, kLongestWordCompared + 2);
        const std::size_t distance = by_table(word, other);
        RC_ASSERT(below(limit, word, other) == (distance < limit ? std::optional(distance) : std::nullopt));
    }));
}

TEST(EditDistance, OfTheLongestWords)
{
    const std::string word(kLongestWordCompared, 'a');
    EXPECT_EQ(below(100, word, std::string(kLongestWordCompared, 'b')), kLongestWordCompared);
    EXPECT_EQ(below(100, word, word.substr(1)), 1U);
    EXPECT_EQ(below(100, word, "b" + word.substr(1)), 1U);
}

// The most that a client can ask for: a step for each letter of the names, however long its own word is.
TEST(EditDistance, CostsAStepForEachLetterOfTheOthers)
{
    constexpr std::size_t kNames = 1000;
    EditDistance from(std::string(kLongestWordCompared, 'x'));
    std::size_t letters = 0;
    for (std::size_t i = 0; i < kNames; ++i) {
        std::string name = fmt::format("level-{:0>58}", i);
        letters += name.size();
        static_cast<void>(from.below(1000, name));
    }
    EXPECT_EQ(letters, kNames * kLongestWordCompared);
    EXPECT_EQ(from.steps(), letters);
    // With the bound of a suggestion it stops earlier.
    EditDistance bounded(std::string(kLongestWordCompared, 'x'));
    static_cast<void>(bounded.below(22, std::string(kLongestWordCompared, 'y')));
    EXPECT_LT(bounded.steps(), kLongestWordCompared);
}

TEST(EditDistance, TakesNoStepWhereTheLengthsDecide)
{
    EditDistance from("share");
    EXPECT_EQ(from.below(3, "bandwidth"), std::nullopt);
    EXPECT_EQ(from.steps(), 0U);
}

}    // namespace
}    // namespace rdmaqos
