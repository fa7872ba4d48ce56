// A load where not all share one tree: in attach mode per-process, every process has a tree of its own; and what is in
// no leaf stands beside the trees. The port, or a traffic class of it, is assumed to serve all of them in equal parts.
//
//     /                              attach mode shared          per-process
//     ├── /pid:A                     the tree for all            that of one sender
//     │   └── /pid:A/rpc
//     └── /pid:B                     a queue pair in no leaf     another sender's, or a queue pair in no leaf
//         └── /pid:B/outside
//
// Pure.
#pragma once

#include "lib/model/class_solver.h"
#include "tools/rdma-qosctl/simulate/loaded_tree.h"

namespace rdmaqos::ctl {

[[nodiscard]] bool has_many_trees(const LoadedTree& loaded);

// All trees below one root, with those of senders that send nothing now.
[[nodiscard]] Tree trees_of(const LoadedTree& loaded, const Demands& everybody);
// What the senders of each tree ask for of what is asked for in each leaf.
[[nodiscard]] Demands demands_of_trees(const LoadedTree& loaded, const Demands& demands);
// Of the device's tree, of the sums over all trees. Of an element that several are held in, the reason of the one that
// gets most stands for all.
[[nodiscard]] ClassAllocations folded(const LoadedTree& loaded, ClassAllocations of_trees);
// The element of the device's tree that an element of one of the trees is; empty: it is the whole of one.
[[nodiscard]] ElementPath path_in_device(const ElementPath& path);

}    // namespace rdmaqos::ctl
