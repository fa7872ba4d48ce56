#include "tools/rdma-qosctl/rendering/world_text.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "lib/base/text.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/rendering/dict_text.h"
#include "tools/rdma-qosctl/world/online.h"

namespace rdmaqos::ctl {
namespace {

using Align = Table::Align;
using Fit = Table::Fit;

Cell outside_cell(const bus::Dict& queue_pair)
{
    const std::string reason = text_of(queue_pair, "outside");
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
std::string render_reasons(const std::vector<bus::Dict>& queue_pairs, const Screen& screen)
{
    std::map<std::string, std::map<std::string, std::vector<std::string>>> having;    // word, sentence
    for (const auto& queue_pair : queue_pairs) {
        const std::string word = text_of(queue_pair, "outside");
        const std::string sentence = text_of(queue_pair, "reason");
        if (!word.empty() && !sentence.empty()) {
            having[word][sentence].push_back(
                fmt::format("{}:{}", text_of(queue_pair, "device"), number_of(queue_pair, "number")));
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

std::string render_host_queue_pairs(const std::vector<bus::Dict>& queue_pairs, const Screen& screen)
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
    for (const auto& queue_pair : queue_pairs) {
        const bool has_owner = queue_pair.contains("pid");
        const std::string kernel = text_of(queue_pair, "kernel");
        table.add({text_of(queue_pair, "device"), number_text(queue_pair, "number"), text_of(queue_pair, "type"),
                   text_of(queue_pair, "state"), number_text(queue_pair, "remote"), number_text(queue_pair, "pid"),
                   has_owner ? owner_text(queue_pair) : "", text_of(queue_pair, "unit"),
                   kernel.empty() ? text_of(queue_pair, "command") : fmt::format("[{}]", kernel),
                   text_of(queue_pair, "level"), text_of(queue_pair, "leaf"), outside_cell(queue_pair)});
    }
    return table.render(screen) + render_reasons(queue_pairs, screen);
}

Json host_queue_pairs_json(const std::vector<bus::Dict>& queue_pairs)
{
    return {{"queue-pairs", to_json(queue_pairs)}};
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
