#include "tests/unit/layering/wall_clock.h"

#include <algorithm>
#include <array>
#include <regex>

#include <fmt/format.h>

#include "lib/base/text.h"

namespace rdmaqos::layering {
namespace {

std::size_t line_at(std::string_view text, std::size_t at)
{
    return 1 + static_cast<std::size_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

bool is_name(char c)
{
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// The last argument of the call whose parenthesis opens at `open`; empty: there is no end.
std::string_view last_argument(std::string_view text, std::size_t open)
{
    int depth = 0;
    std::size_t begin = open + 1;
    for (std::size_t at = open; at < text.size(); ++at) {
        const char c = text[at];
        if (c == '"') {
            while (++at < text.size() && text[at] != '"') {
                at += text[at] == '\\' ? 1 : 0;
            }
        } else if (c == '(' || c == '{' || c == '[') {
            ++depth;
        } else if (c == ')' || c == '}' || c == ']') {
            if (--depth == 0) {
                return text.substr(begin, at - begin);
            }
        } else if (c == ',' && depth == 1) {
            begin = at + 1;
        }
    }
    return {};
}

bool is_number_of_seconds(std::string_view argument)
{
    static const std::regex kSeconds(
        R"(\s*(std::chrono::)?([1-9][0-9']*(s|min|h)|(seconds|minutes|hours)[({][0-9']+[)}])\s*)");
    return std::regex_match(argument.begin(), argument.end(), kSeconds);
}

using Found = std::vector<std::string>;

// `name` with a parenthesis behind it.
void check_waits(std::string_view path, std::string_view text, std::string_view name, Found& found)
{
    for (auto at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
        const auto open = at + name.size();
        const bool is_call = (at == 0 || !is_name(text[at - 1])) && open < text.size() && text[open] == '(';
        if (is_call && is_number_of_seconds(last_argument(text, open))) {
            found.push_back(
                fmt::format("{}:{}: {}() has a number of seconds of its own; tests/support/patience.h has those "
                            "that tests wait for",
                            path, line_at(text, at), name));
        }
    }
}

// EXPECT_LT and its like, up to the end of the statement, with a time in it.
void check_expectations(std::string_view path, std::string_view text, Found& found)
{
    static const std::regex kTime(R"(\bnow\(\)|[^a-zA-Z0-9_'.][0-9']+(ms|s|min)\b)");
    for (const std::string_view name : {"EXPECT_LT(", "EXPECT_LE(", "ASSERT_LT(", "ASSERT_LE("}) {
        for (auto at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
            const std::string_view statement = text.substr(at, text.find(';', at) - at);
            if (std::regex_search(statement.begin(), statement.end(), kTime)) {
                found.push_back(
                    fmt::format("{}:{}: an expectation that something takes no longer than a time: count what it "
                                "does, or compare it with something that this machine does at the same time",
                                path, line_at(text, at)));
            }
        }
    }
}

void check_script(std::string_view path, std::string_view text, Found& found)
{
    static const std::regex kLimit(R"((^|[|;&({]) *(timeout|wait_until|eventually) [1-9][0-9]* )");
    std::size_t number = 0;
    for (const auto line : lines_of(text)) {
        ++number;
        if (std::regex_search(line.begin(), line.end(), kLimit)) {
            found.push_back(fmt::format("{}:{}: a command has a number of seconds of its own", path, number));
        }
    }
}

}    // namespace

Found check_wall_clock(std::string_view path, std::string_view text)
{
    Found found;
    // Benchmarks measure. An agreement is with the clock of the kernel's machine, which counts instructions.
    const auto is_in = [path](std::string_view folder) { return path.starts_with(folder); };
    if (!is_in("tests/") || is_in("tests/bench/") || is_in("tests/kernel/agreement/") ||
        is_in("tests/unit/layering/")) {
        return found;
    }
    if (path.ends_with(".sh")) {
        check_script(path, text, found);
        return found;
    }
    if (!path.ends_with(".cpp") && !path.ends_with(".h")) {
        return found;
    }
    static constexpr std::array<std::string_view, 8> kWaits{"eventually", "wait",  "wait_for", "comes_to",
                                                            "ended",      "hears", "settle",   "is_closed"};
    for (const auto name : kWaits) {
        check_waits(path, text, name, found);
    }
    check_expectations(path, text, found);
    return found;
}

}    // namespace rdmaqos::layering
