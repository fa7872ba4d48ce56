// A device's scheduling tree as a value.
//
//     /                       root: no share, no cap (the device demands it)
//     ├── /tenants            node: children compete by share, together capped by max_rate
//     │   └── /tenants/rpc    node of a level that is fair by process
//     │       ├── /tenants/rpc/pid:4711     leaf: holds queue pairs
//     │       └── /tenants/rpc/others       leaf: for principals without one of their own
//     └── /bulk               leaf: the level is one leaf
//
// An element is known by its path, never by a firmware id. The path is the one the policy gives it; where the device
// is too shallow the element hangs higher than its path says, which is why `parent` is stated.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/units.h"

namespace rdmaqos {

class ElementPath {
public:
    ElementPath() = default;    // no element
    explicit ElementPath(std::string text) : text_(std::move(text)) {}

    static ElementPath root() { return ElementPath("/"); }

    [[nodiscard]] ElementPath child(std::string_view segment) const;
    // The path without its last segment; of the root: no element.
    [[nodiscard]] ElementPath parent() const;
    [[nodiscard]] std::string_view name() const;    // the last segment; "/" for the root
    [[nodiscard]] bool is_root() const { return text_ == "/"; }
    [[nodiscard]] bool empty() const { return text_.empty(); }
    [[nodiscard]] const std::string& text() const { return text_; }

    friend auto operator<=>(const ElementPath&, const ElementPath&) = default;

private:
    std::string text_;
};

enum class ElementKind : std::uint8_t { Node, Leaf };
[[nodiscard]] std::string_view to_string(ElementKind kind);    // "node"

struct ElementAttributes {
    std::uint32_t share = 0;              // weight among siblings, 1..max_share; 0: the device's default
    std::optional<Bandwidth> max_rate;    // whole Mbit/s; empty: no cap

    friend bool operator==(const ElementAttributes&, const ElementAttributes&) = default;
};

// Of a cap that is divided: whole Mbit/s, and never 0, which would be no cap. `processes` is at least 1.
[[nodiscard]] Bandwidth part_of_cap(Bandwidth cap, std::size_t processes);

struct Element {
    ElementKind kind = ElementKind::Node;
    ElementPath parent;    // empty for the root
    ElementAttributes attributes;

    friend bool operator==(const Element&, const Element&) = default;
};

// Either empty, or a root and what hangs below it. Ordered by path, so parents named by their path come first; after
// folding a parent is still a prefix of its children's paths.
using Tree = std::map<ElementPath, Element>;

// Elements of a tree that are others than before; empty: it is not there any longer.
using ElementChanges = std::map<ElementPath, std::optional<Element>>;

// Levels from the root (1) to the deepest element; 0 for an empty tree.
[[nodiscard]] std::uint32_t depth(const Tree& tree);
[[nodiscard]] std::uint32_t leaf_count(const Tree& tree);

// A queue pair as the tree sees it; its number is unique on its device.
struct QueuePairId {
    std::uint32_t number = 0;

    friend auto operator<=>(const QueuePairId&, const QueuePairId&) = default;
};

// A rate of one queue pair (packet pacing).
struct RateLimit {
    Bandwidth rate;
    std::optional<std::uint64_t> max_burst;         // bytes; empty: the device's default
    std::optional<std::uint32_t> typical_packet;    // bytes; empty: the device's default

    friend auto operator<=>(const RateLimit&, const RateLimit&) = default;
};

// Where a queue pair belongs. An empty path: no leaf on that side.
struct Placement {
    ElementPath requester;    // what the queue pair sends
    ElementPath responder;    // its RDMA READ responses
    std::optional<RateLimit> rate;

    friend bool operator==(const Placement&, const Placement&) = default;
};

struct DesiredState {
    Tree tree;
    std::map<QueuePairId, Placement> queue_pairs;

    friend bool operator==(const DesiredState&, const DesiredState&) = default;
};

}    // namespace rdmaqos
