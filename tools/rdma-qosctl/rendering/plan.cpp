#include "tools/rdma-qosctl/rendering/plan.h"

#include <cmath>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/rendering/sessions.h"
#include "tools/rdma-qosctl/world/online.h"

namespace rdmaqos::ctl {
namespace {

using Align = Table::Align;

// What the solver says has fractions; whole Mbit/s are enough to decide by.
std::string rounded_text(Bandwidth rate)
{
    return to_string(rate.mbps() > 0 ? Bandwidth::from_mbps(rate.mbps()) : rate);
}

std::string rate_text(const std::optional<Bandwidth>& rate)
{
    return rate ? rounded_text(*rate) : "-";
}

// Of the port.
std::string part_text(const std::optional<Bandwidth>& rate, Bandwidth link_speed)
{
    if (!rate || link_speed.is_zero()) {
        return "";
    }
    return fmt::format("{:.1f} %", 100.0 * static_cast<double>(rate->kbps()) / static_cast<double>(link_speed.kbps()));
}

std::string change_text(const std::optional<Bandwidth>& before, const std::optional<Bandwidth>& after)
{
    if (!before) {
        return "new";
    }
    if (!after) {
        return "gone";
    }
    const bool grows = *after > *before;
    const Bandwidth difference = grows ? Bandwidth::from_kbps(after->kbps() - before->kbps())
                                       : Bandwidth::from_kbps(before->kbps() - after->kbps());
    std::string text = fmt::format("{}{}", grows ? "+" : "-", rounded_text(difference));
    if (!before->is_zero()) {
        text += fmt::format(" ({}{:.1f} %)", grows ? "+" : "-",
                            100.0 * static_cast<double>(difference.kbps()) / static_cast<double>(before->kbps()));
    }
    return text;
}

Bandwidth link_speed_of(const bus::Dict& plan)
{
    return rate_of(plan, "link-speed").value_or(Bandwidth());
}

// Of an empty device there is nothing to compare with.
std::string render_rates_of_new(const bus::Dict& plan, Colour colour)
{
    Table table({{"CLASS"}, {"GETS", Align::Right}, {"OF THE PORT", Align::Right}});
    for (const auto& rate : dicts_of(plan, "rates")) {
        const auto after = rate_of(rate, "after");
        table.add({text_of(rate, "class"), rate_text(after), part_text(after, link_speed_of(plan))});
    }
    return table.render(colour);
}

std::string render_rate_changes(const bus::Dict& plan, Colour colour)
{
    Table table({{"CLASS"},
                 {"NOW", Align::Right},
                 {"OF THE PORT", Align::Right},
                 {"THEN", Align::Right},
                 {"OF THE PORT", Align::Right},
                 {"CHANGE"}});
    std::size_t unchanged = 0;
    const Bandwidth link_speed = link_speed_of(plan);
    for (const auto& rate : dicts_of(plan, "rates")) {
        const auto before = rate_of(rate, "before");
        const auto after = rate_of(rate, "after");
        if (before == after) {
            ++unchanged;
            continue;
        }
        table.add({text_of(rate, "class"), rate_text(before), part_text(before, link_speed), rate_text(after),
                   part_text(after, link_speed), change_text(before, after)});
    }
    std::string text = table.empty() ? "" : table.render(colour);
    if (unchanged > 0) {
        text += fmt::format("{}{} as before\n", table.empty() ? "" : "the others: ",
                            unchanged == 1 ? "1 class" : fmt::format("{} classes", unchanged));
    }
    return text;
}

std::string render_rates(const bus::Dict& plan, bool offline, Colour colour)
{
    if (dicts_of(plan, "rates").empty()) {
        return "";
    }
    return fmt::format("when every class sends all it can, on {}:\n{}", to_string(link_speed_of(plan)),
                       offline ? render_rates_of_new(plan, colour) : render_rate_changes(plan, colour));
}

std::string render_operations(const bus::Dict& plan)
{
    const auto operations = list_of(plan, "operation-list");
    std::string text = operations.empty() ? "" : "operations, in order:\n";
    for (const auto& operation : operations) {
        text += fmt::format("  {}\n", printable(operation));
    }
    return text;
}

std::string from_to(const std::string& before, const std::string& after)
{
    const auto or_none = [](const std::string& text) { return text.empty() ? "none" : text; };
    return before == after ? or_none(before) : fmt::format("{} -> {}", or_none(before), or_none(after));
}

std::string render_sessions(const PlanReport& report, Colour colour)
{
    if (report.offline || report.plans.empty()) {
        return "";
    }
    if (report.sessions.empty()) {
        return "\nno session gets another level or leaf\n";
    }
    Table table({{"SESSION", Align::Right},
                 {"PID", Align::Right},
                 {"COMMAND"},
                 {"USER"},
                 {"DEVICE"},
                 {"QPS", Align::Right},
                 {"LEVEL"},
                 {"LEAF"}});
    for (const auto& change : report.sessions) {
        const std::uint64_t queue_pairs = number_of(change, "queue-pairs");
        table.add({std::to_string(number_of(change, "session")), std::to_string(number_of(change, "pid")),
                   text_of(change, "command"), owner_text(change), text_of(change, "device"),
                   std::to_string(queue_pairs),
                   from_to(text_of(change, "level-before"), text_of(change, "level-after")),
                   queue_pairs == 0 ? "" : from_to(text_of(change, "leaf-before"), text_of(change, "leaf-after"))});
    }
    return fmt::format("\n{}\n{}", styled("sessions that get another level or leaf", Style::Heading, colour),
                       table.render(colour));
}

}    // namespace

std::string render_plans(const PlanReport& report, Colour colour)
{
    std::string text = printable(report.note) + "\n";
    if (!report.levels.empty()) {
        text += fmt::format("\n{}\n", styled("levels that change", Style::Heading, colour));
    }
    for (const auto& level : report.levels) {
        text += fmt::format("  {}\n", printable(level));
    }
    for (const auto& plan : report.plans) {
        const std::string tree = text_of(plan, "text");
        text += fmt::format("\n{}\n{}", styled(printable(text_of(plan, "device")), Style::Heading, colour),
                            printable_lines(tree));
        if (!tree.empty() && tree.back() != '\n') {
            text += '\n';
        }
        text += render_operations(plan);
        text += render_rates(plan, report.offline, colour);
        for (const auto& finding : list_of(plan, "findings")) {
            text += fmt::format("{} {}\n", styled("finding:", Style::Warning, colour), printable(finding));
        }
    }
    return text + render_sessions(report, colour);
}

}    // namespace rdmaqos::ctl
