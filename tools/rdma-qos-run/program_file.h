// Whether a preload library gets into a program.
#pragma once

#include <optional>
#include <string>

namespace rdmaqos::run {

// The file that execvp() would run, found by PATH; empty: none.
[[nodiscard]] std::string find_program(const std::string& name);

// Why the dynamic linker will not load a preload library into this program, as a sentence about it: it is statically
// linked, has privileges of its own, or is for another machine. Scripts are judged by their interpreter. Nothing: it
// will, or the file cannot be read.
[[nodiscard]] std::optional<std::string> reason_without_preload(const std::string& path);

}    // namespace rdmaqos::run
