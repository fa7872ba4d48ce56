#include "tools/rdma-qosctl/offline/opensm_compare.h"

#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/base/text.h"

namespace rdmaqos::ctl {
namespace {

constexpr std::uint32_t kBytesOfWeight = 64;    // bytes of a weight of 1
constexpr std::uint32_t kPacketBytes = 4096;
constexpr double kSmallestDifference = 1;    // percent of the link

// "tenants", "all else"
std::string name_of(const Lane& lane)
{
    return lane.child.empty() ? "all else" : printable(lane.child);
}

std::string vl_in_words(std::uint8_t vl)
{
    return vl == smp::kNoLane ? "no VL (VL 15, its packets are dropped)" : fmt::format("VL {}", vl);
}

// SLs of a lane that are elsewhere, by where they are.
void compare_sls(const OpensmQos& wanted, const smp::PortLanes& port, std::vector<std::string>& found)
{
    for (std::size_t vl = 0; vl < wanted.lanes.size(); ++vl) {
        std::map<std::uint8_t, std::vector<std::uint8_t>> elsewhere;
        for (const std::uint8_t sl : wanted.lanes[vl].sls) {
            if (port.vl_of_sl.at(sl) != vl) {
                elsewhere[port.vl_of_sl.at(sl)].push_back(sl);
            }
        }
        for (const auto& [other, sls] : elsewhere) {
            found.push_back(fmt::format("SL {} {} in {}, and should be in VL {}, that of {}", fmt::join(sls, ", "),
                                        sls.size() == 1 ? "is" : "are", vl_in_words(other), vl,
                                        name_of(wanted.lanes[vl])));
        }
    }
}

void compare_parts(const OpensmQos& wanted, const smp::PortLanes& port, std::vector<std::string>& found)
{
    std::vector<smp::Turn> asked;
    for (std::size_t vl = 0; vl < wanted.lanes.size(); ++vl) {
        asked.push_back({static_cast<std::uint8_t>(vl), wanted.lanes[vl].weight});
    }
    std::vector<smp::Turn> of_lanes;    // others have nothing to send
    for (const smp::Turn& turn : port.low) {
        if (turn.vl < wanted.lanes.size()) {
            of_lanes.push_back(turn);
        }
    }
    const auto should = parts_of(asked, kPacketBytes);
    const auto has = parts_of(of_lanes, kPacketBytes);
    for (std::size_t vl = 0; vl < wanted.lanes.size(); ++vl) {
        const auto number = static_cast<std::uint8_t>(vl);
        const auto part = has.find(number);
        const double percent = part == has.end() ? 0 : part->second;
        if (std::abs(percent - should.at(number)) > kSmallestDifference) {
            found.push_back(fmt::format("VL {} ({}) gets {:.0f} % of the link with packets of {} bytes while all lanes "
                                        "are busy, and should get {:.0f} %",
                                        vl, name_of(wanted.lanes[vl]), percent, kPacketBytes, should.at(number)));
        }
    }
}

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

std::vector<std::string> differences(const OpensmQos& wanted, const smp::PortLanes& port)
{
    std::vector<std::string> found;
    if (port.data_vls < wanted.lanes.size()) {
        found.push_back(
            fmt::format("the port has {} for data in operation, and {} are needed: the port, its neighbour, "
                        "or `qos` and `qos_max_vls` of the subnet manager allow no more",
                        counted(port.data_vls, "VL"), wanted.lanes.size()));
    }
    compare_sls(wanted, port, found);
    if (port.data_vls == 1) {
        return found;    // nothing is divided
    }
    std::set<std::uint8_t> first;
    for (const smp::Turn& turn : port.high) {
        if (turn.vl < wanted.lanes.size()) {
            first.insert(turn.vl);
        }
    }
    for (const std::uint8_t vl : first) {
        found.push_back(fmt::format("VL {} ({}) goes before the others, by the table of high priority (limit {}), and "
                                    "nothing should",
                                    vl, name_of(wanted.lanes.at(vl)), port.high_limit));
    }
    compare_parts(wanted, port, found);
    return found;
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
