// Where the objects of docs/dbus.md are.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "daemon/model/session.h"

namespace rdmaqos {

[[nodiscard]] std::string session_path(SessionId id);
[[nodiscard]] std::optional<SessionId> session_of_path(std::string_view path);
[[nodiscard]] std::string device_path(const std::string& key);
[[nodiscard]] std::optional<std::string> device_of_path(const char* path);

}    // namespace rdmaqos
