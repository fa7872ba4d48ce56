// What `ctl state` and `ctl resource` print.
#pragma once

#include <string>
#include <vector>

#include "lib/base/result.h"

namespace rdmaqos::emulator {

class Controlled;

[[nodiscard]] Result<std::string> describe_state(Controlled& host, const std::vector<std::string>& words);
[[nodiscard]] Result<std::string> describe_resource(Controlled& host, const std::vector<std::string>& words);

}    // namespace rdmaqos::emulator
