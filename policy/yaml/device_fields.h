// `devices:` of a level, a scheduling-node or a rule.
#pragma once

#include <vector>

#include "policy/model/device_selector.h"
#include "policy/yaml/fields.h"

namespace rdmaqos::reader {

// A list (or one item) of names, which may be globs, and of mappings: {link-layer: ethernet, speed: ">=200Gbps"}.
[[nodiscard]] std::vector<DeviceSelector> read_selectors(Context& context, const Field& field);

}    // namespace rdmaqos::reader
