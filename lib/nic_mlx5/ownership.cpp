#include "lib/nic_mlx5/ownership.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <infiniband/verbs.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

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
        return std::nullopt;    // one that cannot be placed
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

// Calls `take(attributes)` for every message of a datagram that answers `sequence`, until it says something else than More.
template <typename Take>
AnswerEnd read_datagram(Bytes rest, std::uint32_t sequence, Take take)
{
    while (rest.size() >= sizeof(nlmsghdr)) {
        nlmsghdr header{};
        std::memcpy(&header, rest.data(), sizeof(header));
        if (header.nlmsg_len < sizeof(header) || header.nlmsg_len > rest.size()) {
            return AnswerEnd::Nothing;
        }
        if (header.nlmsg_seq == sequence) {
            if (header.nlmsg_type == NLMSG_ERROR || header.nlmsg_type == NLMSG_DONE) {
                return AnswerEnd::Nothing;
            }
            if (const auto end = take(rest.subspan(NLMSG_HDRLEN, header.nlmsg_len - NLMSG_HDRLEN));
                end != AnswerEnd::More) {
                return end;
            }
        }
        rest = rest.subspan(std::min<std::size_t>(NLMSG_ALIGN(header.nlmsg_len), rest.size()));
    }
    return AnswerEnd::More;
}

// Gives every datagram to `find` until it has an end; what answers an earlier question is passed over.
template <typename Find>
auto read_answers(int socket, Find find_in) -> decltype(find_in(Bytes()))
{
    std::vector<std::uint8_t> buffer(32768);
    while (true) {
        const ssize_t length = recv(socket, buffer.data(), buffer.size(), 0);
        if (length < 0 && errno == EINTR) {
            continue;
        }
        if (length <= 0) {
            decltype(find_in(Bytes())) nothing;
            nothing.end = AnswerEnd::Nothing;
            return nothing;
        }
        if (const auto answer = find_in(Bytes(buffer.data(), static_cast<std::size_t>(length)));
            answer.end != AnswerEnd::More) {
            return answer;
        }
    }
}

}    // namespace

bool is_thread_of(pid_t thread, pid_t process)
{
    return thread == process ||
           access(fmt::format("/proc/{}/task/{}", process, thread).c_str(), F_OK) == 0;
}

DeviceAnswer find_device(Bytes datagram, std::uint32_t sequence, const std::string& device)
{
    DeviceAnswer answer;
    answer.end = read_datagram(datagram, sequence, [&](Bytes attributes) {
        const auto index = number_in(attributes, RDMA_NLDEV_ATTR_DEV_INDEX);
        if (!index || text_in(attributes, RDMA_NLDEV_ATTR_DEV_NAME) != device) {
            return AnswerEnd::More;
        }
        answer.index = *index;
        return AnswerEnd::Found;
    });
    return answer;
}

OwnerAnswer find_owner(Bytes datagram, std::uint32_t sequence, std::uint32_t queue_pair)
{
    OwnerAnswer answer;
    answer.end = read_datagram(datagram, sequence, [&](Bytes attributes) {
        // The entry itself, or (as in a dump) in a table.
        const Bytes table = content_of(attributes, RDMA_NLDEV_ATTR_RES_QP);
        const Bytes entry = table.empty() ? attributes : content_of(table, RDMA_NLDEV_ATTR_RES_QP_ENTRY);
        if (number_in(entry, RDMA_NLDEV_ATTR_RES_LQPN) != queue_pair) {
            return AnswerEnd::Nothing;
        }
        // 0: of a kernel's queue pair, of a thread that has ended, or of another pid namespace.
        if (const auto pid = number_in(entry, RDMA_NLDEV_ATTR_RES_PID); pid && *pid != 0) {
            answer.owner = static_cast<pid_t>(*pid);
        }
        answer.protection_domain = number_in(entry, RDMA_NLDEV_ATTR_RES_PDN);
        answer.type = type_of(byte_in(entry, RDMA_NLDEV_ATTR_RES_TYPE));
        answer.state = state_of(byte_in(entry, RDMA_NLDEV_ATTR_RES_STATE));
        return AnswerEnd::Found;
    });
    return answer;
}

SurroundingAnswer find_surrounding(Bytes datagram, std::uint32_t sequence, Surrounding which, std::uint32_t number)
{
    SurroundingAnswer answer;
    answer.end = read_datagram(datagram, sequence, [&](Bytes attributes) {
        const bool is_domain = which == Surrounding::ProtectionDomain;
        if (number_in(attributes, is_domain ? RDMA_NLDEV_ATTR_RES_PDN : RDMA_NLDEV_ATTR_RES_CTXN) != number) {
            return AnswerEnd::Nothing;
        }
        if (const auto pid = number_in(attributes, RDMA_NLDEV_ATTR_RES_PID); pid && *pid != 0) {
            answer.maker = static_cast<pid_t>(*pid);
        }
        answer.context = is_domain ? number_in(attributes, RDMA_NLDEV_ATTR_RES_CTXN) : std::nullopt;
        return AnswerEnd::Found;
    });
    return answer;
}

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
    const auto found =
        read_answers(made.get(), [&](Bytes datagram) { return find_device(datagram, sequence_, device_); });
    if (found.end != AnswerEnd::Found) {
        return false;
    }
    // What is left of the dump has another sequence number and is passed over.
    index_ = found.index;
    socket_ = std::move(made);
    return true;
}

OwnerAnswer QueuePairOwners::find(std::uint32_t port, std::uint32_t queue_pair)
{
    constexpr OwnerAnswer kNothing{AnswerEnd::Nothing, {}, {}, {}, {}};
    if (!connect()) {
        return kNothing;
    }
    std::vector<std::uint8_t> attributes;
    append(attributes, RDMA_NLDEV_ATTR_DEV_INDEX, index_);
    append(attributes, RDMA_NLDEV_ATTR_PORT_INDEX, port);
    append(attributes, RDMA_NLDEV_ATTR_RES_LQPN, queue_pair);
    if (!ask(socket_.get(), RDMA_NLDEV_CMD_RES_QP_GET, 0, ++sequence_, attributes)) {
        socket_.reset();
        return kNothing;
    }
    return read_answers(socket_.get(), [&](Bytes datagram) { return find_owner(datagram, sequence_, queue_pair); });
}

SurroundingAnswer QueuePairOwners::find(Surrounding which, std::uint32_t number)
{
    constexpr SurroundingAnswer kNothing{AnswerEnd::Nothing, {}, {}};
    if (!connect()) {
        return kNothing;
    }
    const bool is_domain = which == Surrounding::ProtectionDomain;
    std::vector<std::uint8_t> attributes;
    append(attributes, RDMA_NLDEV_ATTR_DEV_INDEX, index_);
    append(attributes, is_domain ? RDMA_NLDEV_ATTR_RES_PDN : RDMA_NLDEV_ATTR_RES_CTXN, number);
    if (!ask(socket_.get(), is_domain ? RDMA_NLDEV_CMD_RES_PD_GET : RDMA_NLDEV_CMD_RES_CTX_GET, 0, ++sequence_,
             attributes)) {
        socket_.reset();
        return kNothing;
    }
    return read_answers(socket_.get(),
                        [&](Bytes datagram) { return find_surrounding(datagram, sequence_, which, number); });
}

bool QueuePairOwners::is_in_reach_of(pid_t process, std::uint32_t protection_domain)
{
    const auto domain = find(Surrounding::ProtectionDomain, protection_domain);
    if (domain.maker || !domain.context) {
        return domain.maker && is_thread_of(*domain.maker, process);
    }
    const auto context = find(Surrounding::OpenFile, *domain.context);
    return context.maker && is_thread_of(*context.maker, process);
}

}    // namespace rdmaqos::mlx5
