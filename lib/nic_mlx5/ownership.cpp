#include "lib/nic_mlx5/ownership.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <vector>

#include <infiniband/verbs.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>
#include <sys/time.h>

namespace rdmaqos::mlx5 {
namespace {

using Bytes = std::span<const std::uint8_t>;

void append(std::vector<std::uint8_t>& message, std::uint16_t type, std::uint32_t value)
{
    nlattr header{};
    header.nla_type = type;
    header.nla_len = static_cast<std::uint16_t>(sizeof(header) + sizeof(value));
    const std::size_t at = message.size();
    message.resize(at + NLA_ALIGN(header.nla_len));
    std::memcpy(&message[at], &header, sizeof(header));
    std::memcpy(&message[at + sizeof(header)], &value, sizeof(value));
}

// The content of the first attribute of a type; empty if there is none.
Bytes content_of(Bytes attributes, std::uint16_t type)
{
    while (attributes.size() >= sizeof(nlattr)) {
        nlattr header{};
        std::memcpy(&header, attributes.data(), sizeof(header));
        if (header.nla_len < sizeof(header) || header.nla_len > attributes.size()) {
            return {};
        }
        if ((header.nla_type & NLA_TYPE_MASK) == type) {
            return attributes.subspan(sizeof(header), header.nla_len - sizeof(header));
        }
        attributes = attributes.subspan(std::min<std::size_t>(NLA_ALIGN(header.nla_len), attributes.size()));
    }
    return {};
}

std::optional<std::uint32_t> number_in(Bytes attributes, std::uint16_t type)
{
    const Bytes content = content_of(attributes, type);
    std::uint32_t value = 0;
    if (content.size() != sizeof(value)) {
        return std::nullopt;
    }
    std::memcpy(&value, content.data(), sizeof(value));
    return value;
}

std::optional<std::uint8_t> byte_in(Bytes attributes, std::uint16_t type)
{
    const Bytes content = content_of(attributes, type);
    return content.size() == 1 ? std::optional(content.front()) : std::nullopt;
}

std::optional<QueuePairType> type_of(std::optional<std::uint8_t> verbs_type)
{
    switch (verbs_type.value_or(0)) {
    case IBV_QPT_RC:
        return QueuePairType::Rc;
    case IBV_QPT_UC:
        return QueuePairType::Uc;
    case IBV_QPT_UD:
        return QueuePairType::Ud;
    case IBV_QPT_RAW_PACKET:
        return QueuePairType::RawPacket;
    default:
        return std::nullopt;
    }
}

std::optional<QueuePairState> state_of(std::optional<std::uint8_t> state)
{
    static_assert(static_cast<int>(QueuePairState::Error) == IBV_QPS_ERR);
    return state && *state <= IBV_QPS_ERR ? std::optional(static_cast<QueuePairState>(*state)) : std::nullopt;
}

std::string text_in(Bytes attributes, std::uint16_t type)
{
    const Bytes content = content_of(attributes, type);
    const std::string text(reinterpret_cast<const char*>(content.data()), content.size());
    return text.substr(0, text.find('\0'));
}

bool ask(int socket, std::uint16_t command, std::uint16_t flags, std::uint32_t sequence,
         const std::vector<std::uint8_t>& attributes)
{
    std::vector<std::uint8_t> message(NLMSG_HDRLEN);
    message.insert(message.end(), attributes.begin(), attributes.end());
    nlmsghdr header{};
    header.nlmsg_len = static_cast<std::uint32_t>(message.size());
    header.nlmsg_type = static_cast<std::uint16_t>(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command));
    header.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
    header.nlmsg_seq = sequence;
    std::memcpy(message.data(), &header, sizeof(header));
    return send(socket, message.data(), message.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(message.size());
}

// Calls `take(attributes)` for every answer to `sequence` until it says true, or an error or the end of a dump comes.
template <typename Take>
bool read_answers(int socket, std::uint32_t sequence, bool dump, Take take)
{
    alignas(nlmsghdr) std::array<std::uint8_t, 32768> buffer;
    while (true) {
        const ssize_t length = recv(socket, buffer.data(), buffer.size(), 0);
        if (length < 0 && errno == EINTR) {
            continue;
        }
        if (length <= 0) {
            return false;
        }
        Bytes rest(buffer.data(), static_cast<std::size_t>(length));
        while (rest.size() >= sizeof(nlmsghdr)) {
            nlmsghdr header{};
            std::memcpy(&header, rest.data(), sizeof(header));
            if (header.nlmsg_len < sizeof(header) || header.nlmsg_len > rest.size()) {
                return false;
            }
            if (header.nlmsg_seq == sequence) {
                if (header.nlmsg_type == NLMSG_ERROR || header.nlmsg_type == NLMSG_DONE) {
                    return false;
                }
                if (take(rest.subspan(NLMSG_HDRLEN, header.nlmsg_len - NLMSG_HDRLEN))) {
                    return true;
                }
                if (!dump) {
                    return false;
                }
            }
            rest = rest.subspan(std::min<std::size_t>(NLMSG_ALIGN(header.nlmsg_len), rest.size()));
        }
    }
}

}    // namespace

// A failure may pass: the next queue pair tries again.
bool QueuePairOwners::connect()
{
    if (socket_) {
        return true;
    }
    UniqueFd made(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA));
    // The kernel answers at once or not at all.
    const timeval patience{1, 0};
    if (!made || setsockopt(made.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) != 0 ||
        !ask(made.get(), RDMA_NLDEV_CMD_GET, NLM_F_DUMP, ++sequence_, {})) {
        return false;
    }
    const bool found = read_answers(made.get(), sequence_, true, [this](Bytes attributes) {
        const auto index = number_in(attributes, RDMA_NLDEV_ATTR_DEV_INDEX);
        if (!index || text_in(attributes, RDMA_NLDEV_ATTR_DEV_NAME) != device_) {
            return false;
        }
        index_ = *index;
        return true;
    });
    if (found) {
        // What is left of the dump has another sequence number and is passed over.
        socket_ = std::move(made);
    }
    return found;
}

std::optional<TrackedQueuePair> QueuePairOwners::find(std::uint32_t queue_pair)
{
    if (!connect()) {
        return std::nullopt;
    }
    std::vector<std::uint8_t> attributes;
    append(attributes, RDMA_NLDEV_ATTR_DEV_INDEX, index_);
    append(attributes, RDMA_NLDEV_ATTR_RES_LQPN, queue_pair);
    if (!ask(socket_.get(), RDMA_NLDEV_CMD_RES_QP_GET, 0, ++sequence_, attributes)) {
        socket_.reset();
        return std::nullopt;
    }
    std::optional<TrackedQueuePair> found;
    read_answers(socket_.get(), sequence_, false, [&](Bytes answer) {
        // The entry itself, or (as in a dump) in a table.
        const Bytes table = content_of(answer, RDMA_NLDEV_ATTR_RES_QP);
        const Bytes entry = table.empty() ? answer : content_of(table, RDMA_NLDEV_ATTR_RES_QP_ENTRY);
        if (number_in(entry, RDMA_NLDEV_ATTR_RES_LQPN) != queue_pair) {
            return false;
        }
        if (const auto pid = number_in(entry, RDMA_NLDEV_ATTR_RES_PID)) {
            found = {static_cast<pid_t>(*pid), type_of(byte_in(entry, RDMA_NLDEV_ATTR_RES_TYPE)),
                     state_of(byte_in(entry, RDMA_NLDEV_ATTR_RES_STATE))};
        }
        return true;
    });
    return found;
}

}    // namespace rdmaqos::mlx5
