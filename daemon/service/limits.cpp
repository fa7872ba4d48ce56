#include "daemon/service/limits.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

namespace rdmaqos {
namespace {

constexpr std::chrono::seconds kSweepInterval{10};

Error reached(std::string what, std::uint32_t limit, std::string_view setting)
{
    return Error{ErrorCode::LimitReached, 0,
                 fmt::format("{}: the limit is {} (`limits: {}` in rdma-qosd.yaml)", what, limit, setting)};
}

}    // namespace

Result<void> UidLimits::take_request(std::uint32_t uid)
{
    const TimePoint now = clock_.now();
    if (now - last_sweep_ > kSweepInterval) {
        last_sweep_ = now;
        forget_idle();
    }
    const double burst = limits_.requests_per_second_per_uid;
    const auto [entry, is_new] = uses_.try_emplace(uid);
    Use& use = entry->second;
    if (is_new || use.refilled == TimePoint{}) {
        use.tokens = burst;
    } else {
        const double seconds = std::chrono::duration<double>(now - use.refilled).count();
        use.tokens = std::min(burst, use.tokens + seconds * burst);
    }
    use.refilled = now;
    if (use.tokens < 1) {
        return fail(reached(fmt::format("user {} sends too many requests a second", uid),
                            limits_.requests_per_second_per_uid, "requests-per-second-per-uid"));
    }
    use.tokens -= 1;
    return {};
}

void UidLimits::charge(std::uint32_t uid, std::size_t requests)
{
    constexpr double kMostSeconds = 4;
    const double most = kMostSeconds * limits_.requests_per_second_per_uid;
    Use& use = uses_[uid];
    use.tokens = std::max(use.tokens - static_cast<double>(requests), -most);
}

Result<void> UidLimits::add_session(std::uint32_t uid)
{
    Use& use = uses_[uid];
    if (use.sessions >= limits_.sessions_per_uid) {
        return fail(reached(fmt::format("user {} has {} sessions", uid, use.sessions), limits_.sessions_per_uid,
                            "sessions-per-uid"));
    }
    ++use.sessions;
    return {};
}

void UidLimits::remove_session(std::uint32_t uid)
{
    --uses_.at(uid).sessions;
}

Result<void> UidLimits::add_queue_pairs(std::uint32_t uid, std::uint32_t in_session, std::uint32_t count)
{
    Use& use = uses_[uid];
    if (count > limits_.queue_pairs_per_session - std::min(in_session, limits_.queue_pairs_per_session)) {
        return fail(reached(fmt::format("this session has {} queue pairs and asks for {} more", in_session, count),
                            limits_.queue_pairs_per_session, "queue-pairs-per-session"));
    }
    if (count > limits_.queue_pairs_per_uid - std::min(use.queue_pairs, limits_.queue_pairs_per_uid)) {
        return fail(reached(fmt::format("user {} has {} queue pairs and asks for {} more", uid, use.queue_pairs, count),
                            limits_.queue_pairs_per_uid, "queue-pairs-per-uid"));
    }
    use.queue_pairs += count;
    return {};
}

void UidLimits::remove_queue_pairs(std::uint32_t uid, std::uint32_t count)
{
    uses_.at(uid).queue_pairs -= count;
}

void UidLimits::forget_idle()
{
    std::erase_if(uses_, [this](const auto& entry) {
        const Use& use = entry.second;
        return use.sessions == 0 && use.queue_pairs == 0 && last_sweep_ - use.refilled > kSweepInterval;
    });
}

}    // namespace rdmaqos
