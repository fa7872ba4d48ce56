// A shown policy or settings file as YAML, with origins as trailing comments.
#pragma once

#include <string>

#include "policy/load/show_config.h"

namespace rdmaqos {

// The lines of a mapping's entries, each with a line feed.
[[nodiscard]] std::string to_yaml(const ShownNode& mapping);
// "policy.yaml:12", "default"; empty for what has no place of its own
[[nodiscard]] std::string origin_of(const ShownNode& node);

}    // namespace rdmaqos
