#include "daemon/log_sink.h"

#include <array>
#include <cstdlib>
#include <functional>
#include <utility>

#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <sys/syslog.h>
#include <sys/uio.h>
#include <systemd/sd-journal.h>
#include <unistd.h>

#include "lib/base/text.h"

namespace rdmaqos {
namespace {

constexpr std::array<std::pair<std::string_view, LogLevel>, 5> kLevels{{
    {"debug", LogLevel::Debug},
    {"info", LogLevel::Info},
    {"notice", LogLevel::Notice},
    {"warning", LogLevel::Warning},
    {"error", LogLevel::Error},
}};

int priority_of(LogLevel level)
{
    switch (level) {
    case LogLevel::Debug:
        return LOG_DEBUG;
    case LogLevel::Info:
        return LOG_INFO;
    case LogLevel::Notice:
        return LOG_NOTICE;
    case LogLevel::Warning:
        return LOG_WARNING;
    case LogLevel::Error:
        return LOG_ERR;
    }
    return LOG_INFO;
}

// With how many were left out, if any were.
std::string text_of(const LogRecord& record)
{
    return record.left_out == 0 ? std::string(record.message)
                                : fmt::format("{} ({} more of these were left out)", record.message, record.left_out);
}

class JournalSink final : public LogSink {
public:
    void write(const LogRecord& record) noexcept override
    {
        try {
            std::vector<std::string> items = journal_fields(record);
            std::vector<iovec> parts;
            parts.reserve(items.size());
            for (auto& item : items) {
                parts.push_back({item.data(), item.size()});
            }
            sd_journal_sendv(parts.data(), static_cast<int>(parts.size()));
        } catch (...) {    // NOLINT(bugprone-empty-catch): a log line that cannot be written has nowhere to go
        }
    }
};

spdlog::level::level_enum to_spdlog(LogLevel level)
{
    switch (level) {
    case LogLevel::Debug:
        return spdlog::level::debug;
    case LogLevel::Info:
    case LogLevel::Notice:
        return spdlog::level::info;
    case LogLevel::Warning:
        return spdlog::level::warn;
    case LogLevel::Error:
        return spdlog::level::err;
    }
    return spdlog::level::info;
}

class StderrSink final : public LogSink {
public:
    StderrSink() : logger_("rdma-qosd", std::make_shared<spdlog::sinks::stderr_sink_mt>())
    {
        logger_.set_level(spdlog::level::debug);
        logger_.set_pattern("%Y-%m-%dT%H:%M:%S.%e %l: %v");
        logger_.flush_on(spdlog::level::debug);
    }

    void write(const LogRecord& record) noexcept override
    {
        try {
            std::string line = text_of(record);
            for (const auto& [key, value] : record.fields) {
                line += fmt::format(" {}={}", key, printable(value));
            }
            logger_.log(to_spdlog(record.level), line);
        } catch (...) {    // NOLINT(bugprone-empty-catch): as above
        }
    }

private:
    spdlog::logger logger_;
};

class LevelSink final : public LogSink {
public:
    LevelSink(std::unique_ptr<LogSink> next, LogLevel lowest) : next_(std::move(next)), lowest_(lowest) {}

    void write(const LogRecord& record) noexcept override
    {
        if (record.level >= lowest_) {
            next_->write(record);
        }
    }

private:
    std::unique_ptr<LogSink> next_;
    LogLevel lowest_;
};

// JOURNAL_STREAM is "device:inode" of the socket that systemd gave us as stderr.
bool stderr_is_the_journal()
{
    const char* stream = std::getenv("JOURNAL_STREAM");    // NOLINT(concurrency-mt-unsafe): before any thread
    struct stat status {};
    return stream != nullptr && fstat(STDERR_FILENO, &status) == 0 &&
           stream == fmt::format("{}:{}", status.st_dev, status.st_ino);
}

}    // namespace

std::vector<std::string> journal_fields(const LogRecord& record)
{
    std::vector<std::string> items;
    items.push_back(fmt::format("MESSAGE={}", text_of(record)));
    items.push_back(fmt::format("PRIORITY={}", priority_of(record.level)));
    items.emplace_back("SYSLOG_IDENTIFIER=rdma-qosd");
    if (const LogEventRow* row = row_of(record.event)) {
        items.push_back(fmt::format("MESSAGE_ID={}", row->id));
    }
    if (record.left_out > 0) {
        items.push_back(fmt::format("RDMAQOS_LEFT_OUT={}", record.left_out));
    }
    for (const auto& [key, value] : record.fields) {
        items.push_back(fmt::format("RDMAQOS_{}={}", key, value));
        if (key == "PID") {
            // The journal adds what it knows of the process: `journalctl -u` of a client's unit shows the line too.
            items.push_back(fmt::format("OBJECT_PID={}", value));
        }
    }
    return items;
}

// What is wrong is said once. What happens may happen again within seconds, and matter: a device is disabled, enabled,
// and disabled.
constexpr RepeatLimit::Rule kSameTrouble{1, log_rules::kSameText.interval};

RateLimitedSink::RateLimitedSink(std::unique_ptr<LogSink> next, const Clock& clock)
    : next_(std::move(next)), clock_(clock)
{
}

std::optional<std::uint32_t> RateLimitedSink::admit(const LogRecord& record)
{
    const auto hash = [](std::string_view text) { return std::hash<std::string_view>()(text); };
    // One form may be that of several events, as "{}: {}": they do not hide one another.
    const std::size_t form = hash(record.form) + static_cast<std::size_t>(record.event);
    const LogEventRow* row = row_of(record.event);
    const std::lock_guard lock(mutex_);
    switch (record.origin.kind()) {
    case LogOrigin::Kind::User:
        return users_.take({form, record.origin.who()}, row == nullptr ? log_rules::kFailure : row->rule, clock_.now());
    case LogOrigin::Kind::Device:
        return own_.take({form, record.origin.who()}, row == nullptr ? log_rules::kSameText : row->rule, clock_.now());
    case LogOrigin::Kind::Unknown:
        break;
    }
    const bool is_trouble = row == nullptr && record.level >= LogLevel::Warning;
    const RepeatLimit::Rule rule = is_trouble ? kSameTrouble : row == nullptr ? log_rules::kSameText : row->rule;
    return own_.take({hash(record.message), is_trouble ? 1U : 0U}, rule, clock_.now());
}

void RateLimitedSink::write(const LogRecord& record) noexcept
{
    LogRecord limited = record;
    try {
        const auto left_out = admit(record);
        if (!left_out) {
            return;
        }
        limited.left_out = *left_out;
    } catch (...) {    // NOLINT(bugprone-empty-catch): better one too many than one lost
    }
    next_->write(limited);
}

std::unique_ptr<LogSink> make_log_sink(LogLevel lowest, const Clock& clock)
{
    std::unique_ptr<LogSink> sink;
    if (stderr_is_the_journal()) {
        sink = std::make_unique<JournalSink>();
    } else {
        sink = std::make_unique<StderrSink>();
    }
    auto limited = std::make_unique<RateLimitedSink>(std::move(sink), clock);
    return std::make_unique<LevelSink>(std::move(limited), lowest);
}

std::optional<LogLevel> parse_log_level(std::string_view text)
{
    for (const auto& [name, level] : kLevels) {
        if (name == text) {
            return level;
        }
    }
    return std::nullopt;
}

}    // namespace rdmaqos
