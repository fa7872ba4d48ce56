// What network drivers do with the settings of traffic classes: a row for each driver.
//
// Most facts are from the source of the drivers (Linux 6.1 and later) and were never tried on a card: a row says so.
// Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/dcb/port_settings.h"

namespace rdmaqos::dcb {

enum class Evidence : std::uint8_t {
    MemoryDevice,    // the driver of a stock kernel was run on a device that exists in memory
    Source,          // from the driver's source, never tried
};
[[nodiscard]] std::string_view to_string(Evidence evidence);    // "from source, never tried"

enum class Access : std::uint8_t {
    None,    // the driver does not have it
    Read,
    Write,
};

// The sum of the weights of all traffic classes with ETS, if there are any.
enum class WeightSum : std::uint8_t {
    Exactly100,
    AtMost100,
};

enum class ZeroWeight : std::uint8_t {
    Refused,
    Allowed,
    AllowedBelow100,    // refused if the weights of the others sum to 100, since nothing would be left
};

// What a write disturbs.
enum class Disruption : std::uint8_t {
    None,
    Queues,       // the send and receive queues of the interface are made again; the link stays up
    Link,         // the link goes down and up
    Interface,    // the interface is closed and opened again, and RDMA with it
};
[[nodiscard]] std::string_view in_words(Disruption disruption);    // "takes the link down and up"; "" for none

// Which write has it.
struct Disruptions {
    Disruption weights = Disruption::None;       // of ETS, with the same classes of priorities
    Disruption priorities = Disruption::None;    // of ETS: another class of a priority, or another number of classes
    Disruption max_rates = Disruption::None;
    Disruption first_app = Disruption::None;    // the first entry with a DSCP, and the deletion of the last one
    Disruption apps = Disruption::None;         // every other entry
    Disruption pfc = Disruption::None;          // which we never write
};

// Which mode of DCBX the driver must be in before it takes settings; otherwise it answers EINVAL.
enum class HostDcbx : std::uint8_t {
    Always,         // it is in host mode and has no other
    Advised,        // it takes settings in any mode; unless in host mode, the firmware may overwrite them
    Settable,       // host mode is set by DCB netlink
    AgentOff,       // the agent in the firmware must be turned off first, which DCB netlink cannot do
    Operational,    // the other way round: only while DCBX is operational, in IEEE mode
};

// Maximum rates are whole steps.
struct RateStep {
    Bandwidth up_to;    // with this step
    Bandwidth step;
};

// 0: no selector of ours.
inline constexpr std::uint8_t selector_bit(Selector selector)
{
    return selector > Selector::Dscp ? std::uint8_t{0}
                                     : static_cast<std::uint8_t>(1U << static_cast<unsigned>(selector));
}

struct Driver {
    std::string_view name;        // as the link /sys/class/net/*/device/driver says: "mlx5_core"
    std::string_view hardware;    // in words: "NVIDIA ConnectX-4 and later"
    std::string_view rdma;        // its RDMA driver: "mlx5_ib"
    Evidence evidence = Evidence::Source;

    // ---- ETS ----
    Access ets = Access::None;
    WeightSum weight_sum = WeightSum::Exactly100;
    ZeroWeight zero_weight = ZeroWeight::Allowed;
    std::optional<std::uint8_t> classes = std::nullopt;    // empty: the card says it (Ets::classes)
    bool starts_swapped = false;    // priority 0 is in class 1 at first, and priority 1 in class 0
    bool atomic = true;             // false: an ETS that is refused may be half written
    // A class that no priority is in must be strict, which means nothing there; with ETS it may be refused.
    bool unused_must_be_strict = false;
    bool contiguous_classes = false;    // class 0 to the highest in use, none left out

    // ---- maximum rates ----
    Access max_rates = Access::None;
    std::span<const RateStep> rate_steps = {};    // ascending; the last one's `up_to` is the largest rate
    bool rates_round_up = false;                  // by the driver; otherwise down

    // ---- application table ----
    std::uint8_t selectors = 0;           // selector_bit() of those that the driver takes
    bool ignores_other_apps = false;      // the kernel keeps entries with other selectors, without effect
    bool replaces_apps = false;           // a new priority of a DSCP replaces the old one; otherwise both stay
    bool deletes_apps = true;             // false: the kernel deletes an entry, and the NIC goes on as with it
    bool keeps_refused_apps = false;      // the kernel's table has an entry although the driver refused it
    bool dscp_is_class = false;           // the priority of an entry with a DSCP is the class itself
    bool delete_before_remap = false;     // a DSCP that has an entry is refused until that is deleted
    bool first_app_resets_ets = false;    // all classes but the first lose their weight
    // What a DSCP without an entry gets, while others have one, is the firmware's map, which cannot be read; else 0.
    bool unlisted_dscp_unknown = false;

    HostDcbx host_dcbx = HostDcbx::Always;
    Disruptions disrupts = {};

    [[nodiscard]] constexpr bool has_dcb() const
    {
        return ets != Access::None || max_rates != Access::None || selectors != 0;
    }
    [[nodiscard]] constexpr bool takes(Selector selector) const { return (selectors & selector_bit(selector)) != 0; }
    // Whether shares between traffic classes can be made with it: weights, and a DSCP that leads to a class.
    [[nodiscard]] constexpr bool can_be_managed() const { return ets == Access::Write && takes(Selector::Dscp); }
};

// All rows.
[[nodiscard]] std::span<const Driver> drivers();
// By its name; null: there is no row, so nothing is known.
[[nodiscard]] const Driver* find_driver(std::string_view name);

// ---- what a driver makes of numbers ----

using MaxRates = std::array<std::optional<Bandwidth>, kTrafficClasses>;

// The largest maximum rate that a driver takes; empty: it has none at all.
[[nodiscard]] std::optional<Bandwidth> largest_rate(const Driver& driver);
// The rate that the NIC has instead of this one, which write_port() writes: whole steps, and at least one, since zero
// means no limit. Empty: the driver has no maximum rates, the rate is above its largest, or zero.
[[nodiscard]] std::optional<Bandwidth> rounded_rate(const Driver& driver, Bandwidth rate);

// Weights that a driver takes and that are as near to these parts as it allows. `parts`: of each class, in any unit;
// empty: not with ETS (its weight is 0). At least 1 for each class with a part above 0, and for each of 0 where the
// driver refuses zeros. They sum to 100, if a class has a part above 0.
[[nodiscard]] std::array<std::uint8_t, kTrafficClasses>
weights_of(const Driver& driver, const std::array<std::optional<std::uint64_t>, kTrafficClasses>& parts);

// Why a driver would refuse these settings; one sentence without a full stop for each reason, empty: it takes them.
// `classes`: how many the port has.
[[nodiscard]] std::vector<std::string> objections(const Driver& driver, const Ets& ets, std::uint8_t classes);
[[nodiscard]] std::vector<std::string> objections(const Driver& driver, const MaxRates& rates);
// `now`: the settings that the port has.
[[nodiscard]] std::vector<std::string> objections(const Driver& driver, const AppEntry& entry, const PortSettings& now);

}    // namespace rdmaqos::dcb
