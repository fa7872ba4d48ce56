// A small mutating fuzzer that runs as a GoogleTest case: no other compiler, no instrumentation beyond the sanitizers.
//
//     fuzz("policy", corpus(...), [](const std::string& text) { ...assert what holds for any text... });
//
// Runs for RDMAQOS_FUZZ_SECONDS (default: a few) from RDMAQOS_FUZZ_SEED (default: a fixed one, so that a run of the
// test suite is repeatable; with RDMAQOS_FUZZ_SECONDS given, the time). An input that fails is written to the
// directory the test runs in, and named.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace rdmaqos::test {

// The texts of all files below these folders (relative to the project) that end in `extension`.
[[nodiscard]] std::vector<std::string> corpus(const std::vector<std::string>& folders, const std::string& extension);

void fuzz(const std::string& name, const std::vector<std::string>& seeds,
          const std::function<void(const std::string&)>& target);

}    // namespace rdmaqos::test
