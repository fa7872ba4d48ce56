#include "policy/model/name_service.h"

#include <cerrno>
#include <vector>

#include <grp.h>
#include <pwd.h>

namespace rdmaqos {
namespace {

// Calls a get*nam_r with a buffer that grows as it asks for.
template <typename Entry, typename Call>
std::optional<Entry> look_up(Call call, std::vector<char>& buffer)
{
    constexpr std::size_t kFirst = 4096;
    constexpr std::size_t kMost = 16U * 1024 * 1024;
    for (std::size_t size = kFirst; size <= kMost; size *= 2) {
        buffer.resize(size);
        Entry entry{};
        Entry* found = nullptr;
        const int error = call(&entry, buffer.data(), buffer.size(), &found);
        if (error != ERANGE) {
            return found != nullptr ? std::optional(entry) : std::nullopt;
        }
    }
    return std::nullopt;
}

}    // namespace

NameService NameService::host()
{
    NameService service;
    service.uid_of = [](const std::string& name) -> std::optional<std::uint32_t> {
        std::vector<char> buffer;
        const auto entry = look_up<passwd>(
            [&](passwd* into, char* space, std::size_t size, passwd** found) {
                return getpwnam_r(name.c_str(), into, space, size, found);
            },
            buffer);
        return entry ? std::optional(entry->pw_uid) : std::nullopt;
    };
    service.gid_of = [](const std::string& name) -> std::optional<std::uint32_t> {
        std::vector<char> buffer;
        const auto entry = look_up<group>(
            [&](group* into, char* space, std::size_t size, group** found) {
                return getgrnam_r(name.c_str(), into, space, size, found);
            },
            buffer);
        return entry ? std::optional(entry->gr_gid) : std::nullopt;
    };
    return service;
}

}    // namespace rdmaqos
