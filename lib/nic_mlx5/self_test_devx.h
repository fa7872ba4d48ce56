// A queue pair as UCX makes it: by a command to the firmware (DEVX), unknown to the verbs layer. Of the self-test's
// helper.
#pragma once

#include <cstdint>
#include <memory>

#include <infiniband/verbs.h>

#include "lib/nic_mlx5/uverbs.h"

struct mlx5dv_devx_uar;
struct mlx5dv_devx_umem;

namespace rdmaqos::mlx5 {

class DevxQueuePair {
public:
    // In INIT; its number is the `id`. Context, domain and queue must outlive it.
    [[nodiscard]] Answer<Created> make(ibv_pd& domain, ibv_cq& queue, std::uint8_t port);
    // Destroys it and what it is made of.
    void reset();

    DevxQueuePair() = default;
    ~DevxQueuePair() { reset(); }
    DevxQueuePair(const DevxQueuePair&) = delete;
    DevxQueuePair& operator=(const DevxQueuePair&) = delete;

private:
    struct Free {
        void operator()(void* memory) const;
    };

    // Its doorbell register, and memory for its queue and doorbell record; the errno.
    [[nodiscard]] int make_parts(ibv_context& context);

    int fd_ = -1;    // of the context, once there is a queue pair
    std::uint32_t handle_ = 0;
    std::unique_ptr<void, Free> memory_;
    mlx5dv_devx_umem* queue_ = nullptr;
    mlx5dv_devx_umem* doorbell_ = nullptr;
    mlx5dv_devx_uar* uar_ = nullptr;
};

}    // namespace rdmaqos::mlx5
