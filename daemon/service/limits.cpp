#include "daemon/service/limits.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "lib/base/text.h"

namespace rdmaqos {
namespace {

constexpr std::chrono::seconds kSweepInterval{10};

Error reached(std::string what, std::uint32_t limit, std::string_view setting)
{
    return Error{ErrorCode::LimitReached, 0,
                 fmt::format("{}: the limit is {} (`limits: {}` in rdma-qosd.yaml)", what, limit, setting)};
}

}    // namespace

Result<void> UidLimits::take_request(Account account)
{
    if (account.is_root()) {
        return {};
    }
    const TimePoint now = clock_.now();
    if (now - last_sweep_ > kSweepInterval) {
        last_sweep_ = now;
        remove_idle();
    }
    const double burst = limits_.requests_per_second_per_uid;
    const auto [entry, is_new] = uses_.try_emplace(account);
    Use& use = entry->second;
    if (is_new || use.refilled == TimePoint{}) {
        use.tokens = burst;
    } else {
        const double seconds = std::chrono::duration<double>(now - use.refilled).count();
        use.tokens = std::min(burst, use.tokens + seconds * burst);
    }
    use.refilled = now;
    if (use.tokens < 1) {
        return fail(reached(fmt::format("user {} sends too many requests a second", account.uid()),
                            limits_.requests_per_second_per_uid, "requests-per-second-per-uid"));
    }
    use.tokens -= 1;
    return {};
}

void UidLimits::charge(Account account, std::size_t requests)
{
    constexpr double kMostSeconds = 4;
    const double most = kMostSeconds * limits_.requests_per_second_per_uid;
    if (account.is_root()) {
        return;
    }
    Use& use = uses_[account];
    use.tokens = std::max(use.tokens - static_cast<double>(requests), -most);
}

Result<void> UidLimits::add_session(Account account)
{
    Use& use = uses_[account];
    if (use.sessions >= limits_.sessions_per_uid) {
        return fail(reached(fmt::format("user {} has {} sessions", account.uid(), use.sessions),
                            limits_.sessions_per_uid, "sessions-per-uid"));
    }
    ++use.sessions;
    return {};
}

void UidLimits::remove_session(Account account)
{
    --uses_.at(account).sessions;
}

UidLimits::Room UidLimits::room(Account account, std::uint32_t in_session) const
{
    const auto entry = uses_.find(account);
    const std::uint32_t of_user = entry == uses_.end() ? 0 : entry->second.queue_pairs;
    const auto left = [](std::uint32_t limit, std::uint32_t used) { return limit - std::min(used, limit); };
    const std::uint32_t for_session = left(limits_.queue_pairs_per_session, in_session);
    const std::uint32_t for_user = left(limits_.queue_pairs_per_uid, of_user);
    if (for_session <= for_user) {
        return {for_session, reached(fmt::format("this session has {}", counted(in_session, "queue pair")),
                                     limits_.queue_pairs_per_session, "queue-pairs-per-session")};
    }
    return {for_user, reached(fmt::format("user {} has {}", account.uid(), counted(of_user, "queue pair")),
                              limits_.queue_pairs_per_uid, "queue-pairs-per-uid")};
}

Result<void> UidLimits::add_queue_pairs(Account account, std::uint32_t in_session, std::uint32_t count)
{
    Room there = room(account, in_session);
    if (count > there.count) {
        return fail(there.limit.with_context(fmt::format("no room for {} more", count)));
    }
    uses_[account].queue_pairs += count;
    return {};
}

void UidLimits::remove_queue_pairs(Account account, std::uint32_t count)
{
    uses_.at(account).queue_pairs -= count;
}

void UidLimits::remove_idle()
{
    std::erase_if(uses_, [this](const auto& entry) {
        const Use& use = entry.second;
        return use.sessions == 0 && use.queue_pairs == 0 && last_sweep_ - use.refilled > kSweepInterval;
    });
}

}    // namespace rdmaqos
