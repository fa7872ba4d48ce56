#include "lib/base/repeat_limit.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace rdmaqos {

std::optional<std::uint32_t> RepeatLimit::take(const Key& key, const Rule& rule, TimePoint now)
{
    if (rule.at_once == 0) {
        return 0;
    }
    Place& place = place_of(key, now);
    const TimePoint from = std::max(place.full_at, now);
    if (from - now > rule.interval * (rule.at_once - 1)) {
        ++place.left_out;
        return std::nullopt;
    }
    place.full_at = from + rule.interval;
    return std::exchange(place.left_out, 0);
}

RepeatLimit::Place& RepeatLimit::place_of(const Key& key, TimePoint now)
{
    if (const auto found = places_.find(key); found != places_.end()) {
        return found->second;
    }
    // Who makes newcomers shall not make us look through all of them each time.
    if (places_.size() >= most_keys_ && now >= sweep_at_) {
        sweep_at_ = now + std::chrono::seconds(1);
        std::erase_if(places_, [&](const auto& entry) { return entry.second.full_at <= now; });
    }
    return places_.size() < most_keys_ ? places_[key] : shared_;
}

}    // namespace rdmaqos
