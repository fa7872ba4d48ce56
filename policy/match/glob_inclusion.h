// How lists of globs relate: does one match everything that another one matches, is there a text that both match?
//
// A list matches what any of its patterns matches by name_matches(), and no list matches the empty text: a client
// without a name is in none, not even in "*".
//
// Two patterns are compared by walking along both, the narrow one read as a text in which a "*" or "?" is matched only
// by a "*" or "?" of the wide one. "Surely" means that true is certain. False also stands for "not known": what several
// patterns match only together, and bracket expressions and backslashes, which are only compared as they are written.
// Comparing the patterns as automata found nothing more in any policy that was tried (docs/adr/0030).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "policy/match/effort.h"

namespace rdmaqos {

using Globs = std::span<const std::string>;

// Everything that `narrow` matches, `wide` matches.
[[nodiscard]] bool surely_includes(Globs wide, Globs narrow, Effort& effort);
// Everything that both `narrow` and `narrower` match, `wide` matches.
[[nodiscard]] bool surely_includes(Globs wide, Globs narrow, Globs narrower, Effort& effort);
// Nothing matches both.
[[nodiscard]] bool surely_disjoint(Globs a, Globs b, Effort& effort);

// A text that the pattern matches, with each "*" replaced by `for_star`, which may leave nothing. A pattern with a
// bracket expression or a backslash is its own example: name_matches() takes it as it is written.
[[nodiscard]] std::string example_of(const std::string& pattern, std::string_view for_star);

}    // namespace rdmaqos
