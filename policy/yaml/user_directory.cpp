#include "policy/yaml/user_directory.h"

namespace rdmaqos::reader {

std::optional<std::uint32_t> UserDirectory::uid_of(const std::string& name)
{
    const auto [entry, inserted] = uids_.emplace(name, std::nullopt);
    if (inserted) {
        entry->second = names_.uid_of(name);
    }
    return entry->second;
}

std::optional<std::uint32_t> UserDirectory::gid_of(const std::string& name)
{
    const auto [entry, inserted] = gids_.emplace(name, std::nullopt);
    if (inserted) {
        entry->second = names_.gid_of(name);
    }
    return entry->second;
}

}    // namespace rdmaqos::reader
