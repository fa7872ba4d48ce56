#include "policy/match/glob_inclusion.h"

#include <algorithm>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "policy/match/glob_index.h"

namespace rdmaqos {
namespace {

using Patterns = std::vector<std::string>;

bool includes(const Patterns& wide, const Patterns& narrow)
{
    Effort effort(10'000'000);
    return surely_includes(wide, narrow, effort);
}

bool includes(const Patterns& wide, const Patterns& narrow, const Patterns& narrower)
{
    Effort effort(10'000'000);
    return surely_includes(wide, narrow, narrower, effort);
}

bool disjoint(const Patterns& a, const Patterns& b)
{
    Effort effort(10'000'000);
    return surely_disjoint(a, b, effort);
}

TEST(GlobInclusion, OfOnePatternInAnother)
{
    EXPECT_TRUE(includes({"job-*.scope"}, {"job-7.scope"}));
    EXPECT_TRUE(includes({"job-*.scope"}, {"job-[0-9].scope"}));
    EXPECT_TRUE(includes({"/slurm/*"}, {"/slurm/*/job_7/*"})) << "a star takes slashes";
    EXPECT_TRUE(includes({"*"}, {"a*b?c"}));
    EXPECT_TRUE(includes({"*a*"}, {"ba*c"}));
    EXPECT_TRUE(includes({"*aab*"}, {"*aaab*"}));
    EXPECT_TRUE(includes({"a*"}, {"a?*"}));
    EXPECT_FALSE(includes({"job-7.scope"}, {"job-*.scope"}));
    EXPECT_FALSE(includes({"a?"}, {"a*"}));
    EXPECT_FALSE(includes({"*aab*"}, {"*ab"}));
    EXPECT_FALSE(includes({"*aaab*"}, {"*aab*"}));
    EXPECT_FALSE(includes({"/slurm/*/job_*"}, {"/slurm/*"}));
    EXPECT_FALSE(includes({}, {"a"}));
}

TEST(GlobInclusion, OfEachPatternInSomeOther)
{
    EXPECT_TRUE(includes({"a*", "b"}, {"ab", "b"}));
    EXPECT_FALSE(includes({"a*", "b"}, {"ab", "bc"}));
    EXPECT_FALSE(includes({"a", "a?*"}, {"a*"})) << "true, but only of both together";
}

TEST(GlobInclusion, OfWhatTwoListsTake)
{
    EXPECT_TRUE(includes({"/slurm/*"}, {"/slurm/a*"}, {"*z"}));
    EXPECT_TRUE(includes({"*z"}, {"/slurm/a*"}, {"*z"}));
    EXPECT_TRUE(includes({"x"}, {"a*"}, {"b*"})) << "nothing is in both";
    EXPECT_FALSE(includes({"ab"}, {"a*"}, {"*b"}));
}

TEST(GlobInclusion, TellsWhatHasNothingInCommon)
{
    EXPECT_TRUE(disjoint({"a.service"}, {"job-*.scope"}));
    EXPECT_TRUE(disjoint({"*.service", "x"}, {"*.scope", "y"}));
    EXPECT_TRUE(disjoint({"/slurm/job_[12]"}, {"/system.slice/*"}));
    EXPECT_FALSE(disjoint({"a*"}, {"*b"}));
    EXPECT_FALSE(disjoint({"*a"}, {"*b", "?a"}));
}

TEST(GlobInclusion, APatternIsAlsoTakenAsItIsWritten)
{
    EXPECT_TRUE(includes({"a\\x2db"}, {"a\\x2db"}));
    EXPECT_FALSE(includes({"ax2db"}, {"a\\x2db"})) << "the unit of this name is not in there";
    EXPECT_TRUE(includes({"a*"}, {"a\\x2db"}));
    EXPECT_FALSE(includes({"?"}, {"[ab]"}));
    EXPECT_FALSE(includes({"a", "b"}, {"[ab]"}));
}

TEST(GlobInclusion, WhatIsNotUnderstoodIsComparedAsItIsWritten)
{
    for (const auto* pattern : {"x[[:alpha:]]", "x[a", "x\\", "x[\\]]"}) {
        SCOPED_TRACE(pattern);
        EXPECT_TRUE(includes({"y", pattern}, {pattern}));
        EXPECT_TRUE(includes({"x*"}, {pattern}));
        EXPECT_FALSE(includes({pattern}, {"x*"}));
        EXPECT_FALSE(disjoint({pattern}, {"x*"}));
    }
}

TEST(GlobInclusion, GivesUpInTime)
{
    Effort little(10);
    EXPECT_FALSE(surely_includes(Patterns{"*a*b*c*"}, Patterns{"*a*b*c*d"}, little));
    EXPECT_TRUE(little.is_spent());
}

TEST(GlobExample, IsMatched)
{
    EXPECT_EQ(example_of("job-*.s?pe", "7"), "job-7.sxpe");
    EXPECT_EQ(example_of("job-[0-9]", "7"), "job-[0-9]");
    EXPECT_EQ(example_of("\\*", "7"), "\\*");
}

// All texts of up to five letters, of which one is in no pattern.
const Patterns& all_texts()
{
    static const Patterns kTexts = [] {
        Patterns texts{""};
        for (std::size_t i = 0; texts[i].size() < 5; ++i) {
            for (const char c : {'a', 'b', 'c'}) {
                texts.push_back(texts[i] + c);
            }
        }
        texts.erase(texts.begin());
        return texts;
    }();
    return kTexts;
}

Patterns any_patterns(int most)
{
    const auto token = rc::gen::element<std::string>("a", "b", "a", "b", "*", "*", "?", "[ab]", "[!a]", "\\a");
    Patterns patterns;
    for (int i = *rc::gen::inRange(1, most + 1); i > 0; --i) {
        std::string& pattern = patterns.emplace_back();
        for (int j = *rc::gen::inRange(1, 5); j > 0; --j) {
            pattern += *token;
        }
    }
    return patterns;
}

bool matches(const Patterns& patterns, const std::string& text)
{
    return std::any_of(patterns.begin(), patterns.end(),
                       [&](const std::string& pattern) { return name_matches(pattern, text); });
}

// Of these letters, and the patterns themselves.
bool any_text(const Patterns& a, const Patterns& b, const std::function<bool(const std::string&)>& is_one)
{
    return std::any_of(all_texts().begin(), all_texts().end(), is_one) || std::any_of(a.begin(), a.end(), is_one) ||
           std::any_of(b.begin(), b.end(), is_one);
}

// What is claimed is so; of what is so, some is seen.
struct Tally {
    std::size_t seen = 0;
    std::size_t missed = 0;

    void add(bool claimed, bool is_so)
    {
        RC_ASSERT(is_so || !claimed);
        if (is_so) {
            ++(claimed ? seen : missed);
        }
    }
    void expect_some(const char* what) const
    {
        std::cout << what << ": " << seen << " seen, " << missed << " not known\n";
        EXPECT_GT(seen, 0U);
    }
};

TEST(GlobInclusionProperty, IsRightAboutTexts)
{
    Tally tally;
    EXPECT_TRUE(rc::check("no text shows that a list does not include what it is said to include", [&] {
        const Patterns wide = any_patterns(3);
        const Patterns narrow = any_patterns(2);
        tally.add(includes(wide, narrow), !any_text(wide, narrow, [&](const std::string& text) {
                      return matches(narrow, text) && !matches(wide, text);
                  }));
    }));
    tally.expect_some("inclusions");
}

TEST(GlobInclusionProperty, OfTwoListsIsRightAboutTexts)
{
    Tally tally;
    EXPECT_TRUE(rc::check("no text shows that a list does not include what two others share", [&] {
        const Patterns wide = any_patterns(2);
        const Patterns narrow = any_patterns(2);
        const Patterns narrower = any_patterns(2);
        tally.add(includes(wide, narrow, narrower), !any_text(narrow, narrower, [&](const std::string& text) {
                      return matches(narrow, text) && matches(narrower, text) && !matches(wide, text);
                  }));
    }));
    tally.expect_some("inclusions of what two lists share");
}

TEST(GlobInclusionProperty, DisjointIsRightAboutTexts)
{
    Tally tally;
    EXPECT_TRUE(rc::check("no text is in two lists that are said to be disjoint", [&] {
        const Patterns a = any_patterns(2);
        const Patterns b = any_patterns(2);
        tally.add(disjoint(a, b),
                  !any_text(a, b, [&](const std::string& text) { return matches(a, text) && matches(b, text); }));
    }));
    tally.expect_some("disjoint lists");
}

TEST(GlobExampleProperty, IsMatched)
{
    EXPECT_TRUE(rc::check("an example of a pattern is matched by it", [] {
        const Patterns patterns = any_patterns(1);
        const auto text = example_of(patterns.front(), *rc::gen::element<std::string>("", "q~", "a"));
        RC_ASSERT(name_matches(patterns.front(), text) || text.empty());
    }));
}

}    // namespace
}    // namespace rdmaqos
