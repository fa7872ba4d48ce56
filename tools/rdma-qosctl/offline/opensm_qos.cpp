#include "tools/rdma-qosctl/offline/opensm_qos.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/base/text.h"
#include "lib/tree/class_requests.h"
#include "policy/model/lower.h"
#include "policy/model/port_class_requests.h"
#include "tools/rdma-qosctl/offline/targets.h"
#include "tools/rdma-qosctl/offline/vl_arbitration.h"

namespace rdmaqos::ctl {
namespace {

constexpr std::uint8_t kNumbersOfVls[] = {15, 8, 4, 2, 1};    // that a port can have for data
constexpr double kNearEnough = 3;                             // percent of the link
constexpr std::uint8_t kNoLimit = 255;                        // all that lanes of high priority have
constexpr std::uint8_t kPacketByPacket = 0;                   // one packet of theirs, and one of the others

struct Child {
    std::string name;
    std::uint32_t share = 0;
    std::set<std::uint8_t> sls;
    std::vector<std::string> without_sl;    // levels
    bool is_strict = false;
    bool has_cap = false;
    bool has_min_rate = false;    // which is no part of a link
};

// With the weights that a NIC's tree would have. Strict ones first, since what has no VL left cannot be; otherwise in
// the order of the tree.
std::vector<Child> children_of(const Policy& policy)
{
    const Compiled compiled = compile_for(policy, default_target(), Settings{});
    std::map<ElementPath, Child> children;
    for (const auto& [path, element] : compiled.tree) {
        if (path.parent().is_root()) {
            Child& child = children[path];
            child.name = path.name();
            child.share = std::max(element.attributes.share, 1U);
            child.is_strict = is_strict(policy, path);
        }
    }
    for (const SpecElement& element : to_tree_spec(policy).elements) {
        if (const auto child = children.find(element.path); child != children.end()) {
            child->second.has_cap = element.rate.max_rate || element.rate.max_part;
            child->second.has_min_rate = element.rate.min_rate.has_value();
        }
    }
    for (const QosLevel& level : policy.levels) {
        const auto child = children.find(root_child_of(class_path(policy, level)));
        if (child == children.end()) {
            continue;
        }
        if (level.sl) {
            child->second.sls.insert(*level.sl);
        } else {
            child->second.without_sl.push_back(level.name);
        }
    }
    std::vector<Child> in_order;
    for (auto& [path, child] : children) {
        in_order.push_back(std::move(child));
    }
    std::ranges::stable_partition(in_order, &Child::is_strict);
    return in_order;
}

std::vector<LaneShare> shares_of(const OpensmQos& qos, bool are_first)
{
    std::vector<LaneShare> shares;
    for (std::size_t vl = 0; vl < qos.lanes.size(); ++vl) {
        if (qos.lanes[vl].is_first == are_first) {
            shares.push_back({static_cast<std::uint8_t>(vl), qos.lanes[vl].share});
        }
    }
    return shares;
}

void find_errors(const std::vector<smp::Turn>& turns, const std::vector<double>& wanted, std::string_view whole,
                 std::string_view limit, OpensmQos& qos)
{
    for (const auto& [vl, part] : parts_of(turns, kLargestPacket)) {
        if (std::abs(part - wanted.at(vl)) > kNearEnough) {
            qos.findings.push_back(fmt::format("{} gets {:.0f} % of {}, and should get {:.0f} %: {} cannot come nearer",
                                               name_of(qos.lanes[vl]), part, whole, wanted[vl], limit));
        }
    }
}

// The low table has an entry for each lane at least, whatever was said of the ports.
void divide(OpensmQos& qos, std::size_t entries)
{
    const auto first = shares_of(qos, true);
    const auto others = shares_of(qos, false);
    qos.high = turns_for(first, first.size());
    qos.low = turns_for(others, entries);
    if (qos.low.size() > entries) {
        qos.findings.push_back(fmt::format("{} VLs need as many entries, and ports have {}: they leave out the last",
                                           qos.low.size(), entries));
    }
    const auto wanted = wanted_parts(qos);
    find_errors(qos.high, wanted, "what VLs that go first share", "a table with one entry for each", qos);
    find_errors(qos.low, wanted, first.empty() ? "a busy link" : "what VLs that go first leave",
                fmt::format("a table of {} entries", entries), qos);
}

// Of a child that gets a lane of its own.
void find_in_child(const Child& child, const Lane& lane, OpensmQos& qos)
{
    if (lane.sls.size() > 1) {
        qos.findings.push_back(
            fmt::format("{} has SLs {}: they share VL {}, and the fabric does not divide it among them",
                        printable(child.name), fmt::join(lane.sls, ", "), qos.lanes.size()));
    }
    for (const std::string& level : child.without_sl) {
        qos.findings.push_back(fmt::format("level {} of {} has no SL: its packets are not in VL {}", printable(level),
                                           printable(child.name), qos.lanes.size()));
    }
}

// What VL arbitration does with the child's rates, and with what is before others.
void find_in_rates(const Child& child, bool is_first, OpensmQos& qos)
{
    if (is_first && child.has_cap) {
        qos.findings.push_back(fmt::format(
            "{} goes first, and VL arbitration cannot cap it at its max-rate: it can take half of a busy link, since "
            "ports send one packet of the others after each of its packets",
            printable(child.name)));
    } else if (is_first) {
        qos.findings.push_back(fmt::format("{} goes first and can take the whole link: it has no max-rate, which VL "
                                           "arbitration could only follow by letting it have half",
                                           printable(child.name)));
    } else if (child.has_cap) {
        qos.findings.push_back(fmt::format(
            "{} has a max-rate, and VL arbitration cannot cap: it gets what the others leave", printable(child.name)));
    }
    if (child.is_strict && !is_first) {
        qos.findings.push_back(
            fmt::format("{} is strict, and does not go first: it has no VL of its own", printable(child.name)));
    }
    if (child.has_min_rate) {
        qos.findings.push_back(fmt::format("{} has a min-rate, and VL arbitration knows no rates: its share is that of "
                                           "a link of {}",
                                           printable(child.name), to_string(default_target().link_speed)));
    }
}

// Ports have one limit for all lanes that go first.
std::uint8_t high_limit_of(const std::vector<bool>& first_has_cap)
{
    return std::ranges::all_of(first_has_cap, std::identity{}) ? kPacketByPacket : kNoLimit;
}

std::string_view comment_on_limit(const OpensmQos& qos)
{
    if (qos.high.empty()) {
        return "# Nothing goes first: VLs share a link by the table of low priority.\n";
    }
    return qos.high_limit == kNoLimit ? "# No limit: while VLs of high priority have packets, no others go.\n"
                                      : "# After each packet of high priority, one of low priority may go.\n";
}

}    // namespace

std::string name_of(const Lane& lane)
{
    return lane.child.empty() ? "all else" : printable(lane.child);
}

std::vector<double> wanted_parts(const OpensmQos& qos)
{
    std::vector<double> parts(qos.lanes.size());
    for (const bool are_first : {true, false}) {
        double sum = 0;
        for (const LaneShare& lane : shares_of(qos, are_first)) {
            sum += lane.share;
        }
        for (const LaneShare& lane : shares_of(qos, are_first)) {
            parts.at(lane.vl) = lane.share * 100 / sum;
        }
    }
    return parts;
}

OpensmQos opensm_qos(const Policy& policy, const FabricPorts& ports)
{
    OpensmQos qos;
    qos.revision = policy.revision;
    qos.lanes.emplace_back();    // VL 0
    std::map<std::uint8_t, std::string> owner_of_sl;
    std::uint32_t smallest = 0;    // of those that do not go first
    std::vector<bool> first_has_cap;
    for (const Child& child : children_of(policy)) {
        Lane lane{child.name, child.share, {}, child.is_strict};
        for (const std::uint8_t sl : child.sls) {
            const auto [owner, is_new] = owner_of_sl.try_emplace(sl, child.name);
            if (is_new) {
                lane.sls.push_back(sl);
            } else {
                qos.findings.push_back(fmt::format("{} and {} both have SL {}: it is in the VL of {}",
                                                   printable(owner->second), printable(child.name), sl,
                                                   printable(owner->second)));
            }
        }
        const bool has_lane = !lane.sls.empty() && qos.lanes.size() < ports.data_vls;
        if (lane.sls.empty()) {
            qos.findings.push_back(
                fmt::format("{} has no SL of its own: it is in VL 0, with all else", printable(child.name)));
            qos.lanes.front().share += child.share;
        } else if (!has_lane) {
            qos.findings.push_back(fmt::format("{} is in VL 0, with all else: ports have {} for data",
                                               printable(child.name), counted(ports.data_vls, "VL")));
            qos.lanes.front().share += child.share;
        } else {
            find_in_child(child, lane, qos);
            for (const std::uint8_t sl : lane.sls) {
                qos.vl_of_sl.at(sl) = static_cast<std::uint8_t>(qos.lanes.size());
            }
            if (lane.is_first) {
                first_has_cap.push_back(child.has_cap);
            } else {
                smallest = smallest == 0 ? lane.share : std::min(smallest, lane.share);
            }
            qos.lanes.push_back(std::move(lane));
        }
        find_in_rates(child, has_lane && child.is_strict, qos);
    }
    for (std::uint8_t sl = 0; sl < qos.vl_of_sl.size(); ++sl) {
        if (qos.vl_of_sl[sl] == 0) {
            qos.lanes.front().sls.push_back(sl);
        }
    }
    if (qos.lanes.front().share == 0) {
        // The policy does not say what traffic outside it gets.
        qos.lanes.front().share = std::max(smallest / 10, 1U);
    }
    for (const std::uint8_t vls : kNumbersOfVls) {
        qos.max_vls = vls >= qos.lanes.size() ? vls : qos.max_vls;
    }
    qos.high_limit = high_limit_of(first_has_cap);
    divide(qos, ports.entries);
    return qos;
}

std::string to_conf(const OpensmQos& qos)
{
    std::string text = fmt::format("# Lines of opensm.conf, made by `rdma-qosctl export opensm` of policy {}.\n",
                                   qos.revision);
    auto parts = parts_of(qos.low, kLargestPacket);
    for (std::size_t vl = 0; vl < qos.lanes.size(); ++vl) {
        const Lane& lane = qos.lanes[vl];
        text += fmt::format("# VL {}: {}, {}, {}\n", vl, name_of(lane),
                            lane.is_first
                                ? "goes first"
                                : fmt::format("share {}, {:.0f} %", lane.share, parts[static_cast<std::uint8_t>(vl)]),
                            lane.sls.empty() ? "no SL" : fmt::format("SL {}", fmt::join(lane.sls, ", ")));
    }
    for (const std::string& finding : qos.findings) {
        text += fmt::format("# warning: {}\n", finding);
    }
    return text + fmt::format("qos TRUE\n"
                              "qos_max_vls {}\n"
                              "{}"
                              "qos_high_limit {}\n"
                              "qos_vlarb_high {}\n"
                              "qos_vlarb_low {}\n"
                              "qos_sl2vl {}\n",
                              qos.max_vls, comment_on_limit(qos), qos.high_limit,
                              qos.high.empty() ? "0:0" : in_words(qos.high), in_words(qos.low),
                              fmt::join(qos.vl_of_sl, ","));
}

}    // namespace rdmaqos::ctl
