#include "daemon/survey/owners.h"

#include <vector>

namespace rdmaqos {

using namespace rdma_netlink;

std::shared_ptr<const Identity> Owners::of_thread(pid_t thread)
{
    const auto [found, is_new] = by_thread_.try_emplace(thread, nullptr);
    if (is_new) {
        if (const auto identity = read_identity_of_thread(proc_, thread)) {
            auto& shared = by_process_[identity->pid];
            shared = shared && *shared == *identity ? shared : std::make_shared<const Identity>(*identity);
            found->second = shared;
        } else if (is_shortage(identity.error().sys_errno)) {
            lacked_something_ = true;
        }
    }
    return found->second;
}

Holders::Holders(Connection& kernel, const TrackedDevice& device)
{
    const auto domains = list_holders(kernel, device, HolderKind::Domain);
    const auto contexts = list_holders(kernel, device, HolderKind::Context);
    std::unordered_map<std::uint32_t, pid_t> openers;
    for (const auto& context : contexts.value_or(std::vector<Holder>())) {
        if (context.thread) {
            openers.emplace(context.number, *context.thread);
        }
    }
    for (const auto& domain : domains.value_or(std::vector<Holder>())) {
        const auto opener = openers.find(domain.context.value_or(0));
        if (domain.thread) {
            by_domain_.emplace(domain.number, *domain.thread);
        } else if (domain.context && opener != openers.end()) {
            by_domain_.emplace(domain.number, opener->second);
        }
    }
}

std::optional<pid_t> Holders::thread_of(std::optional<std::uint32_t> domain) const
{
    const auto found = by_domain_.find(domain.value_or(0));
    return domain && found != by_domain_.end() ? std::optional(found->second) : std::nullopt;
}

}    // namespace rdmaqos
