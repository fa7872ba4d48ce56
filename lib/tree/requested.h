// What a policy asks for an element, for those who show it beside the weight that came of it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "lib/base/units.h"
#include "lib/tree/element.h"

namespace rdmaqos {

struct RequestedRate {
    std::optional<std::uint32_t> share;    // empty: a minimum rate, or the device's default
    std::optional<Bandwidth> min_rate;

    friend bool operator==(const RequestedRate&, const RequestedRate&) = default;
};

// Of the nodes, classes and responders that the policy names.
using RequestedRates = std::map<ElementPath, RequestedRate>;

// Empty where nothing is known.
[[nodiscard]] inline RequestedRate requested_of(const RequestedRates& requested, const ElementPath& path)
{
    const auto found = requested.find(path);
    return found == requested.end() ? RequestedRate{} : found->second;
}

}    // namespace rdmaqos
