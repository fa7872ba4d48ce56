// What a reload did, or would do.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/model/device_status.h"
#include "daemon/model/level_loss.h"
#include "daemon/model/port_status.h"
#include "daemon/model/session.h"
#include "lib/base/diagnostic.h"
#include "lib/model/busy_rates.h"
#include "lib/tree/compile.h"
#include "lib/tree/plan.h"
#include "policy/model/identity.h"
#include "policy/model/policy_change.h"
#include "policy/model/verdict.h"

namespace rdmaqos {

// Lines of the host's files are for those who may read the files.
[[nodiscard]] inline Quote quote_for(const Identity& who)
{
    return who.administrator ? Quote::Lines : Quote::Nothing;
}

// The first error with its hint, and how many more there are; empty: there is none.
[[nodiscard]] std::string why_refused(const Diagnostics& diagnostics, const std::vector<JudgedFinding>& findings);

struct ReloadOutcome {
    bool accepted = false;
    std::string revision;       // of the running policy afterwards
    Diagnostics diagnostics;    // of the files
    std::vector<JudgedFinding> findings;
    std::vector<LeftOutDevice> left_out;
    std::vector<std::string> unanswered;         // devices that have not answered; they do it when they can
    std::vector<LevelLoss> losses{};             // that sessions have suffered, if it was accepted
    std::vector<DeviceFailure> failures{};       // of devices that have answered; if it was accepted
    std::string ended_trial{};                   // revision of the trial that it was the end of; empty: none
    std::vector<std::string> changed_files{};    // whose text is not that of before, if it was accepted
    // For the journal: diagnostics, findings, devices that are left out or have not answered.
    [[nodiscard]] std::string to_text() const;
    // Diagnostics or findings; a device that is left out is none.
    [[nodiscard]] bool has_warnings() const { return !diagnostics.empty() || !findings.empty(); }
    // It was refused for the settings, and for nothing in the policy.
    [[nodiscard]] bool is_of_settings() const { return is_accepted(findings) && rdmaqos::is_of_settings(diagnostics); }
    // Of one that was refused, for the error's message.
    [[nodiscard]] std::string why_refused() const { return rdmaqos::why_refused(diagnostics, findings); }
};

struct DevicePlan {
    std::string device;
    ActualState before;
    Plan plan;
    RequestedRates requested_before;
    RequestedRates requested_after;
    std::vector<JudgedFinding> findings;
    // Of classes and responders, when everything is busy. Empty where shares do not hold between processes.
    std::map<ElementPath, BusyRate> rates;
    Bandwidth link_speed;
    // The traffic classes of its port; empty: the daemon would leave them as they are.
    std::optional<PortPlan> port{};
};

// Queue pairs of a session that get another level or leaf; none: the session itself gets another level.
struct SessionChange {
    SessionId session{};
    std::shared_ptr<const Identity> owner;
    std::string device;    // empty without queue pairs
    std::string level_before;
    std::string level_after;
    std::string leaf_before;    // empty: none
    std::string leaf_after;
    std::uint32_t queue_pairs = 0;
    std::string rule_after;              // that decides then: Match::why
    std::optional<LossReason> loss{};    // if it gets none: why
};

// What a reload would do.
struct PlanReport {
    bool accepted = false;
    std::string refusal;     // ReloadOutcome::why_refused() of that reload; empty: it is accepted
    std::string revision;    // empty: there are errors in the files, and nothing else here
    Diagnostics diagnostics;
    std::vector<LevelChange> levels;
    // Rules, port groups and partitions: at most kMostPartChanges, and how many more there are.
    static constexpr std::size_t kMostPartChanges = 1000;
    std::vector<PartChange> parts;
    std::size_t more_parts = 0;
    std::vector<SessionChange> sessions;
    std::vector<LevelLoss> losses;    // of some of them
    std::vector<DevicePlan> devices;
    std::vector<LeftOutDevice> left_out;
    bool monitors = false;    // mode monitor: nothing of it is written but what puts back traffic classes of ports
};

}    // namespace rdmaqos
