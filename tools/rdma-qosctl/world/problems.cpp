#include "tools/rdma-qosctl/world/problems.h"

#include <algorithm>
#include <chrono>
#include <map>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "policy/model/transient.h"
#include "tools/rdma-qosctl/world/lost_levels.h"
#include "tools/rdma-qosctl/world/marks.h"
#include "tools/rdma-qosctl/world/online.h"
#include "tools/rdma-qosctl/world/port_levels.h"
#include "tools/rdma-qosctl/world/port_traffic.h"
#include "tools/rdma-qosctl/world/reports.h"

namespace rdmaqos::ctl {
namespace {

void find_in_manager(const ManagerView& manager, std::vector<Problem>& problems)
{
    if (manager.policy_revision.empty()) {
        problems.push_back(
            {true, "no policy is running: every request is refused",
             "`rdma-qosctl check` shows what is wrong with the files; then `systemctl reload rdma-qosd`"});
    }
    if (!manager.last_reload.accepted) {
        problems.push_back(
            {true, fmt::format("{}:\n{}", refusal_in_words(manager), to_text(manager.last_reload, Colour::Off)),
             is_of_settings(manager.last_reload)
                 ? "correct /etc/rdma-qos/rdma-qosd.yaml, then `systemctl reload rdma-qosd`; or do what the error says"
                 : "correct the files (`rdma-qosctl plan` shows the same), then `systemctl reload rdma-qosd`"});
    }
    if (!manager.fabric_diagnostics.empty()) {
        problems.push_back({true, "the fabric file cannot be used:\n" + render(manager.fabric_diagnostics, Colour::Off),
                            "correct it; it is read again automatically, and until then the fabric known so far "
                            "stays in use"});
    }
    if (!manager.adoption.unavailable.empty()) {
        problems.push_back(
            {true, fmt::format("programs that do not register are not adopted: {}", manager.adoption.unavailable), ""});
    }
    if (const auto& trial = manager.trial) {
        problems.push_back({false,
                            fmt::format("policy {} is being tried: it goes back by itself in {}", trial->revision,
                                        counted(trial->seconds_left, "second")),
                            "`rdma-qosctl confirm` keeps it, `rdma-qosctl revert` goes back now"});
    }
    if (manager.mode == "monitor") {
        problems.push_back({false, "mode is monitor: requests are answered, but nothing is written to any device",
                            "set `mode: enforce` in /etc/rdma-qos/rdma-qosd.yaml and reload"});
    }
    for (const auto& device : manager.refused_devices) {
        problems.push_back({true, fmt::format("{} is not managed: {}", device.device, device.reason),
                            "nothing of the policy holds there; the daemon tries again by itself"});
    }
    for (const auto& failure : manager.state_failures) {
        // Of one that could not be used, the message says what to do.
        problems.push_back({true, fmt::format("{}: {}", failure.file, failure.message),
                            failure.unsaved ? "see whether its file system is full, read-only or damaged; the file is "
                                              "written again with the next change"
                                            : ""});
    }
    for (const auto& key : manager.released_devices) {
        problems.push_back({false, fmt::format("{} is released: the daemon does not manage it", key),
                            fmt::format("`rdma-qosctl enable {}` manages it again", key)});
    }
}

// During a trial they differ by intention.
void find_in_files(const World& world, std::vector<Problem>& problems)
{
    const ManagerView& manager = world.manager;
    if (!world.files || manager.trial || !manager.last_reload.accepted || manager.policy_revision.empty() ||
        world.files->revision == manager.policy_revision) {
        return;
    }
    problems.push_back(
        {false,
         world.files->revision.empty()
             ? fmt::format("the policy's files have errors by now; policy {} stays in force, as they were before",
                           manager.policy_revision)
             : fmt::format("the policy's files say something else by now, revision {}, than the policy in force, {}",
                           world.files->revision, manager.policy_revision),
         "`rdma-qosctl plan` shows what a reload would do; until then they take no effect"});
}

// What of the policy does not hold between processes, and what divides the port all the same.
void find_in_attach_mode(const DeviceView& device, std::vector<Problem>& problems)
{
    const std::string key = device.key();
    const auto& port = device.port_classes;
    if (device.attach_mode == "per-process" && !device.cap_reason.empty()) {
        problems.push_back({false,
                            fmt::format("{}: caps do not follow what is measured (`cap-mode: adaptive`), and are "
                                        "divided: {}",
                                        key, device.cap_reason),
                            "`rdma-qosctl devices` says what holds of each class"});
    } else if (device.has_tree_for_each()) {
        const bool has_classes = port.care && port.care->keeping == PortKeeping::Kept;
        problems.push_back(
            {false,
             has_classes ? fmt::format("{} attaches per process: shares hold between the traffic classes of {}, "
                                       "and not between processes in one of them",
                                       key, port.netdev)
             : has_classes_in_use(device)
                 ? fmt::format("{} attaches per process: the tree does not enforce weights between processes; between "
                               "its traffic classes, {} divides the link as it is set",
                               key, port.netdev)
                 : fmt::format("{} attaches per process: weights between processes are not enforced", key),
             "`rdma-qosctl devices` says what holds of each class; in rdma-qosd.yaml, `cap-mode: adaptive` keeps "
             "shares "
             "and caps between processes, and `divide` keeps caps"});
    } else if (device.attach_mode == "none") {
        constexpr const char* kMark = "each level's packets need its DSCP: `rdma-qosctl levels` counts those that have "
                                      "another";
        problems.push_back(
            has_kept_classes(device)
                ? Problem{false,
                          fmt::format("{} cannot attach queue pairs: shares and caps hold between the traffic classes "
                                      "of {}, and not within one of them",
                                      key, port.netdev),
                          kMark}
            : has_classes_in_use(device)
                ? Problem{false,
                          fmt::format("{} cannot attach queue pairs: the tree enforces no class; between its traffic "
                                      "classes, {} divides the link as it is set",
                                      key, port.netdev),
                          kMark}
                : Problem{false, fmt::format("{} cannot attach queue pairs: no class is enforced", key),
                          "only service level, traffic class and pacing apply here"});
    }
}

void find_in_state(const DeviceView& device, std::vector<Problem>& problems)
{
    const std::string key = device.key();
    if (device.state != "ready") {
        const bool is_disabled = device.state == "disabled";
        const bool is_error = device.state != "monitor" && !is_disabled;
        problems.push_back(
            {is_error, fmt::format("{} is {}{}{}", key, device.state, device.reason.empty() ? "" : ": ", device.reason),
             is_disabled ? fmt::format("`rdma-qosctl enable {}` ends it", key)
             : is_error  ? fmt::format("`rdma-qosctl devices {}` shows the details", key)
                         : ""});
    }
    if (!device.link_up) {
        problems.push_back({false, fmt::format("{}: the link is down", key), "check the cable and the switch port"});
    }
    find_in_attach_mode(device, problems);
}

// One tree divides the port among processes: what divides it by traffic class works against the shares of the tree.
bool is_divided_by_tree(const DeviceView& device)
{
    return device.attach_mode == "shared" && device.state != "disabled" && !device.tree.empty();
}

void find_beside(const DeviceView& device, std::vector<Problem>& problems)
{
    for (const auto& shaper : device.shapers) {
        if (shaper.is_of_classes && (has_kept_classes(device) || !is_divided_by_tree(device))) {
            continue;
        }
        problems.push_back(
            {false, fmt::format("{}: {}", device.key(), shaper.what),
             fmt::format("it shapes the same port as the tree: end one of the two; `{}` shows it", shaper.command)});
    }
}

void find_in_port_classes(const DeviceView& device, std::vector<Problem>& problems)
{
    const api::Port& port = device.port_classes;
    const auto& care = port.care;
    const bool is_undone = care && needs_attention(care->keeping);
    if (port.state == "failed" && !is_undone) {
        problems.push_back(
            {false,
             fmt::format("{}: the traffic classes of {} cannot be read: {}", device.key(), port.netdev, port.reason),
             fmt::format("`dcb ets show dev {}` shows whether the kernel answers; the daemon tries again "
                         "by itself",
                         port.netdev)});
    }
    if (is_undone && care->keeping != PortKeeping::Stopped) {
        problems.push_back(
            {true, fmt::format("{}: {}", device.key(), care->reason),
             care->keeping == PortKeeping::Waiting
                 ? fmt::format("the daemon tries again; `rdma-qosctl reconcile {}` does it now", device.key())
                 : fmt::format("`rdma-qosctl reconcile {}` tries again", device.key())});
    } else if (is_undone) {
        problems.push_back({true, fmt::format("{}: {}", device.key(), care->reason),
                            fmt::format("end what else sets them, then `rdma-qosctl enable {}`", device.key())});
    }
    if (care) {
        for (const std::string& finding : care->findings) {
            // Why it is left alone is said with the port.
            if (care->keeping != PortKeeping::LeftAlone || finding != care->reason) {
                problems.push_back({false, fmt::format("{}: {}", device.key(), finding), ""});
            }
        }
        for (const std::string& note : care->notes) {
            problems.push_back({false, fmt::format("{}: {}", device.key(), note), ""});
        }
    }
    for (const auto& finding : device.lint) {
        std::string advice = finding.command.empty() ? "" : fmt::format("`{}` changes it", finding.command);
        if (!finding.caution.empty()) {
            advice += fmt::format("{}{}", advice.empty() ? "" : "; ", finding.caution);
        }
        problems.push_back(
            {false, fmt::format("{}: {}{}{}", device.key(), finding.what, finding.why.empty() ? "" : ": ", finding.why),
             std::move(advice)});
    }
}

// By counters that have everybody's traffic, also that of queue pairs that nobody sees.
void find_in_traffic(const DeviceView& device, const std::vector<api::Level>& levels, std::vector<Problem>& problems)
{
    const auto check = check_traffic(device, levels);
    if (check && port_bytes::is_outside(*check)) {
        problems.push_back({false,
                            fmt::format("{}: {}, {}", device.key(), interval_in_words(device.traffic),
                                        port_bytes::outside_in_words(*check)),
                            "some programs do not mark their packets: `rdma-qosctl why PID` shows what the queue pairs "
                            "of one carry; `rdma-qosctl env --level LEVEL` prints the variables that mark them"});
    }
}

void find_in_marks(const std::vector<api::MarkCount>& counts, std::vector<Problem>& problems)
{
    for (const auto& marks : sum_marks(counts)) {
        if (std::string wrong = wrong_in_words(marks); !wrong.empty()) {
            problems.push_back({false, std::move(wrong), how_to_mark(marks.level, marks.dscp, marks.device)});
        }
    }
}

void find_in_tree(const DeviceView& device, std::vector<Problem>& problems)
{
    const std::string key = device.key();
    for (const auto& failure : device.failures) {
        problems.push_back(
            {true, fmt::format("{}: {}", key, failure.message),
             fmt::format("the daemon retries automatically; `rdma-qosctl reconcile {}` does it now", key)});
    }
    for (const auto& element : device.tree) {
        if (element.draining) {
            problems.push_back({false,
                                fmt::format("{}: {} is draining: {} of an earlier policy still in it", key,
                                            element.path, counted(element.queue_pairs, "queue pair")),
                                "it is removed when they are closed; `rdma-qosctl sessions` shows whose they are"});
        }
    }
    for (const auto& finding : device.findings) {
        if (finding.message == device.reason) {
            continue;    // why the device is not ready: told already
        }
        const bool is_of_self_test = finding.kind == "attach-mode";
        problems.push_back(
            {false, fmt::format("{}: {}", key, finding.message),
             is_of_self_test
                 ? fmt::format("`rdma-qosctl devices {}` shows what the self-test found", key)
                 : "the device cannot do what the policy asks; `rdma-qosctl check` explains what to change"});
    }
    if (device.capabilities.scheduling && device.leaves_free == 0) {
        problems.push_back({false,
                            fmt::format("{}: all {} leaves are in use; newcomers share the fallback leaf `others`", key,
                                        device.leaves_used),
                            "set a smaller leaf-budget on fair-by levels, or use `fair-by: none`"});
    }
}

void find_monitored_levels(const std::vector<api::Level>& levels, std::vector<Problem>& problems)
{
    for (const auto& level : levels) {
        if (is_only_monitored(level)) {
            const std::uint32_t unregistered = level.unregistered;
            problems.push_back(
                {false,
                 fmt::format("level {} is only monitored, for {} of {}{}: nothing is written to a device for it",
                             level.name, counted(level.queue_pairs - unregistered, "queue pair"),
                             counted(level.sessions, "session"),
                             unregistered == 0 ? ""
                                               : fmt::format(" and {} of programs that did not register",
                                                             counted(unregistered, "queue pair"))),
                 fmt::format("set its `mode: enforce` in the policy and reload, when `rdma-qosctl {}` shows the queue "
                             "pairs that you expect",
                             unregistered == 0 ? "sessions" : "qps --level " + level.name)});
        }
    }
}

void find_without_level(const World& world, std::vector<Problem>& problems)
{
    for (const auto& lost : lost_levels(world)) {
        const std::chrono::sys_seconds at{std::chrono::seconds(lost.at)};
        problems.push_back({true,
                            fmt::format("{} of {} {} no level since {} (revision {}); they had {}, {}",
                                        counted(lost.queue_pairs, "queue pair"), counted(lost.sessions, "session"),
                                        lost.queue_pairs == 1 ? "has" : "have", utc_text(at), lost.revision, lost.level,
                                        loss_in_words(lost)),
                            advice_on_loss(lost)});
    }
}

void find_detached(const World& world, std::vector<Problem>& problems)
{
    for (const auto& session : world.sessions) {
        const auto& returned = session.grant.returned_devices;
        const std::string who = fmt::format("session {} (pid {}, {})", session.id, session.owner.pid,
                                            session.owner.command);
        if (session.state == "detached") {
            problems.push_back(
                {false, fmt::format("{} is detached: its device went away", who),
                 session.adopted
                     ? "it is adopted again when its process opens a device again"
                     : "its process must attach its queue pairs again when the device is back; restart it if "
                       "it does not"});
        } else if (!returned.empty()) {
            problems.push_back({false,
                                fmt::format("{} has not attached its queue pairs of {} again, which went away and {} "
                                            "back",
                                            who, fmt::join(returned, " and "), returned.size() == 1 ? "is" : "are"),
                                "restart the program if it does not attach them"});
        }
    }
    for (const auto& count : world.session_counts) {
        if (count.state == "detached") {
            const std::uint64_t sessions = count.sessions.value_or(0);
            problems.push_back({false,
                                fmt::format("{} {} detached: the device went away", counted(sessions, "session"),
                                            sessions == 1 ? "is" : "are"),
                                "their processes must register again; restart those that do not"});
        }
    }
}

}    // namespace

Unheld find_unenforced(const World& world)
{
    // The latter two are reported apart (find_without_level, find_monitored_levels).
    const auto is_asked_for = [](std::string_view cause) {
        return cause != "nothing-asked" && cause != "no-level" && cause != "level-monitor";
    };
    Unheld result;
    std::map<std::string, std::size_t> reasons;
    for (const auto& count : world.session_counts) {
        if (!count.cause.empty() && is_asked_for(count.cause)) {
            result.queue_pairs += count.queue_pairs.value_or(0);
            reasons[fmt::format("cause `{}`", count.cause)] += count.queue_pairs.value_or(0);
        }
    }
    for (const auto& session : world.sessions) {
        for (const auto& queue_pair : session.queue_pairs) {
            if (!queue_pair.enforced && is_asked_for(queue_pair.cause)) {
                ++result.queue_pairs;
                ++reasons[queue_pair.reason];
            }
        }
    }
    for (const auto& [reason, count] : reasons) {
        if (count > result.of_reason) {
            result.of_reason = count;
            result.reason = reason;
        }
    }
    return result;
}

std::vector<Problem> find_problems(const World& world)
{
    std::vector<Problem> problems;
    find_in_manager(world.manager, problems);
    find_in_files(world, problems);
    if (world.devices.empty() && world.manager.refused_devices.empty()) {
        problems.push_back(
            {false, "there is no device; the daemon waits for one",
             "`rdma link` shows what the kernel has; without hardware: rdma-qosd --simulate DEVICES.yaml"});
    }
    for (const auto& device : world.devices) {
        find_in_state(device, problems);
        find_in_tree(device, problems);
        find_beside(device, problems);
        find_in_port_classes(device, problems);
        find_in_traffic(device, world.manager.levels, problems);
    }
    find_in_marks(world.marks, problems);
    find_detached(world, problems);
    find_monitored_levels(world.manager.levels, problems);
    find_without_level(world, problems);
    if (const Unheld unheld = find_unenforced(world); unheld.queue_pairs > 0 && world.manager.mode != "monitor") {
        const std::string most = unheld.of_reason == unheld.queue_pairs ? ""
                                                                        : fmt::format("{} of them: ", unheld.of_reason);
        problems.push_back(
            {false,
             fmt::format("{} not held to what {} level says{}", counted(unheld.queue_pairs, "queue pair"),
                         unheld.queue_pairs == 1 ? "its" : "their",
                         unheld.reason.empty() ? "" : fmt::format(": {}{}", most, unheld.reason)),
             "the last column of `rdma-qosctl sessions` says why, for each"});
    }
    std::stable_partition(problems.begin(), problems.end(), [](const Problem& problem) { return problem.is_error; });
    return problems;
}

}    // namespace rdmaqos::ctl
