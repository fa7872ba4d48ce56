// What is known of the traffic classes of a device's port, and what is done about them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/model/metrics.h"
#include "lib/dcb/port_keeping.h"
#include "lib/dcb/port_settings.h"
#include "lib/tree/compile.h"
#include "lib/tree/element.h"

namespace rdmaqos {

enum class PortReading : std::uint8_t {
    Off,        // the settings say so
    None,       // it has no traffic classes: no network interface, InfiniBand, or a driver without DCB
    Pending,    // the kernel has not answered yet
    Read,
    Failed,
};
[[nodiscard]] std::string_view to_string(PortReading reading);

// The last change of a port, as far as the kernel's notification says.
struct PortChange {
    WallTime at{};
    std::string by;    // "the driver or its firmware"

    friend bool operator==(const PortChange&, const PortChange&) = default;
};

// What somebody else has written to a port that the daemon keeps.
struct PortDrift {
    WallTime at{};       // by the kernel's notification, or when it was read
    std::string by;      // as far as the kernel says it
    std::string what;    // "weights: class 0 100 %, maps DSCP 26 to priority 3"

    friend bool operator==(const PortDrift&, const PortDrift&) = default;
};

// The traffic class that a child of the policy's root has for itself.
struct KeptClass {
    ElementPath path;
    std::uint8_t traffic_class = 0;
    std::vector<std::uint8_t> dscps;        // whose packets are in it
    std::optional<Bandwidth> max_rate{};    // of all of them together

    friend bool operator==(const KeptClass&, const KeptClass&) = default;
};

struct PortCare {
    PortKeeping keeping = PortKeeping::Off;
    std::string reason{};    // a sentence: LeftAlone, Waiting, Failed, Stopped; and of Pending, if there is one
    std::uint64_t repairs = 0;
    std::optional<PortDrift> drift{};          // the last one
    std::vector<Finding> findings{};           // what of the policy the port cannot have
    std::vector<std::string> notes{};          // what it has otherwise, and what else may set it: sentences
    std::optional<std::uint8_t> cnp_dscp{};    // of congestion notifications, if they have a class of their own
    std::vector<KeptClass> classes{};          // when Kept
    std::uint64_t steps = 0;                   // that the port has taken since it came

    friend bool operator==(const PortCare&, const PortCare&) = default;
};

// What a policy would mean for a port.
struct PortPlanStep {
    std::string words;         // "maps DSCP 10 to priority 3"
    std::string disruption;    // "takes the link down and up"; empty: none

    friend bool operator==(const PortPlanStep&, const PortPlanStep&) = default;
};
struct PortPlan {
    std::string netdev;
    std::string classes;    // a table, before and after; empty: the daemon would set none
    std::vector<PortPlanStep> steps;
    std::vector<Finding> findings;     // what of the policy the port cannot have
    std::vector<std::string> notes;    // what else an administrator should know

    friend bool operator==(const PortPlan&, const PortPlan&) = default;
};

struct PortStatus {
    PortReading reading = PortReading::Off;
    std::string reason{};            // a sentence, when None or Failed
    std::string netdev{};            // empty: it has none
    std::string driver{};            // of the network interface: "mlx5_core"; when Read
    dcb::PortSettings settings{};    // when Read
    WallTime read_at{};              // when Read
    std::optional<PortChange> last_change{};
    std::vector<std::string> owners{};    // PortAnswer::owners, when Read
    PortCare care{};

    friend bool operator==(const PortStatus&, const PortStatus&) = default;
};

}    // namespace rdmaqos
