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

std::optional<std::uint32_t> find_u32(std::span<const std::uint8_t> attributes, std::uint16_t type)
{
    while (attributes.size() >= sizeof(nlattr)) {
        nlattr header{};
        std::memcpy(&header, attributes.data(), sizeof(header));
        if (header.nla_len < sizeof(header) || header.nla_len > attributes.size()) {
            return std::nullopt;
        }
        if ((header.nla_type & NLA_TYPE_MASK) == type && header.nla_len == sizeof(header) + 4) {
            std::uint32_t value = 0;
            std::memcpy(&value, attributes.data() + sizeof(header), sizeof(value));
            return value;
        }
        attributes = attributes.subspan(std::min<std::size_t>(NLA_ALIGN(header.nla_len), attributes.size()));
    }
    return std::nullopt;
}

std::uint16_t answer_type(std::uint16_t command)
{
    return static_cast<std::uint16_t>(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command));
}

}    // namespace rdmaqos::emulator
