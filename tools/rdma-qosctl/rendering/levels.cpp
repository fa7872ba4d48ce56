#include "tools/rdma-qosctl/rendering/world_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/base/percentage.h"
#include "lib/base/text.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/rendering/dict_text.h"
#include "tools/rdma-qosctl/world/online.h"
#include "tools/rdma-qosctl/world/overrides.h"

namespace rdmaqos::ctl {
namespace {

using Align = Table::Align;
using Fit = Table::Fit;

// The OpenSM part of a level: what it does to a path.
std::string path_limits_text(const bus::Dict& level)
{
    std::string text;
    const auto add = [&](std::string_view name, const std::string& value) {
        if (!value.empty()) {
            text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, value);
        }
    };
    add("mtu", number_text(level, "mtu-limit"));
    add("rate", rate_text(level, "rate-limit"));
    add("life", number_text(level, "packet-life"));
    return text;
}

std::string rate_or_part_text(const bus::Dict& level, const std::string& key)
{
    const auto part = Percentage::from_hundredths(small_number_of(level, key + "-part"));
    return part ? to_string(*part) : rate_text(level, key);
}

std::string fair_by_text(const bus::Dict& level)
{
    const std::string pattern = text_of(level, "fair-by-pattern");
    return text_of(level, "fair-by") + (pattern.empty() ? "" : " " + pattern);
}

std::string devices_text(const bus::Dict& level)
{
    return fmt::format("{}", fmt::join(list_of(level, "devices"), ", "));
}

}    // namespace

std::string render_levels(const std::vector<bus::Dict>& levels, const Screen& screen)
{
    if (levels.empty()) {
        return "no level: no policy is running\n";
    }
    Table table({{"LEVEL", Align::Left, Fit::Shorten},
                 {"CLASS", Align::Left, Fit::ShortenPath},
                 {"SHARE", Align::Right},
                 {"MIN-RATE"},
                 {"MAX-RATE"},
                 {"FAIR-BY", Align::Left, Fit::Drop},
                 {"QP-MAX-RATE", Align::Left, Fit::Drop},
                 {"DEVICES", Align::Left, Fit::Drop},
                 {"SL", Align::Right},
                 {"TRAFFIC-CLASS", Align::Right, Fit::DropSoon},
                 {"ACCESS", Align::Left, Fit::Drop},
                 {"SESSIONS", Align::Right},
                 {"QPS", Align::Right},
                 {"PATH-LIMITS", Align::Left, Fit::DropSoon},
                 {"USE", Align::Left, Fit::DropSoon}});
    for (const auto& level : levels) {
        table.add({text_of(level, "name"), text_of(level, "class"), number_text(level, "share"),
                   rate_or_part_text(level, "min-rate"), rate_or_part_text(level, "max-rate"), fair_by_text(level),
                   rate_text(level, "per-queue-pair-max-rate"), devices_text(level), number_text(level, "sl"),
                   number_text(level, "traffic-class"), flag_of(level, "restricted") ? "restricted" : "everyone",
                   number_text(level, "sessions"), number_text(level, "queue-pairs"), path_limits_text(level),
                   text_of(level, "use")});
    }
    std::string text = table.render(screen);
    for (const auto& level : levels) {
        if (is_only_monitored(level)) {
            text += fmt::format("level {} is only monitored (`mode: monitor`): nothing is written to a device for it\n",
                                printable(text_of(level, "name")));
        }
    }
    const auto overrides = overrides_of(levels);
    for (const auto& view : overrides) {
        text += fmt::format("{}, {}\n", change_in_words(view), how_long(view.transient));
    }
    return text;
}

}    // namespace rdmaqos::ctl
