#include "daemon/survey/host_survey.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

namespace rdmaqos {
namespace {

using namespace rdma_netlink;

// Who made what, each process read once.
class Owners {
public:
    explicit Owners(const std::filesystem::path& proc) : proc_(proc) {}

    // Null: it has ended, or cannot be read.
    std::shared_ptr<const Identity> of_thread(pid_t thread)
    {
        const auto [found, is_new] = by_thread_.try_emplace(thread, nullptr);
        if (is_new) {
            if (const auto identity = read_identity_of_thread(proc_, thread)) {
                auto& shared = by_process_[identity->pid];
                shared = shared && *shared == *identity ? shared : std::make_shared<const Identity>(*identity);
                found->second = shared;
            }
        }
        return found->second;
    }

private:
    const std::filesystem::path& proc_;
    std::unordered_map<pid_t, std::shared_ptr<const Identity>> by_thread_;
    std::unordered_map<pid_t, std::shared_ptr<const Identity>> by_process_;
};

// The threads that made the protection domains of a device, or else opened the files that these are in. What the kernel
// does not tell is left out.
class Holders {
public:
    Holders(Connection& kernel, const TrackedDevice& device)
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

    [[nodiscard]] std::optional<pid_t> thread_of(std::optional<std::uint32_t> domain) const
    {
        const auto found = by_domain_.find(domain.value_or(0));
        return domain && found != by_domain_.end() ? std::optional(found->second) : std::nullopt;
    }

private:
    std::unordered_map<std::uint32_t, pid_t> by_domain_;
};

void survey_device(Connection& kernel, const TrackedDevice& device, std::size_t most, Owners& owners,
                   HostSurvey& survey)
{
    auto found = list_queue_pairs(kernel, device);
    if (!found) {
        survey.failures[device.name] = to_string(found.error());
        return;
    }
    std::ranges::sort(*found, {}, &TrackedQueuePair::number);
    if (found->size() > most) {
        survey.left_out[device.name] = found->size() - most;
        found->resize(most);
    }
    std::optional<Holders> holders;    // seldom needed
    for (auto& tracked : *found) {
        std::shared_ptr<const Identity> owner;
        if (tracked.kernel_name.empty()) {
            owner = tracked.thread ? owners.of_thread(*tracked.thread) : nullptr;
            if (owner == nullptr) {
                const auto& of_device = holders ? *holders : holders.emplace(kernel, device);
                const auto thread = of_device.thread_of(tracked.domain);
                owner = thread ? owners.of_thread(*thread) : nullptr;
            }
        }
        survey.queue_pairs.push_back({device.name, std::move(tracked), std::move(owner)});
    }
}

}    // namespace

HostSurvey survey_host(const std::filesystem::path& proc, std::size_t most_of_device)
{
    HostSurvey survey;
    Connection kernel;
    const int failed = kernel.open();
    auto devices = failed == 0 ? list_devices(kernel)
                               : fail(Error{ErrorCode::Io, failed, "the kernel has no RDMA netlink"});
    if (!devices) {
        survey.failures[""] = to_string(devices.error());
        return survey;
    }
    std::ranges::sort(*devices, {}, &TrackedDevice::name);
    Owners owners(proc);
    for (const auto& device : *devices) {
        survey_device(kernel, device, most_of_device, owners, survey);
    }
    return survey;
}

}    // namespace rdmaqos
