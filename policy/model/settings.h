// The daemon's settings, /etc/rdma-qos/rdma-qosd.yaml: how it works, as opposed to what it enforces (the policy).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "lib/base/diagnostic.h"
#include "lib/tree/attach_mode.h"
#include "policy/model/mode.h"

namespace rdmaqos {

inline constexpr const char* kSettingsPath = "/etc/rdma-qos/rdma-qosd.yaml";

enum class OnUnsupported : std::uint8_t { Error, Degrade };
// Queue pairs of programs that do not register: not looked at, counted and listed, or also taken into the tree.
enum class Unregistered : std::uint8_t { Ignore, Count, Adopt };
// The traffic classes of Ethernet ports (lib/dcb): not looked at, read and reported, or also set as the policy asks.
enum class PortClassesSetting : std::uint8_t { Off, Report, Manage };

// Counters of queue pairs (`rdma statistic qp`): those that somebody has bound are read, or the daemon binds them, too.
enum class QueuePairCountersSetting : std::uint8_t { Read, Bind };

struct Limits {
    std::uint32_t sessions_per_uid = 4096;
    std::uint32_t queue_pairs_per_uid = 65536;
    std::uint32_t queue_pairs_per_session = 16384;
    std::uint32_t connections_per_uid = 2048;    // of the direct socket
    std::uint32_t requests_per_second_per_uid = 50000;
    std::uint32_t device_queue = 1024;    // operations waiting for one device

    friend bool operator==(const Limits&, const Limits&) = default;
};

// Metrics in a file for the textfile collector of node_exporter.
struct MetricsSettings {
    std::string textfile;    // path on the host; empty: none is written
    std::chrono::milliseconds interval{15'000};

    friend bool operator==(const MetricsSettings&, const MetricsSettings&) = default;
};

// Where a setting stands in its file. It is no part of what the settings say: all places are equal.
struct SettingPlace {
    Location at{};

    friend bool operator==(const SettingPlace&, const SettingPlace&) { return true; }
};

struct Settings {
    Mode mode = Mode::Enforce;
    OnUnsupported on_unsupported = OnUnsupported::Error;
    std::optional<AttachMode> attach_mode;    // empty: as the backend finds out
    CapMode cap_mode = CapMode::Whole;
    Unregistered unregistered = Unregistered::Count;
    PortClassesSetting port_classes = PortClassesSetting::Report;
    SettingPlace port_classes_at{};            // whether it can be had is known only after the file was read
    std::optional<std::uint8_t> cnp_dscp{};    // of congestion notifications; empty: they get no class of their own
    QueuePairCountersSetting queue_pair_counters = QueuePairCountersSetting::Read;
    std::chrono::milliseconds drift_interval{60'000};
    std::uint32_t leaf_reserve = 4;    // leaves never given to principals
    std::string socket_group;          // only root and its members may use the direct socket; empty: everybody may
    std::optional<std::uint32_t> socket_gid;    // of that group; empty: this host has none of this name
    Limits limits;
    MetricsSettings metrics;

    friend bool operator==(const Settings&, const Settings&) = default;
};

}    // namespace rdmaqos
