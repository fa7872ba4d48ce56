// Small operations on text that several folders need.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rdmaqos {

// Characters of ASCII, whatever the locale.
[[nodiscard]] constexpr bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}
[[nodiscard]] constexpr char to_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
[[nodiscard]] constexpr bool is_letter(char c)
{
    return to_lower(c) >= 'a' && to_lower(c) <= 'z';
}
// Blank and tab.
[[nodiscard]] constexpr bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

// ASCII only, as OpenSM compares the names of levels and port groups (strcasecmp).
[[nodiscard]] bool equals_ignoring_case(std::string_view a, std::string_view b);
[[nodiscard]] std::string to_lower(std::string_view text);

// Without these characters at the start, or at both ends.
[[nodiscard]] std::string_view without_leading_blanks(std::string_view text, std::string_view blanks = " \t");
[[nodiscard]] std::string_view without_blanks(std::string_view text, std::string_view blanks = " \t");

// The lines without their line feeds; one at the end of the text begins no line.
[[nodiscard]] std::vector<std::string_view> lines_of(std::string_view text);

// The candidate nearest to `word` by edit distance, if it is near enough to be a likely typing mistake.
[[nodiscard]] std::optional<std::string_view> did_you_mean(std::string_view word,
                                                           std::span<const std::string_view> candidates);

// Shell glob: `*`, `?`, `[...]`; `*` also matches '/' (so "/slurm/*" covers the whole subtree).
[[nodiscard]] bool glob_matches(const std::string& pattern, const std::string& text);
// True if `pattern` contains a glob character.
[[nodiscard]] bool has_glob(std::string_view pattern);

// True for well-formed UTF-8 without NUL.
[[nodiscard]] bool is_valid_utf8(std::string_view text);
// Control characters, those that end a line or turn the direction of writing, and broken UTF-8 as \xNN: safe for a
// terminal, a journal line and a D-Bus string.
[[nodiscard]] std::string printable(std::string_view text);

// The longest beginning of at most so many bytes that does not end inside a character. Bytes that are no UTF-8 count as
// characters.
[[nodiscard]] std::string_view beginning_of(std::string_view text, std::size_t longest);
// All of the text, or its beginning_of() and "..." where it is longer. For messages as it stands.
inline constexpr std::size_t kLongestShown = 60;
[[nodiscard]] std::string shortened(std::string_view text, std::size_t longest = kLongestShown);

// Columns of a terminal that a UTF-8 text takes.
[[nodiscard]] std::size_t display_width(std::string_view text);
// Filled up with blanks to this many columns.
[[nodiscard]] std::string padded(std::string_view text, std::size_t columns);
// How wide a column must be for the text of every row, which `text_of` (a member or a function) gives.
template <typename Rows, typename TextOf>
[[nodiscard]] std::size_t widest(const Rows& rows, TextOf text_of)
{
    std::size_t columns = 0;
    for (const auto& row : rows) {
        const std::size_t width = display_width(std::invoke(text_of, row));
        columns = width > columns ? width : columns;
    }
    return columns;
}

// "1 error", "3 errors"
[[nodiscard]] std::string counted(std::size_t count, std::string_view noun);

}    // namespace rdmaqos
