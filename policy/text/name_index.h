#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace rdmaqos::reader {

// Names ignoring case -> index into a vector of the policy.
class NameIndex {
public:
    // The first of a name wins.
    void add(std::string_view name, std::size_t index);
    [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const;
    void clear() { index_.clear(); }

private:
    std::unordered_map<std::string, std::size_t> index_;
};

}    // namespace rdmaqos::reader
