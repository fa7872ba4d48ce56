// judge(): what a change makes worse refuses it, and nothing else.
#include <gtest/gtest.h>

#include "policy/model/verdict.h"

namespace rdmaqos {
namespace {

Finding missed(const char* path, std::uint64_t mbps)
{
    return {FindingKind::MinRateMissed, true, ElementPath(path), "r", "a", "w", {Gap::Unit::Rate, mbps * 1000}};
}

Finding whole(FindingKind kind, const char* path, bool is_error = true)
{
    return {kind, is_error, ElementPath(path), "r", "a", "w"};
}

// One letter for each finding, in the order of the judgement.
std::string verdicts(std::vector<Finding> before, std::vector<Finding> after, OnUnsupported on = OnUnsupported::Error)
{
    std::string letters;
    for (const auto& one : judge({{"d", std::move(before), std::move(after)}}, on)) {
        letters += to_string(one.verdict).front();
    }
    return letters;
}

TEST(Verdict, WithoutARunningPolicyEveryErrorRefuses)
{
    EXPECT_EQ(verdicts({}, {}), "");
    EXPECT_EQ(verdicts({}, {missed("/a", 1), whole(FindingKind::ShareError, "/b", false)}), "rh");
    EXPECT_EQ(verdicts({}, {whole(FindingKind::NoLeaf, "/a")}), "r");
}

TEST(Verdict, WhatTheRunningPolicyHasIsKnownUnlessItGetsWorse)
{
    EXPECT_EQ(verdicts({missed("/a", 5)}, {missed("/a", 5)}), "k");
    EXPECT_EQ(verdicts({missed("/a", 5)}, {missed("/a", 4)}), "k");
    EXPECT_EQ(verdicts({missed("/a", 5)}, {missed("/a", 6)}), "r");
    EXPECT_EQ(verdicts({missed("/a", 5)}, {missed("/b", 5)}), "r") << "another element";
    EXPECT_EQ(verdicts({whole(FindingKind::NoLeaf, "/a")}, {whole(FindingKind::NoLeaf, "/a")}), "k");
    EXPECT_EQ(verdicts({whole(FindingKind::NoLeaf, "/a")}, {whole(FindingKind::CapLost, "/a")}), "r") << "another kind";
}

TEST(Verdict, AWarningThatBecomesAnErrorIsWorse)
{
    EXPECT_EQ(verdicts({whole(FindingKind::Folded, "/a", false)}, {whole(FindingKind::Folded, "/a")}), "r");
    EXPECT_EQ(verdicts({whole(FindingKind::Folded, "/a")}, {whole(FindingKind::Folded, "/a", false)}), "h");
}

TEST(Verdict, OnlyTheSameThingIsCompared)
{
    Finding caps = whole(FindingKind::NotSupported, "/");
    caps.gap = {Gap::Unit::Rate, 7};
    Finding shares = caps;
    shares.gap = {Gap::Unit::Elements, 3};
    EXPECT_EQ(verdicts({caps}, {shares}), "r") << "3 elements without shares are not better than 7 kbit/s";
    EXPECT_EQ(verdicts({caps, shares}, {shares, caps}), "kk");
}

// Two levels of one class, for instance, each with a limit that is not held.
TEST(Verdict, SeveralErrorsOfOneThingAreComparedOneByOne)
{
    EXPECT_EQ(verdicts({missed("/a", 5), missed("/a", 3)}, {missed("/a", 3), missed("/a", 5)}), "kk");
    EXPECT_EQ(verdicts({missed("/a", 5)}, {missed("/a", 5), missed("/a", 5)}), "rr") << "one more";
    EXPECT_EQ(verdicts({missed("/a", 5), missed("/a", 3)}, {missed("/a", 4), missed("/a", 4)}), "rr");
    EXPECT_EQ(verdicts({missed("/a", 5), missed("/a", 3)}, {missed("/a", 4), missed("/a", 1)}), "kk");
    EXPECT_EQ(verdicts({missed("/a", 5)}, {missed("/a", 1), missed("/a", 5)}), "rk") << "the smaller one is new";
}

TEST(Verdict, DegradeRefusesNothing)
{
    EXPECT_EQ(verdicts({}, {missed("/a", 1), whole(FindingKind::NoLeaf, "/a")}, OnUnsupported::Degrade), "hh");
}

TEST(Verdict, EachDeviceIsComparedWithItself)
{
    const auto judged = judge({{"a", {missed("/x", 5)}, {missed("/x", 5)}}, {"b", {}, {missed("/x", 5)}}},
                              OnUnsupported::Error);
    ASSERT_EQ(judged.size(), 2U);
    EXPECT_EQ(judged[0], (JudgedFinding{"b", missed("/x", 5), FindingVerdict::Refuses})) << "what refuses comes first";
    EXPECT_EQ(judged[1], (JudgedFinding{"a", missed("/x", 5), FindingVerdict::Known}));
    EXPECT_FALSE(is_accepted(judged));
}

}    // namespace
}    // namespace rdmaqos
