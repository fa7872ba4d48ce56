// The settings file of the daemon.
#pragma once

#include <filesystem>
#include <memory>

#include "policy/model/name_service.h"
#include "policy/model/settings.h"
#include "policy/text/read_result.h"

namespace rdmaqos {

// A missing file is not an error: the value is the default. `names`: looks up `socket-group`.
[[nodiscard]] ReadResult<Settings> read_settings(const std::filesystem::path& path,
                                                 const NameService& names = NameService::host());
// A text instead of a file, for tests and fuzzers.
[[nodiscard]] ReadResult<Settings> read_settings(std::shared_ptr<const SourceFile> source,
                                                 const NameService& names = NameService::host());

}    // namespace rdmaqos
