// Inside plan(): which children of the root can have a class of their own, by what tells their packets apart. Not for
// users of this folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/port_classes/plan.h"

namespace rdmaqos::port_classes {

// Children that are in one traffic class.
struct Group {
    std::vector<std::size_t> children;    // indexes into Requests::children, ascending
    std::vector<std::uint8_t> dscps;      // ascending, without 0
    bool is_strict = false;               // all of them are
    bool is_overflow = false;             // they are together because the port has no more classes

    [[nodiscard]] bool has(std::uint8_t dscp) const;
    friend bool operator==(const Group&, const Group&) = default;
};

// Children whose levels share a DSCP are in one group; those without any are in none. At most `most` groups: the last
// children are together then, those without a guarantee and a cap first, and of them those with the smallest shares.
[[nodiscard]] std::vector<Group> groups_of(const Requests& requests, std::size_t most);

// "/a", "/a and /b", "/a, /b and /c"
[[nodiscard]] std::string in_words(const Requests& requests, const std::vector<std::size_t>& children,
                                   std::size_t but = ~std::size_t{0});

}    // namespace rdmaqos::port_classes
