#include "daemon/service/session_reports.h"

#include <algorithm>
#include <utility>

#include "lib/base/text.h"

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

bool is_of_level(const Membership& membership, const std::string& level)
{
    return equals_ignoring_case(membership.level, level) ||
           (membership.lost && equals_ignoring_case(membership.lost->level, level));
}

}    // namespace

bool SessionReports::passes(SessionId id, const SessionFilter& filter) const
{
    const Session* session = sessions_.find(id);
    if (session == nullptr || (filter.pid && static_cast<std::uint32_t>(session->owner->pid) != *filter.pid) ||
        (filter.uid && session->owner->uid != *filter.uid)) {
        return false;
    }
    bool is_in = filter.level.empty() || is_of_level(session->choice.membership, filter.level);
    if (!is_in) {
        for_each_member(*session, devices_,
                        [&](const Member& member) { is_in = is_in || is_of_level(member.membership, filter.level); });
    }
    return is_in;
}

std::vector<SessionId> SessionReports::ids() const
{
    std::vector<SessionId> ids;
    ids.reserve(sessions_.size());
    for (const auto& [id, session] : sessions_) {
        ids.push_back(id);
    }
    return ids;
}

std::optional<SessionInfo> SessionReports::find(SessionId id) const
{
    Session* session = sessions_.find(id);
    if (session == nullptr) {
        return std::nullopt;
    }
    return SessionInfo{id, session->peer,   *session->owner, session->state(), grants_.of(*session),
                       {}, session->adopted};
}

std::optional<SessionInfo> SessionReports::with_queue_pairs(SessionId id) const
{
    auto info = find(id);
    for (auto name = next_queue_pair(id, std::nullopt); name; name = next_queue_pair(id, name)) {
        if (auto result = queue_pair(name->device, name->number)) {
            info->queue_pairs.push_back(std::move(*result));
        }
    }
    return info;
}

std::optional<QueuePairName> SessionReports::next_queue_pair(SessionId id,
                                                             const std::optional<QueuePairName>& after) const
{
    const Session* session = sessions_.find(id);
    return session == nullptr ? std::nullopt : session->next_queue_pair(after);
}

std::size_t SessionReports::queue_pair_count(SessionId id) const
{
    const Session* session = sessions_.find(id);
    return session == nullptr ? 0 : session->queue_pair_count();
}

std::optional<QueuePairResult> SessionReports::queue_pair(const std::string& device, std::uint32_t number) const
{
    const ManagedDevice* found = devices_.find(device);
    return found == nullptr ? std::nullopt : found->result(number);
}

SessionCounts SessionReports::counts() const
{
    SessionCounts counts;
    for (const auto& [id, session] : sessions_) {
        if (session.leaving) {
            continue;
        }
        auto& of_user = counts.of_users[session.owner->uid];
        ++of_user.sessions;
        of_user.queue_pairs += session.queue_pair_count();
        const auto is_back = [&](const auto& lost) { return devices_.contains(lost.first); };
        if (session.state() == SessionState::Detached || std::ranges::any_of(session.lost, is_back)) {
            ++counts.detached;
        }
        count_losses(session, devices_, counts);
    }
    for (const auto& [key, device] : devices_) {
        for (const auto& [cause, queue_pairs] : device->metrics(policy_.policy().get()).unenforced_by_cause) {
            counts.unenforced[std::string(cause)] += queue_pairs;
        }
    }
    return counts;
}

std::map<std::string, LevelUse> SessionReports::level_uses() const
{
    std::map<std::string, LevelUse> uses;
    for (const auto& [level, count] : host_.monitored("")) {
        uses[level] = {0, count, count};
    }
    for (const auto& [id, session] : sessions_) {
        ++uses[session.choice.membership.level].sessions;
        for_each_member(session, devices_, [&](const Member& member) { ++uses[member.membership.level].queue_pairs; });
    }
    return uses;
}

}    // namespace rdmaqos
