#include "daemon/loop/ending_workers.h"

#include <utility>

namespace rdmaqos {

void EndingWorkers::end(std::unique_ptr<Worker> worker, std::function<void()> last, LoopCallback<void()> ended)
{
    const std::uint64_t number = ++last_;
    Worker& ending = *(workers_[number] = std::move(worker));
    calls_.run(ending, std::move(last), [this, number, ended = std::move(ended)](const Result<void>&) {
        workers_.erase(number);    // joins a thread that has nothing left to do
        ended();
    });
}

}    // namespace rdmaqos
