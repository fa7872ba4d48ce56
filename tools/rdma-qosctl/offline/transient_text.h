// When something that a command writes to /run ends, from the words of the command line to a file's `transient`.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "lib/base/result.h"
#include "policy/model/transient.h"
#include "policy/text/yaml_text.h"

namespace rdmaqos::ctl {

// Of `--for`, as parse_milliseconds() takes it; empty: no time.
[[nodiscard]] Result<std::optional<std::chrono::sys_seconds>> end_after(const std::string& time,
                                                                        std::chrono::system_clock::time_point now);
// The key `transient`, also if it says nothing.
void add_transient(YamlLines& lines, const Transient& transient);
// What may stand in the name of a file that a command makes.
[[nodiscard]] bool may_be_in_file_name(char c);

}    // namespace rdmaqos::ctl
