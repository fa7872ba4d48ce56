// The layers: the folders of the project and which of them each may use. Only the CMakeLists.txt files say it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rdmaqos::layering {

// "daemon/main.cpp:3: ..." each
using Violations = std::vector<std::string>;

struct Folder {
    bool has_sources = false;                   // some target is not only an interface
    std::set<std::string, std::less<>> uses;    // folders besides itself whose targets it names
};

// By path: "lib/base", "policy/yaml".
using Layers = std::map<std::string, Folder, std::less<>>;

// A folder and one that it uses.
using Edge = std::pair<std::string, std::string>;

// From the text of each CMakeLists.txt by its path: a folder is one that defines a target, and an edge is a target of
// another folder, or sources of another folder that are compiled here too. The tests are not among them.
[[nodiscard]] Layers read_layers(const std::map<std::string, std::string>& cmake_files);

// The folder that a file belongs to: of two that it lies in, the inner one; empty for tests and everything else.
[[nodiscard]] std::string_view folder_of(const Layers& layers, std::string_view path);

// Names of targets that read_layers() cannot read, since CMake puts them together.
[[nodiscard]] Violations check_names(std::string_view path, std::string_view text);

// Folders that use each other, directly or through others.
[[nodiscard]] Violations check_cycles(const Layers& layers);

// `user`, a folder or all below it, reaches none of `never` and of what is below those, not even through others.
struct Rule {
    std::string_view user;
    std::vector<std::string_view> never;
    std::string_view reason;
};
// What does not follow from the edges that there are: they could be others without a cycle.
[[nodiscard]] const std::vector<Rule>& rules();
[[nodiscard]] Violations check_rules(const Layers& layers);

// Edges that no source `includes`.
[[nodiscard]] Violations check_unused(const Layers& layers, const std::set<Edge>& included);

// docs/architecture.md with the last column of its table of folders drawn. Rows and folders that lack each other are
// appended to `violations`.
[[nodiscard]] std::string draw_document(const Layers& layers, std::string_view document, Violations& violations);

}    // namespace rdmaqos::layering
