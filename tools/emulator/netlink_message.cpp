#include "tools/emulator/netlink_message.h"

#include <algorithm>

#include <rdma/rdma_netlink.h>

namespace rdmaqos::emulator {

NetlinkDatagram error_answer(const Request& request, int error)
{
    Writer writer(NLMSG_ERROR, 0, request);
    nlmsgerr body{};
    body.error = -error;
    body.msg = static_cast<const nlmsghdr&>(request);
    writer.append(&body, sizeof(body));
    return writer.finish();
}

NetlinkDatagram done(const Request& request)
{
    Writer writer(NLMSG_DONE, NLM_F_MULTI, request);
    const int status = 0;
    writer.append(&status, sizeof(status));
    return writer.finish();
}

namespace {

// Calls `take(type with flags, content)` for each attribute until it returns false, or one is cut off.
template <typename Take>
void for_each_attribute(std::span<const std::uint8_t> attributes, Take take)
{
    while (attributes.size() >= sizeof(nlattr)) {
        nlattr header{};
        std::memcpy(&header, attributes.data(), sizeof(header));
        if (header.nla_len < sizeof(header) || header.nla_len > attributes.size() ||
            !take(header.nla_type, attributes.subspan(sizeof(header), header.nla_len - sizeof(header)))) {
            return;
        }
        attributes = attributes.subspan(std::min<std::size_t>(NLA_ALIGN(header.nla_len), attributes.size()));
    }
}

std::optional<std::uint32_t> u32_of(std::span<const std::uint8_t> content)
{
    std::uint32_t value = 0;
    if (content.size() != sizeof(value)) {
        return std::nullopt;
    }
    std::memcpy(&value, content.data(), sizeof(value));
    return value;
}

}    // namespace

std::optional<std::uint32_t> find_u32(std::span<const std::uint8_t> attributes, std::uint16_t type)
{
    std::optional<std::uint32_t> found;
    for_each_attribute(attributes, [&](std::uint16_t of, std::span<const std::uint8_t> content) {
        found = (of & NLA_TYPE_MASK) == type ? u32_of(content) : std::nullopt;
        return !found;
    });
    return found;
}

std::optional<std::vector<std::uint32_t>> find_numbers(std::span<const std::uint8_t> attributes, std::uint16_t type)
{
    std::optional<std::vector<std::uint32_t>> found;
    for_each_attribute(attributes, [&](std::uint16_t of, std::span<const std::uint8_t> content) {
        if (of != (type | NLA_F_NESTED)) {
            return true;
        }
        found.emplace();
        for_each_attribute(content, [&](std::uint16_t, std::span<const std::uint8_t> entry) {
            if (const auto number = u32_of(entry)) {
                found->push_back(*number);
            }
            return true;
        });
        return false;
    });
    return found;
}

std::uint16_t answer_type(std::uint16_t command)
{
    return static_cast<std::uint16_t>(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command));
}

}    // namespace rdmaqos::emulator
