#include "daemon/bus/object_paths.h"

#include <charconv>

#include <fmt/format.h>

#include "lib/bus/names.h"

namespace rdmaqos {
namespace {

namespace names = bus::names;

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

}    // namespace rdmaqos
