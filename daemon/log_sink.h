// Where the daemon's log goes: the journal, with fields, when systemd connected our stderr to it; else stderr.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "lib/base/clock.h"
#include "lib/base/log.h"

namespace rdmaqos {

// Passes on at most `burst` messages of the same text in each interval, and says afterwards how many there were more:
// a failure that repeats, or a client that provokes one, does not fill the journal.
class RateLimitedSink final : public LogSink {
public:
    // `clock` must outlive the sink.
    RateLimitedSink(std::unique_ptr<LogSink> next, const Clock& clock);

    void write(LogLevel level, LogFields fields, std::string_view message) noexcept override;

    static constexpr unsigned kBurst = 5;
    static constexpr auto kInterval = std::chrono::seconds(10);

private:
    struct Seen {
        TimePoint since;
        unsigned count = 0;
    };

    // Empty: not to be written. Else how many of the same text were held back before.
    std::optional<unsigned> admit(std::string_view message);

    std::unique_ptr<LogSink> next_;
    const Clock& clock_;
    std::mutex mutex_;
    std::unordered_map<std::string, Seen> seen_;
};

// The daemon's sink for messages of at least this level: rate-limited, to the journal or to stderr.
[[nodiscard]] std::unique_ptr<LogSink> make_log_sink(LogLevel lowest, const Clock& clock);

[[nodiscard]] std::optional<LogLevel> parse_log_level(std::string_view text);

}    // namespace rdmaqos
