#include "tools/rdma-qosctl/output/terminal.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>
#include <unistd.h>

#include "lib/base/text.h"

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

bool is_set(const char* variable)
{
    const char* value = std::getenv(variable);
    return value != nullptr && *value != '\0';
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
            lines.emplace_back(word);
        }
    }
    return lines;
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

std::string styled(std::string_view text, Style style, Colour colour)
{
    if (colour == Colour::Off || style == Style::Plain || text.empty()) {
        return std::string(text);
    }
    return fmt::format("{}{}\x1b[0m", escape(style), text);
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

std::string Table::render(Colour colour) const
{
    std::vector<std::size_t> widths;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        const std::size_t cells = widest(rows_, [i](const auto& row) -> const std::string& { return row[i].text; });
        widths.push_back(std::max(display_width(columns_[i].title), cells));
    }
    std::string text;
    const auto add_line = [&](const auto& cell_of) {
        std::string line;
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            const Cell cell = cell_of(i);
            const std::string padding(widths[i] - display_width(cell.text), ' ');
            const bool right = columns_[i].align == Align::Right;
            const bool last = i + 1 == columns_.size();
            line += right ? padding : "";
            line += styled(cell.text, cell.style, colour);
            line += right || last ? "" : padding;
            line += last ? "" : kGap;
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

std::string Fields::render(Colour colour) const
{
    const std::size_t columns = widest(fields_, &Field::label) + 1;
    std::string text;
    for (const auto& field : fields_) {
        text += fmt::format("{}{}{}\n", padded(field.label + ":", columns), kGap,
                            styled(field.value, field.style, colour));
    }
    return text;
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

std::string advice(ErrorCode code)
{
    switch (code) {
    case ErrorCode::UnknownLevel:
        return "`rdma-qosctl levels` lists the levels of the running policy";
    case ErrorCode::LevelNotAllowed:
        return "`rdma-qosctl explain --level LEVEL` shows whom the level's `allow` admits";
    case ErrorCode::UnknownDevice:
    case ErrorCode::WrongDevice:
        return "`rdma-qosctl devices` lists the devices";
    case ErrorCode::AuthorizationRequired:
    case ErrorCode::InteractiveAuthorizationRequired:
        return "run it as root, or let polkit grant org.rdmaqos1.reload or org.rdmaqos1.manage to this user";
    case ErrorCode::NoDaemon:
        return "check, plan, simulate, explain and query-path also work without the daemon";
    case ErrorCode::InvalidPolicy:
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
    if (const std::string hint = advice(error.code); !hint.empty()) {
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
