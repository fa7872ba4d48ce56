#include "tools/rdma-qosctl/output/terminal.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/base/text.h"
#include "lib/base/units.h"

namespace rdmaqos::ctl {
namespace {

constexpr std::string_view kGap = "  ";

std::string_view escape(Style style)
{
    switch (style) {
    case Style::Plain:
        return "";
    case Style::Heading:
        return "\x1b[1m";
    case Style::Good:
        return "\x1b[32m";
    case Style::Warning:
        return "\x1b[33m";
    case Style::Bad:
        return "\x1b[1;31m";
    case Style::Faint:
        return "\x1b[2m";
    }
    return "";
}

// The first `count` characters.
std::string_view characters(std::string_view text, std::size_t count)
{
    std::size_t bytes = 0;
    for (; bytes < text.size(); ++bytes) {
        const bool begins_one = display_width(text.substr(bytes, 1)) == 1;
        if (begins_one && count-- == 0) {
            break;
        }
    }
    return text.substr(0, bytes);
}

// Of a text that is too wide: its beginning, or its beginning and its end.
std::string fitted(const std::string& text, std::size_t columns, Table::Fit fit)
{
    const std::size_t width = display_width(text);
    if (width <= columns) {
        return text;
    }
    const std::size_t tail = fit == Table::Fit::ShortenPath ? (columns - 1) * 2 / 3 : 0;
    const std::string_view head = characters(text, columns - 1 - tail);
    return fmt::format("{}…{}", head, std::string_view(text).substr(characters(text, width - tail).size()));
}

bool is_set(const char* variable)
{
    const char* value = std::getenv(variable);
    return value != nullptr && *value != '\0';
}

// What a line of a tree or a plan begins with, and what the lines that go on below it begin with.
struct Margin {
    std::string_view here;
    std::string below;
};

Margin margin_of(std::string_view line)
{
    constexpr std::array<std::string_view, 9> kBranches{" ", "│", "├", "└", "─", "+ ", "- ", "~ ", "! "};
    Margin margin;
    const auto begins_rest = [&](std::string_view branch) {
        return line.substr(margin.here.size()).starts_with(branch);
    };
    for (auto found = std::ranges::find_if(kBranches, begins_rest); found != kBranches.end();
         found = std::ranges::find_if(kBranches, begins_rest)) {
        margin.here = line.substr(0, margin.here.size() + found->size());
        margin.below += padded(*found == "│" || *found == "├" ? "│" : "", display_width(*found));
    }
    return margin;
}

// What stands at least two blanks apart.
std::vector<std::string> cells_of(std::string_view text)
{
    std::vector<std::string> cells;
    while (!text.empty()) {
        const auto gap = std::min(text.find(kGap), text.size());
        cells.emplace_back(text.substr(0, gap));
        text = without_leading_blanks(text.substr(gap), " ");
    }
    return cells;
}

// Cells on as many lines as they take. A cell is broken only if it is wider than a line.
std::vector<std::string> wrap_cells(std::string_view text, std::size_t columns)
{
    auto cells = cells_of(text);
    for (auto& cell : cells) {
        std::ranges::replace(cell, ' ', '\0');    // for wrap() it is one word
    }
    std::vector<std::string> lines;
    for (auto& line : wrap(fmt::format("{}", fmt::join(cells, kGap)), columns)) {
        std::ranges::replace(line, '\0', ' ');
        for (auto& part : wrap(line, columns)) {
            lines.push_back(std::move(part));
        }
    }
    return lines;
}

std::string line_on(const Screen& screen, std::string_view line)
{
    constexpr std::size_t kFurther = 2;
    if (display_width(line) <= screen.columns) {
        return std::string(line);
    }
    const Margin margin = margin_of(line);
    std::string_view text = line.substr(margin.here.size());
    const auto gap = text.rfind(kGap);
    std::string_view before = gap == std::string_view::npos ? "" : text.substr(0, gap + kGap.size());
    std::size_t at = display_width(margin.below) + display_width(before);
    if (before.empty() || at > screen.columns / 2) {
        before = {};
        at = display_width(margin.below) + kFurther;
    }
    text.remove_prefix(before.size());
    const std::size_t columns = screen.columns - std::min(screen.columns - 1, at);
    return fmt::format("{}{}{}", margin.here, before,
                       fmt::join(wrap_cells(text, columns), "\n" + padded(margin.below, at)));
}

}    // namespace

std::vector<std::string> wrap(std::string_view text, std::size_t columns)
{
    std::vector<std::string> lines{""};
    while (!text.empty()) {
        const auto end = text.find(' ');
        const std::string_view word = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        if (lines.back().empty()) {
            lines.back() = word;
        } else if (display_width(lines.back()) + 1 + display_width(word) <= columns) {
            lines.back() += fmt::format(" {}", word);
        } else {
            lines.back().erase(lines.back().find_last_not_of(' ') + 1);
            lines.emplace_back(word);
        }
    }
    return lines;
}

std::string sentence_on(const Screen& screen, std::size_t first, std::size_t indent, std::string_view text)
{
    if (screen.columns == kAnyWidth) {
        return std::string(text);
    }
    // As if the first line began where the others do: a word of it stands there already.
    const std::size_t there = first > indent ? first - indent : 0;
    const std::string before = there > 1 ? std::string(there - 1, '\0') + " " : std::string(there, '\0');
    auto lines = wrap(before + std::string(text), screen.columns - std::min(screen.columns - 1, indent));
    lines.front().erase(0, before.size());
    return fmt::format("{}", fmt::join(lines, "\n" + std::string(indent, ' ')));
}

std::string labelled(std::string_view label, Style style, std::string_view sentence, const Screen& screen,
                     std::size_t indent)
{
    const std::size_t further = indent + 2;
    const std::string head = sentence_on(screen, indent, further, printable(label));
    const auto line_feed = head.rfind('\n');
    const std::size_t head_ends = line_feed == std::string::npos ? indent + display_width(head)
                                                                 : display_width(head.substr(line_feed + 1));
    return fmt::format("{}{} {}\n", std::string(indent, ' '), styled(head, style, screen),
                       sentence_on(screen, head_ends + 1, further, printable(sentence)));
}

std::string lines_on(const Screen& screen, std::string_view text)
{
    std::string result;
    for (const auto line : lines_of(text)) {
        result += line_on(screen, printable(line)) + '\n';
    }
    return result;
}

std::string tree_on(const Screen& screen, std::string_view text)
{
    const auto lines = lines_of(text);
    const auto fits = [&](std::string_view line) { return display_width(printable(line)) <= screen.columns; };
    if (std::ranges::all_of(lines, fits)) {
        return lines_on(screen, text);
    }
    std::string together;
    for (const auto line : lines) {
        const Margin margin = margin_of(line);
        together += fmt::format("{}{}\n", margin.here, fmt::join(cells_of(line.substr(margin.here.size())), kGap));
    }
    return lines_on(screen, together);
}

Screen Screen::indented(std::size_t by) const
{
    return {colour, columns == kAnyWidth ? columns : columns - std::min(columns - 1, by)};
}

Colour choose_colour(ColourChoice choice, int fd)
{
    if (choice != ColourChoice::Auto) {
        return choice == ColourChoice::Always ? Colour::On : Colour::Off;
    }
    const char* terminal = std::getenv("TERM");
    const bool dumb = terminal != nullptr && std::string_view(terminal) == "dumb";
    return !is_set("NO_COLOR") && !dumb && isatty(fd) == 1 ? Colour::On : Colour::Off;
}

std::size_t screen_columns(int fd)
{
    if (const char* wanted = std::getenv("COLUMNS")) {
        if (const auto columns = parse_number(wanted); columns && *columns > 0) {
            return *columns;
        }
    }
    winsize size{};
    return isatty(fd) == 1 && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kAnyWidth;
}

std::string styled(std::string_view text, Style style, Colour colour)
{
    if (colour == Colour::Off || style == Style::Plain || text.empty()) {
        return std::string(text);
    }
    // Line by line: a pager forgets colours at the end of a line.
    std::vector<std::string> lines;
    for (const auto line : lines_of(text)) {
        lines.push_back(fmt::format("{}{}\x1b[0m", escape(style), line));
    }
    return fmt::format("{}", fmt::join(lines, "\n"));
}

void Table::add(std::vector<Cell> row)
{
    for (auto& cell : row) {
        cell.text = printable(cell.text);
    }
    row.resize(columns_.size(), Cell(""));
    for (auto& cell : row) {
        if (cell.text.empty()) {
            cell.text = std::string("-");
        }
    }
    rows_.push_back(std::move(row));
}

std::vector<std::size_t> Table::widths_on(const Screen& screen) const
{
    constexpr std::size_t kShortest = 8;
    std::vector<std::size_t> widths;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        const std::size_t cells = widest(rows_, [i](const auto& row) -> const std::string& { return row[i].text; });
        widths.push_back(std::max(display_width(columns_[i].title), cells));
    }
    const auto too_wide = [&] {
        std::size_t sum = 0;
        for (const std::size_t width : widths) {
            sum += width == 0 ? 0 : width + (sum == 0 ? 0 : kGap.size());
        }
        return sum > screen.columns ? sum - screen.columns : 0;
    };
    for (const Fit fit : {Fit::DropSoon, Fit::Drop}) {
        for (std::size_t i = columns_.size(); i-- > 0 && too_wide() > 0;) {
            if (columns_[i].fit == fit) {
                widths[i] = 0;
            }
        }
    }
    while (too_wide() > 0) {
        std::size_t widest_one = columns_.size();
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            const std::size_t least = std::max(kShortest, display_width(columns_[i].title));
            const bool can = columns_[i].fit == Fit::Shorten || columns_[i].fit == Fit::ShortenPath;
            if (can && widths[i] > least && (widest_one == columns_.size() || widths[i] > widths[widest_one])) {
                widest_one = i;
            }
        }
        if (widest_one == columns_.size()) {
            break;
        }
        --widths[widest_one];
    }
    return widths;
}

std::string Table::render(const Screen& screen) const
{
    const std::vector<std::size_t> widths = widths_on(screen);
    std::size_t last = columns_.size();
    while (last > 0 && widths[--last] == 0) {
    }
    std::string text;
    const auto add_line = [&](const auto& cell_of) {
        std::string line;
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            if (widths[i] == 0) {
                continue;
            }
            const Cell cell = cell_of(i);
            const std::string shown = fitted(cell.text, widths[i], columns_[i].fit);
            const std::string padding(widths[i] - display_width(shown), ' ');
            const bool right = columns_[i].align == Align::Right;
            line += right ? padding : "";
            line += styled(shown, cell.style, screen.colour);
            line += right || i == last ? "" : padding;
            line += i == last ? "" : kGap;
        }
        text += line + '\n';
    };
    add_line([&](std::size_t i) { return Cell(columns_[i].title, Style::Heading); });
    for (const auto& row : rows_) {
        add_line([&](std::size_t i) { return row[i]; });
    }
    return text;
}

void Fields::add(std::string label, std::string_view value, Style style)
{
    if (!value.empty()) {
        fields_.push_back({std::move(label), printable(value), style});
    }
}

std::string Fields::render(const Screen& screen) const
{
    const std::size_t columns = widest(fields_, &Field::label) + 1;
    const std::size_t at = columns + kGap.size();
    std::string text;
    for (const auto& field : fields_) {
        text += fmt::format("{}{}{}\n", padded(field.label + ":", columns), kGap,
                            styled(sentence_on(screen, at, at, field.value), field.style, screen));
    }
    return text;
}

void AlikeBlocks::add(std::string name, std::string body)
{
    auto block = std::ranges::find(blocks_, body, &Block::body);
    if (block == blocks_.end()) {
        block = blocks_.insert(block, {std::move(body), {}});
    }
    block->names.push_back(std::move(name));
}

std::vector<std::string> AlikeBlocks::all(const Screen& screen) const
{
    constexpr std::size_t kReadable = 100;
    std::vector<std::string> texts;
    for (const auto& block : blocks_) {
        texts.push_back(styled(block.names.front(), Style::Heading, screen) + block.body);
        if (block.names.size() > 1) {
            const std::span others(block.names.begin() + 1, block.names.end());
            texts.back() += sentence_on({screen, std::min(screen.columns, kReadable)}, 0, 2,
                                        fmt::format("the same: {}", fmt::join(others, ", "))) +
                            "\n";
        }
    }
    return texts;
}

std::string printable_lines(std::string_view text)
{
    std::string result;
    for (const auto line : lines_of(text)) {
        result += printable(line) + '\n';
    }
    if (!text.empty() && !text.ends_with('\n')) {
        result.pop_back();
    }
    return result;
}

std::string advice(const Error& error, uid_t caller)
{
    switch (error.code) {
    case ErrorCode::UnknownLevel:
        return "`rdma-qosctl levels` lists the levels of the running policy";
    case ErrorCode::LevelNotAllowed:
        return "`rdma-qosctl explain --level LEVEL` shows whom the level's `allow` admits";
    case ErrorCode::UnknownDevice:
    case ErrorCode::WrongDevice:
        return "`rdma-qosctl devices` lists the devices";
    case ErrorCode::AuthorizationRequired:
    case ErrorCode::InteractiveAuthorizationRequired:
        if (caller == 0) {
            return "run it on the host, outside of containers: their root is a user like any other, and polkit is not "
                   "asked about it";
        }
        if (error.sys_errno != 0) {
            return "run it as root: the files are root's, and no grant of polkit's changes that";
        }
        return "run it as root, or let polkit grant org.rdmaqos1.reload, org.rdmaqos1.try or org.rdmaqos1.manage to "
               "this user";
    case ErrorCode::NoDaemon:
        return "check, plan, simulate, explain and query-path also work without the daemon";
    case ErrorCode::InvalidPolicy:
        if (error.message.find("/rdma-qosd.yaml:") != std::string::npos) {
            return {};    // the settings are on no trial there
        }
        return "`rdma-qosctl check FILE` tries an edit without touching the running policy";
    case ErrorCode::NoMatchingPath:
        return "`rdma-qosctl explain` with the same options shows which level was chosen and why";
    case ErrorCode::DeviceFailed:
    case ErrorCode::DeviceGone:
        return "`rdma-qosctl status` shows the state of each device";
    case ErrorCode::Timeout:
    case ErrorCode::Busy:
        return "try again; `rdma-qosctl status` shows what the daemon is busy with";
    case ErrorCode::LimitReached:
        return "the limits per user are in /etc/rdma-qos/rdma-qosd.yaml";
    default:
        return {};
    }
}

std::string render_error(const Error& error, Colour colour)
{
    std::string message = printable_lines(to_string(error));
    while (!message.empty() && message.back() == '\n') {
        message.pop_back();
    }
    std::string text = fmt::format("{}: {}: {}\n", styled("rdma-qosctl", Style::Heading, colour),
                                   styled("error", Style::Bad, colour), message);
    if (const std::string hint = advice(error); !hint.empty()) {
        text += fmt::format("  hint: {}\n", hint);
    }
    return text;
}

void print(std::string_view text)
{
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
}

void print_error(std::string_view text)
{
    std::fflush(stdout);
    std::fwrite(text.data(), 1, text.size(), stderr);
}

}    // namespace rdmaqos::ctl
