// A policy in force for a while, in place of the host's: it goes back by itself unless it is confirmed.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/model/reload.h"
#include "lib/base/diagnostic.h"
#include "policy/model/identity.h"

namespace rdmaqos {

inline constexpr std::chrono::seconds kShortestTrial{1};
inline constexpr std::chrono::seconds kLongestTrial = std::chrono::hours(24);

// The file in whose place a text is tried.
inline constexpr std::string_view kTriedFile = "/etc/rdma-qos/policy.yaml";

struct TrialRequest {
    std::shared_ptr<const SourceFile> text;    // its name is kTriedFile
    std::chrono::seconds timeout{};
    std::shared_ptr<const Identity> who;
};

// What becomes of one.
enum class TrialStep : std::uint8_t {
    Begun,        // also in place of another one
    Confirmed,    // it is the policy of the host
    TimedOut,
    Reverted,    // by Revert
    Reloaded,    // a reload has taken the files
};
// "begun", "confirmed", "timeout", "revert", "reload"
[[nodiscard]] std::string_view to_string(TrialStep step);

struct TrialStatus {
    std::string revision;        // of the policy in force: the text with the other files of the host
    std::string goes_back_to;    // revision of the policy before
    // What stood in kTriedFile when it began: revision_of() it alone; empty: it was not there or could not be read.
    std::string file_revision;
    std::chrono::seconds left{};    // rounded up
    std::shared_ptr<const Identity> who;

    friend bool operator==(const TrialStatus&, const TrialStatus&) = default;
};

struct TrialOutcome {
    ReloadOutcome reload;
    std::optional<TrialStatus> trial;    // empty: it was refused
};

}    // namespace rdmaqos
