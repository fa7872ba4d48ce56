#include "daemon/survey/host_survey.h"

#include <algorithm>
#include <string>
#include <vector>

#include "daemon/survey/owners.h"

namespace rdmaqos {
namespace {

using namespace rdma_netlink;

constexpr const char* kExclusive =
    "each RDMA device belongs to one network namespace (`rdma system`: netns exclusive): programs that use devices of "
    "other namespaces are not seen. `rdma system set netns shared`, before containers start, shows all of them";

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
            owner = owner_of(tracked, owners, holders, [&] { return Holders(kernel, device); });
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
    if (namespaces_are_exclusive(kernel).value_or(false)) {
        survey.failures[""] = kExclusive;
    }
    for (const auto& device : *devices) {
        survey_device(kernel, device, most_of_device, owners, survey);
    }
    return survey;
}

}    // namespace rdmaqos
