#include "tools/rdma-qosctl/rendering/world_text.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/base/text.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/rendering/value_text.h"

namespace rdmaqos::ctl {
namespace {

using Align = Table::Align;
using Fit = Table::Fit;

Cell outside_cell(const std::string& reason)
{
    return {reason, reason.empty() || reason == "kernel" ? Style::Plain : Style::Warning};
}

// "mlx5_0/1:24, mlx5_0/1:25 and 2 more"
std::string first_of(const std::vector<std::string>& names)
{
    constexpr std::size_t kNamed = 4;
    const auto named = std::min(names.size(), kNamed);
    const auto end = names.begin() + static_cast<std::ptrdiff_t>(named);
    std::string text = fmt::format("{}", fmt::join(names.begin(), end, ", "));
    if (names.size() > named) {
        text += fmt::format(" and {} more", names.size() - named);
    }
    return text;
}

// Below the table: a sentence does not fit beside so many columns. It names its queue pairs where the same word has
// several.
std::string render_reasons(const std::vector<api::HostQueuePair>& queue_pairs, const Screen& screen)
{
    std::map<std::string, std::map<std::string, std::vector<std::string>>> having;    // word, sentence
    for (const auto& queue_pair : queue_pairs) {
        if (!queue_pair.outside.empty() && !queue_pair.reason.empty()) {
            having[queue_pair.outside][queue_pair.reason].push_back(
                fmt::format("{}:{}", queue_pair.device, queue_pair.number));
        }
    }
    std::string text;
    for (const auto& [word, sentences] : having) {
        for (const auto& [sentence, names] : sentences) {
            const std::string line = fmt::format(
                "{}{}: {}", word, sentences.size() == 1 ? "" : fmt::format(", {}", first_of(names)), sentence);
            text += fmt::format("{}{}\n", text.empty() ? "\n" : "", sentence_on(screen, 0, 2, printable(line)));
        }
    }
    return text;
}

}    // namespace

std::string render_host_queue_pairs(const std::vector<api::HostQueuePair>& queue_pairs, const Screen& screen)
{
    if (queue_pairs.empty()) {
        return "no queue pair\n";
    }
    Table table({{"DEVICE"},
                 {"QP", Align::Right},
                 {"TYPE", Align::Left, Fit::Drop},
                 {"STATE", Align::Left, Fit::Drop},
                 {"REMOTE", Align::Right, Fit::DropSoon},
                 {"PID", Align::Right},
                 {"USER", Align::Left, Fit::Shorten},
                 {"UNIT", Align::Left, Fit::DropSoon},
                 {"COMMAND", Align::Left, Fit::Shorten},
                 {"LEVEL", Align::Left, Fit::Shorten},
                 {"LEAF", Align::Left, Fit::ShortenPath},
                 {"OUTSIDE"}});
    for (const auto& each : queue_pairs) {
        table.add({each.device, std::to_string(each.number), each.type, each.state, number_text(each.remote),
                   number_text(each.pid), each.pid ? owner_text(each.user, each.uid.value_or(0)) : "", each.unit,
                   each.kernel.empty() ? each.command : fmt::format("[{}]", each.kernel), each.level, each.leaf,
                   outside_cell(each.outside)});
    }
    return table.render(screen) + render_reasons(queue_pairs, screen);
}

std::string describe_host(const HostSummary& summary)
{
    std::vector<std::string> reasons;
    for (const auto& [reason, count] : summary.by_reason) {
        reasons.push_back(fmt::format("{} {}", count, reason));
    }
    std::string text = fmt::format("{} in a leaf; {} in none", counted(summary.in_leaf, "queue pair"), summary.outside);
    if (!reasons.empty()) {
        text += fmt::format(" ({})", fmt::join(reasons, ", "));
    }
    if (summary.of_kernel > 0) {
        text += fmt::format("; {} of the kernel", summary.of_kernel);
    }
    return text;
}

}    // namespace rdmaqos::ctl
