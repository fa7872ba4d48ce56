#include "lib/tree/drawing.h"

#include <algorithm>

#include <fmt/format.h>

#include "lib/base/text.h"

namespace rdmaqos::drawing {
namespace {

constexpr std::size_t kGap = 3;    // between columns

struct Line {
    std::string text;
    const Node* node = nullptr;
};

void add_lines(const std::vector<Node>& nodes, std::size_t index, const std::string& own_prefix,
               const std::string& child_prefix, std::vector<Line>& lines)
{
    const Node& node = nodes[index];
    lines.push_back({own_prefix + node.label, &node});
    for (const std::size_t child : node.children) {
        const bool is_last = child == node.children.back();
        add_lines(nodes, child, child_prefix + (is_last ? "└── " : "├── "), child_prefix + (is_last ? "    " : "│   "),
                  lines);
    }
}

std::string_view take_number(std::string_view& text)
{
    const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
    auto number = text.substr(0, static_cast<std::size_t>(end - text.begin()));
    text.remove_prefix(number.size());
    number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
    return number;
}

}    // namespace

std::string draw(const std::vector<Node>& nodes, std::size_t root)
{
    std::vector<Line> lines;
    add_lines(nodes, root, "", "", lines);
    const bool has_marks = std::any_of(lines.begin(), lines.end(),
                                       [](const Line& line) { return !line.node->mark.empty(); });
    const std::size_t tree_width = widest(lines, &Line::text);
    std::vector<std::size_t> widths;
    for (const auto& line : lines) {
        widths.resize(std::max(widths.size(), line.node->cells.size()), 0);
        for (std::size_t i = 0; i < line.node->cells.size(); ++i) {
            widths[i] = std::max(widths[i], display_width(line.node->cells[i]));
        }
    }
    std::string result;
    for (const auto& line : lines) {
        std::string text = (has_marks ? padded(line.node->mark, 2) : "") + padded(line.text, tree_width + kGap);
        for (std::size_t i = 0; i < line.node->cells.size(); ++i) {
            if (widths[i] > 0) {
                text += padded(line.node->cells[i], widths[i] + kGap);
            }
        }
        text.erase(text.find_last_not_of(' ') + 1);
        result += text + "\n";
    }
    return result;
}

bool comes_before(std::string_view a, std::string_view b)
{
    const std::string_view whole_a = a;
    const std::string_view whole_b = b;
    if ((a == "others") != (b == "others")) {
        return b == "others";
    }
    while (!a.empty() && !b.empty()) {
        if (is_digit(a.front()) && is_digit(b.front())) {
            const auto number_a = take_number(a);
            const auto number_b = take_number(b);
            if (number_a != number_b) {
                return number_a.size() != number_b.size() ? number_a.size() < number_b.size() : number_a < number_b;
            }
        } else if (a.front() != b.front()) {
            return a.front() < b.front();
        } else {
            a.remove_prefix(1);
            b.remove_prefix(1);
        }
    }
    return a.empty() && b.empty() ? whole_a < whole_b : a.empty();
}

std::string label_below(std::string_view parent, std::string_view path)
{
    const std::string prefix = parent == "/" ? "/" : std::string(parent) + "/";
    return printable(path.size() > prefix.size() && path.starts_with(prefix) ? path.substr(prefix.size()) : path);
}

std::string share_text(std::uint32_t share)
{
    return share == 0 ? "default" : std::to_string(share);
}

std::uint64_t counted_weight(std::uint32_t weight)
{
    return std::max(weight, 1U);
}

std::string rate_request_text(const RequestedRate& requested, std::uint32_t weight, std::uint64_t sum)
{
    if (!requested.min_rate && requested.share.value_or(weight) == weight) {
        return "share " + share_text(weight);
    }
    return fmt::format("{} (weight {})",
                       requested.min_rate ? "min-rate " + to_string(*requested.min_rate)
                                          : fmt::format("share {}", *requested.share),
                       weight == 0 ? share_text(weight) : fmt::format("{} of {}", weight, sum));
}

std::string rate_text(const std::optional<Bandwidth>& rate)
{
    return rate ? to_string(*rate) : "unlimited";
}

}    // namespace rdmaqos::drawing
