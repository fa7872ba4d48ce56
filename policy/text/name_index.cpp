#include "policy/text/name_index.h"

#include "lib/base/text.h"

namespace rdmaqos::reader {

void NameIndex::add(std::string_view name, std::size_t index)
{
    index_.emplace(to_lower(name), index);
}

std::optional<std::size_t> NameIndex::find(std::string_view name) const
{
    const auto found = index_.find(to_lower(name));
    return found == index_.end() ? std::nullopt : std::optional(found->second);
}

}    // namespace rdmaqos::reader
