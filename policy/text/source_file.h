// A file as a source that diagnostics can point into.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>

#include "lib/base/diagnostic.h"
#include "lib/base/result.h"

namespace rdmaqos::reader {

constexpr std::size_t kLargestText = 8U * 1024 * 1024;

// The text of a file or descriptor as a source with this name.
[[nodiscard]] Result<std::shared_ptr<const SourceFile>> load(const std::filesystem::path& path, std::string name);
[[nodiscard]] Result<std::shared_ptr<const SourceFile>> load(int fd, std::string name);

// A file that could not be read at all.
void add_unreadable(Diagnostics& diagnostics, const std::string& name, const Error& error);

}    // namespace rdmaqos::reader
