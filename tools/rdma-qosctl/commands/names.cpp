#include "tools/rdma-qosctl/commands/names.h"

#include <set>

#include <fmt/format.h>

#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/bus/names.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/world/online.h"

namespace rdmaqos::ctl {
namespace {

// What cannot be typed in a line of a terminal is not offered.
std::string line(const std::string& name, const std::string& what)
{
    return name.empty() || printable(name) != name ? std::string() : fmt::format("{}\t{}\n", name, printable(what));
}

std::string lines_of_levels(const std::vector<bus::Dict>& levels)
{
    std::string text;
    for (const auto& level : levels) {
        text += line(text_of(level, "name"), text_of(level, "use"));
    }
    return text;
}

std::string lines_of(const World& world, const std::string& kind)
{
    std::string text;
    if (kind == "devices") {
        for (const auto& device : world.devices) {
            text += line(device.key(), fmt::format("{} {}", device.netdev, device.state));
        }
        return text;
    }
    std::set<std::uint64_t> seen;
    for (const auto& session : world.sessions) {
        const auto pid = number_of(session.owner, "pid");
        if (seen.insert(pid).second) {
            text += line(std::to_string(pid), fmt::format("{} {}", text_of(session.owner, "command"), session.level));
        }
    }
    return text;
}

}    // namespace

Result<ExitStatus> names(const Context& context, const std::string& kind)
{
    auto client = bus::Client::connect_direct(below_root(context.root, bus::names::kSocket));
    if (!client) {
        return ExitStatus::Ok;
    }
    if (kind == "levels") {
        const auto levels = call_manager<std::vector<bus::Dict>>(*client, "ListLevels", {});
        print(levels ? lines_of_levels(*levels) : std::string());
        return ExitStatus::Ok;
    }
    // Without the queue pairs of the sessions, which may be many.
    const auto objects = client->managed_objects(kind == "devices" ? bus::names::kDevices : bus::names::kRoot);
    print(objects ? lines_of(to_world({}, *objects), kind) : std::string());
    return ExitStatus::Ok;
}

}    // namespace rdmaqos::ctl
