// What RDMA netlink says of a device, asked by the test itself: below an emulator, or on a kernel.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "lib/rdma_netlink/connection.h"
#include "lib/rdma_netlink/queue_pairs.h"

namespace rdmaqos::test {

using Tracked = rdma_netlink::TrackedQueuePair;

// Queue pairs of programs, not the kernel's own.
class Tracker {
public:
    explicit Tracker(std::string device = "mlx5_0") : name_(std::move(device))
    {
        if (kernel_.open() != 0) {
            throw std::runtime_error("no RDMA netlink");
        }
    }

    [[nodiscard]] std::vector<Tracked> all()
    {
        const auto devices = rdma_netlink::list_devices(kernel_);
        for (const auto& device : devices.value_or(std::vector<rdma_netlink::TrackedDevice>())) {
            if (device.name == name_) {
                auto found = rdma_netlink::list_queue_pairs(kernel_, device);
                if (!found) {
                    throw std::runtime_error(to_string(found.error()));
                }
                std::erase_if(*found, [](const Tracked& each) { return !each.kernel_name.empty(); });
                return std::move(*found);
            }
        }
        return {};
    }
    // Numbers of those of a process, made by its main thread, that are ready to send.
    [[nodiscard]] std::vector<std::uint32_t> ready_of(pid_t process)
    {
        std::vector<std::uint32_t> numbers;
        for (const auto& each : all()) {
            if (each.thread == process && each.state == QueuePairState::Rts) {
                numbers.push_back(each.number);
            }
        }
        return numbers;
    }

private:
    const std::string name_;
    rdma_netlink::Connection kernel_;
};

}    // namespace rdmaqos::test
