// Inside render: a tree with columns, as text. Others who draw trees use the order of siblings and their labels.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/units.h"
#include "lib/tree/requested.h"

namespace rdmaqos::drawing {

struct Node {
    std::string mark;    // before the tree; if any node has one, all lines leave room for it
    std::string label;
    std::vector<std::string> cells;
    std::vector<std::size_t> children;    // indexes of nodes
};

// One line per node below and including `root`. Columns are as wide as their widest cell; those that are empty on
// every line are left out.
[[nodiscard]] std::string draw(const std::vector<Node>& nodes, std::size_t root);

// The order of siblings: numbers by their value (pid:9 before pid:10), `others` last.
[[nodiscard]] bool comes_before(std::string_view a, std::string_view b);

// A path as it is shown below `parent`: "rpc", or "tenants/rpc" where the node between is left out.
[[nodiscard]] std::string label_below(std::string_view parent, std::string_view path);

[[nodiscard]] std::string share_text(std::uint32_t share);    // "70", "default"
// What the policy asks for, and the weight where that is another number: "share 70", "share 200 (weight 98 of 110)",
// "min-rate 60 Gbit/s (weight 3 of 8)". `sum`: of the weights of all siblings, as counted_weight() has them.
[[nodiscard]] std::string rate_request_text(const RequestedRate& requested, std::uint32_t weight, std::uint64_t sum);
// The device does not tell its default; it counts as 1.
[[nodiscard]] std::uint64_t counted_weight(std::uint32_t weight);
[[nodiscard]] std::string rate_text(const std::optional<Bandwidth>& rate);    // "80 Gbit/s", "unlimited"

}    // namespace rdmaqos::drawing
