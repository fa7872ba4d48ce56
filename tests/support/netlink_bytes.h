// Messages of netlink, made by hand.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <linux/netlink.h>

namespace rdmaqos::test::netlink {

using Bytes = std::vector<std::uint8_t>;

inline Bytes operator+(Bytes a, const Bytes& b)
{
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

template <typename Structure>
Bytes bytes_of(const Structure& structure)
{
    Bytes bytes(sizeof(structure));
    std::memcpy(bytes.data(), &structure, sizeof(structure));
    return bytes;
}

inline Bytes attribute(std::uint16_t type, const Bytes& content)
{
    const nlattr header{static_cast<std::uint16_t>(sizeof(nlattr) + content.size()), type};
    Bytes bytes = bytes_of(header) + content;
    bytes.resize(NLA_ALIGN(bytes.size()));
    return bytes;
}

inline Bytes number(std::uint16_t type, std::uint32_t value)
{
    return attribute(type, bytes_of(value));
}

inline Bytes text(std::uint16_t type, const std::string& value)
{
    return attribute(type, Bytes(value.c_str(), value.c_str() + value.size() + 1));
}

inline Bytes message(const Bytes& attributes, std::uint32_t sequence, std::uint16_t type = 0x1401)
{
    nlmsghdr header{};
    header.nlmsg_len = static_cast<std::uint32_t>(sizeof(header) + attributes.size());
    header.nlmsg_type = type;
    header.nlmsg_seq = sequence;
    return bytes_of(header) + attributes;
}

// The end of a dump: 0, or a negative errno.
inline Bytes end_of_dump(std::uint32_t sequence, std::int32_t error = 0)
{
    return message(bytes_of(error), sequence, NLMSG_DONE);
}

}    // namespace rdmaqos::test::netlink
