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
    struct Entry {
        LogLevel level;
        LogEvent event;
        std::string message;
        std::vector<LogField> fields;

        // Empty: it has no such field.
        [[nodiscard]] std::string field(std::string_view key) const
        {
            for (const auto& each : fields) {
                if (each.key == key) {
                    return each.value;
                }
            }
            return {};
        }
    };

    Journal() { set_log_sink(std::make_unique<Sink>(*this)); }
    ~Journal() { set_log_sink(nullptr); }
    Journal(const Journal&) = delete;
    Journal& operator=(const Journal&) = delete;

    [[nodiscard]] std::vector<std::string> lines() const
    {
        std::vector<std::string> texts;
        for (const auto& entry : entries()) {
            texts.push_back(entry.message);
        }
        return texts;
    }
    [[nodiscard]] std::vector<Entry> entries() const
    {
        const std::lock_guard lock(mutex_);
        return entries_;
    }
    [[nodiscard]] std::vector<Entry> of(LogEvent event) const
    {
        std::vector<Entry> found = entries();
        std::erase_if(found, [&](const Entry& entry) { return entry.event != event; });
        return found;
    }
    void clear()
    {
        const std::lock_guard lock(mutex_);
        entries_.clear();
    }

private:
    class Sink final : public LogSink {
    public:
        explicit Sink(Journal& journal) : journal_(journal) {}
        void write(const LogRecord& record) noexcept override
        {
            const std::lock_guard lock(journal_.mutex_);
            journal_.entries_.push_back({record.level, record.event, std::string(record.message),
                                         std::vector<LogField>(record.fields.begin(), record.fields.end())});
        }

    private:
        Journal& journal_;
    };

    mutable std::mutex mutex_;
    std::vector<Entry> entries_;
};

}    // namespace rdmaqos::test
