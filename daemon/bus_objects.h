// The object tree of docs/dbus.md on one connection: one registration for each kind of object, whatever their number.
#pragma once

#include <optional>
#include <string>

#include "daemon/bus_endpoint.h"

namespace rdmaqos {

// The endpoint must outlive its connection's sd_bus.
[[nodiscard]] Result<void> install_objects(BusEndpoint& endpoint);

[[nodiscard]] std::string session_path(SessionId id);
[[nodiscard]] std::optional<SessionId> session_of_path(std::string_view path);
[[nodiscard]] std::string device_path(const std::string& key);
[[nodiscard]] std::optional<std::string> device_of_path(const char* path);

// Whose message is being served, for what answers differently to different callers; null: nobody's, as for a signal, or
// one that is not known (yet).
[[nodiscard]] const Peer* asking(BusEndpoint& endpoint, sd_bus* bus);

// bus_manager.cpp, bus_device.cpp, bus_session.cpp
[[nodiscard]] const sd_bus_vtable* manager_vtable();
[[nodiscard]] const sd_bus_vtable* device_vtable();
[[nodiscard]] const sd_bus_vtable* session_vtable();

}    // namespace rdmaqos
