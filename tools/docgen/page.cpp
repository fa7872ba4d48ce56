#include "tools/docgen/page.h"

#include <array>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/base/text.h"

namespace rdmaqos::docgen {
namespace {

constexpr std::size_t kLongestLine = 118;

// What not every terminal and every groff has.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kSpecial{{
    {"→", "\\(->"},
    {"µ", "\\(mc"},
    {"×", "\\(mu"},
    {"·", "*"},
    {"ⁿ", "^n"},
    {"…", "..."},
    {"–", "\\(en"},
    {"‣", ">"},
}};

// For what is to stand as it is written.
std::string verbatim(std::string_view text)
{
    std::string result;
    for (std::size_t i = 0; i < text.size();) {
        bool special = false;
        for (const auto& [from, to] : kSpecial) {
            if (text.substr(i).starts_with(from)) {
                result += to;
                i += from.size();
                special = true;
                break;
            }
        }
        if (special) {
            continue;
        }
        const char c = text[i++];
        result += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
    }
    return result;
}

// A line that begins with one of these would be a request.
std::string guarded(std::string line)
{
    return line.starts_with('.') || line.starts_with('\'') ? "\\&" + line : line;
}

std::string wrapped(const std::string& text)
{
    std::string result;
    std::string line;
    std::istringstream words(text);
    for (std::string word; words >> word;) {
        if (!line.empty() && line.size() + 1 + word.size() > kLongestLine) {
            result += guarded(line) + '\n';
            line.clear();
        }
        line += (line.empty() ? "" : " ") + word;
    }
    return result + guarded(line) + '\n';
}

std::vector<std::string> cells_of(std::string_view row)
{
    std::vector<std::string> cells;
    std::string cell;
    bool code = false;
    for (const char c : row.substr(1)) {
        code = code != (c == '`');
        if (c == '|' && !code) {
            cells.emplace_back(without_blanks(cell));
            cell.clear();
        } else {
            cell += c;
        }
    }
    return cells;
}

// The tag, and in brackets what else is short; then what it means.
std::string paragraph_of(const std::vector<std::string>& headings, const std::vector<std::string>& cells)
{
    std::vector<std::string> aside;
    for (std::size_t i = 1; i + 1 < cells.size(); ++i) {
        if (cells[i].empty()) {
            continue;
        }
        const bool plain = headings[i].empty() || headings[i].starts_with("type") || headings[i] == "range" ||
                           headings[i] == "when" || cells[i] == "required";
        aside.push_back(plain ? cells[i] : headings[i] + ": " + cells[i]);
    }
    std::string text = ".TP\n" + guarded(roff_of(cells.front()));
    if (!aside.empty()) {
        text += " (" + roff_of(fmt::format("{}", fmt::join(aside, "; "))) + ")";
    }
    text += '\n';
    if (cells.size() > 1 && !cells.back().empty()) {
        const std::string& heading = headings.back();
        text += wrapped(roff_of(
            heading.starts_with("exit status") || heading == "merging" ? heading + ": " + cells.back() : cells.back()));
    }
    return text;
}

class Page {
public:
    void take(const std::string& line)
    {
        if (line.starts_with("```")) {
            end_paragraph();
            in_code_ = !in_code_;
            text_ += in_code_ ? ".PP\n.nf\n" : ".fi\n";
        } else if (in_code_) {
            text_ += guarded(verbatim(line)) + '\n';
        } else if (line.starts_with("|")) {
            take_row(cells_of(line));
            return;
        } else if (line.starts_with("#")) {
            end_paragraph();
            const std::string heading = roff_of(line.substr(line.find_first_not_of("# ")));
            text_ += (line.starts_with("###") ? ".SS \"" : ".SH \"") + heading + "\"\n";
        } else if (line.empty() || line.starts_with("<!--")) {
            end_paragraph();
        } else if (line.starts_with("* ") || line.starts_with("- ")) {
            end_paragraph();
            begin_ = ".IP \\(bu 2\n";
            paragraph_ = line.substr(2);
        } else {
            paragraph_ += (paragraph_.empty() ? "" : " ") + line;
        }
        headings_.clear();
    }

    std::string end()
    {
        end_paragraph();
        return std::move(text_);
    }

private:
    void take_row(const std::vector<std::string>& cells)
    {
        end_paragraph();
        if (headings_.empty()) {
            headings_ = cells;
        } else if (!cells.front().starts_with("---")) {
            text_ += paragraph_of(headings_, cells);
        }
    }

    void end_paragraph()
    {
        if (!paragraph_.empty()) {
            text_ += begin_ + wrapped(roff_of(paragraph_));
        }
        paragraph_.clear();
        begin_ = ".PP\n";
    }

    std::string text_;
    std::string paragraph_;
    std::string begin_ = ".PP\n";
    std::vector<std::string> headings_;    // of the table that is being read
    bool in_code_ = false;
};

}    // namespace

std::string roff_of(std::string_view line)
{
    std::string result;
    char open = 0;
    const auto toggle = [&](char mark, const char* font) {
        result += open == mark ? "\\fR" : font;
        open = open == mark ? '\0' : mark;
    };
    for (std::size_t i = 0; i < line.size(); ++i) {
        const auto rest = line.substr(i);
        const auto text_end = rest.find("](");
        if (rest[0] == '`') {
            toggle('`', "\\fB");
        } else if (open != '`' && rest.starts_with("**")) {
            toggle('B', "\\fB");
            ++i;
        } else if (open != '`' && rest[0] == '*' && (open == '*' || (rest.size() > 1 && is_letter(rest[1])))) {
            toggle('*', "\\fI");
        } else if (open != '`' && rest[0] == '[' && text_end != std::string_view::npos && rest.find(']') == text_end &&
                   rest.find(')', text_end) != std::string_view::npos) {
            result += roff_of(rest.substr(1, text_end - 1));
            i += rest.find(')', text_end);
        } else {
            // A character of several bytes goes as one.
            std::size_t bytes = 1;
            while (i + bytes < line.size() && (static_cast<unsigned char>(line[i + bytes]) & 0xc0U) == 0x80U) {
                ++bytes;
            }
            result += verbatim(line.substr(i, bytes));
            i += bytes - 1;
        }
    }
    return result;
}

std::string page_of(const std::string& markdown, std::string_view first, std::string_view behind)
{
    std::istringstream lines(markdown);
    const auto is_heading = [](const std::string& line, std::string_view name) {
        const auto text = line.find_first_not_of('#');
        return line.starts_with("##") && std::string_view(line).substr(text + 1) == name;
    };
    Page page;
    bool inside = false;
    bool found = false;
    for (std::string line; std::getline(lines, line);) {
        found = found || is_heading(line, first);
        inside = (inside || is_heading(line, first)) && (behind.empty() || !is_heading(line, behind));
        if (inside) {
            page.take(line);
        } else if (found) {
            break;
        }
    }
    if (!found) {
        throw std::runtime_error(fmt::format("the document has no heading \"{}\"", first));
    }
    return page.end();
}

std::string completed_page(const std::string& page, const std::function<std::string(const std::string& document)>& read)
{
    static const std::regex instruction(R"re(\.\\" docgen: (\S+) from "([^"]+)"(?: to "([^"]+)")?)re");
    std::string text;
    std::istringstream lines(page);
    for (std::string line; std::getline(lines, line);) {
        std::smatch match;
        text += std::regex_match(line, match, instruction) ? page_of(read(match.str(1)), match.str(2), match.str(3))
                                                           : line + '\n';
    }
    return text;
}

}    // namespace rdmaqos::docgen
