// What is logged while it lives, by whatever thread.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/log.h"

namespace rdmaqos::test {

class Journal {
public:
    Journal() { set_log_sink(std::make_unique<Sink>(*this)); }
    ~Journal() { set_log_sink(nullptr); }
    Journal(const Journal&) = delete;
    Journal& operator=(const Journal&) = delete;

    [[nodiscard]] std::vector<std::string> lines() const
    {
        const std::lock_guard lock(mutex_);
        return lines_;
    }
    void clear()
    {
        const std::lock_guard lock(mutex_);
        lines_.clear();
    }

private:
    class Sink final : public LogSink {
    public:
        explicit Sink(Journal& journal) : journal_(journal) {}
        void write(LogLevel, LogFields, std::string_view message) noexcept override
        {
            const std::lock_guard lock(journal_.mutex_);
            journal_.lines_.emplace_back(message);
        }

    private:
        Journal& journal_;
    };

    mutable std::mutex mutex_;
    std::vector<std::string> lines_;
};

}    // namespace rdmaqos::test
