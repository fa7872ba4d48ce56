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

void count_losses(const Session& session, const DeviceTable& devices, SessionCounts& counts)
{
    Losses losses(counts);
    losses.note(session.choice.membership.lost, 0);
    for (const auto& [key, numbers] : session.queue_pairs) {
        const ManagedDevice* device = devices.find(key);
        if (device == nullptr) {
            continue;
        }
        for (const std::uint32_t number : numbers) {
            if (const Member* member = device->book().find(number); member != nullptr) {
                losses.note(member->membership.lost, 1);
            }
        }
    }
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
        counts.detached += session.state == SessionState::Detached ? 1 : 0;
        count_losses(session, devices, counts);
    }
    for (const auto& [key, device] : devices) {
        for (const auto& [cause, queue_pairs] : device->metrics(policy).unenforced_by_cause) {
            counts.unenforced[std::string(cause)] += queue_pairs;
        }
    }
    return counts;
}

}    // namespace rdmaqos
