// Measured figures: on stderr, in the test's report, and for bounds.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/processor_time.h"

namespace rdmaqos::test {

class Figures {
public:
    void add(double value) { values_.insert(std::ranges::upper_bound(values_, value), value); }

    [[nodiscard]] std::size_t size() const { return values_.size(); }
    [[nodiscard]] double quantile(double part) const
    {
        return values_.at(
            std::min(values_.size() - 1, static_cast<std::size_t>(part * static_cast<double>(values_.size()))));
    }
    // Of seconds.
    [[nodiscard]] std::string in_milliseconds() const
    {
        return fmt::format("{} times: median {:.1f} ms, 95 % below {:.1f} ms, worst {:.1f} ms", size(),
                           quantile(0.5) * 1e3, quantile(0.95) * 1e3, quantile(1) * 1e3);
    }

private:
    std::vector<double> values_;    // in order
};

inline void tell(const std::string& name, const std::string& text)
{
    ::testing::Test::RecordProperty(name, text);
    fprintf(stderr, "%s: %s\n", name.c_str(), text.c_str());
}

// How late this process is woken while others use the processors: where that is long, times say nothing.
class Lateness {
public:
    Lateness()
        : thread_([this] {
              constexpr auto kPause = std::chrono::milliseconds(5);
              while (!ending_) {
                  const auto due = std::chrono::steady_clock::now() + kPause;
                  std::this_thread::sleep_until(due);
                  figures_.add(std::chrono::duration<double>(std::chrono::steady_clock::now() - due).count());
              }
          })
    {
    }
    ~Lateness() { end(); }
    Lateness(const Lateness&) = delete;
    Lateness& operator=(const Lateness&) = delete;

    const Figures& end()
    {
        ending_ = true;
        if (thread_.joinable()) {
            thread_.join();
        }
        return figures_;
    }

private:
    Figures figures_;
    std::atomic<bool> ending_ = false;
    std::thread thread_;
};

}    // namespace rdmaqos::test
