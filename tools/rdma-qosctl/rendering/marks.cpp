#include "tools/rdma-qosctl/rendering/marks.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "lib/api/json.h"
#include "lib/base/text.h"
#include "lib/port_bytes/port_bytes.h"
#include "tools/rdma-qosctl/world/marks.h"
#include "tools/rdma-qosctl/world/port_traffic.h"

namespace rdmaqos::ctl {
namespace {

std::string numbers_in_words(const std::vector<std::uint64_t>& numbers)
{
    constexpr std::size_t kListed = 4;
    const auto shown = std::min(numbers.size(), kListed);
    std::string text = fmt::format(
        "{} {}", numbers.size() == 1 ? "queue pair" : "queue pairs",
        fmt::join(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
    return numbers.size() > shown ? fmt::format("{} and {} more", text, numbers.size() - shown) : text;
}

std::string render_path(const MarkPath& path, const Screen& screen)
{
    const Style style = path.wrong.empty() ? Style::Plain : Style::Warning;
    std::string text = fmt::format("  {}\n    {}\n",
                                   sentence_on(screen, 2, 4,
                                               printable(fmt::format("{}, {} of level {}", path.device,
                                                                     numbers_in_words(path.queue_pairs), path.level))),
                                   styled(sentence_on(screen, 4, 4, printable(way_in_words(path))), style, screen));
    for (const auto& sentence : path.wrong) {
        text += fmt::format("    {}\n", styled(sentence_on(screen, 4, 4, sentence), Style::Warning, screen));
    }
    if (!path.advice.empty()) {
        text += fmt::format("    -> {}\n", sentence_on(screen, 7, 7, path.advice));
    }
    return text;
}

}    // namespace

std::string render_wrong_marks(const std::vector<api::MarkCount>& counts, const std::string& device,
                               const Screen& screen)
{
    std::string text;
    for (const auto& marks : sum_marks(counts)) {
        const std::string wrong = wrong_in_words(marks);
        if (wrong.empty() || (!device.empty() && marks.device != device)) {
            continue;
        }
        text += fmt::format("{}\n  -> {}\n", styled(sentence_on(screen, 0, 2, wrong), Style::Warning, screen),
                            sentence_on(screen, 5, 5, how_to_mark(marks.level, marks.dscp, marks.device)));
    }
    return text;
}

std::string render_mark_paths(const std::vector<MarkPath>& paths, const Screen& screen)
{
    std::string text;
    for (const auto& path : paths) {
        text += render_path(path, screen);
    }
    return text.empty() ? "" : "\nway through the port, by the DSCP of the packets\n" + text;
}

Json mark_paths_json(const std::vector<MarkPath>& paths)
{
    Json list = Json::array();
    for (const auto& path : paths) {
        Json json{{"device", path.device},
                  {"level", path.level},
                  {"queue-pairs", path.queue_pairs},
                  {"meant-dscp", path.meant}};
        if (path.dscp) {
            json["dscp"] = *path.dscp;
        }
        set_text(json, "unseen", path.unseen);
        if (path.gets) {
            json["priority"] = path.gets->priority;
            json["class"] = path.gets->traffic_class;
            if (path.gets->scheduling) {
                json["gets"] = in_words(path.gets->scheduling);
            }
            if (path.gets->lossless) {
                json["lossless"] = *path.gets->lossless;
            }
        }
        json["wrong"] = path.wrong;
        set_text(json, "advice", path.advice);
        list.push_back(std::move(json));
    }
    return list;
}

std::string render_traffic(const DeviceView& device, const std::vector<api::Level>& levels, const Screen& screen)
{
    if (const std::string why = why_not_checked(device, levels); !why.empty()) {
        return styled(sentence_on(screen, 0, 2, printable(why)), Style::Plain, screen) + "\n";
    }
    const auto check = check_traffic(device, levels);
    if (!check || check->with.empty()) {
        return "";
    }
    std::string text = fmt::format("sent {}:", interval_in_words(device.traffic));
    for (const auto& with : check->with) {
        text += fmt::format("{} {} with priority {} ({})", &with == &check->with.front() ? "" : ",",
                            port_bytes::rough(with.bytes), with.priority,
                            with.levels.empty() ? "no level's" : fmt::format("{}", fmt::join(with.levels, ", ")));
    }
    text += fmt::format("; {} of all that by RDMA", port_bytes::rough(check->rdma));
    const std::string outside = port_bytes::outside_in_words(*check);
    return styled(sentence_on(screen, 0, 2, printable(text)), Style::Plain, screen) + "\n" +
           (outside.empty() ? ""
                            : styled(sentence_on(screen, 0, 2, printable(outside)), Style::Warning, screen) + "\n");
}

void set_traffic(Json& of_device, const DeviceView& device, const std::vector<api::Level>& levels)
{
    if (device.traffic.priorities.empty()) {
        return;
    }
    Json json = api::to_json(device.traffic);
    if (const auto check = check_traffic(device, levels)) {
        for (const auto& with : check->with) {
            json["priorities"].at(with.priority)["levels"] = with.levels;
        }
        json["rdma-outside-at-least"] = check->outside_at_least;
        json["rdma-outside-at-most"] = check->outside_at_most;
    }
    of_device["traffic"] = std::move(json);
}

}    // namespace rdmaqos::ctl
