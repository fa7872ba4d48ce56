#include "tools/rdma-qosctl/rendering/world_text.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "lib/api/json.h"
#include "lib/base/text.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/rendering/devices.h"
#include "tools/rdma-qosctl/rendering/marks.h"
#include "tools/rdma-qosctl/rendering/port_classes.h"
#include "tools/rdma-qosctl/rendering/transient.h"
#include "tools/rdma-qosctl/rendering/world_json.h"
#include "tools/rdma-qosctl/world/lost_levels.h"
#include "tools/rdma-qosctl/world/online.h"

namespace rdmaqos::ctl {
namespace {

constexpr std::size_t kLinesOfAProblem = 12;

std::string describe_policy(const ManagerView& manager)
{
    if (manager.policy_revision.empty()) {
        return "none";
    }
    return fmt::format("{} from {}", manager.policy_revision, fmt::join(manager.policy_sources, ", "));
}

std::string describe_trial(const api::Trial& trial)
{
    return fmt::format("{} left, then back from {} to {}; begun by {}, pid {}", counted(trial.seconds_left, "second"),
                       trial.revision, trial.goes_back_to, trial.user, trial.pid);
}

// The last reload of a host that tries a policy is that of the trial, which is no good one.
std::string describe_last_reload(const ManagerView& manager)
{
    const ReloadView& reload = manager.last_reload;
    const bool has_time = manager.last_good_reload != std::chrono::sys_seconds{} && !manager.trial;
    const std::string time = has_time ? utc_text(manager.last_good_reload) : "";
    if (!reload.accepted) {
        return std::string(is_of_start(manager) ? "none since the start, which had an error, see below"
                                                : "refused, see below") +
               (has_time ? "; the last good one was at " + time : "");
    }
    const std::size_t warnings = reload.diagnostics.warning_count();
    return fmt::format("accepted{}{}", warnings == 0 ? "" : " with " + counted(warnings, "warning"),
                       has_time ? ", " + time : "");
}

std::string describe_levels(const ManagerView& manager)
{
    const auto scheduled = std::count_if(manager.levels.begin(), manager.levels.end(),
                                         [](const api::Level& level) { return !level.class_path.empty(); });
    return fmt::format("{}, {} scheduled", manager.levels.size(), scheduled);
}

std::string describe_sessions(const World& world)
{
    std::set<std::uint32_t> users;
    for (const auto& session : world.sessions) {
        users.insert(session.owner.uid);
    }
    for (const auto& count : world.session_counts) {
        if (count.uid) {
            users.insert(*count.uid);
        }
    }
    std::uint64_t inside = 0;
    std::uint64_t outside = 0;
    for (const auto& session : world.sessions) {
        for (const auto& queue_pair : session.queue_pairs) {
            ++(queue_pair.leaf.empty() ? outside : inside);
        }
    }
    if (session_count(world) == 0) {
        return "none";
    }
    return fmt::format("{} of {}; {}: {} in a leaf, {} in none", session_count(world), counted(users.size(), "user"),
                       counted(inside + outside, "queue pair"), inside, outside);
}

// "3 queue pairs of 2 sessions (was: rpc, bulk)"; empty: none.
std::string describe_without_level(const World& world)
{
    std::set<std::string> levels;
    std::set<std::uint64_t> sessions;
    std::size_t queue_pairs = 0;
    for (const auto& session : world.sessions) {
        const auto note = [&](const std::optional<api::Lost>& lost) {
            if (lost) {
                levels.insert(lost->level);
                sessions.insert(session.id);
            }
            return lost.has_value();
        };
        static_cast<void>(note(session.grant.lost));
        queue_pairs += static_cast<std::size_t>(
            std::ranges::count_if(session.queue_pairs, note, &api::QueuePair::lost));
    }
    std::uint64_t session_count = sessions.size();
    if (!world.session_counts.empty()) {
        for (const auto& lost : lost_levels(world)) {
            levels.insert(lost.level);
            session_count += lost.sessions;
            queue_pairs += lost.queue_pairs;
        }
    }
    return levels.empty() ? ""
                          : fmt::format("{} of {}, formerly in {}", counted(queue_pairs, "queue pair"),
                                        counted(session_count, "session"), fmt::join(levels, ", "));
}

std::string describe_adoption(const api::Adoption& adoption)
{
    if (adoption.setting != "adopt") {
        return fmt::format("off (unregistered: {})", adoption.setting);
    }
    if (!adoption.unavailable.empty()) {
        return "unavailable, see below";
    }
    return fmt::format("on: {}, {}", counted(adoption.programs, "program"),
                       counted(adoption.queue_pairs, "queue pair"));
}

std::string indented(std::string_view text, std::string_view indent)
{
    std::string result;
    const auto lines = lines_of(text);
    for (std::size_t i = 0; i < std::min(lines.size(), kLinesOfAProblem); ++i) {
        result += fmt::format("{}{}\n", i == 0 ? "" : indent, printable(lines[i]));
    }
    if (lines.size() > kLinesOfAProblem) {
        result += fmt::format("{}... (the rest: rdma-qosctl status --json)\n", indent);
    }
    return result;
}

// One line for all interfaces; `check --host` has the details.
std::string render_unchecked(const std::vector<port_lint::Unchecked>& unchecked, const Screen& screen)
{
    std::vector<std::string> interfaces;
    for (const auto& each : unchecked) {
        if (std::ranges::find(interfaces, each.interface) == interfaces.end()) {
            interfaces.push_back(each.interface);
        }
    }
    return interfaces.empty() ? ""
                              : labelled("not checked:", Style::Faint,
                                         fmt::format("parts of the settings of {}: `rdma-qosctl check --host` says "
                                                     "which, and why",
                                                     fmt::join(interfaces, ", ")),
                                         screen, 2);
}

// The daemon does not read traffic classes of the port, by its settings.
bool has_classes_off(const DeviceView& device)
{
    return device.port_classes.state == "off" && device.link_layer != "InfiniBand";
}

std::string render_classes_off(const Screen& screen)
{
    return labelled("not checked:", Style::Faint,
                    "traffic classes of ports, which the daemon does not read (`port-classes: off` in rdma-qosd.yaml): "
                    "`rdma-qosctl check --host` reads them",
                    screen, 2);
}

std::string render_problems(const std::vector<Problem>& problems, bool is_all_checked, const Screen& screen)
{
    const std::string nothing = styled(
        is_all_checked ? "nothing is wrong" : "nothing is wrong in what could be checked", Style::Good, screen);
    if (problems.empty()) {
        return nothing + "\n";
    }
    const auto errors = static_cast<std::size_t>(
        std::count_if(problems.begin(), problems.end(), [](const Problem& problem) { return problem.is_error; }));
    const std::size_t notes = problems.size() - errors;
    std::string text = errors == 0 ? nothing : counted(errors, "problem");
    text += notes == 0 ? ":\n" : fmt::format(", {} worth knowing:\n", counted(notes, "thing"));
    for (const auto& problem : problems) {
        const std::string_view kind = problem.is_error ? "problem:" : "note:";
        // What has lines of its own has places marked in them.
        const bool is_sentence = problem.what.find('\n') == std::string::npos;
        text += fmt::format("  {} {}", styled(kind, problem.is_error ? Style::Bad : Style::Warning, screen),
                            is_sentence ? sentence_on(screen, kind.size() + 3, 4, printable(problem.what)) + "\n"
                                        : indented(problem.what, "    "));
        if (!problem.advice.empty()) {
            text += fmt::format("    -> {}\n", sentence_on(screen, 7, 7, printable(problem.advice)));
        }
    }
    return text;
}

Json lost_level_json(const LostLevelView& lost)
{
    Json json{{"level", lost.level}, {"reason", lost.reason}, {"revision", lost.revision}, {"at", lost.at}};
    set_text(json, "renamed-to", lost.renamed_to);
    json["sessions"] = lost.sessions;
    json["queue-pairs"] = lost.queue_pairs;
    return json;
}

Json trial_json(const api::Trial& trial)
{
    Json json{{"revision", trial.revision},
              {"goes-back-to", trial.goes_back_to},
              {"seconds-left", trial.seconds_left},
              {"user", trial.user},
              {"pid", trial.pid}};
    set_text(json, "command", trial.command);
    return json;
}

}    // namespace

std::string render_status(const World& world, const std::vector<Problem>& problems, const Screen& screen)
{
    const ManagerView& manager = world.manager;
    Fields fields;
    fields.add("daemon", fmt::format("rdma-qosd {}", manager.version));
    fields.add("mode", manager.mode, manager.mode == "enforce" ? Style::Plain : Style::Warning);
    fields.add("policy", describe_policy(manager), manager.policy_revision.empty() ? Style::Bad : Style::Plain);
    if (manager.trial) {
        fields.add("trial", describe_trial(*manager.trial), Style::Warning);
    }
    fields.add("last reload", describe_last_reload(manager), manager.last_reload.accepted ? Style::Plain : Style::Bad);
    fields.add("levels", describe_levels(manager));
    if (const auto overrides = overrides_of(manager.levels); !overrides.empty()) {
        fields.add("overrides", describe_overrides(overrides, world.at), Style::Warning);
    }
    fields.add("sessions", describe_sessions(world));
    if (const std::string lost = describe_without_level(world); !lost.empty()) {
        fields.add("without level", lost, Style::Bad);
    }
    if (const api::Adoption& adoption = manager.adoption; !adoption.setting.empty()) {
        fields.add("adoption", describe_adoption(adoption), adoption.unavailable.empty() ? Style::Plain : Style::Bad);
    }
    const HostSummary host = sum_up(world.host_counts);
    if (!world.host_counts.empty()) {
        fields.add("host", describe_host(host));
    }
    std::string text = fields.render(screen);
    text += "\n";
    if (has_any_device(world)) {
        text += render_devices(world, screen) + "\n";
    }
    for (const auto& device : world.devices) {
        if (const std::string classes = render_port_classes(device, manager.levels, screen); !classes.empty()) {
            text += classes + "\n";
        }
    }
    if (world.host_counts.empty()) {
        text += manager.adoption.setting == "adopt"
                    ? "Only processes that registered or were adopted are governed: other RDMA traffic\n"
                      "of this host is outside the tree and competes with it.\n\n"
                    : "Only processes that registered are governed: other RDMA traffic of this host\n"
                      "is outside the tree and competes with it.\n\n";
    } else if (host.outside > 0) {
        text += "What queue pairs in no leaf send competes with the whole tree; `rdma-qosctl qps --outside`\n"
                "lists them.\n\n";
    }
    for (const auto& failure : host.failures) {
        text += fmt::format("{}\n\n", sentence_on(screen, 0, 2, printable(failure)));
    }
    const bool is_off = std::ranges::any_of(world.devices, has_classes_off);
    text += render_problems(problems, world.unchecked.empty() && !is_off, screen);
    text += is_off ? render_classes_off(screen) : "";
    text += render_unchecked(world.unchecked, screen);
    return text;
}

Json status_json(const World& world, const std::vector<Problem>& problems)
{
    const ManagerView& manager = world.manager;
    Json json{{"version", manager.version}, {"mode", manager.mode}, {"features", manager.features}};
    Json policy = Json::object();
    set_text(policy, "revision", manager.policy_revision);
    policy["sources"] = manager.policy_sources;
    policy["last-reload"] = reload_json(manager.last_reload);
    if (manager.last_good_reload != std::chrono::sys_seconds{}) {
        policy["last-good-reload"] = manager.last_good_reload.time_since_epoch().count();
    }
    policy["levels"] = manager.levels.size();
    if (world.files) {
        policy["files"] = {{"valid", !world.files->revision.empty()}};
        set_text(policy["files"], "revision", world.files->revision);
    }
    if (manager.trial) {
        policy["trial"] = trial_json(*manager.trial);
    }
    json["policy"] = std::move(policy);
    json["overrides"] = Json::array();
    const auto overrides = overrides_of(manager.levels);
    for (const auto& view : overrides) {
        json["overrides"].push_back(override_json(view));
    }
    json["fabric-diagnostics"] = to_json(manager.fabric_diagnostics);
    std::uint64_t inside = 0;
    std::uint64_t outside = 0;
    json["devices"] = Json::array();
    for (const auto& device : world.devices) {
        inside += device.queue_pairs_inside;
        outside += device.queue_pairs_outside;
        json["devices"].push_back(device_json(device));
        set_port_classes(json["devices"].back(), device, manager.levels);
        set_traffic(json["devices"].back(), device, manager.levels);
    }
    json["refused-devices"] = api::to_json(manager.refused_devices);
    json["state-failures"] = api::to_json(manager.state_failures);
    json["released-devices"] = manager.released_devices;
    json["sessions"] = session_count(world);
    json["queue-pairs"] = {{"inside", inside}, {"outside", outside}};
    json["without-level"] = Json::array();
    for (const auto& lost : lost_levels(world)) {
        json["without-level"].push_back(lost_level_json(lost));
    }
    json["host"] = api::to_json(world.host_counts);
    json["marks"] = api::to_json(world.marks);
    if (!manager.adoption.setting.empty()) {
        json["adoption"] = api::to_json(manager.adoption);
    }
    json["statistics"] = to_json(manager.statistics);
    json["ok"] = std::none_of(problems.begin(), problems.end(),
                              [](const Problem& problem) { return problem.is_error; });
    json["problems"] = Json::array();
    for (const auto& problem : problems) {
        Json entry{{"severity", problem.is_error ? "error" : "warning"}, {"what", problem.what}};
        set_text(entry, "advice", problem.advice);
        json["problems"].push_back(std::move(entry));
    }
    auto unchecked = world.unchecked;
    for (const auto& device : world.devices) {
        if (has_classes_off(device)) {
            unchecked.push_back({device.netdev, "traffic classes",
                                 "the daemon does not read them (`port-classes: off` in rdma-qosd.yaml)"});
        }
    }
    json["unchecked"] = unchecked_json(unchecked);
    return json;
}

}    // namespace rdmaqos::ctl
