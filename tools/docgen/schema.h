// The rows of policy/keys as JSON schemas, for editors, and as words for a fuzzer.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "policy/keys/key.h"

namespace rdmaqos::docgen {

// Draft 7. Each object of the format is a definition of its name.
[[nodiscard]] nlohmann::ordered_json schema_of(const keys::Format& format);

// A dictionary of libFuzzer with the keys and words of the format.
[[nodiscard]] std::string dictionary_of(const keys::Format& format);

}    // namespace rdmaqos::docgen
