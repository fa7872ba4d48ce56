#include "lib/base/histogram.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace rdmaqos {
namespace {

using namespace std::chrono_literals;

std::size_t index_of(std::chrono::microseconds bound)
{
    const auto* found = std::find(Histogram::kBounds.begin(), Histogram::kBounds.end(), bound);
    EXPECT_NE(found, Histogram::kBounds.end());
    return static_cast<std::size_t>(found - Histogram::kBounds.begin());
}

TEST(Histogram, BoundsRise)
{
    EXPECT_TRUE(std::is_sorted(Histogram::kBounds.begin(), Histogram::kBounds.end(), std::less_equal<>()));
}

TEST(Histogram, CountsInTheBucketItBelongsTo)
{
    Histogram histogram;
    histogram.observe(10us);    // the bound is included
    histogram.observe(10us + 1ns);
    histogram.observe(3ms);
    EXPECT_EQ(histogram.at_most(index_of(10us)), 1U);
    EXPECT_EQ(histogram.at_most(index_of(25us)), 2U);
    EXPECT_EQ(histogram.at_most(index_of(2500us)), 2U);
    EXPECT_EQ(histogram.at_most(index_of(5ms)), 3U);
    EXPECT_EQ(histogram.count(), 3U);
    EXPECT_DOUBLE_EQ(histogram.sum_seconds(), 0.003020001);
}

TEST(Histogram, WhatTakesLongerThanAllBoundsIsCountedToo)
{
    Histogram histogram;
    histogram.observe(1h);
    EXPECT_EQ(histogram.at_most(Histogram::kBounds.size() - 1), 0U);
    EXPECT_EQ(histogram.count(), 1U);
    EXPECT_DOUBLE_EQ(histogram.sum_seconds(), 3600.0);
}

TEST(Histogram, ANegativeTimeIsNone)
{
    Histogram histogram;
    histogram.observe(-1s);
    EXPECT_EQ(histogram.at_most(0), 1U);
    EXPECT_DOUBLE_EQ(histogram.sum_seconds(), 0.0);
}

}    // namespace
}    // namespace rdmaqos
