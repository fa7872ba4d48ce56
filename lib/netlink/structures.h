// The kernel's structures in messages: headers of families, and attributes that are one. Pure.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <type_traits>
#include <vector>

#include "lib/netlink/message.h"

namespace rdmaqos::netlink {

template <typename Structure>
Bytes bytes_of(const Structure& structure)
{
    static_assert(std::is_trivially_copyable_v<Structure>);
    return {reinterpret_cast<const std::uint8_t*>(&structure), sizeof(structure)};
}

// Empty: there are fewer bytes. More are ignored: the structures of later kernels grow at their ends.
template <typename Structure>
std::optional<Structure> first_bytes_as(Bytes content)
{
    static_assert(std::is_trivially_copyable_v<Structure>);
    Structure value{};
    if (content.size() < sizeof(value)) {
        return std::nullopt;
    }
    std::memcpy(&value, content.data(), sizeof(value));
    return value;
}

template <typename Structure>
std::optional<Structure> structure_in(Bytes attributes, std::uint16_t type)
{
    return first_bytes_as<Structure>(content_of(attributes, type));
}

// What stands before the attributes; empty: there is less.
template <typename Header>
std::optional<Header> header_of(Bytes content)
{
    return content.size() < NLMSG_ALIGN(sizeof(Header)) ? std::nullopt : first_bytes_as<Header>(content);
}

// Of a content that has the header.
template <typename Header>
Bytes attributes_behind(Bytes content)
{
    return content.subspan(NLMSG_ALIGN(sizeof(Header)));
}

template <typename Header>
std::vector<std::uint8_t> request_with(const Header& header)
{
    std::vector<std::uint8_t> request(NLMSG_ALIGN(sizeof(header)));
    std::memcpy(request.data(), &header, sizeof(header));
    return request;
}

}    // namespace rdmaqos::netlink
