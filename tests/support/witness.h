// Sees on which threads a callback is called, copied and destroyed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

namespace rdmaqos::test {

// What witnesses saw; outlives them.
class Sightings {
public:
    void called()
    {
        const std::lock_guard lock(mutex_);
        ++calls_;
        threads_.push_back(std::this_thread::get_id());
    }
    void moved_or_gone()
    {
        const std::lock_guard lock(mutex_);
        threads_.push_back(std::this_thread::get_id());
    }
    [[nodiscard]] std::size_t count() const
    {
        const std::lock_guard lock(mutex_);
        return threads_.size();
    }
    [[nodiscard]] std::size_t calls() const
    {
        const std::lock_guard lock(mutex_);
        return calls_;
    }
    // Something was seen, and all of it on this thread.
    [[nodiscard]] bool only_here() const
    {
        const std::lock_guard lock(mutex_);
        return !threads_.empty() &&
               std::ranges::all_of(threads_, [](std::thread::id each) { return each == std::this_thread::get_id(); });
    }
    [[nodiscard]] bool only_here_and_called(std::size_t times) const { return only_here() && calls() == times; }

private:
    mutable std::mutex mutex_;
    std::size_t calls_ = 0;
    std::vector<std::thread::id> threads_;
};

// For the captures of a callback.
class Witness {
public:
    explicit Witness(Sightings& seen) : seen_(&seen) {}
    Witness(const Witness& other) : seen_(other.seen_) { seen_->moved_or_gone(); }
    Witness& operator=(const Witness&) = delete;
    ~Witness() { seen_->moved_or_gone(); }

    void called() const { seen_->called(); }

private:
    Sightings* seen_;    // never null
};

}    // namespace rdmaqos::test
