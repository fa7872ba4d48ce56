#include <cmath>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "tools/rdma-qosctl/render.h"

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

std::string change_text(const BusyRateView& rate)
{
    if (!rate.before) {
        return "new";
    }
    if (!rate.after) {
        return "gone";
    }
    const bool grows = *rate.after > *rate.before;
    const Bandwidth difference = grows ? Bandwidth::from_kbps(rate.after->kbps() - rate.before->kbps())
                                       : Bandwidth::from_kbps(rate.before->kbps() - rate.after->kbps());
    std::string text = fmt::format("{}{}", grows ? "+" : "-", rounded_text(difference));
    if (!rate.before->is_zero()) {
        text += fmt::format(" ({}{:.1f} %)", grows ? "+" : "-",
                            100.0 * static_cast<double>(difference.kbps()) / static_cast<double>(rate.before->kbps()));
    }
    return text;
}

// Of an empty device there is nothing to compare with.
std::string render_rates_of_new(const PlanView& plan, Colour colour)
{
    Table table({{"CLASS"}, {"GETS", Align::Right}, {"OF THE PORT", Align::Right}});
    for (const auto& rate : plan.rates) {
        table.add({rate.path, rate_text(rate.after), part_text(rate.after, plan.link_speed)});
    }
    return table.render(colour);
}

std::string render_rate_changes(const PlanView& plan, Colour colour)
{
    Table table({{"CLASS"},
                 {"NOW", Align::Right},
                 {"OF THE PORT", Align::Right},
                 {"THEN", Align::Right},
                 {"OF THE PORT", Align::Right},
                 {"CHANGE"}});
    std::size_t unchanged = 0;
    for (const auto& rate : plan.rates) {
        if (rate.before == rate.after) {
            ++unchanged;
            continue;
        }
        table.add({rate.path, rate_text(rate.before), part_text(rate.before, plan.link_speed), rate_text(rate.after),
                   part_text(rate.after, plan.link_speed), change_text(rate)});
    }
    std::string text = table.empty() ? "" : table.render(colour);
    if (unchanged > 0) {
        text += fmt::format("{}{} as before\n", table.empty() ? "" : "the others: ",
                            unchanged == 1 ? "1 class" : fmt::format("{} classes", unchanged));
    }
    return text;
}

std::string render_rates(const PlanView& plan, bool offline, Colour colour)
{
    if (plan.rates.empty()) {
        return "";
    }
    return fmt::format("when every class sends all it can, on {}:\n{}", to_string(plan.link_speed),
                       offline ? render_rates_of_new(plan, colour) : render_rate_changes(plan, colour));
}

std::string render_operations(const PlanView& plan)
{
    std::string text = plan.operation_list.empty() ? "" : "operations, in order:\n";
    for (const auto& operation : plan.operation_list) {
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
        table.add({std::to_string(change.session), std::to_string(change.owner.pid), change.owner.command,
                   owner_text(change.owner), change.device, std::to_string(change.queue_pairs),
                   from_to(change.level_before, change.level_after),
                   change.queue_pairs == 0 ? "" : from_to(change.leaf_before, change.leaf_after)});
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
        text += fmt::format("\n{}\n{}", styled(printable(plan.device), Style::Heading, colour),
                            printable_lines(plan.text));
        if (!plan.text.empty() && plan.text.back() != '\n') {
            text += '\n';
        }
        text += render_operations(plan);
        text += render_rates(plan, report.offline, colour);
        for (const auto& finding : plan.findings) {
            text += fmt::format("{} {}\n", styled("finding:", Style::Warning, colour), printable(finding));
        }
    }
    return text + render_sessions(report, colour);
}

}    // namespace rdmaqos::ctl
