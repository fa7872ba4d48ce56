#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "policy/model/name_service.h"

namespace rdmaqos::reader {

// Asks the name service once per name.
class UserDirectory {
public:
    explicit UserDirectory(const NameService& names) : names_(names) {}

    [[nodiscard]] std::optional<std::uint32_t> uid_of(const std::string& name);
    [[nodiscard]] std::optional<std::uint32_t> gid_of(const std::string& name);

private:
    const NameService& names_;
    std::unordered_map<std::string, std::optional<std::uint32_t>> uids_;
    std::unordered_map<std::string, std::optional<std::uint32_t>> gids_;
};

}    // namespace rdmaqos::reader
