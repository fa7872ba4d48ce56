#include "tools/emulator/dcb.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>

#include <linux/dcbnl.h>
#include <linux/rtnetlink.h>

#include "lib/base/signal_process.h"
#include "lib/dcb/port_settings.h"
#include "lib/port_classes/scheduling.h"
#include "tools/emulator/device.h"

namespace rdmaqos::emulator {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::uint8_t kWholeLink = 100;         // percent
constexpr std::uint64_t kSmallStep = 100'000;    // kbit/s
constexpr std::uint64_t kLargeStep = 1'000'000;
constexpr std::uint64_t kFirstOfLargeSteps = 26'000'000;

struct DcbAttribute {
    std::uint16_t type = 0;
    Bytes value;
};

// As far as they are well-formed.
std::vector<DcbAttribute> dcb_attributes(Bytes bytes)
{
    std::vector<DcbAttribute> all;
    while (bytes.size() >= sizeof(nlattr)) {
        nlattr header{};
        std::memcpy(&header, bytes.data(), sizeof(header));
        if (header.nla_len < sizeof(header) || header.nla_len > bytes.size()) {
            break;
        }
        all.push_back({static_cast<std::uint16_t>(header.nla_type & NLA_TYPE_MASK),
                       bytes.subspan(sizeof(header), header.nla_len - sizeof(header))});
        bytes = bytes.subspan(std::min<std::size_t>(NLA_ALIGN(header.nla_len), bytes.size()));
    }
    return all;
}

Bytes value_of(const std::vector<DcbAttribute>& attributes, std::uint16_t type)
{
    const auto found = std::find_if(attributes.begin(), attributes.end(),
                                    [type](const DcbAttribute& each) { return each.type == type; });
    return found == attributes.end() ? Bytes() : found->value;
}

template <typename T>
std::optional<T> structure_of(Bytes bytes)
{
    T value{};
    if (bytes.size() < sizeof(value)) {
        return std::nullopt;
    }
    std::memcpy(&value, bytes.data(), sizeof(value));
    return value;
}

bool is_of_dscp(const dcb_app& app)
{
    return app.selector == IEEE_8021QAZ_APP_SEL_DSCP && app.protocol < kDscps && app.priority < kPortPriorities;
}

ieee_ets ets_of(const DcbPort& port)
{
    ieee_ets ets{};
    ets.ets_cap = kPortClasses;
    for (std::size_t number = 0; number < kPortClasses; ++number) {
        const bool has_weight = port.selection.at(number) == IEEE_8021QAZ_TSA_ETS;
        ets.tc_tx_bw[number] = has_weight ? port.weight.at(number) : std::uint8_t{0};
        ets.tc_tsa[number] = port.selection.at(number);
        ets.prio_tc[number] = port.class_of_priority.at(number);
    }
    return ets;
}

void put_ieee(Writer& writer, const DcbPort& port)
{
    const auto all = writer.begin_nested(DCB_ATTR_IEEE);
    const ieee_ets ets = ets_of(port);
    writer.put(DCB_ATTR_IEEE_ETS, &ets, sizeof(ets));
    ieee_maxrate rates{};
    std::ranges::copy(port.max_kbps, rates.tc_maxrate);
    writer.put(DCB_ATTR_IEEE_MAXRATE, &rates, sizeof(rates));
    const auto table = writer.begin_nested(DCB_ATTR_IEEE_APP_TABLE);
    for (std::size_t dscp = 0; dscp < kDscps; ++dscp) {
        if (port.is_in_table.at(dscp)) {
            dcb_app app{};
            app.selector = IEEE_8021QAZ_APP_SEL_DSCP;
            app.priority = port.priority_of_dscp.at(dscp);
            app.protocol = static_cast<std::uint16_t>(dscp);
            writer.put(DCB_ATTR_IEEE_APP, &app, sizeof(app));
        }
    }
    writer.end_nested(table);
    writer.end_nested(all);
    writer.put_byte(DCB_ATTR_DCBX, port.mode);
}

// The parts of a request in the kernel's order, until one is refused.
int set_ieee(DcbPort& port, Bytes content, bool deletes)
{
    const auto parts = dcb_attributes(content);
    int error = 0;
    if (const Bytes ets = value_of(parts, DCB_ATTR_IEEE_ETS); !deletes && !ets.empty()) {
        error = set_ets(port, ets);
    }
    if (const Bytes rates = value_of(parts, DCB_ATTR_IEEE_MAXRATE); error == 0 && !deletes && !rates.empty()) {
        error = set_max_rates(port, rates);
    }
    for (const auto& entry : dcb_attributes(value_of(parts, DCB_ATTR_IEEE_APP_TABLE))) {
        if (error == 0 && entry.type == DCB_ATTR_IEEE_APP) {
            error = deletes ? delete_app(port, entry.value) : set_app(port, entry.value);
        }
    }
    return error;
}

dcb::Selection selection_of(std::uint8_t tsa)
{
    switch (tsa) {
    case IEEE_8021QAZ_TSA_STRICT:
        return dcb::Selection::Strict;
    case IEEE_8021QAZ_TSA_CB_SHAPER:
        return dcb::Selection::CreditBasedShaper;
    case IEEE_8021QAZ_TSA_ETS:
        return dcb::Selection::Ets;
    default:
        return dcb::Selection::Vendor;
    }
}

// mlx5e gives the port to its firmware with mode 0, and takes it from there with the host's bit. 1: refused.
int set_mode(DcbPort& port, Bytes value)
{
    const std::uint8_t wanted = value.empty() ? std::uint8_t{0} : value.front();
    if ((wanted & DCB_CAP_DCBX_LLD_MANAGED) != 0 || (wanted != 0 && (wanted & DCB_CAP_DCBX_HOST) == 0)) {
        return 1;
    }
    port.mode = wanted == 0 ? static_cast<std::uint8_t>(port.mode & ~DCB_CAP_DCBX_HOST) : wanted;
    return 0;
}

std::shared_ptr<Device> device_of_interface(const std::vector<std::shared_ptr<Device>>& devices, Bytes name)
{
    const std::string wanted(name.begin(), std::ranges::find(name, 0));
    const auto found = std::find_if(devices.begin(), devices.end(), [&](const auto& device) {
        return device->ports().front().netdev == wanted && !device->ports().front().infiniband &&
               device->firmware().presence() == DevicePresence::Present;
    });
    return found == devices.end() || wanted.empty() ? nullptr : *found;
}

// As rtnl_lock: changes are made and told one after the other.
std::mutex& rtnl()
{
    static std::mutex one;
    return one;
}

NetlinkDatagram notice_of(const Device& device, std::uint8_t command, std::uint32_t sequence)
{
    Request no_port{};
    no_port.nlmsg_seq = sequence;
    Writer writer(RTM_SETDCB, 0, no_port);
    dcbmsg message{};
    message.cmd = command;
    writer.append(&message, sizeof(message));
    writer.put(DCB_ATTR_IFNAME, device.ports().front().netdev);
    put_ieee(writer, device.dcb_port());
    return writer.finish();
}

using DcbAttributes = std::vector<DcbAttribute>;

// What the driver says to a request: an errno, or 1 to a mode that it refuses.
int change(Device& device, std::uint8_t command, const DcbAttributes& attributes, const std::optional<DcbFault>& fault)
{
    const bool is_of_mode = command == DCB_CMD_SDCBX;
    const Bytes parts = value_of(attributes, DCB_ATTR_IEEE);
    return device.change_dcb_port([&](DcbPort& port) {
        if (fault && fault->kind == DcbFaultKind::Half && command == DCB_CMD_IEEE_SET) {
            set_half_of_ets(port, value_of(dcb_attributes(parts), DCB_ATTR_IEEE_ETS));
        }
        if (fault && (fault->kind == DcbFaultKind::Half || fault->kind == DcbFaultKind::Refuse)) {
            return is_of_mode ? 1 : fault->error;
        }
        return is_of_mode ? set_mode(port, value_of(attributes, DCB_ATTR_DCBX))
                          : set_ieee(port, parts, command == DCB_CMD_IEEE_DEL);
    });
}

NetlinkDatagram answer_to_set(const Request& request, const dcbmsg& header, const DcbAttributes& attributes,
                              Device& device, const TellDcb& tell)
{
    const bool is_of_mode = header.cmd == DCB_CMD_SDCBX;
    if (request.nlmsg_type != RTM_SETDCB) {
        return error_answer(request, EPERM);
    }
    if (!is_of_mode && value_of(attributes, DCB_ATTR_IEEE).empty()) {
        return error_answer(request, EINVAL);
    }
    const std::lock_guard lock(rtnl());
    const auto fault = device.count_dcb_write();
    const auto is = [&](DcbFaultKind kind) { return fault && fault->kind == kind; };
    if (is(DcbFaultKind::KillBefore)) {
        (void)signal_process(request.process, SIGKILL);
        return {};
    }
    const int error = change(device, header.cmd, attributes, fault);
    if (!is_of_mode) {
        tell(notice_of(device, header.cmd, request.nlmsg_seq));
    }
    if (is(DcbFaultKind::KillAfter)) {
        (void)signal_process(request.process, SIGKILL);
    }
    if (is(DcbFaultKind::KillAfter) || is(DcbFaultKind::Silent)) {
        return {};
    }
    Writer writer(RTM_SETDCB, 0, request);
    writer.append(&header, sizeof(header));
    writer.put_byte(is_of_mode ? DCB_ATTR_DCBX : DCB_ATTR_IEEE, static_cast<std::uint8_t>(is_of_mode ? error : -error));
    return writer.finish();
}

}    // namespace

DcbPort first_dcb_port()
{
    DcbPort port;
    port.selection.fill(IEEE_8021QAZ_TSA_VENDOR);
    port.weight.fill(kWholeLink);
    for (std::uint8_t priority = 0; priority < kPortPriorities; ++priority) {
        port.class_of_priority.at(priority) = priority;
    }
    std::swap(port.class_of_priority.at(0), port.class_of_priority.at(1));
    port.mode = DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_CEE | DCB_CAP_DCBX_VER_IEEE;
    return port;
}

DcbPort dcb_port_of(const PortClasses& classes)
{
    DcbPort port = first_dcb_port();
    if (classes == PortClasses()) {
        return port;
    }
    for (std::size_t number = 0; number < kPortClasses; ++number) {
        const PortClass& own = classes.classes.at(number);
        port.selection.at(number) = own.is_strict ? IEEE_8021QAZ_TSA_STRICT : IEEE_8021QAZ_TSA_ETS;
        port.weight.at(number) = own.is_strict ? kWholeLink : static_cast<std::uint8_t>(own.weight);
        port.max_kbps.at(number) = own.max_rate.value_or(Bandwidth()).kbps();
    }
    port.class_of_priority = classes.class_of_priority;
    port.priority_of_dscp = classes.priority_of_dscp;
    for (std::size_t dscp = 0; dscp < kDscps; ++dscp) {
        port.is_in_table.at(dscp) = classes.priority_of_dscp.at(dscp) != 0;
        port.trusts_dscp = port.trusts_dscp || port.is_in_table.at(dscp);
    }
    return port;
}

PortClasses classes_of(const DcbPort& port)
{
    if (port == first_dcb_port()) {
        return {};    // all alike, and so as if there were none
    }
    dcb::PortSettings settings;
    dcb::Ets& ets = settings.ets.emplace();
    for (std::size_t number = 0; number < kPortClasses; ++number) {
        const std::uint64_t max_kbps = port.max_kbps.at(number);
        ets.traffic_class.at(number) = {selection_of(port.selection.at(number)), port.weight.at(number),
                                        max_kbps == 0 ? std::nullopt : std::optional(Bandwidth::from_kbps(max_kbps))};
    }
    ets.class_of_priority = port.class_of_priority;
    settings.has_max_rates = true;
    for (std::uint16_t dscp = 0; dscp < kDscps && port.trusts_dscp; ++dscp) {
        settings.apps.push_back({dcb::Selector::Dscp, dscp, port.priority_of_dscp.at(dscp)});
    }
    return port_classes::scheduling_of(settings);
}

int set_ets(DcbPort& port, Bytes attribute)
{
    const auto ets = structure_of<ieee_ets>(attribute);
    if (!ets) {
        return ERANGE;
    }
    unsigned sum = 0;
    bool has_ets = false;
    for (std::size_t number = 0; number < kPortClasses; ++number) {
        if (ets->prio_tc[number] >= kPortClasses) {
            return EINVAL;
        }
        if (ets->tc_tsa[number] == IEEE_8021QAZ_TSA_ETS) {
            has_ets = true;
            sum += ets->tc_tx_bw[number];
        }
    }
    if (has_ets && sum != kWholeLink) {
        return EINVAL;
    }
    if (std::ranges::count(ets->tc_tsa, IEEE_8021QAZ_TSA_CB_SHAPER) > 0) {
        return EOPNOTSUPP;
    }
    std::ranges::copy(ets->prio_tc, port.class_of_priority.begin());
    for (std::size_t number = 0; number < kPortClasses; ++number) {
        port.selection.at(number) = ets->tc_tsa[number];
        port.weight.at(number) = ets->tc_tsa[number] == IEEE_8021QAZ_TSA_ETS ? ets->tc_tx_bw[number] : kWholeLink;
    }
    return 0;
}

void set_half_of_ets(DcbPort& port, Bytes attribute)
{
    if (const auto ets = structure_of<ieee_ets>(attribute)) {
        std::copy_n(std::begin(ets->prio_tc), kPortPriorities / 2, port.class_of_priority.begin());
    }
}

int set_max_rates(DcbPort& port, Bytes attribute)
{
    const auto rates = structure_of<ieee_maxrate>(attribute);
    if (!rates) {
        return ERANGE;
    }
    for (std::size_t number = 0; number < kPortClasses; ++number) {
        const std::uint64_t wanted = rates->tc_maxrate[number];
        const std::uint64_t step = wanted < kFirstOfLargeSteps ? kSmallStep : kLargeStep;
        // The driver's value has 8 bits.
        const auto value = static_cast<std::uint8_t>(wanted == 0 ? 0 : std::max<std::uint64_t>(wanted / step, 1));
        port.max_kbps.at(number) = value * step;
    }
    return 0;
}

int set_app(DcbPort& port, Bytes attribute)
{
    const auto app = structure_of<dcb_app>(attribute);
    if (!app || !is_of_dscp(*app)) {
        return EINVAL;
    }
    port.trusts_dscp = true;
    port.priority_of_dscp.at(app->protocol) = app->priority;
    port.is_in_table.at(app->protocol) = true;
    return 0;
}

int delete_app(DcbPort& port, Bytes attribute)
{
    const auto app = structure_of<dcb_app>(attribute);
    if (!app || !is_of_dscp(*app)) {
        return EINVAL;
    }
    if (!port.is_in_table.at(app->protocol) || port.priority_of_dscp.at(app->protocol) != app->priority) {
        return ENOENT;
    }
    port.is_in_table.at(app->protocol) = false;
    port.priority_of_dscp.at(app->protocol) = 0;
    port.trusts_dscp = std::ranges::count(port.is_in_table, true) > 0;
    return 0;
}

void set_by_host(Device& device, const PortClasses& classes, const TellDcb& tell)
{
    constexpr std::uint32_t kFirstRequest = 1;    // of a program that numbers its own
    const std::lock_guard lock(rtnl());
    device.set_port_classes(classes);
    tell(notice_of(device, DCB_CMD_IEEE_SET, kFirstRequest));
}

NetlinkDatagram dcb_answer(const Request& request, Bytes content, const std::vector<std::shared_ptr<Device>>& devices,
                           const TellDcb& tell)
{
    const auto header = structure_of<dcbmsg>(content);
    if (!header) {
        return error_answer(request, EINVAL);
    }
    const auto attributes = dcb_attributes(
        content.subspan(std::min<std::size_t>(NLMSG_ALIGN(sizeof(dcbmsg)), content.size())));
    const Bytes name = value_of(attributes, DCB_ATTR_IFNAME);
    const auto device = device_of_interface(devices, name);
    if (name.empty() || !device) {
        return error_answer(request, name.empty() ? EINVAL : ENODEV);
    }
    Writer writer(RTM_GETDCB, 0, request);
    writer.append(&*header, sizeof(*header));
    switch (header->cmd) {
    case DCB_CMD_IEEE_SET:
    case DCB_CMD_IEEE_DEL:
    case DCB_CMD_SDCBX:
        return answer_to_set(request, *header, attributes, *device, tell);
    case DCB_CMD_IEEE_GET:
        writer.put(DCB_ATTR_IFNAME, device->ports().front().netdev);
        put_ieee(writer, device->dcb_port());
        return writer.finish();
    case DCB_CMD_GDCBX:
        writer.put_byte(DCB_ATTR_DCBX, device->dcb_port().mode);
        return writer.finish();
    default:
        return error_answer(request, EOPNOTSUPP);
    }
}

}    // namespace rdmaqos::emulator
