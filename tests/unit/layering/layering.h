// The layers of docs/architecture.md as a table, and checks of sources and CMake files against it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace rdmaqos::layering {

// "daemon/main.cpp:3: ..." each
using Violations = std::vector<std::string>;

// The folder of the table a file belongs to: "lib/base", "policy/yaml"; empty for tests and everything else.
[[nodiscard]] std::string_view folder_of(std::string_view path);

// All of the table, lower ones first.
[[nodiscard]] std::vector<std::string_view> table_folders();

// A folder of the table that uses one of the same height or above it.
[[nodiscard]] Violations check_table();

// Every #include of a source: of the project's own headers by the edges between folders, of third-party headers by
// where they may stand. `path` is relative to the project.
[[nodiscard]] Violations check_source(std::string_view path, std::string_view text);

// In the rooms where this holds, a source implements the header of its name, or in the command one of its folder, and
// includes it first.
[[nodiscard]] Violations check_named_header(std::string_view path, std::string_view text);

// The project's targets and the restricted libraries that a folder's CMakeLists.txt links.
[[nodiscard]] Violations check_cmake(std::string_view path, std::string_view text);

// A source of more than kMaxLines lines wants splitting.
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
