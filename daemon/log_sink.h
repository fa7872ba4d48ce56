// Where the daemon's log goes: the journal, with fields, when systemd connected our stderr to it; else stderr.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/repeat_limit.h"

namespace rdmaqos {

// Holds back lines that come again and again, by the rules in log_events.h, and says with the next one how many there
// were: a failure that repeats, or a client that provokes one, does not fill the journal, and hides nobody else's.
class RateLimitedSink final : public LogSink {
public:
    // `clock` must outlive the sink.
    RateLimitedSink(std::unique_ptr<LogSink> next, const Clock& clock);

    void write(const LogRecord& record) noexcept override;

    // Users at a time; a user can have more uids than one (subuid(5)).
    static constexpr std::size_t kMostOfUsers = 256;
    static constexpr std::size_t kMostOfOurs = 4096;

private:
    // Empty: not to be written. Else how many of its kind were left out before.
    std::optional<std::uint32_t> admit(const LogRecord& record);

    std::unique_ptr<LogSink> next_;
    const Clock& clock_;
    std::mutex mutex_;
    RepeatLimit users_{kMostOfUsers};
    RepeatLimit own_{kMostOfOurs};
};

// As sd_journal_sendv(3) takes them: "MESSAGE=...", "RDMAQOS_DEVICE=mlx5_0/1".
[[nodiscard]] std::vector<std::string> journal_fields(const LogRecord& record);

// The daemon's sink for messages of at least this level: rate-limited, to the journal or to stderr.
[[nodiscard]] std::unique_ptr<LogSink> make_log_sink(LogLevel lowest, const Clock& clock);

[[nodiscard]] std::optional<LogLevel> parse_log_level(std::string_view text);

}    // namespace rdmaqos
