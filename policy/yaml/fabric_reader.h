// The fabric file.
#pragma once

#include <filesystem>
#include <memory>

#include "policy/model/fabric.h"
#include "policy/text/read_result.h"

namespace rdmaqos {

// A missing file is not an error: the value is the default.
[[nodiscard]] ReadResult<Fabric> read_fabric(const std::filesystem::path& path);
// A text instead of a file, for tests and fuzzers.
[[nodiscard]] ReadResult<Fabric> read_fabric(std::shared_ptr<const SourceFile> source);

}    // namespace rdmaqos
