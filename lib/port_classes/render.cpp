#include "lib/port_classes/render.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "lib/port_classes/words.h"
#include "lib/tree/drawing.h"

namespace rdmaqos::port_classes {
namespace {

using Cells = std::vector<std::string>;

std::string arrow(const std::string& from, const std::string& to)
{
    return from == to ? to : from + " -> " + to;
}

std::string share_of(const std::optional<dcb::Ets>& ets, std::size_t index)
{
    if (!ets || index >= ets->classes) {
        return "-";
    }
    const dcb::TrafficClass& each = ets->traffic_class.at(index);
    switch (each.selection) {
    case dcb::Selection::Strict:
        return "strict";
    case dcb::Selection::CreditBasedShaper:
        return "credit-based";
    case dcb::Selection::Ets:
        return fmt::format("{} %", each.weight);
    case dcb::Selection::Vendor:
        return "vendor";
    }
    return "-";
}

std::string cap_of(const dcb::PortSettings& settings, std::size_t index)
{
    if (!settings.ets || index >= settings.ets->classes || !settings.has_max_rates) {
        return "none";
    }
    return drawing::rate_text(settings.ets->traffic_class.at(index).max_rate);
}

std::string dscps_in(const dcb::PortSettings& settings, std::size_t index)
{
    std::vector<std::uint8_t> dscps;
    for (std::uint8_t dscp = 0; dscp < 64; ++dscp) {
        if (dcb::class_of_dscp(settings, dscp) == index) {
            dscps.push_back(dscp);
        }
    }
    return dscps.empty() ? "none" : ranges_in_words(dscps);
}

std::string joined(const std::vector<std::string>& texts)
{
    std::string text;
    for (const std::string& each : texts) {
        text += text.empty() ? each : ", " + each;
    }
    return text;
}

std::string what_is_in(const ClassUse& use)
{
    std::vector<std::string> texts;
    for (const ElementPath& child : use.children) {
        texts.push_back(child.text());
    }
    std::string text = joined(texts);
    if (!use.levels.empty()) {
        text += fmt::format("{}({} {})", text.empty() ? "" : " ", use.levels.size() == 1 ? "level" : "levels",
                            joined(use.levels));
    }
    if (use.is_others) {
        return text.empty() ? "everything else" : text + " and everything else";
    }
    return use.is_notifications ? "congestion notifications" : text;
}

std::string drawn(const std::vector<Cells>& rows)
{
    std::string text;
    for (const Cells& row : rows) {
        std::string line;
        for (std::size_t column = 0; column < row.size(); ++column) {
            const auto width = widest(rows, [column](const Cells& cells) { return cells[column]; });
            line += column + 1 == row.size() ? row[column] : padded(row[column], width + 2);
        }
        text += std::string(without_blanks(line)) + "\n";
    }
    return text;
}

// Those that differ in the DSCP only.
const dcb::AppEntry* mapped(const Step& step)
{
    const auto* const set = std::get_if<dcb::SetApp>(&step.write);
    return set == nullptr ? nullptr : &set->entry;
}

const dcb::AppEntry* removed(const Step& step)
{
    const auto* const set = std::get_if<dcb::DeleteApp>(&step.write);
    return set == nullptr ? nullptr : &set->entry;
}

bool are_one(const dcb::AppEntry* a, const dcb::AppEntry* b)
{
    return a != nullptr && b != nullptr && a->selector == dcb::Selector::Dscp && b->selector == a->selector &&
           a->priority == b->priority;
}

}    // namespace

std::string render_classes(const dcb::PortSettings& before, const Plan& plan)
{
    std::vector<Cells> rows{{"class", "weight", "cap", "DSCP", "what"}};
    for (std::size_t index = 0; index < plan.uses.size(); ++index) {
        const ClassUse& use = plan.uses.at(index);
        if (!plan.has_classes || !use.is_used()) {
            continue;
        }
        rows.push_back({fmt::format("{}", index), arrow(share_of(before.ets, index), share_of(plan.wanted.ets, index)),
                        arrow(cap_of(before, index), cap_of(plan.wanted, index)),
                        use.is_others ? "all others" : arrow(dscps_in(before, index), dscps_in(plan.wanted, index)),
                        what_is_in(use)});
    }
    return rows.size() == 1 ? std::string() : drawn(rows);
}

std::string render_steps(const std::vector<Step>& steps)
{
    std::string text;
    for (std::size_t first = 0; first < steps.size();) {
        const Step& step = steps[first];
        std::vector<std::uint8_t> dscps;
        std::size_t next = first;
        for (; next < steps.size() && steps[next].disruption == step.disruption; ++next) {
            const dcb::AppEntry* const entry = mapped(step) != nullptr ? mapped(steps[next]) : removed(steps[next]);
            if (!are_one(mapped(step) != nullptr ? mapped(step) : removed(step), entry)) {
                break;
            }
            dscps.push_back(static_cast<std::uint8_t>(entry->protocol));
        }
        std::string words = step.words;
        if (dscps.size() > 1) {
            const auto numbers = ranges_in_words(dscps);
            words = mapped(step) != nullptr
                        ? fmt::format("maps DSCP {} to priority {}", numbers, mapped(step)->priority)
                        : fmt::format("removes the mapping of DSCP {} to priority {}", numbers,
                                      removed(step)->priority);
        }
        text += words;
        text += step.disruption.empty()
                    ? "\n"
                    : fmt::format("; {} {}", dscps.size() > 1 ? "each" : "this", step.disruption) + "\n";
        first = std::max(next, first + 1);
    }
    return text;
}

}    // namespace rdmaqos::port_classes
