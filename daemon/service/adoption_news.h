// Stage Seen of adoption: what the watch has reported and nobody has looked at yet, one queue pair at a time.
//
// Thread: the main loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>

#include "daemon/survey/queue_pair_watch.h"

namespace rdmaqos {

class AdoptionNews {
public:
    void add(HostNews news) { reports_.push_back(std::move(news)); }
    void clear()
    {
        reports_.clear();
        looked_at_ = 0;
    }
    [[nodiscard]] bool empty() const { return reports_.empty(); }

    // The next queue pair, of those that are gone before those that are ready, as they were reported; there are some
    // news. `on_gone(device, number)`, `on_ready(queue_pair, seen_at)`; neither adds news.
    template <typename OnGone, typename OnReady>
    void next(OnGone on_gone, OnReady on_ready)
    {
        const HostNews& report = reports_.front();
        const std::size_t gone = report.gone.size();
        if (looked_at_ < gone) {
            on_gone(report.gone[looked_at_].first, report.gone[looked_at_].second);
        } else if (looked_at_ < gone + report.ready.size()) {
            on_ready(report.ready[looked_at_ - gone], report.seen_at);
        }
        if (++looked_at_ >= gone + report.ready.size()) {
            reports_.pop_front();
            looked_at_ = 0;
        }
    }

private:
    std::deque<HostNews> reports_;
    std::size_t looked_at_ = 0;    // of the first
};

}    // namespace rdmaqos
