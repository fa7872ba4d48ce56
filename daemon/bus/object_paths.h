// Where the objects of docs/dbus.md are.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "daemon/model/session.h"
#include "lib/bus/device_path.h"

namespace rdmaqos {

[[nodiscard]] std::string session_path(SessionId id);
[[nodiscard]] std::optional<SessionId> session_of_path(std::string_view path);
using bus::device_of_path;
using bus::device_path;

}    // namespace rdmaqos
