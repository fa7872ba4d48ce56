#include "tools/rdma-qosctl/world/mark_path.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/base/text.h"
#include "policy/model/traffic_class.h"
#include "tools/rdma-qosctl/world/marks.h"

namespace rdmaqos::ctl {
namespace {

bool has_entry(const dcb::PortSettings& settings, std::uint8_t dscp)
{
    return std::ranges::any_of(settings.apps, [dscp](const dcb::AppEntry& entry) {
        return entry.selector == dcb::Selector::Dscp && entry.protocol == dscp;
    });
}

PortLevel what_it_gets(const dcb::PortSettings& settings, const std::string& level, std::uint8_t dscp)
{
    PortLevel gets{level, dscp, dcb::priority_of_dscp(settings, dscp), dcb::class_of_dscp(settings, dscp), {}, {}};
    if (settings.ets) {
        gets.scheduling = settings.ets->traffic_class.at(gets.traffic_class);
    }
    if (settings.pfc) {
        gets.lossless = settings.pfc->lossless.at(gets.priority);
    }
    return gets;
}

// Other levels with the class of this one.
std::vector<std::string> sharing(const DeviceView& device, const std::vector<api::Level>& levels, const PortLevel& gets)
{
    std::vector<std::string> names;
    for (const auto& other : port_levels(device, levels)) {
        if (!other.level.empty() && other.level != gets.level && other.dscp != gets.dscp &&
            other.traffic_class == gets.traffic_class) {
            names.push_back(other.level);
        }
    }
    return names;
}

// What is wrong with the port's part of the way; what would mend it goes to `mends`.
void find_in_port(const MarkPath& path, const DeviceView& device, const dcb::PortSettings& settings,
                  const std::vector<api::Level>& levels, std::optional<std::uint8_t> notifications,
                  std::vector<std::string>& wrong, std::vector<std::string>& mends)
{
    const std::size_t before = wrong.size();
    const std::string& netdev = device.port_classes.netdev;
    const PortLevel meant = what_it_gets(settings, path.level, path.meant);
    const std::string add = fmt::format("`dcb app add dev {} dscp-prio {}:PRIORITY` gives DSCP {} a priority",
                                        printable(netdev), path.meant, path.meant);
    if (!dcb::trusts_dscp(settings)) {
        wrong.push_back(fmt::format("{} does not look at the DSCP: it trusts VLAN tags, and packets without one have "
                                    "priority 0",
                                    printable(netdev)));
        mends.push_back(add + ", and the first entry makes the port trust the DSCP of all its packets");
    } else if (!has_entry(settings, path.meant)) {
        wrong.push_back(fmt::format("DSCP {} has no entry in the application table of {}, so priority 0", path.meant,
                                    printable(netdev)));
        mends.push_back(add);
    } else if (settings.ets && path.meant != 0 && meant.traffic_class == dcb::class_of_dscp(settings, 0)) {
        wrong.push_back(fmt::format("priority {} is in traffic class {} of {}, with all packets that have no mark",
                                    meant.priority, meant.traffic_class, printable(netdev)));
        mends.push_back(fmt::format("`dcb ets set dev {} prio-tc {}:CLASS` puts priority {} into another class",
                                    printable(netdev), meant.priority, meant.priority));
    }
    // What else is in the class that they are in by mistake says nothing.
    if (!settings.ets || wrong.size() > before) {
        return;
    }
    if (const auto others = sharing(device, levels, meant); !others.empty()) {
        wrong.push_back(fmt::format("traffic class {} of {} is also that of level {}: their shares hold in the "
                                    "tree, not in the port",
                                    meant.traffic_class, printable(netdev),
                                    printable(fmt::format("{}", fmt::join(others, " and ")))));
        mends.emplace_back("levels with DSCPs in priorities of different traffic classes are told apart");
    }
    if (notifications && *notifications != path.meant &&
        dcb::class_of_dscp(settings, *notifications) == meant.traffic_class) {
        wrong.push_back(fmt::format("congestion notifications (CNP, DSCP {}) are in traffic class {}, too, and wait "
                                    "behind these packets",
                                    *notifications, meant.traffic_class));
        mends.emplace_back("`rdma-qosctl status` names the command that moves the notifications");
    }
}

}    // namespace

bool operator==(const MarkPath& a, const MarkPath& b)
{
    const auto of = [](const MarkPath& path) {
        return std::tie(path.device, path.level, path.queue_pairs, path.meant, path.dscp, path.unseen, path.wrong,
                        path.advice);
    };
    return of(a) == of(b);
}

void take_marks(const std::vector<api::HostQueuePair>& queue_pairs, World& world)
{
    for (const auto& each : queue_pairs) {
        if (each.dscp) {
            world.carried[{each.device, each.number}] = *each.dscp;
        }
    }
}

std::vector<MarkPath> trace_marks(const World& world, const std::vector<api::HostQueuePair>& queue_pairs,
                                  const std::map<std::string, std::uint8_t>& notifications)
{
    const auto& levels = world.manager.levels;
    std::vector<MarkPath> paths;
    for (const auto& queue_pair : queue_pairs) {
        const auto level = std::ranges::find(levels, queue_pair.level, &api::Level::name);
        if (level == levels.end() || !level->traffic_class || (!queue_pair.dscp && queue_pair.mark_unseen.empty())) {
            continue;
        }
        const auto found = std::ranges::find_if(paths, [&](const MarkPath& path) {
            return path.device == queue_pair.device && path.level == queue_pair.level && path.dscp == queue_pair.dscp &&
                   path.unseen == queue_pair.mark_unseen;
        });
        if (found != paths.end()) {
            found->queue_pairs.push_back(queue_pair.number);
            continue;
        }
        MarkPath path{.device = queue_pair.device,
                      .level = queue_pair.level,
                      .queue_pairs = {queue_pair.number},
                      .meant = dscp_of(*level->traffic_class),
                      .dscp = queue_pair.dscp,
                      .unseen = queue_pair.mark_unseen};
        paths.push_back(std::move(path));
    }
    for (auto& path : paths) {
        std::vector<std::string> mends;
        if (path.dscp && *path.dscp != path.meant) {
            path.wrong.push_back(fmt::format("their packets do not carry DSCP {} of level {} but {}", path.meant,
                                             printable(path.level), *path.dscp));
            mends.push_back(how_to_mark(path.level, path.meant, path.device));
        }
        const auto device = std::ranges::find_if(world.devices,
                                                 [&](const DeviceView& each) { return each.key() == path.device; });
        if (const auto settings = device == world.devices.end() ? std::nullopt
                                                                : api::settings_of(device->port_classes)) {
            path.gets = what_it_gets(*settings, path.level, path.dscp.value_or(path.meant));
            const auto cnp = notifications.find(path.device);
            find_in_port(path, *device, *settings, levels,
                         cnp == notifications.end() ? std::nullopt : std::optional(cnp->second), path.wrong, mends);
        }
        path.advice = fmt::format("{}", fmt::join(mends, "; "));
    }
    return paths;
}

std::string way_in_words(const MarkPath& path)
{
    std::string text = path.dscp ? fmt::format("DSCP {}", *path.dscp)
                                 : fmt::format("not seen ({}); with DSCP {}", why_unseen(path.unseen), path.meant);
    if (!path.gets) {
        return text + " -> the traffic classes of the port are not known";
    }
    text += fmt::format(" -> priority {} -> traffic class {}", path.gets->priority, path.gets->traffic_class);
    if (path.gets->scheduling) {
        text += fmt::format(" ({})", in_words(path.gets->scheduling));
    }
    if (path.gets->lossless) {
        text += *path.gets->lossless ? ", lossless" : ", can be dropped";
    }
    return text;
}

}    // namespace rdmaqos::ctl
