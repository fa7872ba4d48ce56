#include "daemon/model/reload.h"

#include <algorithm>

#include <fmt/format.h>

#include "lib/base/text.h"

namespace rdmaqos {

std::string ReloadOutcome::to_text() const
{
    std::string text = render(diagnostics, Colour::Off);
    for (const auto& [device, finding, verdict] : findings) {
        text += fmt::format("{}: {}: {}{}\n", device, finding.is_error ? "error" : "warning", to_string(finding),
                            verdict == FindingVerdict::Known ? "; the running policy has this problem too" : "");
    }
    for (const auto& [device, why] : left_out) {
        text += fmt::format("{}: note: takes no part, because it is {}\n", device, rdmaqos::to_string(why));
    }
    for (const auto& [device, failure] : failures) {
        text += fmt::format("{}: error: {}{}\n", device, to_sentence(failure),
                            failure.is_given_up ? "" : "; this will be retried");
    }
    for (const auto& device : unanswered) {
        text += fmt::format("{}: warning: has not answered yet; it gets the policy when it does\n", device);
    }
    return text;
}

std::string why_refused(const Diagnostics& diagnostics, const std::vector<JudgedFinding>& findings)
{
    std::string first;
    std::size_t count = diagnostics.error_count();
    const auto error = std::ranges::find(diagnostics.all(), Severity::Error, &Diagnostic::severity);
    if (error != diagnostics.all().end()) {
        const std::string place = error->location.to_string();
        first = fmt::format("{}{}{}{}{}", place, place.empty() ? "" : ": ", printable(error->message),
                            error->hint.empty() ? "" : "; ", printable(error->hint));
    }
    for (const auto& [device, finding, verdict] : findings) {
        if (verdict == FindingVerdict::Refuses) {
            ++count;
            if (first.empty()) {
                first = fmt::format("{}: {}", device, to_string(finding));
            }
        }
    }
    return count > 1 ? fmt::format("{} (and {})", first, counted(count - 1, "more error")) : first;
}

}    // namespace rdmaqos
