// Leaves in the files of programs, each below a node that is in another file. As a tree, without the nodes.
#pragma once

#include <memory>

#include "lib/nic_mlx5/element_tree.h"

namespace rdmaqos::mlx5 {

class OwnLeaves : public ElementTree {
public:
    // A file has a leaf of its own below that node as soon as it has queue pairs in `leaf`.
    virtual void add_leaf(ElementHandle leaf, ObjectId below) = 0;
    // Nobody plans it any more. What is in files is destroyed when no queue pair is in it.
    virtual void forget_leaf(ElementHandle leaf) = 0;
};

[[nodiscard]] std::unique_ptr<OwnLeaves> make_own_leaves(Reads reads, const Capabilities& advertised);

}    // namespace rdmaqos::mlx5
