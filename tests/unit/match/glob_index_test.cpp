#include "policy/match/glob_index.h"

#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace rdmaqos {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> pieces(const char* pattern)
{
    std::vector<std::string> result;
    for (const auto piece : literal_pieces(pattern)) {
        result.emplace_back(piece);
    }
    return result;
}

std::set<std::string> found(const std::vector<std::string>& patterns, const std::string& text)
{
    std::set<std::string> result;
    for (const auto number : GlobIndex(patterns).find(text)) {
        result.insert(patterns.at(number));
    }
    return result;
}

TEST(LiteralPieces, AreInEveryMatch)
{
    EXPECT_THAT(pieces("job.scope"), ElementsAre("job.scope"));
    EXPECT_THAT(pieces("/slurm/*/job_?7/*"), ElementsAre("/slurm/", "/job_", "7/"));
    EXPECT_THAT(pieces("*"), IsEmpty());
    EXPECT_THAT(pieces(""), IsEmpty());
    EXPECT_THAT(pieces("a[bc]d"), ElementsAre("a", "d"));
    EXPECT_THAT(pieces("a[bc]d*e[f]g"), ElementsAre("a", "g")) << "what is between brackets may be inside of one";
    EXPECT_THAT(pieces("a[b]c]d"), ElementsAre("a", "d"));
    EXPECT_THAT(pieces("a[bc"), ElementsAre("a"));
    EXPECT_THAT(pieces("a\\*b\\x2dc"), ElementsAre("a", "b", "2dc"));
    EXPECT_THAT(pieces("a\\"), ElementsAre("a"));
}

TEST(GlobIndex, FindsWhatMatches)
{
    const std::vector<std::string> patterns{"job-*.scope", "job-7.scope",     "*7*",     "*",    "/slurm/*/job_7/*",
                                            "*.service",   "job-[0-9].s?ope", "a\\x2db", "a\\*b"};
    EXPECT_EQ(found(patterns, "job-7.scope"),
              (std::set<std::string>{"job-*.scope", "job-7.scope", "*7*", "*", "job-[0-9].s?ope"}));
    EXPECT_EQ(found(patterns, "/slurm/uid_1/job_7/step"), (std::set<std::string>{"*7*", "*", "/slurm/*/job_7/*"}));
    EXPECT_EQ(found(patterns, "a\\x2db"), (std::set<std::string>{"a\\x2db", "*"})) << "as a name of systemd";
    EXPECT_EQ(found(patterns, "ax2db"), (std::set<std::string>{"a\\x2db", "*"})) << "as a glob";
    EXPECT_EQ(found(patterns, "a*b"), (std::set<std::string>{"a\\*b", "*"}));
    EXPECT_EQ(found({}, "a"), std::set<std::string>{});
}

TEST(GlobIndex, APieceInsideOfAnotherIsFound)
{
    const std::vector<std::string> patterns{"*abcd*", "*bc*", "*c*", "*bcx*"};
    EXPECT_EQ(found(patterns, "zabcdz"), (std::set<std::string>{"*abcd*", "*bc*", "*c*"}));
    EXPECT_EQ(found(patterns, "zabcx"), (std::set<std::string>{"*bc*", "*c*", "*bcx*"}));
}

TEST(GlobIndex, ALongTextCostsNoMorePatternsThanThereAre)
{
    const std::vector<std::string> patterns{"*a*b", "*aa*b", "*aaa*b"};
    EXPECT_EQ(found(patterns, std::string(100'000, 'a')), std::set<std::string>{});
}

TEST(GlobIndexProperty, AgreesWithTryingAll)
{
    EXPECT_TRUE(rc::check("the index finds what trying every pattern finds", [] {
        const auto letters = rc::gen::element('a', 'b', 'a', 'b', '*', '?', '[', ']', '\\', '-', '!');
        const auto names = rc::gen::container<std::string>(rc::gen::element('a', 'b', '[', ']', '\\', '-'));
        const auto patterns = *rc::gen::container<std::set<std::string>>(rc::gen::container<std::string>(letters));
        const std::vector<std::string> list(patterns.begin(), patterns.end());
        const auto text = *names;
        std::set<std::string> expected;
        std::copy_if(list.begin(), list.end(), std::inserter(expected, expected.end()),
                     [&](const std::string& pattern) { return name_matches(pattern, text); });
        RC_ASSERT(found(list, text) == expected);
    }));
}

}    // namespace
}    // namespace rdmaqos
