#include "daemon/service/session_counts.h"

#include <algorithm>
#include <vector>

#include "daemon/device/managed_device.h"
#include "daemon/service/device_table.h"
#include "daemon/service/session_table.h"

namespace rdmaqos {
namespace {

// What one session has lost, and its queue pairs.
class Losses {
public:
    explicit Losses(SessionCounts& counts) : counts_(counts) {}

    void note(const std::shared_ptr<const LostLevel>& lost, std::uint64_t queue_pairs)
    {
        if (lost == nullptr) {
            return;
        }
        SessionCounts::Count& count = counts_.lost[lost];
        count.queue_pairs += queue_pairs;
        if (std::ranges::find(seen_, lost) == seen_.end()) {
            ++count.sessions;
            seen_.push_back(lost);
        }
    }

private:
    SessionCounts& counts_;
    std::vector<std::shared_ptr<const LostLevel>> seen_;
};

template <typename Visit>
void for_each_member(const Session& session, const DeviceTable& devices, Visit visit)
{
    for (const auto& [key, numbers] : session.queue_pairs) {
        const ManagedDevice* device = devices.find(key);
        if (device == nullptr) {
            continue;
        }
        for (const std::uint32_t number : numbers) {
            if (const Member* member = device->book().find(number); member != nullptr) {
                visit(*member);
            }
        }
    }
}

void count_losses(const Session& session, const DeviceTable& devices, SessionCounts& counts)
{
    Losses losses(counts);
    losses.note(session.choice.membership.lost, 0);
    for_each_member(session, devices, [&](const Member& member) { losses.note(member.membership.lost, 1); });
}

}    // namespace

SessionCounts count_sessions(const SessionTable& sessions, const DeviceTable& devices, const Policy* policy)
{
    SessionCounts counts;
    for (const auto& [id, session] : sessions) {
        if (session.leaving) {
            continue;
        }
        auto& of_user = counts.of_users[session.owner->uid];
        ++of_user.sessions;
        of_user.queue_pairs += session.queue_pair_count();
        counts.detached += session.state() == SessionState::Detached ? 1 : 0;
        count_losses(session, devices, counts);
    }
    for (const auto& [key, device] : devices) {
        for (const auto& [cause, queue_pairs] : device->metrics(policy).unenforced_by_cause) {
            counts.unenforced[std::string(cause)] += queue_pairs;
        }
    }
    return counts;
}

void count_levels(const SessionTable& sessions, const DeviceTable& devices, std::map<std::string, LevelUse>& uses)
{
    for (const auto& [id, session] : sessions) {
        ++uses[session.choice.membership.level].sessions;
        for_each_member(session, devices, [&](const Member& member) { ++uses[member.membership.level].queue_pairs; });
    }
}

}    // namespace rdmaqos
