// Threads that run jobs which may block: as many as there are jobs, up to a bound.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace rdmaqos::emulator {

class Workers {
public:
    explicit Workers(std::size_t most) : most_(most) {}
    ~Workers() { finish(); }
    Workers(const Workers&) = delete;
    Workers& operator=(const Workers&) = delete;

    void run(std::function<void()> job);
    // Returns when the jobs that were given are done; later ones are not run.
    void finish();

private:
    void work();

    const std::size_t most_;
    std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<std::function<void()>> jobs_;
    std::vector<std::thread> threads_;
    std::size_t idle_ = 0;
    bool ending_ = false;
};

}    // namespace rdmaqos::emulator
