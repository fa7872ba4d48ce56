#include "tools/rdma-qosctl/rendering/plan.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "lib/tree/render.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/rendering/world_text.h"
#include "tools/rdma-qosctl/world/online.h"
#include "tools/rdma-qosctl/world/reports.h"

namespace rdmaqos::ctl {
namespace {

using Align = Table::Align;
using Fit = Table::Fit;

// What the solver says has fractions; whole Mbit/s are enough to decide by.
std::string rounded_text(Bandwidth rate)
{
    return to_string(rate.mbps() > 0 ? Bandwidth::from_mbps(rate.mbps()) : rate);
}

std::string rounded_or_dash(const std::optional<Bandwidth>& rate)
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

// What all classes get together, before or after; empty: there is no class.
std::optional<Bandwidth> together(const api::DevicePlan& plan, std::optional<Bandwidth> BusyRate::*side)
{
    std::optional<Bandwidth> sum;
    for (const auto& [path, rate] : plan.rates) {
        if (rate.*side) {
            sum = sum.value_or(Bandwidth()) + *(rate.*side);
        }
    }
    return sum;
}

// What they leave of the port; empty: nothing but what was rounded off, or there is no class.
std::optional<Bandwidth> left_of_port(const api::DevicePlan& plan, std::optional<Bandwidth> BusyRate::*side)
{
    const auto used = together(plan, side);
    const std::uint64_t tolerated = std::max<std::uint64_t>(plan.link_speed.kbps() / 10'000, plan.rates.size());
    return used && used->kbps() + tolerated < plan.link_speed.kbps()
               ? std::optional(Bandwidth::from_kbps(plan.link_speed.kbps() - used->kbps()))
               : std::nullopt;
}

constexpr const char* kRest = "(left)";
constexpr const char* kWhyLeft = "(left): no class can use it, because of the max-rates in the tree\n";

// Of an empty device there is nothing to compare with.
std::string render_rates_of_new(const api::DevicePlan& plan, const Screen& screen)
{
    Table table({{"CLASS", Align::Left, Fit::ShortenPath}, {"GETS", Align::Right}, {"OF THE PORT", Align::Right}});
    for (const auto& [path, rate] : plan.rates) {
        table.add({path.text(), rounded_or_dash(rate.after), part_text(rate.after, plan.link_speed)});
    }
    const auto left = left_of_port(plan, &BusyRate::after);
    if (left) {
        table.add({kRest, rounded_or_dash(left), part_text(left, plan.link_speed)});
    }
    return table.render(screen) + (left ? kWhyLeft : "");
}

// Those that stay as they are, in one row.
struct Unchanged {
    std::size_t count = 0;
    Bandwidth rate;
};

std::string render_rate_changes(const api::DevicePlan& plan, const Screen& screen)
{
    Table table({{"CLASS", Align::Left, Fit::ShortenPath},
                 {"NOW", Align::Right},
                 {"OF THE PORT", Align::Right, Fit::Drop},
                 {"THEN", Align::Right},
                 {"OF THE PORT", Align::Right, Fit::Drop},
                 {"CHANGE"}});
    const auto add = [&](const std::string& name, const std::optional<Bandwidth>& before,
                         const std::optional<Bandwidth>& after, const std::string& change) {
        table.add({name, rounded_or_dash(before), part_text(before, plan.link_speed), rounded_or_dash(after),
                   part_text(after, plan.link_speed), change});
    };
    Unchanged unchanged;
    for (const auto& [path, rate] : plan.rates) {
        if (rate.before == rate.after) {
            ++unchanged.count;
            unchanged.rate = unchanged.rate + rate.before.value_or(Bandwidth());
        } else {
            add(path.text(), rate.before, rate.after, change_text(rate.before, rate.after));
        }
    }
    const std::string classes = unchanged.count == 1 ? "1 class" : fmt::format("{} classes", unchanged.count);
    if (table.empty()) {
        return fmt::format("{} as before\n", classes);
    }
    if (unchanged.count > 0) {
        add(fmt::format("({} as before)", classes), unchanged.rate, unchanged.rate, "");
    }
    const auto left_before = left_of_port(plan, &BusyRate::before);
    const auto left_after = left_of_port(plan, &BusyRate::after);
    if (left_before || left_after) {
        add(kRest, left_before, left_after, "");
    }
    return table.render(screen) + (left_before || left_after ? kWhyLeft : "");
}

std::string render_rates(const api::DevicePlan& plan, bool offline, const Screen& screen)
{
    if (plan.rates.empty()) {
        return "";
    }
    return fmt::format("when all classes are backlogged, on {}:\n{}", to_string(plan.link_speed),
                       offline ? render_rates_of_new(plan, screen) : render_rate_changes(plan, screen));
}

// Operations that differ in the queue pair alone are counted, where the first of them is.
std::vector<std::string> summarized(const std::vector<DescribedOperation>& operations)
{
    const auto without_number = [](DescribedOperation operation) {
        operation.queue_pair = 0;
        return to_string(operation);
    };
    std::map<std::string, std::size_t> counts;
    for (const auto& operation : operations) {
        ++counts[without_number(operation)];
    }
    std::vector<std::string> lines;
    for (const auto& operation : operations) {
        std::size_t& count = counts[without_number(operation)];
        if (count > 0) {
            lines.push_back(to_string(operation, count));
        }
        count = 0;    // said
    }
    return lines;
}

std::vector<std::string> each_of(const std::vector<DescribedOperation>& operations)
{
    std::vector<std::string> lines;
    lines.reserve(operations.size());
    for (const auto& operation : operations) {
        lines.push_back(to_string(operation));
    }
    return lines;
}

std::string render_operations(const api::DevicePlan& plan, bool verbose, const Screen& screen)
{
    const auto& operations = plan.plan.operations;
    std::string text = operations.empty() ? "" : "operations, in order:\n";
    for (const auto& operation : verbose ? each_of(operations) : summarized(operations)) {
        text += fmt::format("  {}\n", sentence_on(screen, 2, 4, operation));
    }
    return text;
}

std::string from_to(const std::string& before, const std::string& after)
{
    const auto or_none = [](const std::string& text) { return text.empty() ? "none" : text; };
    return before == after ? or_none(before) : fmt::format("{} -> {}", or_none(before), or_none(after));
}

std::string leaf_change(const api::SessionChange& change)
{
    return change.queue_pairs == 0 ? "" : from_to(change.leaf_before, change.leaf_after);
}

std::string level_change(const api::SessionChange& change)
{
    return from_to(change.level_before, change.level_after);
}

Table each_session(const std::vector<api::SessionChange>& sessions)
{
    Table table({{"SESSION", Align::Right},
                 {"PID", Align::Right},
                 {"COMMAND", Align::Left, Fit::Shorten},
                 {"USER", Align::Left, Fit::DropSoon},
                 {"DEVICE"},
                 {"QPS", Align::Right},
                 {"LEVEL", Align::Left, Fit::Shorten},
                 {"LEAF", Align::Left, Fit::ShortenPath}});
    for (const auto& change : sessions) {
        table.add({std::to_string(change.session), std::to_string(change.pid), change.command,
                   owner_text(change.user, change.uid), change.device, std::to_string(change.queue_pairs),
                   level_change(change), leaf_change(change)});
    }
    return table;
}

// Leaves of single processes differ for each session: the class counts.
Table counted_sessions(const std::vector<api::SessionChange>& sessions)
{
    struct Count {
        std::set<std::uint64_t> sessions;
        std::uint64_t queue_pairs = 0;
    };
    std::map<std::pair<std::string, std::string>, Count> counts;
    for (const auto& change : sessions) {
        Count& count = counts[{change.device, level_change(change)}];
        count.sessions.insert(change.session);
        count.queue_pairs += change.queue_pairs;
    }
    Table table({{"DEVICE"}, {"LEVEL", Align::Left, Fit::Shorten}, {"SESSIONS", Align::Right}, {"QPS", Align::Right}});
    for (const auto& [key, count] : counts) {
        table.add({key.first, key.second, std::to_string(count.sessions.size()), std::to_string(count.queue_pairs)});
    }
    return table;
}

// "2 sessions move from level rpc to level bulk: match rule 3 (policy.yaml:9:5)", the most first.
std::string render_level_moves(const std::vector<api::SessionChange>& sessions, const Screen& screen)
{
    constexpr std::size_t kMostMoves = 10;
    struct Kind {
        std::string before;
        std::string after;
        std::string rule;    // without what of the request it looked at
        auto operator<=>(const Kind&) const = default;
    };
    std::map<Kind, std::set<std::uint64_t>> moves;
    for (const auto& change : sessions) {
        const std::string rule = change.rule;
        Kind kind{change.level_before, change.level_after, rule.substr(0, rule.find(": "))};
        if (kind.before != kind.after) {
            moves[std::move(kind)].insert(change.session);
        }
    }
    std::vector<std::pair<std::size_t, std::string>> lines;
    for (const auto& [kind, moved] : moves) {
        const auto named = [](const std::string& level) { return level.empty() ? "no level" : "level " + level; };
        const std::string who = moved.size() == 1 ? "1 session moves" : fmt::format("{} sessions move", moved.size());
        lines.emplace_back(moved.size(), fmt::format("{} from {} to {}{}{}", who, named(kind.before), named(kind.after),
                                                     kind.rule.empty() ? "" : ": ", kind.rule));
    }
    std::stable_sort(lines.begin(), lines.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    std::string text;
    for (std::size_t i = 0; i < std::min(lines.size(), kMostMoves); ++i) {
        text += fmt::format("  {}\n", sentence_on(screen, 2, 4, printable(lines[i].second)));
    }
    if (lines.size() > kMostMoves) {
        text += fmt::format("  and in {} other ways\n", lines.size() - kMostMoves);
    }
    return text;
}

std::string render_sessions(const PlanReport& report, bool verbose, const Screen& screen)
{
    constexpr std::size_t kListed = 16;
    if (report.offline || report.plans.empty()) {
        return "";
    }
    if (report.sessions.empty()) {
        return "\nno session gets another level or leaf\n";
    }
    const bool listed = verbose || report.sessions.size() <= kListed;
    const Table table = listed ? each_session(report.sessions) : counted_sessions(report.sessions);
    return fmt::format("\n{}\n{}{}{}", styled("sessions that get another level or leaf", Style::Heading, screen),
                       render_level_moves(report.sessions, screen), table.render(screen),
                       listed ? "" : "`--verbose` lists each\n");
}

// "session 7: pid 4711 (app) of alice in job-7.scope, 3 queue pairs on mlx5_0/1"
std::string loser_in_words(const api::SessionChange& change)
{
    const std::string command = change.command;
    const std::string unit = change.unit;
    const std::uint64_t queue_pairs = change.queue_pairs;
    return fmt::format("session {}: pid {}{} of {}{}, {}", change.session, change.pid,
                       command.empty() ? "" : fmt::format(" ({})", command), owner_text(change.user, change.uid),
                       unit.empty() ? "" : fmt::format(" in {}", unit),
                       queue_pairs == 0 ? "without queue pairs"
                                        : fmt::format("{} on {}", counted(queue_pairs, "queue pair"), change.device));
}

std::string why_lost(const api::LevelLoss& loss)
{
    const std::string level = loss.level;
    const std::string reason = loss.reason;
    const std::string renamed_to = loss.renamed_to;
    if (reason == "not-allowed") {
        return fmt::format("level {} is closed by its `allow`", renamed_to.empty() ? level : renamed_to);
    }
    return reason == "no-rule" ? fmt::format("no rule leads to level {} any longer", level)
                               : fmt::format("level {} goes away", level);
}

// What gives it to them all the same.
std::string how_to_keep(const api::LevelLoss& loss)
{
    const std::string level = loss.level;
    const std::string reason = loss.reason;
    if (reason == "renamed") {
        return fmt::format("level {} is the same: `renamed-from: {}` in it keeps them", loss.renamed_to, level);
    }
    return reason == "removed" ? fmt::format("`renamed-from: {}` in another level would give them that one", level)
                               : "";
}

// Who would be left without a level.
std::string render_lost_levels(const PlanReport& report, bool verbose, const Screen& screen)
{
    constexpr std::size_t kListedLosers = 8;    // of each level
    std::string text;
    for (const auto& loss : report.lost_levels) {
        const std::uint64_t sessions = loss.sessions;
        const auto head = fmt::format("{}: {} with {} {} it and {} no other", why_lost(loss),
                                      counted(sessions, "session"), counted(loss.queue_pairs, "queue pair"),
                                      sessions == 1 ? "loses" : "lose", sessions == 1 ? "gets" : "get");
        text += fmt::format("  {}\n", styled(sentence_on(screen, 2, 4, printable(head)), Style::Bad, screen));
        std::size_t listed = 0;
        std::size_t unlisted = 0;
        for (const auto& change : report.sessions) {
            if (change.level_before != loss.level || change.loss != loss.reason) {
                continue;
            }
            if (!verbose && listed == kListedLosers) {
                ++unlisted;
                continue;
            }
            ++listed;
            text += fmt::format("    {}\n", sentence_on(screen, 4, 6, printable(loser_in_words(change))));
        }
        if (unlisted > 0) {
            text += fmt::format("    and {} more; `--verbose` lists each\n", unlisted);
        }
        if (const std::string advice = how_to_keep(loss); !advice.empty()) {
            text += fmt::format("    -> {}\n", sentence_on(screen, 7, 7, printable(advice)));
        }
    }
    return text.empty() ? ""
                        : fmt::format("\n{}\n{}", styled("levels that sessions lose", Style::Heading, screen), text);
}

// Rules, port groups and partitions.
std::string render_changes(const PlanReport& report, bool verbose, const Screen& screen)
{
    constexpr std::size_t kListedChanges = 20;
    if (report.changes.empty()) {
        return "";
    }
    const std::size_t listed = verbose ? report.changes.size() : std::min(report.changes.size(), kListedChanges);
    std::string text = fmt::format("\n{}\n",
                                   styled("rules, groups and partitions that change", Style::Heading, screen));
    for (std::size_t i = 0; i < listed; ++i) {
        const auto& change = report.changes[i];
        const auto sentence = fmt::format("{} {}: {}", change.part, change.name, change.message);
        text += fmt::format("  {}\n", sentence_on(screen, 2, 4, printable(sentence)));
    }
    const std::size_t unlisted = report.changes.size() - listed;
    if (unlisted + report.more_changes > 0) {
        text += fmt::format("  and {} more{}\n", unlisted + report.more_changes,
                            unlisted > 0 ? "; `--verbose` lists more" : "");
    }
    return text;
}

// Before and after, and each step with what traffic would notice of it.
std::string render_port(const api::PortPlan& port, const Screen& screen)
{
    std::string text = fmt::format("traffic classes of {}:\n", printable(port.netdev));
    text += port.classes.empty() ? "" : tree_on(screen, port.classes);
    // Without a table, the daemon would set no classes there.
    if (port.classes.empty() && !port.steps.empty()) {
        text += fmt::format("  {}\n", sentence_on(screen, 2, 4,
                                                  "the daemon would let them go; these steps put back what was there "
                                                  "before it first wrote:"));
    }
    if (port.steps.empty()) {
        text += port.classes.empty() ? "  no step: they would be left as they are\n"
                                     : "  no step: the port is so already\n";
    }
    for (const auto& step : port.steps) {
        const std::string words = printable(
            step.disruption.empty() ? step.words : fmt::format("{}; this {}", step.words, step.disruption));
        text += fmt::format("  {}\n", sentence_on(screen, 2, 4, words));
    }
    for (const auto& finding : port.findings) {
        text += labelled("finding:", Style::Warning, finding, screen);
    }
    for (const auto& note : port.notes) {
        text += labelled("note:", Style::Faint, note, screen);
    }
    return text;
}

// What would happen to a device, without its name.
std::string plan_body(const api::DevicePlan& plan, bool offline, bool verbose, const Screen& screen)
{
    std::string text = tree_on(screen, render_plan(plan.plan));
    text += render_operations(plan, verbose, screen);
    text += render_rates(plan, offline, screen);
    for (const auto& finding : plan.findings) {
        text += labelled("finding:", Style::Warning, finding.message + remark_on(finding), screen);
    }
    if (plan.port) {
        text += render_port(*plan.port, screen);
    }
    return text;
}

// In the words of a reload.
std::string render_refusal(const PlanReport& report, const Screen& screen)
{
    std::string text = labelled("refused:", Style::Bad,
                                report.offline ? "the new policy would be refused:"
                                               : "the new policy would be refused, and the running one would stay:",
                                screen);
    for (const auto& plan : report.plans) {
        for (const auto& finding : plan.findings) {
            if (refuses(finding)) {
                text += fmt::format("  {}\n", sentence_on(screen, 2, 4, finding_line(plan.device, finding)));
            }
        }
    }
    return text + fmt::format("  {}\n", sentence_on(screen, 2, 4, kAgainstUnlikeDevices));
}

}    // namespace

std::string render_plans(const PlanReport& report, bool verbose, const Screen& screen)
{
    std::string text = sentence_on(screen, 0, 2, printable(report.note)) + "\n";
    if (!report.diagnostics.empty()) {
        text += "\n" + render(report.diagnostics, screen);
    }
    if (!report.levels.empty()) {
        text += fmt::format("\n{}\n", styled("levels that change", Style::Heading, screen));
    }
    for (const auto& level : report.levels) {
        const auto sentence = fmt::format("level {}: {}", level.level, level.message);
        text += fmt::format("  {}\n", sentence_on(screen, 2, 4, printable(sentence)));
    }
    text += render_changes(report, verbose, screen);
    AlikeBlocks blocks;
    for (const auto& plan : report.plans) {
        blocks.add(printable(plan.device), "\n" + plan_body(plan, report.offline, verbose, screen));
    }
    for (const auto& block : blocks.all(screen)) {
        text += "\n" + block;
    }
    text += render_lost_levels(report, verbose, screen);
    text += render_sessions(report, verbose, screen);
    for (const auto& device : report.left_out) {
        text += fmt::format("\n{}\n", sentence_on(screen, 0, 2, left_out_line(device)));
    }
    if (report.monitors) {
        text += "\n" + labelled("note:", Style::Faint,
                                report.writes
                                    ? "the settings say `mode: monitor`: of this, a reload would only carry out the "
                                      "steps of ports, which put back what their traffic classes were before"
                                    : "the settings say `mode: monitor`: a reload would write nothing of this to a "
                                      "device",
                                screen);
    }
    if (!report.accepted) {
        text += "\n" + render_refusal(report, screen);
    }
    return text;
}

}    // namespace rdmaqos::ctl
