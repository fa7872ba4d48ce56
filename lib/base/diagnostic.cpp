#include "lib/base/diagnostic.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "lib/base/text.h"

namespace rdmaqos {
namespace {

constexpr std::size_t kLongestSourceLineShown = 160;

std::string_view severity_colour(Severity severity)
{
    switch (severity) {
    case Severity::Error:
        return "\x1b[1;31m";
    case Severity::Warning:
        return "\x1b[1;35m";
    case Severity::Note:
        return "\x1b[1;36m";
    }
    return "";
}

// A line of the file, or what there is of it.
std::string_view source_line(const SourceFile& file, std::uint32_t number)
{
    std::string_view rest = file.text;
    for (std::uint32_t line = file.first_line; line < number; ++line) {
        const auto newline = rest.find('\n');
        if (newline == std::string_view::npos) {
            return {};
        }
        rest.remove_prefix(newline + 1);
    }
    auto text = rest.substr(0, rest.find('\n'));
    if (!text.empty() && text.back() == '\r') {
        text.remove_suffix(1);
    }
    return text;
}

std::size_t code_points(std::string_view text)
{
    return static_cast<std::size_t>(std::count_if(
        text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80; }));
}

// Backwards to the first byte of the UTF-8 sequence that `position` is in.
std::size_t sequence_start(std::string_view text, std::size_t position)
{
    while (position > 0 && position < text.size() && (static_cast<unsigned char>(text[position]) & 0xC0U) == 0x80) {
        --position;
    }
    return position;
}

// What is shown of a line: of a long one a window around the caret.
struct Window {
    std::string_view line;    // what there is of it
    std::size_t caret = 0;    // in `line`
    std::size_t begin = 0;
    std::size_t end = 0;
};

std::optional<Window> window_of(const Location& location)
{
    if (!location.file || location.line == 0 || location.file->first_line == 0) {
        return std::nullopt;
    }
    Window window;
    window.line = source_line(*location.file, location.line);
    const std::size_t column = location.column == 0 ? 0 : location.column - 1;
    window.caret = std::min(column - std::min<std::size_t>(column, location.file->skipped), window.line.size());
    if (window.caret > kLongestSourceLineShown / 2 && window.line.size() > kLongestSourceLineShown) {
        window.begin = sequence_start(window.line, window.caret - kLongestSourceLineShown / 2);
    }
    window.end = sequence_start(window.line, std::min(window.line.size(), window.begin + kLongestSourceLineShown));
    return window;
}

// The source line and a caret line under it. Tabs become blanks so that the caret stays below its column.
std::string render_source(const Location& location, Colour colour)
{
    const auto shown = window_of(location);
    if (!shown) {
        return {};
    }
    const auto window = shown->line.substr(shown->begin, shown->end - shown->begin);
    const auto clean = [](std::string_view text) {
        std::string blanks(text);
        std::replace(blanks.begin(), blanks.end(), '\t', ' ');
        return printable(blanks);
    };
    const std::size_t in_window = shown->caret - shown->begin;
    const std::string before = clean(window.substr(0, in_window));
    const std::string marked = clean(window.substr(std::min(in_window, window.size()), location.length));
    const std::size_t width = std::max<std::size_t>(1, code_points(marked));
    const std::string_view lead = shown->begin + location.file->skipped > 0 ? "..." : "";
    const bool on = colour == Colour::On;
    return fmt::format("{:>5} | {}{}{}\n      | {}{}^{}{}\n", location.line, lead, clean(window),
                       shown->end < shown->line.size() ? "..." : "",
                       std::string(code_points(before) + lead.size(), ' '), on ? "\x1b[1;32m" : "",
                       std::string(width - 1, '~'), on ? "\x1b[0m" : "");
}

}    // namespace

std::string_view to_string(Severity severity)
{
    switch (severity) {
    case Severity::Error:
        return "error";
    case Severity::Warning:
        return "warning";
    case Severity::Note:
        return "note";
    }
    return "error";
}

std::string Location::to_string() const
{
    if (!file) {
        return {};
    }
    if (line == 0) {
        return printable(file->name);
    }
    return fmt::format("{}:{}:{}", printable(file->name), line, column);
}

Diagnostic& Diagnostics::add(Severity severity, Location location, std::string message)
{
    if (severity == Severity::Error) {
        ++errors_;
    } else if (severity == Severity::Warning) {
        ++warnings_;
    }
    Diagnostic diagnostic{severity, std::move(location), std::move(message), {}};
    if (kept_.size() < kMaxKept) {
        return kept_.emplace_back(std::move(diagnostic));
    }
    ++dropped_;
    if (severity == Severity::Error) {
        // What refuses the text must be seen, whatever else there is to say.
        const auto least = std::find_if(kept_.rbegin(), kept_.rend(),
                                        [](const Diagnostic& kept) { return kept.severity != Severity::Error; });
        if (least != kept_.rend()) {
            kept_.erase(std::next(least).base());
            return kept_.emplace_back(std::move(diagnostic));
        }
    }
    overflow_ = std::move(diagnostic);
    return overflow_;
}

Diagnostic& Diagnostics::error(Location location, std::string message)
{
    return add(Severity::Error, std::move(location), std::move(message));
}

Diagnostic& Diagnostics::warning(Location location, std::string message)
{
    return add(Severity::Warning, std::move(location), std::move(message));
}

Diagnostic& Diagnostics::note(Location location, std::string message)
{
    return add(Severity::Note, std::move(location), std::move(message));
}

void Diagnostics::append(Diagnostics other)
{
    const std::size_t errors = errors_ + other.errors_;
    const std::size_t warnings = warnings_ + other.warnings_;
    dropped_ += other.dropped_;
    for (auto& diagnostic : other.kept_) {
        add(diagnostic.severity, std::move(diagnostic.location), std::move(diagnostic.message)).hint = std::move(
            diagnostic.hint);
    }
    errors_ = errors;
    warnings_ = warnings;
}

void Diagnostics::sort_by_location()
{
    struct Group {
        std::vector<Diagnostic> members;    // the head and the notes behind it
    };
    std::map<const SourceFile*, std::size_t> file_order;
    std::vector<Group> groups;
    for (auto& diagnostic : kept_) {
        file_order.emplace(diagnostic.location.file.get(), file_order.size());
        if (diagnostic.severity != Severity::Note || groups.empty()) {
            groups.emplace_back();
        }
        groups.back().members.push_back(std::move(diagnostic));
    }
    const auto key = [&](const Group& group) {
        const Location& location = group.members.front().location;
        return std::tuple(file_order.at(location.file.get()), location.line, location.column);
    };
    std::stable_sort(groups.begin(), groups.end(), [&](const Group& a, const Group& b) { return key(a) < key(b); });
    kept_.clear();
    for (auto& group : groups) {
        std::move(group.members.begin(), group.members.end(), std::back_inserter(kept_));
    }
}

std::shared_ptr<const SourceFile> excerpt_of(const Location& location)
{
    const auto shown = window_of(location);
    if (!shown) {
        return nullptr;
    }
    return std::make_shared<SourceFile>(
        SourceFile{location.file->name, std::string(shown->line.substr(shown->begin, shown->end - shown->begin)),
                   location.line, location.file->skipped + static_cast<std::uint32_t>(shown->begin)});
}

Diagnostics with_excerpts(const Diagnostics& diagnostics)
{
    std::vector<Diagnostic> kept = diagnostics.all();
    for (auto& [severity, location, message, hint] : kept) {
        if (auto excerpt = excerpt_of(location)) {
            location.file = std::move(excerpt);
        } else if (location.file) {
            location.file = std::make_shared<SourceFile>(SourceFile{location.file->name, "", 0});
        }
    }
    return {std::move(kept), diagnostics.error_count(), diagnostics.warning_count(), diagnostics.dropped()};
}

std::string render(const Diagnostic& diagnostic, Colour colour, Quote quote)
{
    const bool on = colour == Colour::On;
    const std::string place = diagnostic.location.to_string();
    std::string text = fmt::format("{}{}{}{}{}{}: {}\n", on ? "\x1b[1m" : "", place, place.empty() ? "" : ": ",
                                   on ? severity_colour(diagnostic.severity) : "", to_string(diagnostic.severity),
                                   on ? "\x1b[0m" : "", printable(diagnostic.message));
    if (quote == Quote::Lines) {
        text += render_source(diagnostic.location, colour);
    }
    if (!diagnostic.hint.empty()) {
        text += fmt::format("      = hint: {}\n", printable(diagnostic.hint));
    }
    return text;
}

std::string render(const Diagnostics& diagnostics, Colour colour, Quote quote)
{
    std::string text;
    for (const auto& diagnostic : diagnostics.all()) {
        text += render(diagnostic, colour, quote);
    }
    if (diagnostics.dropped() > 0) {
        text += fmt::format("... and {} not shown\n", counted(diagnostics.dropped(), "more message"));
    }
    if (diagnostics.error_count() > 0 || diagnostics.warning_count() > 0) {
        std::string summary;
        if (diagnostics.error_count() > 0) {
            summary = counted(diagnostics.error_count(), "error");
        }
        if (diagnostics.warning_count() > 0) {
            summary += summary.empty() ? "" : ", ";
            summary += counted(diagnostics.warning_count(), "warning");
        }
        text += summary + '\n';
    }
    return text;
}

}    // namespace rdmaqos
