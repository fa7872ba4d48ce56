#include "tools/rdma-qosctl/offline/opensm_qos.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/base/text.h"
#include "lib/tree/class_requests.h"
#include "policy/model/lower.h"
#include "tools/rdma-qosctl/offline/targets.h"

namespace rdmaqos::ctl {
namespace {

constexpr std::uint8_t kNumbersOfVls[] = {15, 8, 4, 2, 1};    // that a port can have for data
constexpr std::uint32_t kUnit = 64;                           // bytes of a weight of 1
constexpr std::uint8_t kMostWeight = 255;
constexpr std::uint32_t kLargestPacket = 4096;
constexpr std::uint32_t kSmallestPacket = kUnit;

struct Child {
    std::string name;
    std::uint32_t share = 0;
    std::set<std::uint8_t> sls;
    std::vector<std::string> without_sl;    // levels
};

// In the order of the tree, with the weights that a NIC's tree would have.
std::vector<Child> children_of(const Policy& policy)
{
    const Compiled compiled = compile_for(policy, default_target(), Settings{});
    std::map<ElementPath, Child> children;
    for (const auto& [path, element] : compiled.tree) {
        if (path.parent().is_root()) {
            Child& child = children[path];
            child.name = path.name();
            child.share = std::max(element.attributes.share, 1U);
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
    return in_order;
}

std::vector<std::uint8_t> scaled(const std::vector<std::uint32_t>& shares, std::uint32_t largest)
{
    const std::uint32_t most = *std::ranges::max_element(shares);
    std::vector<std::uint8_t> weights;
    for (const std::uint32_t share : shares) {
        const auto weight = std::lround(static_cast<double>(share) * largest / most);
        weights.push_back(static_cast<std::uint8_t>(std::clamp<long>(weight, 1, kMostWeight)));
    }
    return weights;
}

double worst_error(const std::vector<std::uint8_t>& weights, const std::vector<double>& wanted)
{
    double worst = 0;
    for (const std::uint32_t bytes : {kSmallestPacket, kLargestPacket}) {
        const auto parts = parts_of(weights, bytes);
        for (std::size_t i = 0; i < parts.size(); ++i) {
            worst = std::max(worst, std::abs(parts[i] - wanted[i]));
        }
    }
    return worst;
}

std::vector<double> percent_of(const std::vector<std::uint32_t>& shares)
{
    const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
    std::vector<double> parts;
    for (const std::uint32_t share : shares) {
        parts.push_back(share * 100 / sum);
    }
    return parts;
}

// Those that come nearest to the shares, with small packets and with large ones. Of equals the largest: fewer turns.
std::vector<std::uint8_t> choose_weights(const std::vector<std::uint32_t>& shares)
{
    const auto wanted = percent_of(shares);
    std::vector<std::uint8_t> best = scaled(shares, kMostWeight);
    for (std::uint32_t largest = kMostWeight - 1; largest > 0; --largest) {
        auto weights = scaled(shares, largest);
        if (worst_error(weights, wanted) + 1e-9 < worst_error(best, wanted)) {
            best = std::move(weights);
        }
    }
    return best;
}

void weigh(OpensmQos& qos)
{
    std::vector<std::uint32_t> shares;
    for (const Lane& lane : qos.lanes) {
        shares.push_back(lane.share);
    }
    const auto weights = choose_weights(shares);
    const auto wanted = percent_of(shares);
    const auto large = parts_of(weights, kLargestPacket);
    for (std::size_t vl = 0; vl < qos.lanes.size(); ++vl) {
        Lane& lane = qos.lanes[vl];
        lane.weight = weights[vl];
        constexpr double kNearEnough = 5;    // percent of the link
        if (std::abs(large[vl] - wanted[vl]) > kNearEnough) {
            qos.findings.push_back(
                fmt::format("{} gets {:.0f} % of a link with packets of {} bytes, and should get {:.0f} "
                            "%: a turn is at least one packet, and at most {} bytes",
                            lane.child.empty() ? "all else" : printable(lane.child), large[vl], kLargestPacket,
                            wanted[vl], kMostWeight * kUnit));
        }
    }
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

}    // namespace

std::vector<double> parts_of(const std::vector<std::uint8_t>& weights, std::uint32_t packet_bytes)
{
    std::vector<std::uint32_t> bytes;
    for (const std::uint8_t weight : weights) {
        const std::uint32_t packets = (weight * kUnit + packet_bytes - 1) / packet_bytes;
        bytes.push_back(packets * packet_bytes);
    }
    return std::accumulate(bytes.begin(), bytes.end(), 0U) == 0 ? std::vector<double>(bytes.size()) : percent_of(bytes);
}

OpensmQos opensm_qos(const Policy& policy, std::uint8_t data_vls)
{
    OpensmQos qos;
    qos.revision = policy.revision;
    qos.lanes.emplace_back();    // VL 0
    std::map<std::uint8_t, std::string> owner_of_sl;
    std::uint32_t smallest = 0;
    for (const Child& child : children_of(policy)) {
        Lane lane{child.name, child.share, 0, {}};
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
        if (lane.sls.empty()) {
            qos.findings.push_back(
                fmt::format("{} has no SL of its own: it is in VL 0, with all else", printable(child.name)));
            qos.lanes.front().share += child.share;
        } else if (qos.lanes.size() >= data_vls) {
            qos.findings.push_back(fmt::format("{} is in VL 0, with all else: ports have {} for data",
                                               printable(child.name), counted(data_vls, "VL")));
            qos.lanes.front().share += child.share;
        } else {
            find_in_child(child, lane, qos);
            for (const std::uint8_t sl : lane.sls) {
                qos.vl_of_sl.at(sl) = static_cast<std::uint8_t>(qos.lanes.size());
            }
            smallest = smallest == 0 ? lane.share : std::min(smallest, lane.share);
            qos.lanes.push_back(std::move(lane));
        }
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
    weigh(qos);
    return qos;
}

std::string to_conf(const OpensmQos& qos)
{
    std::string text = fmt::format("# Lines of opensm.conf, made by `rdma-qosctl export opensm` of policy {}.\n",
                                   qos.revision);
    std::vector<std::string> weights;
    for (std::size_t vl = 0; vl < qos.lanes.size(); ++vl) {
        const Lane& lane = qos.lanes[vl];
        text += fmt::format("# VL {}: {}, share {}, {}\n", vl, lane.child.empty() ? "all else" : printable(lane.child),
                            lane.share, lane.sls.empty() ? "no SL" : fmt::format("SL {}", fmt::join(lane.sls, ", ")));
        weights.push_back(fmt::format("{}:{}", vl, lane.weight));
    }
    for (const std::string& finding : qos.findings) {
        text += fmt::format("# warning: {}\n", finding);
    }
    text += fmt::format("qos TRUE\n"
                        "qos_max_vls {}\n"
                        "# Nothing goes first: VLs share a link by the table of low priority.\n"
                        "qos_high_limit 0\n"
                        "qos_vlarb_high 0:0\n"
                        "qos_vlarb_low {}\n"
                        "qos_sl2vl {}\n",
                        qos.max_vls, fmt::join(weights, ","), fmt::join(qos.vl_of_sl, ","));
    return text;
}

}    // namespace rdmaqos::ctl
