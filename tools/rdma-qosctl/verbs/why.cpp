#include "tools/rdma-qosctl/verbs/verb.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lib/base/text.h"
#include "lib/base/try.h"
#include "tools/rdma-qosctl/offline/notifications.h"
#include "tools/rdma-qosctl/offline/offline_world.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/rendering/why.h"
#include "tools/rdma-qosctl/world/host.h"
#include "tools/rdma-qosctl/world/level_classes.h"
#include "tools/rdma-qosctl/world/mark_path.h"
#include "tools/rdma-qosctl/world/marks.h"
#include "tools/rdma-qosctl/world/not_adopted.h"
#include "tools/rdma-qosctl/world/online.h"
#include "tools/rdma-qosctl/world/program_rates.h"

namespace rdmaqos::ctl {
namespace {

// Asks the daemon, reads the port counters twice, and leaves the thinking to world/why.
struct WhyOptions {
    std::string target;                  // pid, unit or queue pair
    std::uint32_t interval_ms = 1000;    // between two readings of the port counters; 0: none
};

void add_options(CLI::App& command, WhyOptions& options)
{
    command.add_option("PID|UNIT|QP", options.target, "A process id, a unit, or [DEVICE|qp]:NUMBER")->required();
    command
        .add_option("--interval", options.interval_ms,
                    "Milliseconds between two readings of the port counters; 0: do not read them")
        ->type_name("MS")
        ->check(CLI::Range(0, 60'000));
}

constexpr const char* kProc = "/proc";

struct Reading {
    const DeviceView* device = nullptr;
    api::Counters counters{};
};

std::optional<Reading> read_counters(bus::Client& client, const DeviceView& device)
{
    const auto reply = client.call(device.object_path, kDeviceInterface, "Counters", {});
    const auto* counters = reply && reply->size() == 1 ? reply->front().as<bus::Dict>() : nullptr;
    if (counters == nullptr) {
        return std::nullopt;    // the port does not count
    }
    return Reading{&device, api::read<api::Counters>(*counters)};
}

std::vector<ProgramRate> programs_on(const std::string& device, const std::vector<PortRates>& rates,
                                     const std::set<std::uint64_t>& explained)
{
    const auto port = std::ranges::find(rates, device, &PortRates::device);
    std::vector<ProgramRate> programs = port == rates.end() ? std::vector<ProgramRate>() : port->programs;
    std::erase_if(programs,
                  [&](const ProgramRate& each) { return !each.session || !explained.contains(*each.session); });
    return programs;
}

std::vector<PortUse> measure(bus::Client& client, const World& world, const std::vector<WhySession>& sessions,
                             std::chrono::milliseconds interval)
{
    std::set<std::string> used;
    std::set<std::uint64_t> explained;
    for (const auto& session : sessions) {
        explained.insert(session.session.id);
        explained.insert(session.more_sessions.begin(), session.more_sessions.end());
        for (const auto& leaf : session.leaves) {
            used.insert(leaf.device);
        }
    }
    std::vector<Reading> before;
    for (const auto& device : world.devices) {
        if (used.contains(device.key())) {
            if (const auto reading = read_counters(client, device)) {
                before.push_back(*reading);
            }
        }
    }
    if (before.empty()) {
        return {};
    }
    const auto counters = fetch_counters(client);
    std::this_thread::sleep_for(interval);
    std::vector<PortRates> rates;
    if (counters) {
        if (const auto now = fetch_counters(client)) {
            rates = rates_between(*counters, *now, RatesBy::Session, "");
        }
    }
    std::vector<PortUse> ports;
    for (const auto& first : before) {
        const auto second = read_counters(client, *first.device);
        if (!second) {
            continue;
        }
        const auto& [sent, received, at] = first.counters;
        const auto& now = second->counters;
        const auto transmits = rate_between(sent, now.transmit_bytes, now.taken_at - at);
        const auto receives = rate_between(received, now.receive_bytes, now.taken_at - at);
        if (transmits && receives) {
            ports.push_back({first.device->key(), first.device->link_speed, *transmits, *receives,
                             programs_on(first.device->key(), rates, explained)});
        }
    }
    return ports;
}

// The level a process would get that registered now with an empty request, by the host's files.
std::string would_get(const Context& context, const std::string& pid)
{
    IdentityOptions identity;
    identity.pid = pid;
    const auto world = load_world("", context.root, "", identity);
    const auto found = world ? world->matcher->match({}, world->identity) : Result<Match>(fail(world.error()));
    if (!found) {
        return "";
    }
    return fmt::format("if it registered and asked for nothing, it would be in level {}: {}", found->level->name,
                       world->matcher->why(*found, {}, world->identity));
}

// Nobody who has a session is meant. A process that runs is worth an answer, anything else is a mistake.
Result<WhyReport> nobody(const Context& context, bus::Client& client, const api::Adoption& adoption,
                         const std::string& target)
{
    const auto number = parse_number(target);
    if (!number || !std::filesystem::exists(fmt::format("{}/{}", kProc, *number))) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("`{}` matches no registered process: give a pid, a unit (job-7.scope, globs), or a "
                                "queue pair (17, qp:17, mlx5_0:17); `rdma-qosctl sessions` lists what there is",
                                printable(target)));
    }
    WhyReport report;
    report.target = target;
    IdentityOptions options;
    options.pid = target;
    const auto identity = identity_of(options);
    report.note = fmt::format(
        "process {}{} has not registered{}: what it sends is outside the tree, without share, guarantee or cap",
        *number, identity && !identity->command.empty() ? fmt::format(" ({})", identity->command) : "",
        adoption.setting == "adopt" ? " and is not adopted" : "");
    const auto queue_pairs = fetch_host_queue_pairs(
        client, {"", static_cast<std::uint32_t>(std::min<std::uint64_t>(*number, UINT32_MAX)), "", "", false});
    report.queue_pairs = queue_pairs.value_or(
        std::vector<api::HostQueuePair>());    // a daemon that is older does not tell
    report.advice = advice_on(report.queue_pairs, adoption, sum_up(fetch_host_counts(client)).failures);
    if (auto level = would_get(context, target); !level.empty()) {
        report.advice.push_back(std::move(level));
    }
    report.advice.emplace_back("`rdma-qos-run -- COMMAND` puts the queue pairs of a program that knows nothing of the "
                               "daemon into classes; programs of your own use librdmaqos(3)");
    return report;
}

// Of adopted processes, what is outside the tree all the same.
void add_not_adopted(bus::Client& client, const api::Adoption& adoption, const std::set<std::uint64_t>& processes,
                     WhyReport& report)
{
    if (processes.empty()) {
        return;
    }
    HostFilter filter;
    if (processes.size() == 1) {
        filter.pid = static_cast<std::uint32_t>(*processes.begin());
    }
    auto queue_pairs = fetch_host_queue_pairs(client, filter);
    if (queue_pairs) {
        report.queue_pairs = not_attached(std::move(*queue_pairs), processes);
    }
    if (!report.queue_pairs.empty()) {
        report.note = fmt::format("not adopted, and so outside the tree: {}",
                                  counted(report.queue_pairs.size(), "queue pair"));
        report.advice = advice_on(report.queue_pairs, adoption);
    }
}

// To name who competes with the tree; empty if nobody does.
std::vector<api::HostQueuePair> others_outside(bus::Client& client, const World& world,
                                               const std::vector<const SessionView*>& sessions)
{
    const bool any = std::ranges::any_of(world.devices,
                                         [](const DeviceView& device) { return device.queue_pairs_outside > 0; });
    std::vector<api::HostQueuePair> others;
    if (any && !sessions.empty()) {
        others = fetch_host_queue_pairs(client, {"", {}, "", "", true}).value_or(others);
    }
    std::set<std::uint64_t> own;
    for (const auto* session : sessions) {
        own.insert(session->owner.pid);
    }
    std::erase_if(
        others, [&](const api::HostQueuePair& queue_pair) { return queue_pair.pid && own.contains(*queue_pair.pid); });
    return others;
}

std::map<std::string, std::uint8_t> notifications_of(const World& world)
{
    std::map<std::string, std::uint8_t> dscps;
    for (const auto& device : world.devices) {
        if (device.cnp_dscp) {
            dscps.emplace(device.key(), *device.cnp_dscp);
        }
    }
    return dscps;
}

// Queue pairs with what their packets carry: those of these sessions, and of all others, too, where they may be in one
// traffic class of a port with them. Empty: no level in use has a DSCP.
std::vector<api::HostQueuePair> fetch_marked(bus::Client& client, const World& world,
                                             const std::vector<const SessionView*>& sessions)
{
    if (sessions.empty() || fetch_marks(client).empty()) {    // which has the daemon ask its devices
        return {};
    }
    HostFilter filter;
    std::set<std::uint64_t> processes;
    for (const auto* session : sessions) {
        processes.insert(session->owner.pid);
    }
    const bool has_classes = std::ranges::any_of(
        world.devices, [](const DeviceView& device) { return divides(port_that_divides(device)); });
    if (processes.size() == 1 && !has_classes) {
        filter.pid = static_cast<std::uint32_t>(*processes.begin());
    }
    return fetch_host_queue_pairs(client, filter).value_or(std::vector<api::HostQueuePair>());
}

// What the packets of these sessions carry, and where in the port that leads.
std::vector<MarkPath> marks_of(const World& world, const std::vector<const SessionView*>& sessions,
                               std::vector<api::HostQueuePair> queue_pairs)
{
    std::set<std::uint64_t> ids;
    for (const auto* session : sessions) {
        ids.insert(session->id);
    }
    std::erase_if(queue_pairs,
                  [&](const api::HostQueuePair& each) { return !each.session || !ids.contains(*each.session); });
    return queue_pairs.empty() ? std::vector<MarkPath>() : trace_marks(world, queue_pairs, notifications_of(world));
}

Result<ExitStatus> why(const Context& context, const WhyOptions& options)
{
    auto client = TRY(connect(context));
    auto world = TRY(fetch_world(client));
    Result<WhyReport> report = WhyReport{};
    report->target = options.target;
    const auto sessions = sessions_of(world, options.target);
    auto marked = fetch_marked(client, world, sessions);
    take_marks(marked, world);
    find_notifications(world, context.root);
    const auto outside = others_outside(client, world, sessions);
    report->sessions = explain_sessions(world, sessions, outside);
    const api::Adoption& adoption = world.manager.adoption;
    if (sessions.empty()) {
        report = nobody(context, client, adoption, options.target);
        if (!report) {
            return fail(report.error());
        }
    } else {
        if (options.interval_ms > 0) {
            report->ports = measure(client, world, report->sessions, std::chrono::milliseconds(options.interval_ms));
            judge_by_use(world, report->ports, report->sessions);
        }
        report->marks = marks_of(world, sessions, std::move(marked));
        add_not_adopted(client, adoption, adopted_processes(sessions), *report);
    }
    print(context.json ? to_text(why_json(*report)) : render_why(*report, context.screen));
    return ExitStatus::Ok;
}

}    // namespace

extern const Verb kWhyVerb{
    .name = "why",
    .summary = "Explain why a process gets what it gets: its place in the tree, the bottleneck, and the remedy",
    .examples = "  rdma-qosctl why 4711                           a process, or a queue pair of this number\n"
                "  rdma-qosctl why 'job-7*.scope'                 the processes of a unit\n"
                "  rdma-qosctl why mlx5_0:17                      whoever has queue pair 17 on mlx5_0",
    .paged = true,
    .prepare = with_options<WhyOptions, add_options, why>,
};

}    // namespace rdmaqos::ctl
