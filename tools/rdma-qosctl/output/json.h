// Values to JSON, shapes in docs/rdma-qosctl-json.md: stable, keys in kebab-case, rates in kbit/s, GUIDs as text,
// what does not apply is absent, the outermost value is an object. Here is what all of it is made of.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "lib/base/diagnostic.h"
#include "lib/base/error.h"
#include "lib/base/units.h"
#include "lib/bus/value.h"

namespace rdmaqos::ctl {

using Json = nlohmann::ordered_json;

// Indented, with a line feed; broken UTF-8 is replaced.
[[nodiscard]] std::string to_text(const Json& json);
// On one line, with a line feed.
[[nodiscard]] std::string to_line(const Json& json);

// An empty text, or no rate, is left out.
void set_text(Json& json, const char* key, const std::string& value);
void set_rate(Json& json, const char* key, const std::optional<Bandwidth>& rate);

[[nodiscard]] Json to_json(const bus::Value& value);
[[nodiscard]] Json to_json(const bus::Dict& dict);
[[nodiscard]] Json to_json(const std::vector<bus::Dict>& dicts);
[[nodiscard]] Json to_json(const bus::Counts& counts);
[[nodiscard]] Json to_json(const Diagnostics& diagnostics);
[[nodiscard]] Json error_json(const Error& error);

}    // namespace rdmaqos::ctl
