// Looks at the host's queue pairs for all who ask, on a thread of its own, at most once a second.
//
// Thread: the main loop.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "daemon/loop/callback.h"
#include "daemon/loop/loop_calls.h"
#include "daemon/model/host_survey.h"
#include "lib/base/clock.h"
#include "lib/base/executor.h"
#include "lib/reconcile/worker.h"

namespace rdmaqos {

class Surveyor {
public:
    using Look = std::function<HostSurvey()>;    // waits for the kernel

    // `loop` and `clock` must outlive it.
    Surveyor(Executor& loop, const Clock& clock, Look look);

    // What was seen less than a second ago, or else a new look, which is shared by all who ask meanwhile. `done` is
    // never called before this returns.
    void survey(Callback<std::shared_ptr<const HostSurvey>> done);

private:
    void take(Result<HostSurvey> seen);

    const Clock& clock_;
    const Look look_;
    std::shared_ptr<const HostSurvey> last_;
    TimePoint seen_at_{};
    std::vector<Callback<std::shared_ptr<const HostSurvey>>> waiting_;
    Worker worker_{"survey", 4};
    LoopCalls calls_;    // goes first: what the thread says then is not heard
};

}    // namespace rdmaqos
