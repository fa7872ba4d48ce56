// The service level and traffic class of a level, asked of the daemon.
#pragma once

#include <filesystem>
#include <string>

#include "lib/base/result.h"
#include "lib/marks/marks.h"

namespace rdmaqos::run {

// What the daemon below `root` answers for a level, or with an empty one for this process. Errors: as of QueryPath, and
// NoDaemon.
[[nodiscard]] Result<marks::Marks> ask_marks(const std::filesystem::path& root, const std::string& level);

}    // namespace rdmaqos::run
