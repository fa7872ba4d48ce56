#include "policy/match/gid_range.h"

#include <cstdint>
#include <limits>

namespace rdmaqos {
namespace {

// All ones behind the first `length` bits of a 64-bit half.
constexpr std::uint64_t host_bits(unsigned length)
{
    return length >= 64 ? 0 : std::numeric_limits<std::uint64_t>::max() >> length;
}

}    // namespace

Key128 key_of(const Gid& gid)
{
    return {gid.subnet_prefix(), gid.interface_id().value};
}

Gid gid_of(const Key128& key)
{
    Gid gid;
    for (unsigned i = 0; i < 8; ++i) {
        gid.bytes.at(i) = static_cast<std::uint8_t>(key.high >> (56 - 8 * i));
        gid.bytes.at(8 + i) = static_cast<std::uint8_t>(key.low >> (56 - 8 * i));
    }
    return gid;
}

GidRange range_of(const GidPrefix& prefix)
{
    const Key128 key = key_of(prefix.gid);
    const std::uint64_t high = host_bits(prefix.length);
    const std::uint64_t low = prefix.length <= 64 ? host_bits(0) : host_bits(prefix.length - 64U);
    return {{key.high & ~high, key.low & ~low}, {key.high | high, key.low | low}};
}

}    // namespace rdmaqos
