// InfiniBand addresses: GUID, GID, LID and P_Key.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rdmaqos {

// A 64-bit EUI-64 of a node or port. Zero is not a valid GUID.
struct Guid {
    std::uint64_t value = 0;

    friend auto operator<=>(const Guid&, const Guid&) = default;
};

// "0x0010000000000001"
[[nodiscard]] std::string to_string(Guid guid);

// A 128-bit port address, network byte order. On InfiniBand: subnet prefix + port GUID; on RoCE: an IPv6 address
// or an IPv4-mapped one (::ffff:a.b.c.d).
struct Gid {
    std::array<std::uint8_t, 16> bytes{};

    [[nodiscard]] std::uint64_t subnet_prefix() const;
    // The lower half; on InfiniBand the GUID of the port.
    [[nodiscard]] Guid interface_id() const;

    friend auto operator<=>(const Gid&, const Gid&) = default;
};

[[nodiscard]] std::string to_string(const Gid& gid);
// IPv6 text, "::ffff:10.1.0.1", or plain IPv4 (mapped).
[[nodiscard]] std::optional<Gid> parse_gid(std::string_view text);

// The address of a port within its subnet, given by the subnet manager.
struct Lid {
    std::uint16_t value = 0;

    friend auto operator<=>(const Lid&, const Lid&) = default;
};

constexpr std::uint16_t kHighestLid = 0xBFFF;    // of a single port; higher ones are multicast
constexpr std::uint8_t kHighestLmc = 7;

[[nodiscard]] constexpr bool is_unicast(Lid lid)
{
    return lid.value != 0 && lid.value <= kHighestLid;
}

// "lid:17"; of a single port.
[[nodiscard]] std::string to_string(Lid lid);
[[nodiscard]] std::optional<Lid> parse_lid(std::string_view text);

// All LIDs of a port: 2^lmc from its base LID on, whose lowest `lmc` bits are zero. So of two ranges that overlap one
// contains the other.
struct LidRange {
    Lid base;
    std::uint8_t lmc = 0;

    [[nodiscard]] Lid last() const { return {static_cast<std::uint16_t>(base.value + (1U << lmc) - 1)}; }
    [[nodiscard]] bool is_aligned() const { return (base.value & ((1U << lmc) - 1)) == 0; }

    friend bool operator==(const LidRange&, const LidRange&) = default;
};

// "LID 17", "LIDs 16 to 19"
[[nodiscard]] std::string in_words(const LidRange& lids);

// A GID prefix as in "fd00:10::/32"; a GID without a slash is a /128. Behind plain IPv4 the length is IPv4's:
// "10.1.0.0/16" is "::ffff:10.1.0.0/112". Bits behind the prefix must be zero.
struct GidPrefix {
    Gid gid;
    std::uint8_t length = 128;    // 0..128

    [[nodiscard]] bool contains(const Gid& candidate) const;

    friend auto operator<=>(const GidPrefix&, const GidPrefix&) = default;
};

[[nodiscard]] std::string to_string(const GidPrefix& prefix);
[[nodiscard]] std::optional<GidPrefix> parse_gid_prefix(std::string_view text);

// Bit 15 is the membership (1 = full), bits 0..14 the partition. Comparisons of partitions ignore the membership.
constexpr std::uint16_t kPKeyMask = 0x7FFF;
constexpr std::uint16_t kPKeyFullMember = 0x8000;

[[nodiscard]] constexpr std::uint16_t partition_of(std::uint16_t pkey)
{
    return static_cast<std::uint16_t>(pkey & kPKeyMask);
}

enum class LinkLayer : std::uint8_t { InfiniBand, Ethernet };
[[nodiscard]] std::string_view to_string(LinkLayer layer);    // "InfiniBand"

}    // namespace rdmaqos
