// Who competes with whom on a device: its tree as the solver takes it, with all who are in its leaves. In attach mode
// per-process that is a tree for each process (lib/model/process_trees.h). Above them are the traffic classes of the
// port, where they divide it (lib/model/port_classes.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "lib/base/units.h"
#include "lib/model/class_solver.h"
#include "lib/model/process_trees.h"
#include "lib/model/senders.h"
#include "tools/rdma-qosctl/world/level_classes.h"
#include "tools/rdma-qosctl/world/views.h"

namespace rdmaqos::ctl {

struct Competition {
    Tree tree;
    Bandwidth link_speed;
    LevelClasses classes;                              // if they do not divide: all who send are in class 0
    std::map<std::uint8_t, ProcessSenders> senders;    // by class and process; mode shared: all as process 0
    bool is_per_process = false;                       // a tree for each process
    bool is_adaptive = false;                          // that are kept as if there were one
    ClassDemands demands;                              // of all of them
    ClassAllocations busy;                             // all of them send as much as they get

    // Of the tree that is solved; `process` and `path` as `sessions` and `tree` show them.
    [[nodiscard]] ElementPath place(std::uint64_t process, const ElementPath& path) const;
    // Those who are in the same leaves as this process, and in this class.
    [[nodiscard]] const Senders& around(std::uint8_t port_class, std::uint64_t process) const;
    // With a tree of their own, and something in this class.
    [[nodiscard]] std::size_t other_processes(std::uint8_t port_class, std::uint64_t process) const;
    // What a place of the tree that is solved gets in a class; nobody there sends in it: 0.
    [[nodiscard]] double busy_kbps(std::uint8_t port_class, const ElementPath& at) const;
    // Whether the class would get more if nobody sent in another one.
    [[nodiscard]] bool is_held_by_other_classes(std::uint8_t port_class) const;
    // It alone sends, in this class.
    [[nodiscard]] Allocation alone(std::uint8_t port_class, const ElementPath& at) const;
};

[[nodiscard]] Competition compete(const World& world, const DeviceView& device);

}    // namespace rdmaqos::ctl
