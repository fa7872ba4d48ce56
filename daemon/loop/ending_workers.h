// Worker threads of devices that have gone. Each does what is still queued, closes its device, and is joined when it
// has: nobody waits for it, and none waits for another, so that a device whose firmware answers nothing holds up itself
// alone.
//
// The destructor waits for those that have not ended. What if they never do is the question of the program's end
// (daemon/end_in_time.h).
//
// Thread: the main loop.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "daemon/loop/loop_calls.h"

namespace rdmaqos {

class EndingWorkers {
public:
    explicit EndingWorkers(Executor& loop) : calls_(loop) {}

    // `last` runs behind all that is queued, and is the end of the thread; then `ended` is called here.
    void end(std::unique_ptr<Worker> worker, std::function<void()> last, LoopCallback<void()> ended);

private:
    std::map<std::uint64_t, std::unique_ptr<Worker>> workers_;
    std::uint64_t last_ = 0;
    LoopCalls calls_;    // goes first: what the workers say then is not heard
};

}    // namespace rdmaqos
