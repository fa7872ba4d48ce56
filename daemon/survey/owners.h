// Whose a queue pair is, as the kernel tells: by the thread that made it, or else by what it is in.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <unordered_map>

#include <sys/types.h>

#include "lib/rdma_netlink/queue_pairs.h"
#include "policy/model/identity.h"

namespace rdmaqos {

// Who made what, each process read once. For one look: pids are used again.
class Owners {
public:
    // `proc` must outlive it.
    explicit Owners(const std::filesystem::path& proc) : proc_(proc) {}

    // Null: it has ended, or cannot be read.
    std::shared_ptr<const Identity> of_thread(pid_t thread);
    // Whether one could not be read only for want of descriptors or memory.
    [[nodiscard]] bool lacked_something() const { return lacked_something_; }

private:
    const std::filesystem::path& proc_;
    std::unordered_map<pid_t, std::shared_ptr<const Identity>> by_thread_;
    std::unordered_map<pid_t, std::shared_ptr<const Identity>> by_process_;
    bool lacked_something_ = false;
};

// The threads that made the protection domains of a device, or else opened the files that these are in. What the kernel
// does not tell is left out.
class Holders {
public:
    Holders(rdma_netlink::Connection& kernel, const rdma_netlink::TrackedDevice& device);

    [[nodiscard]] std::optional<pid_t> thread_of(std::optional<std::uint32_t> domain) const;

private:
    std::unordered_map<std::uint32_t, pid_t> by_domain_;
};

// Null: the kernel does not tell. `holders` is made with `ask` when it is first needed, which is seldom.
template <typename Ask>
std::shared_ptr<const Identity> owner_of(const rdma_netlink::TrackedQueuePair& tracked, Owners& owners,
                                         std::optional<Holders>& holders, Ask ask)
{
    auto owner = tracked.thread ? owners.of_thread(*tracked.thread) : nullptr;
    if (owner == nullptr) {
        if (!holders) {
            holders.emplace(ask());
        }
        const auto thread = holders->thread_of(tracked.domain);
        owner = thread ? owners.of_thread(*thread) : nullptr;
    }
    return owner;
}

}    // namespace rdmaqos
