// A callback that belongs to the main loop: it is made, called and destroyed on the thread of the loop, because what it
// holds (a message of the bus, say) knows nothing of threads.
//
// It can be moved but not copied. A std::function can hold only what can be copied, and every task of a worker and
// everything that is posted is a std::function: so a callback that would leave the loop does not compile. Who has to
// answer later keeps it in a table on the loop (daemon/loop/loop_calls.h), and sends a number across.
//
// Debug builds also check each call and each destruction, and abort on another thread.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#ifndef NDEBUG
#include <cstdio>
#include <cstdlib>
#include <thread>
#endif

namespace rdmaqos {

// Of one thread. Empty, and free, in builds without assertions.
class ThreadBound {
public:
#ifndef NDEBUG
    void check() const
    {
        if (std::this_thread::get_id() != thread_) {
            std::fputs("a callback of the main loop is on another thread\n", stderr);
            std::abort();
        }
    }

private:
    std::thread::id thread_ = std::this_thread::get_id();
#else
    void check() const {}
#endif
};

template <typename Signature>
class LoopCallback;

template <typename... Args>
class LoopCallback<void(Args...)> {
public:
    LoopCallback() = default;
    // NOLINTNEXTLINE(google-explicit-constructor): as std::function.
    LoopCallback(std::nullptr_t) {}
    template <typename Function,
              typename = std::enable_if_t<!std::is_same_v<std::remove_cvref_t<Function>, LoopCallback> &&
                                          std::is_invocable_v<std::decay_t<Function>&, Args...>>>
    // NOLINTNEXTLINE(google-explicit-constructor,bugprone-forwarding-reference-overload): as std::function.
    LoopCallback(Function&& function)
        : held_(std::make_unique<Held<std::decay_t<Function>>>(std::in_place, std::forward<Function>(function)))
    {
    }

    LoopCallback(LoopCallback&&) noexcept = default;
    LoopCallback& operator=(LoopCallback&&) noexcept = default;
    LoopCallback(const LoopCallback&) = delete;
    LoopCallback& operator=(const LoopCallback&) = delete;
    ~LoopCallback() = default;

    [[nodiscard]] explicit operator bool() const { return held_ != nullptr; }
    // Must not be empty.
    void operator()(Args... args) const { held_->call(std::forward<Args>(args)...); }

private:
    struct Callable : ThreadBound {
        Callable() = default;
        virtual ~Callable() { check(); }
        Callable(const Callable&) = delete;
        Callable& operator=(const Callable&) = delete;
        virtual void call(Args... args) = 0;
    };
    template <typename Function>
    struct Held final : Callable {
        template <typename Given>
        Held(std::in_place_t, Given&& given) : function(std::forward<Given>(given))
        {
        }
        void call(Args... args) override
        {
            this->check();
            function(std::forward<Args>(args)...);
        }
        Function function;
    };

    std::unique_ptr<Callable> held_;
};

}    // namespace rdmaqos
