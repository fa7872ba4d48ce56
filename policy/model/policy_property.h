// What a part of a policy says, one property each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rdmaqos {

// "sl", "schedule share", "port-guid" and its value; "" where the part has none, and then it is as if it had `without`.
struct PolicyProperty {
    std::string_view key;
    std::string value;
    std::string_view without;
};
using PolicyProperties = std::vector<PolicyProperty>;

}    // namespace rdmaqos
