// What lists of globs have to do with each other: does one match everything that another one matches, is there a text
// that both match?
//
// A list matches what any of its patterns matches by name_matches(), and no list matches the empty text: who has no
// name is in none, not even in "*". Patterns are read as automata, of which one is followed through the sets of places
// that the other can be at. The answers hold for texts of any bytes; that names of units end in ".service" or ".scope"
// and paths begin with "/" is not made use of.
//
// "Surely" means that true is certain. False also stands for "nobody knows": the effort is spent, or a pattern is one
// that is only compared as it is written: with a class ("[[:alpha:]]"), a backslash or an open bracket inside of a
// bracket expression, a bracket that is not closed, or a backslash at the end.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "policy/match/effort.h"

namespace rdmaqos {

using Globs = std::span<const std::string>;

// Whatever `narrow` matches, `wide` matches.
[[nodiscard]] bool surely_includes(Globs wide, Globs narrow, Effort& effort);
// Whatever both `narrow` and `narrower` match, `wide` matches.
[[nodiscard]] bool surely_includes(Globs wide, Globs narrow, Globs narrower, Effort& effort);
// Nothing matches both.
[[nodiscard]] bool surely_disjoint(Globs a, Globs b, Effort& effort);

// A text that the pattern matches, with `for_star` in the place of each "*"; empty if that is all there is to it.
[[nodiscard]] std::string example_of(const std::string& pattern, std::string_view for_star);

}    // namespace rdmaqos
