#include "lib/shapers/shapers.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/dcbnl.h>
#include <linux/devlink.h>
#include <linux/genetlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include "lib/base/units.h"
#include "lib/netlink/connection.h"

namespace rdmaqos::shapers {
namespace {

using netlink::AnswerEnd;
using netlink::Bytes;

constexpr std::size_t kTrafficClasses = IEEE_8021QAZ_MAX_TCS;
constexpr std::uint64_t kBitsPerByte = 8;

template <typename Structure>
std::optional<Structure> first_bytes_as(Bytes content)
{
    Structure value{};
    if (content.size() < sizeof(value)) {
        return std::nullopt;
    }
    std::memcpy(&value, content.data(), sizeof(value));
    return value;
}

// What stands before the attributes; empty: there is less.
template <typename Header>
std::optional<Header> header_of(Bytes content)
{
    return content.size() < NLMSG_ALIGN(sizeof(Header)) ? std::nullopt : first_bytes_as<Header>(content);
}

template <typename Header>
Bytes attributes_behind(Bytes content)
{
    return content.subspan(NLMSG_ALIGN(sizeof(Header)));
}

template <typename Header>
std::vector<std::uint8_t> request_with(const Header& header)
{
    std::vector<std::uint8_t> request(NLMSG_ALIGN(sizeof(header)));
    std::memcpy(request.data(), &header, sizeof(header));
    return request;
}

// The first bytes of an attribute as a structure of the kernel's.
template <typename Structure>
std::optional<Structure> structure_in(Bytes attributes, std::uint16_t type)
{
    return first_bytes_as<Structure>(netlink::content_of(attributes, type));
}

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
    dcbmsg classes{};
    classes.dcb_family = AF_UNSPEC;
    classes.cmd = DCB_CMD_IEEE_GET;
    std::vector<std::uint8_t> request = request_with(classes);
    netlink::append(request, DCB_ATTR_IFNAME, netdev);
    ask(kernel, RTM_GETDCB, 0, request, [&](Bytes content) {
        const TrafficClasses read = read_traffic_classes(content);
        if (!read.shares.empty()) {
            found.push_back({fmt::format("ETS divides {}: {}", netdev, fmt::join(read.shares, ", ")),
                             fmt::format("dcb ets show dev {}", netdev)});
        }
        if (!read.max_rates.empty()) {
            found.push_back({fmt::format("DCB limits {}: {}", netdev, fmt::join(read.max_rates, ", ")),
                             fmt::format("dcb maxrate show dev {}", netdev)});
        }
    });
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

TrafficClasses read_traffic_classes(Bytes content)
{
    TrafficClasses read;
    if (!header_of<dcbmsg>(content)) {
        return read;
    }
    const Bytes ieee = netlink::content_of(attributes_behind<dcbmsg>(content), DCB_ATTR_IEEE);
    if (const auto ets = structure_in<ieee_ets>(ieee, DCB_ATTR_IEEE_ETS)) {
        for (std::size_t i = 0; i < kTrafficClasses; ++i) {
            const bool divides = ets->tc_tsa[i] == IEEE_8021QAZ_TSA_ETS && ets->tc_tx_bw[i] > 0 &&
                                 ets->tc_tx_bw[i] < 100;
            if (divides) {
                read.shares.push_back(fmt::format("traffic class {} gets {} %", i, ets->tc_tx_bw[i]));
            }
        }
    }
    if (const auto rates = structure_in<ieee_maxrate>(ieee, DCB_ATTR_IEEE_MAXRATE)) {
        for (std::size_t i = 0; i < kTrafficClasses; ++i) {
            if (rates->tc_maxrate[i] != 0) {
                read.max_rates.push_back(fmt::format("traffic class {} sends {} at most", i,
                                                     to_string(Bandwidth::from_kbps(rates->tc_maxrate[i]))));
            }
        }
    }
    return read;
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
    }
    std::vector<std::string> functions{pci_address};
    std::error_code none;
    const auto physical = std::filesystem::read_symlink(sys / "bus/pci/devices" / pci_address / "physfn", none);
    if (!none) {
        functions.push_back(physical.filename().string());
    }
    find_by_function(functions, found);
    return found;
}

}    // namespace rdmaqos::shapers
