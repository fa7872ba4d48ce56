// Small operations on text that several folders need.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace rdmaqos {

// ASCII only, as OpenSM compares the names of levels and port groups (strcasecmp).
[[nodiscard]] bool equals_ignoring_case(std::string_view a, std::string_view b);
[[nodiscard]] std::string to_lower(std::string_view text);

// The candidate nearest to `word` by edit distance, if it is near enough to be a likely typing mistake.
[[nodiscard]] std::optional<std::string_view> did_you_mean(std::string_view word,
                                                           std::span<const std::string_view> candidates);

// Shell glob: `*`, `?`, `[...]`; `*` also matches '/' (so "/slurm/*" covers the whole subtree).
[[nodiscard]] bool glob_matches(const std::string& pattern, const std::string& text);
// True if `pattern` contains a glob character.
[[nodiscard]] bool has_glob(std::string_view pattern);

// True for well-formed UTF-8 without NUL.
[[nodiscard]] bool is_valid_utf8(std::string_view text);
// Control characters and broken UTF-8 as \xNN: safe for a terminal, a journal line and a D-Bus string.
[[nodiscard]] std::string printable(std::string_view text);

// The longest beginning of at most so many bytes that does not end inside a character. Bytes that are no UTF-8 count as
// characters.
[[nodiscard]] std::string_view beginning_of(std::string_view text, std::size_t longest);
// All of the text, or its beginning_of() and "..." where it is longer.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t longest);

// "1 error", "3 errors"
[[nodiscard]] std::string counted(std::size_t count, std::string_view noun);

}    // namespace rdmaqos
