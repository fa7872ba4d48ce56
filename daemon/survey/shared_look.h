// A look at something that waits for the kernel, on a thread of its own, shared by all who ask meanwhile.
//
// Thread: the main loop.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "daemon/loop/callback.h"
#include "daemon/loop/loop_calls.h"
#include "lib/base/clock.h"
#include "lib/base/executor.h"
#include "lib/reconcile/worker.h"

namespace rdmaqos {

template <typename Seen>
class SharedLook {
public:
    // `loop` and `clock` must outlive it. `thread`: its name. `fresh`: how long what was seen is good enough, so that a
    // user who asks all the time costs the device no more than one look in that time.
    SharedLook(Executor& loop, const Clock& clock, const char* thread, Duration fresh)
        : clock_(clock), fresh_(fresh), worker_(thread, 4), calls_(loop)
    {
    }

    // What was seen last, if it is fresh, or else what `make_look()()` sees: a function of data, which returns a Seen
    // and may wait. `done` is never called before this returns.
    template <typename MakeLook>
    void ask(MakeLook make_look, Callback<std::shared_ptr<const Seen>> done)
    {
        if (last_ && clock_.now() - seen_at_ < fresh_) {
            calls_.defer([done = std::move(done), seen = last_] { done(seen); });
            return;
        }
        waiting_.push_back(std::move(done));
        if (waiting_.size() == 1) {
            calls_.run(worker_, make_look(), [this](Result<Seen> seen) { take(std::move(seen)); });
        }
    }

private:
    void take(Result<Seen> seen)
    {
        last_ = seen ? std::make_shared<const Seen>(std::move(*seen)) : nullptr;
        seen_at_ = clock_.now();
        for (const auto& done : std::exchange(waiting_, {})) {
            done(last_ ? Result<std::shared_ptr<const Seen>>(last_) : fail(seen.error()));
        }
    }

    const Clock& clock_;
    const Duration fresh_;
    std::shared_ptr<const Seen> last_;
    TimePoint seen_at_{};
    std::vector<Callback<std::shared_ptr<const Seen>>> waiting_;
    Worker worker_;
    LoopCalls calls_;    // goes first: what the thread says then is not heard
};

}    // namespace rdmaqos
