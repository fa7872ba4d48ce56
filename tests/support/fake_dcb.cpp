#include "tests/support/fake_dcb.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <numeric>
#include <stdexcept>

#include <linux/dcbnl.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "lib/dcb/messages.h"
#include "tests/support/netlink_bytes.h"

namespace rdmaqos::test {
namespace {

using dcb::Access;
using dcb::Disruption;
using dcb::Selection;
using Message = std::vector<std::uint8_t>;

constexpr std::size_t kNumbers = 8;
constexpr int kEnotsupp = 524;    // of the kernel alone
constexpr std::uint32_t kFirstSequence = 1000;

netlink::Bytes nest(std::uint16_t type, const Message& content)
{
    return netlink::attribute(type, content);
}

template <typename Structure>
bool copy(rdmaqos::netlink::Bytes from, Structure& to)
{
    if (from.size() < sizeof(to)) {
        return false;
    }
    std::memcpy(&to, from.data(), sizeof(to));
    return true;
}

std::uint8_t bits_of(const dcb::Dcbx& dcbx)
{
    unsigned bits = dcbx.host ? DCB_CAP_DCBX_HOST : 0U;
    bits |= dcbx.firmware ? DCB_CAP_DCBX_LLD_MANAGED : 0U;
    bits |= dcbx.cee ? DCB_CAP_DCBX_VER_CEE : 0U;
    bits |= dcbx.ieee ? DCB_CAP_DCBX_VER_IEEE : 0U;
    return static_cast<std::uint8_t>(bits);
}

std::uint8_t tsa_of(Selection selection)
{
    constexpr std::array<std::uint8_t, 4> kTsa{0, 1, 2, 255};
    return kTsa.at(static_cast<std::size_t>(selection));
}

// What a driver has at first.
dcb::PortSettings beginning(const dcb::Driver& driver, std::uint8_t classes)
{
    dcb::PortSettings settings;
    if (driver.ets != Access::None) {
        settings.ets.emplace();
        settings.ets->classes = classes;
        const bool vendor = driver.starts_swapped;
        for (std::size_t i = 0; i < kNumbers; ++i) {
            settings.ets->traffic_class.at(i).selection = vendor && i < classes ? Selection::Vendor : Selection::Strict;
            settings.ets->class_of_priority.at(i) = vendor && i < classes ? static_cast<std::uint8_t>(i)
                                                                          : std::uint8_t{0};
        }
        if (driver.starts_swapped && classes > 1) {
            std::swap(settings.ets->class_of_priority[0], settings.ets->class_of_priority[1]);
        }
    }
    settings.has_max_rates = driver.max_rates != Access::None;
    settings.pfc = dcb::Pfc{.capacity = 8, .lossless = {}};
    settings.dcbx = dcb::kHostDcbx;
    settings.dcbx->cee = driver.host_dcbx == dcb::HostDcbx::Advised;
    if (driver.host_dcbx == dcb::HostDcbx::Operational) {
        settings.dcbx = dcb::Dcbx{.host = false, .firmware = true, .ieee = true, .cee = true};
    }
    return settings;
}

bool is_of_kernel(const std::vector<dcb::AppEntry>& apps, const dcb::AppEntry& entry)
{
    return std::ranges::find(apps, entry) != apps.end();
}

void add(std::vector<dcb::AppEntry>& apps, const dcb::AppEntry& entry)
{
    if (!is_of_kernel(apps, entry)) {
        apps.push_back(entry);
        std::ranges::sort(apps);
    }
}

// Other priorities of the same number.
void drop_others(std::vector<dcb::AppEntry>& apps, const dcb::AppEntry& entry)
{
    std::erase_if(apps, [&](const dcb::AppEntry& one) {
        return one.selector == entry.selector && one.protocol == entry.protocol && one.priority != entry.priority;
    });
}

bool overflowed = false;

ssize_t receive(int fd, void* buffer, std::size_t size, int flags)
{
    if (std::exchange(overflowed, false)) {
        errno = ENOBUFS;
        return -1;
    }
    return recv(fd, buffer, size, flags);
}

}    // namespace

const dcb::Driver& driver_row(std::string_view name)
{
    const dcb::Driver* found = dcb::find_driver(name);
    if (found == nullptr) {
        throw std::invalid_argument("no row of " + std::string(name));
    }
    return *found;
}

FakeDcb::FakeDcb(const dcb::Driver& driver, std::string interface, std::uint8_t classes)
    : driver_(driver), interface_(std::move(interface)), classes_(driver.classes.value_or(classes)),
      settings_(beginning(driver, classes_))
{
}

void FakeDcb::have(const dcb::PortSettings& settings)
{
    settings_ = settings;
    std::ranges::sort(settings_.apps);
    nic_apps_ = settings_.apps;
    std::erase_if(nic_apps_, [&](const dcb::AppEntry& one) { return !driver_.takes(one.selector); });
}

void FakeDcb::have_agent(bool on)
{
    settings_.dcbx->firmware = on;
    settings_.dcbx->host = !on;
}

void FakeDcb::reset()
{
    settings_ = beginning(driver_, classes_);
    nic_apps_.clear();
}

bool FakeDcb::has_sent(std::uint32_t sequence) const
{
    return sequence > kFirstSequence && sequence <= sequence_;
}

bool FakeDcb::has_dscp() const
{
    return std::ranges::any_of(nic_apps_, [](const auto& one) { return one.selector == dcb::Selector::Dscp; });
}

void FakeDcb::disturb(Disruption disruption)
{
    if (disruption != Disruption::None) {
        disruptions_.push_back(disruption);
    }
}

// ---- messages ----

Message FakeDcb::fill(std::uint8_t command) const
{
    dcbmsg header{};
    header.cmd = command;
    Message ieee;
    if (settings_.ets) {
        ieee_ets ets{};
        ets.ets_cap = settings_.ets->classes;
        for (std::size_t i = 0; i < kNumbers; ++i) {
            const auto& one = settings_.ets->traffic_class.at(i);
            ets.tc_tsa[i] = tsa_of(one.selection);
            ets.tc_tx_bw[i] = one.selection == Selection::Ets ? one.weight : std::uint8_t{0};
            if (old_kernel_ && one.selection != Selection::Ets && i < classes_) {
                ets.tc_tx_bw[i] = 100;
            }
            // mlx5 does not answer for priorities beyond the number of classes.
            if (driver_.name != "mlx5_core" || i < classes_) {
                ets.prio_tc[i] = settings_.ets->class_of_priority.at(i);
            }
        }
        ieee = netlink::operator+(ieee, nest(DCB_ATTR_IEEE_ETS, netlink::bytes_of(ets)));
    }
    if (settings_.has_max_rates && settings_.ets) {
        ieee_maxrate rates{};
        for (std::size_t i = 0; i < kNumbers; ++i) {
            rates.tc_maxrate[i] = settings_.ets->traffic_class.at(i).max_rate.value_or(Bandwidth()).kbps();
        }
        ieee = netlink::operator+(ieee, nest(DCB_ATTR_IEEE_MAXRATE, netlink::bytes_of(rates)));
    }
    if (settings_.pfc) {
        ieee_pfc pfc{};
        pfc.pfc_cap = settings_.pfc->capacity;
        for (std::size_t i = 0; i < kNumbers; ++i) {
            pfc.pfc_en = static_cast<std::uint8_t>(pfc.pfc_en | (settings_.pfc->lossless.at(i) ? 1U << i : 0U));
        }
        ieee = netlink::operator+(ieee, nest(DCB_ATTR_IEEE_PFC, netlink::bytes_of(pfc)));
    }
    if (settings_.buffers) {
        dcbnl_buffer buffers{};
        buffers.total_size = settings_.buffers->total;
        for (std::size_t i = 0; i < kNumbers; ++i) {
            buffers.prio2buffer[i] = settings_.buffers->buffer_of_priority.at(i);
            buffers.buffer_size[i] = settings_.buffers->size.at(i);
        }
        ieee = netlink::operator+(ieee, nest(DCB_ATTR_DCB_BUFFER, netlink::bytes_of(buffers)));
    }
    Message apps;
    for (const dcb::AppEntry& one : settings_.apps) {
        dcb_app app{};
        app.selector = static_cast<std::uint8_t>(one.selector);
        app.priority = one.priority;
        app.protocol = one.protocol;
        apps = netlink::operator+(apps, nest(DCB_ATTR_IEEE_APP, netlink::bytes_of(app)));
    }
    ieee = netlink::operator+(ieee, nest(DCB_ATTR_IEEE_APP_TABLE, apps));
    Message content = netlink::operator+(netlink::bytes_of(header), netlink::text(DCB_ATTR_IFNAME, interface_));
    content = netlink::operator+(content, nest(DCB_ATTR_IEEE, ieee));
    if (settings_.dcbx) {
        content = netlink::operator+(content, nest(DCB_ATTR_DCBX, {bits_of(*settings_.dcbx)}));
    }
    return content;
}

Message FakeDcb::answer(std::uint8_t command, std::uint16_t attribute, int byte) const
{
    dcbmsg header{};
    header.cmd = command;
    return netlink::operator+(netlink::bytes_of(header), nest(attribute, {static_cast<std::uint8_t>(byte)}));
}

void FakeDcb::notify(std::uint8_t command, std::uint32_t sequence) const
{
    if (watcher_) {
        const Message datagram = netlink::message(fill(command), sequence, RTM_SETDCB);
        // NOLINTNEXTLINE(bugprone-unused-return-value): a watcher that has gone
        static_cast<void>(send(watcher_.get(), datagram.data(), datagram.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
    }
}

dcb::Watcher FakeDcb::watch()
{
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        throw std::runtime_error("socketpair");
    }
    watcher_ = UniqueFd(ends[0]);
    return dcb::Watcher(UniqueFd(ends[1]), &receive);
}

void FakeDcb::notify_of_driver()
{
    notify(DCB_CMD_IEEE_SET, 0);
}

void FakeDcb::overflow()
{
    overflowed = true;
}

// ---- net/dcb/dcbnl.c ----

tl::expected<Message, int> FakeDcb::ask(std::uint16_t type, const Message& request)
{
    ++sequence_;
    if (type != RTM_SETDCB) {
        ++reads_;
        if (const auto fault = read_faults_.find(reads_); fault != read_faults_.end()) {
            return tl::unexpected(fault->second);
        }
        return handle(type, request, sequence_, {});
    }
    ++writes_;
    const auto found = faults_.find(writes_);
    const Fault fault = found == faults_.end() ? Fault{} : found->second;
    auto result = handle(type, request, sequence_, fault);
    if (const auto act = behind_.find(writes_); act != behind_.end()) {
        act->second(*this);
    }
    if (fault.silent) {
        return tl::unexpected(ETIMEDOUT);
    }
    return result;
}

int FakeDcb::write_as_other(const dcb::Write& write, std::uint32_t sequence)
{
    const auto content = handle(RTM_SETDCB, dcb::write_request(interface_, write), sequence, {});
    return content ? dcb::read_write_error(*content, write).value() : content.error();
}

tl::expected<Message, int> FakeDcb::handle(std::uint16_t type, Bytes request, std::uint32_t sequence,
                                           const Fault& fault)
{
    dcbmsg header{};
    if (type == RTM_SETDCB && !privileged_) {
        return tl::unexpected(EPERM);
    }
    if (!copy(request, header)) {
        return tl::unexpected(EINVAL);
    }
    const Bytes attributes = request.subspan(NLMSG_ALIGN(sizeof(header)));
    if (!present_ || rdmaqos::netlink::text_in(attributes, DCB_ATTR_IFNAME) != interface_) {
        return tl::unexpected(ENODEV);
    }
    if (!driver_.has_dcb()) {
        return tl::unexpected(EOPNOTSUPP);
    }
    const Bytes ieee = rdmaqos::netlink::content_of(attributes, DCB_ATTR_IEEE);
    int error = 0;
    switch (header.cmd) {
    case DCB_CMD_IEEE_GET:
        return fill(DCB_CMD_IEEE_GET);
    case DCB_CMD_IEEE_SET:
        error = set_all(ieee, fault);
        break;
    case DCB_CMD_IEEE_DEL: {
        const Bytes table = rdmaqos::netlink::content_of(ieee, DCB_ATTR_IEEE_APP_TABLE);
        for (auto next = rdmaqos::netlink::first_of(table); next && error == 0;
             next = rdmaqos::netlink::first_of(next->rest)) {
            dcb_app app{};
            if (next->type == DCB_ATTR_IEEE_APP && copy(next->content, app)) {
                error = delete_app({static_cast<dcb::Selector>(app.selector), app.protocol, app.priority}, fault);
            }
        }
        break;
    }
    case DCB_CMD_SDCBX:
        return answer(header.cmd, DCB_ATTR_DCBX,
                      set_dcbx(rdmaqos::netlink::byte_in(attributes, DCB_ATTR_DCBX).value_or(0)));
    default:
        return tl::unexpected(EOPNOTSUPP);
    }
    notify(header.cmd, sequence);
    return answer(header.cmd, DCB_ATTR_IEEE, -error);
}

// What the driver has no function for is passed over: the answer is "done".
int FakeDcb::set_all(Bytes ieee, const Fault& fault)
{
    const Bytes ets = rdmaqos::netlink::content_of(ieee, DCB_ATTR_IEEE_ETS);
    if (!ets.empty() && driver_.ets == Access::Write) {
        if (const int error = set_ets(ets, fault); error != 0) {
            return error;
        }
    }
    const Bytes rates = rdmaqos::netlink::content_of(ieee, DCB_ATTR_IEEE_MAXRATE);
    if (!rates.empty() && driver_.max_rates == Access::Write) {
        if (const int error = set_rates(rates, fault); error != 0) {
            return error;
        }
    }
    const Bytes table = rdmaqos::netlink::content_of(ieee, DCB_ATTR_IEEE_APP_TABLE);
    for (auto next = rdmaqos::netlink::first_of(table); next; next = rdmaqos::netlink::first_of(next->rest)) {
        dcb_app app{};
        if (next->type != DCB_ATTR_IEEE_APP) {
            continue;
        }
        if (!copy(next->content, app)) {
            return ERANGE;
        }
        if (const int error = set_app({static_cast<dcb::Selector>(app.selector), app.protocol, app.priority}, fault);
            error != 0) {
            return error;
        }
    }
    return 0;
}

// ---- drivers ----

bool FakeDcb::allows_writes() const
{
    switch (driver_.host_dcbx) {
    case dcb::HostDcbx::Always:
    case dcb::HostDcbx::Advised:
        return true;
    case dcb::HostDcbx::Operational:
        return operational_;
    case dcb::HostDcbx::Settable:
    case dcb::HostDcbx::AgentOff:
        break;
    }
    return settings_.dcbx->host && settings_.dcbx->ieee && !settings_.dcbx->firmware;
}

int FakeDcb::objection_to(const dcb::Ets& ets) const
{
    std::array<bool, kNumbers> used{};
    for (const std::uint8_t one : ets.class_of_priority) {
        if (one >= classes_) {
            return EINVAL;
        }
        used.at(one) = true;
    }
    unsigned sum = 0;
    bool any = false;
    bool zero = false;
    for (std::size_t i = 0; i < kNumbers; ++i) {
        const auto& one = ets.traffic_class.at(i);
        if (one.selection == Selection::CreditBasedShaper ||
            (one.selection == Selection::Vendor && driver_.name != "mlx5_core")) {
            const bool old_number = driver_.name == "bnxt_en" || driver_.name == "mlx4_core";
            return old_number ? kEnotsupp : driver_.name == "mlx5_core" ? EOPNOTSUPP : EINVAL;
        }
        if (one.selection == Selection::Ets) {
            any = true;
            sum += one.weight;
            zero = zero || one.weight == 0;
            if (driver_.unused_must_be_strict && !used.at(i)) {
                return EINVAL;
            }
        }
    }
    const bool wrong_sum = driver_.weight_sum == dcb::WeightSum::Exactly100 ? any && sum != 100 : sum > 100;
    const bool wrong_zero = zero && (driver_.zero_weight == dcb::ZeroWeight::Refused ||
                                     (driver_.zero_weight == dcb::ZeroWeight::AllowedBelow100 && sum == 100));
    return wrong_sum || wrong_zero ? EINVAL : 0;
}

int FakeDcb::set_ets(Bytes attribute, const Fault& fault)
{
    ieee_ets kernel{};
    if (!allows_writes() || !copy(attribute, kernel)) {
        return EINVAL;
    }
    dcb::Ets ets = *settings_.ets;
    ets.classes = classes_;
    for (std::size_t i = 0; i < kNumbers; ++i) {
        auto& one = ets.traffic_class.at(i);
        one.selection = kernel.tc_tsa[i] == 0   ? Selection::Strict
                        : kernel.tc_tsa[i] == 1 ? Selection::CreditBasedShaper
                        : kernel.tc_tsa[i] == 2 ? Selection::Ets
                                                : Selection::Vendor;
        one.weight = one.selection == Selection::Ets ? kernel.tc_tx_bw[i] : std::uint8_t{0};
        ets.class_of_priority.at(i) = kernel.prio_tc[i];
    }
    if (const int error = objection_to(ets); error != 0) {
        // mlx5 finds a class that the port does not have when it comes to that priority: those before have moved.
        const auto missing = std::ranges::find_if(ets.class_of_priority, [&](auto one) { return one >= classes_; });
        if (driver_.name == "mlx5_core" && missing != ets.class_of_priority.end() && *missing < kNumbers) {
            std::copy(ets.class_of_priority.begin(), missing, settings_.ets->class_of_priority.begin());
        }
        return error;
    }
    // Numbers of a map that has its own are passed over.
    if (driver_.dscp_is_class && has_dscp()) {
        ets.class_of_priority = settings_.ets->class_of_priority;
    }
    const bool same_map = ets.class_of_priority == settings_.ets->class_of_priority;
    if (fault.error != 0) {
        if (!driver_.atomic) {
            settings_.ets->class_of_priority = ets.class_of_priority;
        }
        return fault.error;
    }
    if (driver_.contiguous_classes) {
        const auto highest = *std::ranges::max_element(ets.class_of_priority);
        for (std::uint8_t i = 0; i < highest; ++i) {
            if (std::ranges::find(ets.class_of_priority, i) == ets.class_of_priority.end()) {
                // ice_dcb_bwchk: as one class, which has everything.
                for (auto& one : ets.traffic_class) {
                    one.weight = 0;
                }
                ets.traffic_class[0] = {.selection = Selection::Ets, .weight = 100, .max_rate = {}};
            }
        }
    }
    if (ets != *settings_.ets) {
        disturb(same_map ? driver_.disrupts.weights : driver_.disrupts.priorities);
    }
    settings_.ets = ets;
    return 0;
}

std::uint64_t FakeDcb::rate_in_nic(std::uint64_t kbps, bool& refused) const
{
    constexpr std::uint64_t k100Mbit = 100'000;
    constexpr std::uint64_t kGigabit = 1'000'000;
    if (kbps == 0) {
        return 0;
    }
    if (driver_.name == "mlx5_core") {
        // mlx5e_dcbnl_ieee_setmaxrate: eight bits, in one of two units.
        const std::uint64_t border = (old_kernel_ ? 260 : 255) * k100Mbit;
        if (old_kernel_ ? kbps < border : kbps <= border) {
            return std::max<std::uint64_t>(kbps / k100Mbit, 1) % 256 * k100Mbit;
        }
        refused = refused || (!old_kernel_ && kbps > 255 * kGigabit);
        return kbps / kGigabit % 256 * kGigabit;
    }
    // mlx4_en_dcbnl_ieee_setmaxrate: sixteen bits, up.
    return (kbps + k100Mbit - 1) / k100Mbit % 65536 * k100Mbit;
}

int FakeDcb::set_rates(Bytes attribute, const Fault& fault)
{
    ieee_maxrate kernel{};
    if (!copy(attribute, kernel)) {
        return EINVAL;
    }
    std::array<std::uint64_t, kNumbers> rates{};
    bool refused = false;
    for (std::size_t i = 0; i < classes_; ++i) {
        rates.at(i) = rate_in_nic(kernel.tc_maxrate[i], refused);
    }
    if (refused) {
        return EINVAL;
    }
    const std::size_t written = fault.error == 0 ? kNumbers : driver_.atomic ? 0 : kNumbers / 2;
    for (std::size_t i = 0; i < written; ++i) {
        auto& rate = settings_.ets->traffic_class.at(i).max_rate;
        rate = rates.at(i) == 0 ? std::nullopt : std::optional(Bandwidth::from_kbps(rates.at(i)));
    }
    if (fault.error == 0) {
        disturb(driver_.disrupts.max_rates);
    }
    return fault.error;
}

int FakeDcb::set_app(const dcb::AppEntry& entry, const Fault& fault)
{
    auto& kernel = settings_.apps;
    const bool has_function = driver_.selectors != 0;
    if (has_function && !driver_.keeps_refused_apps && !allows_writes()) {
        return EINVAL;
    }
    const bool valid = entry.priority < kNumbers && (entry.selector != dcb::Selector::Dscp || entry.protocol < 64);
    if (has_function && (!valid || (!driver_.takes(entry.selector) && !driver_.ignores_other_apps))) {
        return EINVAL;
    }
    if (driver_.dscp_is_class && entry.priority >= classes_) {
        return EINVAL;
    }
    const bool mapped = std::ranges::any_of(
        nic_apps_, [&](const auto& one) { return one.selector == entry.selector && one.protocol == entry.protocol; });
    if (driver_.delete_before_remap && mapped) {
        return EINVAL;
    }
    if (!driver_.replaces_apps && is_of_kernel(kernel, entry)) {
        return EEXIST;
    }
    if (driver_.keeps_refused_apps) {
        add(kernel, entry);
        if (!allows_writes()) {
            return EINVAL;
        }
    }
    if (fault.error != 0) {
        return fault.error;
    }
    if (driver_.replaces_apps) {
        drop_others(kernel, entry);
    }
    add(kernel, entry);
    if (!driver_.takes(entry.selector)) {
        return 0;
    }
    const bool first = entry.selector == dcb::Selector::Dscp && !has_dscp();
    if (first && driver_.first_app_resets_ets) {
        for (std::size_t i = 0; i < kNumbers; ++i) {
            settings_.ets->traffic_class.at(i) = {.selection = Selection::Ets, .weight = 0, .max_rate = {}};
            settings_.ets->class_of_priority.at(i) = static_cast<std::uint8_t>(i % classes_);
        }
        settings_.ets->traffic_class[0].weight = 100;
    }
    drop_others(nic_apps_, entry);
    add(nic_apps_, entry);
    disturb(first ? driver_.disrupts.first_app : driver_.disrupts.apps);
    return 0;
}

int FakeDcb::delete_app(const dcb::AppEntry& entry, const Fault& fault)
{
    const bool has_function = driver_.selectors != 0 && driver_.deletes_apps;
    if (has_function && !allows_writes()) {
        return EINVAL;
    }
    if (!is_of_kernel(settings_.apps, entry)) {
        return ENOENT;
    }
    if (fault.error != 0) {
        return fault.error;
    }
    std::erase(settings_.apps, entry);
    if (has_function && driver_.takes(entry.selector)) {
        std::erase(nic_apps_, entry);
        const bool last = entry.selector == dcb::Selector::Dscp && !has_dscp();
        disturb(last ? driver_.disrupts.first_app : driver_.disrupts.apps);
    }
    return 0;
}

int FakeDcb::set_dcbx(std::uint8_t bits)
{
    const dcb::Dcbx asked{.host = (bits & DCB_CAP_DCBX_HOST) != 0,
                          .firmware = (bits & DCB_CAP_DCBX_LLD_MANAGED) != 0,
                          .ieee = (bits & DCB_CAP_DCBX_VER_IEEE) != 0,
                          .cee = (bits & DCB_CAP_DCBX_VER_CEE) != 0};
    if (asked == settings_.dcbx) {
        return 0;
    }
    if (asked.firmware || driver_.host_dcbx == dcb::HostDcbx::Operational ||
        (driver_.host_dcbx == dcb::HostDcbx::AgentOff && settings_.dcbx->firmware) ||
        (driver_.host_dcbx != dcb::HostDcbx::Advised && (!asked.host || asked.cee)) ||
        driver_.host_dcbx == dcb::HostDcbx::Always) {
        return 1;
    }
    settings_.dcbx = asked;
    return 0;
}

}    // namespace rdmaqos::test
