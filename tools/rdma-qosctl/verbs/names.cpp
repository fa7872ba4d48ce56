#include "tools/rdma-qosctl/verbs/verb.h"

#include <set>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/bus/names.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/world/online.h"

namespace rdmaqos::ctl {
namespace {

// For the completion of shells: what the daemon knows by name, a line for each: the name, a tab, and what it is in a
// few words. Asks the direct socket alone: a question to the system bus would start a daemon that does not run. Without
// a daemon there are no lines, and that is no error.
struct NamesOptions {
    std::string kind;    // "levels", "devices" or "sessions" (their processes)
};

void add_options(CLI::App& command, NamesOptions& options)
{
    const CLI::IsMember kinds({"levels", "devices", "sessions"});
    command.add_option("KIND", options.kind)->required()->check(kinds);
}

// What cannot be typed in a line of a terminal is not offered.
std::string line(const std::string& name, const std::string& what)
{
    return name.empty() || printable(name) != name ? std::string() : fmt::format("{}\t{}\n", name, printable(what));
}

std::string lines_of_levels(const std::vector<api::Level>& levels)
{
    std::string text;
    for (const auto& level : levels) {
        text += line(level.name, level.use);
    }
    return text;
}

// A shell that lists more helps nobody.
constexpr std::size_t kSessionsOffered = 1000;

std::string lines_of_devices(const std::vector<DeviceView>& devices)
{
    std::string text;
    for (const auto& device : devices) {
        text += line(device.key(), fmt::format("{} {}", device.netdev, device.state));
    }
    return text;
}

std::string lines_of_processes(const std::vector<SessionView>& sessions)
{
    std::string text;
    std::set<std::uint64_t> seen;
    for (const auto& session : sessions) {
        const auto& owner = session.owner;
        if (seen.insert(owner.pid).second) {
            text += line(std::to_string(owner.pid), fmt::format("{} {}", owner.command, session.level));
        }
    }
    return text;
}

Result<ExitStatus> names(const Context& context, const NamesOptions& options)
{
    auto client = bus::Client::connect_direct(below_root(context.root, bus::names::kSocket));
    if (!client) {
        return ExitStatus::Ok;
    }
    if (options.kind == "levels") {
        const auto levels = call_manager<std::vector<api::Level>>(*client, "ListLevels", {});
        print(levels ? lines_of_levels(*levels) : std::string());
        return ExitStatus::Ok;
    }
    if (options.kind == "devices") {
        const auto objects = client->managed_objects(bus::names::kDevices);
        print(objects ? lines_of_devices(to_world({}, *objects).devices) : std::string());
        return ExitStatus::Ok;
    }
    const auto sessions = fetch_sessions(*client, {{}, {}, kSessionsOffered, false});
    print(sessions ? lines_of_processes(*sessions) : std::string());
    return ExitStatus::Ok;
}

}    // namespace

extern const Verb kNamesVerb{
    .name = "names",
    .summary = "List names for the completion of shells",
    .examples = "  rdma-qosctl names levels",
    .hidden = true,
    .prepare = with_options<NamesOptions, add_options, names>,
};

}    // namespace rdmaqos::ctl
