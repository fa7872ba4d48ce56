#include "tools/rdma-qosctl/rendering/world_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/base/percentage.h"
#include "lib/base/text.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/rendering/value_text.h"
#include "tools/rdma-qosctl/world/overrides.h"

namespace rdmaqos::ctl {
namespace {

using Align = Table::Align;
using Fit = Table::Fit;

// The OpenSM part of a level: what it does to a path.
std::string path_limits_text(const api::Level& level)
{
    std::string text;
    const auto add = [&](std::string_view name, const std::string& value) {
        if (!value.empty()) {
            text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, value);
        }
    };
    add("mtu", number_text(level.mtu_limit));
    add("rate", rate_text(level.rate_limit));
    add("life", number_text(level.packet_life));
    return text;
}

std::string rate_or_part_text(const std::optional<Bandwidth>& rate, const std::optional<Percentage>& part)
{
    return part ? to_string(*part) : rate_text(rate);
}

// "cgroup /slurm/*, each 10 Gbit/s, 64 leaves"
std::string fair_by_text(const api::Level& level)
{
    std::string text = level.fair_by + (level.fair_by_pattern.empty() ? "" : " " + level.fair_by_pattern);
    if (level.max_rate_each || level.max_rate_each_part) {
        text += ", each " + rate_or_part_text(level.max_rate_each, level.max_rate_each_part);
    }
    if (level.leaf_budget) {
        text += fmt::format(", {} leaves", *level.leaf_budget);
    }
    return text;
}

}    // namespace

std::string render_levels(const std::vector<api::Level>& levels, const Screen& screen)
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
        table.add({level.name, level.class_path, number_text(level.share),
                   rate_or_part_text(level.min_rate, level.min_rate_part),
                   rate_or_part_text(level.max_rate, level.max_rate_part), fair_by_text(level),
                   rate_text(level.per_queue_pair_max_rate), fmt::format("{}", fmt::join(level.devices, ", ")),
                   number_text(level.sl), number_text(level.traffic_class),
                   level.restricted ? "restricted" : "everyone", std::to_string(level.sessions),
                   std::to_string(level.queue_pairs), path_limits_text(level), level.use});
    }
    std::string text = table.render(screen);
    for (const auto& level : levels) {
        if (is_only_monitored(level)) {
            text += fmt::format("level {} is only monitored (`mode: monitor`): nothing is written to a device for it\n",
                                printable(level.name));
        }
        if (level.strict) {
            text += fmt::format("level {} is strict: in a port whose traffic classes are as the policy asks, its class "
                                "goes first\n",
                                printable(level.name));
        }
    }
    const auto overrides = overrides_of(levels);
    for (const auto& view : overrides) {
        text += fmt::format("{}, {}\n", change_in_words(view), how_long(view.transient));
    }
    return text;
}

}    // namespace rdmaqos::ctl
