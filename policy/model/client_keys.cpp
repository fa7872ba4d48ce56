#include "policy/model/client_keys.h"

#include <fmt/format.h>

namespace rdmaqos {

std::string permitting_keys(std::string_view quote)
{
    std::vector<std::string> keys;
    for (const ClientKey& key : kClientKeys) {
        if (key.gives_permission()) {
            keys.push_back(fmt::format("{0}{1}{0}", quote, key.name()));
        }
    }
    const std::string last = std::move(keys.back());
    keys.pop_back();
    return fmt::format("{} or {}", fmt::join(keys, ", "), last);
}

}    // namespace rdmaqos
