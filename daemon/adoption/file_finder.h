// Looks for the device files of programs, on a thread of its own.
//
// Thread: the main loop. Callbacks run on it, never before the call returns.
#pragma once

#include <memory>
#include <vector>

#include "daemon/adoption/program_files.h"
#include "daemon/loop/callback.h"
#include "daemon/loop/loop_calls.h"
#include "lib/reconcile/worker.h"

namespace rdmaqos {

class FileFinder {
public:
    // `loop` must outlive it. `files` may be null: then nothing may be asked.
    FileFinder(Executor& loop, std::shared_ptr<ProgramFiles> files) : files_(std::move(files)), calls_(loop) {}

    // As ProgramFiles::of.
    void find(std::shared_ptr<const Identity> process, Callback<std::vector<std::shared_ptr<ClientFile>>> done)
    {
        calls_.run(
            worker_, [files = files_, process = std::move(process)] { return files->of(process); }, std::move(done));
    }
    // Destroys what may wait for the kernel when it goes.
    void destroy(std::shared_ptr<void> cargo)
    {
        worker_.submit_always([cargo = std::move(cargo)] {});
    }

private:
    std::shared_ptr<ProgramFiles> files_;
    Worker worker_{"adoption", 1024};
    LoopCalls calls_;    // goes first: what the thread says then is not heard
};

}    // namespace rdmaqos
