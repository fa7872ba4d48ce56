#include "tools/emulator/netlink_counters.h"

#include <cerrno>
#include <map>
#include <set>
#include <string>

#include <rdma/rdma_netlink.h>

#include "tools/emulator/datapath/hardware.h"
#include "tools/emulator/device.h"
#include "tools/emulator/netlink.h"
#include "tools/emulator/tasks.h"

namespace rdmaqos::emulator {
namespace {

// Some of those that mlx5 has always counted of a counter's queue pairs, none of which is what they send.
constexpr const char* kOfResponders[] = {"rx_write_requests", "rx_read_requests", "rx_atomic_requests",
                                         "out_of_sequence"};
constexpr std::uint32_t kFirstOptional = std::size(kOfResponders);

void put_handle(Writer& writer, const Device& device)
{
    writer.put(RDMA_NLDEV_ATTR_DEV_INDEX, device.appearance());
    writer.put(RDMA_NLDEV_ATTR_DEV_NAME, device.name());
}

void put_value(Writer& writer, const char* name, std::uint64_t value)
{
    const auto entry = writer.begin_nested(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY);
    writer.put(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, std::string(name));
    writer.put_long(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE, value);
    writer.end_nested(entry);
}

class Answer {
public:
    Answer(const StatRequest& request, Device& device, KernelCounters counters)
        : request_(request), device_(device), counters_(counters),
          port_(find_u32(request.attributes, RDMA_NLDEV_ATTR_PORT_INDEX).value_or(0)),
          moved_(device.hardware()->traffic_of_queue_pairs(device))
    {
    }

    std::vector<NetlinkDatagram> make()
    {
        if (request_.is_dump) {
            return has_kind() ? list() : refuse(EINVAL);
        }
        if (port_ == 0 || port_ > device_.ports().size()) {
            return refuse(EINVAL);
        }
        switch (request_.command) {
        case RDMA_NLDEV_CMD_STAT_GET_STATUS:
            return status();
        case RDMA_NLDEV_CMD_STAT_GET:
            return has_kind() && find_u32(request_.attributes, RDMA_NLDEV_ATTR_STAT_MODE) ? mode() : refuse(EINVAL);
        case RDMA_NLDEV_CMD_STAT_SET:
            return may_change() ? set() : refuse(EPERM);
        default:
            return may_change() ? unbind() : refuse(EPERM);
        }
    }

private:
    [[nodiscard]] std::vector<NetlinkDatagram> refuse(int error) const
    {
        return {error_answer(request_.header, error)};
    }
    [[nodiscard]] bool may_change() const
    {
        return request_.header.process == 0 || has_net_admin(request_.header.process);
    }
    // It is about queue pairs.
    [[nodiscard]] bool has_kind() const
    {
        return find_u32(request_.attributes, RDMA_NLDEV_ATTR_STAT_RES) == RDMA_NLDEV_ATTR_RES_QP;
    }
    [[nodiscard]] SentAndReceived moved(std::uint32_t queue_pair) const
    {
        const auto found = moved_.find(queue_pair);
        return found == moved_.end() ? SentAndReceived{} : found->second;
    }
    [[nodiscard]] Writer begin() const
    {
        Writer writer(answer_type(request_.command), 0, request_.header);
        put_handle(writer, device_);
        writer.put(RDMA_NLDEV_ATTR_PORT_INDEX, port_);
        return writer;
    }

    void put_counter(Writer& writer, const QueuePairCounters::Reading& counter) const
    {
        const auto entry = writer.begin_nested(RDMA_NLDEV_ATTR_STAT_COUNTER_ENTRY);
        writer.put(RDMA_NLDEV_ATTR_PORT_INDEX, counter.port);
        writer.put(RDMA_NLDEV_ATTR_STAT_COUNTER_ID, counter.number);
        const auto queue_pairs = writer.begin_nested(RDMA_NLDEV_ATTR_RES_QP);
        for (const std::uint32_t number : counter.queue_pairs) {
            const auto queue_pair = writer.begin_nested(RDMA_NLDEV_ATTR_RES_QP_ENTRY);
            writer.put(RDMA_NLDEV_ATTR_RES_LQPN, number);
            writer.end_nested(queue_pair);
        }
        writer.end_nested(queue_pairs);
        const auto values = writer.begin_nested(RDMA_NLDEV_ATTR_STAT_HWCOUNTERS);
        for (const char* name : kOfResponders) {
            put_value(writer, name, 0);
        }
        for (const auto& [value, count] : counter.values) {
            put_value(writer, to_string(value), count);
        }
        writer.end_nested(values);
        writer.end_nested(entry);
    }

    std::vector<NetlinkDatagram> list()
    {
        const auto readings = device_.with_counters([this](QueuePairCounters& counters) {
            return counters.read([this](std::uint32_t queue_pair) { return moved(queue_pair); });
        });
        std::vector<NetlinkDatagram> answers;
        for (auto next = readings.begin(); next != readings.end();) {
            Writer writer(answer_type(RDMA_NLDEV_CMD_STAT_GET), NLM_F_MULTI, request_.header);
            put_handle(writer, device_);
            const auto table = writer.begin_nested(RDMA_NLDEV_ATTR_STAT_COUNTER);
            for (; next != readings.end() && writer.size() < kNetlinkDatagram; ++next) {
                put_counter(writer, *next);
            }
            writer.end_nested(table);
            answers.push_back(writer.finish());
        }
        answers.push_back(done(request_.header));
        return answers;
    }

    std::vector<NetlinkDatagram> status()
    {
        const auto on = device_.with_counters([this](QueuePairCounters& each) { return each.switched_on(port_); });
        Writer writer = begin();
        const auto table = writer.begin_nested(RDMA_NLDEV_ATTR_STAT_HWCOUNTERS);
        std::uint32_t index = 0;
        const auto put = [&](const char* name, std::optional<bool> is_on) {
            const auto entry = writer.begin_nested(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY);
            writer.put(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, std::string(name));
            writer.put(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_INDEX, index++);
            if (is_on) {
                writer.put_byte(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_DYNAMIC, *is_on ? 1 : 0);
            }
            writer.end_nested(entry);
        };
        for (const char* name : kOfResponders) {
            put(name, std::nullopt);
        }
        for (std::size_t each = 0; counters_ == KernelCounters::Bytes && each < kCountedValues; ++each) {
            const auto value = static_cast<CountedValue>(each);
            put(to_string(value), on.contains(value));
        }
        writer.end_nested(table);
        return {writer.finish()};
    }

    std::vector<NetlinkDatagram> mode()
    {
        const bool any = device_.with_counters([this](QueuePairCounters& each) { return each.any(port_); });
        Writer writer = begin();
        writer.put(RDMA_NLDEV_ATTR_STAT_MODE, std::uint32_t{any ? RDMA_COUNTER_MODE_MANUAL : RDMA_COUNTER_MODE_NONE});
        return {writer.finish()};
    }

    std::vector<NetlinkDatagram> set()
    {
        const auto mode = find_u32(request_.attributes, RDMA_NLDEV_ATTR_STAT_MODE);
        const auto optional = find_numbers(request_.attributes, RDMA_NLDEV_ATTR_STAT_HWCOUNTERS);
        if (!mode && !optional) {
            return refuse(EINVAL);
        }
        Writer writer = begin();
        if (mode) {
            if (const int error = bind(*mode, writer); error != 0) {
                return refuse(error);
            }
        }
        if (optional) {
            if (const int error = switch_on(*optional); error != 0) {
                return refuse(error);
            }
        }
        return {writer.finish()};
    }

    int bind(std::uint32_t mode, Writer& writer)
    {
        const auto queue_pair = find_u32(request_.attributes, RDMA_NLDEV_ATTR_RES_LQPN);
        if (mode == RDMA_COUNTER_MODE_AUTO) {
            return EOPNOTSUPP;
        }
        if (!has_kind() || !queue_pair) {
            return EINVAL;
        }
        const auto owners = owners_of(device_, *queue_pair);
        if (owners.empty()) {
            return ENOENT;
        }
        if (owners.front().port != 0 && owners.front().port != port_) {
            return EINVAL;
        }
        std::uint32_t number = 0;
        const int error = device_.with_counters([&](QueuePairCounters& each) {
            return each.bind(port_, *queue_pair, find_u32(request_.attributes, RDMA_NLDEV_ATTR_STAT_COUNTER_ID),
                             moved(*queue_pair), number);
        });
        writer.put(RDMA_NLDEV_ATTR_STAT_COUNTER_ID, number);
        writer.put(RDMA_NLDEV_ATTR_RES_LQPN, *queue_pair);
        return error;
    }

    int switch_on(const std::vector<std::uint32_t>& indexes)
    {
        std::set<CountedValue> on;
        for (const std::uint32_t index : indexes) {
            if (counters_ != KernelCounters::Bytes || index < kFirstOptional ||
                index >= kFirstOptional + kCountedValues) {
                return EINVAL;
            }
            on.insert(static_cast<CountedValue>(index - kFirstOptional));
        }
        device_.with_counters([&](QueuePairCounters& each) { each.switch_on(port_, on); });
        return 0;
    }

    std::vector<NetlinkDatagram> unbind()
    {
        const auto queue_pair = find_u32(request_.attributes, RDMA_NLDEV_ATTR_RES_LQPN);
        const auto counter = find_u32(request_.attributes, RDMA_NLDEV_ATTR_STAT_COUNTER_ID);
        if (!has_kind() || !queue_pair || !counter) {
            return refuse(EINVAL);
        }
        const int error = device_.with_counters(
            [&](QueuePairCounters& each) { return each.unbind(port_, *queue_pair, *counter, moved(*queue_pair)); });
        if (error != 0) {
            return refuse(error);
        }
        Writer writer = begin();
        writer.put(RDMA_NLDEV_ATTR_STAT_COUNTER_ID, *counter);
        writer.put(RDMA_NLDEV_ATTR_RES_LQPN, *queue_pair);
        return {writer.finish()};
    }

    const StatRequest& request_;
    Device& device_;
    const KernelCounters counters_;
    const std::uint32_t port_;
    const std::map<std::uint32_t, SentAndReceived> moved_;
};

}    // namespace

bool is_stat(std::uint16_t command)
{
    return command == RDMA_NLDEV_CMD_STAT_SET || command == RDMA_NLDEV_CMD_STAT_GET ||
           command == RDMA_NLDEV_CMD_STAT_DEL || command == RDMA_NLDEV_CMD_STAT_GET_STATUS;
}

std::vector<NetlinkDatagram> stat_answer(const StatRequest& request, Device& device, KernelCounters counters)
{
    if (device.hardware() == nullptr) {
        return {error_answer(request.header, EOPNOTSUPP)};    // nothing moves, and nothing is counted
    }
    return Answer(request, device, counters).make();
}

}    // namespace rdmaqos::emulator
