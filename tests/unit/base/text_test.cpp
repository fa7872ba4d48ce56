#include "lib/base/text.h"

#include <array>
#include <chrono>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "tests/support/processor_time.h"

namespace rdmaqos {
namespace {

TEST(Case, OnlyAsciiIsFolded)
{
    EXPECT_TRUE(equals_ignoring_case("DEFAULT", "default"));
    EXPECT_TRUE(equals_ignoring_case("", ""));
    EXPECT_FALSE(equals_ignoring_case("default", "defaults"));
    EXPECT_FALSE(equals_ignoring_case("\xc3\x84", "\xc3\xa4"));
    EXPECT_FALSE(equals_ignoring_case("[", "{"));
    EXPECT_EQ(to_lower("RPC-Level_[1]"), "rpc-level_[1]");
}

struct MeantCase {
    std::string_view word;
    std::optional<std::string_view> expected;
};

TEST(DidYouMean, NearestLikelyWord)
{
    static constexpr std::array<std::string_view, 8> kKeys{"max-rate", "min-rate", "share", "parent",
                                                           "sl",       "name",     "use",   "fair-by"};
    const std::vector<MeantCase> cases{
        {"max-rat", "max-rate"},
        {"maxrate", "max-rate"},
        {"Max-Rate", "max-rate"},
        {"min-rate ", "min-rate"},
        {"mine-rate", "min-rate"},
        {"hsare", "share"},    // neighbours swapped
        {"HSARE", "share"},    // whatever the case
        {"nmae", "name"},
        {"ls", "sl"},
        {"fairby", "fair-by"},
        {"bandwidth", {}},
        {"x", {}},
        {"s", {}},    // one letter of nothing
        {"", {}},
        {"shapes-and-more-of-it", {}},
    };
    for (const auto& c : cases) {
        EXPECT_EQ(did_you_mean(c.word, kKeys), c.expected) << c.word;
    }
    EXPECT_EQ(did_you_mean("anything", {}), std::nullopt);
}

TEST(DidYouMean, LongTextIsNotCompared)
{
    const std::string longest(1'000'000, 'x');
    const std::array<std::string_view, 2> candidates{longest, "share"};
    EXPECT_EQ(did_you_mean(longest, candidates), std::nullopt);
    EXPECT_EQ(did_you_mean("shar", candidates), "share");
}

struct GlobCase {
    std::string pattern;
    std::string text;
    bool matches;
};

TEST(Glob, Matches)
{
    const std::vector<GlobCase> cases{
        {"job-*.scope", "job-17.scope", true},
        {"job-*.scope", "job-17.service", false},
        {"/slurm/*", "/slurm/uid_1000/job_7", true},    // the whole subtree
        {"/slurm/*", "/slurm", false},
        {"mlx5_?", "mlx5_0", true},
        {"mlx5_?", "mlx5_10", false},
        {"mlx5_[01]", "mlx5_1", true},
        {"mlx5_[!01]", "mlx5_1", false},
        {"*", "", true},
        {"*", ".hidden", true},
        {"", "", true},
        {"", "x", false},
        {"alice", "alice", true},
        {"alice", "Alice", false},
        {"\\*", "*", true},
        {"\\*", "x", false},
        {"[", "[", true},
    };
    for (const auto& c : cases) {
        EXPECT_EQ(glob_matches(c.pattern, c.text), c.matches) << c.pattern << " on " << c.text;
    }
}

// A pattern is the administrator's, the text may be a client's: no pair of them may take long.
TEST(Glob, ManyStarsAreNotExponential)
{
    std::string pattern;
    for (int i = 0; i < 40; ++i) {
        pattern += "*a";
    }
    const auto begin = test::own_processor_time();
    EXPECT_FALSE(glob_matches(pattern + "b", std::string(2000, 'a')));
    EXPECT_LT(test::own_processor_time() - begin, std::chrono::seconds(5));
}

TEST(Glob, HasGlob)
{
    EXPECT_TRUE(has_glob("a*"));
    EXPECT_TRUE(has_glob("a?"));
    EXPECT_TRUE(has_glob("a[b]"));
    EXPECT_FALSE(has_glob("job-1.scope"));
}

struct Utf8Case {
    std::string text;
    bool valid;
    std::string shown;
};

TEST(Utf8, ValidityAndPrintableForm)
{
    const std::vector<Utf8Case> cases{
        {"plain", true, "plain"},
        {"\xc3\xa4", true, "\xc3\xa4"},
        {"\xe2\x82\xac", true, "\xe2\x82\xac"},
        {"\xf0\x9f\x98\x80", true, "\xf0\x9f\x98\x80"},
        {"\xf4\x8f\xbf\xbf", true, "\xf4\x8f\xbf\xbf"},
        {"", true, ""},
        {"a\tb\n", true, "a\\x09b\\x0a"},
        {"\x7f", true, "\\x7f"},
        {"\x1b[31m", true, "\\x1b[31m"},
        {"\xc2\x9b"
         "31m",
         true, "\\xc2\\x9b31m"},                                      // CSI as one C1 character
        {"admin\xe2\x80\xaemlx", true, "admin\\xe2\\x80\\xaemlx"},    // U+202E: what follows runs from right to left
        {"a\xe2\x80\xa8"
         "b",
         true, "a\\xe2\\x80\\xa8b"},    // U+2028: a new line
        {"\xe2\x80\x8b\xe2\x80\x8f", true, "\\xe2\\x80\\x8b\\xe2\\x80\\x8f"},
        {"\xe2\x80\x8a\xe2\x80\x90\xe2\x80\xa7\xe2\x80\xaf", true, "\xe2\x80\x8a\xe2\x80\x90\xe2\x80\xa7\xe2\x80\xaf"},
        {"\xe2\x81\xa6\xd8\x9c\xef\xbb\xbf", true, "\\xe2\\x81\\xa6\\xd8\\x9c\\xef\\xbb\\xbf"},
        {std::string("a\0b", 3), false, "a\\x00b"},
        {"\x80", false, "\\x80"},
        {"\xc3", false, "\\xc3"},
        {"\xc3(", false, "\\xc3("},
        {"\xc0\xaf", false, "\\xc0\\xaf"},    // overlong
        {"\xe0\x80\xaf", false, "\\xe0\\x80\\xaf"},
        {"\xf0\x80\x80\xaf", false, "\\xf0\\x80\\x80\\xaf"},
        {"\xed\xa0\x80", false, "\\xed\\xa0\\x80"},             // surrogate
        {"\xf4\x90\x80\x80", false, "\\xf4\\x90\\x80\\x80"},    // above U+10FFFF
        {"\xf5\x80\x80\x80", false, "\\xf5\\x80\\x80\\x80"},
        {"\xe2\x82", false, "\\xe2\\x82"},
    };
    for (const auto& c : cases) {
        EXPECT_EQ(is_valid_utf8(c.text), c.valid) << c.shown;
        EXPECT_EQ(printable(c.text), c.shown);
    }
}

TEST(Utf8, PrintableIsAlwaysValidWithoutControls)
{
    EXPECT_TRUE(rc::check("printable(bytes)", [](const std::vector<std::uint8_t>& bytes) {
        const std::string shown = printable(std::string(bytes.begin(), bytes.end()));
        RC_ASSERT(is_valid_utf8(shown));
        RC_ASSERT(printable(shown) == shown);
        for (const char c : shown) {
            RC_ASSERT(static_cast<unsigned char>(c) >= 0x20);
        }
    }));
}

TEST(Counted, Plural)
{
    EXPECT_EQ(counted(0, "error"), "0 errors");
    EXPECT_EQ(counted(1, "error"), "1 error");
    EXPECT_EQ(counted(2, "error"), "2 errors");
}

TEST(Shortened, EndsWithAWholeCharacter)
{
    EXPECT_EQ(beginning_of("abc", 3), "abc");
    EXPECT_EQ(beginning_of("abcd", 3), "abc");
    EXPECT_EQ(beginning_of("abcd", 0), "");
    EXPECT_EQ(beginning_of("", 0), "");
    // 2, 3 and 4 bytes, cut at each.
    const std::string text = "\u00fc\u20ac\U0001f600x";
    const std::vector<std::size_t> lengths{0, 0, 2, 2, 2, 5, 5, 5, 5, 9, 10, 10};
    for (std::size_t longest = 0; longest < lengths.size(); ++longest) {
        EXPECT_EQ(beginning_of(text, longest), text.substr(0, lengths[longest])) << longest;
        EXPECT_TRUE(is_valid_utf8(shortened(text, longest)));
    }
    EXPECT_EQ(shortened(text, 10), text);
    EXPECT_EQ(shortened(text, 9), "\u00fc\u20ac\U0001f600...");
    EXPECT_EQ(shortened(text, 8), "\u00fc\u20ac...");
}

TEST(Shortened, ForMessages)
{
    EXPECT_EQ(shortened(std::string(60, 'x')), std::string(60, 'x'));
    EXPECT_EQ(shortened(std::string(61, 'x')), std::string(60, 'x').append("..."));
    EXPECT_EQ(shortened(std::string(59, 'x') + "\u00fc"), std::string(59, 'x').append("..."));
}

TEST(Characters, AreThoseOfAscii)
{
    for (const char c : {'0', '9'}) {
        EXPECT_TRUE(is_digit(c)) << c;
    }
    for (const char c : {'a', 'z', 'A', 'Z'}) {
        EXPECT_TRUE(is_letter(c)) << c;
    }
    for (const char c : {'/', ':', '@', '[', '`', '{', '\xe4', '\0'}) {
        EXPECT_FALSE(is_digit(c) || is_letter(c) || is_blank(c)) << c;
        EXPECT_EQ(to_lower(c), c);
    }
    EXPECT_EQ(to_lower('Z'), 'z');
}

TEST(Blanks, AreTakenOff)
{
    EXPECT_EQ(without_blanks(" \ta b\t "), "a b");
    EXPECT_EQ(without_leading_blanks("  a "), "a ");
    EXPECT_EQ(without_blanks(" \ta\n ", " \n"), "\ta");
    // A place in the text can be told of what is left, if nothing is.
    const std::string_view blanks = "  ";
    EXPECT_TRUE(without_blanks(blanks).empty());
    EXPECT_EQ(without_blanks(blanks).data(), blanks.data() + blanks.size());
}

TEST(Lines, AreWhatLineFeedsEnd)
{
    using Lines = std::vector<std::string_view>;
    EXPECT_EQ(lines_of(""), Lines{});
    EXPECT_EQ(lines_of("a"), Lines{"a"});
    EXPECT_EQ(lines_of("a\n\nb\n"), (Lines{"a", "", "b"}));
    EXPECT_EQ(lines_of("\n"), Lines{""});
}

TEST(Width, CountsCharacters)
{
    EXPECT_EQ(display_width("gr\u00f6\u00dfe"), 5U);
    EXPECT_EQ(padded("gr\u00f6\u00dfe", 7), "gr\u00f6\u00dfe  ");
    EXPECT_EQ(padded("gr\u00f6\u00dfe", 3), "gr\u00f6\u00dfe");
    const std::vector<std::string> texts{"a", "\u00e4\u00f6\u00fc", "bc"};
    EXPECT_EQ(widest(texts, [](const std::string& text) { return text; }), 3U);
    EXPECT_EQ(widest(std::vector<std::string>{}, [](const std::string& text) { return text; }), 0U);
}

TEST(Shortened, TakesBytesThatAreNoUtf8AsTheyAre)
{
    EXPECT_EQ(beginning_of("\xfc\xfc\xfc\xfc", 2), "\xfc\xfc");
    EXPECT_EQ(beginning_of("a\xe2\x82", 2), "a\xe2") << "a character that never ends";
    EXPECT_EQ(beginning_of("\x80\x80\x80\x80\x80", 3), "\x80\x80\x80");
}

}    // namespace
}    // namespace rdmaqos
