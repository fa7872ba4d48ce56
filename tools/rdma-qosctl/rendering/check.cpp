#include "tools/rdma-qosctl/rendering/check.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "lib/api/json.h"
#include "lib/base/text.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/rendering/world_json.h"
#include "tools/rdma-qosctl/world/reports.h"

namespace rdmaqos::ctl {

bool CheckReport::ok() const
{
    const auto accepts = [](const CheckedDevice& device) { return is_accepted(device.findings); };
    return !diagnostics.has_errors() && std::ranges::all_of(devices, accepts);
}

namespace {

// "traffic classes of eth0, virtual lanes of mlx5_1/1"; empty: nothing was looked at
std::string looked_at(const CheckedPorts& ports)
{
    std::vector<std::string> parts;
    if (!ports.interfaces.empty()) {
        parts.push_back(fmt::format("traffic classes of {}", fmt::join(ports.interfaces, ", ")));
    }
    if (!ports.compared_lanes.empty()) {
        parts.push_back(fmt::format("virtual lanes of {}", fmt::join(ports.compared_lanes, ", ")));
    }
    return fmt::format("{}", fmt::join(parts, " and "));
}

// What the rules say of them all: no more than they could see.
std::string verdict(const CheckedPorts& ports)
{
    if (!ports.findings.empty()) {
        return counted(ports.findings.size(), "finding");
    }
    return ports.unchecked.empty() ? "nothing is wrong for this policy"
                                   : "nothing is wrong for this policy in what could be checked";
}

std::string headline(const CheckedPorts& ports)
{
    const std::string what = looked_at(ports);
    if (!what.empty()) {
        return fmt::format("{}: {}", what, verdict(ports));
    }
    return ports.notes.empty() ? "traffic classes: this host has no RoCE port"
                               : "traffic classes: no RoCE port of this host could be looked at";
}

std::string render_ports(const CheckedPorts& ports, const Screen& screen)
{
    std::string text = sentence_on(screen, 0, 2, headline(ports)) + "\n";
    for (const auto& note : ports.notes) {
        text += labelled("note:", Style::Faint, note, screen, 2);
    }
    for (const auto& finding : ports.findings) {
        text += labelled("warning:", Style::Warning, fmt::format("{}: {}", finding.what, finding.why), screen, 2);
        if (finding.command.empty()) {
            continue;
        }
        text += labelled("mend:", Style::Faint,
                         finding.caution.empty() ? finding.command
                                                 : fmt::format("{} ({})", finding.command, finding.caution),
                         screen, 4);
    }
    for (const auto& [interface, what, why] : ports.unchecked) {
        text += labelled("not checked:", Style::Faint, fmt::format("{}: {}", what, why), screen, 2);
    }
    return text;
}

Json ports_json(const CheckedPorts& ports)
{
    Json findings = Json::array();
    for (const auto& finding : ports.findings) {
        Json each{{"rule", finding.rule}, {"interface", finding.interface}};
        if (finding.traffic_class) {
            each["traffic-class"] = *finding.traffic_class;
        }
        each["levels"] = finding.levels;
        each["what"] = finding.what;
        each["why"] = finding.why;
        set_text(each, "command", finding.command);
        set_text(each, "caution", finding.caution);
        findings.push_back(std::move(each));
    }
    return {{"interfaces", ports.interfaces},
            {"lanes", ports.compared_lanes},
            {"notes", ports.notes},
            {"unchecked", unchecked_json(ports.unchecked)},
            {"findings", std::move(findings)}};
}

}    // namespace

std::string render_check(const CheckReport& report, const Screen& screen)
{
    std::string text = render(report.diagnostics, screen);
    for (const auto& unresolved : report.unresolved) {
        text += labelled("note:", Style::Faint, unresolved, screen);
    }
    if (!report.devices.empty()) {
        text += sentence_on(screen, 0, 2, printable(report.note)) + "\n";
    }
    for (const auto& device : report.devices) {
        text += fmt::format("{}: {}, {}\n", printable(device.device), counted(device.elements, "element"),
                            device.leaves == 1 ? "1 leaf" : fmt::format("{} leaves", device.leaves));
        if (report.divides_devices) {
            text += sentence_on(screen, 2, 4,
                                device.classes.empty()
                                    ? "no class"
                                    : fmt::format("classes of {}", fmt::join(device.classes, ", "))) +
                    "\n";
        }
        for (const auto& [of, finding, verdict] : device.findings) {
            text += labelled(finding.is_error ? "error:" : "warning:", finding.is_error ? Style::Bad : Style::Warning,
                             to_string(finding), screen, 2);
        }
    }
    for (const auto& device : report.left_out) {
        text += sentence_on(screen, 0, 2, left_out_line(to_record(device))) + "\n";
    }
    if (report.ports) {
        text += render_ports(*report.ports, screen);
    }
    if (report.ok()) {
        return text + labelled("ok:", Style::Good,
                               fmt::format("{} in {}, revision {}", counted(report.levels, "level"),
                                           fmt::join(report.sources, ", "), report.revision),
                               screen);
    }
    return text + labelled("refused:", Style::Bad,
                           report.diagnostics.has_errors()
                               ? "correct the errors above"
                               : fmt::format("a device cannot give what is asked; {}", kAgainstUnlikeDevices),
                           screen);
}

Json check_json(const CheckReport& report)
{
    Json devices = Json::array();
    for (const auto& device : report.devices) {
        Json findings = Json::array();
        for (const auto& finding : device.findings) {
            findings.push_back(api::to_json(to_record(finding)));
        }
        devices.push_back({{"device", device.device},
                           {"elements", device.elements},
                           {"leaves", device.leaves},
                           {"classes", device.classes},
                           {"findings", std::move(findings)}});
    }
    Json left_out = Json::array();
    for (const auto& device : report.left_out) {
        left_out.push_back(api::to_json(to_record(device)));
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
    json["left-out"] = std::move(left_out);
    if (report.ports) {
        json["ports"] = ports_json(*report.ports);
    }
    return json;
}

}    // namespace rdmaqos::ctl
