// Asks a running emulator: what `rdma-qos-emulator ctl` does, and tests without a process.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"

namespace rdmaqos::emulator {

// Of control.sock in `directory`. The answer is given to `show` as it comes. InvalidArgument: it was refused, and why.
// Throws std::runtime_error: there is no emulator.
Result<void> ask(const std::filesystem::path& directory, const std::vector<std::string>& words,
                 const std::function<void(std::string_view)>& show);

}    // namespace rdmaqos::emulator
