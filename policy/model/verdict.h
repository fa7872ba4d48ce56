// Whether a policy is accepted. This is decided only here: for a reload, a plan, a check and a start of the daemon, and
// for the commands that work without it.
//
//     on each device:   findings of the policy that runs ─┐
//                       findings of the new policy ───────┴─▶ judge() ─▶ each of them: Harmless, Known or Refuses
//
// A change is refused only for what it makes worse. A shortfall that the running policy already has, for instance
// because a port has trained down, is no reason to refuse an unrelated change.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/diagnostic.h"
#include "lib/tree/compile.h"
#include "policy/model/settings.h"

namespace rdmaqos {

// A device that a policy is tried on.
struct DeviceTrial {
    std::string device;
    std::vector<Finding> before;    // of the policy that runs, on the device as it is now; none runs: empty
    std::vector<Finding> after;
};

enum class FindingVerdict : std::uint8_t {
    Harmless,    // a warning, or the settings say `degrade`
    Known,       // an error that the running policy already has, and at least as severely
    Refuses,
};
[[nodiscard]] std::string_view to_string(FindingVerdict verdict);    // "refuses"
// As reports have it: empty, where it does not matter.
[[nodiscard]] std::string_view reported(FindingVerdict verdict);

struct JudgedFinding {
    std::string device;
    Finding finding;
    FindingVerdict verdict = FindingVerdict::Harmless;

    friend bool operator==(const JudgedFinding&, const JudgedFinding&) = default;
};

// Those that refuse it first, else in the order of the devices and of their findings.
[[nodiscard]] std::vector<JudgedFinding> judge(const std::vector<DeviceTrial>& devices, OnUnsupported on_unsupported);
[[nodiscard]] bool is_accepted(const std::vector<JudgedFinding>& findings);

// What is wrong is in the daemon's settings alone, and nothing in the policy: each error, of which there is one, stands
// in their file.
[[nodiscard]] bool is_of_settings(const Diagnostics& diagnostics);

// A device that no policy is tried on: it is listed, and cannot refuse one.
struct LeftOutDevice {
    enum class Why : std::uint8_t { Disabled, Released };
    std::string device;
    Why why = Why::Disabled;

    friend bool operator==(const LeftOutDevice&, const LeftOutDevice&) = default;
};
[[nodiscard]] std::string_view to_string(LeftOutDevice::Why why);    // "disabled"

}    // namespace rdmaqos
