// Metrics in the text format of Prometheus (version 0.0.4). The order is always the same.
#pragma once

#include <string>
#include <string_view>

#include "daemon/model/metrics.h"

namespace rdmaqos {

[[nodiscard]] std::string to_prometheus(const Metrics& metrics);

// A label's value as it stands between quotes: backslash, quote and line feed are escaped.
[[nodiscard]] std::string escape_label(std::string_view value);

}    // namespace rdmaqos
