// Where the object of a device is: by its key ("mlx5_0/1"), of which sd-bus escapes all but letters and digits ("_2f").
#pragma once

#include <optional>
#include <string>

namespace rdmaqos::bus {

[[nodiscard]] std::string device_path(const std::string& key);
// Empty: it is no device's.
[[nodiscard]] std::optional<std::string> device_of_path(const char* path);

}    // namespace rdmaqos::bus
