#include "lib/dcb/messages.h"

#include <algorithm>
#include <cerrno>

#include <linux/dcbnl.h>
#include <sys/socket.h>

#include "lib/base/overloaded.h"
#include "lib/netlink/structures.h"

namespace rdmaqos::dcb {
namespace {

using netlink::Bytes;

constexpr std::size_t kNumbers = IEEE_8021QAZ_MAX_TCS;
static_assert(kNumbers == kTrafficClasses && kNumbers == kPriorities);

std::vector<std::uint8_t> request_of(std::uint8_t command, const std::string& interface)
{
    dcbmsg header{};
    header.dcb_family = AF_UNSPEC;
    header.cmd = command;
    std::vector<std::uint8_t> request = netlink::request_with(header);
    netlink::append(request, DCB_ATTR_IFNAME, interface);
    return request;
}

std::uint8_t number_of(Selection selection)
{
    switch (selection) {
    case Selection::Strict:
        return IEEE_8021QAZ_TSA_STRICT;
    case Selection::CreditBasedShaper:
        return IEEE_8021QAZ_TSA_CB_SHAPER;
    case Selection::Ets:
        return IEEE_8021QAZ_TSA_ETS;
    case Selection::Vendor:
        break;
    }
    return IEEE_8021QAZ_TSA_VENDOR;
}

Selection selection_of(std::uint8_t number)
{
    switch (number) {
    case IEEE_8021QAZ_TSA_STRICT:
        return Selection::Strict;
    case IEEE_8021QAZ_TSA_CB_SHAPER:
        return Selection::CreditBasedShaper;
    case IEEE_8021QAZ_TSA_ETS:
        return Selection::Ets;
    default:
        return Selection::Vendor;
    }
}

// What is recommended to the switch and what is received by are set alike: some drivers check their sums, too.
std::vector<std::uint8_t> attribute_of(const Ets& ets)
{
    ieee_ets kernel{};
    kernel.ets_cap = ets.classes;
    for (std::size_t i = 0; i < kNumbers; ++i) {
        const TrafficClass& one = ets.traffic_class.at(i);
        const std::uint8_t weight = one.selection == Selection::Ets ? one.weight : std::uint8_t{0};
        kernel.tc_tx_bw[i] = kernel.tc_rx_bw[i] = kernel.tc_reco_bw[i] = weight;
        kernel.tc_tsa[i] = kernel.tc_reco_tsa[i] = number_of(one.selection);
        kernel.prio_tc[i] = kernel.reco_prio_tc[i] = ets.class_of_priority.at(i);
    }
    std::vector<std::uint8_t> attribute;
    netlink::append(attribute, DCB_ATTR_IEEE_ETS, netlink::bytes_of(kernel));
    return attribute;
}

std::vector<std::uint8_t> attribute_of(const MaxRates& rates)
{
    ieee_maxrate kernel{};
    for (std::size_t i = 0; i < kNumbers; ++i) {
        kernel.tc_maxrate[i] = rates.at(i).value_or(Bandwidth()).kbps();
    }
    std::vector<std::uint8_t> attribute;
    netlink::append(attribute, DCB_ATTR_IEEE_MAXRATE, netlink::bytes_of(kernel));
    return attribute;
}

std::vector<std::uint8_t> attribute_of(const AppEntry& entry)
{
    dcb_app kernel{};
    kernel.selector = static_cast<std::uint8_t>(entry.selector);
    kernel.priority = entry.priority;
    kernel.protocol = entry.protocol;
    std::vector<std::uint8_t> table;
    netlink::append(table, DCB_ATTR_IEEE_APP, netlink::bytes_of(kernel));
    std::vector<std::uint8_t> attribute;
    netlink::append(attribute, DCB_ATTR_IEEE_APP_TABLE, Bytes(table));
    return attribute;
}

std::uint8_t bits_of(const Dcbx& dcbx)
{
    return static_cast<std::uint8_t>((dcbx.host ? DCB_CAP_DCBX_HOST : 0) |
                                     (dcbx.firmware ? DCB_CAP_DCBX_LLD_MANAGED : 0) |
                                     (dcbx.cee ? DCB_CAP_DCBX_VER_CEE : 0) | (dcbx.ieee ? DCB_CAP_DCBX_VER_IEEE : 0));
}

std::uint8_t command_of(const Write& write)
{
    return std::visit(Overloaded{[](const DeleteApp&) -> std::uint8_t { return DCB_CMD_IEEE_DEL; },
                                 [](const SetDcbx&) -> std::uint8_t { return DCB_CMD_SDCBX; },
                                 [](const auto&) -> std::uint8_t { return DCB_CMD_IEEE_SET; }},
                      write);
}

// ---- answers ----

Ets read_ets(const ieee_ets& kernel)
{
    Ets ets;
    // In the standard's field of three bits, 0 is eight.
    ets.classes = kernel.ets_cap == 0 || kernel.ets_cap > kNumbers ? std::uint8_t{kNumbers} : kernel.ets_cap;
    for (std::size_t i = 0; i < kNumbers; ++i) {
        TrafficClass& one = ets.traffic_class.at(i);
        one.selection = selection_of(kernel.tc_tsa[i]);
        // Of other classes kernels disagree what it is, and it means nothing.
        one.weight = one.selection == Selection::Ets ? kernel.tc_tx_bw[i] : std::uint8_t{0};
        // Drivers have 8 for a priority that was never set.
        ets.class_of_priority.at(i) = kernel.prio_tc[i] < kNumbers ? kernel.prio_tc[i] : std::uint8_t{0};
    }
    return ets;
}

Pfc read_pfc(const ieee_pfc& kernel)
{
    Pfc pfc;
    pfc.capacity = kernel.pfc_cap;
    for (std::size_t i = 0; i < kNumbers; ++i) {
        pfc.lossless.at(i) = (kernel.pfc_en >> i & 1U) != 0;
    }
    return pfc;
}

Buffers read_buffers(const dcbnl_buffer& kernel)
{
    Buffers buffers;
    buffers.total = kernel.total_size;
    for (std::size_t i = 0; i < kNumbers; ++i) {
        buffers.buffer_of_priority.at(i) = kernel.prio2buffer[i];
        buffers.size.at(i) = kernel.buffer_size[i];
    }
    return buffers;
}

std::vector<AppEntry> read_apps(Bytes table)
{
    std::vector<AppEntry> apps;
    for (auto next = netlink::first_of(table); next; next = netlink::first_of(next->rest)) {
        const auto kernel = netlink::first_bytes_as<dcb_app>(next->content);
        // Others, as for the priority of VLAN tags, stand in attributes of another type.
        if (next->type != DCB_ATTR_IEEE_APP || !kernel || kernel->selector < IEEE_8021QAZ_APP_SEL_ETHERTYPE ||
            kernel->selector > IEEE_8021QAZ_APP_SEL_DSCP || kernel->priority >= kPriorities) {
            continue;
        }
        apps.push_back({static_cast<Selector>(kernel->selector), kernel->protocol, kernel->priority});
    }
    std::ranges::sort(apps);
    return apps;
}

Dcbx read_dcbx(std::uint8_t bits)
{
    return {.host = (bits & DCB_CAP_DCBX_HOST) != 0,
            .firmware = (bits & DCB_CAP_DCBX_LLD_MANAGED) != 0,
            .ieee = (bits & DCB_CAP_DCBX_VER_IEEE) != 0,
            .cee = (bits & DCB_CAP_DCBX_VER_CEE) != 0};
}

AgentFeature read_feature(Bytes features, std::uint16_t type)
{
    const std::uint8_t bits = netlink::byte_in(features, type).value_or(0);
    return {.failed = (bits & DCB_FEATCFG_ERROR) != 0,
            .enabled = (bits & DCB_FEATCFG_ENABLE) != 0,
            .willing = (bits & DCB_FEATCFG_WILLING) != 0,
            .advertised = (bits & DCB_FEATCFG_ADVERTISE) != 0};
}

}    // namespace

std::vector<std::uint8_t> get_request(const std::string& interface)
{
    return request_of(DCB_CMD_IEEE_GET, interface);
}

std::vector<std::uint8_t> agent_request(const std::string& interface)
{
    std::vector<std::uint8_t> request = request_of(DCB_CMD_GFEATCFG, interface);
    std::vector<std::uint8_t> all;
    netlink::append(all, DCB_FEATCFG_ATTR_ALL, Bytes());
    netlink::append(request, DCB_ATTR_FEATCFG, Bytes(all));
    return request;
}

std::vector<std::uint8_t> write_request(const std::string& interface, const Write& write)
{
    std::vector<std::uint8_t> request = request_of(command_of(write), interface);
    const auto within_ieee = [&](const std::vector<std::uint8_t>& attribute) {
        netlink::append(request, DCB_ATTR_IEEE, Bytes(attribute));
    };
    std::visit(Overloaded{[&](const SetEts& set) { within_ieee(attribute_of(set.ets)); },
                          [&](const SetMaxRates& set) { within_ieee(attribute_of(set.rates)); },
                          [&](const SetApp& set) { within_ieee(attribute_of(set.entry)); },
                          [&](const DeleteApp& set) { within_ieee(attribute_of(set.entry)); },
                          [&](const SetDcbx& set) {
                              const std::uint8_t bits = bits_of(set.dcbx);
                              netlink::append(request, DCB_ATTR_DCBX, netlink::bytes_of(bits));
                          }},
               write);
    return request;
}

std::optional<PortSettings> read_settings(Bytes content)
{
    const auto header = netlink::header_of<dcbmsg>(content);
    if (!header ||
        (header->cmd != DCB_CMD_IEEE_GET && header->cmd != DCB_CMD_IEEE_SET && header->cmd != DCB_CMD_IEEE_DEL)) {
        return std::nullopt;
    }
    const Bytes attributes = netlink::attributes_behind<dcbmsg>(content);
    const Bytes ieee = netlink::content_of(attributes, DCB_ATTR_IEEE);
    PortSettings settings;
    if (const auto ets = netlink::structure_in<ieee_ets>(ieee, DCB_ATTR_IEEE_ETS)) {
        settings.ets = read_ets(*ets);
    }
    if (const auto rates = netlink::structure_in<ieee_maxrate>(ieee, DCB_ATTR_IEEE_MAXRATE)) {
        settings.has_max_rates = true;
        for (std::size_t i = 0; settings.ets && i < kNumbers; ++i) {
            if (rates->tc_maxrate[i] != 0) {
                settings.ets->traffic_class.at(i).max_rate = Bandwidth::from_kbps(rates->tc_maxrate[i]);
            }
        }
    }
    settings.apps = read_apps(netlink::content_of(ieee, DCB_ATTR_IEEE_APP_TABLE));
    if (const auto pfc = netlink::structure_in<ieee_pfc>(ieee, DCB_ATTR_IEEE_PFC)) {
        settings.pfc = read_pfc(*pfc);
    }
    if (const auto buffers = netlink::structure_in<dcbnl_buffer>(ieee, DCB_ATTR_DCB_BUFFER)) {
        settings.buffers = read_buffers(*buffers);
    }
    if (const auto bits = netlink::byte_in(attributes, DCB_ATTR_DCBX)) {
        settings.dcbx = read_dcbx(*bits);
    }
    return settings;
}

std::optional<AgentFeatures> read_features(Bytes content)
{
    const auto header = netlink::header_of<dcbmsg>(content);
    if (!header || header->cmd != DCB_CMD_GFEATCFG) {
        return std::nullopt;
    }
    const Bytes features = netlink::content_of(netlink::attributes_behind<dcbmsg>(content), DCB_ATTR_FEATCFG);
    return AgentFeatures{.classes = read_feature(features, DCB_FEATCFG_ATTR_PG),
                         .pfc = read_feature(features, DCB_FEATCFG_ATTR_PFC),
                         .apps = read_feature(features, DCB_FEATCFG_ATTR_APP)};
}

std::optional<int> read_write_error(Bytes content, const Write& write)
{
    const auto header = netlink::header_of<dcbmsg>(content);
    if (!header || header->cmd != command_of(write)) {
        return std::nullopt;
    }
    const Bytes attributes = netlink::attributes_behind<dcbmsg>(content);
    if (std::holds_alternative<SetDcbx>(write)) {
        const auto refused = netlink::byte_in(attributes, DCB_ATTR_DCBX);
        return refused ? std::optional(*refused == 0 ? 0 : EINVAL) : std::nullopt;
    }
    const auto byte = netlink::byte_in(attributes, DCB_ATTR_IEEE);
    if (!byte) {
        return std::nullopt;
    }
    // A positive number is none of errno: a driver found that nothing had to be changed (ice).
    const auto number = static_cast<std::int8_t>(*byte);
    return number < 0 ? -number : 0;
}

}    // namespace rdmaqos::dcb
