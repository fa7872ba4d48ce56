// Who competes with whom on a device: its tree as the solver takes it, with all who are in its leaves. In attach mode
// per-process that is a tree for each process (lib/model/process_trees.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "lib/base/units.h"
#include "lib/model/process_trees.h"
#include "lib/model/senders.h"
#include "lib/model/solver.h"
#include "tools/rdma-qosctl/world/views.h"

namespace rdmaqos::ctl {

struct Competition {
    Tree tree;
    Bandwidth link_speed;
    ProcessSenders senders;    // by process; mode shared: all as process 0
    bool is_per_process = false;
    Allocations busy;    // all of them send as much as they get

    // Of the tree that is solved; `process` and `path` as `sessions` and `tree` show them.
    [[nodiscard]] ElementPath place(std::uint64_t process, const ElementPath& path) const;
    // Those who are in the same leaves as this process.
    [[nodiscard]] const Senders& around(std::uint64_t process) const;
    [[nodiscard]] std::size_t other_processes(std::uint64_t process) const;    // with a tree of their own
};

[[nodiscard]] Competition compete(const World& world, const DeviceView& device);

}    // namespace rdmaqos::ctl
