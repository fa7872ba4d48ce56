#include "tools/rdma-qosctl/rendering/world_text.h"

#include <fmt/format.h>

#include "lib/base/text.h"
#include "tools/rdma-qosctl/output/terminal.h"

namespace rdmaqos::ctl {
namespace {

// A line for each device, `done` says what was done, and one for each failure.
template <typename Done>
std::string render_results(const std::vector<api::DeviceResult>& results, const Screen& screen, Done done)
{
    if (results.empty()) {
        return "no device: nothing to do\n";
    }
    std::string text;
    for (const auto& result : results) {
        text += fmt::format("{}: {}\n", printable(result.device), done(result));
        for (const auto& failure : result.failures) {
            text += labelled("failure:", Style::Bad, failure.message, screen, 2);
        }
    }
    return text;
}

}    // namespace

std::string render_reconciled(const std::vector<api::DeviceResult>& results, const Screen& screen)
{
    return render_results(results, screen, [](const api::DeviceResult& result) {
        if (result.operations == 0 && result.failures.empty()) {
            return std::string("already matched the policy");
        }
        return counted(result.operations, "operation") +
               (result.failures.empty() ? "" : ", " + counted(result.failures.size(), "failure"));
    });
}

std::string render_switched(const std::vector<api::DeviceResult>& results, std::string_view done, const Screen& screen)
{
    return render_results(results, screen, [done](const api::DeviceResult& result) {
        return fmt::format("{}, {}", done, counted(result.operations, "operation"));
    });
}

std::string render_drift(const std::vector<api::Drift>& drifts, const Screen& screen)
{
    if (drifts.empty()) {
        return styled("no drift: everything is as written", Style::Good, screen) + "\n";
    }
    using Fit = Table::Fit;
    constexpr auto kLeft = Table::Align::Left;
    Table table({{"DEVICE"},
                 {"ELEMENT", kLeft, Fit::ShortenPath},
                 {"DRIFT"},
                 {"EXPECTED", kLeft, Fit::Shorten},
                 {"FOUND", kLeft, Fit::Shorten}});
    for (const auto& drift : drifts) {
        table.add({drift.device, drift.path, Cell(drift.kind, Style::Bad), drift.expected, drift.found});
    }
    return table.render(screen);
}

}    // namespace rdmaqos::ctl
