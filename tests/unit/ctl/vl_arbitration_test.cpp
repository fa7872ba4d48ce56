#include "tools/rdma-qosctl/offline/vl_arbitration.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rdmaqos::ctl {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using Turns = std::vector<smp::Turn>;

TEST(VlArbitration, PartsAreOfWholePackets)
{
    EXPECT_THAT(parts_of({{0, 64}, {1, 192}}, 4096), ElementsAre(Pair(0, 25), Pair(1, 75)));
    EXPECT_THAT(parts_of({{0, 1}, {1, 3}}, 64), ElementsAre(Pair(0, 25), Pair(1, 75)));
    EXPECT_THAT(parts_of({{0, 1}, {1, 3}}, 4096), ElementsAre(Pair(0, 50), Pair(1, 50))) << "a packet each";
    EXPECT_THAT(parts_of({{1, 64}, {0, 64}, {1, 128}}, 4096), ElementsAre(Pair(0, 25), Pair(1, 75))) << "two entries";
    EXPECT_THAT(parts_of({{0, 0}, {1, 0}}, 64), ElementsAre(Pair(0, 0), Pair(1, 0)));
}

TEST(VlArbitration, ALaneMayHaveSeveralTurns)
{
    EXPECT_THAT(turns_for({}, 8), IsEmpty());
    EXPECT_THAT(turns_for({{3, 7}}, 8), ElementsAre(smp::Turn{3, 64}));
    EXPECT_THAT(turns_for({{0, 1}, {1, 1}}, 8), ElementsAre(smp::Turn{0, 64}, smp::Turn{1, 64})) << "as few as suffice";
    EXPECT_THAT(turns_for({{0, 1}, {1, 6}}, 8), ElementsAre(smp::Turn{0, 64}, smp::Turn{1, 192}, smp::Turn{1, 192}));
    EXPECT_EQ(turns_for({{0, 1}, {1, 90}, {2, 1}}, 2).size(), 3U) << "one for each lane";
}

// The error of the lane that is furthest off, in percent of the link.
double worst_error(const Turns& turns, const std::vector<LaneShare>& lanes)
{
    auto parts = parts_of(turns, 4096);
    double sum = 0;
    for (const LaneShare& lane : lanes) {
        sum += lane.share;
    }
    double worst = 0;
    for (const LaneShare& lane : lanes) {
        worst = std::max(worst, std::abs(parts[lane.vl] - lane.share * 100 / sum));
    }
    return worst;
}

// By trying all tables of full and partial turns.
class BruteForce {
public:
    BruteForce(const std::vector<LaneShare>& lanes, std::size_t entries) : lanes_(lanes) { try_from(0, entries); }
    double best = 100;

private:
    void try_from(std::size_t lane, std::size_t entries)
    {
        if (lane == lanes_.size()) {
            best = std::min(best, worst_error(turns_, lanes_));
            return;
        }
        const std::size_t for_others = lanes_.size() - lane - 1;
        for (std::size_t packets = 1; packets <= 4 * (entries - for_others); ++packets) {
            const std::size_t before = turns_.size();
            for (std::size_t left = packets; left > 0; left -= std::min<std::size_t>(left, 4)) {
                turns_.push_back({lanes_[lane].vl, static_cast<std::uint8_t>(left < 4 ? left * 64 : 255)});
            }
            try_from(lane + 1, entries - (packets + 3) / 4);
            turns_.resize(before);
        }
    }

    const std::vector<LaneShare>& lanes_;
    Turns turns_;
};

TEST(VlArbitration, NoTableOfSoManyEntriesComesNearer)
{
    std::mt19937 random(1);
    const auto number = [&random](std::uint32_t from, std::uint32_t to) {
        return from + static_cast<std::uint32_t>(random() % (to - from + 1));
    };
    int near = 0;
    int far = 0;
    for (int turn = 0; turn < 100; ++turn) {
        std::vector<LaneShare> lanes;
        const std::uint32_t count = number(2, 3);
        for (std::uint32_t vl = 0; vl < count; ++vl) {
            lanes.push_back({static_cast<std::uint8_t>(vl), number(1, number(0, 1) == 0 ? 10 : 100)});
        }
        const std::uint32_t entries = number(count, 6);
        const Turns turns = turns_for(lanes, entries);
        ASSERT_LE(turns.size(), entries);
        const double error = worst_error(turns, lanes);
        const BruteForce all(lanes, entries);
        ASSERT_LE(error, all.best + 0.5) << "turn " << turn;    // a weight of 255 is a packet, and nearly four
        ++(error <= 3 ? near : far);
        // A port with a shorter table cuts it off.
        std::set<std::uint8_t> first_round;
        for (std::uint32_t entry = 0; entry < count; ++entry) {
            first_round.insert(turns[entry].vl);
        }
        ASSERT_EQ(first_round.size(), count);
    }
    EXPECT_GT(near, 20);
    EXPECT_GT(far, 10);
}

TEST(VlArbitration, InWords)
{
    EXPECT_EQ(in_words(Turns{{1, 70}, {2, 30}}), "1:70,2:30");
    EXPECT_EQ(in_words(Turns{}), "none");
}

}    // namespace
}    // namespace rdmaqos::ctl
