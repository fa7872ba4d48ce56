// Where the object of a device is: its key ("mlx5_0/1"), in which sd-bus writes other characters than letters and
// digits as
// "_2f".
#pragma once

#include <optional>
#include <string>

namespace rdmaqos::bus {

[[nodiscard]] std::string device_path(const std::string& key);
// Empty: it is no device's.
[[nodiscard]] std::optional<std::string> device_of_path(const char* path);

}    // namespace rdmaqos::bus
