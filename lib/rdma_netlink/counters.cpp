#include "lib/rdma_netlink/counters.h"

#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <rdma/rdma_netlink.h>

#include "lib/rdma_netlink/questions.h"

namespace rdmaqos::rdma_netlink {
namespace {

using Value = std::optional<std::uint64_t> QueuePairCounter::*;
constexpr std::array<std::pair<std::string_view, Value>, 4> kValues{{
    {"rdma_tx_bytes", &QueuePairCounter::sent_bytes},
    {"rdma_tx_packets", &QueuePairCounter::sent_packets},
    {"rdma_rx_bytes", &QueuePairCounter::received_bytes},
    {"rdma_rx_packets", &QueuePairCounter::received_packets},
}};

std::optional<QueuePairCounter> read_counter(Bytes entry)
{
    const auto number = number_in(entry, RDMA_NLDEV_ATTR_STAT_COUNTER_ID);
    if (!number) {
        return std::nullopt;
    }
    QueuePairCounter counter{*number, number_in(entry, RDMA_NLDEV_ATTR_PORT_INDEX).value_or(0)};
    for_each_entry(entry, RDMA_NLDEV_ATTR_RES_QP, [&](Bytes queue_pair) {
        if (const auto its_number = number_in(queue_pair, RDMA_NLDEV_ATTR_RES_LQPN)) {
            counter.queue_pairs.push_back(*its_number);
        }
    });
    for_each_entry(entry, RDMA_NLDEV_ATTR_STAT_HWCOUNTERS, [&](Bytes value) {
        const std::string name = text_in(value, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME);
        for (const auto& [known, member] : kValues) {
            if (name == known) {
                counter.*member = wide_number_in(value, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE);
            }
        }
    });
    return counter;
}

std::vector<std::uint8_t> attributes_of_port(const TrackedDevice& device, std::uint32_t port)
{
    auto attributes = attributes_of(device);
    append(attributes, RDMA_NLDEV_ATTR_PORT_INDEX, port);
    return attributes;
}

// The kind of object whose counters are meant is an attribute of its own kind: what lists those objects.
void append_of_queue_pairs(std::vector<std::uint8_t>& attributes)
{
    append(attributes, RDMA_NLDEV_ATTR_STAT_RES, std::uint32_t{RDMA_NLDEV_ATTR_RES_QP});
}

}    // namespace

AnswerEnd read_counters(Bytes datagram, std::uint32_t sequence, std::vector<QueuePairCounter>& counters, int& failed)
{
    return read_datagram(
        datagram, sequence,
        [&](Bytes attributes) {
            for_each_entry(attributes, RDMA_NLDEV_ATTR_STAT_COUNTER, [&](Bytes entry) {
                if (auto counter = read_counter(entry)) {
                    counters.push_back(std::move(*counter));
                }
            });
            return AnswerEnd::More;
        },
        &failed);
}

std::optional<std::vector<OptionalCounter>> read_optional_counters(Bytes attributes)
{
    std::vector<OptionalCounter> counters;
    bool any = false;
    for_each_entry(attributes, RDMA_NLDEV_ATTR_STAT_HWCOUNTERS, [&](Bytes entry) {
        const auto index = number_in(entry, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_INDEX);
        const auto on = byte_in(entry, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_DYNAMIC);    // absent: it is always on
        any = any || index;
        if (index && on) {
            counters.push_back({text_in(entry, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME), *index, *on != 0});
        }
    });
    return any ? std::optional(std::move(counters)) : std::nullopt;
}

std::optional<CounterMode> read_counter_mode(Bytes attributes)
{
    switch (number_in(attributes, RDMA_NLDEV_ATTR_STAT_MODE).value_or(RDMA_COUNTER_MODE_MAX)) {
    case RDMA_COUNTER_MODE_NONE:
        return CounterMode::None;
    case RDMA_COUNTER_MODE_AUTO:
        return CounterMode::Automatic;
    case RDMA_COUNTER_MODE_MANUAL:
        return CounterMode::Manual;
    default:
        return std::nullopt;
    }
}

Result<std::vector<QueuePairCounter>> list_counters(Connection& kernel, const TrackedDevice& device)
{
    auto attributes = attributes_of(device);
    append_of_queue_pairs(attributes);
    return ask_for_dump<QueuePairCounter>(kernel, RDMA_NLDEV_CMD_STAT_GET, attributes, read_counters,
                                          fmt::format("counters of queue pairs of {}", device.name));
}

Result<CounterMode> counter_mode(Connection& kernel, const TrackedDevice& device, std::uint32_t port)
{
    auto attributes = attributes_of_port(device, port);
    append_of_queue_pairs(attributes);
    append(attributes, RDMA_NLDEV_ATTR_STAT_MODE, 0U);
    int failed = 0;
    if (const auto mode = ask_for_one(kernel, RDMA_NLDEV_CMD_STAT_GET, attributes, read_counter_mode, failed)) {
        return *mode;
    }
    return fail(Error{ErrorCode::Io, failed,
                      fmt::format("the kernel does not say how queue pairs of {}/{} are counted", device.name, port)});
}

Result<std::vector<OptionalCounter>> list_optional_counters(Connection& kernel, const TrackedDevice& device,
                                                            std::uint32_t port)
{
    int failed = 0;
    auto counters = ask_for_one(kernel, RDMA_NLDEV_CMD_STAT_GET_STATUS, attributes_of_port(device, port),
                                read_optional_counters, failed);
    if (counters) {
        return std::move(*counters);
    }
    return fail(Error{ErrorCode::Io, failed,
                      fmt::format("the kernel does not list the optional counters of {}/{}", device.name, port)});
}

Result<void> set_optional_counters(Connection& kernel, const TrackedDevice& device, std::uint32_t port,
                                   const std::vector<std::uint32_t>& indexes)
{
    std::vector<std::uint8_t> table;
    for (const std::uint32_t index : indexes) {
        append(table, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_INDEX, index);
    }
    auto attributes = attributes_of_port(device, port);
    append(attributes, RDMA_NLDEV_ATTR_STAT_HWCOUNTERS | NLA_F_NESTED, Bytes(table));
    int failed = 0;
    const auto port_of_answer = [](Bytes answer) { return number_in(answer, RDMA_NLDEV_ATTR_PORT_INDEX); };
    if (ask_for_one(kernel, RDMA_NLDEV_CMD_STAT_SET, attributes, port_of_answer, failed)) {
        return {};
    }
    return fail(Error{ErrorCode::Io, failed,
                      fmt::format("the kernel does not switch on optional counters of {}/{}", device.name, port)});
}

Result<std::uint32_t> bind_counter(Connection& kernel, const TrackedDevice& device, std::uint32_t port,
                                   std::uint32_t queue_pair, std::optional<std::uint32_t> counter)
{
    auto attributes = attributes_of_port(device, port);
    append_of_queue_pairs(attributes);
    append(attributes, RDMA_NLDEV_ATTR_STAT_MODE, std::uint32_t{RDMA_COUNTER_MODE_MANUAL});
    append(attributes, RDMA_NLDEV_ATTR_RES_LQPN, queue_pair);
    if (counter) {
        append(attributes, RDMA_NLDEV_ATTR_STAT_COUNTER_ID, *counter);
    }
    int failed = 0;
    const auto number_of = [](Bytes answer) { return number_in(answer, RDMA_NLDEV_ATTR_STAT_COUNTER_ID); };
    if (const auto number = ask_for_one(kernel, RDMA_NLDEV_CMD_STAT_SET, attributes, number_of, failed)) {
        return *number;
    }
    return fail(Error{ErrorCode::Io, failed,
                      fmt::format("the kernel binds no counter to queue pair {} of {}", queue_pair, device.name)});
}

Result<void> unbind_counter(Connection& kernel, const TrackedDevice& device, std::uint32_t port,
                            std::uint32_t queue_pair, std::uint32_t counter)
{
    auto attributes = attributes_of_port(device, port);
    append_of_queue_pairs(attributes);
    append(attributes, RDMA_NLDEV_ATTR_STAT_COUNTER_ID, counter);
    append(attributes, RDMA_NLDEV_ATTR_RES_LQPN, queue_pair);
    int failed = 0;
    const auto number_of = [](Bytes answer) { return number_in(answer, RDMA_NLDEV_ATTR_STAT_COUNTER_ID); };
    if (ask_for_one(kernel, RDMA_NLDEV_CMD_STAT_DEL, attributes, number_of, failed)) {
        return {};
    }
    return fail(Error{
        ErrorCode::Io, failed,
        fmt::format("the kernel leaves queue pair {} of {} bound to counter {}", queue_pair, device.name, counter)});
}

}    // namespace rdmaqos::rdma_netlink
