#include "policy/yaml/user_directory.h"

namespace rdmaqos::reader {

std::optional<std::uint32_t> UserDirectory::number_of(const AccountKind& kind, const std::string& name)
{
    const auto [entry, inserted] = known_[kind.noun].emplace(name, std::nullopt);
    if (inserted) {
        entry->second = (names_.*kind.look_up)(name);
    }
    return entry->second;
}

}    // namespace rdmaqos::reader
