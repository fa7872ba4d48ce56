// The file of simulated devices.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "lib/tree/capabilities.h"
#include "policy/model/simulation.h"
#include "policy/text/read_result.h"

namespace rdmaqos {

// `default_capabilities` is the profile for what a device does not state.
[[nodiscard]] ReadResult<std::vector<SimulatedDevice>> read_simulation(const std::filesystem::path& path,
                                                                       const Capabilities& default_capabilities);
// A text instead of a file, for tests and fuzzers.
[[nodiscard]] ReadResult<std::vector<SimulatedDevice>> read_simulation(std::shared_ptr<const SourceFile> source,
                                                                       const Capabilities& default_capabilities);

}    // namespace rdmaqos
