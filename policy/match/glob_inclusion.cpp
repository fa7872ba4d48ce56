#include "policy/match/glob_inclusion.h"

#include <algorithm>
#include <cstddef>

#include "lib/base/text.h"
#include "policy/match/glob_index.h"

namespace rdmaqos {
namespace {

constexpr std::string_view kOpaque = "[\\";
constexpr std::string_view kWild = "*?";

bool is_opaque(std::string_view pattern)
{
    return pattern.find_first_of(kOpaque) != std::string_view::npos;
}

// A pattern without opaque characters that matches all that `pattern` does, read as a glob or as it is written:
// everything from the first bracket or backslash to the last one is replaced by a "*".
std::string without_opaque(const std::string& pattern)
{
    const auto first = pattern.find_first_of(kOpaque);
    if (first == std::string::npos) {
        return pattern;
    }
    const auto last = pattern.find_last_of("[]\\");
    // What is behind a backslash stands for itself; behind a bracket that is not closed, nothing is certain.
    const std::size_t rest = pattern[last] == '[' ? pattern.size() : last + (pattern[last] == '\\' ? 2 : 1);
    return pattern.substr(0, first) + '*' + (rest < pattern.size() ? pattern.substr(rest) : "");
}

// Neither is opaque.
bool covers(std::string_view wide, std::string_view narrow)
{
    std::size_t at = 0;
    std::size_t star = std::string_view::npos;    // the last one of `wide`, and where in `narrow` it goes on
    std::size_t behind = 0;
    for (std::size_t i = 0; i < narrow.size();) {
        const char next = at < wide.size() ? wide[at] : '\0';
        if (next == '*') {
            star = at++;
            behind = i;
        } else if (next != '\0' && narrow[i] != '*' && (next == '?' || next == narrow[i])) {
            ++at;
            ++i;
        } else if (star != std::string_view::npos) {
            at = star + 1;
            i = ++behind;
        } else {
            return false;
        }
    }
    return wide.find_first_not_of('*', at) == std::string_view::npos;
}

bool includes(const std::string& wide, const std::string& narrow)
{
    return wide == narrow || (is_literal(narrow) && name_matches(wide, narrow)) ||
           (!is_opaque(wide) && covers(wide, without_opaque(narrow)));
}

bool any_includes(Globs wide, const std::string& narrow)
{
    return std::ranges::any_of(wide, [&](const std::string& pattern) { return includes(pattern, narrow); });
}

// Texts that begin with one and with the other, or end so, are not the same ones.
bool begin_apart(std::string_view a, std::string_view b)
{
    return !a.starts_with(b) && !b.starts_with(a);
}

bool end_apart(std::string_view a, std::string_view b)
{
    return !a.ends_with(b) && !b.ends_with(a);
}

bool are_disjoint(const std::string& a, const std::string& b)
{
    if (is_literal(a) || is_literal(b)) {
        return is_literal(a) ? !name_matches(b, a) : !name_matches(a, b);
    }
    const std::string first = without_opaque(a);
    const std::string second = without_opaque(b);
    const auto head = [](std::string_view pattern) { return pattern.substr(0, pattern.find_first_of(kWild)); };
    const auto tail = [](std::string_view pattern) { return pattern.substr(pattern.find_last_of(kWild) + 1); };
    return begin_apart(head(first), head(second)) || end_apart(tail(first), tail(second));
}

bool any_is_empty(Globs patterns)
{
    return std::ranges::any_of(patterns, [](const std::string& pattern) { return pattern.empty(); });
}

std::size_t size_of(Globs patterns)
{
    std::size_t size = 0;
    for (const auto& pattern : patterns) {
        size += 1 + pattern.size();
    }
    return size;
}

}    // namespace

bool surely_includes(Globs wide, Globs narrow, Effort& effort)
{
    return !any_is_empty(narrow) && effort.spend(size_of(wide) * narrow.size() + size_of(narrow) * wide.size()) &&
           std::ranges::all_of(narrow, [&](const std::string& pattern) { return any_includes(wide, pattern); });
}

bool surely_includes(Globs wide, Globs narrow, Globs narrower, Effort& effort)
{
    if (any_is_empty(narrow) || any_is_empty(narrower) ||
        !effort.spend(size_of(wide) * narrow.size() * narrower.size())) {
        return false;
    }
    return std::ranges::all_of(narrow, [&](const std::string& first) {
        return any_includes(wide, first) || std::ranges::all_of(narrower, [&](const std::string& second) {
                   return any_includes(wide, second) || are_disjoint(first, second);
               });
    });
}

bool surely_disjoint(Globs a, Globs b, Effort& effort)
{
    if (any_is_empty(a) || any_is_empty(b) || !effort.spend(size_of(a) * b.size() + size_of(b) * a.size())) {
        return false;
    }
    return std::ranges::all_of(a, [&](const std::string& first) {
        return std::ranges::all_of(b, [&](const std::string& second) { return are_disjoint(first, second); });
    });
}

std::string example_of(const std::string& pattern, std::string_view for_star)
{
    if (is_opaque(pattern)) {
        return pattern;
    }
    std::string text;
    for (const char c : pattern) {
        if (c == '*') {
            text += for_star;
        } else {
            text += c == '?' ? 'x' : c;
        }
    }
    return text;
}

}    // namespace rdmaqos
