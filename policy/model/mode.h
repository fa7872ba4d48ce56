// Whether something is written to the NIC: of a host (settings), or of one level (policy).
#pragma once

#include <cstdint>
#include <string_view>

namespace rdmaqos {

enum class Mode : std::uint8_t { Enforce, Monitor };

[[nodiscard]] constexpr std::string_view to_string(Mode mode)
{
    return mode == Mode::Monitor ? "monitor" : "enforce";
}

}    // namespace rdmaqos
