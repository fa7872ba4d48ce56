// Attach mode per-process: every process has a tree of its own, with the elements its queue pairs need, and the port
// serves all these trees.
//
//     /                          /
//     ├── /rpc    share 70       ├── /pid:17                 process 17 has queue pairs in rpc,
//     └── /bulk   share 30       │   └── /pid:17/rpc
//                                └── /pid:18                 process 18 in both
//                                    ├── /pid:18/rpc   share 70
//                                    └── /pid:18/bulk  share 30
//
// How a port divides itself among trees is in no manual. Equal parts are assumed here; all that show a rate that
// follows from this says so. Pure.
#pragma once

#include <cstdint>
#include <map>

#include "lib/model/senders.h"
#include "lib/tree/attach_mode.h"
#include "lib/tree/element.h"

namespace rdmaqos {

using ProcessSenders = std::map<std::uint64_t, Senders>;    // by process; each with a queue pair in some leaf

// Where an element of the device's tree is in that of a process.
[[nodiscard]] ElementPath path_in_process(std::uint64_t process, const ElementPath& path);
// All trees below one root. Senders in leaves that `tree` does not have are passed over. `caps`: Whole or Divide.
[[nodiscard]] Tree trees_of_processes(const Tree& tree, const ProcessSenders& senders, CapMode caps);

// Where their caps are Adaptive, it is as if there were one tree, in which a leaf is divided equally among the
// processes in it.
[[nodiscard]] ElementPath path_of_copy(std::uint64_t process, const ElementPath& leaf);
// False: `tree` has no such leaf.
bool add_copy(Tree& tree, std::uint64_t process, const ElementPath& leaf);
// Of leaves in which there is more than one process.
[[nodiscard]] Tree tree_with_copies(Tree tree, const ProcessSenders& senders);

}    // namespace rdmaqos
