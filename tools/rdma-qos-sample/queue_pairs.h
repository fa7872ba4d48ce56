// The part of an RDMA program that has nothing to do with quality of service: an open device, and queue pairs that are
// ready to send.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <infiniband/verbs.h>

#include "lib/base/result.h"

namespace rdmaqos::sample {

// How verbs objects are freed. What is left of a device that is gone cannot be destroyed, and goes with its file.
struct FreeVerbs {
    void operator()(ibv_context* context) const { ibv_close_device(context); }
    void operator()(ibv_pd* domain) const { ibv_dealloc_pd(domain); }
    void operator()(ibv_cq* queue) const { ibv_destroy_cq(queue); }
    void operator()(ibv_qp* queue_pair) const;
};
template <typename T>
using Owned = std::unique_ptr<T, FreeVerbs>;

class QueuePairs {
public:
    // Opens the device by its name ("mlx5_0") and makes `count` queue pairs at `port`, each in RTS, connected to
    // itself.
    [[nodiscard]] static Result<QueuePairs> make(const std::string& device, std::uint8_t port, ibv_qp_type type,
                                                 std::size_t count);

    [[nodiscard]] ibv_context& context() const { return *context_; }
    [[nodiscard]] std::vector<ibv_qp*> all() const;
    // False: the device has failed or is gone, and everything here with it. Reads what ibv_context.async_fd announced.
    [[nodiscard]] bool take_event() const;

private:
    QueuePairs() = default;

    // In the order they depend on each other.
    Owned<ibv_context> context_;
    Owned<ibv_pd> domain_;
    Owned<ibv_cq> completions_;
    std::vector<Owned<ibv_qp>> queue_pairs_;
};

// The number of the send queue behind a raw packet queue pair, which a device schedules by its own number.
[[nodiscard]] std::uint32_t send_queue_number(ibv_qp& queue_pair);

}    // namespace rdmaqos::sample
