#include "daemon/bus/object_paths.h"

#include <charconv>
#include <cstdlib>
#include <memory>
#include <new>

#include <fmt/format.h>
#include <systemd/sd-bus.h>

#include "lib/bus/names.h"

namespace rdmaqos {
namespace {

namespace names = bus::names;

struct Free {
    void operator()(char* text) const noexcept { std::free(text); }    // NOLINT(*-no-malloc): sd-bus allocates so
};

}    // namespace

std::string session_path(SessionId id)
{
    return fmt::format("{}/{}", names::kSessions, static_cast<std::uint64_t>(id));
}

std::optional<SessionId> session_of_path(std::string_view path)
{
    const std::string_view prefix = names::kSessions;
    if (!path.starts_with(prefix) || path.size() < prefix.size() + 2 || path[prefix.size()] != '/') {
        return std::nullopt;
    }
    path.remove_prefix(prefix.size() + 1);
    std::uint64_t id = 0;
    const auto [end, error] = std::from_chars(path.data(), path.data() + path.size(), id);
    if (error != std::errc() || end != path.data() + path.size() || path.front() == '0') {
        return std::nullopt;
    }
    return SessionId{id};
}

std::string device_path(const std::string& key)
{
    char* raw = nullptr;
    if (sd_bus_path_encode(names::kDevices, key.c_str(), &raw) < 0) {
        throw std::bad_alloc();
    }
    const std::unique_ptr<char, Free> path(raw);
    return path.get();
}

std::optional<std::string> device_of_path(const char* path)
{
    char* raw = nullptr;
    if (sd_bus_path_decode(path, names::kDevices, &raw) <= 0) {
        return std::nullopt;
    }
    const std::unique_ptr<char, Free> key(raw);
    return std::string(key.get());
}

}    // namespace rdmaqos
