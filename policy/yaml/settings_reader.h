// The settings file of the daemon.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

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

struct SettingText {
    std::string_view section;    // "limits"; empty: a key of the top level
    std::string_view key;
    std::string text;    // "4096", "60s"
};

// Each setting that has a value, in the order of the reference.
[[nodiscard]] std::vector<SettingText> texts_of(const Settings& settings);

}    // namespace rdmaqos
