// What requests are judged by now: settings, policy, what is known of the fabric; and what is wrong with the files that
// are not in force.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/service/staging.h"
#include "lib/base/diagnostic.h"
#include "lib/base/file.h"
#include "policy/load/transient_files.h"
#include "policy/model/settings.h"

namespace rdmaqos {

class PolicyInForce {
public:
    [[nodiscard]] const Settings& settings() const { return settings_; }
    void set_settings(Settings settings) { settings_ = std::move(settings); }

    [[nodiscard]] const Rules& rules() const { return rules_; }
    // Null while no valid policy has been read.
    [[nodiscard]] const std::shared_ptr<const Policy>& policy() const { return rules_.policy; }
    [[nodiscard]] std::string revision() const { return rules_.policy ? rules_.policy->revision : std::string{}; }
    // InvalidPolicy while there is none.
    [[nodiscard]] Result<void> exists() const;
    // Those of before.
    Rules replace(Rules next) { return std::exchange(rules_, std::move(next)); }
    // Null: nothing is known of it.
    void set_fabric(std::shared_ptr<const Fabric> fabric);
    [[nodiscard]] FileStamp fabric_stamp() const { return fabric_stamp_; }
    // Of the file that was read last; that of before.
    FileStamp set_fabric_stamp(FileStamp stamp) { return std::exchange(fabric_stamp_, stamp); }

    // The start counts as one.
    ReloadOutcome last_reload;
    // Why the fabric file cannot be used; what was known of the fabric before stays. Empty: it can.
    Diagnostics fabric_diagnostics;
    // As they were when the files were last read, whether the policy was taken or not.
    std::vector<TransientFile> transient_files;

private:
    Settings settings_;
    Rules rules_;
    FileStamp fabric_stamp_;
};

}    // namespace rdmaqos
