#include "lib/dcb/driver.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include <fmt/format.h>

#include "lib/dcb/words.h"

namespace rdmaqos::dcb {
namespace {

constexpr std::uint8_t kDscp = selector_bit(Selector::Dscp);
constexpr std::uint8_t kEthertype = selector_bit(Selector::Ethertype);
constexpr std::uint8_t kUdp = selector_bit(Selector::DatagramPort);
constexpr std::uint8_t kTcp = selector_bit(Selector::StreamPort);
constexpr std::uint8_t kAny = selector_bit(Selector::AnyPort);

constexpr unsigned kPercent = 100;

// mlx5_core/en_dcbnl.c: a number of eight bits in one of two units. Kernels before the end of 2025 take rates above
// 25.5 Gbit/s and below 26 in the smaller unit, and those above 255 Gbit/s at all, and cut the number off: whole steps
// of this table are safe with every kernel. Newer ones reach further where the firmware does.
constexpr RateStep kMlx5Rates[] = {{Bandwidth::from_mbps(25'500), Bandwidth::from_mbps(100)},
                                   {Bandwidth::from_gbps(255), Bandwidth::from_gbps(1)}};
// mlx4/en_dcb_nl.c: a number of sixteen bits.
constexpr RateStep kMlx4Rates[] = {{Bandwidth::from_mbps(6'553'500), Bandwidth::from_mbps(100)}};

// en_dcbnl.c. A deletion writes priority 0 for the DSCP; the first entry and the last deletion change what the port
// trusts, for which the queues are made again.
constexpr Driver kMlx5{
    .name = "mlx5_core",
    .hardware = "NVIDIA ConnectX-4 and later",
    .rdma = "mlx5_ib",
    .evidence = Evidence::MemoryDevice,
    .ets = Access::Write,
    .starts_swapped = true,
    .atomic = false,
    .max_rates = Access::Write,
    .rate_steps = kMlx5Rates,
    .selectors = kDscp,
    .replaces_apps = true,
    .unlisted_dscp_unknown = true,
    .host_dcbx = HostDcbx::Advised,
    .disrupts = {.first_app = Disruption::Queues, .pfc = Disruption::Link},
};

// bnxt_dcb.c. The interface is closed and opened where the number of classes changes (bnxt_setup_mq_tc), and for PFC of
// a class whose queue was none for lossless traffic (bnxt_queue_remap).
constexpr Driver kBnxt{
    .name = "bnxt_en",
    .hardware = "Broadcom NetXtreme-E",
    .rdma = "bnxt_re",
    .ets = Access::Write,
    .weight_sum = WeightSum::AtMost100,
    .zero_weight = ZeroWeight::AllowedBelow100,
    .atomic = false,
    .unused_must_be_strict = true,
    .selectors = kDscp | kUdp | kEthertype,
    .ignores_other_apps = true,
    .keeps_refused_apps = true,
    .unlisted_dscp_unknown = true,
    .host_dcbx = HostDcbx::AgentOff,
    .disrupts = {.priorities = Disruption::Interface, .pfc = Disruption::Interface},
};

// ice_dcb_nl.c. While a DSCP has an entry, the class of a priority cannot be set: the driver says "done" and keeps
// priority p in class p.
constexpr Driver kIce{
    .name = "ice",
    .hardware = "Intel E810 and E830",
    .rdma = "irdma",
    .ets = Access::Write,
    .contiguous_classes = true,
    .selectors = kDscp,
    .dscp_is_class = true,
    .delete_before_remap = true,
    .first_app_resets_ets = true,
    .host_dcbx = HostDcbx::AgentOff,
    .disrupts = {.weights = Disruption::Interface,
                 .priorities = Disruption::Interface,
                 .first_app = Disruption::Interface,
                 .apps = Disruption::Interface,
                 .pfc = Disruption::Interface},
};

// hns3pf/hclge_dcb.c. Entries of the application table: since Linux 6.2.
constexpr Driver kHns3{
    .name = "hns3",
    .hardware = "HiSilicon Kunpeng",
    .rdma = "hns_roce_hw_v2",
    .ets = Access::Write,
    .zero_weight = ZeroWeight::Refused,
    .atomic = false,
    .unused_must_be_strict = true,
    .selectors = kDscp,
    .replaces_apps = true,
    .host_dcbx = HostDcbx::Settable,
    .disrupts = {.priorities = Disruption::Interface, .pfc = Disruption::Interface},
};

// qed/qed_dcbx.c. An entry with a DSCP is taken for a port number. Weights are not checked by the driver.
constexpr Driver kQede{
    .name = "qede",
    .hardware = "Marvell FastLinQ 4xxxx",
    .rdma = "qedr",
    .ets = Access::Write,
    .atomic = false,
    .selectors = kEthertype | kTcp | kUdp | kAny,
    .ignores_other_apps = true,
    .deletes_apps = false,
    .keeps_refused_apps = true,
    .host_dcbx = HostDcbx::Operational,
    .disrupts = {.weights = Disruption::Link,
                 .priorities = Disruption::Link,
                 .first_app = Disruption::Link,
                 .apps = Disruption::Link,
                 .pfc = Disruption::Link},
};

// mlx4/en_dcb_nl.c
constexpr Driver kMlx4{
    .name = "mlx4_core",
    .hardware = "Mellanox ConnectX-3",
    .rdma = "mlx4_ib",
    .ets = Access::Write,
    .classes = 8,
    .atomic = false,
    .max_rates = Access::Write,
    .rate_steps = kMlx4Rates,
    .rates_round_up = true,
    .ignores_other_apps = true,
};

// i40e/i40e_dcb_nl.c. Weights are not checked by the driver.
constexpr Driver kI40e{
    .name = "i40e",
    .hardware = "Intel X710 and X722",
    .rdma = "irdma",
    .ets = Access::Write,
    .classes = 8,
    .selectors = kEthertype | kTcp | kUdp | kAny,
    .ignores_other_apps = true,
    .host_dcbx = HostDcbx::AgentOff,
    .disrupts = {.weights = Disruption::Interface,
                 .priorities = Disruption::Interface,
                 .first_app = Disruption::Interface,
                 .apps = Disruption::Interface,
                 .pfc = Disruption::Interface},
};

// ixgbe/ixgbe_dcb_nl.c. It has no RDMA. An entry for FCoE, set or deleted, that changes the priority of FCoE closes and
// opens the interface (ixgbe_dcbnl_devreset) where the kernel has FCoE: reported of a deletion (intel/openlldp#125).
constexpr Driver kIxgbe{
    .name = "ixgbe",
    .hardware = "Intel 82599 and X550",
    .rdma = "",
    .ets = Access::Write,
    .atomic = false,
    .selectors = kEthertype,
    .ignores_other_apps = true,
    .host_dcbx = HostDcbx::Settable,
    .disrupts = {.priorities = Disruption::Interface, .apps = Disruption::Interface},
};

// cxgb4/cxgb4_dcb.c. The switch decides: the host is always willing.
constexpr Driver kCxgb4{
    .name = "cxgb4",
    .hardware = "Chelsio T4 and later",
    .rdma = "iw_cxgb4",
    .ets = Access::Read,
    .selectors = kTcp | kUdp,
    .host_dcbx = HostDcbx::Operational,
};

// Without DCB netlink. Names of drivers without an interface of their own are those of the RDMA driver.
constexpr Driver kIonic{.name = "ionic", .hardware = "AMD Pensando", .rdma = "ionic_rdma"};
constexpr Driver kMana{.name = "mana", .hardware = "Microsoft Azure Network Adapter", .rdma = "mana_ib"};
constexpr Driver kEfa{.name = "efa", .hardware = "Amazon Elastic Fabric Adapter", .rdma = "efa"};
constexpr Driver kRxe{.name = "rxe", .hardware = "software RoCE", .rdma = "rdma_rxe"};
constexpr Driver kSiw{.name = "siw", .hardware = "software iWARP", .rdma = "siw"};

constexpr Driver kDrivers[] = {kMlx5,  kBnxt,  kIce,   kHns3, kQede, kMlx4, kI40e,
                               kIxgbe, kCxgb4, kIonic, kMana, kEfa,  kRxe,  kSiw};

// How many weights are 0 of classes with ETS, and what all sum to.
struct Weights {
    unsigned sum = 0;
    unsigned zeros = 0;
    unsigned count = 0;
};
Weights weights_in(const Ets& ets)
{
    Weights weights;
    for (const TrafficClass& one : ets.traffic_class) {
        if (one.selection == Selection::Ets) {
            ++weights.count;
            weights.sum += one.weight;
            weights.zeros += one.weight == 0 ? 1 : 0;
        }
    }
    return weights;
}

void object_to_weights(const Driver& driver, const Weights& weights, std::vector<std::string>& found)
{
    if (weights.count == 0) {
        return;
    }
    if (driver.weight_sum == WeightSum::Exactly100 && weights.sum != kPercent) {
        found.push_back(fmt::format("the weights of the traffic classes with ETS sum to {} %, and {} takes only 100 %",
                                    weights.sum, driver.name));
    } else if (weights.sum > kPercent) {
        found.push_back(
            fmt::format("the weights of the traffic classes with ETS sum to {} %, more than 100 %", weights.sum));
    }
    if (weights.zeros == 0) {
        return;
    }
    if (driver.zero_weight == ZeroWeight::Refused) {
        found.push_back(
            fmt::format("a traffic class with ETS has no weight, which {} refuses: give it 1 % or more", driver.name));
    } else if (driver.zero_weight == ZeroWeight::AllowedBelow100 && weights.sum == kPercent) {
        found.push_back(fmt::format("a traffic class with ETS has no weight while others have 100 %, which {} refuses: "
                                    "give it 1 % or more",
                                    driver.name));
    }
}

void object_to_classes(const Driver& driver, const Ets& ets, std::uint8_t classes, std::vector<std::string>& found)
{
    std::array<bool, kTrafficClasses> used{};
    for (std::size_t priority = 0; priority < kPriorities; ++priority) {
        const std::uint8_t chosen = ets.class_of_priority.at(priority);
        if (chosen >= classes) {
            found.push_back(fmt::format("priority {} would be in traffic class {}, and the port has only {}", priority,
                                        chosen, classes));
        } else {
            used.at(chosen) = true;
        }
    }
    const auto highest = static_cast<std::size_t>(
        std::distance(std::ranges::find(used.rbegin(), used.rend(), true), used.rend()));
    for (std::size_t i = 0; i < kTrafficClasses; ++i) {
        const TrafficClass& one = ets.traffic_class.at(i);
        if (driver.contiguous_classes && i < highest && !used.at(i)) {
            found.push_back(
                fmt::format("no priority is in traffic class {}, and {} takes no gaps below the highest class in use",
                            i, driver.name));
        }
        if (driver.unused_must_be_strict && !used.at(i) && one.selection != Selection::Strict) {
            found.push_back(
                fmt::format("no priority is in traffic class {}: {} takes it only as strict", i, driver.name));
        }
        if (one.selection == Selection::CreditBasedShaper || one.selection == Selection::Vendor) {
            // mlx5 has a vendor's selection, for classes that nobody has set, and takes it back.
            if (one.selection == Selection::CreditBasedShaper || driver.name != kMlx5.name) {
                found.push_back(
                    fmt::format("traffic class {} is {}, which {} refuses", i, in_words(one.selection), driver.name));
            }
        }
    }
}

}    // namespace

std::string_view to_string(Evidence evidence)
{
    return evidence == Evidence::MemoryDevice ? "stock driver on a memory device" : "from source, never tried";
}

std::string_view in_words(Disruption disruption)
{
    switch (disruption) {
    case Disruption::None:
        break;
    case Disruption::Queues:
        return "makes the queues of the network interface again, for which the kernel's traffic stops for a moment";
    case Disruption::Link:
        return "takes the link down and up";
    case Disruption::Interface:
        return "closes and opens the network interface, which interrupts all traffic, RDMA too";
    }
    return "";
}

std::span<const Driver> drivers()
{
    return kDrivers;
}

const Driver* find_driver(std::string_view name)
{
    const auto* const found = std::ranges::find(kDrivers, name, &Driver::name);
    return found == std::end(kDrivers) ? nullptr : found;
}

std::optional<Bandwidth> largest_rate(const Driver& driver)
{
    return driver.rate_steps.empty() ? std::nullopt : std::optional(driver.rate_steps.back().up_to);
}

std::optional<Bandwidth> rounded_rate(const Driver& driver, Bandwidth rate)
{
    if (driver.max_rates != Access::Write || rate.is_zero()) {
        return std::nullopt;
    }
    const auto range = std::ranges::find_if(driver.rate_steps, [&](const RateStep& one) { return rate <= one.up_to; });
    if (range == driver.rate_steps.end()) {
        return std::nullopt;
    }
    const std::uint64_t step = range->step.kbps();
    const std::uint64_t steps = rate.kbps() / step + (driver.rates_round_up && rate.kbps() % step != 0 ? 1 : 0);
    const Bandwidth rounded = Bandwidth::from_kbps(std::max<std::uint64_t>(steps, 1) * step);
    if (range == driver.rate_steps.begin()) {
        return rounded;
    }
    // Down across the border of two ranges: to the largest of the lower one.
    return std::max(rounded, std::prev(range)->up_to);
}

std::array<std::uint8_t, kTrafficClasses>
weights_of(const Driver& driver, const std::array<std::optional<std::uint64_t>, kTrafficClasses>& parts)
{
    std::array<std::uint8_t, kTrafficClasses> weights{};
    // Parts may be large: their sum, and a hundred times one, are computed in floating point.
    long double sum = 0;
    for (const auto& part : parts) {
        sum += static_cast<long double>(part.value_or(0));
    }
    if (sum == 0) {
        return weights;
    }
    unsigned given = 0;
    std::array<long double, kTrafficClasses> exact{};
    for (std::size_t i = 0; i < kTrafficClasses; ++i) {
        if (!parts.at(i) || (*parts.at(i) == 0 && driver.zero_weight == ZeroWeight::Allowed)) {
            continue;
        }
        exact.at(i) = static_cast<long double>(*parts.at(i)) * kPercent / sum;
        weights.at(i) = static_cast<std::uint8_t>(std::clamp<long double>(exact.at(i), 1, kPercent));
        given += weights.at(i);
    }
    // One at a time to the class that is furthest below its part, or from the one that is furthest above it.
    for (; given != kPercent; given += given < kPercent ? 1 : -1U) {
        const bool add = given < kPercent;
        std::size_t best = kTrafficClasses;
        for (std::size_t i = 0; i < kTrafficClasses; ++i) {
            if (weights.at(i) == 0 || (!add && weights.at(i) == 1)) {
                continue;
            }
            const auto missing = [&](std::size_t of) {
                return (exact.at(of) - static_cast<long double>(weights.at(of))) * (add ? 1 : -1);
            };
            if (best == kTrafficClasses || missing(i) > missing(best)) {
                best = i;
            }
        }
        weights.at(best) = static_cast<std::uint8_t>(weights.at(best) + (add ? 1 : -1));
    }
    return weights;
}

std::vector<std::string> objections(const Driver& driver, const Ets& ets, std::uint8_t classes)
{
    if (driver.ets != Access::Write) {
        return {fmt::format("{} cannot set traffic classes", driver.name)};
    }
    std::vector<std::string> found;
    object_to_weights(driver, weights_in(ets), found);
    object_to_classes(driver, ets, std::min<std::uint8_t>(classes, kTrafficClasses), found);
    return found;
}

std::vector<std::string> objections(const Driver& driver, const MaxRates& rates)
{
    std::vector<std::string> found;
    for (std::size_t i = 0; i < kTrafficClasses; ++i) {
        const std::optional<Bandwidth>& rate = rates.at(i);
        if (!rate) {
            continue;
        }
        if (driver.max_rates != Access::Write) {
            return {fmt::format("{} has no maximum rates", driver.name)};
        }
        if (rate->is_zero()) {
            found.push_back(fmt::format("the maximum rate of traffic class {} is zero, which would mean no limit", i));
        } else if (!rounded_rate(driver, *rate)) {
            found.push_back(fmt::format("the maximum rate of traffic class {}, {}, is above the largest of {}, {}", i,
                                        to_string(*rate), driver.name, to_string(*largest_rate(driver))));
        }
    }
    return found;
}

std::vector<std::string> objections(const Driver& driver, const AppEntry& entry, const PortSettings& now)
{
    if (!driver.takes(entry.selector)) {
        return {driver.ignores_other_apps
                    ? fmt::format("{} does not look at entries for {}: they have no effect", driver.name,
                                  in_words(entry.selector))
                    : fmt::format("{} takes no entries for {}", driver.name, in_words(entry.selector))};
    }
    std::vector<std::string> found;
    if (entry.selector == Selector::Dscp && entry.protocol > kHighestDscp) {
        found.push_back(fmt::format("there is no DSCP {}: the largest is {}", entry.protocol, kHighestDscp));
    }
    const std::uint8_t classes = driver.dscp_is_class && now.ets ? now.ets->classes : std::uint8_t{kPriorities};
    if (entry.priority >= classes) {
        found.push_back(
            driver.dscp_is_class
                ? fmt::format("{} is the traffic class, too, and the port has only {}", entry.priority, classes)
                : fmt::format("there is no priority {}: the largest is {}", entry.priority, kPriorities - 1));
    }
    const bool taken = std::ranges::any_of(now.apps, [&](const AppEntry& one) {
        return one.selector == entry.selector && one.protocol == entry.protocol && one.priority != entry.priority;
    });
    if (driver.delete_before_remap && taken) {
        found.push_back(fmt::format("{} {} has another priority, and {} takes a new one only when that is deleted",
                                    in_words(entry.selector), entry.protocol, driver.name));
    }
    return found;
}

}    // namespace rdmaqos::dcb
