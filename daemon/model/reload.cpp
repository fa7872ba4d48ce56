#include "daemon/model/reload.h"

#include <fmt/format.h>

namespace rdmaqos {

std::string ReloadOutcome::to_string(Colour colour, Quote quote) const
{
    std::string text = render(diagnostics, colour, quote);
    for (const auto& [device, finding] : findings) {
        text += fmt::format("{}: {}: {}\n", device, finding.is_error ? "error" : "warning",
                            rdmaqos::to_string(finding));
    }
    for (const auto& device : unanswered) {
        text += fmt::format("{}: warning: has not answered yet; it gets the policy when it does\n", device);
    }
    return text;
}

}    // namespace rdmaqos
