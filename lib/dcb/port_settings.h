// What the Data Center Bridging (IEEE 802.1Qaz, 802.1Qbb) of an Ethernet port is set to: which priority a packet has,
// which traffic class that priority is in, and how the port divides itself among its traffic classes. Values only.
//
//     DSCP ──(application table)──▶ priority ──(ETS)──▶ traffic class ──(ETS, maximum rate)──▶ the wire
//                                      └──────(PFC)──▶ lossless or not
//
// It applies to every packet of the port, of whichever queue pair or socket. Numbers and ranges are those of
// linux/dcbnl.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "lib/base/units.h"

namespace rdmaqos::dcb {

// Priorities are 0 to 7, and so are traffic classes, though a port may have fewer.
inline constexpr std::size_t kPriorities = 8;
inline constexpr std::size_t kTrafficClasses = 8;

inline constexpr std::uint16_t kHighestDscp = 63;

// How a traffic class is scheduled (its transmission selection algorithm, TSA).
enum class Selection : std::uint8_t {
    Strict,    // before all lower traffic classes, and all that are not strict
    CreditBasedShaper,
    Ets,    // its weight's part of what the strict ones leave
    Vendor,
};

struct TrafficClass {
    Selection selection = Selection::Strict;
    std::uint8_t weight = 0;              // in percent, of a class with ETS; the weights of all sum to 100 or less
    std::optional<Bandwidth> max_rate;    // empty: none, or the driver has no maximum rates

    friend bool operator==(const TrafficClass&, const TrafficClass&) = default;
};

struct Ets {
    std::uint8_t classes = kTrafficClasses;    // how many traffic classes the port has: the first ones
    std::array<TrafficClass, kTrafficClasses> traffic_class;
    std::array<std::uint8_t, kPriorities> class_of_priority{};

    friend bool operator==(const Ets&, const Ets&) = default;
};

// The first number of an entry of the application table: what its protocol number is.
enum class Selector : std::uint8_t {
    Ethertype = 1,
    StreamPort = 2,      // TCP, SCTP
    DatagramPort = 3,    // UDP; RoCE is 4791
    AnyPort = 4,
    Dscp = 5,
};

struct AppEntry {
    Selector selector = Selector::Dscp;
    std::uint16_t protocol = 0;    // with Dscp: 0 to 63
    std::uint8_t priority = 0;

    friend auto operator<=>(const AppEntry&, const AppEntry&) = default;
};

// Priority flow control. Setting it takes the link of some NICs down and up.
struct Pfc {
    std::uint8_t capacity = 0;    // how many priorities can be lossless at a time
    std::array<bool, kPriorities> lossless{};

    friend bool operator==(const Pfc&, const Pfc&) = default;
};

// Receive buffers, in bytes.
struct Buffers {
    std::array<std::uint8_t, kPriorities> buffer_of_priority{};
    std::array<std::uint32_t, kTrafficClasses> size{};
    std::uint32_t total = 0;

    friend bool operator==(const Buffers&, const Buffers&) = default;
};

// Who negotiates with the switch (DCB_CAP_DCBX_*).
struct Dcbx {
    bool host = false;        // settings of the host apply; else the NIC's firmware negotiates
    bool firmware = false;    // an agent in the NIC's firmware (DCB_CAP_DCBX_LLD_MANAGED)
    bool ieee = false;
    bool cee = false;

    friend bool operator==(const Dcbx&, const Dcbx&) = default;
};

// Of one network interface. What is empty, its driver does not have or did not answer.
struct PortSettings {
    std::optional<Ets> ets;
    bool has_max_rates = false;    // whether `max_rate` of the classes says something
    std::vector<AppEntry> apps;    // sorted
    std::optional<Pfc> pfc;
    std::optional<Buffers> buffers;
    std::optional<Dcbx> dcbx;

    friend bool operator==(const PortSettings&, const PortSettings&) = default;
};

// The priority of packets with a DSCP, by the application table; 0 if it has no entry. If there are several, the
// highest, as the kernel has it (dcb_ieee_getapp_mask). With an empty table the port trusts the priority of VLAN tags,
// and packets without one have priority 0.
[[nodiscard]] std::uint8_t priority_of_dscp(const PortSettings& settings, std::uint8_t dscp);

// Whether packets get their priority from their DSCP. There is no question for it: drivers trust the DSCP while the
// table has an entry of it (mlx5e_dcbnl_ieee_setapp, bnxt_dcbnl_ieee_setapp).
[[nodiscard]] bool trusts_dscp(const PortSettings& settings);

// The traffic class of packets with a DSCP; 0 without ETS.
[[nodiscard]] std::uint8_t class_of_dscp(const PortSettings& settings, std::uint8_t dscp);

}    // namespace rdmaqos::dcb
