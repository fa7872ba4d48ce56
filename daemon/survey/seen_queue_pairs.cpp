#include "daemon/survey/seen_queue_pairs.h"

#include <algorithm>

namespace rdmaqos {
namespace {

using Tracked = SeenQueuePairs::Tracked;

bool is_same(const Tracked& before, const Tracked& now)
{
    return before.domain == now.domain && before.type == now.type && (!before.remote || before.remote == now.remote);
}

bool was_reset(const Tracked& now)
{
    return now.state == QueuePairState::Reset || now.state == QueuePairState::Init || now.state == QueuePairState::Rtr;
}

}    // namespace

void SeenQueuePairs::take(const Tracked& now, News& news)
{
    const auto [found, is_new] = seen_.try_emplace(now.number, Entry{now, false, round_});
    Entry& entry = found->second;
    if (is_new) {
        ++pending_;
    } else if (entry.reported && (!is_same(entry.tracked, now) || was_reset(now))) {
        news.gone.push_back(now.number);
        entry.reported = false;
        ++pending_;
    }
    entry.tracked = now;
    entry.round = round_;
    if (!entry.reported && now.state == QueuePairState::Rts) {
        entry.reported = true;
        --pending_;
        news.ready.push_back(now);
    }
}

SeenQueuePairs::News SeenQueuePairs::take_all(const std::vector<Tracked>& all)
{
    ++round_;
    News news;
    for (const auto& each : all) {
        if (each.kernel_name.empty()) {
            take(each, news);
        }
    }
    for (auto entry = seen_.begin(); entry != seen_.end();) {
        if (entry->second.round == round_) {
            ++entry;
            continue;
        }
        if (entry->second.reported) {
            news.gone.push_back(entry->first);
        } else {
            --pending_;
        }
        entry = seen_.erase(entry);
    }
    std::ranges::sort(news.gone);
    return news;
}

SeenQueuePairs::News SeenQueuePairs::take(const Tracked& now)
{
    News news;
    take(now, news);
    return news;
}

std::vector<Tracked> SeenQueuePairs::ready() const
{
    std::vector<Tracked> all;
    for (const auto& [number, entry] : seen_) {
        if (entry.reported && entry.tracked.state == QueuePairState::Rts) {
            all.push_back(entry.tracked);
        }
    }
    std::ranges::sort(all, {}, &Tracked::number);
    return all;
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> SeenQueuePairs::pending() const
{
    std::vector<std::pair<std::uint32_t, std::uint32_t>> numbers;
    if (pending_ == 0) {
        return numbers;
    }
    for (const auto& [number, entry] : seen_) {
        if (!entry.reported) {
            numbers.emplace_back(entry.tracked.port, number);
        }
    }
    return numbers;
}

}    // namespace rdmaqos
