#include "daemon/log_sink.h"

#include <array>
#include <cstdlib>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <sys/syslog.h>
#include <sys/uio.h>
#include <systemd/sd-journal.h>
#include <unistd.h>

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

class JournalSink final : public LogSink {
public:
    void write(LogLevel level, LogFields fields, std::string_view message) noexcept override
    {
        try {
            std::vector<std::string> items;
            items.push_back(fmt::format("MESSAGE={}", message));
            items.push_back(fmt::format("PRIORITY={}", priority_of(level)));
            items.emplace_back("SYSLOG_IDENTIFIER=rdma-qosd");
            for (const auto& [key, value] : fields) {
                items.push_back(fmt::format("RDMAQOS_{}={}", key, value));
            }
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

    void write(LogLevel level, LogFields fields, std::string_view message) noexcept override
    {
        try {
            std::string line(message);
            for (const auto& [key, value] : fields) {
                line += fmt::format(" {}={}", key, value);
            }
            logger_.log(to_spdlog(level), line);
        } catch (...) {    // NOLINT(bugprone-empty-catch): as above
        }
    }

private:
    spdlog::logger logger_;
};

class LevelSink final : public LogSink {
public:
    LevelSink(std::unique_ptr<LogSink> next, LogLevel lowest) : next_(std::move(next)), lowest_(lowest) {}

    void write(LogLevel level, LogFields fields, std::string_view message) noexcept override
    {
        if (level >= lowest_) {
            next_->write(level, fields, message);
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

RateLimitedSink::RateLimitedSink(std::unique_ptr<LogSink> next, const Clock& clock)
    : next_(std::move(next)), clock_(clock)
{
}

std::optional<unsigned> RateLimitedSink::admit(std::string_view message)
{
    constexpr std::size_t kMostTexts = 1024;
    const auto now = clock_.now();
    const std::lock_guard lock(mutex_);
    if (seen_.size() >= kMostTexts) {
        std::erase_if(seen_, [&](const auto& entry) { return now - entry.second.since >= kInterval; });
    }
    if (seen_.size() >= kMostTexts) {
        seen_.clear();
    }
    auto& seen = seen_[std::string(message)];
    unsigned held_back = 0;
    if (seen.count == 0 || now - seen.since >= kInterval) {
        held_back = seen.count > kBurst ? seen.count - kBurst : 0;
        seen = {now, 0};
    }
    ++seen.count;
    return seen.count > kBurst ? std::nullopt : std::optional(held_back);
}

void RateLimitedSink::write(LogLevel level, LogFields fields, std::string_view message) noexcept
{
    try {
        const auto held_back = admit(message);
        if (!held_back) {
            return;
        }
        if (*held_back == 0) {
            next_->write(level, fields, message);
        } else {
            next_->write(level, fields, fmt::format("{} ({} more of these were not shown)", message, *held_back));
        }
    } catch (...) {
        next_->write(level, fields, message);
    }
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
