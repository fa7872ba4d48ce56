// Who sends in the leaves of a tree, and what holds each of them besides the tree: a queue pair that is paced sends no
// more than its own rate. All that say what queue pairs get ask here, so that they say the same.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "lib/base/units.h"
#include "lib/model/solver.h"
#include "lib/tree/element.h"

namespace rdmaqos {

class Senders {
public:
    // Queue pairs of a leaf that may send this each; empty: all they get.
    void add(const ElementPath& leaf, std::optional<Bandwidth> rate, std::size_t count = 1);

    [[nodiscard]] std::size_t count(const ElementPath& leaf) const;
    // What those of a leaf can send together; empty: one of them is not paced, or there is none.
    [[nodiscard]] std::optional<Bandwidth> most(const ElementPath& leaf) const;
    // The rate of each queue pair of a leaf, ascending; those that are not paced last.
    [[nodiscard]] std::vector<std::optional<Bandwidth>> rates(const ElementPath& leaf) const;
    // All of them send as much as they get.
    [[nodiscard]] Demands demands() const;
    // Of what a leaf gets: the part of some of its queue pairs, by their rates. Queue pairs of one leaf are served in
    // turn, so they get equal parts, and what a paced one leaves goes to the others.
    [[nodiscard]] Bandwidth part(const ElementPath& leaf, Bandwidth of_leaf,
                                 const std::vector<std::optional<Bandwidth>>& rates) const;

private:
    struct Leaf {
        std::map<std::uint64_t, std::size_t> paced;    // queue pairs by their rate in kbit/s
        std::size_t unpaced = 0;
    };
    std::map<ElementPath, Leaf> leaves_;
};

}    // namespace rdmaqos
