#include <cmath>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "tools/rdma-qosctl/rendering/sessions.h"
#include "tools/rdma-qosctl/simulate.h"

namespace rdmaqos::ctl {
namespace {

using Align = Table::Align;

std::string leaf_names(const std::vector<SimulatedElement>& elements, const LeafRun& run)
{
    const auto name = [&](std::size_t index) { return std::string(elements[index].path.name()); };
    const std::string first = name(run.first);
    return run.count == 1 ? first : fmt::format("{} ... {}", first, name(run.first + run.count - 1));
}

std::string each(const std::string& text, std::size_t count)
{
    return text.empty() || count == 1 ? text : text + " each";
}

std::string render_levels_of(const SimulatedStep& step, Bandwidth link_speed, Colour colour)
{
    Table table({{"LEVEL"},
                 {"SENDERS"},
                 {"ASKED"},
                 {"GETS"},
                 {"GUARANTEED"},
                 {"SHARE", Align::Right},
                 {"MAX-RATE"},
                 {"LIMITED-BY"}});
    for (const auto& level : step.levels) {
        const auto& attributes = level.attributes;
        const bool is_short = level.limit.kind != Limit::Kind::Idle && level.limit.kind != Limit::Kind::Demand;
        table.add(
            {level.level, senders_in_words(level.senders, level.fair_by), asked_in_words(level.rates.asked),
             level.senders == 0 ? "" : rate_in_words(level.rates.gets), rate_in_words(level.rates.guaranteed),
             attributes ? attributes->share == 0 ? "default" : std::to_string(attributes->share) : "",
             attributes && attributes->max_rate ? to_string(*attributes->max_rate) : "",
             Cell(limit_in_words(level.limit, level.path, link_speed), is_short ? Style::Warning : Style::Plain)});
    }
    return table.empty() ? "no level is in the tree\n" : table.render(colour);
}

// Who gets what inside of the classes that have a leaf for each sender.
std::string render_leaves(const SimulatedStep& step, Bandwidth link_speed, Colour colour)
{
    Table table({{"LEVEL"}, {"LEAF"}, {"SENDERS", Align::Right}, {"ASKED"}, {"GETS"}, {"LIMITED-BY"}});
    for (const auto& run : leaf_runs(step.elements)) {
        const SimulatedElement& leaf = step.elements[run.first];
        if (leaf.senders == 0) {
            continue;
        }
        table.add({leaf.level, leaf_names(step.elements, run), std::to_string(leaf.senders * run.count),
                   each(asked_in_words(leaf.rates.asked), run.count), each(rate_in_words(leaf.rates.gets), run.count),
                   limit_in_words(leaf.limit, leaf.path, link_speed)});
    }
    return table.empty() ? "" : "\n" + table.render(colour);
}

std::string render_step(const SimulatedStep& step, Bandwidth link_speed, bool over_time, Colour colour)
{
    std::string text = over_time ? fmt::format("{}: {}\n",
                                               styled(printable(step_in_words(step, true)), Style::Heading, colour),
                                               used_in_words(step, link_speed))
                                 : used_in_words(step, link_speed) + "\n";
    text += render_levels_of(step, link_speed, colour) + render_leaves(step, link_speed, colour);
    for (const auto& outside : step.outside) {
        text += fmt::format("{} {}\n", styled("not simulated:", Style::Warning, colour),
                            printable(outside_in_words(outside)));
    }
    if (step.deviation) {
        text += fmt::format("{} {}\n",
                            styled("check:", step.deviation->percent > 1 ? Style::Warning : Style::Good, colour),
                            printable(deviation_in_words(*step.deviation)));
    }
    return text;
}

}    // namespace

std::string rate_in_words(double kbps)
{
    const auto rate = Bandwidth::from_computed(kbps);
    return to_string(rate < Bandwidth::from_gbps(1) ? rate : Bandwidth::from_mbps(rate.mbps()));
}

std::string asked_in_words(double kbps)
{
    return kbps <= 0 ? "" : std::isinf(kbps) ? "unlimited" : rate_in_words(kbps);
}

std::string time_in_words(std::chrono::milliseconds time)
{
    const auto ms = time.count();
    if (ms % 1000 != 0) {
        return fmt::format("{} ms", ms);
    }
    const auto seconds = ms / 1000;
    if (seconds == 0 || seconds % 60 != 0) {
        return fmt::format("{} s", seconds);
    }
    return seconds % 3600 != 0 ? fmt::format("{} min", seconds / 60) : fmt::format("{} h", seconds / 3600);
}

std::string limit_in_words(const Limit& limit, const ElementPath& path, Bandwidth link_speed)
{
    switch (limit.kind) {
    case Limit::Kind::Idle:
        return {};
    case Limit::Kind::Demand:
        return "its demand";
    case Limit::Kind::Cap:
        return limit.at == path
                   ? "its max-rate"
                   : fmt::format("max-rate {}of {}", limit.rate ? to_string(*limit.rate) + " " : "", limit.at.text());
    case Limit::Kind::Below:
        return "max-rates below";
    case Limit::Kind::Link:
        return fmt::format("link {}", to_string(link_speed));
    }
    return {};
}

std::string senders_in_words(std::size_t senders, FairBy fair_by)
{
    if (senders == 0) {
        return {};
    }
    switch (fair_by) {
    case FairBy::Process:
        return senders == 1 ? "1 process" : fmt::format("{} processes", senders);
    case FairBy::User:
        return counted(senders, "user");
    case FairBy::Unit:
        return counted(senders, "unit");
    case FairBy::None:
    case FairBy::QueuePair:
        break;
    }
    return counted(senders, "queue pair");
}

std::string outside_in_words(const OutsideLevel& outside)
{
    return fmt::format("{} is not in the tree: {}. What it sends competes with the tree, which then gets less than is "
                       "said here",
                       outside.level, outside.why);
}

std::string deviation_in_words(const Deviation& deviation)
{
    if (deviation.compared == 0) {
        return "nothing sends enough packets to be compared with the packet-level simulation";
    }
    std::string text = fmt::format(
        "played packet by packet, the largest deviation is {:.2f} %, at {}: {} instead of {}", deviation.percent,
        deviation.path.text(), rate_in_words(deviation.packets), rate_in_words(deviation.solver));
    if (deviation.too_slow > 0) {
        text += fmt::format(" ({} too slow to be compared)", counted(deviation.too_slow, "element"));
    }
    return text;
}

std::string step_in_words(const SimulatedStep& step, bool over_time)
{
    if (!over_time) {
        return step.use;
    }
    return fmt::format("from {} to {}{}{}", time_in_words(step.at), time_in_words(step.until),
                       step.use.empty() ? "" : ": ", step.use);
}

std::string used_in_words(const SimulatedStep& step, Bandwidth link_speed)
{
    const double link = static_cast<double>(link_speed.kbps());
    return fmt::format("{} of the link's {} in use ({:.0f} %)", rate_in_words(step.used), to_string(link_speed),
                       link > 0 ? 100 * step.used / link : 0);
}

std::string render_simulation(const SimulationReport& report, Colour colour)
{
    std::string text = printable(report.note) + "\n";
    for (const auto& port : report.ports) {
        text += fmt::format("\n{}\n", styled(printable(port.device), Style::Heading, colour));
        for (std::size_t i = 0; i < port.steps.size(); ++i) {
            text += (i > 0 ? "\n" : "") + render_step(port.steps[i], port.link_speed, report.over_time, colour);
        }
        for (const auto& note : port.notes) {
            text += fmt::format("{} {}\n", styled("note:", Style::Warning, colour), printable(note));
        }
    }
    return text;
}

}    // namespace rdmaqos::ctl
