#include "tools/rdma-qosctl/offline/opensm_compare.h"

#include <cmath>
#include <cstdint>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/base/text.h"
#include "tools/rdma-qosctl/offline/vl_arbitration.h"

namespace rdmaqos::ctl {
namespace {

constexpr double kSmallestDifference = 1;    // percent of the link

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

// A port that is nearer to the shares than what was asked for differs in nothing: its table may be longer.
void compare_parts(const OpensmQos& wanted, const smp::PortLanes& port, std::vector<std::string>& found)
{
    const bool some_are_first = !wanted.high.empty();
    std::vector<smp::Turn> of_lanes;    // others have nothing to send
    for (const smp::Turn& turn : port.low) {
        if (turn.vl < wanted.lanes.size() && !wanted.lanes[turn.vl].is_first) {
            of_lanes.push_back(turn);
        }
    }
    const auto shares = wanted_parts(wanted);
    const auto should = parts_of(wanted.low, kLargestPacket);
    auto has = parts_of(of_lanes, kLargestPacket);
    for (const auto& [vl, part] : should) {
        const double percent = has[vl];
        if (std::abs(percent - part) > kSmallestDifference &&
            std::abs(percent - shares.at(vl)) > std::abs(part - shares.at(vl))) {
            found.push_back(fmt::format("VL {} ({}) gets {:.0f} % of {} with packets of {} bytes while all lanes are "
                                        "busy, and should get {:.0f} %",
                                        vl, name_of(wanted.lanes[vl]), percent,
                                        some_are_first ? "what lanes that go first leave" : "the link", kLargestPacket,
                                        part));
        }
    }
}

// Those of high priority, and how far they may go.
void compare_first(const OpensmQos& wanted, const smp::PortLanes& port, std::vector<std::string>& found)
{
    std::set<std::uint8_t> first;
    for (const smp::Turn& turn : port.high) {
        first.insert(turn.vl);
    }
    for (std::size_t vl = 0; vl < wanted.lanes.size(); ++vl) {
        const Lane& lane = wanted.lanes[vl];
        const bool goes_first = first.contains(static_cast<std::uint8_t>(vl));
        if (goes_first && !lane.is_first) {
            found.push_back(fmt::format("VL {} ({}) goes before the others, by the table of high priority (limit {}), "
                                        "and should not",
                                        vl, name_of(lane), port.high_limit));
        } else if (lane.is_first && !goes_first) {
            found.push_back(fmt::format("VL {} ({}) should go before the others, and is not in the table of high "
                                        "priority",
                                        vl, name_of(lane)));
        } else if (goes_first && port.high_limit != wanted.high_limit) {
            found.push_back(fmt::format("VL {} ({}) goes before the others with the limit {}, and should with {}", vl,
                                        name_of(lane), port.high_limit, wanted.high_limit));
        }
    }
}

}    // namespace

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
    compare_first(wanted, port, found);
    compare_parts(wanted, port, found);
    return found;
}

}    // namespace rdmaqos::ctl
