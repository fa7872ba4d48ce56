// Calls on a queue pair that somebody else may be using for a moment: tried again while they say EBUSY.
//
//     int error = retry_busy([&] { return ibv_modify_qp(qp, &attributes, mask); });
//     int status = retry_busy_errno([&] { return some_call_that_returns_minus_one(qp); });
//
// Why. The kernel takes the lock of a uobject for reading in most calls, and for itself in those that end it. It waits
// for nobody: who comes second gets EBUSY. So ibv_destroy_qp() fails while any other call on the queue pair is in
// flight, and libibverbs hands that to the program, which has no reason to expect it. Kernels before be551ee15742
// (2024) take the lock for themselves in a DEVX modify as well, so that every call on the queue pair meets it then.
// rdma-qosd moves a queue pair between classes by such a modify, on its copy of the owner's file: it is rare and takes
// well below a millisecond, but a program that calls at that very moment must not fail by it.
//
// Kernels before 81f8f7454ad9 (2025) answer EINVAL where another call has the lock, in what libibverbs sends as a write
// command: ibv_modify_qp() and ibv_query_qp(). That cannot be distinguished from a mistake of the caller, so it is not
// tried again.
//
// A call that is refused with EBUSY has done nothing, and may be repeated. What stays in use (a queue pair that is
// attached to a multicast group, say) says EBUSY to the end of the bound, and then to the caller.
//
// It needs no library and has no state but a random number generator of each thread.
#pragma once

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <random>
#include <thread>
#include <type_traits>

namespace rdmaqos::client {

struct RetryBound {
    // Of the first pause; each later one is twice as long as that before, up to `longest`. What is slept is between
    // half of it and all, by chance, so that two who collided do not meet again.
    std::chrono::nanoseconds first = std::chrono::microseconds(20);
    std::chrono::nanoseconds longest = std::chrono::milliseconds(4);
    // From the first call on: no pause goes beyond it, and the call after the last pause is the last. 0: no retry.
    std::chrono::nanoseconds total = std::chrono::milliseconds(50);
};

// What time is, how it passes, and chance: a seam for tests.
template <typename T>
concept RetryTime = requires(T time, std::chrono::nanoseconds pause)
{
    {
        time.now()
        } -> std::same_as<std::chrono::nanoseconds>;    // monotonic
    time.sleep(pause);
    {
        time.chance()
        } -> std::same_as<std::uint32_t>;    // any, as likely as another
};

class MonotonicTime {
public:
    [[nodiscard]] std::chrono::nanoseconds now() const { return std::chrono::steady_clock::now().time_since_epoch(); }
    // The standard library sleeps by CLOCK_MONOTONIC, and goes on after a signal.
    void sleep(std::chrono::nanoseconds pause) const { std::this_thread::sleep_for(pause); }
    [[nodiscard]] std::uint32_t chance() const
    {
        thread_local std::minstd_rand numbers(std::random_device{}());
        return static_cast<std::uint32_t>(numbers());
    }
};

// The pauses between the attempts of one call.
template <RetryTime Time>
class Backoff {
public:
    Backoff(const RetryBound& bound, Time& time)
        : bound_(bound), time_(time), end_(time.now() + bound.total), next_(bound.first)
    {
    }

    // False, without a pause: the bound is reached.
    bool pause()
    {
        const std::chrono::nanoseconds left = end_ - time_.now();
        if (left <= std::chrono::nanoseconds::zero()) {
            return false;
        }
        const std::chrono::nanoseconds half = next_ / 2;
        const auto choices = static_cast<std::uint64_t>(std::max<std::int64_t>(1, (next_ - half).count() + 1));
        const auto part = static_cast<std::int64_t>(time_.chance() % choices);
        time_.sleep(std::min(half + std::chrono::nanoseconds(part), left));
        next_ = std::min(next_ * 2, std::max(bound_.longest, bound_.first));
        return true;
    }

private:
    const RetryBound bound_;
    Time& time_;
    const std::chrono::nanoseconds end_;
    std::chrono::nanoseconds next_;
};

// Of a function that returns 0 or an errno, as ibv_modify_qp(), ibv_query_qp() and ibv_destroy_qp() do. Returns what
// the last attempt did.
template <typename Call, RetryTime Time>
requires std::same_as < std::invoke_result_t<Call&>,
int > int retry_busy(Call&& call, const RetryBound& bound, Time& time)
{
    Backoff backoff(bound, time);
    int error = call();
    while (error == EBUSY && backoff.pause()) {
        error = call();
    }
    return error;
}

template <typename Call>
int retry_busy(Call&& call, const RetryBound& bound = {})
{
    MonotonicTime time;
    return retry_busy(call, bound, time);
}

// Of a function that returns -1 and sets errno, as ioctl() does; other results are success, as it is. errno is that of
// the last attempt, and what it was before where that succeeded.
template <typename Call, RetryTime Time>
requires std::signed_integral<std::invoke_result_t<Call&>>
auto retry_busy_errno(Call&& call, const RetryBound& bound, Time& time)
{
    Backoff backoff(bound, time);
    const int before = errno;
    auto result = call();
    while (result == -1 && errno == EBUSY && backoff.pause()) {
        errno = before;
        result = call();
    }
    return result;
}

template <typename Call>
auto retry_busy_errno(Call&& call, const RetryBound& bound = {})
{
    MonotonicTime time;
    return retry_busy_errno(call, bound, time);
}

}    // namespace rdmaqos::client
