// YAML text -> Node. The only user of yaml-cpp.
//
// Accepted is the plain part of YAML that a configuration needs. Anchors, aliases, merge keys, tags, keys that are not
// scalars, duplicate keys and a second document are errors, each with its place. Text of any kind is safe: depth,
// number of nodes, size and look-ahead are bounded before yaml-cpp's own recursion and queues could grow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "policy/text/ast.h"
#include "policy/text/context.h"
#include "policy/text/source_file.h"

namespace rdmaqos::reader {

struct YamlLimits {
    std::size_t text_size = kLargestText;
    std::size_t nodes = 1'000'000;
    std::size_t depth = 32;
    // yaml-cpp reads the whole of an outermost flow collection ("[...]", "{...}") before it says anything of it, at up
    // to 250 bytes of memory per byte of text.
    std::size_t look_ahead = 256U * 1024;
};

// The document of the file with this index; empty if there was an error (which is in the context's diagnostics). An
// empty text is a node of kind Missing.
[[nodiscard]] std::optional<Node> read_yaml(Context& context, std::uint32_t file, const YamlLimits& limits = {});

}    // namespace rdmaqos::reader
