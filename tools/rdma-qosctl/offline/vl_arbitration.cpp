#include "tools/rdma-qosctl/offline/vl_arbitration.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace rdmaqos::ctl {
namespace {

constexpr std::uint32_t kBytesOfWeight = 64;    // bytes of a weight of 1
constexpr std::uint32_t kWeightOfUnit = 64;     // a packet of 4 KiB
constexpr std::uint32_t kMostWeight = 255;
constexpr std::uint32_t kUnitsOfEntry = 4;    // the last one lacks 64 bytes, and is a packet nevertheless
constexpr double kNoBetter = 1e-9;

// Packets of 4 KiB that each lane sends in one pass through the table.
using Units = std::vector<std::uint32_t>;

std::uint32_t entries_for(std::uint32_t units)
{
    return (units + kUnitsOfEntry - 1) / kUnitsOfEntry;
}

class Search {
public:
    Search(const std::vector<LaneShare>& lanes, std::size_t entries) : entries_(std::max(entries, lanes.size()))
    {
        double sum = 0;
        for (const LaneShare& lane : lanes) {
            sum += lane.share;
        }
        for (const LaneShare& lane : lanes) {
            wanted_.push_back(lane.share / sum);
        }
        best_ = Units(lanes.size(), 1);
        error_ = error_of(best_);
    }

    // Of equals the one with the fewest packets, whose pass is the shortest.
    Units run()
    {
        constexpr double kStep = 0.25;
        for (auto sum = static_cast<double>(best_.size()); sum <= static_cast<double>(entries_ * kUnitsOfEntry);
             sum += kStep) {
            Units units;
            for (const double part : wanted_) {
                units.push_back(std::max(1U, static_cast<std::uint32_t>(std::lround(part * sum))));
            }
            take_if_better(units);
        }
        while (one_step()) {
        }
        return best_;
    }

private:
    // Rounding leaves lanes that one packet more or less brings nearer.
    bool one_step()
    {
        const Units from = best_;
        for (std::size_t lane = 0; lane < from.size(); ++lane) {
            Units units = from;
            ++units[lane];
            take_if_better(units);
            if (from[lane] > 1) {
                units[lane] = from[lane] - 1;
                take_if_better(units);
            }
        }
        return best_ != from;
    }

    [[nodiscard]] double error_of(const Units& units) const
    {
        const double sum = std::accumulate(units.begin(), units.end(), 0.0);
        double worst = 0;
        for (std::size_t lane = 0; lane < units.size(); ++lane) {
            worst = std::max(worst, std::abs(units[lane] / sum - wanted_[lane]));
        }
        return worst;
    }

    void take_if_better(const Units& units)
    {
        std::size_t needed = 0;
        for (const std::uint32_t each : units) {
            needed += entries_for(each);
        }
        const double error = error_of(units);
        if (needed <= entries_ && error + kNoBetter < error_) {
            best_ = units;
            error_ = error;
        }
    }

    std::size_t entries_;
    std::vector<double> wanted_;
    Units best_;
    double error_ = 0;
};

}    // namespace

std::map<std::uint8_t, double> parts_of(const std::vector<smp::Turn>& turns, std::uint32_t packet_bytes)
{
    std::map<std::uint8_t, double> bytes;
    double all = 0;
    for (const smp::Turn& turn : turns) {
        const std::uint32_t packets = (turn.weight * kBytesOfWeight + packet_bytes - 1) / packet_bytes;
        bytes[turn.vl] += packets * packet_bytes;
        all += packets * packet_bytes;
    }
    for (auto& [vl, part] : bytes) {
        part = all == 0 ? 0 : part * 100 / all;
    }
    return bytes;
}

std::vector<smp::Turn> turns_for(const std::vector<LaneShare>& lanes, std::size_t entries)
{
    if (lanes.empty()) {
        return {};
    }
    const Units units = Search(lanes, entries).run();
    std::vector<smp::Turn> turns;
    for (std::uint32_t round = 0;; ++round) {
        const std::size_t before = turns.size();
        for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
            const std::uint32_t its = entries_for(units[lane]);
            if (round < its) {
                // As even as can be.
                const std::uint32_t packets = units[lane] / its + (round < units[lane] % its ? 1 : 0);
                turns.push_back(
                    {lanes[lane].vl, static_cast<std::uint8_t>(std::min(packets * kWeightOfUnit, kMostWeight))});
            }
        }
        if (turns.size() == before) {
            return turns;
        }
    }
}

std::string in_words(const std::vector<smp::Turn>& turns)
{
    std::vector<std::string> words;
    for (const smp::Turn& turn : turns) {
        words.push_back(fmt::format("{}:{}", turn.vl, turn.weight));
    }
    return words.empty() ? "none" : fmt::format("{}", fmt::join(words, ","));
}

}    // namespace rdmaqos::ctl
