// The order of OpenSM's tables of nodes and partitions, which decides where two of them fit: sorted by their
// big-endian key as a little-endian host reads it.
#pragma once

#include <cstddef>

namespace rdmaqos {

// The place of an unsigned key in that order.
template <typename T>
[[nodiscard]] constexpr T opensm_order(T key)
{
    T result = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) {
        result = static_cast<T>(static_cast<T>(result << 8U) | static_cast<T>(key & 0xFFU));
        key = static_cast<T>(key >> 8U);
    }
    return result;
}

}    // namespace rdmaqos
