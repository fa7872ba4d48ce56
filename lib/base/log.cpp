#include "lib/base/log.h"

namespace rdmaqos {
namespace {

std::unique_ptr<LogSink>& sink()
{
    static std::unique_ptr<LogSink> instance;
    return instance;
}

}    // namespace

void set_log_sink(std::unique_ptr<LogSink> replacement)
{
    sink() = std::move(replacement);
}

void write_log(const LogRecord& record)
{
    if (sink()) {
        sink()->write(record);
    }
}

void write_log(LogLevel level, LogFields fields, std::string_view message)
{
    write_log({level, fields, message});
}

}    // namespace rdmaqos
