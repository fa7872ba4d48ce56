#include "lib/rdma_netlink/queue_pairs.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <rdma/rdma_netlink.h>

#include "lib/rdma_netlink/questions.h"

namespace rdmaqos::rdma_netlink {
namespace {

// The kernel's enum ib_qp_type, which no header for programs has: "qpt" of `rdma resource show qp`.
struct TypeName {
    std::uint8_t type;
    std::string_view name;
};
constexpr std::array kTypes{
    TypeName{0, "smi"},
    TypeName{1, "gsi"},
    TypeName{2, "rc"},
    TypeName{3, "uc"},
    TypeName{4, "ud"},
    TypeName{5, "raw-ipv6"},
    TypeName{6, "raw-ethertype"},
    TypeName{8, "raw-packet"},
    TypeName{9, "xrc-ini"},
    TypeName{10, "xrc-tgt"},
    TypeName{0xff, "driver"},
};

// The kernel counts the states as QueuePairState does.
std::optional<QueuePairState> state_of(std::optional<std::uint8_t> state)
{
    return state && *state <= static_cast<std::uint8_t>(QueuePairState::Error)
               ? std::optional(static_cast<QueuePairState>(*state))
               : std::nullopt;
}

// 0: a thread in another pid namespace.
std::optional<pid_t> thread_in(Bytes entry)
{
    const auto pid = number_in(entry, RDMA_NLDEV_ATTR_RES_PID);
    return pid.value_or(0) == 0 ? std::nullopt : std::optional(static_cast<pid_t>(*pid));
}

}    // namespace

std::vector<std::uint8_t> attributes_of(const TrackedDevice& device)
{
    std::vector<std::uint8_t> attributes;
    append(attributes, RDMA_NLDEV_ATTR_DEV_INDEX, device.index);
    return attributes;
}

std::string name_of_type(std::uint8_t type)
{
    const auto found = std::ranges::find(kTypes, type, &TypeName::type);
    return found == kTypes.end() ? fmt::format("type {}", type) : std::string(found->name);
}

std::optional<QueuePairType> attachable_type(std::uint8_t type)
{
    return parse_queue_pair_type(name_of_type(type));
}

std::optional<TrackedQueuePair> read_queue_pair(Bytes entry)
{
    const auto number = number_in(entry, RDMA_NLDEV_ATTR_RES_LQPN);
    if (!number) {
        return std::nullopt;
    }
    TrackedQueuePair queue_pair;
    queue_pair.number = *number;
    queue_pair.port = number_in(entry, RDMA_NLDEV_ATTR_PORT_INDEX).value_or(0);
    queue_pair.type = byte_in(entry, RDMA_NLDEV_ATTR_RES_TYPE).value_or(0xff);
    queue_pair.state = state_of(byte_in(entry, RDMA_NLDEV_ATTR_RES_STATE));
    // 0: it is not connected yet.
    const std::uint32_t remote = number_in(entry, RDMA_NLDEV_ATTR_RES_RQPN).value_or(0);
    queue_pair.remote = remote == 0 ? std::nullopt : std::optional(remote);
    queue_pair.domain = number_in(entry, RDMA_NLDEV_ATTR_RES_PDN);
    queue_pair.thread = thread_in(entry);
    queue_pair.kernel_name = text_in(entry, RDMA_NLDEV_ATTR_RES_KERN_NAME);
    return queue_pair;
}

std::optional<Holder> read_holder(Bytes entry, HolderKind kind)
{
    const bool is_domain = kind == HolderKind::Domain;
    const auto context = number_in(entry, RDMA_NLDEV_ATTR_RES_CTXN);
    const auto number = is_domain ? number_in(entry, RDMA_NLDEV_ATTR_RES_PDN) : context;
    return number ? std::optional(Holder{*number, is_domain ? context : std::nullopt, thread_in(entry)}) : std::nullopt;
}

AnswerEnd read_devices(Bytes datagram, std::uint32_t sequence, std::vector<TrackedDevice>& devices, int& failed)
{
    return read_datagram(
        datagram, sequence,
        [&](Bytes attributes) {
            const auto index = number_in(attributes, RDMA_NLDEV_ATTR_DEV_INDEX);
            std::string name = text_in(attributes, RDMA_NLDEV_ATTR_DEV_NAME);
            if (index && !name.empty()) {
                devices.push_back({*index, std::move(name)});
            }
            return AnswerEnd::More;
        },
        &failed);
}

AnswerEnd read_queue_pairs(Bytes datagram, std::uint32_t sequence, std::vector<TrackedQueuePair>& queue_pairs,
                           int& failed)
{
    return read_datagram(
        datagram, sequence,
        [&](Bytes attributes) {
            for_each_entry(attributes, RDMA_NLDEV_ATTR_RES_QP, [&](Bytes entry) {
                if (auto queue_pair = read_queue_pair(entry)) {
                    queue_pairs.push_back(std::move(*queue_pair));
                }
            });
            return AnswerEnd::More;
        },
        &failed);
}

AnswerEnd read_holders(Bytes datagram, std::uint32_t sequence, HolderKind kind, std::vector<Holder>& holders,
                       int& failed)
{
    const bool is_domain = kind == HolderKind::Domain;
    return read_datagram(
        datagram, sequence,
        [&](Bytes attributes) {
            for_each_entry(attributes, is_domain ? RDMA_NLDEV_ATTR_RES_PD : RDMA_NLDEV_ATTR_RES_CTX, [&](Bytes entry) {
                if (const auto holder = read_holder(entry, kind)) {
                    holders.push_back(*holder);
                }
            });
            return AnswerEnd::More;
        },
        &failed);
}

std::optional<TrackedQueuePair> read_sole_queue_pair(Bytes attributes)
{
    const Bytes table = content_of(attributes, RDMA_NLDEV_ATTR_RES_QP);
    return read_queue_pair(table.empty() ? attributes : content_of(table, RDMA_NLDEV_ATTR_RES_QP_ENTRY));
}

Result<std::vector<TrackedDevice>> list_devices(Connection& kernel)
{
    return ask_for_dump<TrackedDevice>(kernel, RDMA_NLDEV_CMD_GET, {}, read_devices, "RDMA devices");
}

std::optional<bool> read_exclusive(Bytes attributes)
{
    const auto shared = byte_in(attributes, RDMA_NLDEV_SYS_ATTR_NETNS_MODE);
    return shared ? std::optional(*shared == 0) : std::nullopt;
}

std::optional<bool> namespaces_are_exclusive(Connection& kernel)
{
    int failed = 0;
    return ask_for_one(kernel, RDMA_NLDEV_CMD_SYS_GET, {}, read_exclusive, failed);
}

Result<std::vector<TrackedQueuePair>> list_queue_pairs(Connection& kernel, const TrackedDevice& device)
{
    return ask_for_dump<TrackedQueuePair>(kernel, RDMA_NLDEV_CMD_RES_QP_GET, attributes_of(device), read_queue_pairs,
                                          fmt::format("queue pairs of {}", device.name));
}

std::optional<ResourceCounts> read_counts(Bytes attributes)
{
    ResourceCounts counts;
    bool any = false;
    const Bytes summary = content_of(attributes, RDMA_NLDEV_ATTR_RES_SUMMARY);
    for (auto next = first_of(summary); next; next = first_of(next->rest)) {
        const std::string name = text_in(next->content, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME);
        const auto count = wide_number_in(next->content, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR);
        if (count && name == "qp") {
            counts.queue_pairs = *count;
            any = true;
        } else if (count && name == "ctx") {
            counts.contexts = *count;
        }
    }
    return any ? std::optional(counts) : std::nullopt;
}

Result<ResourceCounts> count_resources(Connection& kernel, const TrackedDevice& device)
{
    int failed = 0;
    if (const auto counts = ask_for_one(kernel, RDMA_NLDEV_CMD_RES_GET, attributes_of(device), read_counts, failed)) {
        return *counts;
    }
    return fail(
        Error{ErrorCode::Io, failed, fmt::format("the kernel does not count the queue pairs of {}", device.name)});
}

std::optional<TrackedQueuePair> ask_for_queue_pair(Connection& kernel, const TrackedDevice& device, std::uint32_t port,
                                                   std::uint32_t number)
{
    auto attributes = attributes_of(device);
    append(attributes, RDMA_NLDEV_ATTR_PORT_INDEX, port);
    append(attributes, RDMA_NLDEV_ATTR_RES_LQPN, number);
    int failed = 0;
    auto answer = ask_for_one(kernel, RDMA_NLDEV_CMD_RES_QP_GET, attributes, read_sole_queue_pair, failed);
    return answer && answer->number == number ? answer : std::nullopt;
}

Result<std::vector<Holder>> list_holders(Connection& kernel, const TrackedDevice& device, HolderKind kind)
{
    const bool is_domain = kind == HolderKind::Domain;
    return ask_for_dump<Holder>(
        kernel, is_domain ? RDMA_NLDEV_CMD_RES_PD_GET : RDMA_NLDEV_CMD_RES_CTX_GET, attributes_of(device),
        [kind](Bytes datagram, std::uint32_t sequence, std::vector<Holder>& holders, int& failed) {
            return read_holders(datagram, sequence, kind, holders, failed);
        },
        fmt::format("{} of {}", is_domain ? "protection domains" : "open files", device.name));
}

}    // namespace rdmaqos::rdma_netlink
