// The object tree of docs/dbus.md on one connection: one registration for each kind of object, whatever their number.
#pragma once

#include <optional>
#include <string>

#include "daemon/bus/endpoint.h"

namespace rdmaqos {

// The endpoint must outlive its connection's sd_bus.
[[nodiscard]] Result<void> install_objects(BusEndpoint& endpoint);

[[nodiscard]] std::string session_path(SessionId id);
[[nodiscard]] std::optional<SessionId> session_of_path(std::string_view path);
[[nodiscard]] std::string device_path(const std::string& key);
[[nodiscard]] std::optional<std::string> device_of_path(const char* path);

// manager_object.cpp, device_object.cpp, session_object.cpp
[[nodiscard]] const sd_bus_vtable* manager_vtable();
[[nodiscard]] const sd_bus_vtable* device_vtable();
[[nodiscard]] const sd_bus_vtable* session_vtable();

}    // namespace rdmaqos
