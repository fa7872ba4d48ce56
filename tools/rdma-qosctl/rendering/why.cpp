#include "tools/rdma-qosctl/rendering/why.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/base/text.h"
#include "lib/tree/element.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/rendering/marks.h"
#include "tools/rdma-qosctl/rendering/world_text.h"
#include "tools/rdma-qosctl/world/lost_levels.h"

namespace rdmaqos::ctl {
namespace {

constexpr std::size_t kListed = 4;    // siblings and queue pairs in a line

template <typename List>
std::string first_of(const List& list)
{
    const auto shown = std::min<std::size_t>(list.size(), kListed);
    std::string text = fmt::format("{}",
                                   fmt::join(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
    if (list.size() > shown) {
        text += fmt::format(" and {} more", list.size() - shown);
    }
    return text;
}

std::string describe_owner(const api::Owner& owner)
{
    return fmt::format("{}{}, {}{}", owner.pid, owner.command.empty() ? "" : fmt::format(" ({})", owner.command),
                       owner_text(owner.user, owner.uid), owner.unit.empty() ? "" : fmt::format(", {}", owner.unit));
}

std::string cap_of(const WhyStep& step, const WhyLeaf& leaf)
{
    if (!step.share && !step.port_class) {
        return fmt::format("{} (port)", to_string(leaf.link_speed));
    }
    return step.max_rate ? to_string(*step.max_rate) : "";
}

std::string render_way(const WhyLeaf& leaf, const Screen& screen)
{
    constexpr auto kLeft = Table::Align::Left;
    Table table(
        {{"WAY", kLeft, Table::Fit::ShortenPath}, {"SHARE"}, {"CAP"}, {"MAY ALSO SEND", kLeft, Table::Fit::Shorten}});
    std::size_t depth = 0;
    for (const auto& step : leaf.steps) {
        const std::string indent = depth == 0 ? "" : std::string(2 * (depth - 1), ' ') + "└ ";
        std::string share = step.share ? fmt::format("{} of {}", *step.share == 0 ? 1 : *step.share, step.share_of)
                                       : "";
        share += step.is_tree_of_process ? " (assumed)" : step.is_strict ? "strict" : "";
        const std::string cap = cap_of(step, leaf);
        table.add({indent + (step.port_class ? step.path : std::string(ElementPath(step.path).name())), share,
                   Cell(step.is_narrowest_cap ? cap + " <- narrowest" : cap,
                        step.is_narrowest_cap ? Style::Warning : Style::Plain),
                   first_of(step.siblings)});
        ++depth;
    }
    std::string text;
    const std::string drawn = table.render(screen.indented(2));
    for (const auto line : lines_of(drawn)) {
        text += fmt::format("  {}\n", line);
    }
    return text;
}

// "67 % of the port by traffic class 1 (67 Gbit/s), then 50 % of that by the tree (33.5 Gbit/s)"
std::string stages_in_words(const std::vector<WhyStage>& stages)
{
    std::string text;
    for (const auto& stage : stages) {
        const std::string of = text.empty() ? "of the port" : "of that";
        text += fmt::format("{}{} {} by {} ({}{})", text.empty() ? "" : ", then ",
                            stage.part > 0.9995 ? "all" : fmt::format("{:.0f} %", 100 * stage.part), of, stage.by,
                            to_string(stage.rate), stage.assumed ? ", assumed" : "");
    }
    return text;
}

std::string render_leaf(const WhyLeaf& leaf, const Screen& screen)
{
    const bool outside = leaf.narrowness == Narrowness::Outside;
    const std::string heading = fmt::format(
        "{}, {} {} of level {}{}", leaf.device, leaf.queue_pairs.size() == 1 ? "queue pair" : "queue pairs",
        first_of(leaf.queue_pairs),
        leaf.lost_level.empty() ? leaf.level : fmt::format("none (was {})", leaf.lost_level),
        leaf.leaf.empty() ? "" : fmt::format(" in {}", leaf.leaf));
    std::string text = fmt::format("\n{}\n",
                                   styled(sentence_on(screen, 0, 2, printable(heading)), Style::Heading, screen));
    if (!outside && !leaf.leaf.empty()) {
        text += render_way(leaf, screen);
        text += fmt::format("  alone {}; when all of these send, {}{}\n", to_string(leaf.alone), to_string(leaf.own),
                            leaf.outside > 0 ? "; without what is outside the tree" : "");
        if (leaf.port_class) {
            text += fmt::format("  {}\n  {}\n", sentence_on(screen, 2, 4, stages_in_words(leaf.stages)),
                                sentence_on(screen, 2, 4, printable(leaf.class_reason)));
        }
    }
    const Style style = leaf.narrowness == Narrowness::Nothing ? Style::Good : outside ? Style::Bad : Style::Warning;
    if (!leaf.remark.empty()) {
        text += fmt::format("  {}\n",
                            styled(sentence_on(screen, 2, 2, printable(leaf.remark)), Style::Warning, screen));
    }
    text += fmt::format("  {}\n  -> {}\n", styled(sentence_on(screen, 2, 2, printable(leaf.verdict)), style, screen),
                        sentence_on(screen, 5, 5, printable(leaf.advice)));
    return text;
}

std::string render_session(const WhySession& why, const Screen& screen)
{
    const SessionView& session = why.session;
    const std::string level = level_in_words(session);
    const std::string others = why.more_sessions.empty() ? "" : fmt::format(" and {} more", why.more_sessions.size());
    const std::string heading = fmt::format("process {}: {}session {}{}, level {}{}", describe_owner(session.owner),
                                            session.adopted ? "adopted, " : "", session.id, others,
                                            level.empty() ? "none" : level,
                                            session.state == "active" ? "" : fmt::format(", {}", session.state));
    std::string text = sentence_on(screen, 0, 2, printable(heading)) + "\n";
    if (!session.grant.rule.empty()) {
        text += fmt::format("  {}\n", sentence_on(screen, 2, 4, printable(session.grant.rule)));
    }
    for (const auto& leaf : why.leaves) {
        text += render_leaf(leaf, screen);
    }
    if (!why.note.empty()) {
        text += fmt::format("  {}\n", sentence_on(screen, 2, 2, why.note));
    }
    if (why.leaves.empty() && session.grant.lost) {
        const std::string reason = printable(session.grant.reason);
        text += fmt::format("  {}\n", styled(sentence_on(screen, 2, 2, reason), Style::Bad, screen));
    }
    if (!why.advice.empty()) {
        text += fmt::format("  -> {}\n", sentence_on(screen, 5, 5, printable(why.advice)));
    }
    return text;
}

}    // namespace

std::string render_why(const WhyReport& report, const Screen& screen)
{
    std::string text;
    for (const auto& session : report.sessions) {
        text += (text.empty() ? "" : "\n") + render_session(session, screen);
    }
    text += render_mark_paths(report.marks, screen);
    if (!report.ports.empty()) {
        text += "\nnow, by the port's counters\n";
    }
    for (const auto& port : report.ports) {
        const std::string use = fmt::format("{}: transmits {} of {} ({:.0f} %), receives {}", printable(port.device),
                                            to_string(port.transmits), to_string(port.link_speed),
                                            100 * port.utilisation(), to_string(port.receives));
        text += fmt::format("  {}\n", sentence_on(screen, 2, 4, use));
        for (const auto& program : port.programs) {
            const std::string sends = fmt::format(
                "session {}, {} counted: sends {}, receives {}", program.session.value_or(0),
                counted(program.queue_pairs, "queue pair"), to_string(program.sent), to_string(program.received));
            text += fmt::format("    {}\n", sentence_on(screen, 4, 6, sends));
        }
    }
    if (!report.note.empty()) {
        text += fmt::format("{}{}\n", text.empty() ? "" : "\n", sentence_on(screen, 0, 2, printable(report.note)));
    }
    if (!report.queue_pairs.empty()) {
        const std::string drawn = render_host_queue_pairs(report.queue_pairs, screen.indented(2));
        for (const auto line : lines_of(drawn)) {
            text += line.empty() ? "\n" : fmt::format("  {}\n", line);
        }
    }
    for (const auto& advice : report.advice) {
        text += fmt::format("  -> {}\n", sentence_on(screen, 5, 5, printable(advice)));
    }
    return text;
}

}    // namespace rdmaqos::ctl
