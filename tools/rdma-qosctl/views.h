// What the daemon says about itself, as values: the shapes that rendering and JSON work on. Made by online.cpp from
// D-Bus properties; tests make them by hand.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/units.h"
#include "lib/bus/value.h"
#include "lib/tree/capabilities.h"
#include "lib/tree/element.h"

namespace rdmaqos::ctl {

struct ManagerView {
    std::string version;
    std::vector<std::string> features;
    std::string mode;               // "enforce", "monitor"
    std::string policy_revision;    // empty: no policy
    std::vector<std::string> policy_sources;
    std::string last_reload_error;
    std::string fabric_error;                     // why the fabric file cannot be used; empty: it can
    std::vector<std::string> released_devices;    // let go of by `rdma-qosctl release`
    std::vector<bus::Dict> levels;    // keys of docs/dbus.md, "Levels"
    bus::Counts statistics;
};

struct TreeElementView {
    std::string path;
    std::string parent;    // empty for the root
    ElementKind kind = ElementKind::Node;
    std::optional<std::uint32_t> share;    // empty: the root; 0: the device's default
    std::optional<Bandwidth> max_rate;
    std::uint32_t queue_pairs = 0;
    bool draining = false;
};

// One step of the test by which the attach mode was found. Of the answer, 0: there was none.
struct SelfTestView {
    std::string name;
    bool passed = false;
    int sys_errno = 0;
    std::uint8_t status = 0;
    std::uint32_t syndrome = 0;
    std::string remark;
};

// One thing the device says of itself, in words; the meaning may be empty.
struct AttributeView {
    std::string name;
    std::string value;
    std::string meaning;
};

struct DeviceView {
    std::string name;
    std::uint32_t port = 1;
    std::uint64_t node_guid = 0;
    std::uint64_t port_guid = 0;
    std::string netdev;
    std::string pci_address;
    std::string driver;
    std::string firmware;
    std::string board_id;
    bool virtual_function = false;
    std::string bond;    // the bonding netdev it is in; empty: none
    std::string link_layer;
    bool link_up = false;
    Bandwidth link_speed;
    std::string state;
    std::string reason;
    std::string attach_mode;
    std::string attach_reason;
    std::vector<SelfTestView> self_test;      // empty: there was nothing to test
    std::vector<AttributeView> attributes;    // in the device's order
    Capabilities capabilities;
    std::uint32_t elements_used = 0;
    std::uint32_t elements_free = 0;
    std::uint32_t leaves_used = 0;
    std::uint32_t leaves_free = 0;
    std::uint32_t queue_pairs_inside = 0;
    std::uint32_t queue_pairs_outside = 0;
    std::vector<TreeElementView> tree;
    std::vector<std::string> findings;
    std::vector<std::string> failures;
    bus::Counts statistics;
    std::string object_path;

    // "mlx5_0/1", as everywhere in the API
    [[nodiscard]] std::string key() const { return name + "/" + std::to_string(port); }
};

struct OwnerView {
    std::uint32_t pid = 0;
    std::uint64_t start_time = 0;
    std::uint32_t uid = 0;
    std::string user;    // name of uid on this host; empty if it has none
    std::string unit;
    std::string cgroup;
    std::string executable;
    std::string command;
};

struct SessionView {
    std::uint64_t id = 0;    // the last part of its object path
    OwnerView owner;
    std::string state;    // "active", "detached"
    std::string level;
    bus::Dict grant;                       // keys of docs/dbus.md, "Keys of a grant"
    std::vector<bus::Dict> queue_pairs;    // "Keys of a result"
};

struct World {
    ManagerView manager;
    std::vector<DeviceView> devices;      // by name and port
    std::vector<SessionView> sessions;    // by id
};

// What a class gets when everything is busy; empty: the class is not there.
struct BusyRateView {
    std::string path;
    std::optional<Bandwidth> before;
    std::optional<Bandwidth> after;
};

// Queue pairs of a session that get another level or leaf; none: the session itself gets another level.
struct SessionChangeView {
    std::uint64_t session = 0;
    OwnerView owner;
    std::string device;
    std::uint64_t queue_pairs = 0;
    std::string level_before;
    std::string level_after;
    std::string leaf_before;    // empty: none
    std::string leaf_after;
};

// What a policy would do to one device.
struct PlanView {
    std::string device;
    std::uint64_t operations = 0;
    std::string text;    // the tree with its changes
    std::vector<std::string> operation_list;
    std::vector<std::string> findings;
    Bandwidth link_speed;
    std::vector<BusyRateView> rates;
};

struct PlanReport {
    bool offline = false;
    std::string note;    // in words: against what it was planned
    std::string revision;
    std::vector<std::string> levels;    // a sentence per changed level; none offline
    std::vector<SessionChangeView> sessions;
    std::vector<PlanView> plans;
};

struct ReconcileView {
    std::string device;
    std::uint64_t operations = 0;
    std::vector<std::string> failures;
};

struct DriftView {
    std::string device;
    std::string path;
    std::string kind;
    std::string expected;
    std::string found;
};

// One more thing wrong, and what to do about it.
struct Problem {
    bool is_error = true;    // false: worth knowing, nothing is broken
    std::string what;
    std::string advice;
};

}    // namespace rdmaqos::ctl
