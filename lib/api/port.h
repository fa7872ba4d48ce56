// The traffic classes of a device's port as the kernel says them, and the way back to the values of lib/dcb.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/api/record.h"
#include "lib/dcb/port_keeping.h"
#include "lib/dcb/port_settings.h"

namespace rdmaqos::api {

template <>
inline constexpr auto kLast<PortKeeping> = PortKeeping::Stopped;

struct PortPriority {
    std::uint32_t priority = 0;
    std::optional<std::uint32_t> traffic_class{};    // empty: the driver has no ETS
    std::optional<bool> lossless{};                  // empty: the driver does not say
    std::optional<std::uint32_t> buffer{};           // empty: the driver does not say
};

template <>
struct Table<PortPriority> {
    using P = PortPriority;
    static constexpr auto keys = std::tuple{
        key<&P::priority>("priority", "0 to 7"),
        key<&P::traffic_class>("class", "the traffic class of its packets; absent: the driver has no ETS"),
        key<&P::lossless>("lossless", "by PFC; absent: the driver does not say"),
        key<&P::buffer>("buffer", "the receive buffer of its packets; absent: the driver does not say"),
    };
};

struct PortClass {
    std::uint32_t number = 0;
    std::string selection{};    // "ets", "strict", "credit-based", "vendor"
    std::uint32_t weight = 0;
    std::optional<Bandwidth> max_rate{};
};

template <>
struct Table<PortClass> {
    using C = PortClass;
    static constexpr auto keys = std::tuple{
        key<&C::number>("class", "0 to 7"),
        key<&C::selection>("selection", "`ets`: by its weight; `strict`: before those below it and all with `ets`; "
                                        "`credit-based`, `vendor`: otherwise"),
        key<&C::weight>("weight", "percent of what the strict ones leave, with `ets`"),
        key<&C::max_rate>("max-rate", "kbit/s; absent: none"),
    };
};

struct PortApplication {
    std::string selector{};    // "dscp", "ethertype", "stream-port", "datagram-port", "port"
    std::uint32_t protocol = 0;
    std::uint32_t priority = 0;
};

template <>
struct Table<PortApplication> {
    using A = PortApplication;
    static constexpr auto keys = std::tuple{
        key<&A::selector>("selector", "`dscp`, `ethertype`, `stream-port`, `datagram-port` or `port`"),
        key<&A::protocol>("protocol", "a number of this kind: with `dscp`, 0 to 63"),
        key<&A::priority>("priority", "that such packets get"),
    };
};

struct PortBuffer {
    std::uint32_t number = 0;
    std::uint32_t size = 0;
};

template <>
struct Table<PortBuffer> {
    using B = PortBuffer;
    static constexpr auto keys = std::tuple{
        key<&B::number>("buffer", "0 to 7"),
        key<&B::size>("size", "bytes"),
    };
};

// The last change of a port that the kernel has notified of.
struct PortChange {
    std::uint64_t at = 0;
    std::string by{};
};

template <>
struct Table<PortChange> {
    using C = PortChange;
    static constexpr auto keys = std::tuple{
        key<&C::at>("at", "seconds since 1970"),
        key<&C::by>("by", "who, as far as the kernel's notification tells: words for people"),
    };
};

// What somebody else has written to a port that the daemon keeps.
struct PortDrift {
    std::uint64_t at = 0;
    std::string by{};
    std::string what{};
};

template <>
struct Table<PortDrift> {
    using D = PortDrift;
    static constexpr auto keys = std::tuple{
        key<&D::at>("at", "seconds since 1970"),
        key<&D::by>("by", "who, as far as the kernel's notification tells: words for people"),
        key<&D::what>("what", "was written: words for people"),
    };
};

// What the daemon does about the traffic classes of a port.
struct PortCare {
    PortKeeping keeping = PortKeeping::Off;    // also: a later daemon says what this version does not know
    std::string reason{};
    std::uint64_t repairs = 0;
    std::optional<PortDrift> drift{};
    std::vector<std::string> findings{};
    std::vector<std::string> notes{};
    std::optional<std::uint8_t> cnp_dscp{};
};

template <>
struct Table<PortCare> {
    using C = PortCare;
    static constexpr auto keys = std::tuple{
        key<&C::keeping>("state",
                         "`pending`: not looked at yet, or being set; `kept`: as the policy asks, when it was read "
                         "last; `left-alone`: the policy asks nothing that the port can have, or the tree divides it; "
                         "`waiting`: a write was refused, or the port cannot be read, and it is tried again; "
                         "`failed`: a write was refused; `stopped`: others write, too, and nothing is written any "
                         "more"),
        key_unless_empty<&C::reason>("reason", "why it is not `kept`"),
        key<&C::repairs>("repairs", "how often what others wrote was put back"),
        key<&C::drift>("drift", "what [others wrote](#drift-of-a-port) last; absent: nothing"),
        key_unless_empty<&C::findings>("findings", "what of the policy the port cannot have: a sentence each"),
        key_unless_empty<&C::notes>("notes", "what it has otherwise, and what else may set it: a sentence each"),
        key<&C::cnp_dscp>("cnp-dscp", "of congestion notifications, which have a class of their own by the settings in "
                                      "force; absent: they have none"),
    };
};

struct Port {
    std::string state{};     // "off", "none", "pending", "read", "failed"; empty: an older daemon
    std::string reason{};    // a sentence, of "none" and "failed"
    std::string netdev{};
    std::string driver{};
    std::string trust{};
    std::vector<std::string> dcbx{};
    std::vector<PortPriority> priorities{};
    std::vector<PortClass> classes{};
    bool has_max_rates = false;
    std::vector<PortApplication> applications{};
    std::optional<std::uint32_t> lossless_capacity{};
    std::vector<PortBuffer> buffers{};
    std::optional<std::uint32_t> buffers_total{};
    std::optional<std::uint64_t> read_at{};
    std::optional<PortChange> last_change{};
    std::optional<PortCare> care{};    // empty: the daemon does not set it
};

template <>
struct Table<Port> {
    using P = Port;
    static constexpr auto keys = std::tuple{
        key<&P::state>("state", "`off`: `port-classes: off` in the settings; `none`: the port has none; `pending`: the "
                                "kernel has not answered yet; `read`: what follows was read; `failed`"),
        key_unless_empty<&P::reason>("reason", "why there is none, or why they could not be read"),
        key_unless_empty<&P::netdev>("netdev", "the network interface that they were read of"),
        key_unless_empty<&P::driver>("driver", "of that interface: `mlx5_core`"),
        key_unless_empty<&P::trust>("trust", "`dscp`: packets get their priority from their DSCP; `pcp`: from their "
                                             "VLAN tag, and without one they have priority 0"),
        key_unless_empty<&P::dcbx>("dcbx", "who negotiates with the switch: `host`, `firmware`, `ieee`, `cee`; absent: "
                                           "the driver does not say"),
        key_unless_empty<&P::priorities>("priorities", "the eight [priorities](#priorities-of-a-port)"),
        key_unless_empty<&P::classes>("classes", "the [traffic classes](#traffic-classes-of-a-port) that the port has; "
                                                 "absent: the driver has no ETS"),
        key_unless_empty<&P::has_max_rates>("max-rates", "the driver has maximum rates"),
        key_unless_empty<&P::applications>("applications", "the [application table](#applications-of-a-port)"),
        key<&P::lossless_capacity>("lossless-capacity", "how many priorities can be lossless at a time; absent: the "
                                                        "driver does not say"),
        key_unless_empty<&P::buffers>("buffers", "the [receive buffers](#buffers-of-a-port); absent: the driver does "
                                                 "not say"),
        key<&P::buffers_total>("buffers-total", "bytes of all of them; absent: the driver does not say"),
        key<&P::read_at>("read-at", "seconds since 1970"),
        key<&P::last_change>("last-change",
                             "the last [change](#change-of-a-port) since the daemon runs, if the kernel has "
                             "notified of one"),
        key<&P::care>("management", "what the daemon [does about it](#management-of-a-port), with `port-classes: "
                                    "manage` and while something of the daemon's is on it"),
    };
};

inline constexpr std::string_view kPortRead = "read";

// What was read, into the record: everything but state, reason, netdev, driver, read_at, last_change and care.
void set_settings(Port& port, const dcb::PortSettings& settings);
// The way back; empty unless it was read. What a newer daemon says in words that this version does not know is left
// out.
[[nodiscard]] std::optional<dcb::PortSettings> settings_of(const Port& port);

}    // namespace rdmaqos::api
