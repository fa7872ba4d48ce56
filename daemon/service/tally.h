// What the service and its transports count as they go, for the metrics.
//
// Thread: the main loop.
#pragma once

#include <utility>

#include "daemon/loop/callback.h"
#include "daemon/model/metrics.h"
#include "daemon/service/context.h"

namespace rdmaqos {

class Tally {
public:
    // `context` must outlive it.
    explicit Tally(const ServiceContext& context) : context_(context) {}

    [[nodiscard]] const ServiceCounters& counters() const { return counters_; }
    void session_registered() { ++counters_.sessions; }
    void policy_accepted_at_start() { counters_.last_good_reload = context_.options.wall_clock(); }
    void reload_answered(bool accepted, Duration took)
    {
        counters_.reloads.observe(took);
        ++(accepted ? counters_.reloads_accepted : counters_.reloads_refused);
        if (accepted) {
            counters_.last_good_reload = context_.options.wall_clock();
        }
    }
    // The callback, which then also notes the time from now to its call.
    template <typename T>
    [[nodiscard]] Callback<T> timed(Histogram ServiceCounters::*histogram, Callback<T> done)
    {
        return [this, histogram, started = context_.clock.now(), done = std::move(done)](Result<T> result) {
            (counters_.*histogram).observe(context_.clock.now() - started);
            done(std::move(result));
        };
    }

    TransportCounters transports;    // the transports count in it

private:
    const ServiceContext& context_;
    ServiceCounters counters_;
};

}    // namespace rdmaqos
