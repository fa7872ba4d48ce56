// Checks of the project's sources: what they may include, by the layers of layers.h; and some habits that no compiler
// enforces.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/layering/layers.h"

namespace rdmaqos::layering {

struct Include {
    std::size_t line;
    bool is_own;    // in quotes: a header of the project, given from its root
    std::string header;
};
[[nodiscard]] std::vector<Include> includes_of(std::string_view text);

// Every #include of a source: of the project's own headers by the edges between folders, of third-party headers by
// where they may stand. `path` is relative to the project.
[[nodiscard]] Violations check_source(const Layers& layers, std::string_view path, std::string_view text);

// The restricted libraries that a folder's CMakeLists.txt links.
[[nodiscard]] Violations check_libraries(std::string_view path, std::string_view text);

// In the rooms where this holds, a source implements the header of its name, or in the command one of its folder, and
// includes it first.
[[nodiscard]] Violations check_named_header(std::string_view path, std::string_view text);

// A hint at a source of more than kMaxLines lines: perhaps it is two.
constexpr std::size_t kMaxLines = 600;
[[nodiscard]] Violations check_length(std::string_view path, std::string_view text);

// Calls of kill(2), which belong into signal_process(): where a process has no number they end everyone.
[[nodiscard]] Violations check_signals(std::string_view path, std::string_view text);

struct TypeDefinition {
    std::string name;     // "rdmaqos::ctl::Context"
    std::string place;    // "daemon/model/session.h:108"
};
// The types that a source defines in a namespace with a name, read by the project's format: such a line begins at the
// left margin, and so does "}    // namespace". Two of one name in a program are undefined behaviour that no tool here
// sees.
[[nodiscard]] std::vector<TypeDefinition> types_of(std::string_view path, std::string_view text);

// Files below `root` that are ours to check, relative to it and sorted: without build trees and hidden folders.
[[nodiscard]] std::vector<std::string> project_files(const std::filesystem::path& root);

}    // namespace rdmaqos::layering
