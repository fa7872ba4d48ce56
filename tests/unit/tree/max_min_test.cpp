#include "lib/tree/max_min.h"

#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace rdmaqos::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr double kAll = std::numeric_limits<double>::infinity();

std::vector<double> divide(double whole, const std::vector<Claim>& claims)
{
    return divide_max_min(whole, claims);
}

TEST(MaxMin, Examples)
{
    EXPECT_THAT(divide(10, {}), IsEmpty());
    EXPECT_THAT(divide(10, {{kAll, 7}, {kAll, 3}}), ElementsAre(7, 3));
    EXPECT_THAT(divide(10, {{kAll, 7}, {2, 3}}), ElementsAre(8, 2));
    EXPECT_THAT(divide(10, {{2, 7}, {kAll, 3}}), ElementsAre(2, 8));
    EXPECT_THAT(divide(10, {{2, 1}, {3, 1}}), ElementsAre(2, 3));    // 5 are left over
    EXPECT_THAT(divide(12, {{1, 1}, {4, 1}, {kAll, 2}}), ElementsAre(1, 11 / 3.0, 22 / 3.0));
    EXPECT_THAT(divide(0, {{kAll, 1}, {1, 1}, {0, 1}}), ElementsAre(0, 0, 0));
}

// The parts are not made of what earlier, rounded parts leave: the last would be 0.9999999999999999.
TEST(MaxMin, WholeNumbersStayWhole)
{
    std::vector<Claim> claims(6);
    claims.push_back({kAll, 6});
    EXPECT_EQ(divide(2, claims).back(), 1);
}

TEST(MaxMin, NobodyCouldGetMoreWithoutOneWhoHasLessForItsWeight)
{
    EXPECT_TRUE(rc::check("max-min",
                          [](const std::vector<std::pair<std::uint16_t, std::uint8_t>>& numbers, std::uint16_t whole) {
                              std::vector<Claim> claims;
                              for (const auto& [wanted, weight] : numbers) {
                                  claims.push_back({wanted % 5 == 0 ? kAll : wanted, weight + 1U});
                              }
                              const auto parts = divide_max_min(whole, claims);
                              const double sum = std::accumulate(parts.begin(), parts.end(), 0.0);
                              RC_ASSERT(sum <= whole + 1e-6);
                              double level = 0;    // of those that want more
                              for (std::size_t i = 0; i < claims.size(); ++i) {
                                  RC_ASSERT(parts[i] >= 0 && parts[i] <= claims[i].wanted);
                                  if (parts[i] < claims[i].wanted) {
                                      level = parts[i] / static_cast<double>(claims[i].weight);
                                      RC_ASSERT(sum >= whole - 1e-6);    // nothing lies idle
                                  }
                              }
                              for (std::size_t i = 0; i < claims.size(); ++i) {
                                  const double own = parts[i] / static_cast<double>(claims[i].weight);
                                  if (parts[i] < claims[i].wanted) {
                                      RC_ASSERT(own > level - 1e-6 && own < level + 1e-6);
                                  } else if (level > 0) {
                                      RC_ASSERT(own < level + 1e-6);
                                  }
                              }
                          }));
}

}    // namespace
}    // namespace rdmaqos::test
