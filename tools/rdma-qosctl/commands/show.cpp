#include "tools/rdma-qosctl/commands/show.h"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/utsname.h>

#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/base/version.h"
#include "lib/shapers/shapers.h"
#include "policy/load/host_files.h"
#include "tools/rdma-qosctl/offline/files.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/rendering/devices.h"
#include "tools/rdma-qosctl/rendering/hardware_report.h"
#include "tools/rdma-qosctl/rendering/host.h"
#include "tools/rdma-qosctl/rendering/levels.h"
#include "tools/rdma-qosctl/rendering/sessions.h"
#include "tools/rdma-qosctl/rendering/status.h"
#include "tools/rdma-qosctl/rendering/world_json.h"
#include "tools/rdma-qosctl/world/busy_rates.h"
#include "tools/rdma-qosctl/world/hardware_report.h"
#include "tools/rdma-qosctl/world/online.h"
#include "tools/rdma-qosctl/world/problems.h"

namespace rdmaqos::ctl {
namespace {

constexpr std::size_t kPrincipalsShown = 16;
constexpr std::size_t kSessionsShown = 100;
constexpr std::string_view kForAnyReason = "true";    // as the parser of options has a flag without a value

enum class Sessions : std::uint8_t { Needed, NotNeeded };

Result<World> ask(const Context& context, Sessions sessions)
{
    auto client = connect(context);
    if (!client) {
        return fail(client.error());
    }
    return sessions == Sessions::Needed ? fetch_world(*client) : fetch_devices(*client);
}

struct Chosen {
    World world;
    std::vector<const DeviceView*> devices;    // of the world: all, or those that are named
};

Result<Chosen> ask_for(const Context& context, const std::vector<std::string>& names,
                       Sessions sessions = Sessions::NotNeeded)
{
    auto world = ask(context, sessions);
    if (!world) {
        return fail(world.error());
    }
    Chosen chosen{std::move(*world), {}};
    if (names.empty()) {
        for (const auto& device : chosen.world.devices) {
            chosen.devices.push_back(&device);
        }
    }
    for (const auto& name : names) {
        const auto device = find_device(chosen.world, name);
        if (!device) {
            return fail(device.error());
        }
        chosen.devices.push_back(*device);
    }
    return chosen;
}

// Of an option that names one device, or none.
std::vector<std::string> names_of(const std::string& device)
{
    return device.empty() ? std::vector<std::string>{} : std::vector{device};
}

HostView this_host()
{
    utsname names{};
    if (uname(&names) != 0) {
        return {"not known", "", kVersion};
    }
    return {names.release, names.machine, kVersion};
}

std::optional<FilesView> files_on_disk(const std::string& root)
{
    for (const auto& path : host_policy_files(root)) {
        if (const auto text = read_regular_file(below_root(root, path), kMaxConfigFileSize);
            !text && text.error().sys_errno == EACCES) {
            return std::nullopt;
        }
    }
    const auto read = load_policy({}, root);
    return FilesView{read.value ? read.value->revision : ""};
}

// Simulated devices are on no host.
void find_other_shapers(World& world)
{
    for (auto& device : world.devices) {
        if (device.driver == "mlx5") {
            device.shapers = shapers::find_shapers(device.netdev, device.pci_address, "/sys");
        }
    }
}

}    // namespace

Result<ExitStatus> status(const Context& context, bool fail_on_problems)
{
    auto client = connect(context);
    if (!client) {
        return fail(client.error());
    }
    auto world = fetch_summary(*client);
    if (!world) {
        return fail(world.error());
    }
    world->files = files_on_disk(context.root);
    find_other_shapers(*world);
    const auto problems = find_problems(*world);
    print(context.json ? to_text(status_json(*world, problems)) : render_status(*world, problems, context.screen));
    const bool wrong = std::any_of(problems.begin(), problems.end(),
                                   [](const Problem& problem) { return problem.is_error; });
    return fail_on_problems && wrong ? ExitStatus::Found : ExitStatus::Ok;
}

Result<ExitStatus> tree(const Context& context, const TreeOptions& options)
{
    const auto chosen = ask_for(context, options.devices, options.busy ? Sessions::Needed : Sessions::NotNeeded);
    if (!chosen) {
        return fail(chosen.error());
    }
    std::vector<BusyRates> rates;
    for (const auto* each : chosen->devices) {
        if (options.busy) {
            rates.push_back(busy_rates(chosen->world, *each));
        }
    }
    if (context.json) {
        print(to_text(trees_json(chosen->devices, rates)));
        return ExitStatus::Ok;
    }
    std::vector<DeviceTree> trees;
    for (std::size_t i = 0; i < chosen->devices.size(); ++i) {
        trees.push_back({chosen->devices[i], options.busy ? &rates[i] : nullptr});
    }
    print(render_device_trees(trees, options.all ? 0 : kPrincipalsShown, context.screen));
    return ExitStatus::Ok;
}

Result<ExitStatus> levels(const Context& context)
{
    auto client = connect(context);
    if (!client) {
        return fail(client.error());
    }
    const auto manager = fetch_manager(*client);
    if (!manager) {
        return fail(manager.error());
    }
    print(context.json ? to_text({{"levels", to_json(manager->levels)}})
                       : render_levels(manager->levels, context.screen));
    return ExitStatus::Ok;
}

Result<ExitStatus> devices(const Context& context, const std::string& device)
{
    const auto chosen = ask_for(context, names_of(device));
    if (!chosen) {
        return fail(chosen.error());
    }
    if (context.json) {
        print(to_text(devices_json(chosen->devices, device.empty() ? &chosen->world.manager : nullptr)));
    } else {
        print(device.empty() ? render_devices(chosen->world, context.screen)
                             : render_device(*chosen->devices.front(), context.screen));
    }
    return ExitStatus::Ok;
}

Result<ExitStatus> hardware_report(const Context& context, const HardwareReportOptions& options)
{
    const auto chosen = ask_for(context, names_of(options.device));
    if (!chosen) {
        return fail(chosen.error());
    }
    const auto report = make_hardware_report(this_host(), chosen->world.manager.version, chosen->devices,
                                             options.guids ? Guids::Shown : Guids::Masked);
    print(context.json ? to_text(hardware_report_json(report)) : render_hardware_report(report, context.screen));
    return ExitStatus::Ok;
}

Result<ExitStatus> sessions(const Context& context, const SessionFilter& filter)
{
    const auto pid = parse_number(filter.pid);
    if (!filter.pid.empty() && !pid) {
        return fail(ErrorCode::InvalidArgument, fmt::format("`{}` is not a process id", printable(filter.pid)));
    }
    auto world = ask(context, Sessions::Needed);
    if (!world) {
        return fail(world.error());
    }
    const auto has_level = [&](const SessionView& session) {
        const auto names_it = [&](const bus::Dict& dict) {    // also as the one that a reload took
            return equals_ignoring_case(text_of(dict, "level"), filter.level) ||
                   equals_ignoring_case(text_of(dict, "lost-level"), filter.level);
        };
        return equals_ignoring_case(session.level, filter.level) || names_it(session.grant) ||
               std::ranges::any_of(session.queue_pairs, names_it);
    };
    std::erase_if(world->sessions, [&](const SessionView& session) {
        return (pid && number_of(session.owner, "pid") != *pid) || (!filter.level.empty() && !has_level(session));
    });
    const std::size_t most = context.on_terminal && !filter.all ? kSessionsShown : 0;
    print(context.json ? to_text(sessions_json(world->sessions))
                       : render_sessions(world->sessions, most, context.screen));
    return ExitStatus::Ok;
}

Result<ExitStatus> host_queue_pairs(const Context& context, const HostQueuePairOptions& options)
{
    HostFilter filter{options.device, {}, options.level, options.unit, !options.outside.empty()};
    if (filter.outside && options.outside != kForAnyReason) {
        std::istringstream words(options.outside);
        for (std::string word; std::getline(words, word, ',');) {
            filter.reasons.emplace(without_blanks(word));
        }
    }
    if (!options.pid.empty()) {
        const auto pid = parse_number(options.pid);
        if (!pid || *pid > std::numeric_limits<std::uint32_t>::max()) {
            return fail(ErrorCode::InvalidArgument, fmt::format("`{}` is not a process id", printable(options.pid)));
        }
        filter.pid = static_cast<std::uint32_t>(*pid);
    }
    auto client = connect(context);
    if (!client) {
        return fail(client.error());
    }
    const auto queue_pairs = fetch_host_queue_pairs(*client, filter);
    if (!queue_pairs) {
        return fail(queue_pairs.error());
    }
    print(context.json ? to_text(host_queue_pairs_json(*queue_pairs))
                       : render_host_queue_pairs(*queue_pairs, context.screen));
    return ExitStatus::Ok;
}

}    // namespace rdmaqos::ctl
