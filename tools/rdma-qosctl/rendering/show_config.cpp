#include "tools/rdma-qosctl/rendering/show_config.h"

#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "lib/base/text.h"
#include "policy/load/show_config_yaml.h"

namespace rdmaqos::ctl {
namespace {

bool daemon_runs_it(const ConfigReport& report)
{
    return report.daemon && report.daemon->policy_revision == report.revision;
}

std::vector<std::string> about_trial(const ConfigReport& report)
{
    const api::Trial& trial = *report.daemon->trial;
    const std::string left = counted(trial.seconds_left, "second");
    if (!report.tried) {
        return {
            fmt::format("the running daemon tries another policy, revision {}, for {} more; its text is shown to root",
                        trial.revision, left)};
    }
    std::vector<std::string> lines{
        fmt::format("the running daemon tries another text in the place of {}, which is shown here, for {} more",
                    report.tried->name, left)};
    if (!daemon_runs_it(report)) {
        lines.emplace_back("other files have changed since it read them");
    }
    return lines;
}

// Whether the daemon runs what is shown.
std::vector<std::string> about_daemon(const ConfigReport& report)
{
    if (!report.daemon) {
        return {report.no_daemon};
    }
    if (report.daemon->trial && report.of_host) {
        return about_trial(report);
    }
    if (daemon_runs_it(report)) {
        return {"the running daemon uses this policy"};
    }
    const ManagerView& daemon = *report.daemon;
    std::vector<std::string> lines;
    if (daemon.policy_revision.empty()) {
        lines.emplace_back("the running daemon has no policy");
    } else {
        lines.push_back(fmt::format("the running daemon uses another policy: revision {} of {}", daemon.policy_revision,
                                    fmt::join(daemon.policy_sources, ", ")));
    }
    if (report.of_host) {
        lines.emplace_back(
            daemon.last_reload.accepted
                ? "the files have changed since it read them: `rdma-qosctl plan` shows what a reload would do"
                : "it has refused what it read last: `rdma-qosctl status` says why");
    }
    return lines;
}

std::string why_skipped(const SkippedFile& file)
{
    switch (file.why) {
    case WhySkipped::Masked:
        return fmt::format("masked by {}", file.masked_by.string());
    case WhySkipped::Disabled:
        return "disabled: a link to /dev/null";
    case WhySkipped::OtherName:
        return "its name does not end in .yaml";
    case WhySkipped::Ended:
        return file.ended;
    }
    return {};
}

std::string comment(std::string_view text)
{
    return "# " + printable(text) + '\n';
}

std::string commented(const std::string& lines)
{
    std::string text;
    for (const auto line : lines_of(lines)) {
        text += fmt::format("{}{}\n", line.empty() ? "#" : "#   ", line);
    }
    return text;
}

void place(Json& json, const Location& at)
{
    if (at.file) {
        json["file"] = at.file->name;
        json["line"] = at.line;
        json["column"] = at.column;
    }
}

Json node_json(const ShownNode& node);

Json keys_json(const ShownNode& mapping)
{
    Json json = Json::object();
    for (const ShownNode& child : mapping.children) {
        json[child.key] = node_json(child);
    }
    return json;
}

Json item_json(const ShownNode& item)
{
    if (item.remark.empty()) {
        return node_json(item);
    }
    Json json{{"remark", item.remark}};
    if (item.rule != 0) {
        json["number"] = item.rule;
    }
    json["keys"] = keys_json(item);
    return json;
}

Json node_json(const ShownNode& node)
{
    if (node.kind == ShownNode::Kind::Mapping) {
        return keys_json(node);
    }
    if (node.kind == ShownNode::Kind::List) {
        Json list = Json::array();
        for (const ShownNode& item : node.children) {
            list.push_back(item_json(item));
        }
        return list;
    }
    Json json{{node.kind == ShownNode::Kind::Implied ? "means" : "value", node.text}};
    if (node.is_default) {
        json["default"] = true;
    }
    place(json, node.at);
    set_text(json, "override", node.override_note);
    return json;
}

Json files_json(const ConfigReport& report)
{
    Json files = Json::array();
    for (const auto& file : report.files) {
        files.push_back({{"file", file}, {"state", "read"}});
    }
    for (const auto& file : report.skipped) {
        Json json{{"file", file.path.string()}, {"state", to_string(file.why)}};
        if (!file.masked_by.empty()) {
            json["masked-by"] = file.masked_by.string();
        }
        files.push_back(std::move(json));
    }
    return files;
}

}    // namespace

std::string render_config(const ConfigReport& report)
{
    std::string text = comment(report.of_host ? "The policy of this host, merged in this order from"
                                              : "Merged in this order from");
    for (const auto& file : report.files) {
        text += comment("  " + file);
    }
    if (!report.skipped.empty()) {
        text += comment("Not read:");
        for (const auto& file : report.skipped) {
            text += comment(fmt::format("  {}: {}", file.path.string(), why_skipped(file)));
        }
    }
    if (!report.policy.removed.empty()) {
        text += comment("Removed:");
        for (const auto& removed : report.policy.removed) {
            text += comment(fmt::format("  {} `{}` by {}", removed.kind, removed.name, removed.at.to_string()));
        }
    }
    text += comment(fmt::format("Default level: {} ({})", report.default_level, report.default_level_at.to_string()));
    text += comment("Revision: " + report.revision);
    for (const auto& line : about_daemon(report)) {
        text += comment("  " + line);
    }
    text += '\n' + to_yaml(report.policy.document);
    if (report.settings) {
        text += '\n' + comment("Settings of the daemon: " + report.settings_file) +
                commented(to_yaml(*report.settings));
    }
    return text;
}

Json config_json(const ConfigReport& report)
{
    Json json{{"revision", report.revision}};
    if (report.daemon) {
        json["daemon"] = {{"revision", report.daemon->policy_revision}, {"same", daemon_runs_it(report)}};
        if (const auto& trial = report.daemon->trial) {
            json["daemon"]["trial"] = {{"seconds-left", trial->seconds_left}, {"shown", report.tried != nullptr}};
        }
    }
    json["note"] = fmt::format("{}", fmt::join(about_daemon(report), "; "));
    json["files"] = files_json(report);
    Json removed = Json::array();
    for (const auto& object : report.policy.removed) {
        Json entry{{"kind", object.kind}, {"name", object.name}};
        place(entry, object.at);
        removed.push_back(std::move(entry));
    }
    json["removed"] = std::move(removed);
    json["default-level"] = {{"name", report.default_level}};
    place(json["default-level"], report.default_level_at);
    json["policy"] = keys_json(report.policy.document);
    if (report.settings) {
        json["settings"] = keys_json(*report.settings);
    }
    return json;
}

}    // namespace rdmaqos::ctl
