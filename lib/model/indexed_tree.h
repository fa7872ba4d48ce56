// A Tree as flat arrays, for algorithms that visit every element many times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "lib/tree/element.h"

namespace rdmaqos {

struct IndexedElement {
    const ElementPath* path = nullptr;    // into the Tree
    ElementKind kind = ElementKind::Node;
    std::size_t parent = 0;         // of the root: itself
    std::size_t first_child = 0;    // children lie side by side
    std::size_t child_count = 0;
    std::uint64_t weight = 1;    // the share; 1 for the device's default
    std::optional<double> cap_kbps;
};

// Breadth first: the root is 0, parents stand before their children, children in the order of their paths. What does
// not hang from the root is left out. Points into `tree`, which must outlive the result.
[[nodiscard]] std::vector<IndexedElement> index_tree(const Tree& tree);

}    // namespace rdmaqos
