// What the kernel says of a process, beyond what a client is (policy/model/identity.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>

#include <sys/types.h>

namespace rdmaqos {

// The letter of the state in a file /proc/PID/stat or /proc/PID/task/TID/stat: 'R', 'S', 'Z'... Empty: it cannot be
// read.
[[nodiscard]] std::optional<char> task_state(const std::filesystem::path& stat);

// Of the thread of a file /proc/PID/task/TID/schedstat. Empty: it is gone, or the kernel does not count that.
struct ProcessorTimes {
    std::chrono::nanoseconds computed{0};
    std::chrono::nanoseconds waited{0};    // for a processor, until it last got one

    friend bool operator==(const ProcessorTimes&, const ProcessorTimes&) = default;
};
[[nodiscard]] std::optional<ProcessorTimes> task_processor_times(const std::filesystem::path& schedstat);

// It was killed, but is still listed: its parent has not asked for its status yet, or the kernel does not return from a
// call of one of its threads. It runs no code of its own any more, but may hold its files.
[[nodiscard]] bool has_died(const std::filesystem::path& proc, pid_t process);

// Whose process it is, whatever program with other rights it has become. Empty: it is gone.
[[nodiscard]] std::optional<std::uint32_t> real_uid_of(const std::filesystem::path& proc, pid_t process);

}    // namespace rdmaqos
