#include "tests/kernel/agreement/netlink_words.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>
#include <unistd.h>

namespace rdmaqos::test::agreement::netlink {
namespace {

void put(Bytes& message, std::uint16_t type, const void* data, std::size_t size)
{
    const nlattr header{static_cast<std::uint16_t>(sizeof(nlattr) + size), type};
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&header);
    message.insert(message.end(), bytes, bytes + sizeof(header));
    bytes = static_cast<const std::uint8_t*>(data);
    message.insert(message.end(), bytes, bytes + size);
    message.resize(NLMSG_ALIGN(message.size()));
}

std::string text_of(const std::pair<std::uint16_t, Bytes>& attribute, const Names& names)
{
    const auto& [type, bytes] = attribute;
    const std::uint32_t value = number_of(bytes);
    switch (type) {
    case RDMA_NLDEV_ATTR_DEV_INDEX:
        return "device";
    case RDMA_NLDEV_ATTR_DEV_NAME:
        return fmt::format("name={}", reinterpret_cast<const char*>(bytes.data()));
    case RDMA_NLDEV_ATTR_PORT_INDEX:
        return fmt::format("port={}", value);
    case RDMA_NLDEV_ATTR_RES_LQPN: {
        const auto found = names.find(value);
        return "qpn=" + (found == names.end() ? std::string("another") : found->second);
    }
    case RDMA_NLDEV_ATTR_RES_RQPN: {
        const auto found = names.find(value);
        return "remote=" + (found == names.end() ? std::to_string(value) : found->second);
    }
    case RDMA_NLDEV_ATTR_RES_TYPE:
        return fmt::format("type={}", value);
    case RDMA_NLDEV_ATTR_RES_STATE:
        return fmt::format("state={}", value);
    case RDMA_NLDEV_ATTR_RES_PID:
        return value == static_cast<std::uint32_t>(getpid()) ? "pid=main" : "pid=thread";
    case RDMA_NLDEV_ATTR_RES_KERN_NAME:
        return fmt::format("kernel={}", reinterpret_cast<const char*>(bytes.data()));
    case RDMA_NLDEV_ATTR_RES_RQ_PSN:
        return fmt::format("rq_psn={:#x}", value);
    case RDMA_NLDEV_ATTR_RES_SQ_PSN:
        return fmt::format("sq_psn={:#x}", value);
    case RDMA_NLDEV_ATTR_RES_PATH_MIG_STATE:
        return fmt::format("mig={}", value);
    case RDMA_NLDEV_ATTR_RES_PDN:
        return "pdn";
    case RDMA_NLDEV_ATTR_RES_CQN:
        return "cqn";
    case RDMA_NLDEV_ATTR_RES_CTXN:
        return "ctxn";
    case RDMA_NLDEV_ATTR_RES_LOCAL_DMA_LKEY:
        return "lkey";
    case RDMA_NLDEV_ATTR_RES_CQE:
        return fmt::format("cqe={}", value);
    case RDMA_NLDEV_ATTR_RES_USECNT:
        return fmt::format("users={}", value);
    default:
        return fmt::format("#{}[{}]", type, bytes.size());
    }
}

}    // namespace

Attributes parse(const Bytes& bytes, std::size_t from)
{
    Attributes all;
    while (from + sizeof(nlattr) <= bytes.size()) {
        nlattr header{};
        std::memcpy(&header, &bytes[from], sizeof(header));
        if (header.nla_len < sizeof(header) || from + header.nla_len > bytes.size()) {
            break;
        }
        all.emplace_back(header.nla_type & NLA_TYPE_MASK,
                         Bytes(bytes.begin() + static_cast<std::ptrdiff_t>(from + sizeof(header)),
                               bytes.begin() + static_cast<std::ptrdiff_t>(from + header.nla_len)));
        from += NLA_ALIGN(header.nla_len);
    }
    return all;
}

std::uint32_t number_of(const Bytes& bytes)
{
    std::uint32_t value = 0;
    std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof(value)));
    return value;
}

Reply ask(std::uint16_t command, std::uint16_t flags, const std::vector<std::pair<std::uint16_t, std::uint32_t>>& given)
{
    Bytes message(NLMSG_HDRLEN);
    for (const auto& [type, value] : given) {
        put(message, type, &value, sizeof(value));
    }
    nlmsghdr header{};
    header.nlmsg_len = static_cast<std::uint32_t>(message.size());
    header.nlmsg_type = static_cast<std::uint16_t>(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command));
    header.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
    header.nlmsg_seq = 7;
    std::memcpy(message.data(), &header, sizeof(header));
    Reply reply;
    const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);
    if (fd < 0 || send(fd, message.data(), message.size(), 0) < 0) {
        reply.error = errno;
        close(fd);
        return reply;
    }
    for (bool more = true; more;) {
        Bytes buffer(65536);
        const ssize_t length = recv(fd, buffer.data(), buffer.size(), 0);
        if (length <= 0) {
            break;
        }
        more = (flags & NLM_F_DUMP) == NLM_F_DUMP;
        for (std::size_t at = 0; at + sizeof(header) <= static_cast<std::size_t>(length);) {
            std::memcpy(&header, &buffer[at], sizeof(header));
            if (header.nlmsg_len < sizeof(header)) {
                break;
            }
            if (header.nlmsg_type == NLMSG_ERROR) {
                nlmsgerr body{};
                std::memcpy(&body, &buffer[at + NLMSG_HDRLEN], sizeof(body));
                reply.error = -body.error;
                more = false;
            } else if (header.nlmsg_type == NLMSG_DONE) {
                int status = 0;
                std::memcpy(&status, &buffer[at + NLMSG_HDRLEN], sizeof(status));
                reply.error = -status;
                more = false;
            } else {
                reply.messages.emplace_back(buffer.begin() + static_cast<std::ptrdiff_t>(at),
                                            buffer.begin() + static_cast<std::ptrdiff_t>(at + header.nlmsg_len));
            }
            at += NLMSG_ALIGN(header.nlmsg_len);
        }
    }
    close(fd);
    return reply;
}

Reply ask_queue_pair(std::uint32_t device, std::uint32_t number)
{
    return ask(
        RDMA_NLDEV_CMD_RES_QP_GET, 0,
        {{RDMA_NLDEV_ATTR_DEV_INDEX, device}, {RDMA_NLDEV_ATTR_PORT_INDEX, 1}, {RDMA_NLDEV_ATTR_RES_LQPN, number}});
}

std::string words_of(const Attributes& attributes, const Names& names)
{
    std::vector<std::string> words;
    for (const auto& each : attributes) {
        words.push_back(text_of(each, names));
    }
    std::sort(words.begin(), words.end());
    std::string text;
    for (const auto& word : words) {
        text += (text.empty() ? "" : " ") + word;
    }
    return text;
}

std::string one(const Reply& reply, const Names& names)
{
    if (reply.error != 0) {
        return spelled(reply.error);
    }
    return reply.messages.empty() ? "nothing" : words_of(parse(reply.messages.front(), NLMSG_HDRLEN), names);
}

std::vector<Attributes> entries_of(const Reply& reply, std::uint16_t table)
{
    std::vector<Attributes> entries;
    for (const auto& message : reply.messages) {
        for (const auto& [type, bytes] : parse(message, NLMSG_HDRLEN)) {
            if (type != table) {
                continue;
            }
            for (const auto& [entry, inner] : parse(bytes, 0)) {
                entries.push_back(parse(inner, 0));
            }
        }
    }
    return entries;
}

std::uint32_t device_index()
{
    for (const auto& message : ask(RDMA_NLDEV_CMD_GET, NLM_F_DUMP, {}).messages) {
        for (const auto& [type, bytes] : parse(message, NLMSG_HDRLEN)) {
            if (type == RDMA_NLDEV_ATTR_DEV_INDEX) {
                return number_of(bytes);
            }
        }
    }
    return 0;
}

}    // namespace rdmaqos::test::agreement::netlink
