// FNV-1a, 64 bits: a stable short name for a text. Not for anything an attacker must not be able to collide.
#pragma once

#include <cstdint>
#include <string_view>

namespace rdmaqos {

constexpr std::uint64_t kFnvOffset = 0xCBF29CE484222325;

[[nodiscard]] constexpr std::uint64_t fnv1a(std::string_view text, std::uint64_t hash = kFnvOffset)
{
    constexpr std::uint64_t kPrime = 0x100000001B3;
    for (const char c : text) {
        hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
    }
    return hash;
}

}    // namespace rdmaqos
