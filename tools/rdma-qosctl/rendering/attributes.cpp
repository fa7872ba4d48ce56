#include "tools/rdma-qosctl/rendering/devices.h"

#include <algorithm>
#include <climits>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/base/text.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/world/online.h"

namespace rdmaqos::ctl {
namespace {

constexpr std::string_view kIndent = "  ";

// A report must survive a mail: lines are broken here at the latest, unless a word is longer.
std::size_t columns_on(const Screen& screen)
{
    constexpr std::size_t kColumns = 100;
    return std::min(screen.columns, kColumns);
}

// "tso_caps" of "tso_caps.max_tso"; empty for a field that is in no inner structure.
std::string_view structure_of(std::string_view name)
{
    const auto dot = name.find('.');
    return dot == std::string_view::npos ? std::string_view() : name.substr(0, dot);
}

// In the order in which each comes first.
std::vector<std::string_view> structures_of(const std::vector<AttributeView>& attributes)
{
    std::vector<std::string_view> structures;
    for (const auto& attribute : attributes) {
        const auto structure = structure_of(attribute.name);
        if (std::find(structures.begin(), structures.end(), structure) == structures.end()) {
            structures.push_back(structure);
        }
    }
    return structures;
}

// Several lines below each other, the first behind `head`, which ends at column `at`.
std::string beside(std::string_view head, std::size_t at, const std::vector<std::string>& lines, Style style,
                   Colour colour)
{
    std::string text;
    for (const auto& line : lines) {
        const std::string_view left = text.empty() ? head : std::string_view();
        text += fmt::format("{}{}\n", padded(left, at), styled(line, style, colour));
    }
    return text;
}

std::string answer_of(const api::SelfTestStep& step)
{
    std::vector<std::string> parts;
    if (step.sys_errno != 0) {
        parts.push_back(errno_name(step.sys_errno));
    }
    if (step.status != 0) {
        parts.push_back(fmt::format("status {:#x}", step.status));
    }
    if (step.syndrome != 0) {
        parts.push_back(fmt::format("syndrome {:#x}", step.syndrome));
    }
    return fmt::format("{}", fmt::join(parts, ", "));
}

}    // namespace

std::string errno_name(std::uint64_t number)
{
    const char* name = number <= INT_MAX ? strerrorname_np(static_cast<int>(number)) : nullptr;
    return name == nullptr ? fmt::format("errno {}", number) : std::string(name);
}

std::string render_attributes(const std::vector<AttributeView>& attributes, const Screen& screen)
{
    const std::size_t names = widest(attributes, [](const auto& attribute) { return printable(attribute.name); });
    const std::size_t at = kIndent.size() + names + kIndent.size();
    const std::size_t columns = columns_on(screen);
    const std::size_t left = columns - std::min(at, columns * 2 / 3);
    std::string text;
    for (const auto& structure : structures_of(attributes)) {
        text += fmt::format("{}{}\n", text.empty() ? "" : "\n",
                            styled(structure.empty() ? "device" : printable(structure), Style::Heading, screen));
        for (const auto& [name, value, meaning] : attributes) {
            if (structure_of(name) != structure) {
                continue;
            }
            text += beside(fmt::format("{}{}", kIndent, printable(name)), at, wrap(printable(value), left),
                           Style::Plain, screen);
            if (!meaning.empty()) {
                text += beside("", at, wrap(fmt::format("({})", printable(meaning)), left), Style::Faint, screen);
            }
        }
    }
    return text;
}

namespace {

// The steps of a row of the matrix, and what heads their columns.
constexpr std::pair<std::string_view, const char*> kMatrixColumns[] = {
    {"create elements", "CREATE"}, {"change", "CHANGE"},     {"read back", "READ"},       {"attach in INIT", "INIT"},
    {"attach in RTR", "RTR"},      {"attach in RTS", "RTS"}, {"detach in RTS", "DETACH"}, {"destroy", "DESTROY"},
};

// What the device allows with each kind of leaf; empty: it was not asked.
std::string render_matrix(const std::vector<api::SelfTestStep>& steps, const Screen& screen)
{
    std::vector<Table::Column> columns{{"LEAF"}};
    for (const auto& [name, heading] : kMatrixColumns) {
        columns.push_back({heading});
    }
    Table table(std::move(columns));
    std::vector<std::string> rows;
    for (const auto& step : steps) {
        if (step.row.empty() || std::ranges::find(rows, step.row) != rows.end()) {
            continue;
        }
        rows.push_back(step.row);
        std::vector<Cell> cells{printable(step.row)};
        for (const auto& [name, heading] : kMatrixColumns) {
            const auto found = std::ranges::find_if(
                steps, [&, wanted = name](const auto& each) { return each.row == step.row && each.name == wanted; });
            cells.push_back(found == steps.end() ? Cell("")
                            : found->passed      ? Cell("yes", Style::Good)
                                                 : Cell("no", Style::Warning));
        }
        table.add(std::move(cells));
    }
    return rows.empty() ? std::string() : table.render(screen);
}

}    // namespace

std::string render_self_test(const std::vector<api::SelfTestStep>& steps, const Screen& screen)
{
    constexpr std::size_t kAt = 10;    // behind "  passed  "
    const std::size_t left = columns_on(screen) - std::min(columns_on(screen) - 1, kAt);
    std::string text = render_matrix(steps, screen);
    text += text.empty() ? "" : "\n";
    for (const auto& step : steps) {
        if (!step.row.empty() && step.passed) {
            continue;    // its cell says all there is
        }
        const std::string answer = answer_of(step);
        const std::string name = step.row.empty() ? step.name : fmt::format("{}: {}", step.row, step.name);
        const std::string line = fmt::format("{}{}{}", printable(name), answer.empty() ? "" : ": ", answer);
        text += fmt::format("{}{}{}{}\n", kIndent,
                            !step.row.empty() ? styled("no    ", Style::Warning, screen)
                            : step.passed     ? styled("passed", Style::Good, screen)
                                              : styled("failed", Style::Bad, screen),
                            kIndent, sentence_on(screen, kAt, kAt, line));
        if (!step.remark.empty()) {
            text += beside("", kAt, wrap(fmt::format("({})", printable(step.remark)), left), Style::Faint, screen);
        }
    }
    return text;
}

}    // namespace rdmaqos::ctl
