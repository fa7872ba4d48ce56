#include "daemon/service/host_view.h"

#include <map>
#include <string>
#include <utility>

namespace rdmaqos {
namespace {

Surveyor::Look look_of(const ServiceOptions& options)
{
    return options.survey_host ? options.survey_host : [] { return HostSurvey(); };
}

}    // namespace

HostView::HostView(ServiceContext& context, const DeviceTable& devices, const SessionTable& sessions)
    : devices_(devices), sessions_(sessions), surveyor_(context.executor, context.clock, look_of(context.options))
{
}

HostView::Processes HostView::processes_with_session() const
{
    Processes processes;
    for (const auto& [id, session] : sessions_) {
        processes.insert(session.owner->pid);
    }
    return processes;
}

void HostView::fill_in(const ManagedDevice& device, std::uint32_t number, HostStanding& standing) const
{
    const Member* member = device.book().find(number);
    standing.session = member->session;
    standing.result = device.result(number);
    const QueuePairResult& result = *standing.result;
    if (result.leaf.empty()) {
        standing.outside = !result.cause.empty() ? result.cause : result.rate ? kPacedOnly : kNothingAsked;
    }
}

HostStanding HostView::standing(const HostQueuePair& queue_pair, const Processes& with_session) const
{
    HostStanding standing;
    for (const auto& [key, device] : devices_) {
        const DeviceInfo& info = device->info();
        const std::uint32_t port = queue_pair.tracked.port;
        if (info.name != queue_pair.device || (port != 0 && port != info.port)) {
            continue;
        }
        standing.device = standing.device.empty() ? key : standing.device;
        const Member* member = device->book().find(queue_pair.tracked.number);
        // A number is used again: it is the session's only if its process has it now.
        if (member != nullptr && queue_pair.owner != nullptr && member->owner->pid == queue_pair.owner->pid) {
            standing.device = key;
            fill_in(*device, queue_pair.tracked.number, standing);
            return standing;
        }
    }
    if (!queue_pair.tracked.kernel_name.empty()) {
        standing.outside = kOfKernel;
    } else if (standing.device.empty()) {
        standing.outside = kUnmanaged;
    } else if (queue_pair.owner == nullptr) {
        standing.outside = kOwnerUnknown;
    } else {
        standing.outside = with_session.contains(queue_pair.owner->pid) ? kNotAttached : kUnregistered;
    }
    return standing;
}

std::optional<HostView::Known> HostView::standing(const QueuePairName& queue_pair) const
{
    const ManagedDevice* device = devices_.find(queue_pair.device);
    const Member* member = device == nullptr ? nullptr : device->book().find(queue_pair.number);
    if (member == nullptr) {
        return std::nullopt;
    }
    Known known{device->info().name, device->info().port, member->ref.type, member->owner, {}};
    known.standing.device = queue_pair.device;
    fill_in(*device, queue_pair.number, known.standing);
    return known;
}

std::vector<QueuePairName> HostView::untracked(const HostSurvey& survey) const
{
    std::map<std::string, std::unordered_set<std::uint32_t>> tracked;    // by device
    for (const auto& queue_pair : survey.queue_pairs) {
        tracked[queue_pair.device].insert(queue_pair.tracked.number);
    }
    std::vector<QueuePairName> others;
    for (const auto& [id, session] : sessions_) {
        for (const auto& [key, numbers] : session.queue_pairs) {
            const auto seen = tracked.find(key.substr(0, key.rfind('/')));
            for (const std::uint32_t number : numbers) {
                if (seen == tracked.end() || !seen->second.contains(number)) {
                    others.push_back({key, number});
                }
            }
        }
    }
    return others;
}

HostCounts HostView::count(const HostSurvey& survey) const
{
    HostCounts counts;
    const Processes with_session = processes_with_session();
    for (const auto& queue_pair : survey.queue_pairs) {
        ++counts[{queue_pair.device, standing(queue_pair, with_session).outside}];
    }
    for (const auto& [key, number] : untracked(survey)) {
        if (const auto known = standing(QueuePairName{key, number})) {
            ++counts[{known->name, known->standing.outside}];
        }
    }
    return counts;
}

}    // namespace rdmaqos
