#include "tools/rdma-qosctl/simulate/report_text.h"

#include <cmath>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/simulate/words.h"

namespace rdmaqos::ctl {
namespace {

using Align = Table::Align;
using Fit = Table::Fit;

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

std::string render_levels_of(const SimulatedStep& step, Bandwidth link_speed, const Screen& screen)
{
    Table table({{"LEVEL", Align::Left, Fit::Shorten},
                 {"SENDERS"},
                 {"DEMANDS"},
                 {"GETS"},
                 {"GUARANTEED", Align::Left, Fit::Drop},
                 {"SHARE", Align::Right, Fit::DropSoon},
                 {"MAX-RATE", Align::Left, Fit::DropSoon},
                 {"LIMITED-BY", Align::Left, Fit::Shorten}});
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
    return table.empty() ? "no level is in the tree\n" : table.render(screen);
}

// Who gets what inside of the classes that have a leaf for each sender.
std::string render_leaves(const SimulatedStep& step, Bandwidth link_speed, const Screen& screen)
{
    Table table({{"LEVEL", Align::Left, Fit::Shorten},
                 {"LEAF", Align::Left, Fit::ShortenPath},
                 {"SENDERS", Align::Right},
                 {"DEMANDS"},
                 {"GETS"},
                 {"LIMITED-BY", Align::Left, Fit::Shorten}});
    for (const auto& run : leaf_runs(step.elements)) {
        const SimulatedElement& leaf = step.elements[run.first];
        if (leaf.senders == 0) {
            continue;
        }
        table.add({leaf.level, leaf_names(step.elements, run), std::to_string(leaf.senders * run.count),
                   each(asked_in_words(leaf.rates.asked), run.count), each(rate_in_words(leaf.rates.gets), run.count),
                   limit_in_words(leaf.limit, leaf.path, link_speed)});
    }
    return table.empty() ? "" : "\n" + table.render(screen);
}

std::string render_step(const SimulatedStep& step, Bandwidth link_speed, bool over_time, const Screen& screen)
{
    std::string text = over_time ? labelled(step_in_words(step, true) + ":", Style::Heading,
                                            used_in_words(step, link_speed), screen)
                                 : used_in_words(step, link_speed) + "\n";
    text += render_levels_of(step, link_speed, screen) + render_leaves(step, link_speed, screen);
    for (const auto& outside : step.outside) {
        text += labelled("not simulated:", Style::Warning, outside_in_words(outside), screen);
    }
    if (step.deviation) {
        text += labelled("check:", step.deviation->percent > 1 ? Style::Warning : Style::Good,
                         deviation_in_words(*step.deviation), screen);
    }
    return text;
}

}    // namespace

std::string render_simulation(const SimulationReport& report, const Screen& screen)
{
    std::string text = sentence_on(screen, 0, 2, printable(report.note)) + "\n";
    for (const auto& port : report.ports) {
        text += fmt::format("\n{}\n", styled(printable(port.device), Style::Heading, screen));
        for (std::size_t i = 0; i < port.steps.size(); ++i) {
            text += (i > 0 ? "\n" : "") + render_step(port.steps[i], port.link_speed, report.over_time, screen);
        }
        for (const auto& note : port.notes) {
            text += labelled("note:", Style::Warning, note, screen);
        }
    }
    return text;
}

}    // namespace rdmaqos::ctl
