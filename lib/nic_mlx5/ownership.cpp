#include "lib/nic_mlx5/ownership.h"

#include <vector>

#include <fmt/format.h>
#include <rdma/rdma_netlink.h>
#include <unistd.h>

#include "lib/rdma_netlink/queue_pairs.h"

namespace rdmaqos::mlx5 {

using namespace rdma_netlink;

bool is_thread_of(pid_t thread, pid_t process)
{
    return thread == process || access(fmt::format("/proc/{}/task/{}", process, thread).c_str(), F_OK) == 0;
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
        const auto found = read_queue_pair(entry);
        if (!found || found->number != queue_pair) {
            return AnswerEnd::Nothing;
        }
        answer.owner = found->thread;
        answer.protection_domain = found->domain;
        answer.type = attachable_type(found->type);
        answer.state = found->state;
        return AnswerEnd::Found;
    });
    return answer;
}

SurroundingAnswer find_surrounding(Bytes datagram, std::uint32_t sequence, Surrounding which, std::uint32_t number)
{
    SurroundingAnswer answer;
    answer.end = read_datagram(datagram, sequence, [&](Bytes attributes) {
        const auto found = read_holder(attributes, which == Surrounding::ProtectionDomain ? HolderKind::Domain
                                                                                          : HolderKind::Context);
        if (!found || found->number != number) {
            return AnswerEnd::Nothing;
        }
        answer.maker = found->thread;
        answer.context = found->context;
        return AnswerEnd::Found;
    });
    return answer;
}

// A failure may pass: the next queue pair tries again.
bool QueuePairOwners::connect()
{
    if (kernel_.is_open()) {
        return true;
    }
    if (kernel_.open() != 0) {
        return false;
    }
    if (index_) {
        return true;
    }
    if (kernel_.ask(RDMA_NLDEV_CMD_GET, NLM_F_DUMP, {}) != 0) {
        kernel_.close();
        return false;
    }
    const auto found = kernel_.read([&](Bytes datagram) { return find_device(datagram, kernel_.sequence(), device_); });
    if (found.end != AnswerEnd::Found) {
        kernel_.close();
        return false;
    }
    // What is left of the dump has another sequence number and is passed over.
    index_ = found.index;
    return true;
}

OwnerAnswer QueuePairOwners::find(std::uint32_t port, std::uint32_t queue_pair)
{
    constexpr OwnerAnswer kNothing{AnswerEnd::Nothing, {}, {}, {}, {}};
    if (!connect()) {
        return kNothing;
    }
    std::vector<std::uint8_t> attributes;
    append(attributes, RDMA_NLDEV_ATTR_DEV_INDEX, *index_);
    append(attributes, RDMA_NLDEV_ATTR_PORT_INDEX, port);
    append(attributes, RDMA_NLDEV_ATTR_RES_LQPN, queue_pair);
    if (kernel_.ask(RDMA_NLDEV_CMD_RES_QP_GET, 0, attributes) != 0) {
        kernel_.close();
        return kNothing;
    }
    return kernel_.read([&](Bytes datagram) { return find_owner(datagram, kernel_.sequence(), queue_pair); });
}

SurroundingAnswer QueuePairOwners::find(Surrounding which, std::uint32_t number)
{
    constexpr SurroundingAnswer kNothing{AnswerEnd::Nothing, {}, {}};
    if (!connect()) {
        return kNothing;
    }
    const bool is_domain = which == Surrounding::ProtectionDomain;
    std::vector<std::uint8_t> attributes;
    append(attributes, RDMA_NLDEV_ATTR_DEV_INDEX, *index_);
    append(attributes, is_domain ? RDMA_NLDEV_ATTR_RES_PDN : RDMA_NLDEV_ATTR_RES_CTXN, number);
    if (kernel_.ask(is_domain ? RDMA_NLDEV_CMD_RES_PD_GET : RDMA_NLDEV_CMD_RES_CTX_GET, 0, attributes) != 0) {
        kernel_.close();
        return kNothing;
    }
    return kernel_.read([&](Bytes datagram) { return find_surrounding(datagram, kernel_.sequence(), which, number); });
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
