// Logging as an interface. A program installs a sink at start (the daemon: spdlog, to the journal or stderr); until
// then, and in tests, nothing is written. Log an error once, where it is handled.
//
//     log(LogLevel::Warning, {{"PATH", path}}, "{} cannot be read", path);
//     log_event(LogLevel::Warning, LogEvent::DriftRepaired, LogOrigin::device(name), {{"DEVICE", name}},
//               "{}: {} elements drifted, repaired", name, count);
//
// Fields become RDMAQOS_<KEY>= of the journal. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "lib/base/log_events.h"

namespace rdmaqos {

enum class LogLevel : std::uint8_t { Debug, Info, Notice, Warning, Error };

struct LogField {
    std::string_view key;    // upper case, A-Z and _
    std::string value;
};

using LogFields = std::initializer_list<LogField>;

// Who is the reason for a line. Lines of one kind are limited together if they have the same origin, however their
// texts differ; what a user can provoke as often as he likes has his uid, so that he hides no lines of others.
class LogOrigin {
public:
    enum class Kind : std::uint8_t { Unknown, User, Device };

    LogOrigin() = default;
    [[nodiscard]] static LogOrigin user(std::uint32_t uid) { return {Kind::User, uid}; }
    [[nodiscard]] static LogOrigin device(std::string_view key)
    {
        return {Kind::Device, std::hash<std::string_view>()(key)};
    }

    [[nodiscard]] Kind kind() const { return kind_; }
    [[nodiscard]] std::uint64_t who() const { return who_; }

private:
    LogOrigin(Kind kind, std::uint64_t who) : kind_(kind), who_(who) {}

    Kind kind_ = Kind::Unknown;
    std::uint64_t who_ = 0;
};

struct LogRecord {
    LogLevel level = LogLevel::Info;
    LogFields fields{};
    std::string_view message{};
    LogEvent event = LogEvent::None;
    LogOrigin origin{};
    std::string_view form{};       // the format of the message: the same for all lines of a kind
    std::uint32_t left_out = 0;    // lines of this kind before it that were not written
};

class LogSink {
public:
    virtual ~LogSink() = default;
    virtual void write(const LogRecord& record) noexcept = 0;
};

// Replaces the sink; nullptr: silence. Not to be called while other threads log.
void set_log_sink(std::unique_ptr<LogSink> replacement);
void write_log(const LogRecord& record);
void write_log(LogLevel level, LogFields fields, std::string_view message);

template <typename... Args>
void log(LogLevel level, LogFields fields, fmt::format_string<Args...> format, Args&&... args)
{
    write_log(level, fields, fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args)
{
    write_log(level, {}, fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
void log_event(LogLevel level, LogEvent event, LogOrigin origin, LogFields fields, fmt::format_string<Args...> format,
               Args&&... args)
{
    const fmt::string_view form = format;
    const std::string message = fmt::format(format, std::forward<Args>(args)...);
    write_log({level, fields, message, event, origin, {form.data(), form.size()}});
}

}    // namespace rdmaqos
