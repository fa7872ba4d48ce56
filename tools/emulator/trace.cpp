#include "tools/emulator/trace.h"

#include <cerrno>
#include <cstring>

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

}    // namespace

std::string to_text(const CallRecord& record)
{
    std::string line = fmt::format("{} file {} pid {}/{} {}", record.device, record.file, record.caller.pid,
                                   record.caller.thread, record.method);
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
    line["device"] = record.device;
    line["file"] = record.file;
    line["pid"] = record.caller.pid;
    line["thread"] = record.caller.thread;
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
