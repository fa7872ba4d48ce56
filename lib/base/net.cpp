#include "lib/base/net.h"

#include <charconv>

#include <arpa/inet.h>
#include <fmt/format.h>

namespace rdmaqos {
namespace {

std::uint64_t load_be64(const std::uint8_t* bytes)
{
    std::uint64_t value = 0;
    for (int i = 0; i < 8; ++i) {
        value = value << 8U | bytes[i];
    }
    return value;
}

bool bit_differs(const Gid& a, const Gid& b, unsigned bit)
{
    const auto mask = static_cast<std::uint8_t>(0x80U >> (bit % 8));
    return ((a.bytes.at(bit / 8) ^ b.bytes.at(bit / 8)) & mask) != 0;
}

constexpr std::size_t kMappedPrefix = 12;    // bytes of ::ffff:0:0/96

constexpr std::string_view kLidPrefix = "lid:";

// inet_pton() sees a text only up to its first NUL.
bool fits_c_string(std::string_view text)
{
    return text.size() < INET6_ADDRSTRLEN && text.find('\0') == std::string_view::npos;
}

std::optional<Gid> parse_ipv4(std::string_view text)
{
    Gid gid;
    if (!fits_c_string(text) || inet_pton(AF_INET, std::string(text).c_str(), gid.bytes.data() + kMappedPrefix) != 1) {
        return std::nullopt;
    }
    gid.bytes[10] = gid.bytes[11] = 0xFF;
    return gid;
}

std::optional<Gid> parse_ipv6(std::string_view text)
{
    Gid gid;
    if (!fits_c_string(text) || inet_pton(AF_INET6, std::string(text).c_str(), gid.bytes.data()) != 1) {
        return std::nullopt;
    }
    return gid;
}

}    // namespace

std::string to_string(Guid guid)
{
    return fmt::format("0x{:016x}", guid.value);
}

std::uint64_t Gid::subnet_prefix() const
{
    return load_be64(bytes.data());
}

Guid Gid::interface_id() const
{
    return Guid{load_be64(bytes.data() + 8)};
}

std::string to_string(const Gid& gid)
{
    std::array<char, INET6_ADDRSTRLEN> text{};
    inet_ntop(AF_INET6, gid.bytes.data(), text.data(), text.size());
    return text.data();
}

std::optional<Gid> parse_gid(std::string_view text)
{
    const auto gid = parse_ipv6(text);
    return gid ? gid : parse_ipv4(text);
}

bool GidPrefix::contains(const Gid& candidate) const
{
    for (unsigned bit = 0; bit < length; ++bit) {
        if (bit_differs(gid, candidate, bit)) {
            return false;
        }
    }
    return true;
}

std::string to_string(const GidPrefix& prefix)
{
    return fmt::format("{}/{}", to_string(prefix.gid), prefix.length);
}

std::string to_string(Lid lid)
{
    return fmt::format("{}{}", kLidPrefix, lid.value);
}

std::optional<Lid> parse_lid(std::string_view text)
{
    if (!text.starts_with(kLidPrefix)) {
        return std::nullopt;
    }
    text.remove_prefix(kLidPrefix.size());
    Lid lid;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), lid.value);
    const bool is_number = error == std::errc() && end == text.data() + text.size();
    return is_number && is_unicast(lid) ? std::optional(lid) : std::nullopt;
}

std::string in_words(const LidRange& lids)
{
    return lids.lmc == 0 ? fmt::format("LID {}", lids.base.value)
                         : fmt::format("LIDs {} to {}", lids.base.value, lids.last().value);
}

std::optional<GidPrefix> parse_gid_prefix(std::string_view text)
{
    const auto slash = text.find('/');
    const auto address = text.substr(0, slash);
    const auto gid = parse_gid(address);
    if (!gid) {
        return std::nullopt;
    }
    GidPrefix prefix{*gid, 128};
    if (slash != std::string_view::npos) {
        const auto digits = text.substr(slash + 1);
        const unsigned before = parse_ipv4(address) ? kMappedPrefix * 8 : 0;
        unsigned length = 0;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), length);
        if (error != std::errc{} || end != digits.data() + digits.size() || length > 128 - before) {
            return std::nullopt;
        }
        prefix.length = static_cast<std::uint8_t>(before + length);
    }
    for (unsigned bit = prefix.length; bit < 128; ++bit) {
        if (bit_differs(prefix.gid, Gid{}, bit)) {
            return std::nullopt;
        }
    }
    return prefix;
}

std::string_view to_string(LinkLayer layer)
{
    return layer == LinkLayer::InfiniBand ? "InfiniBand" : "Ethernet";
}

}    // namespace rdmaqos
