#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace rdmaqos {

// Looks up a user or group by name. The default asks the host; tests bring their own.
struct NameService {
    std::function<std::optional<std::uint32_t>(const std::string&)> uid_of;
    std::function<std::optional<std::uint32_t>(const std::string&)> gid_of;

    static NameService host();
};

}    // namespace rdmaqos
