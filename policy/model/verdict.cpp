#include "policy/model/verdict.h"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

namespace rdmaqos {
namespace {

// What two findings must have in common to be compared: the same subject of the same element.
using ComparedThing = std::tuple<FindingKind, ElementPath, Gap::Unit>;

ComparedThing thing_of(const Finding& finding)
{
    return {finding.kind, finding.path, finding.gap.unit};
}

// The errors of a policy by what they are about, the worst first.
std::map<ComparedThing, std::vector<std::uint64_t>> gaps_of(const std::vector<Finding>& findings)
{
    std::map<ComparedThing, std::vector<std::uint64_t>> gaps;
    for (const auto& finding : findings) {
        if (finding.is_error) {
            gaps[thing_of(finding)].push_back(finding.gap.size);
        }
    }
    for (auto& [thing, sizes] : gaps) {
        std::ranges::sort(sizes, std::greater());
    }
    return gaps;
}

// One subject can have several errors (two levels of one class, each with a limit): the worst is compared with the
// worst, and so on. `sizes`: of this subject's, the worst first.
bool is_known(std::uint64_t size, const std::vector<std::uint64_t>& before, const std::vector<std::uint64_t>& sizes)
{
    const auto rank = static_cast<std::size_t>(std::ranges::find(sizes, size) - sizes.begin());
    const auto equals = static_cast<std::size_t>(std::ranges::count(sizes, size));
    return rank + equals <= before.size() && size <= before[rank + equals - 1];
}

}    // namespace

std::vector<JudgedFinding> judge(const std::vector<DeviceTrial>& devices, OnUnsupported on_unsupported)
{
    std::vector<JudgedFinding> judged;
    for (const auto& trial : devices) {
        auto before = gaps_of(trial.before);
        const auto after = gaps_of(trial.after);
        for (const auto& finding : trial.after) {
            auto verdict = FindingVerdict::Harmless;
            if (finding.is_error && on_unsupported == OnUnsupported::Error) {
                const auto thing = thing_of(finding);
                verdict = is_known(finding.gap.size, before[thing], after.at(thing)) ? FindingVerdict::Known
                                                                                     : FindingVerdict::Refuses;
            }
            judged.push_back({trial.device, finding, verdict});
        }
    }
    std::stable_partition(judged.begin(), judged.end(),
                          [](const JudgedFinding& one) { return one.verdict == FindingVerdict::Refuses; });
    return judged;
}

bool is_accepted(const std::vector<JudgedFinding>& findings)
{
    return std::ranges::find(findings, FindingVerdict::Refuses, &JudgedFinding::verdict) == findings.end();
}

std::string_view to_string(FindingVerdict verdict)
{
    switch (verdict) {
    case FindingVerdict::Harmless:
        return "harmless";
    case FindingVerdict::Known:
        return "known";
    case FindingVerdict::Refuses:
        return "refuses";
    }
    return "harmless";
}

std::string_view reported(FindingVerdict verdict)
{
    return verdict == FindingVerdict::Harmless ? std::string_view() : to_string(verdict);
}

bool is_of_settings(const Diagnostics& diagnostics)
{
    const auto is_elsewhere = [](const Diagnostic& diagnostic) {
        return diagnostic.severity == Severity::Error &&
               !(diagnostic.location.file && diagnostic.location.file->name.ends_with(kSettingsPath));
    };
    return diagnostics.has_errors() && std::ranges::none_of(diagnostics.all(), is_elsewhere);
}

std::string_view to_string(LeftOutDevice::Why why)
{
    return why == LeftOutDevice::Why::Disabled ? "disabled" : "released";
}

}    // namespace rdmaqos
