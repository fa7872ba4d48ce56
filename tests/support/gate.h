// Holds threads back until a test lets them go on.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <thread>

namespace rdmaqos::test {

// Holds back whoever calls waiter(), on another thread, until open() or the end of the test.
class Gate {
public:
    Gate() = default;
    ~Gate() { open(); }
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;

    [[nodiscard]] std::function<void()> waiter() const
    {
        return [state = state_] {
            state->held = true;
            state->opened.wait();
        };
    }
    [[nodiscard]] bool holds() const { return state_->held; }
    // Nothing else is done meanwhile.
    void wait_until_it_holds() const
    {
        while (!state_->held) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }
    // From any thread.
    void open()
    {
        if (!state_->is_open.exchange(true)) {
            state_->opens.set_value();
        }
    }

private:
    struct State {
        std::promise<void> opens;
        std::shared_future<void> opened = opens.get_future().share();
        std::atomic<bool> held = false;
        std::atomic<bool> is_open = false;
    };
    std::shared_ptr<State> state_ = std::make_shared<State>();
};

}    // namespace rdmaqos::test
