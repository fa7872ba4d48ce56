// Names of our D-Bus API (docs/dbus.md).
#pragma once

#include <cstddef>

namespace rdmaqos::bus::names {

// The message bus itself.
constexpr const char* kBus = "org.freedesktop.DBus";
constexpr const char* kBusPath = "/org/freedesktop/DBus";

constexpr const char* kService = "org.rdmaqos1";
constexpr const char* kRoot = "/org/rdmaqos1";
constexpr const char* kDevices = "/org/rdmaqos1/device";
constexpr const char* kSessions = "/org/rdmaqos1/session";

constexpr const char* kManager = "org.rdmaqos1.Manager";
constexpr const char* kDevice = "org.rdmaqos1.Device";
constexpr const char* kSession = "org.rdmaqos1.Session";

// Of Register and Attach. A program with more calls again: one message is worked off without a pause.
constexpr std::size_t kMostQueuePairsInACall = 256;

// The direct transport; below the daemon's root.
constexpr const char* kSocket = "/run/rdma-qos/bus";

}    // namespace rdmaqos::bus::names
