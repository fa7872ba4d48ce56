#include "tools/rdma-qosctl/rendering/port_classes.h"

#include <chrono>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lib/api/json.h"
#include "lib/base/text.h"
#include "tools/rdma-qosctl/rendering/transient.h"
#include "tools/rdma-qosctl/world/port_levels.h"

namespace rdmaqos::ctl {
namespace {

using Align = Table::Align;
using Fit = Table::Fit;

std::string_view word_of(const std::optional<bool>& lossless)
{
    return !lossless ? "unknown" : *lossless ? "yes" : "no";
}

// "traffic classes of ens1f0np0: trust dscp; last changed ... by ..."
std::string heading(const api::Port& port)
{
    std::string text = fmt::format("traffic classes of {}, trust {}", port.netdev, port.trust);
    if (const auto& change = port.last_change) {
        text += fmt::format("; changed {} by {}", utc_text(std::chrono::sys_seconds{std::chrono::seconds(change->at)}),
                            change->by);
    }
    return text;
}

// How it stands with them, and what others have written.
std::string management(const std::string& netdev, const api::PortCare& care)
{
    std::string text = keeping_in_words(netdev, care);
    if (care.repairs > 0) {
        text += fmt::format("; what others wrote was put back {}", counted(care.repairs, "time"));
    }
    if (care.drift && care.keeping != PortKeeping::Stopped) {
        text += fmt::format("; last changed by others {}, by {}: {}",
                            utc_text(std::chrono::sys_seconds{std::chrono::seconds(care.drift->at)}), care.drift->by,
                            care.drift->what);
    }
    return text;
}

// Empty: the daemon does about them what it did, or nothing.
std::string change_of_care(const std::optional<api::Port>& before, const api::Port& now)
{
    if (!now.care) {
        return before && before->care ? fmt::format("traffic classes of {}: not set by the daemon any more", now.netdev)
                                      : "";
    }
    const api::PortCare& care = *now.care;
    if (!before || !before->care) {
        return management(now.netdev, care);
    }
    const bool is_repaired = care.repairs > before->care->repairs && care.drift;
    const std::string repair = is_repaired
                                   ? fmt::format("what {} wrote was put back: {}", care.drift->by, care.drift->what)
                                   : "";
    if (care.keeping != before->care->keeping || care.reason != before->care->reason) {
        return fmt::format("{}{}{}", keeping_in_words(now.netdev, care), is_repaired ? "; " : "", repair);
    }
    return is_repaired ? fmt::format("traffic classes of {}: {}", now.netdev, repair) : "";
}

bool are_set_alike(const api::Port& a, const api::Port& b)
{
    return api::settings_of(a) == api::settings_of(b) && a.last_change.has_value() == b.last_change.has_value() &&
           (!a.last_change || a.last_change->at == b.last_change->at);
}

}    // namespace

std::string keeping_in_words(const std::string& netdev, const api::PortCare& care)
{
    const auto because = [&](std::string_view what) {
        return fmt::format("traffic classes of {}: {}{}{}", netdev, what, care.reason.empty() ? "" : ": ", care.reason);
    };
    std::string text;
    switch (care.keeping) {
    case PortKeeping::Kept:
        text = fmt::format("traffic classes of {}: set as the policy asks{}", netdev,
                           care.findings.empty() ? "" : ", as far as the port can have it");
        break;
    case PortKeeping::LeftAlone:
        text = because("left as they are");
        break;
    case PortKeeping::Pending:
        text = because("being set");
        break;
    case PortKeeping::Waiting:
        text = care.reason + "; the daemon tries again";
        break;
    case PortKeeping::Failed:
        text = care.reason;
        break;
    case PortKeeping::Stopped:
        text = because("not set any more");
        break;
    case PortKeeping::Off:
        text = because("kept in a way that this version does not know");
        break;
    }
    return text;
}

std::string change_in_words(const std::optional<api::Port>& before, const api::Port& now)
{
    if (std::string care = change_of_care(before, now); !care.empty()) {
        return care;
    }
    const bool had_state = before && before->state == now.state && before->reason == now.reason;
    const std::string of = fmt::format("traffic classes of {}", now.netdev);
    if (now.state != api::kPortRead) {
        return had_state               ? ""
               : now.state == "failed" ? fmt::format("{} cannot be read: {}", of, now.reason)
                                       : fmt::format("{}: {}", now.netdev.empty() ? "traffic classes" : of, now.state);
    }
    if (had_state && are_set_alike(*before, now)) {
        return "";
    }
    return fmt::format("{} changed{}", of, now.last_change ? fmt::format(", by {}", now.last_change->by) : "");
}

std::string render_port_classes(const DeviceView& device, const std::vector<api::Level>& levels, const Screen& screen)
{
    const api::Port& port = device.port_classes;
    if (port.state == "failed" || port.state == "pending") {
        const bool is_undone = port.care && needs_attention(port.care->keeping);    // its reason has that of the port
        const std::string line = is_undone ? management(port.netdev, *port.care)
                                           : fmt::format("traffic classes of {}: {}", port.netdev,
                                                         port.state == "pending" ? "the kernel has not answered yet"
                                                                                 : port.reason);
        return sentence_on(screen, 0, 2, printable(line)) + "\n";
    }
    const auto rows = port_levels(device, levels);
    const std::string rest = port.care
                                 ? sentence_on(screen, 0, 2, printable(management(port.netdev, *port.care))) + "\n"
                                 : std::string();
    if (rows.empty()) {
        return rest;
    }
    Table table({{"LEVEL"},
                 {"DSCP", Align::Right},
                 {"PRIORITY", Align::Right},
                 {"CLASS", Align::Right},
                 {"GETS"},
                 {"LOSSLESS"}});
    const auto add = [&table](const std::string& name, const PortLevel& row) {
        table.add({name, std::to_string(row.dscp), std::to_string(row.priority), std::to_string(row.traffic_class),
                   in_words(row.scheduling), std::string(word_of(row.lossless))});
    };
    if (const auto notifications = port_level_of_notifications(device)) {
        add("(congestion notifications)", *notifications);
    }
    for (const auto& row : rows) {
        add(row.level.empty() ? "(all others)" : row.level, row);
    }
    return sentence_on(screen, 0, 2, printable(heading(port))) + "\n" + table.render(screen) + rest;
}

void set_port_classes(Json& of_device, const DeviceView& device, const std::vector<api::Level>& levels)
{
    if (device.port_classes.state.empty()) {
        return;    // an older daemon
    }
    Json json = api::to_json(device.port_classes);
    if (const auto rows = port_levels(device, levels); !rows.empty()) {
        json["levels"] = Json::array();
        for (const auto& row : rows) {
            Json entry = Json::object();
            set_text(entry, "level", row.level);
            entry["dscp"] = row.dscp;
            entry["priority"] = row.priority;
            entry["class"] = row.traffic_class;
            json["levels"].push_back(std::move(entry));
        }
    }
    if (const auto notifications = port_level_of_notifications(device)) {
        json["notifications"] = {{"dscp", notifications->dscp},
                                 {"priority", notifications->priority},
                                 {"class", notifications->traffic_class}};
    }
    of_device["port-classes"] = std::move(json);
}

}    // namespace rdmaqos::ctl
