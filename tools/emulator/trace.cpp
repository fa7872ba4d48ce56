#include "tools/emulator/trace.h"

#include <cerrno>
#include <cstring>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>

namespace rdmaqos::emulator {
namespace {

std::string outcome(int error)
{
    const char* name = error == 0 ? "ok" : strerrorname_np(error);
    return name != nullptr ? name : std::to_string(error);
}

std::string in_text(const Note& note)
{
    if (const auto* text = std::get_if<std::string>(&note.value)) {
        return *text;
    }
    const auto* flag = std::get_if<bool>(&note.value);
    return flag != nullptr ? fmt::format("{}", *flag) : std::to_string(std::get<std::int64_t>(note.value));
}

// In UTC.
std::string in_text(std::chrono::system_clock::time_point time)
{
    const auto since = std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
    return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(time)),
                       since % 1'000'000);
}

double in_seconds(std::chrono::steady_clock::time_point time)
{
    return std::chrono::duration<double>(time.time_since_epoch()).count();
}

}    // namespace

void CallRecord::ends(std::chrono::steady_clock::time_point started)
{
    time = std::chrono::system_clock::now();
    monotonic = std::chrono::steady_clock::now();
    microseconds = std::chrono::duration<double, std::micro>(monotonic - started).count();
}

std::string to_text(const CallRecord& record)
{
    std::string line = in_text(record.time);
    if (!record.device.empty()) {
        line += fmt::format(" {} file {} pid {}", record.device, record.file, record.caller.pid);
    }
    if (record.caller.thread != 0) {
        line += fmt::format("/{}", record.caller.thread);
    }
    line += " " + record.method;
    std::string refusal;
    for (const auto& note : record.notes) {
        if (note.name == "refusal") {
            refusal = ": " + in_text(note);
        } else {
            line += fmt::format(" {}={}", note.name, in_text(note));
        }
    }
    return line + fmt::format(" -> {}{}, {:.0f} us", outcome(record.error), refusal, record.microseconds);
}

std::string to_json(const CallRecord& record)
{
    nlohmann::ordered_json line;
    line["time"] = in_text(record.time);
    line["monotonic"] = in_seconds(record.monotonic);
    line["device"] = record.device;
    line["file"] = record.file;
    line["pid"] = record.caller.pid;
    if (record.caller.thread != 0) {
        line["thread"] = record.caller.thread;
    }
    line["method"] = record.method;
    auto& fields = line["fields"] = nlohmann::ordered_json::object();
    for (const auto& note : record.notes) {
        std::visit([&](const auto& value) { fields[note.name] = value; }, note.value);
    }
    line["result"] = outcome(record.error);
    line["microseconds"] = record.microseconds;
    return line.dump();
}

void Trace::watch(UniqueFd fd, bool json)
{
    const std::lock_guard lock(mutex_);
    list_.push_back({std::move(fd), json});
    ++watchers_;
}

void Trace::show(const CallRecord& record)
{
    const std::lock_guard lock(mutex_);
    std::erase_if(list_, [&](const Watcher& watcher) {
        const std::string line = (watcher.json ? to_json(record) : to_text(record)) + "\n";
        const ssize_t sent = send(watcher.fd.get(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        const bool gone = sent < 0 && errno != EAGAIN;
        watchers_ -= gone ? 1 : 0;
        return gone;
    });
}

}    // namespace rdmaqos::emulator
