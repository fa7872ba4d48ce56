#include "tools/rdma-qosctl/rendering/check.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "lib/base/text.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/world/reports.h"

namespace rdmaqos::ctl {
namespace {

bool is_error(const Finding& finding)
{
    return finding.is_error;
}

}    // namespace

bool CheckReport::ok() const
{
    const bool unreachable = std::any_of(devices.begin(), devices.end(), [](const CheckedDevice& device) {
        return std::any_of(device.findings.begin(), device.findings.end(), is_error);
    });
    return !diagnostics.has_errors() && (degrade || !unreachable);
}

std::string render_check(const CheckReport& report, Colour colour)
{
    std::string text = render(report.diagnostics, colour);
    for (const auto& unresolved : report.unresolved) {
        text += fmt::format("{} {}\n", styled("note:", Style::Faint, colour), printable(unresolved));
    }
    if (!report.devices.empty()) {
        text += printable(report.note) + "\n";
    }
    for (const auto& device : report.devices) {
        text += fmt::format("{}: {}, {}\n", printable(device.device), counted(device.elements, "element"),
                            device.leaves == 1 ? "1 leaf" : fmt::format("{} leaves", device.leaves));
        for (const auto& finding : device.findings) {
            text += fmt::format("  {} {}\n",
                                styled(finding.is_error ? "error:" : "warning:",
                                       finding.is_error ? Style::Bad : Style::Warning, colour),
                                printable(to_string(finding)));
        }
    }
    if (report.ok()) {
        return text + fmt::format("{}: {} in {}, revision {}\n", styled("ok", Style::Good, colour),
                                  counted(report.levels, "level"), fmt::join(report.sources, ", "), report.revision);
    }
    return text + fmt::format("{}: {}\n", styled("refused", Style::Bad, colour),
                              report.diagnostics.has_errors()
                                  ? "correct the errors above"
                                  : "a device cannot give what is asked; change the policy, or set `on-unsupported: "
                                    "degrade` in rdma-qosd.yaml");
}

Json check_json(const CheckReport& report)
{
    Json devices = Json::array();
    for (const auto& device : report.devices) {
        Json findings = Json::array();
        for (const auto& finding : device.findings) {
            findings.push_back(to_json(to_dict(finding)));
        }
        devices.push_back({{"device", device.device},
                           {"elements", device.elements},
                           {"leaves", device.leaves},
                           {"findings", std::move(findings)}});
    }
    Json json{{"ok", report.ok()}, {"sources", report.sources}};
    if (!report.revision.empty()) {
        json["revision"] = report.revision;
        json["levels"] = report.levels;
        json["note"] = report.note;
    }
    json["diagnostics"] = to_json(report.diagnostics);
    json["unresolved"] = report.unresolved;
    json["devices"] = std::move(devices);
    return json;
}

}    // namespace rdmaqos::ctl
