#include "tools/rdma-qosctl/rendering/port_classes.h"

#include <chrono>

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
    return !lossless ? "-" : *lossless ? "yes" : "no";
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

// What the daemon does about them.
std::string management(const std::string& netdev, const api::PortCare& care)
{
    const auto because = [&](std::string_view what) {
        return fmt::format("traffic classes of {}: {}{}{}", netdev, what, care.reason.empty() ? "" : ": ", care.reason);
    };
    std::string text;
    switch (care.keeping) {
    case PortKeeping::Kept:
        text = fmt::format("traffic classes of {}: set as the policy asks", netdev);
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
    if (care.repairs > 0) {
        text += fmt::format("; what others wrote was put back {}", counted(care.repairs, "time"));
    }
    if (care.drift && care.keeping != PortKeeping::Stopped) {
        text += fmt::format(", last {} by {}: {}",
                            utc_text(std::chrono::sys_seconds{std::chrono::seconds(care.drift->at)}), care.drift->by,
                            care.drift->what);
    }
    return text;
}

}    // namespace

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
    for (const auto& row : rows) {
        table.add({row.level.empty() ? "(all others)" : row.level, std::to_string(row.dscp),
                   std::to_string(row.priority), std::to_string(row.traffic_class), in_words(row.scheduling),
                   std::string(word_of(row.lossless))});
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
    of_device["port-classes"] = std::move(json);
}

}    // namespace rdmaqos::ctl
