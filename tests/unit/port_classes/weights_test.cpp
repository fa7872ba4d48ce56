#include "lib/port_classes/weights.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rdmaqos::port_classes {
namespace {

using testing::ElementsAre;

TEST(PortClassesWeights, Table)
{
    EXPECT_THAT(choose_percents(std::vector<WeightWish>{{0.05}, {0.665}, {0.285}}, 100), ElementsAre(5, 67, 28));
    EXPECT_THAT(choose_percents(std::vector<WeightWish>{{1.0}}, 100), ElementsAre(100));
    EXPECT_THAT(choose_percents(std::vector<WeightWish>{{0.996}, {0.004}}, 100), ElementsAre(99, 1));
    // Who has nothing wanted has 1 nevertheless.
    EXPECT_THAT(choose_percents(std::vector<WeightWish>{{1.0}, {0.0}}, 100), ElementsAre(99, 1));
    // A guarantee is met rather than the parts: 28 would be nearer.
    EXPECT_THAT(choose_percents(std::vector<WeightWish>{{0.05}, {0.666}, {0.284, 0.284}}, 100), ElementsAre(5, 66, 29));
    EXPECT_TRUE(choose_percents({}, 100).empty());
}

TEST(PortClassesWeights, WhoIsCappedGetsItsCap)
{
    const std::vector<WeightWish> wishes{{0.05}, {0.143, 0, 0.143}, {0.807}};
    const auto reached = reached_with(wishes, choose_percents(wishes, 100));
    EXPECT_DOUBLE_EQ(reached[1], 0.143);
}

// Of weights that are as good, those that look like what is wanted: 1, 6, 83 and 10 give the same while all are busy.
TEST(PortClassesWeights, ACapIsNoReasonForWeightsThatAreFarFromWhatIsWanted)
{
    const std::vector<WeightWish> wishes{{0.05}, {0.30, 0.30}, {0.1, 0, 0.1}, {0.55}};
    const auto chosen = choose_percents(wishes, 100);
    for (std::size_t i = 0; i < wishes.size(); ++i) {
        EXPECT_NEAR(chosen[i], 100 * wishes[i].wanted, 5) << testing::PrintToString(chosen);
    }
    EXPECT_GE(reached_with(wishes, chosen)[1], 0.30);
}

// Against every distribution that there is, of three classes with a small whole, but for a hundredth that nobody would
// miss.
TEST(PortClassesWeights, NothingIsNearer)
{
    std::mt19937 numbers(7);
    std::uniform_real_distribution<double> parts(0.01, 1);
    for (int round = 0; round < 200; ++round) {
        std::vector<WeightWish> wishes(3);
        double sum = 0;
        for (auto& wish : wishes) {
            wish.wanted = parts(numbers);
            sum += wish.wanted;
        }
        for (auto& wish : wishes) {
            wish.wanted /= sum;
        }
        if (round % 3 == 0) {
            wishes[1].most = wishes[1].wanted;
        }
        const auto deviation = [&](const std::vector<std::uint8_t>& percents) {
            const auto reached = reached_with(wishes, percents);
            double off = 0;
            for (std::size_t i = 0; i < wishes.size(); ++i) {
                off += std::abs(reached[i] - wishes[i].wanted);
            }
            return off;
        };
        constexpr std::uint8_t kWhole = 40;
        double least = 10;
        for (std::uint8_t a = 1; a < kWhole - 1; ++a) {
            for (std::uint8_t b = 1; a + b < kWhole; ++b) {
                least = std::min(least, deviation({a, b, static_cast<std::uint8_t>(kWhole - a - b)}));
            }
        }
        const auto chosen = choose_percents(wishes, kWhole);
        EXPECT_EQ(std::accumulate(chosen.begin(), chosen.end(), 0), kWhole);
        EXPECT_NEAR(deviation(chosen), least, round % 3 == 0 ? 0.01 : 1e-6) << "round " << round;
    }
}

}    // namespace
}    // namespace rdmaqos::port_classes
