// From the children of a policy's root to the traffic classes of one port: plan() -> Plan. Pure.
//
//     policy                        port                                      (docs/adr/0032)
//     /
//     ├── rpc   share 70  DSCP 26   DSCP 26 ─▶ priority 1 ─▶ class 1  weight 67
//     ├── bulk  share 30  DSCP 10   DSCP 10 ─▶ priority 2 ─▶ class 2  weight 28
//     └── logs  no DSCP             all else ─▶ priority 0 ─▶ class 0  weight 5
//
// Vocabulary
//   child        a scheduling-node or a level whose parent is the root, with all below it
//   class        a traffic class of the port, 0 to 7; 0 has everything that no child has a class for
//   before       what the port was set to before anything of ours was written (record.h). It is planned from this, not
//                from what the port has now, so a change that was interrupted is continued to the same end
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/dcb/port_settings.h"
#include "lib/port_classes/rules.h"
#include "lib/tree/class_requests.h"
#include "lib/tree/compile.h"

namespace rdmaqos::port_classes {

// Who divides the port among the children of the root.
enum class Division : std::uint8_t {
    ByClasses,    // the port: attach mode `per-process` or `none`
    ByTree,       // the scheduling tree: attach mode `shared`; the port is left as it is
};

struct Options {
    Division division = Division::ByClasses;
    Bandwidth link_speed = kNominalLink;
    // Part of the link, in percent, that everything outside the policy is guaranteed. Less, down to 1, where the
    // guarantees of the policy need it.
    std::uint8_t others_percent = 5;
    // That the NIC sends congestion notifications with: they get a class of their own, in which no data waits before
    // them. It is strict with a maximum rate of 1 % of the link, or has a weight of 1 where that cannot be, as anybody
    // can send with their DSCP. Empty: none.
    std::optional<std::uint8_t> cnp_dscp{};

    friend bool operator==(const Options&, const Options&) = default;
};

// What a traffic class is for.
struct ClassUse {
    std::vector<ElementPath> children;    // several share the class
    std::vector<std::string> levels;      // their levels with a DSCP; of class 0: those that are in it after all
    std::vector<std::uint8_t> dscps;      // ascending; of class 0: only those that have an entry
    bool is_others = false;               // class 0
    bool is_notifications = false;
    double wanted = 0;     // part of the link in percent when all are busy, by exact fairness; 0: strict
    double reached = 0;    // the same with the weights of the plan

    [[nodiscard]] bool is_used() const { return is_others || is_notifications || !children.empty(); }
    friend bool operator==(const ClassUse&, const ClassUse&) = default;
};

struct Plan {
    // What the port shall be set to. Equal to what it was before where nothing is to be written; PFC and buffers always
    // are as they were.
    dcb::PortSettings wanted;
    bool has_classes = false;    // something is to be written
    std::array<ClassUse, dcb::kTrafficClasses> uses;
    std::vector<Finding> findings;     // what the port cannot do; none refuses a policy
    std::vector<std::string> notes;    // what else an administrator should know, a sentence each; see notes_of_change()

    friend bool operator==(const Plan&, const Plan&) = default;
};

[[nodiscard]] Plan plan(const Requests& requests, const dcb::PortSettings& before, const Rules& rules,
                        const Options& options);

// What else the change from one to the other means, a sentence each; nothing where it is so already.
[[nodiscard]] std::vector<std::string> notes_of_change(const dcb::PortSettings& present,
                                                       const dcb::PortSettings& wanted);

}    // namespace rdmaqos::port_classes
