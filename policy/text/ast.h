// A YAML text as a located tree of scalars, sequences and mappings: what yaml/yaml_reader.h makes and every other
// reader there walks. Scalars stay text; what they mean is for the reader of a key to say, so that nothing depends on
// YAML's own ideas of numbers and booleans.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rdmaqos::reader {

// Where something stands: an index into the list of files being read (Context::files), then as in Location.
struct Position {
    std::uint32_t line = 0;
    std::uint32_t column = 0;
    std::uint32_t length = 1;
    std::uint32_t file = 0;
};

enum class NodeKind : std::uint8_t {
    Missing,    // `key:` and nothing behind it
    Null,       // `key: null` or `key: ~`, written out
    Scalar,
    Sequence,
    Mapping,
};

struct Node {    // NOLINT(bugprone-forward-declaration-namespace): has nothing to do with YAML::Node
    NodeKind kind = NodeKind::Missing;
    bool quoted = false;        // a scalar in quotes or a block scalar
    bool overriding = false;    // an override put it in the place of what a level says (yaml/level_overrides.h)
    Position at;
    std::string text;              // of a scalar
    std::vector<Node> children;    // items; of a mapping: key, value, key, value (keys are scalars, each once)

    [[nodiscard]] bool is_scalar() const { return kind == NodeKind::Scalar; }
    [[nodiscard]] bool is_sequence() const { return kind == NodeKind::Sequence; }
    [[nodiscard]] bool is_mapping() const { return kind == NodeKind::Mapping; }
    [[nodiscard]] bool has_no_value() const { return kind == NodeKind::Missing || kind == NodeKind::Null; }
};

}    // namespace rdmaqos::reader
