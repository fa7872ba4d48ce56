// What the lint of a host's ports is given, and what it finds. Values only.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/units.h"
#include "lib/dcb/port_settings.h"
#include "lib/dcb/words.h"

namespace rdmaqos::port_lint {

template <typename T>
using OfPriority = std::array<T, dcb::kPriorities>;

// A child of the tree's root, as the policy has it for this port. Shares are relative to those of the other children.
struct RootChild {
    std::string name;
    std::optional<std::uint32_t> share;    // empty: the device's default
    std::optional<Bandwidth> min_rate;
    std::optional<Bandwidth> max_rate;
    bool is_strict = false;    // it goes before others (`strict: true`)
};

// A level of the policy that concerns this port: packets of its queue pairs have its traffic class.
struct Level {
    std::string name;
    std::optional<std::uint8_t> traffic_class;    // of the packet: the upper 6 bits are the DSCP; empty: no mark
    std::string root_child;                       // where its class is in the tree; empty: it has none
    std::optional<Bandwidth> min_rate;
    std::optional<Bandwidth> max_rate;
};

// Congestion notification packets (CNP) and who reacts to them (DCQCN). What is empty cannot be read: the kernel of
// this project has it in debugfs, NVIDIA's drivers in sysfs, other vendors elsewhere.
struct Notifications {
    std::optional<std::uint8_t> dscp;
    std::optional<std::uint8_t> priority;          // of the VLAN tag
    std::optional<OfPriority<bool>> are_sent;      // when packets of this priority are marked by ECN
    std::optional<OfPriority<bool>> are_obeyed;    // by senders of packets of this priority
    std::string unread{};                          // why neither DSCP nor priority can be read; empty: they can

    friend bool operator==(const Notifications&, const Notifications&) = default;
};

// Since the interface exists.
struct SentBytes {
    OfPriority<std::uint64_t> of_priority{};    // of all packets
    std::uint64_t of_rdma = 0;                  // of all priorities together
};

// Of the RDMA port that belongs to an interface.
struct RdmaFacts {
    std::string device;    // "mlx5_0"; empty: the interface has no RDMA port
    std::uint32_t port = 1;
    // What rdma_cm gives connections whose program sets none. Empty: nobody has set it.
    std::optional<std::uint8_t> default_tos;
    std::string default_mode;    // "RoCE v2"; empty: nobody has set it
    // What NVIDIA's drivers put into every queue pair that the kernel modifies, whatever its program says.
    std::optional<std::uint8_t> forced_traffic_class;
    Notifications notifications;
    std::optional<SentBytes> sent;
};

// A protocol of the kernel whose module is loaded, that connects by rdma_cm and sets no type of service itself: its
// packets have the port's default.
struct KernelTraffic {
    std::string what;                  // "NFS over RDMA"
    std::string module;                // "rpcrdma"
    std::string level;                 // that the policy's rules give its connections
    std::uint8_t traffic_class = 0;    // of the level
};

// Writes to a port's settings while somebody watched. Those that follow each other within a second count as one: tools
// set a port by several.
struct Rewrites {
    std::uint32_t seconds = 0;    // of watching
    std::uint32_t count = 0;
    dcb::Author author = dcb::Author::Unknown;    // of the last
};

// A port of another host, as that host says.
struct OtherEnd {
    std::string name;    // "eth0 in storage7.json"
    dcb::PortSettings settings;
};

struct Interface {
    std::string name;      // "eth0"
    std::string driver;    // "mlx5_core"
    std::optional<Bandwidth> link_speed;
    dcb::PortSettings settings;
    RdmaFacts rdma;
    std::vector<RootChild> root_children;
    std::vector<Level> levels;
    std::vector<KernelTraffic> kernel_traffic;    // whose levels mark their packets
    std::vector<OtherEnd> other_ends;             // with which queue pairs of this port may talk
    std::optional<Rewrites> rewrites;             // empty: nobody watched
    bool is_infiniband = false;                   // it has neither settings nor DSCPs; `name` is "mlx5_0/1"
    // Of a port on InfiniBand: the host has ports on Ethernet besides, whether or not they can be read.
    bool is_beside_ethernet = false;
    // Likewise: where its virtual lanes are not as the policy divides a link, a sentence each.
    std::vector<std::string> lanes_that_differ;
    // Attach mode `shared`: one scheduling tree divides the port among all processes, whatever its classes do.
    bool is_divided_by_tree = false;
    // The daemon sets its trust, priorities and classes, sets them again where others do, and says what it cannot set.
    bool is_kept = false;
};

// Of one rule. All but `rule` and `interface` are for people: sentences without a full stop at the end.
struct Finding {
    std::string rule{};    // "cnp-lossless"
    std::string interface {
    };
    std::optional<std::uint8_t> traffic_class{};    // of the port
    std::vector<std::string> levels{};
    std::string what{};
    std::string why{};        // what comes of it
    std::string command{};    // mends it; nothing here runs it; empty: none does
    std::string caution{};    // what else the command does; may be empty

    friend bool operator==(const Finding&, const Finding&) = default;
};

// What rules did not look at, as nobody says it. Sentences without a full stop at the end.
struct Unchecked {
    std::string interface {
    };
    std::string what{};    // "congestion notifications of mlx5_0"
    std::string why{};

    friend bool operator==(const Unchecked&, const Unchecked&) = default;
};

}    // namespace rdmaqos::port_lint
