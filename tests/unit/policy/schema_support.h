// The JSON schemas that docgen draws, and files of the reader as what an editor validates against them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "lib/base/diagnostic.h"
#include "policy/text/ast.h"

namespace rdmaqos::test {

enum class Format : std::uint8_t { Policy, Settings, Fabric, Devices };

// "rdma-qos-policy.schema.json"
[[nodiscard]] std::string schema_name(Format format);
[[nodiscard]] const nlohmann::json& schema_json(Format format);

// A schema and its validator (valijson).
[[nodiscard]] bool schema_accepts(Format format, const nlohmann::json& document);

// YAML to JSON as editors do it before they validate: quoted scalars are texts, plain ones what the core schema of YAML
// 1.2 makes of them (`0x10` is 16, `true` a boolean, `1e1` is 10, `25Gbps` a text).
[[nodiscard]] nlohmann::json to_json(const reader::Node& node);

// A part of a file that the schema and the reader can judge on its own: an entry of a section, a section that is a
// mapping, or the file without them.
struct Unit {
    std::string what;    // "policy.yaml:12"
    nlohmann::json document;
    std::vector<Diagnostic> errors;    // the reader's, inside it
};

// Reads the file, whose text is `root`, and divides it. A policy is read behind `context`, which defines what it refers
// to, if there is one.
[[nodiscard]] std::vector<Unit> units_of(Format format, const std::shared_ptr<const SourceFile>& file,
                                         const reader::Node& root, const std::shared_ptr<const SourceFile>& context);

// The scalar, list or mapping that starts at this place of a file; null if there is none.
[[nodiscard]] const reader::Node* node_at(const reader::Node& root, const Location& at);
// Empty: it is no YAML that the reader could read.
[[nodiscard]] std::optional<reader::Node> yaml_of(const std::shared_ptr<const SourceFile>& file);

}    // namespace rdmaqos::test
