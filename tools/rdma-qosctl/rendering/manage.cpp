#include "tools/rdma-qosctl/rendering/world_text.h"

#include <fmt/format.h>

#include "lib/base/text.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/world/online.h"

namespace rdmaqos::ctl {
namespace {

// A line for each device, `done` says what was done, and one for each failure.
template <typename Done>
std::string render_results(const std::vector<bus::Dict>& results, const Screen& screen, Done done)
{
    if (results.empty()) {
        return "no device: nothing to do\n";
    }
    std::string text;
    for (const auto& result : results) {
        text += fmt::format("{}: {}\n", printable(text_of(result, "device")), done(result));
        for (const auto& failure : dicts_of(result, "failures")) {
            text += labelled("failure:", Style::Bad, text_of(failure, "message"), screen, 2);
        }
    }
    return text;
}

}    // namespace

std::string render_reconciled(const std::vector<bus::Dict>& results, const Screen& screen)
{
    return render_results(results, screen, [](const bus::Dict& result) {
        const std::uint64_t operations = number_of(result, "operations");
        const std::size_t failures = dicts_of(result, "failures").size();
        return (operations == 0 ? "already matched the policy" : counted(operations, "operation")) +
               (failures == 0 ? "" : ", " + counted(failures, "failure"));
    });
}

std::string render_switched(const std::vector<bus::Dict>& results, std::string_view done, const Screen& screen)
{
    return render_results(results, screen, [done](const bus::Dict& result) {
        return fmt::format("{}, {}", done, counted(number_of(result, "operations"), "operation"));
    });
}

std::string render_drift(const std::vector<bus::Dict>& drifts, const Screen& screen)
{
    if (drifts.empty()) {
        return styled("no drift: every element is as written", Style::Good, screen) + "\n";
    }
    using Fit = Table::Fit;
    constexpr auto kLeft = Table::Align::Left;
    Table table({{"DEVICE"},
                 {"ELEMENT", kLeft, Fit::ShortenPath},
                 {"DRIFT"},
                 {"EXPECTED", kLeft, Fit::Shorten},
                 {"FOUND", kLeft, Fit::Shorten}});
    for (const auto& drift : drifts) {
        table.add({text_of(drift, "device"), text_of(drift, "path"), Cell(text_of(drift, "kind"), Style::Bad),
                   text_of(drift, "expected"), text_of(drift, "found")});
    }
    return table.render(screen);
}

}    // namespace rdmaqos::ctl
