#include "tests/kernel/agreement/comparison.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>

namespace rdmaqos::test::agreement {
namespace {

constexpr std::string_view kBetween = " -> ";
constexpr std::string_view kMark = "<!-- differences -->";
constexpr std::string_view kMissing = "(no such line)";

std::vector<std::string> lines_of(std::string_view text)
{
    std::vector<std::string> lines;
    std::istringstream in{std::string(text)};
    for (std::string line; std::getline(in, line);) {
        lines.push_back(line);
    }
    return lines;
}

// What was said, by name; the names in their order.
struct Said {
    std::vector<std::string> names;
    std::map<std::string, std::string> text;

    [[nodiscard]] std::string of(const std::string& name) const
    {
        const auto found = text.find(name);
        return found == text.end() ? std::string(kMissing) : found->second;
    }
};

Said said_in(std::string_view transcript)
{
    Said said;
    for (const auto& line : lines_of(transcript)) {
        const auto at = line.find(kBetween);
        const std::string name = line.substr(0, at);
        const std::string text = at == std::string::npos ? "" : line.substr(at + kBetween.size());
        if (!said.text.emplace(name, text).second) {
            throw std::runtime_error("two lines are called " + name);
        }
        said.names.push_back(name);
    }
    return said;
}

// Of the kernel's, then those that only the emulator has.
std::vector<std::string> names_of(const Said& kernel, const Said& emulator)
{
    std::vector<std::string> names = kernel.names;
    for (const auto& name : emulator.names) {
        if (!kernel.text.contains(name)) {
            names.push_back(name);
        }
    }
    return names;
}

// What one line said, and says.
struct Difference {
    std::string name;
    std::string said;
    std::string says;

    [[nodiscard]] bool is_about(const Said& transcript) const { return transcript.of(name) == said; }
};

// Those of paragraphs as differences() writes them.
std::vector<Difference> differences_in(std::string_view paragraphs)
{
    const auto answer = [](const std::string& line) {
        const auto at = line.find_first_not_of(' ', line.find(": ") + 1);
        return at == std::string::npos ? std::string() : line.substr(at);
    };
    const auto lines = lines_of(paragraphs);
    if (lines.size() % 3 != 0) {
        throw std::runtime_error("a paragraph has three lines: a name, what was said, what is said");
    }
    std::vector<Difference> found;
    for (std::size_t at = 0; at < lines.size(); at += 3) {
        found.push_back({lines[at], answer(lines[at + 1]), answer(lines[at + 2])});
    }
    return found;
}

std::string trimmed(std::string_view text)
{
    const auto first = text.find_first_not_of(" `");
    const auto last = text.find_last_not_of(" `");
    return first == std::string_view::npos ? "" : std::string(text.substr(first, last - first + 1));
}

std::vector<std::string> cells_of(const std::string& row)
{
    std::vector<std::string> cells;
    for (std::size_t at = 1; at < row.size();) {
        const auto end = std::min(row.find('|', at), row.size());
        cells.push_back(trimmed(std::string_view(row).substr(at, end - at)));
        at = end + 1;
    }
    return cells;
}

}    // namespace

bool fits(std::string_view pattern, std::string_view text, std::string_view gap)
{
    const auto at = pattern.find(gap);
    if (at == std::string_view::npos) {
        return pattern == text;
    }
    const std::string_view end = pattern.substr(at + gap.size());
    return text.size() >= at + end.size() && text.starts_with(pattern.substr(0, at)) && text.ends_with(end);
}

std::vector<KnownDifference> known_differences(std::string_view document)
{
    const auto mark = document.find(kMark);
    if (mark == std::string_view::npos) {
        throw std::runtime_error("the document has no line " + std::string(kMark));
    }
    std::vector<KnownDifference> known;
    bool inside = false;
    for (const auto& line : lines_of(document.substr(mark + kMark.size()))) {
        if (!line.starts_with('|')) {
            if (inside) {
                break;
            }
            continue;
        }
        const auto cells = cells_of(line);
        const bool heading = !inside;
        inside = true;
        if (heading || line.starts_with("|--")) {
            continue;
        }
        if (cells.size() != 4 || cells[0].empty() || cells[3].empty()) {
            throw std::runtime_error("this row is not `probe | kernel | emulator | reason`: " + line);
        }
        known.push_back({cells[0], cells[1], cells[2], cells[3]});
    }
    return known;
}

std::vector<std::string> compare(std::string_view kernel, std::string_view emulator,
                                 const std::vector<KnownDifference>& known, std::vector<bool>& used)
{
    const Said of_kernel = said_in(kernel);
    const Said of_emulator = said_in(emulator);
    used.resize(known.size());
    std::vector<std::string> unknown;
    for (const auto& name : names_of(of_kernel, of_emulator)) {
        const std::string one = of_kernel.of(name);
        const std::string other = of_emulator.of(name);
        bool is_known = one == other;
        for (std::size_t row = 0; !is_known && row < known.size(); ++row) {
            is_known = fits(known[row].probe, name, "*") && fits(known[row].kernel, one, "...") &&
                       fits(known[row].emulator, other, "...");
            used[row] = used[row] || is_known;
        }
        if (!is_known) {
            unknown.push_back(fmt::format("{}\n  the kernel:   {}\n  the emulator: {}\n", name, one, other));
        }
    }
    return unknown;
}

std::vector<std::string> unneeded(const std::vector<KnownDifference>& known, const std::vector<bool>& used)
{
    std::vector<std::string> rows;
    for (std::size_t row = 0; row < known.size(); ++row) {
        if (row >= used.size() || !used[row]) {
            rows.push_back(fmt::format("{}: the table lists a difference that is none any more ({} - {})",
                                       known[row].probe, known[row].kernel, known[row].emulator));
        }
    }
    return rows;
}

std::string differences(const std::string& older, std::string_view said, const std::string& newer,
                        std::string_view says)
{
    const Said before = said_in(said);
    const Said now = said_in(says);
    const std::size_t width = std::max(older.size(), newer.size()) + 1;
    std::string text;
    for (const auto& name : names_of(before, now)) {
        if (before.of(name) != now.of(name)) {
            text += fmt::format("{}\n  {:<{}} {}\n  {:<{}} {}\n", name, older + ":", width, before.of(name),
                                newer + ":", width, now.of(name));
        }
    }
    return text;
}

std::string merged(const std::string& paragraphs, const std::string& more)
{
    std::string text = paragraphs;
    const auto lines = lines_of(more);
    for (std::size_t at = 0; at + 2 < lines.size(); at += 3) {
        const std::string paragraph = lines[at] + "\n" + lines[at + 1] + "\n" + lines[at + 2] + "\n";
        if (text.find(paragraph) == std::string::npos) {
            text += paragraph;
        }
    }
    return text;
}

std::string with_differences(std::string_view transcript, std::string_view paragraphs)
{
    Said said = said_in(transcript);
    const Said before = said;
    for (const auto& difference : differences_in(paragraphs)) {
        if (difference.is_about(before)) {
            if (!before.text.contains(difference.name)) {
                said.names.push_back(difference.name);
            }
            said.text[difference.name] = difference.says;
        }
    }
    std::string text;
    for (const auto& name : said.names) {
        if (said.text[name] != kMissing) {
            text.append(name).append(kBetween).append(said.text[name]).append("\n");
        }
    }
    return text;
}

std::vector<std::string> about_nothing(std::string_view paragraphs, const std::vector<std::string>& transcripts)
{
    std::vector<Said> all;
    for (const auto& transcript : transcripts) {
        all.push_back(said_in(transcript));
    }
    std::vector<std::string> names;
    for (const auto& difference : differences_in(paragraphs)) {
        if (std::none_of(all.begin(), all.end(), [&](const Said& said) { return difference.is_about(said); })) {
            names.push_back(difference.name);
        }
    }
    return names;
}

std::vector<std::string> differing(std::string_view kernel, std::string_view emulator)
{
    const Said of_kernel = said_in(kernel);
    const Said of_emulator = said_in(emulator);
    std::vector<std::string> names;
    for (const auto& name : names_of(of_kernel, of_emulator)) {
        if (of_kernel.of(name) != of_emulator.of(name)) {
            names.push_back(name);
        }
    }
    return names;
}

}    // namespace rdmaqos::test::agreement
