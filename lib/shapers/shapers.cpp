#include "lib/shapers/shapers.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/devlink.h>
#include <linux/genetlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/base/units.h"
#include "lib/dcb/port.h"
#include "lib/netlink/connection.h"
#include "lib/netlink/structures.h"

namespace rdmaqos::shapers {
namespace {

using netlink::AnswerEnd;
using netlink::attributes_behind;
using netlink::Bytes;
using netlink::header_of;
using netlink::request_with;
using netlink::structure_in;

constexpr std::uint64_t kBitsPerByte = 8;

bool has(Bytes attributes, std::uint16_t type)
{
    for (auto next = netlink::first_of(attributes); next; next = netlink::first_of(next->rest)) {
        if (next->type == type) {
            return true;
        }
    }
    return false;
}

struct End {
    AnswerEnd end = AnswerEnd::More;
};

// Calls `take(content)` with every message that answers.
template <typename Take>
void ask(netlink::Connection& kernel, std::uint16_t type, std::uint16_t flags, const std::vector<std::uint8_t>& request,
         Take take)
{
    if (kernel.ask(type, flags, request) != 0) {
        return;
    }
    kernel.read([&](Bytes datagram) {
        return End{netlink::read_datagram(datagram, kernel.sequence(), [&](Bytes content) {
            take(content);
            return (flags & NLM_F_DUMP) != 0 ? AnswerEnd::More : AnswerEnd::Found;
        })};
    });
}

void find_by_interface(const std::string& netdev, std::vector<Shaper>& found)
{
    const auto interface = static_cast<int>(if_nametoindex(netdev.c_str()));
    netlink::Connection kernel;
    if (interface == 0 || kernel.open(NETLINK_ROUTE) != 0) {
        return;
    }
    tcmsg qdiscs{};
    qdiscs.tcm_family = AF_UNSPEC;
    qdiscs.tcm_ifindex = interface;
    ask(kernel, RTM_GETQDISC, NLM_F_DUMP, request_with(qdiscs), [&](Bytes content) {
        if (const auto kind = read_offloaded_qdisc(content, interface); !kind.empty()) {
            found.push_back({fmt::format("the queueing discipline {} of {} is offloaded to the NIC", kind, netdev),
                             fmt::format("tc qdisc show dev {}", netdev)});
        }
    });
}

void find_by_traffic_classes(const std::string& netdev, std::vector<Shaper>& found)
{
    dcb::KernelTransport kernel;
    const auto settings = dcb::read_port(kernel, netdev);
    if (!settings) {
        return;    // no such interface, or one without traffic classes
    }
    const TrafficClasses classes = traffic_classes_in_words(*settings);
    if (!classes.shares.empty()) {
        found.push_back({fmt::format("ETS divides {}: {}", netdev, fmt::join(classes.shares, ", ")),
                         fmt::format("dcb ets show dev {}", netdev), true});
    }
    if (!classes.max_rates.empty()) {
        found.push_back({fmt::format("DCB limits {}: {}", netdev, fmt::join(classes.max_rates, ", ")),
                         fmt::format("dcb maxrate show dev {}", netdev), true});
    }
}

void find_by_function(const std::vector<std::string>& pci_addresses, std::vector<Shaper>& found)
{
    netlink::Connection kernel;
    if (kernel.open(NETLINK_GENERIC) != 0) {
        return;
    }
    std::optional<std::uint16_t> devlink;
    std::vector<std::uint8_t> request = request_with(genlmsghdr{CTRL_CMD_GETFAMILY, 1, 0});
    netlink::append(request, CTRL_ATTR_FAMILY_NAME, std::string(DEVLINK_GENL_NAME));
    ask(kernel, GENL_ID_CTRL, 0, request, [&](Bytes content) { devlink = read_family(content); });
    if (!devlink) {
        return;
    }
    ask(kernel, *devlink, NLM_F_DUMP, request_with(genlmsghdr{DEVLINK_CMD_RATE_GET, DEVLINK_GENL_VERSION, 0}),
        [&](Bytes content) {
            if (auto rate = read_function_rate(content, pci_addresses); !rate.empty()) {
                found.push_back({"devlink: " + std::move(rate), "devlink port function rate show"});
            }
        });
}

}    // namespace

std::optional<Shaper> find_limited_queues(const std::string& netdev, const std::filesystem::path& sys)
{
    const auto queues = sys / "class/net" / netdev / "queues";
    std::map<std::uint64_t, unsigned> queues_of_rate;    // in Mbit/s, as the kernel counts here
    std::error_code none;
    for (const auto& queue : std::filesystem::directory_iterator(queues, none)) {
        const auto text = read_kernel_file(queue.path() / "tx_maxrate");
        const auto lines = text ? lines_of(*text) : std::vector<std::string_view>();
        const auto mbps = lines.empty() ? std::nullopt : parse_number(lines.front());
        if (mbps && *mbps != 0) {
            ++queues_of_rate[*mbps];
        }
    }
    std::vector<std::string> limits;
    for (const auto& [mbps, count] : queues_of_rate) {
        limits.push_back(fmt::format("{} {} {} at most", count, count == 1 ? "queue sends" : "queues send",
                                     to_string(Bandwidth::from_mbps(mbps))));
    }
    if (limits.empty()) {
        return std::nullopt;
    }
    return Shaper{fmt::format("tx_maxrate limits send queues of {}: {}", netdev, fmt::join(limits, ", ")),
                  fmt::format("grep . /sys/class/net/{}/queues/tx-*/tx_maxrate", netdev)};
}

std::string read_offloaded_qdisc(Bytes content, int interface)
{
    const auto header = header_of<tcmsg>(content);
    if (!header || header->tcm_ifindex != interface) {
        return {};
    }
    const Bytes attributes = attributes_behind<tcmsg>(content);
    const std::string kind = netlink::text_in(attributes, TCA_KIND);
    bool offloaded = netlink::byte_in(attributes, TCA_HW_OFFLOAD).value_or(0) != 0;
    // These two say it in a way of their own.
    if (kind == "htb") {
        offloaded = offloaded || has(netlink::content_of(attributes, TCA_OPTIONS), TCA_HTB_OFFLOAD);
    } else if (kind == "mqprio") {
        const auto values = structure_in<tc_mqprio_qopt>(attributes, TCA_OPTIONS);
        offloaded = offloaded || (values && values->hw != 0);
    }
    return offloaded ? kind : std::string();
}

TrafficClasses traffic_classes_in_words(const dcb::PortSettings& settings)
{
    constexpr std::uint8_t kWhole = 100;
    TrafficClasses words;
    for (std::size_t i = 0; settings.ets && i < dcb::kTrafficClasses; ++i) {
        const dcb::TrafficClass& one = settings.ets->traffic_class.at(i);
        if (one.selection == dcb::Selection::Ets && one.weight > 0 && one.weight < kWhole) {
            words.shares.push_back(fmt::format("traffic class {} gets {} %", i, one.weight));
        }
        if (one.max_rate) {
            words.max_rates.push_back(fmt::format("traffic class {} sends {} at most", i, to_string(*one.max_rate)));
        }
    }
    return words;
}

std::optional<std::uint16_t> read_family(Bytes content)
{
    if (!header_of<genlmsghdr>(content)) {
        return std::nullopt;
    }
    return netlink::short_number_in(attributes_behind<genlmsghdr>(content), CTRL_ATTR_FAMILY_ID);
}

std::string read_function_rate(Bytes content, const std::vector<std::string>& pci_addresses)
{
    if (!header_of<genlmsghdr>(content)) {
        return {};
    }
    const Bytes attributes = attributes_behind<genlmsghdr>(content);
    const std::string device = netlink::text_in(attributes, DEVLINK_ATTR_DEV_NAME);
    if (netlink::text_in(attributes, DEVLINK_ATTR_BUS_NAME) != "pci" ||
        std::ranges::find(pci_addresses, device) == pci_addresses.end()) {
        return {};
    }
    std::string name = netlink::text_in(attributes, DEVLINK_ATTR_RATE_NODE_NAME);
    if (name.empty()) {
        name = fmt::format("{}", netlink::number_in(attributes, DEVLINK_ATTR_PORT_INDEX).value_or(0));
    }
    std::vector<std::string> limits;
    for (const auto& [type, bound] :
         {std::pair(DEVLINK_ATTR_RATE_TX_SHARE, "at least"), {DEVLINK_ATTR_RATE_TX_MAX, "at most"}}) {
        if (const auto bytes_per_second = netlink::wide_number_in(attributes, type).value_or(0);
            bytes_per_second != 0) {
            limits.push_back(
                fmt::format("{} {}", to_string(Bandwidth::from_kbps(bytes_per_second / 1000 * kBitsPerByte)), bound));
        }
    }
    return limits.empty() ? std::string() : fmt::format("pci/{}/{} sends {}", device, name, fmt::join(limits, ", "));
}

std::vector<Shaper> find_shapers(const std::string& netdev, const std::string& pci_address,
                                 const std::filesystem::path& sys)
{
    std::vector<Shaper> found;
    if (!netdev.empty()) {
        find_by_interface(netdev, found);
        find_by_traffic_classes(netdev, found);
    }
    std::vector<std::string> functions{pci_address};
    std::error_code none;
    const auto physical = std::filesystem::read_symlink(sys / "bus/pci/devices" / pci_address / "physfn", none);
    if (!none) {
        functions.push_back(physical.filename().string());
    }
    find_by_function(functions, found);
    if (auto queues = netdev.empty() ? std::nullopt : find_limited_queues(netdev, sys)) {
        found.push_back(*std::move(queues));
    }
    return found;
}

}    // namespace rdmaqos::shapers
