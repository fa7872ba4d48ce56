// What the daemon says about itself, as values: the shapes that rendering and JSON work on. Made by online.cpp from
// D-Bus properties; tests make them by hand.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/api/device.h"
#include "lib/api/policy.h"
#include "lib/api/port.h"
#include "lib/api/report.h"
#include "lib/api/session.h"
#include "lib/api/traffic.h"
#include "lib/base/diagnostic.h"
#include "lib/base/units.h"
#include "lib/bus/value.h"
#include "lib/model/busy_rates.h"
#include "lib/port_lint/values.h"
#include "lib/shapers/shapers.h"
#include "lib/tree/attach_mode.h"
#include "lib/tree/capabilities.h"
#include "lib/tree/described_plan.h"
#include "lib/tree/element.h"
#include "lib/tree/requested.h"

namespace rdmaqos::ctl {

// What a reload gave.
struct ReloadView {
    bool accepted = true;
    std::string revision;    // that was in force afterwards
    Diagnostics diagnostics;
    std::vector<api::Finding> findings;
    std::vector<std::string> unanswered;
    std::vector<api::LeftOut> left_out;
    std::vector<api::LevelLoss> lost_levels{};
    std::vector<api::Failure> failures{};    // each with its device
    std::string ended_trial{};               // revision of the trial that it has ended; empty: there was none
};

struct ManagerView {
    std::string version;
    std::vector<std::string> features;
    std::string mode;               // "enforce", "monitor"
    std::string policy_revision;    // empty: no policy
    std::vector<std::string> policy_sources;
    ReloadView last_reload;
    std::chrono::sys_seconds last_good_reload{};    // 0: none since the daemon started
    Diagnostics fabric_diagnostics;                 // why the fabric file cannot be used; empty: it can
    std::vector<api::RefusedDevice> refused_devices;
    std::vector<api::StateFailure> state_failures;
    std::vector<std::string> released_devices;    // let go of by `rdma-qosctl release`
    std::vector<api::Level> levels;
    api::Adoption adoption;
    std::optional<api::Trial> trial{};
    bus::Counts statistics;
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
    std::string cap_mode;                        // attach mode per-process: "whole", "divide", "adaptive"
    std::string cap_reason;                      // why it is not the adaptive one that was asked for
    std::vector<api::SelfTestStep> self_test;    // empty: there was nothing to test
    std::vector<AttributeView> attributes;       // in the device's order
    Capabilities capabilities;
    std::uint32_t elements_used = 0;
    std::uint32_t elements_free = 0;
    std::uint32_t leaves_used = 0;
    std::uint32_t leaves_free = 0;
    std::uint32_t queue_pairs_inside = 0;
    std::uint32_t queue_pairs_outside = 0;    // of programs, in no leaf, whether or not they registered
    std::vector<api::TreeElement> tree;
    std::vector<api::Finding> findings;
    std::vector<api::Failure> failures;
    api::Port port_classes{};
    api::PortTraffic traffic{};
    bus::Counts statistics;
    std::string object_path;
    // What else the NIC enforces on this port; the command looks itself, where that is asked for.
    std::vector<shapers::Shaper> shapers;
    // 0 to 63: of congestion notifications that it sends; looked for likewise. Empty: not known.
    std::optional<std::uint8_t> cnp_dscp{};
    // What lib/port_lint finds wrong with its traffic classes; the command looks itself, where that is asked for.
    std::vector<port_lint::Finding> lint;

    // "mlx5_0/1", as everywhere in the API
    [[nodiscard]] std::string key() const { return name + "/" + std::to_string(port); }
    // Of attach mode per-process: each process has a tree of its own, and either nothing divides the port between them,
    // or caps do, as if there were one.
    [[nodiscard]] bool has_tree_for_each() const { return attach_mode == "per-process" && !is_adaptive(); }
    [[nodiscard]] bool is_adaptive() const { return attach_mode == "per-process" && cap_mode == "adaptive"; }
    [[nodiscard]] CapMode caps() const { return cap_mode == "divide" ? CapMode::Divide : CapMode::Whole; }
};

struct SessionView {
    std::uint64_t id = 0;    // the last part of its object path
    api::Owner owner;
    bool adopted = false;    // its process did not register
    std::string state;       // "active", "detached"
    std::string level;
    api::Grant grant;
    std::vector<api::QueuePair> queue_pairs;
};

}    // namespace rdmaqos::ctl

// Their keys: the names of properties.
namespace rdmaqos::api {

// What travels in another shape.
template <>
struct Wire<ctl::ReloadView> {
    using Type = bus::Dict;
    static std::optional<ctl::ReloadView> from(const bus::Dict& dict);
};

template <>
struct Wire<Diagnostics> {
    using Type = std::vector<bus::Dict>;
    static std::optional<Diagnostics> from(const Type& dicts);
};

template <>
struct Wire<std::vector<ctl::AttributeView>> {
    using Type = bus::Triples;
    static std::optional<std::vector<ctl::AttributeView>> from(const bus::Triples& triples);
};

template <>
struct Table<ctl::ManagerView> {
    using M = ctl::ManagerView;
    static constexpr auto keys = std::tuple{
        key<&M::version>("Version"),
        key<&M::features>("Features"),
        key<&M::mode>("Mode"),
        key<&M::policy_revision>("PolicyRevision"),
        key<&M::policy_sources>("PolicySources"),
        key<&M::last_reload>("LastReload"),
        key<&M::last_good_reload>("LastGoodReload"),
        key<&M::fabric_diagnostics>("FabricDiagnostics"),
        key<&M::released_devices>("ReleasedDevices"),
        key<&M::refused_devices>("RefusedDevices"),
        key<&M::state_failures>("StateFailures"),
        key<&M::trial>("Trial"),
        key<&M::adoption>("Adoption"),
        key<&M::statistics>("Statistics"),
    };
};

template <>
struct Table<ctl::DeviceView> {
    using D = ctl::DeviceView;
    static constexpr auto keys = std::tuple{
        key<&D::name>("Name"),
        key<&D::port>("Port"),
        key<&D::node_guid>("NodeGUID"),
        key<&D::port_guid>("PortGUID"),
        key<&D::netdev>("NetDev"),
        key<&D::pci_address>("PCIAddress"),
        key<&D::driver>("Driver"),
        key<&D::firmware>("Firmware"),
        key<&D::board_id>("BoardId"),
        key<&D::virtual_function>("VirtualFunction"),
        key<&D::bond>("Bond"),
        key<&D::link_layer>("LinkLayer"),
        key<&D::link_up>("LinkUp"),
        key<&D::link_speed>("LinkSpeed"),
        key<&D::state>("State"),
        key<&D::reason>("Reason"),
        key<&D::attach_mode>("AttachMode"),
        key<&D::attach_reason>("AttachReason"),
        key<&D::cap_mode>("CapMode"),
        key<&D::cap_reason>("CapReason"),
        key<&D::self_test>("SelfTest"),
        key<&D::attributes>("Attributes"),
        key<&D::capabilities>("Capabilities"),
        key<&D::elements_used>("ElementsUsed"),
        key<&D::elements_free>("ElementsFree"),
        key<&D::leaves_used>("LeavesUsed"),
        key<&D::leaves_free>("LeavesFree"),
        key<&D::queue_pairs_inside>("QueuePairsInside"),
        key<&D::queue_pairs_outside>("QueuePairsOutside"),
        key<&D::tree>("Tree"),
        key<&D::findings>("Findings"),
        key<&D::failures>("Failures"),
        key<&D::port_classes>("PortClasses"),
        key<&D::traffic>("PortTraffic"),
        key<&D::statistics>("Statistics"),
    };
};

template <>
struct Table<ctl::SessionView> {
    using S = ctl::SessionView;
    static constexpr auto keys = std::tuple{
        key<&S::owner>("Owner"), key<&S::adopted>("Adopted"), key<&S::state>("State"),
        key<&S::level>("Level"), key<&S::grant>("Grant"),
    };
};

}    // namespace rdmaqos::api

namespace rdmaqos::ctl {

// What the policy's files on the disk say now, whatever is in force.
struct FilesView {
    std::string revision;    // empty: they have errors
};

struct World {
    ManagerView manager;
    std::optional<FilesView> files{};                   // empty: not asked for, or they cannot be read by whoever asks
    std::chrono::system_clock::time_point at{};         // when the daemon was asked
    std::vector<DeviceView> devices;                    // by name and port
    std::vector<SessionView> sessions;                  // by id
    std::vector<api::SessionCount> session_counts{};    // in place of `sessions` where there are too many to list
    std::vector<api::HostCount> host_counts;            // empty: not asked for
    std::vector<api::MarkCount> marks{};                // likewise
    // DSCPs in the packets of queue pairs, by key of the device and number, where that is known; empty: not asked for.
    std::map<std::pair<std::string, std::uint32_t>, std::uint8_t> carried{};
    // What lib/port_lint has no facts of, on the devices' ports; looked at as their `lint` is.
    std::vector<port_lint::Unchecked> unchecked{};
};

struct PlanReport {
    bool offline = false;
    std::string note;    // in words: against what it was planned
    bool accepted = true;
    bool writes = true;       // false: nothing would be written to any device
    bool monitors = false;    // mode monitor: no operation would be carried out, but the steps of ports would
    Diagnostics diagnostics;
    std::string revision;
    std::vector<api::LevelChange> levels;    // none offline, as the next four
    std::vector<api::PartChange> changes;    // of rules, port groups and partitions
    std::uint64_t more_changes = 0;          // that the daemon left out
    std::vector<api::SessionChange> sessions;
    std::vector<api::LevelLoss> lost_levels;
    std::vector<api::DevicePlan> plans;
    std::vector<api::LeftOut> left_out;
};

// One more thing wrong, and what to do about it.
struct Problem {
    bool is_error = true;    // false: worth knowing, nothing is broken
    std::string what;
    std::string advice;
};

}    // namespace rdmaqos::ctl
