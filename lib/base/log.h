// Logging as an interface. A program installs a sink at start (the daemon: spdlog, to the journal or stderr); until
// then, and in tests, nothing is written. Log an error once, where it is handled.
//
//     log(LogLevel::Warning, {{"DEVICE", name}}, "{}: {} elements drifted, repaired", name, count);
//
// Fields become RDMAQOS_<KEY>= of the journal. Thread-safe.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace rdmaqos {

enum class LogLevel : std::uint8_t { Debug, Info, Notice, Warning, Error };

struct LogField {
    std::string_view key;    // upper case, A-Z and _
    std::string value;
};

using LogFields = std::initializer_list<LogField>;

class LogSink {
public:
    virtual ~LogSink() = default;
    virtual void write(LogLevel level, LogFields fields, std::string_view message) noexcept = 0;
};

// Replaces the sink; nullptr: silence. Not to be called while other threads log.
void set_log_sink(std::unique_ptr<LogSink> replacement);
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

}    // namespace rdmaqos
