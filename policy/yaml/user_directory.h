#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "policy/model/client_keys.h"
#include "policy/model/name_service.h"

namespace rdmaqos::reader {

// Asks the name service once per name.
class UserDirectory {
public:
    explicit UserDirectory(const NameService& names) : names_(names) {}

    [[nodiscard]] std::optional<std::uint32_t> number_of(const AccountKind& kind, const std::string& name);

private:
    const NameService& names_;
    std::map<std::string_view, std::unordered_map<std::string, std::optional<std::uint32_t>>> known_;    // by noun
};

}    // namespace rdmaqos::reader
